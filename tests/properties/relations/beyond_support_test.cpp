// What a library declares not to take: refused, or computed right.
#include "properties/relations/beyond_support.hpp"

#include <catch2/catch_test_macros.hpp>

#include "properties/data/difference.hpp"
#include "properties/generate/support_table.hpp"
#include "properties/relations/relations.hpp"
#include "properties/suite/minimize.hpp"
#include "tests/properties/faulty_library.hpp"

using namespace assay;
using relations::cases_beyond_support;
using relations::verdict_beyond_space;

namespace {

assay_support lacking(std::int32_t assay_support::* feature) {
  assay_support s{};
  s.size_bytes = sizeof s;
  s.*feature = 1;
  return s;
}

attention_case seeded(std::uint64_t seed) {
  attention_case c = testing::small_case();
  c.data.seed = seed;
  return c;
}

}  // namespace

TEST_CASE("a case beyond the support has one feature that the kernel lacks, and no other", "[relations]") {
  int made = 0;
  for (const supported_feature& f : supported_features()) {
    if ((f.operations & of_attention) == 0) continue;
    const assay_support takes = lacking(f.lacks);
    for (std::uint64_t seed = 0; seed < 6; ++seed)
      for (const relations::case_beyond& beyond : cases_beyond_support(seeded(seed), takes)) {
        INFO(beyond.name);
        CHECK(f.has(beyond.made));
        CHECK_FALSE(unsupported_by(takes, beyond.made).empty());
        CHECK(unsupported_by({}, beyond.made).empty());
        CHECK(unsupported_by(takes, beyond.without.value()).empty());
        ++made;
      }
  }
  CHECK(made >= 100);
}

TEST_CASE("what a host cannot see is not tried", "[relations]") {
  for (const auto feature : {&assay_support::no_live_nan, &assay_support::no_rows_without_keys})
    for (std::uint64_t seed = 0; seed < 6; ++seed) CHECK(cases_beyond_support(seeded(seed), lacking(feature)).empty());
}

TEST_CASE("a host check that takes a feature which the kernel ignores is caught", "[relations][long]") {
  const auto ignoring = testing::faulty_library([](testing::call& c) {
    c.stated.soft_cap = 0;
    return c.run();
  });
  ignoring->supports["split_kv"] = lacking(&assay_support::no_soft_cap);
  bool is_caught = false;
  for (std::uint64_t seed = 0; seed < 10 && !is_caught; ++seed) {
    const verdict v = verdict_beyond_space(*ignoring, seeded(seed));
    if (v.result != outcome::fail) continue;
    INFO(v.what);
    CHECK(v.what.starts_with("with soft cap it neither says"));
    CHECK(v.what.find("lies outside") != std::string::npos);
    is_caught = true;
  }
  CHECK(is_caught);
}

TEST_CASE("a kernel that is wrong without the feature, too, fails by that, not by its refusals", "[relations]") {
  const auto wrong = testing::corrupting_library([](testing::call& c) {
    const tensor o = c.view("o");
    for (std::int64_t i = 0; i < o.shape[0]; ++i) set_bits(o, o.offset(i), bits_at(o, o.offset(i)) ^ 0x4000U);
  });
  wrong->supports["split_kv"] = lacking(&assay_support::no_soft_cap);
  int failures = 0;
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    attention_case c = seeded(seed);
    c.sequences.clear();  // so that nothing is tried but what is beyond the support
    const verdict v = verdict_beyond_space(*wrong, c);
    if (v.result != outcome::fail) continue;
    INFO(v.what);
    CHECK(v.what.starts_with("of a case that it declares to take: "));
    ++failures;
  }
  CHECK(failures > 0);

  // What its predicate refuses it does not declare to take.
  wrong->predicate = [](const char*, const problem*, const assay_tensor*, std::int32_t) {
    return assay_status{ASSAY_UNSUPPORTED, "any problem"};
  };
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    attention_case c = seeded(seed);
    c.sequences.clear();
    CHECK(verdict_beyond_space(*wrong, c).result != outcome::fail);
  }
}

TEST_CASE("a legal problem is not tried beyond the support by what only its data shows", "[relations][long]") {
  const auto strict = testing::corrupting_library([](testing::call& c) {
    const tensor o = c.view("o");
    if (c.stated.num_seqs > o.shape[0]) set_bits(o, 0, bits_at(o, 0) ^ 0x4000U);
  });
  const attention_case c = seeded(16);
  const auto without_rows = [](const relations::case_beyond& each) {
    return std::ranges::any_of(each.made.sequences, [](const sequence& s) { return s.q == 0; });
  };
  const std::vector<relations::case_beyond> all = relations::cases_beyond(c);
  const auto found = std::ranges::find_if(all, without_rows);
  REQUIRE(found != all.end());
  CHECK(relations::has_unseen_lack(found->made, lacking(&assay_support::no_sequences_without_rows)));
  CHECK_FALSE(relations::has_unseen_lack(found->made, lacking(&assay_support::no_soft_cap)));
  CHECK(verdict_beyond_space(*strict, c).result == outcome::fail);
  strict->supports["split_kv"] = lacking(&assay_support::no_sequences_without_rows);
  CHECK(verdict_beyond_space(*strict, c).result == outcome::pass);
}

TEST_CASE("a predicate does not stand for the host's refusal of what the support excludes", "[relations]") {
  const auto wrong_dims = testing::corrupting_library([](testing::call& c) {
    if (c.stated.head_dim_qk % 64 == 0) return;
    const tensor o = c.view("o");
    for (std::int64_t i = 0; i < o.shape[0]; ++i) set_bits(o, o.offset(i), bits_at(o, o.offset(i)) ^ 0x4000U);
  });
  wrong_dims->supports["split_kv"] = lacking(&assay_support::no_window);
  wrong_dims->supports["split_kv"].head_dims.values[0] = 64;
  CHECK(verdict_beyond_space(*wrong_dims, seeded(1)).result == outcome::fail);
  wrong_dims->predicate = [](const char*, const problem* p, const assay_tensor*, std::int32_t) {
    return p->head_dim_qk % 64 == 0 ? assay_status{} : assay_status{ASSAY_UNSUPPORTED, "only multiples of 64"};
  };
  CHECK(verdict_beyond_space(*wrong_dims, seeded(1)).result == outcome::fail);
}

TEST_CASE("where the predicate refuses each other problem, none ran first, and the case is discarded", "[relations]") {
  const auto lib = testing::faulty_library([](testing::call& c) { return c.run(); });
  lib->predicate = [](const char*, const problem* p, const assay_tensor*, std::int32_t) {
    return p->total_q == 4 && p->heads_q == 4 && p->max_k == 37 ? assay_status{}
                                                                : assay_status{ASSAY_UNSUPPORTED, "another problem"};
  };
  CHECK(check_property(*lib, relations::another_problem_first, seeded(1)).result == outcome::discard);
}
