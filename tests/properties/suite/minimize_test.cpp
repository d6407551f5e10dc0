#include "properties/suite/minimize.hpp"
#include "properties/data/difference.hpp"

#include <catch2/catch_test_macros.hpp>
#include <stdexcept>

#include "properties/run/execute.hpp"
#include "properties/run/verdict_json.hpp"
#include "tests/properties/faulty_library.hpp"

namespace assay {
namespace {

std::int64_t most_keys(const attention_case& c) {
  std::int64_t most = 0;
  for (const sequence& s : c.sequences) most = std::max<std::int64_t>(most, s.k);
  return most;
}

TEST_CASE("a failure that depends on the number of keys shrinks to one sequence, one head and exactly these keys") {
  const auto judge = [](const attention_case& c) {
    return most_keys(c) >= 23 ? failed("planted", "too many keys") : passed();
  };
  const minimized found = minimize(testing::small_case(), judge);
  CHECK(found.reproduced);
  CHECK(found.smallest.sequences.size() == 1);
  CHECK(found.smallest.heads_q == 1);
  CHECK(found.smallest.sequences[0].k == 23);
  CHECK_FALSE(found.smallest.causal);
}

TEST_CASE("shrinking does not slip to another kind of failure") {
  const auto judge = [](const attention_case& c) {
    return most_keys(c) >= 23 ? failed("planted", "") : failed("another", "");
  };
  const minimized found = minimize(testing::small_case(), judge);
  CHECK(found.result.origin == "planted");
  CHECK(most_keys(found.smallest) == 23);
}

TEST_CASE("failures differ by the check, and exceptions by the lines that they name") {
  const std::string raised = "ValueError: of k (in f, decode.py:3)";
  CHECK(failure_kind("exception", raised) == failure_kind("exception", "ValueError: of v (in f, decode.py:3)"));
  CHECK(failure_kind("exception", raised) != failure_kind("exception", "ValueError: of k (in f, decode.py:4)"));
  CHECK(failure_kind("exception", raised) != failure_kind("exception", raised + ", called from decode.py:9"));
  CHECK(failure_kind("exception", "std::bad_alloc") == "exception");
  CHECK(failure_kind("out of bounds", "store of o (kernel.hpp:12)") == "out of bounds");
  CHECK(failure_kind("enclosure", "o[0, 1] = 3 lies outside") == "enclosure");
}

TEST_CASE("a failure beside another shrinks by itself") {
  const auto judge = [](const attention_case& c) {
    verdict v = failed("exception", "first (a.py:1)");
    if (most_keys(c) >= 23) v.also = {{"exception", "second (a.py:2)"}};
    return v;
  };
  const std::string second = failure_kind("exception", "second (a.py:2)");
  const auto led = [&](const attention_case& c) { return led_by(second, judge(c)); };
  const minimized found = minimize(testing::small_case(), led);
  CHECK(found.result.what == "second (a.py:2)");
  CHECK(most_keys(found.smallest) == 23);
  CHECK(most_keys(minimize(testing::small_case(), judge).smallest) < 23);
  CHECK(led_by("none", failed("exception", "x")).what == "x");
}

TEST_CASE("lines of an exception's message behind the first are failures beside it") {
  const auto lib = testing::faulty_library(
      [](testing::call&) -> assay_status { throw std::runtime_error("first (a.py:1)\nsecond (a.py:2)"); });
  const verdict v = check_property(*lib, enclosure_property(), testing::small_case());
  CHECK(v.what == "first (a.py:1)");
  CHECK(v.also == std::vector<other_failure>{{"exception", "second (a.py:2)"}});
  CHECK(verdict_from_json(verdict_to_json(v)).also == v.also);
}

TEST_CASE("a failure that does not repeat is not shrunk") {
  const minimized found = minimize(testing::small_case(), [](const attention_case&) { return passed(); });
  CHECK_FALSE(found.reproduced);
  CHECK(found.smallest == testing::small_case());
}

TEST_CASE("shrinking stops at its budget") {
  int asked = 0;
  const auto judge = [&](const attention_case&) {
    ++asked;
    return failed("planted", "");
  };
  const minimized found = minimize(testing::small_case(), judge, {.seconds = 60, .tries = 3});
  CHECK(found.tries == 3);
  CHECK(asked == 4);
}

TEST_CASE("a property that is not about the kernel is discarded, not run") {
  int calls = 0;
  const auto lib = testing::faulty_library([&](testing::call& c) {
    ++calls;
    return c.run();
  });
  for (const property& p : properties()) {
    if (applies(p, "split_kv")) continue;
    const verdict v = check_property(*lib, p, testing::small_case());
    CHECK(v.result == outcome::discard);
    CHECK(v.what == std::string(p.name) + " is not about split_kv");
  }
  CHECK(calls == 0);
}

TEST_CASE("a crash and a hang are failures of an isolated judge") {
  const property crash{"crash", "", [](const library&, const attention_case&) -> verdict { std::abort(); }, nullptr};
  const property hang{"hang", "",
                      [](const library&, const attention_case&) -> verdict {
                        for (;;) {
                        }
                      },
                      nullptr};
  const auto lib = library::built_in();
  CHECK(isolated_judge(*lib, crash, 60)(testing::small_case()).origin == "crash");
  CHECK(isolated_judge(*lib, hang, 0.1)(testing::small_case()).origin == "hang");
  CHECK(isolated_judge(*lib, enclosure_property(), 60)(testing::small_case()).result == outcome::pass);
}

TEST_CASE("a defect in the kernel shrinks to at most two sequences, one head and the fewest keys") {
  // Planted: the output of a row is spoilt as soon as its sequence has keys on a third page.
  const auto faulty = testing::corrupting_library([](testing::call& c) {
    for (std::int64_t s = 0; s < c.stated.num_seqs; ++s)
      if (c.i32("seqlens_k", s) > 2 * c.stated.page_size && c.i32("cu_seqlens_q", s + 1) > c.i32("cu_seqlens_q", s)) {
        const tensor o = c.view("o");
        set_bits(o, o.offset(c.i32("cu_seqlens_q", s)), 0x7BFF);
      }
  });
  const minimized found = minimize(testing::small_case(), isolated_judge(*faulty, enclosure_property(), 60));
  REQUIRE(found.reproduced);
  CHECK(found.smallest.sequences.size() == 1);
  CHECK(found.smallest.heads_q == 1);
  CHECK(found.smallest.sequences[0].q == 1);
  CHECK(found.smallest.sequences[0].k == 2 * found.smallest.page_size + 1);
}

TEST_CASE("shrinking stays within what the library's predicate supports") {
  const auto faulty = testing::corrupting_library([](testing::call& c) {
    const tensor o = c.view("o");
    set_bits(o, o.offset(0), 0x7BFF);
  });
  faulty->predicate = [](const char*, const problem* planned, const assay_tensor*, std::int32_t) {
    return planned->num_seqs < 2 ? assay_status{ASSAY_UNSUPPORTED, "one sequence"} : assay_status{};
  };
  const judge_function judge = isolated_judge(*faulty, enclosure_property(), 60);
  const minimized found = minimize(testing::small_case(), judge);
  REQUIRE(found.reproduced);
  CHECK(found.smallest.sequences.size() == 2);
  attention_case one = found.smallest;
  one.sequences.resize(1);
  CHECK(judge(one).what == "the library does not support the case: one sequence");
}

}  // namespace
}  // namespace assay
