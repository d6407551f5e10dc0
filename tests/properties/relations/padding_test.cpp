// Rows behind the last sequence's: the clean kernels leave them alone, and kernels that do not are caught.
#include <catch2/catch_test_macros.hpp>

#include "properties/data/difference.hpp"
#include "properties/relations/relations.hpp"
#include "tests/properties/faulty_library.hpp"

namespace assay::relations {
namespace {

using testing::call;
using testing::corrupting_library;

constexpr std::int64_t first_padding_row = 4;

attention_case padded(const std::string& kernel = "split_kv") {
  attention_case c = testing::small_case();
  c.kernel = kernel;
  c.padding_rows = 3;
  if (kernel != "split_kv") {
    c.q_type = c.kv_type = dtype::e4m3fn;
    c.num_splits = 1;
    c.scale = 0.125F;
  }
  validate(c);
  return c;
}

TEST_CASE("every property holds for the clean kernels on a padded batch", "[padding]") {
  for (const char* kernel : {"split_kv", "batch_prefill"})
    for (const property& p : properties()) {
      if (!applies(p, kernel)) continue;
      attention_case c = padded(kernel);
      if (p.adapt != nullptr) p.adapt(c, {});
      const verdict v = p.check(*library::built_in(), c);
      CAPTURE(kernel, p.name, v.what);
      CHECK(v.result != outcome::fail);
      CHECK(v.result != outcome::undecided);
    }
}

TEST_CASE("a batch of padding rows alone is left as it was", "[padding]") {
  for (const char* kernel : {"split_kv", "batch_prefill"}) {
    attention_case c = padded(kernel);
    for (sequence& s : c.sequences) s.q = 0;
    CHECK(run_case(*library::built_in(), c).result == outcome::pass);
    c.sequences.clear();
    const verdict v = run_case(*library::built_in(), c);
    CAPTURE(kernel, v.what);
    CHECK(v.result == outcome::pass);
    CHECK(v.judgements.front().elements == std::int64_t{c.padding_rows} * c.heads_q * c.head_dim_v);
  }
}

TEST_CASE("a store to a row behind the last sequence's fails, in each output", "[padding]") {
  for (const char* name : {"o", "lse", "o_partial", "lse_partial"}) {
    const auto faulty = corrupting_library([name](call& c) {
      const tensor t = c.view(name);
      set_bits(
          t, std::string(name).ends_with("_partial") ? t.offset(1, first_padding_row) : t.offset(first_padding_row), 0);
    });
    const verdict v = run_case(*faulty, padded());
    CAPTURE(name, v.what);
    CHECK(v.origin == "enclosure");
    CHECK(v.what.find(" was written: it holds 0 ") != std::string::npos);
  }
}

TEST_CASE("nothing_else_written catches a store of the very bits that a row behind the last sequence's held",
          "[padding]") {
  const auto faulty = corrupting_library([](call& c) {
    const tensor o = c.view("o");
    set_bits(o, o.offset(first_padding_row, 1, 2), 0xFFFF);
  });
  CHECK(run_case(*faulty, padded()).result == outcome::pass);
  const verdict v = nothing_else_written.check(*faulty, padded());
  CHECK(v.result == outcome::fail);
  CHECK(v.what.find("o[4, 1, 2] of a row behind the last sequence's was written: it holds 0xffff") !=
        std::string::npos);
}

TEST_CASE("dead_memory catches a kernel that reads a row behind the last sequence's", "[padding]") {
  const auto faulty = corrupting_library([](call& c) {
    const tensor q = c.view("q");
    if (bits_at(q, q.offset(first_padding_row)) != 0) c.flip_o();
  });
  const verdict v = dead_memory.check(*faulty, padded());
  CAPTURE(v.what);
  CHECK(v.origin == "dead_memory");
}

}  // namespace
}  // namespace assay::relations
