// Live specials: where they lie, and that the clean kernels make of them what the definition says.
#include <catch2/catch_test_macros.hpp>
#include <cmath>

#include "oracle/decode.hpp"
#include "properties/data/difference.hpp"
#include "properties/data/inputs.hpp"
#include "properties/data/live_specials.hpp"
#include "properties/relations/property.hpp"
#include "tests/properties/faulty_library.hpp"
#include "tests/properties/generate/arbitrary_case.hpp"

namespace assay {
namespace {

using testing::call;
using testing::small_case;

/// Elements that are not finite among all of a tensor.
std::int64_t specials_in(const inputs& in, const char* name) {
  const buffer* b = find_buffer(in.buffers, name);
  std::int64_t count = 0;
  if (b == nullptr) return count;
  for_each_index(*b, [&](const std::vector<std::int64_t>& index) {
    count += std::isfinite(value_at(b->view(), offset_of(b->view(), index))) ? 0 : 1;
  });
  return count;
}

attention_case with_specials(special_kind kind, std::uint64_t seed) {
  attention_case c = small_case();
  c.data.poison = poison_kind::zero;  // dead memory is finite then
  c.data.specials = kind;
  c.data.seed = seed;
  return c;
}

TEST_CASE("specials are few, of the kinds asked for, and as many as they say", "[specials]") {
  std::int64_t nans = 0, infinities = 0, in_q = 0, in_k = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed)
    for (const special_kind kind : {special_kind::nans, special_kind::infinities, special_kind::both}) {
      const attention_case c = with_specials(kind, seed);
      const live_specials s(c);
      const inputs in = fill(c);
      const std::int64_t found = specials_in(in, "q") + specials_in(in, "k") + specials_in(in, "v");
      CHECK(found <= s.nans() + s.infinities());  // a key may be hidden from all rows, or drawn twice
      CHECK(s.nans() + s.infinities() <= 8);
      if (kind == special_kind::nans) CHECK(s.infinities() == 0);
      if (kind == special_kind::infinities) CHECK(s.nans() == 0);
      nans += s.nans(), infinities += s.infinities();
      in_q += specials_in(in, "q"), in_k += specials_in(in, "k");
    }
  CHECK(nans > 60);
  CHECK(infinities > 60);
  CHECK(in_q > 10);
  CHECK(in_k > 10);
  const attention_case plain = with_specials(special_kind::none, 1);
  CHECK(specials_in(fill(plain), "v") == 0);
  CHECK(live_specials(plain).nans() == 0);
}

TEST_CASE("of a cache only old keys and values are special, and new rows finite", "[specials]") {
  std::int64_t found = 0;
  for (std::uint64_t i = 0; i < 60; ++i) {
    attention_case c = test::arbitrary(i, 30, {"append_kv"});
    c.data.specials = special_kind::both;
    c.data.poison = poison_kind::zero;
    const inputs in = fill(c);
    CHECK(specials_in(in, "k_new") == 0);
    CHECK(specials_in(in, "v_new") == 0);
    found += specials_in(in, "k") + specials_in(in, "v");
  }
  CHECK(found > 30);
}

TEST_CASE("nearly all that the clean kernels make of specials is decided, and right", "[specials][long]") {
  std::int64_t undecided = 0, due = 0, elements = 0, unbounded = 0;
  for (std::uint64_t i = 0; i < 160; ++i) {
    attention_case c = test::arbitrary(i, 10 + static_cast<int>(i % 40));
    const bool has_infinities = size_bytes(c.q_type) == 2 || size_bytes(v_type(c)) == 2;
    c.data.specials = has_infinities && i % 3 != 0 ? special_kind::both : special_kind::nans;
    const detailed_run run = run_in_detail(*library::built_in(), c);
    INFO(to_json(c) << run.result.what);
    CHECK(run.result.result != outcome::fail);
    undecided += run.result.result == outcome::undecided ? 1 : 0;
    for (const oracle::judgement& j : run.result.judgements) elements += j.elements, unbounded += j.unbounded;
    for (const oracle::enclosed_tensor& t : run.bounds.tensors)
      for (std::size_t at = 0; at < t.elements.size(); ++at)
        due += t.rule(static_cast<std::int64_t>(at)) == oracle::element_rule::nan ? 1 : 0;
  }
  CHECK(undecided <= 3);
  CHECK(unbounded * 1000 < elements);
  CHECK(due > 500);
}

TEST_CASE("a kernel that drops a NaN, or leaves unwritten what is NaN, is seen", "[specials]") {
  std::int64_t seen = 0;
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    const attention_case c = with_specials(special_kind::nans, seed);
    for (const bool unwritten : {false, true}) {
      bool changed = false;
      const auto faulty = testing::corrupting_library([&](call& of) {
        const tensor o = of.view("o");
        for_each_index(o, [&](const std::vector<std::int64_t>& index) {
          const std::int64_t at = offset_of(o, index);
          if (std::isnan(value_at(o, at))) set_bits(o, at, unwritten ? 0xFFFFU : 0x3C00U), changed = true;
        });
      });
      const verdict v = run_case(*faulty, c);
      CHECK((v.result == outcome::fail) == changed);
      seen += v.result == outcome::fail ? 1 : 0;
    }
  }
  CHECK(seen >= 10);
}

TEST_CASE("every property holds with specials among the data", "[specials][long]") {
  for (const property& p : properties())
    for (std::uint64_t i = 0; i < 12; ++i) {
      attention_case c = test::arbitrary(i, 20);
      if (!applies(p, c.kernel)) continue;
      const bool has_infinities = size_bytes(c.q_type) == 2 || size_bytes(v_type(c)) == 2;
      c.data.specials = has_infinities ? special_kind::both : special_kind::nans;
      if (p.adapt != nullptr) p.adapt(c, {});
      const verdict v = p.check(*library::built_in(), c);
      INFO(p.name << to_json(c) << v.what);
      CHECK(v.result != outcome::fail);
    }
}

}  // namespace
}  // namespace assay
