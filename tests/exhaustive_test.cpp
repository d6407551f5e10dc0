/// Every small case, without a choice left to chance: all shapes up to 2 sequences x 3 query rows x 5 keys, all masks
/// on them, and 1 to 3 splits, run on the built-in kernels and judged against the contract's enclosure.
#include <algorithm>
#include <functional>
#include <random>

#include <catch2/catch_test_macros.hpp>

#include "properties/case/case.hpp"
#include "properties/case/tensor_plan.hpp"
#include "properties/generate/choice.hpp"
#include "properties/run/kernel_library.hpp"
#include "properties/run/verdict.hpp"
#include "tests/properties/faulty_library.hpp"

using namespace assay;

namespace {

constexpr std::int64_t max_q = 3, max_k = 5, max_splits = 3;

/// Under a sanitizer a case costs many times as much, and every so many-th stands for all. A prime that divides no
/// axis, so that each axis is still met in full.
#if defined(__has_feature) && __has_feature(address_sanitizer)
constexpr std::int64_t stride = 37;
#else
constexpr std::int64_t stride = 1;
#endif

/// One case of the enumeration, and how it is chosen.
class enumeration {
 public:
  /// Calls visit(number, case) for all sequences of choices that `choose_all` makes with pick().
  template <typename Choose, typename Visit>
  static std::int64_t run(Choose&& choose_all, Visit&& visit) {
    enumeration all;
    std::int64_t number = 0;
    do {
      attention_case c;
      if (!choose_all(all, c)) continue;
      if (number++ % stride == 0) visit(number, c);
    } while (all.source_.next());
    return number;
  }

  std::int64_t pick(std::int64_t lo, std::int64_t hi) {
    const alternative one{1, lo, hi};
    return source_.choose({&one, 1}, lo);
  }

 private:
  exhaustive_source source_;
};

void choose_shapes(enumeration& all, attention_case& c, std::size_t sequences) {
  for (std::size_t i = 0; i < sequences; ++i) {
    sequence& s = c.sequences.emplace_back();
    s.q = static_cast<std::int32_t>(all.pick(0, max_q));
    s.k = static_cast<std::int32_t>(all.pick(0, max_k));
  }
}

/// What the enumeration does not vary is drawn anew for every case: types, the packing of heads, pages and their
/// order, the schedule. Keys straddle pages of 1, 2 and 4 slots.
void draw_the_rest(attention_case& c, std::int64_t number) {
  std::mt19937_64 random(static_cast<std::uint64_t>(number));
  const auto below = [&random](std::int64_t n) {
    return static_cast<std::int32_t>(random() % static_cast<std::uint64_t>(n));
  };
  static constexpr dtype q_types[] = {dtype::f16, dtype::bf16, dtype::i8};
  static constexpr dtype kv_types[] = {dtype::none, dtype::e4m3fn, dtype::e4m3fnuz};
  c.q_type = q_types[below(3)];
  c.kv_type = kv_types[c.q_type == dtype::i8 ? 0 : below(3)];
  if (c.kv_type == dtype::none) c.kv_type = c.q_type;
  c.o_type = c.q_type == dtype::i8 ? dtype::f16 : c.q_type;
  c.scale = c.q_type == dtype::i8 ? 0x1p-13F : 0x1p-3F;
  c.heads_kv = 1 + below(2);
  c.heads_q = c.heads_kv * (1 + below(2));
  c.head_dim_qk = 64 + 8 * below(3);
  c.head_dim_v = 64 + 8 * below(3);
  c.sinks = below(4) == 0;
  c.page_size = 1 << below(3);
  c.layout = below(2) == 0 ? pool_layout::nhd : pool_layout::hnd;
  c.page_table = below(2) == 0 ? page_table_kind::block_table : page_table_kind::page_list;
  c.pool_pages = 11;  // prime, so that ids 3, 6, 9, ... mod 11 are all different; ten pages are in use at most
  for (std::int64_t id = 0; sequence & s : c.sequences)
    for (std::int64_t i = 0; i < pages_for(s.k, c.page_size); ++i) s.pages.push_back(3 * ++id % c.pool_pages);
  c.data.seed = random();
  c.schedule.kind = static_cast<schedule_kind>(below(4));
  c.schedule.seed = random();
  c.schedule.wave_size = below(2) == 0 ? 32 : 64;
}

verdict judged(const library& lib, std::int64_t number, attention_case& c) {
  draw_the_rest(c, number);
  return run_case(lib, c);
}

void check(std::int64_t number, attention_case& c) {
  static const auto kernels = library::built_in_unchecked();  // the loads and stores of so many cases repeat
  const verdict v = judged(*kernels, number, c);
  if (v.result == outcome::pass) return;
  UNSCOPED_INFO(to_json(c));
  UNSCOPED_INFO(v.origin << ": " << v.what);
  FAIL("a small case is not a pass");
}

bool has_rows(const attention_case& c) {
  return std::ranges::any_of(c.sequences, [](const sequence& s) { return s.q > 0; });
}

/// One sequence, with a prefix offset or without. Beyond these offsets and windows nothing changes any more: at offset
/// -3 the last row is before the first key, from 4 on the first row sees all; a window of 10 reaches from the last
/// position to before the first key.
bool choose_one_sequence(enumeration& all, attention_case& c) {
  choose_shapes(all, c, 1);
  if (!has_rows(c)) return false;
  c.num_splits = static_cast<std::int32_t>(all.pick(1, max_splits));
  c.causal = all.pick(0, 1) != 0;
  const std::int64_t offset = all.pick(-4, max_k + 2);
  if (offset > -4) c.sequences[0].prefix_offset = static_cast<std::int32_t>(offset);
  c.window = static_cast<std::int32_t>(all.pick(0, max_k + 1));
  return true;
}

/// Two sequences, aligned at their ends: positions are below 5, so windows above 4 hide nothing.
std::int64_t check_two_sequences(std::int32_t num_splits) {
  const auto choose = [num_splits](enumeration& all, attention_case& c) {
    choose_shapes(all, c, 2);
    if (!has_rows(c)) return false;
    c.num_splits = num_splits;
    c.causal = all.pick(0, 1) != 0;
    c.window = static_cast<std::int32_t>(all.pick(0, max_k - 1));
    return true;
  };
  return enumeration::run(choose, check);
}

/// Two sequences with an offset each: one before the first key, one among the keys, one beyond them.
bool choose_two_offsets(enumeration& all, attention_case& c) {
  choose_shapes(all, c, 2);
  if (!has_rows(c)) return false;
  for (sequence& s : c.sequences) s.prefix_offset = static_cast<std::int32_t>(2 * all.pick(0, 2) - 1);
  c.causal = true;
  c.num_splits = 1 + (c.sequences[0].q + c.sequences[1].k) % 2;
  return true;
}

constexpr std::int64_t shapes = (max_q + 1) * (max_k + 1);  // of a sequence, those without rows included

}  // namespace

TEST_CASE("every small case of one sequence is enclosed, at every prefix offset", "[exhaustive]") {
  CHECK(enumeration::run(choose_one_sequence, check) == (shapes - 6) * 3 * 2 * 12 * 7);
}

TEST_CASE("every small case of two sequences is enclosed without splits", "[exhaustive]") {
  CHECK(check_two_sequences(1) == (shapes * shapes - 36) * 2 * 5);
}

TEST_CASE("every small case of two sequences is enclosed with 2 splits", "[exhaustive]") {
  CHECK(check_two_sequences(2) == (shapes * shapes - 36) * 2 * 5);
}

TEST_CASE("every small case of two sequences is enclosed with 3 splits", "[exhaustive]") {
  CHECK(check_two_sequences(3) == (shapes * shapes - 36) * 2 * 5);
}

TEST_CASE("every small case of two sequences is enclosed with prefix offsets of their own", "[exhaustive]") {
  CHECK(enumeration::run(choose_two_offsets, check) == (shapes * shapes - 36) * 3 * 3);
}

TEST_CASE("the small cases catch a window and a prefix that are off by one", "[exhaustive]") {
  const auto failures = [](const std::function<void(testing::call&)>& before) {
    const auto faulty = testing::faulty_library([&before](testing::call& c) {
      before(c);
      return c.run();
    });
    std::int64_t failed = 0;
    const auto count = [&](std::int64_t number, attention_case& c) {
      if (number % 16 == 0) failed += judged(*faulty, number, c).result == outcome::fail ? 1 : 0;
    };
    enumeration::run(choose_one_sequence, count);
    return failed;
  };
  const std::int64_t enough = 50 / stride;
  CHECK(failures([](testing::call& c) { c.stated.window += c.stated.window > 0 ? 1 : 0; }) > enough);
  CHECK(failures([](testing::call& c) {
          if (c.has("prefix_offset")) ++*static_cast<std::int32_t*>(c.view("prefix_offset").data);
        }) > enough);
}
