// The rules of other projects, each on an example computed by hand on both sides of its limit, and on a NaN.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <limits>
#include <string>

#include "properties/nightly/peer_rules.hpp"

namespace assay {
namespace {

constexpr double nan_value = std::numeric_limits<double>::quiet_NaN();
constexpr double infinite = std::numeric_limits<double>::infinity();

compared_outputs outputs_of(std::vector<double> output, std::vector<double> reference, dtype type = dtype::f16) {
  compared_outputs c;
  c.results.push_back({"o", type, std::move(output), std::move(reference), {}});
  c.keys = 7;
  return c;
}

compared_outputs quantised(compared_outputs c) {
  c.is_quantised = true;
  return c;
}

compared_outputs with_lse(compared_outputs c, double output, double reference) {
  c.lse = compared_tensor{"lse", dtype::f32, {output}, {reference}, {}};
  return c;
}

compared_outputs beside_plain(compared_outputs c, std::vector<double> plain) {
  c.results.front().same_precision = std::move(plain);
  return c;
}

}  // namespace

TEST_CASE("rocMLIR's gate is the root mean square over the largest magnitude") {
  // One of 4 elements off by d: sqrt(d^2) / (2 sqrt(4)) = d / 4.
  CHECK_FALSE(rocmlir_flags(outputs_of({1, 1, 1, 1.982}, {1, 1, 1, 2})));  // 0.018 / 4 = 0.0045
  CHECK(rocmlir_flags(outputs_of({1, 1, 1, 1.97}, {1, 1, 1, 2})));         // 0.0075
  CHECK_FALSE(rocmlir_flags(outputs_of({1, 1, 1, 1.97}, {1, 1, 1, 2}, dtype::bf16)));
  CHECK(rocmlir_flags(outputs_of({1, 1, 1, 1.95}, {1, 1, 1, 2}, dtype::bf16)));  // 0.0125
  // A row of zeros in 40,000 elements hides: 1 / sqrt(40001) < 0.005.
  std::vector<double> many(40001, 1.0), one_lost = many;
  one_lost[17] = 0;
  CHECK_FALSE(rocmlir_flags(outputs_of(one_lost, many)));
  CHECK(rocmlir_flags(outputs_of({1, nan_value}, {1, 1})));
  CHECK_FALSE(rocmlir_flags(outputs_of({0, 0}, {0, 0})));
  CHECK(rocmlir_flags(with_lse(outputs_of({1}, {1}), 1.1, 1)));
  CHECK_FALSE(rocmlir_flags(with_lse(outputs_of({1}, {1}), -infinite, -infinite)));
}

TEST_CASE("Composable Kernel's tolerances depend on the types") {
  CHECK_FALSE(composable_kernel_flags(outputs_of({2.0029}, {2})));  // 1e-3 + 2e-3
  CHECK(composable_kernel_flags(outputs_of({2.0031}, {2})));
  CHECK_FALSE(composable_kernel_flags(outputs_of({2.029}, {2}, dtype::bf16)));  // 1e-2 + 2e-2
  CHECK(composable_kernel_flags(outputs_of({2.031}, {2}, dtype::bf16)));
  CHECK_FALSE(composable_kernel_flags(quantised(outputs_of({2.19}, {2}))));  // 0.18 + 2e-2
  CHECK(composable_kernel_flags(quantised(outputs_of({2.21}, {2}))));
  CHECK(composable_kernel_flags(outputs_of({nan_value}, {1})));
  CHECK(composable_kernel_flags(outputs_of({infinite}, {infinite})));
  CHECK_FALSE(composable_kernel_flags(with_lse(outputs_of({1}, {1}), -infinite, -infinite)));
  CHECK(composable_kernel_flags(with_lse(outputs_of({1}, {1}), 3, -infinite)));
}

TEST_CASE("aiter's limit for 8-bit inputs is 0.055, whatever the size of the values") {
  CHECK_FALSE(aiter_flags(quantised(outputs_of({0.054}, {0}))));
  CHECK(aiter_flags(quantised(outputs_of({0.055}, {0}))));
  CHECK(aiter_flags(quantised(outputs_of({nan_value, 0}, {0, 0}))));  // NaN < 0.055 is false
  CHECK_FALSE(aiter_flags(outputs_of({2.0029}, {2})));
  CHECK(aiter_flags(outputs_of({2.0031}, {2})));
  CHECK_FALSE(aiter_flags(outputs_of({2.049}, {2}, dtype::bf16)));  // 1e-2 + 4e-2
  CHECK(aiter_flags(outputs_of({2.051}, {2}, dtype::bf16)));
  CHECK(aiter_flags(quantised(with_lse(outputs_of({1}, {1}), 1.01, 1))));
}

TEST_CASE("FlashAttention allows twice the error of plain attention, three times with a soft cap") {
  // 1.5 + 0.3 is 1.8 in f16, rounded to 1.7998046875; less 0.3: 1.4998046875, rounded to 1.5 - 2^-12: what is lost is
  // 2^-10 or less, twice that at most 0.002.
  const compared_outputs fine = beside_plain(outputs_of({1.6}, {1.5}), {1.55});  // 2 * 0.05
  CHECK_FALSE(flash_attention_flags(fine));
  const compared_outputs bad = beside_plain(outputs_of({1.61}, {1.5}), {1.55});
  CHECK(flash_attention_flags(bad));
  compared_outputs capped = bad;
  capped.is_soft_capped = true;  // 3 * 0.05
  CHECK_FALSE(flash_attention_flags(capped));
  CHECK(flash_attention_flags(beside_plain(outputs_of({nan_value}, {1.5}), {1.55})));
  CHECK(flash_attention_flags(beside_plain(outputs_of({1.5}, {1.5}), {nan_value})));
  const auto is_flash = [](const peer_rule& r) { return std::string(r.project) == "FlashAttention"; };
  const peer_rule& rule = *std::ranges::find_if(peer_rules(), is_flash);
  CHECK(can_judge(rule, fine));
  CHECK_FALSE(can_judge(rule, outputs_of({1}, {1})));
}

TEST_CASE("FlashInfer's rules are torch's assert_close without the LSE") {
  CHECK_FALSE(flashinfer_flags_at_1e3(with_lse(outputs_of({2.0029}, {2}), 5, 1)));
  CHECK(flashinfer_flags_at_1e3(outputs_of({2.0031}, {2})));
  CHECK_FALSE(flashinfer_flags_at_1e2(outputs_of({2.029}, {2})));
  CHECK(flashinfer_flags_at_1e2(outputs_of({2.031}, {2})));
  CHECK(flashinfer_flags_at_1e2(outputs_of({nan_value}, {2})));
  CHECK(flashinfer_flags_at_1e2(outputs_of({2}, {infinite})));
  CHECK_FALSE(flashinfer_flags_at_1e2(outputs_of({-infinite}, {-infinite})));
}

TEST_CASE(
    "ggml's error is the energy of the differences over that of the output; an infinity on both sides hides all") {
  CHECK_FALSE(ggml_flags(outputs_of({1, 1.02}, {1, 1})));  // 4e-4 / 2.0404 = 1.96e-4
  CHECK(ggml_flags(outputs_of({1, 1.04}, {1, 1})));        // 1.6e-3 / 2.0816 = 7.7e-4
  CHECK(ggml_flags(outputs_of({1, nan_value}, {1, 1})));
  CHECK(ggml_flags(outputs_of({1, infinite}, {1, 1})));
  CHECK(ggml_flags(outputs_of({-infinite}, {infinite})));
  CHECK_FALSE(ggml_flags(outputs_of({9, infinite}, {1, infinite})));  // inf - inf is NaN, and NaN > 5e-4 is false
  CHECK_FALSE(ggml_flags(outputs_of({0, 0}, {0, 0})));
  CHECK(ggml_flags(outputs_of({0, 0}, {0, 1})));  // 1 / 0
}

TEST_CASE("DeepGEMM's difference sees the whole tensor as one vector") {
  // 1 - 2 * 2.06 / (2 + 2.1236): 1 - 0.99913 = 8.7e-4.
  CHECK_FALSE(deepgemm_flags(outputs_of({1, 1.06}, {1, 1})));
  // 1 - 2 * 2.08 / (2 + 2.1664) = 1.54e-3.
  CHECK(deepgemm_flags(outputs_of({1, 1.08}, {1, 1})));
  CHECK(deepgemm_flags(outputs_of({1, nan_value}, {1, 1})));
  CHECK_FALSE(deepgemm_flags(outputs_of({0}, {0})));
  CHECK_FALSE(deepgemm_flags(outputs_of({1, 3}, {1, -infinite})));  // masked away
}

TEST_CASE("oneDNN's limit grows with the number of keys") {
  // 8 (1 + 7) 2^-10 = 0.0625 in f16.
  CHECK_FALSE(onednn_flags(outputs_of({1.0625}, {1})));
  CHECK(onednn_flags(outputs_of({1.07}, {1})));
  compared_outputs many = outputs_of({100}, {1}, dtype::bf16);
  many.keys = 2048;  // 8 * 2049 * 2^-7 = 128
  CHECK_FALSE(onednn_flags(many));
  CHECK_FALSE(onednn_flags(outputs_of({0.002}, {0.0001})));  // 2e-3 is always allowed
  CHECK(onednn_flags(outputs_of({nan_value}, {1})));
}

TEST_CASE("every rule accepts the reference itself, and the table of rules is complete") {
  CHECK(peer_rules().size() == 9);
  for (const peer_rule& r : peer_rules()) {
    INFO(r.project);
    for (const dtype type : {dtype::f16, dtype::bf16, dtype::f32})
      CHECK_FALSE(r.flags(beside_plain(outputs_of({1, -2, 0.5}, {1, -2, 0.5}, type), {1, -2, 0.5})));
  }
}

}  // namespace assay
