// The properties of mqa_logits: they hold for the clean kernel, and each catches a fault that the case's own enclosure
// does not show.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <functional>

#include "properties/data/difference.hpp"
#include "properties/relations/relations.hpp"
#include "tests/properties/faulty_library.hpp"
#include "tests/properties/generate/arbitrary_case.hpp"

namespace assay::relations {
namespace {

attention_case logits_case() {
  attention_case c;
  c.kernel = "mqa_logits";
  c.q_type = c.kv_type = dtype::e4m3fn;
  c.o_type = dtype::f32;
  c.heads_q = 4;
  c.pool_pages = 6;
  c.batching = q_batching::batch;
  c.max_model_len = 64;
  c.num_splits = 1;
  c.sequences = {{.q = 2, .k = 50, .prefix_offset = {}, .pages = {3, 0, 5, 1}},
                 {.q = 2, .k = 20, .prefix_offset = {}, .pages = {2, 4}}};
  return c;
}

const assay_kernel* clean() {
  return library::built_in()->find("mqa_logits");
}

bool has_kernel() {
  return clean() != nullptr;
}

/// What goes wrong after the call.
std::function<void(const testing::call&)>& damage() {
  static std::function<void(const testing::call&)> how;
  return how;
}

assay_status run_damaged(const problem* p, const assay_tensor* tensors, std::int32_t count, const assay_launch* how) {
  const assay_status status = clean()->run(p, tensors, count, how);
  if (status.code == ASSAY_OK) damage()(testing::call(*p, *how, {tensors, tensors + count}));
  return status;
}

verdict check_damaged(const property& p, const attention_case& c, std::function<void(const testing::call&)> how) {
  damage() = std::move(how);
  const assay_kernel kernel{"mqa_logits", clean()->plan, clean()->declare, run_damaged, nullptr};
  const assay_library table = ASSAY_LIBRARY("cpu", &kernel, 1);
  const library faulty(&table, "faulty");
  return p.check(faulty, c);
}

assay_status run_clean(const testing::call& one) {
  return clean()->run(&one.stated, one.tensors.data(), static_cast<std::int32_t>(one.tensors.size()), &one.launch);
}

/// The verdict on a library that answers a call whose k `is_taken_for_wrong` with `answer`.
verdict check_answering(const property& p, const attention_case& c, assay_status answer,
                        std::function<bool(const DLTensor&)> is_taken_for_wrong) {
  static assay_status given;
  static std::function<bool(const DLTensor&)> is_wrong;
  given = answer, is_wrong = std::move(is_taken_for_wrong);
  const auto run = [](const problem* stated, const assay_tensor* tensors, std::int32_t count, const assay_launch* how) {
    testing::call one(*stated, *how, {tensors, tensors + count});
    return one.has("k") && one.at("k").view.strides != nullptr && one.at("k").view.shape != nullptr &&
                   is_wrong(one.at("k").view)
               ? given
               : run_clean(one);
  };
  const assay_kernel kernel{"mqa_logits", clean()->plan, clean()->declare, run, nullptr};
  const assay_library table = ASSAY_LIBRARY("cpu", &kernel, 1);
  return p.check(library(&table, "faulty"), c);
}

void flip_last_bit(const tensor& t, std::int64_t offset) {
  set_bits(t, offset, bits_at(t, offset) ^ 1U);
}

}  // namespace

TEST_CASE("relations that replace keys leave their scales at least 0") {
  if (!has_kernel()) SKIP("the library has no mqa_logits");
  attention_case c = logits_case();
  for (const property* p : {&hidden_keys, &other_sequences})
    for (const poison_kind poison : {poison_kind::nan, poison_kind::huge}) {
      c.data.poison = poison;
      bool is_negative = false;
      std::vector<double> first;  // the scale of a key that one row alone sees, in each run
      const verdict v = check_damaged(*p, c, [&](const testing::call& one) {
        const tensor scale = one.view("k_row_scale");
        for (std::int64_t page = 0; page < scale.shape[0]; ++page)
          for (std::int64_t slot = 0; slot < scale.shape[1]; ++slot)
            is_negative = is_negative || value_at(scale, scale.offset(page, slot)) < 0;
        first.push_back(value_at(scale, scale.offset(4, 3)));
      });
      CAPTURE(p->name, v.what);
      CHECK(v.result == outcome::pass);
      CHECK_FALSE(is_negative);
      CHECK(std::ranges::any_of(first, [&](double x) { return x != first.front(); }));  // they are replaced
    }
}

TEST_CASE("properties of logits are about mqa_logits only, those of attention are not") {
  for (const property* p : {&context_splits, &more_columns}) {
    CHECK(applies(*p, "mqa_logits"));
    CHECK_FALSE(applies(*p, "split_kv"));
  }
  for (const property* p : {&head_permutation, &v_scaling, &split_count, &combine_partials})
    CHECK_FALSE(applies(*p, "mqa_logits"));
}

TEST_CASE("every property that is about mqa_logits holds for the clean kernel") {
  if (!has_kernel()) SKIP("the library has no mqa_logits");
  for (const property& p : properties()) {
    if (!applies(p, "mqa_logits")) continue;
    for (const bool fills : {false, true})
      for (const key_order order : {key_order::plain, key_order::preshuffled}) {
        attention_case c = logits_case();
        c.fills_hidden = fills;
        c.k_order = order;
        c.row_margin = fills ? 3 : 0;
        c.input_margin = fills ? 5 : 0;
        if (p.adapt != nullptr) p.adapt(c, {});
        const verdict v = p.check(*library::built_in(), c);
        CAPTURE(p.name, fills, static_cast<int>(order), v.what);
        CHECK(v.result == outcome::pass);
      }
  }
}

TEST_CASE("a write to a hidden column shows in its bits") {
  if (!has_kernel()) SKIP("the library has no mqa_logits");
  const verdict v = check_damaged(output_enclosed, logits_case(), [](const testing::call& one) {
    const tensor logits = one.view("logits");
    set_bits(logits, logits.offset(1, 50), 0x7FC00000U);
  });
  CHECK(v.result == outcome::fail);
  CHECK(v.origin == "enclosure");
  CHECK(v.what.starts_with("logits[1, 50] was written: it holds nan (0x7fc00000) and had to keep its bits; 1 of"));
}

TEST_CASE("a store between rows is a fault of memory, whatever the rows hold") {
  if (!has_kernel()) SKIP("the library has no mqa_logits");
  attention_case c = logits_case();
  c.row_margin = 5;
  const verdict v = check_damaged(output_enclosed, c, [](const testing::call& one) {
    const tensor logits = one.view("logits");
    set_bits(logits, logits.offset(2, 0) - 5, 0xFF800000U);
  });
  CHECK(v.result == outcome::fail);
  CHECK(v.origin == "memory");
  CHECK(v.what == "logits was written between its rows: at [1, 64] of [4, 64], byte 532 of 1084");
}

TEST_CASE("nothing_else_written catches a store of the very bits that unwritten memory holds") {
  if (!has_kernel()) SKIP("the library has no mqa_logits");
  const auto store = [](const testing::call& one) {
    const tensor logits = one.view("logits");
    set_bits(logits, logits.offset(3, 20), 0xFFFFFFFFU);
  };
  CHECK(check_damaged(output_enclosed, logits_case(), store).result == outcome::pass);
  const verdict v = check_damaged(nothing_else_written, logits_case(), store);
  CHECK(v.result == outcome::fail);
  CHECK(v.what.find("logits[3, 20] was written: it holds 0xffffffff") != std::string::npos);
}

TEST_CASE("preshuffled pages that lie apart are to be refused, also two of them; one page has any stride") {
  if (!has_kernel()) SKIP("the library has no mqa_logits");
  attention_case c = logits_case();
  c.k_order = key_order::preshuffled;
  validate(c);
  const std::int64_t dense = std::int64_t{c.page_size} * c.head_dim_qk;
  const auto accepts = [&](std::function<bool(const DLTensor&)> is_wrong) {
    return check_answering(bad_problem_rejected, c, {ASSAY_OK, {}}, std::move(is_wrong)).what;
  };
  const std::string apart = "run() accepted k with a stride that is not that of dense keys in dimension 0";
  CHECK(accepts([=](const DLTensor& k) { return k.strides[0] == dense + 8; }).starts_with(apart));
  CHECK(accepts([=](const DLTensor& k) { return k.strides[0] == dense + 8 && k.shape[0] == 2; }).starts_with(apart));
  c.sequences.resize(1);
  c.data.seed = 1;
  row_strides.adapt(c, {});
  validate(c);
  REQUIRE(c.pool_pages == 1);
  CHECK(row_strides.check(*library::built_in(), c).result == outcome::pass);
  const verdict refused = check_answering(row_strides, c, {ASSAY_REJECTED, "planted"},
                                          [=](const DLTensor& k) { return k.strides[0] != dense; });
  CHECK(refused.what ==
        "after giving dimensions of one element other strides, and addresses an offset the library says: rejected: "
        "planted");
}

TEST_CASE("context_splits, other_rows, row_strides and more_columns each catch a fault of one bit") {
  if (!has_kernel()) SKIP("the library has no mqa_logits");
  const auto fails = [](const property& p, std::function<void(const testing::call&)> how) {
    const verdict v = check_damaged(p, logits_case(), std::move(how));
    CAPTURE(p.name, v.what);
    CHECK(v.result == outcome::fail);
    CHECK(v.origin == p.name);
  };
  fails(context_splits, [](const testing::call& one) {
    if (one.stated.num_splits > 1) flip_last_bit(one.view("logits"), 7);
  });
  fails(context_splits, [](const testing::call& one) {
    if (one.stated.split_contexts == context_split::variable) flip_last_bit(one.view("logits"), 7);
  });
  const inputs given = fill(logits_case());
  const std::uint32_t weight = bits_at(find_buffer(given.buffers, "weights")->view(), 0);
  fails(other_rows, [weight](const testing::call& one) {  // row 1 is the one that is kept
    if (bits_at(one.view("weights"), 0) != weight) flip_last_bit(one.view("logits"), one.view("logits").offset(1, 0));
  });
  fails(row_strides, [](const testing::call& one) {
    if (one.view("logits").stride[0] > 64) flip_last_bit(one.view("logits"), 7);
  });
  fails(more_columns, [](const testing::call& one) {
    if (one.stated.max_model_len > 64) flip_last_bit(one.view("logits"), one.view("logits").offset(0, 64));
  });
}

TEST_CASE("more_columns lets bits differ where a kernel declares it, and no hidden column be written") {
  if (!has_kernel()) SKIP("the library has no mqa_logits");
  const auto verdict_of = [](std::int64_t column) {
    damage() = [column](const testing::call& one) {
      const tensor logits = one.view("logits");
      std::int64_t at = column;
      while (column == 0 && value_at(logits, logits.offset(0, at)) == 0) ++at;  // no other number is as good as 0
      if (one.stated.max_model_len > 64) flip_last_bit(logits, logits.offset(0, at));
    };
    const assay_kernel kernel{"mqa_logits", clean()->plan, clean()->declare, run_damaged, nullptr};
    const assay_library table = ASSAY_LIBRARY("cpu", &kernel, 1);
    library lib(&table, "faulty");
    lib.judged_by = contract_use::open;
    const verdict strict = more_columns.check(lib, logits_case());
    CHECK(strict.result == outcome::fail);
    lib.supports["mqa_logits"].no_same_bits = 1;
    return more_columns.check(lib, logits_case());
  };
  const verdict visible = verdict_of(0), hidden = verdict_of(64);
  CAPTURE(visible.what, hidden.what);
  CHECK(visible.result == outcome::pass);
  CHECK(hidden.result == outcome::fail);
}

}  // namespace assay::relations
