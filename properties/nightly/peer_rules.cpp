#include "properties/nightly/peer_rules.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "oracle/decode.hpp"

namespace assay {
namespace {

constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

/// |a - b|; 0 for equal infinities; NaN if one is NaN.
double distance(double a, double b) {
  return a == b ? 0 : std::fabs(a - b);
}

/// NaN if one difference is NaN, as torch's max().
double largest_distance(const std::vector<double>& a, const std::vector<double>& b) {
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double far = distance(a[i], b[i]);
    if (std::isnan(far)) return not_a_number;
    largest = std::max(largest, far);
  }
  return largest;
}

bool any_result(const compared_outputs& c, bool (*is_flagged)(const compared_tensor&)) {
  return std::ranges::any_of(c.results, is_flagged);
}

/// torch.isclose: equal, or both finite and near.
bool is_near(double output, double reference, double rtol, double atol) {
  if (output == reference) return true;
  const double far = std::fabs(output - reference);
  return std::isfinite(far) && far <= atol + rtol * std::fabs(reference);
}

bool all_near(const compared_tensor& t, double rtol, double atol) {
  for (std::size_t i = 0; i < t.output.size(); ++i)
    if (!is_near(t.output[i], t.reference[i], rtol, atol)) return false;
  return true;
}

bool has_large_rms(const compared_tensor& t) {
  double squares = 0, magnitude = 0;
  for (std::size_t i = 0; i < t.output.size(); ++i) {
    const double far = distance(t.output[i], t.reference[i]);
    squares += far * far;
    if (std::isfinite(t.output[i])) magnitude = std::max(magnitude, std::fabs(t.output[i]));
    if (std::isfinite(t.reference[i])) magnitude = std::max(magnitude, std::fabs(t.reference[i]));
  }
  if (squares == 0) return false;
  const double rms = std::sqrt(squares) / (magnitude * std::sqrt(static_cast<double>(t.output.size())));
  return !(rms <= (t.type == dtype::bf16 ? 0.01 : 0.005));
}

struct tolerance {
  double rtol;
  double atol;
};

tolerance elimit_of(const compared_outputs& c) {
  if (c.is_quantised) return {1e-2, 0.18};
  const bool is_bf16 = !c.results.empty() && c.results.front().type == dtype::bf16;
  return is_bf16 ? tolerance{1e-2, 1e-2} : tolerance{1e-3, 1e-3};
}

/// check_err() of ck_tile.
bool has_err(const compared_tensor& t, tolerance limit, bool allows_infinity) {
  for (std::size_t i = 0; i < t.output.size(); ++i) {
    const double o = t.output[i], r = t.reference[i];
    const bool is_same_infinity = std::isinf(o) && o == r;
    if ((!std::isfinite(o) || !std::isfinite(r)) && !(allows_infinity && is_same_infinity)) return true;
    if (std::fabs(o - r) > limit.atol + limit.rtol * std::fabs(r)) return true;
  }
  return false;
}

/// The largest change when 0.3 is added and taken away again in the reference's type.
double largest_loss_near_one(const compared_tensor& t) {
  double largest = 0;
  for (const double r : t.reference) {
    const auto rounded = [&](double x) { return oracle::round_to_nearest(t.type, x); };
    largest = std::max(largest, distance(rounded(rounded(r + 0.3) - 0.3), r));
  }
  return largest;
}

bool has_large_nmse(const compared_tensor& t) {
  double differences = 0, energy = 0;
  for (std::size_t i = 0; i < t.output.size(); ++i) {
    const double o = t.output[i], r = t.reference[i];
    if (std::isnan(o) || std::isnan(r)) return true;
    if ((std::isinf(o) || std::isinf(r)) && o != r) return true;
    differences += (o - r) * (o - r);
    energy += o * o;
  }
  return differences / energy > 5e-4;  // false for NaN, as there
}

bool differs_as_vector(const compared_tensor& t) {
  double product = 0, energy = 0;
  for (std::size_t i = 0; i < t.output.size(); ++i) {
    const double o = t.output[i], r = t.reference[i];
    if (std::isinf(r)) continue;
    product += o * r;
    energy += o * o + r * r;
  }
  if (energy == 0) return false;
  return !(1 - 2 * product / energy < 1e-3);
}

/// The distance from 1 to the type's next number.
double epsilon_of(dtype type) {
  return oracle::next_up(type, 1) - 1;
}

bool exceeds_benchdnn(const compared_tensor& t, std::int64_t keys) {
  const double threshold = 8 * static_cast<double>(1 + keys) * epsilon_of(t.type);
  for (std::size_t i = 0; i < t.output.size(); ++i) {
    const double r = std::fabs(t.reference[i]), far = distance(t.output[i], t.reference[i]);
    const double relative = r > 1e-5 ? far / r : far;
    if (!(relative <= threshold) && !(far <= 2e-3)) return true;
  }
  return false;
}

constexpr peer_rule rules[] = {
    {"rocMLIR", "RMS of differences / largest magnitude <= 0.005 (bf16 0.01)", rocmlir_flags},
    {"Composable Kernel", "1e-3 + 1e-3 |r| (bf16 1e-2; 8-bit 0.18 + 1e-2 |r|)", composable_kernel_flags},
    {"aiter", "8-bit: max |d| < 0.055; else 1e-3 (bf16 1e-2 + 2e-2 |r|)", aiter_flags},
    {"FlashAttention", "max |d| <= 2 x that of plain attention in half", flash_attention_flags, true},
    {"FlashInfer, 1e-3", "1e-3 + 1e-3 |r|", flashinfer_flags_at_1e3},
    {"FlashInfer, 1e-2", "1e-2 + 1e-2 |r|", flashinfer_flags_at_1e2},
    {"ggml", "normalised mean square error <= 5e-4", ggml_flags},
    {"DeepGEMM", "1 - 2xy / (xx + yy) < 1e-3", deepgemm_flags},
    {"oneDNN", "relative <= 8 (1 + keys) eps, or absolute <= 2e-3", onednn_flags},
};

}  // namespace

std::span<const peer_rule> peer_rules() {
  return rules;
}

bool can_judge(const peer_rule& rule, const compared_outputs& c) {
  if (!rule.needs_same_precision) return true;
  return std::ranges::any_of(c.results, [](const compared_tensor& t) { return !t.same_precision.empty(); });
}

bool rocmlir_flags(const compared_outputs& c) {
  return any_result(c, has_large_rms) || (c.lse && has_large_rms(*c.lse));
}

bool composable_kernel_flags(const compared_outputs& c) {
  const tolerance limit = elimit_of(c);
  const auto is_flagged = [&](const compared_tensor& t) { return has_err(t, limit, false); };
  return std::ranges::any_of(c.results, is_flagged) || (c.lse && has_err(*c.lse, limit, true));
}

bool aiter_flags(const compared_outputs& c) {
  const auto is_flagged = [&](const compared_tensor& t) {
    if (c.is_quantised) return !(largest_distance(t.output, t.reference) < 0.055);
    return t.type == dtype::bf16 ? !all_near(t, 2e-2, 1e-2) : !all_near(t, 1e-3, 1e-3);
  };
  return std::ranges::any_of(c.results, is_flagged) || (c.lse && !all_near(*c.lse, 1e-3, 1e-3));
}

bool flash_attention_flags(const compared_outputs& c) {
  return std::ranges::any_of(c.results, [&](const compared_tensor& t) {
    if (t.same_precision.empty()) return false;
    const double times = c.is_soft_capped ? 3 : 2;
    const double allowed = times * largest_distance(t.same_precision, t.reference) + 2 * largest_loss_near_one(t);
    return !(largest_distance(t.output, t.reference) <= allowed);
  });
}

bool flashinfer_flags_at_1e3(const compared_outputs& c) {
  return any_result(c, [](const compared_tensor& t) { return !all_near(t, 1e-3, 1e-3); });
}

bool flashinfer_flags_at_1e2(const compared_outputs& c) {
  return any_result(c, [](const compared_tensor& t) { return !all_near(t, 1e-2, 1e-2); });
}

bool ggml_flags(const compared_outputs& c) {
  return any_result(c, has_large_nmse);
}

bool deepgemm_flags(const compared_outputs& c) {
  return any_result(c, differs_as_vector);
}

bool onednn_flags(const compared_outputs& c) {
  return std::ranges::any_of(c.results, [&](const compared_tensor& t) { return exceeds_benchdnn(t, c.keys); });
}

}  // namespace assay
