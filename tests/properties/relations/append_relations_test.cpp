// The properties of append_kv: they hold for the clean kernel, and each fails for the right reason on a damaged one.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <cstring>
#include <functional>

#include "properties/data/difference.hpp"
#include "properties/relations/relations.hpp"
#include "properties/run/kernel_call.hpp"
#include "tests/properties/faulty_library.hpp"

namespace assay::relations {
namespace {

/// Two sequences with old keys; page 4 belongs to neither.
attention_case append_case() {
  attention_case c;
  c.kernel = "append_kv";
  c.heads_q = c.heads_kv = 2;
  c.pool_pages = 5;
  c.num_splits = 1;
  c.sequences = {{.q = 3, .k = 20, .prefix_offset = {}, .pages = {3, 0}},
                 {.q = 2, .k = 5, .prefix_offset = {}, .pages = {1}}};
  return c;
}

const assay_kernel* clean() {
  return library::built_in()->find("append_kv");
}

std::function<assay_status(testing::call&)>& planted() {
  static std::function<assay_status(testing::call&)> how;
  return how;
}

assay_status run_clean(const testing::call& one) {
  return run_to_outcome(*clean(), one.stated, one.tensors, one.launch);
}

assay_status run_planted(const problem* p, const assay_tensor* tensors, std::int32_t count, const assay_launch* how) {
  testing::call one(*p, *how, {tensors, tensors + count});
  return planted()(one);
}

/// The verdict on a library that runs `how` in place of the kernel; its attention kernels are the built-in ones. It
/// declares `takes`, if that has a size.
verdict check_planted(const property& p, const attention_case& c, std::function<assay_status(testing::call&)> how,
                      const assay_support& takes = {}) {
  planted() = std::move(how);
  const assay_kernel kernels[] = {*library::built_in()->find("split_kv"),
                                  {"append_kv", clean()->plan, clean()->declare, run_planted, nullptr}};
  const assay_library table = ASSAY_LIBRARY("cpu", kernels, 2);
  library faulty(&table, "faulty");
  if (takes.size_bytes != 0) faulty.supports["append_kv"] = takes;
  return p.check(faulty, c);
}

/// The same, where `after` damages what the clean kernel did.
verdict check_damaged(const property& p, const attention_case& c, std::function<void(const testing::call&)> after) {
  return check_planted(p, c, [after = std::move(after)](const testing::call& one) {
    const assay_status status = run_clean(one);
    if (status.code == ASSAY_OK) after(one);
    return status;
  });
}

void flip_last_bit(const tensor& t, std::int64_t offset) {
  set_bits(t, offset, bits_at(t, offset) ^ 1U);
}

}  // namespace

TEST_CASE("properties of slots are about append_kv only, those of page tables are not") {
  for (const property* p : {&slot_order, &named_slots, &slot_twice, &append_then_attend, &append_again}) {
    CHECK(applies(*p, "append_kv"));
    CHECK_FALSE(applies(*p, "split_kv"));
  }
  for (const property* p : {&page_permutation, &hidden_keys, &split_count, &equal_descales, &more_columns})
    CHECK_FALSE(applies(*p, "append_kv"));
}

TEST_CASE("every property that is about append_kv holds for the clean kernel") {
  for (const property& p : properties()) {
    if (!applies(p, "append_kv")) continue;
    for (const descale_kind kind : {descale_kind::per_tensor, descale_kind::per_page}) {
      attention_case c = append_case();
      c.kv_descale = kind;
      if (kind == descale_kind::per_page) c.kv_type = dtype::e4m3fn, c.data.descale_ratio = 100;
      c.rotary = kind == descale_kind::per_page ? rotary_kind::half : rotary_kind::none;
      if (p.adapt != nullptr) p.adapt(c, {});
      const verdict v = p.check(*library::built_in(), c);
      CAPTURE(p.name, v.what);
      CHECK(v.result == outcome::pass);
    }
  }
}

TEST_CASE("a new element that is off by its last bit lies outside of its enclosure") {
  const verdict v = check_damaged(output_enclosed, append_case(), [](const testing::call& one) {
    const tensor k = one.view("k");
    flip_last_bit(k, k.offset(0, 3, 1, 5));  // position 19 of the first sequence
  });
  CHECK(v.result == outcome::fail);
  CHECK(v.origin == "enclosure");
  CHECK(v.what.starts_with("k[0, 3, 1, 5]"));
}

TEST_CASE("named_slots fills dead memory with NaN, but not for a library that takes none there") {
  attention_case c = append_case();
  c.data.poison = poison_kind::zero;
  assay_support takes{};
  takes.size_bytes = sizeof takes;
  bool saw_nan = false;
  const auto looks = [&saw_nan](const testing::call& one) {
    const tensor k = one.view("k");  // no sequence has page 4
    saw_nan = saw_nan || std::isnan(value_at(k, k.offset(4, 0, 0, 0)));
    return run_clean(one);
  };
  CHECK(check_planted(named_slots, c, looks, takes).result == outcome::pass);
  CHECK(saw_nan);
  saw_nan = false;
  takes.no_dead_nan = 1;
  CHECK(check_planted(named_slots, c, looks, takes).result == outcome::pass);
  CHECK_FALSE(saw_nan);
}

TEST_CASE("an old slot of a page that a row goes to must keep its bits, a NaN's included") {
  for (const std::int64_t slot : {0, 9}) {  // live and dead
    const verdict v = check_damaged(output_enclosed, append_case(), [slot](const testing::call& one) {
      const tensor v_pool = one.view("v");
      flip_last_bit(v_pool, v_pool.offset(0, slot, 0, 7));
    });
    CHECK(v.result == outcome::fail);
    CHECK(v.origin == "enclosure");
    CHECK(v.what.starts_with("v[0, " + std::to_string(slot) + ", 0, 7] was written"));
  }
}

TEST_CASE("a page that no row goes to must stay, gaps included") {
  attention_case c = append_case();
  c.input_margin = 8;
  for (const bool in_gap : {false, true}) {
    const verdict v = check_damaged(output_enclosed, c, [in_gap](const testing::call& one) {
      const tensor k = one.view("k");
      flip_last_bit(k, in_gap ? k.offset(1, 2, 0, 63) + 1 : k.offset(4, 2, 0, 7));
    });
    CHECK(v.result == outcome::fail);
    CHECK(v.origin == "memory");
    CHECK(v.what.starts_with("k was written"));
  }
}

TEST_CASE("a pool that is too large to be whole is compared where it has memory") {
  attention_case c = append_case();
  c.pool_pages = std::int64_t{1} << 24;
  c.sequences[0].pages = {(std::int64_t{1} << 24) - 1, 7};
  REQUIRE(check_damaged(output_enclosed, c, [](const testing::call&) {}).result == outcome::pass);
  const verdict v = check_damaged(output_enclosed, c, [](const testing::call& one) {
    const tensor k = one.view("k");
    flip_last_bit(k, k.offset((std::int64_t{1} << 24) - 1, 15, 0, 0));  // an old key; no row goes to its page
  });
  CHECK(v.result == outcome::fail);
  CHECK(v.origin == "memory");
}

TEST_CASE("slot_order has rows to permute, in however many sequences") {
  attention_case c = append_case();
  c.sequences[0].q = 0, c.sequences[1].q = 1;
  slot_order.adapt(c, {});
  CHECK(slot_order.check(*library::built_in(), c).result == outcome::pass);
}

TEST_CASE("slot_order sees a kernel that minds the order of rows") {
  const verdict v = check_damaged(slot_order, append_case(), [](const testing::call& one) {
    const tensor k = one.view("k"), slots = one.view("slots");
    if (static_cast<const std::int64_t*>(slots.data)[0] != 1) set_bits(k, k.offset(0, 3, 0, 0), 0x3C00);
  });
  CHECK(v.result == outcome::fail);
  CHECK(v.origin == "slot_order");
}

TEST_CASE("named_slots sees a slot that follows dead memory") {
  const verdict v = check_damaged(named_slots, append_case(), [](const testing::call& one) {
    const tensor k = one.view("k");
    const bool was_nan = bits_at(k, k.offset(4, 0, 0, 0)) == bits_at(k, k.offset(4, 0, 0, 1)) &&
                         (bits_at(k, k.offset(4, 0, 0, 0)) & 0x7C00U) == 0x7C00U;
    if (!was_nan) flip_last_bit(k, k.offset(0, 3, 0, 0));
  });
  CHECK(v.result == outcome::fail);
  CHECK(v.origin == "named_slots");
}

TEST_CASE("slot_twice sees a kernel that writes before it looks, or takes any slot") {
  attention_case c = append_case();
  const verdict accepts = check_planted(slot_twice, c, [](const testing::call& one) {
    const assay_status status = run_clean(one);
    return status.code == ASSAY_REJECTED ? assay_status{ASSAY_OK, {}} : status;
  });
  CHECK(accepts.result == outcome::fail);
  CHECK(accepts.what.find("run() accepted a slot that two rows are written to") != std::string::npos);
  const verdict writes = check_planted(slot_twice, c, [](const testing::call& one) {
    const assay_status status = run_clean(one);
    const tensor k = one.view("k");
    if (status.code == ASSAY_REJECTED) flip_last_bit(k, k.offset(4, 0, 0, 0));
    return status;
  });
  CHECK(writes.result == outcome::fail);
  CHECK(writes.what.find("run() launched in spite of") != std::string::npos);
}

TEST_CASE("slot_twice sees a kernel that takes any position") {
  attention_case c = append_case();
  c.rotary = rotary_kind::half;
  CHECK(check_planted(slot_twice, c, run_clean).result == outcome::pass);
  const verdict v = check_planted(slot_twice, c, [](const testing::call& one) {
    const tensor positions = one.view("positions"), cosines = one.view("rope_cos");
    const auto* const at = static_cast<const std::int32_t*>(positions.data);
    const auto is_outside = [&](std::int32_t position) { return position < 0 || position >= cosines.shape[0]; };
    if (std::any_of(at, at + positions.shape[0], is_outside)) return assay_status{ASSAY_OK, {}};
    return run_clean(one);
  });
  CHECK(v.result == outcome::fail);
  CHECK(v.what.find("run() accepted a position outside of the rotary tables") != std::string::npos);
}

TEST_CASE("slot_twice sees a refusal that names another row than the first wrong one") {
  const auto says = [](const std::string& from, const std::string& to) {
    return check_planted(slot_twice, append_case(), [from, to](const testing::call& one) {
      assay_status status = run_clean(one);
      std::string text = status.message;
      if (const std::size_t at = text.find(from); at != std::string::npos) text.replace(at, from.size(), to);
      std::snprintf(status.message, sizeof status.message, "%s", text.c_str());
      return status;
    });
  };
  CHECK(says("in row", "in the slot of row").result == outcome::pass);
  CHECK(says("row", "line").result == outcome::pass);
  const verdict pair = says("in rows ", "in rows 1");
  CHECK(pair.result == outcome::fail);
  CHECK(pair.what.find("run() refuses a slot that two rows are written to, but row ") != std::string::npos);
  const verdict single = says("in row ", "in row 1");
  CHECK(single.result == outcome::fail);
  CHECK(single.what.find("run() refuses a slot outside of the pool, but row ") != std::string::npos);
}

TEST_CASE("append_then_attend sees a key that went to another slot") {
  const verdict v = check_damaged(append_then_attend, append_case(), [](const testing::call& one) {
    const tensor k = one.view("k");
    for (std::int64_t d = 0; d < k.shape[3]; ++d) set_bits(k, k.offset(0, 3, 0, d), 0x7E00);  // NaN where it was due
  });
  CHECK(v.result == outcome::fail);
  CAPTURE(v.what);
  CHECK(v.what.find("differs from attention on the expected pool") != std::string::npos);
}

TEST_CASE("append_again sees a slot that changes though no row goes to it, between two of its page") {
  const auto planted_fault = [](const testing::call& one) {
    const tensor k = one.view("k"), slots = one.view("slots");
    const auto* const named = static_cast<const std::int64_t*>(slots.data);
    const auto is_named = [&](std::int64_t slot) { return std::count(named, named + slots.shape[0], slot) > 0; };
    for (const std::int64_t slot : {1, 2, 3})  // of page 0: the rows of the first sequence
      if (!is_named(slot)) flip_last_bit(k, k.offset(0, slot, 0, 0));
  };
  CHECK(check_damaged(output_enclosed, append_case(), planted_fault).result == outcome::pass);
  for (const property* p : {&slot_order, &named_slots, &append_then_attend})
    CHECK(check_damaged(*p, append_case(), planted_fault).result == outcome::pass);
  const verdict v = check_damaged(append_again, append_case(), planted_fault);
  CHECK(v.result == outcome::fail);
  CHECK(v.origin == "append_again");
  CAPTURE(v.what);
  CHECK(v.what.starts_with("after appending half of the rows again: k[0, "));
}

TEST_CASE("a run leaves the in-out tensors among its inputs as they were") {
  const attention_case c = append_case();
  inputs in = fill(c);
  const inputs before = clone(in);
  const execution ran = execute(*library::built_in(), c, in);
  REQUIRE(ran.status.code == ASSAY_OK);
  CHECK(ran.memory_fault.empty());
  for (const char* name : {"k", "v"}) {
    const buffer &was = *find_buffer(before.buffers, name), &is = *find_buffer(in.buffers, name);
    CHECK(std::memcmp(was.bytes().data(), is.bytes().data(), was.bytes().size()) == 0);
    const buffer& written = *find_buffer(ran.written.buffers, name);
    CHECK(std::memcmp(was.bytes().data(), written.bytes().data(), was.bytes().size()) != 0);
  }
}

}  // namespace assay::relations
