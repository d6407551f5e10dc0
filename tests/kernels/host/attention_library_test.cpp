/// What a library of one attention kernel does for its author.
#include "kernels/host/attention_library.hpp"

#include <catch2/catch_test_macros.hpp>
#include <cstdint>
#include <limits>
#include <string>

using namespace assay;

namespace {

int launches = 0;

constexpr assay_support takes = [] {
  assay_support s{};
  s.size_bytes = sizeof s;
  s.no_causal = 1;
  return s;
}();
contract declare(const problem&) {
  contract c;
  c.tile_keys = 7;
  return c;
}
void launch(const problem&, const attention_tensors&) {
  ++launches;
}
using library = attention_library<takes, declare, launch>;

problem planned() {
  problem p;
  p.num_splits = 1;
  return p;
}

assay_launch made_round_robin() {
  assay_launch made{};
  made.wave_size = 64, made.workers = 1;
  return made;
}
const assay_launch round_robin = made_round_robin();

}  // namespace

TEST_CASE("a kernel that takes the splits asked for plans their partials within the budget", "[host]") {
  problem p;
  p.num_seqs = 1, p.total_q = p.max_q = 3, p.heads_q = 5, p.head_dim_v = 64, p.num_splits = 2;
  constexpr std::int64_t bytes = std::int64_t{3} * 5 * 2 * (64 + 1) * 4;
  assay_plan plan{};
  REQUIRE(plan_as_asked(p, bytes, plan).code == ASSAY_OK);
  CHECK(plan.num_splits == 2);
  CHECK(plan.workspace_bytes == bytes);
  CHECK(plan_as_asked(p, 0, plan).code == ASSAY_OK);
  CHECK(plan_as_asked(p, bytes - 1, plan).code == ASSAY_UNSUPPORTED);
  CHECK(plan_as_asked(p, -1, plan).code == ASSAY_REJECTED);

  p.num_splits = 0;
  REQUIRE(plan_as_asked(p, 1, plan).code == ASSAY_OK);
  CHECK(plan.num_splits == 1);
  CHECK(plan.workspace_bytes == 0);

  constexpr std::int32_t most = std::numeric_limits<std::int32_t>::max();
  p.total_q = p.heads_q = p.head_dim_v = p.num_splits = most;  // the product needs 126 bits
  CHECK(plan_as_asked(p, std::numeric_limits<std::int64_t>::max(), plan).code == ASSAY_UNSUPPORTED);
}

TEST_CASE("an attention library asks its author only about problems of attention", "[host]") {
  assay_plan plan{};
  contract declared;
  problem p = planned();
  REQUIRE(library::plan(&p, 0, &plan).code == ASSAY_OK);
  REQUIRE(library::declare(&p, &round_robin, &declared).code == ASSAY_OK);
  CHECK(declared.tile_keys == 7);
  CHECK(library::plan(&p, 0, nullptr).code == ASSAY_REJECTED);
  CHECK(library::plan(nullptr, 0, &plan).code == ASSAY_REJECTED);
  CHECK(library::declare(&p, nullptr, &declared).code == ASSAY_REJECTED);

  p.causal = 1;
  CHECK(std::string(library::plan(&p, 0, &plan).message).starts_with("the kernel does not take "));
  CHECK(library::plan(&p, 0, &plan).code == ASSAY_UNSUPPORTED);
  CHECK(library::declare(&p, &round_robin, &declared).code == ASSAY_UNSUPPORTED);
  CHECK(library::run(&p, nullptr, 0, &round_robin).code == ASSAY_UNSUPPORTED);

  p = planned();
  p.operation = operation_kind::append_kv;
  CHECK(library::plan(&p, 0, &plan).code == ASSAY_UNSUPPORTED);
  p = planned();
  p.num_splits = 0;
  CHECK(library::declare(&p, &round_robin, &declared).code == ASSAY_REJECTED);
  CHECK(library::run(&p, nullptr, 0, &round_robin).code == ASSAY_REJECTED);
}

TEST_CASE("a library that leaves outputs out wants no tensors for them, and needs no declare()", "[host]") {
  static constexpr assay_support without_lse = [] {
    assay_support s{};
    s.size_bytes = sizeof s;
    s.no_lse = s.no_partials = s.no_split_count = 1;
    return s;
  }();
  using silent = attention_library<without_lse, nullptr, launch>;
  CHECK(silent::declared_by == nullptr);
  CHECK_FALSE(silent::is_written("lse"));
  CHECK_FALSE(silent::is_written("o_partial"));
  CHECK(silent::is_written("o"));
  CHECK(library::declared_by != nullptr);
  CHECK(library::is_written("lse"));

  problem p = planned();  // the number of splits is plan()'s own
  contract declared;
  CHECK(silent::declare(&p, &round_robin, &declared).code == ASSAY_OK);
  p.num_splits = 2;
  CHECK(silent::declare(&p, &round_robin, &declared).code == ASSAY_UNSUPPORTED);
}

TEST_CASE("an attention library launches nothing without its tensors", "[host]") {
  launches = 0;
  problem p = planned();
  p.num_seqs = p.total_q = p.max_q = 1;
  const assay_status status = library::run(&p, nullptr, 0, &round_robin);
  CHECK(status.code == ASSAY_REJECTED);
  CHECK(std::string(status.message) == "tensor q is missing");
  CHECK(library::run(&p, nullptr, 1, &round_robin).code == ASSAY_REJECTED);
  CHECK(library::run(&p, nullptr, 0, nullptr).code == ASSAY_REJECTED);
  CHECK(launches == 0);
}
