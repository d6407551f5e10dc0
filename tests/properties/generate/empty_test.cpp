// Problems without sequences, rows or keys: they are valid, drawn and written down, and kernels take them.
#include <catch2/catch_test_macros.hpp>
#include <map>

#include "properties/generate/bytes.hpp"
#include "properties/generate/empty.hpp"
#include "properties/relations/property.hpp"
#include "properties/relations/relations.hpp"
#include "tests/properties/faulty_library.hpp"
#include "tests/properties/generate/arbitrary_case.hpp"

namespace assay {
namespace {

/// A case of the kernel, with nothing of that kind.
attention_case emptied(const std::string& kernel, empty_kind kind, std::uint64_t i) {
  attention_case c = test::arbitrary(i, 20, {kernel});
  for (sequence& s : c.sequences) {
    if (kind == empty_kind::rows) s.q = 0;
    if (kind == empty_kind::keys) s.k = 0, s.pages.clear();
    if (s.prefix_offset) s.prefix_offset = 0;
  }
  if (kind == empty_kind::sequences) c.sequences.clear();
  if (kind != empty_kind::rows) c.pool_pages = 0;
  return c;
}

constexpr empty_kind kinds[] = {empty_kind::sequences, empty_kind::rows, empty_kind::keys};

TEST_CASE("no property fails on a problem with nothing in it, and outputs are judged", "[empty][long]") {
  for (const std::string& kernel : kernels_of_the_space())
    for (const empty_kind kind : kinds)
      for (std::uint64_t i = 0; i < 3; ++i) {
        const attention_case c = emptied(kernel, kind, i);
        INFO(to_json(c));
        REQUIRE_NOTHROW(validate(c));
        CHECK(from_json(to_json(c), "") == c);
        CHECK(run_case(*library::built_in(), c).result == outcome::pass);
        for (const property& p : properties()) {
          if (!applies(p, kernel)) continue;
          attention_case adapted = c;
          if (p.adapt != nullptr) p.adapt(adapted, {});
          const verdict v = p.check(*library::built_in(), adapted);
          INFO(p.name << v.what);
          CHECK(v.result != outcome::fail);
        }
      }
}

TEST_CASE("each kind is drawn for each kernel, and bytes hold it", "[empty]") {
  std::map<std::pair<std::string, empty_kind>, int> drawn;
  test::for_cases(3000, [&](const attention_case& c) {
    attention_case copy = c;
    const empty_kind kind = fill_in(copy);
    if (kind == empty_kind::none) return;
    ++drawn[{c.kernel, kind}];
    INFO(to_json(c));
    CHECK(is_in_space(c));
    CHECK_NOTHROW(validate(c));
  });
  for (const std::string& kernel : kernels_of_the_space())
    for (const empty_kind kind : kinds) CHECK(drawn[{kernel, kind}] >= 3);
}

TEST_CASE("a library that cannot take a batch of no sequences is seen", "[empty]") {
  const auto dividing = testing::planning_library([](const problem& p, assay_plan& plan) {
    if (p.num_seqs == 0) plan.num_splits = -1;  // as of a division by 0
  });
  CHECK(run_case(*dividing, emptied("split_kv", empty_kind::sequences, 0)).result == outcome::fail);
  CHECK(run_case(*dividing, emptied("split_kv", empty_kind::keys, 0)).result == outcome::pass);
}

}  // namespace
}  // namespace assay
