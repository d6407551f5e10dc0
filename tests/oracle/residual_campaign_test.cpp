/// Many sound kernels and, of each fault, how clearly it shows. Prints its figures; oracle/README.md has them.
#include <catch2/catch_test_macros.hpp>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <ctime>

#include "oracle/enclosure.hpp"
#include "oracle/residual.hpp"
#include "tests/oracle/ordered_kernel.hpp"

namespace assay::oracle {
namespace {

using namespace assay::testing;

residual_result tested(const setting& s, const ordered_options& how) {
  const auto [o, lse] = ordered_kernel(s, how).run_with_lse();
  const std::vector<named_tensor> inputs = s.tensors(), outputs = {{"o", o.view}, {"lse", lse.view}};
  contract declared;
  if (how.lse == lse_manner::base_2) declared.base_of_lse = lse_base::two;
  return test_residuals(s.stated, inputs, outputs, declared);
}

template <class T, std::size_t N>
T one_of(std::mt19937_64& random, const std::array<T, N>& list) {
  return list[random() % N];
}

/// Shapes, types and data at random; a few rows or many, of one head or several.
options any_problem(std::mt19937_64& random) {
  options o;
  o.seed = random();
  o.qk_type = one_of(random, std::array{dtype::f16, dtype::bf16});
  o.v_type = one_of(random, std::array{dtype::f16, dtype::bf16, dtype::e4m3fn});
  o.o_type = one_of(random, std::array{dtype::f16, dtype::bf16, dtype::bf16, dtype::f32});
  o.heads_kv = one_of(random, std::array{1, 1, 2});
  o.heads_q = o.heads_kv * one_of(random, std::array{1, 4, 8});
  o.dim_qk = one_of(random, std::array{32, 64, 128});
  o.dim_v = one_of(random, std::array{16, 64, 128});
  o.page_size = one_of(random, std::array{1, 16, 64, 100, 256});
  const auto keys = static_cast<std::int32_t>(std::exp2(3 + 8 * uniform(random)));
  o.sequences = {{one_of(random, std::array{1, 1, 2, 8, 16, 48}), keys}};
  if (random() % 4 == 0) o.sequences.push_back({3, one_of(random, std::array{64, 77, 300})});
  if (random() % 8 == 0)
    for (int s = 0; s < 20; ++s) o.sequences.push_back({1, 40 + static_cast<std::int32_t>(random() % 300)});
  for (sequence_shape& s : o.sequences) s.q = std::min(s.q, s.k);
  o.causal = random() % 2 == 0;
  if (random() % 4 == 0) o.window = one_of(random, std::array{20, 100, 1000});
  if (random() % 8 == 0) o.soft_cap = 3;
  o.scale = one_of(random, std::array{0.4F, 0.7F, 1.0F, 1.5F}) / std::sqrt(static_cast<float>(o.dim_qk));
  o.v_scale = o.v_type == dtype::e4m3fn ? 0.0371F : 1;
  if (random() % 3 == 0) {
    o.descale = [](char, std::int64_t nth, std::int64_t head) {
      return 1 + 0.013 * static_cast<double>((nth * 7 + head * 3) % 5);
    };
  }
  const double size = o.v_type == dtype::e4m3fn ? 30 : 1;
  const int data = static_cast<int>(random() % 3);
  o.draw = [size, data](char tensor, std::int64_t, std::mt19937_64& r) {
    if (tensor != 'v') return normal(r);
    if (data == 0) return size * normal(r);
    if (data == 1) return size * (2 * uniform(r) - 1);
    return size * (1 + uniform(r) / 2) * (r() % 2 == 0 ? 1 : -1);
  };
  return o;
}

ordered_options any_kernel(std::mt19937_64& random, const options& o) {
  ordered_options how;
  how.in = one_of(random, std::to_array(orders));
  how.p_type = one_of(random, std::array{dtype::f32, dtype::f16, dtype::bf16, dtype::e4m3fn, dtype::i8});
  // P over its sum is far below 1: FP8 and int8 would lose it.
  if (how.in == order::normalised && size_bytes(how.p_type) == 1) how.p_type = dtype::bf16;
  if (how.p_type == dtype::e4m3fn) how.p_scale = one_of(random, std::array{1.0F, 1.0F, 256.0F});
  how.sums_rounded = random() % 3 == 0;
  how.half_partials = random() % 3 == 0;
  how.lse = one_of(random, std::array{lse_manner::plain, lse_manner::plain, lse_manner::biased, lse_manner::half,
                                      lse_manner::bfloat, lse_manner::base_2, lse_manner::with_epsilon});
  how.half_scale = random() % 4 == 0;
  how.half_values = o.v_type == dtype::e4m3fn && random() % 2 == 0;
  return how;
}

std::int64_t number_from(const char* name, std::int64_t otherwise) {
  const char* const text = std::getenv(name);
  return text == nullptr ? otherwise : std::atoll(text);
}

// ASSAY_RESIDUAL_ROWS sets how many.
TEST_CASE("residuals: sound kernels of all orders raise no alarm", "[.residual_campaign]") {
  const std::int64_t wanted = number_from("ASSAY_RESIDUAL_ROWS", 100'000);
  std::mt19937_64 random(static_cast<std::uint64_t>(number_from("ASSAY_RESIDUAL_SEED", 1)));
  struct {
    std::int64_t cases = 0, rows = 0, alarms = 0;
    double largest = 0, largest_of_lse = 0;
  } of[std::size(orders)];
  std::int64_t rows = 0, unsuited = 0, groups = 0, cases = 0, lse_groups = 0, lse_cases = 0;
  while (rows < wanted) {
    const options o = any_problem(random);
    const ordered_options how = any_kernel(random, o);
    const residual_result r = tested(make_setting(o), how);
    auto& sum = of[static_cast<int>(how.in)];
    sum.cases += r.rows > 0 ? 1 : 0, sum.rows += r.rows, sum.alarms += r.finding ? 1 : 0;
    sum.largest = std::max(sum.largest, r.largest_sigmas);
    sum.largest_of_lse = std::max(sum.largest_of_lse, r.lse_largest);
    lse_groups += r.lse_groups, lse_cases += r.lse_groups > 0 ? 1 : 0;
    rows += r.rows, unsuited += r.unsuited, groups += r.groups, cases += r.rows > 0 ? 1 : 0;
    if (r.largest_sigmas > 6.5 || r.lse_largest > 6) {
      std::printf(
          "  case %lld: %.2f sigmas (LSE %.2f), %s, P %d (scale %g, sums %d, values %d, f16 scale %d), V %d, O %d, %d "
          "keys, %d x %d "
          "rows, "
          "dim %d\n",
          static_cast<long long>(cases), r.largest_sigmas, r.lse_largest, name_of(how.in), static_cast<int>(how.p_type),
          static_cast<double>(how.p_scale), how.sums_rounded, how.half_values, how.half_scale,
          static_cast<int>(o.v_type), static_cast<int>(o.o_type), o.sequences[0].k, o.sequences[0].q, o.heads_q,
          o.dim_v);
      std::fflush(stdout);
    }
    CHECK_FALSE(r.finding);
  }
  for (const order in : orders) {
    const auto& sum = of[static_cast<int>(in)];
    std::printf("%-11s %7lld cases %8lld rows, largest %.2f sigmas, of the LSE %.2f, %lld alarms\n", name_of(in),
                static_cast<long long>(sum.cases), static_cast<long long>(sum.rows), sum.largest, sum.largest_of_lse,
                static_cast<long long>(sum.alarms));
  }
  std::printf("%lld cases, %lld rows, %lld rows that do not suit, %lld groups; LSE: %lld cases, %lld groups\n",
              static_cast<long long>(cases), static_cast<long long>(rows), static_cast<long long>(unsuited),
              static_cast<long long>(groups), static_cast<long long>(lse_cases), static_cast<long long>(lse_groups));
}

/// 4 heads of 8 rows over 128 columns; `data` 0: normal with logits of deviation 1; 1: as the fill even_weights.
options table_problem(std::int32_t keys, std::int32_t page, int data) {
  options o;
  o.qk_type = o.v_type = o.o_type = dtype::bf16;
  o.sequences = {{8, keys}};
  o.heads_q = 4;
  o.dim_qk = o.dim_v = 128;
  o.page_size = page;
  o.scale = (data == 0 ? 1.0F : 0.7F) / std::sqrt(128.0F);
  o.draw = [data](char tensor, std::int64_t, std::mt19937_64& r) {
    if (tensor != 'v' || data == 0) return normal(r);
    return (1 + uniform(r) / 2) * (r() % 2 == 0 ? 1 : -1);
  };
  return o;
}

// Prints a table: sigmas of each fault, "-" where it is not found.
TEST_CASE("residuals: how clearly each fault shows", "[.residual_campaign]") {
  struct line {
    residual_fault fault;
    order in;
    bool has_large_pages;
  };
  using enum residual_fault;
  const line lines[] = {{none, order::ascending, false},
                        {stale_v_descale, order::ascending, true},
                        {stale_v_descale, order::ascending, false},
                        {stale_k_descale, order::ascending, true},
                        {stale_k_descale, order::ascending, false},
                        {wrong_page, order::ascending, false},
                        {dropped_key, order::ascending, false},
                        {doubled_key, order::ascending, false},
                        {missing_rescale, order::ascending, false},
                        {unscaled_wave, order::waves, false},
                        {lost_wave, order::waves, false},
                        {one_key_more, order::ascending, false},
                        {one_key_less, order::ascending, false},
                        {wrong_v_scale, order::ascending, false}};
  for (const int data : {0, 1}) {
    std::printf("%s, P in f32, bf16, e4m3; 256, 2048, 8192 keys each\n", data == 0 ? "normal" : "even_weights");
    for (const line& l : lines) {
      std::printf("| %s%s |", name_of(l.fault), l.has_large_pages ? ", half of the keys" : "");
      for (const dtype p : {dtype::f32, dtype::bf16, dtype::e4m3fn})
        for (const std::int32_t keys : {256, 2048, 8192}) {
          setting s = make_setting(table_problem(keys, l.has_large_pages ? keys / 2 : 64, data));
          if (l.fault == one_key_more || l.fault == one_key_less) s.stated.causal = 1;
          const residual_result r = tested(s, {.in = l.in, .p_type = p, .planted = l.fault});
          if (r.finding)
            std::printf(" %.0f |", r.finding->sigmas);
          else
            std::printf(" - (%.1f) |", r.largest_sigmas);
        }
      std::printf("\n");
      std::fflush(stdout);
    }
  }
}

// Processor time beside that of the exact evaluation.
TEST_CASE("residuals: what the test costs", "[.residual_campaign]") {
  for (const std::int32_t keys : {64, 2048}) {
    const setting s = make_setting(table_problem(keys, 64, 1));
    const memory o = ordered_kernel(s, {}).run();
    const std::vector<named_tensor> inputs = s.tensors(), outputs = {{"o", o.view}};
    const auto seconds = [keys](auto&& step) {
      const int repeats = keys < 100 ? 100 : 5;
      const std::clock_t start = std::clock();
      for (int i = 0; i < repeats; ++i) step();
      return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC / repeats;
    };
    const double exact = seconds([&] { evaluate_in_binary64(s.stated, inputs); });
    const double test = seconds([&] { test_residuals(s.stated, inputs, outputs, contract{}); });
    std::printf("%d keys, 32 rows: exact in binary64 %.2f ms, residuals %.2f ms\n", keys, 1e3 * exact, 1e3 * test);
  }
}

}  // namespace
}  // namespace assay::oracle
