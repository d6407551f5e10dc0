#include "oracle/head_sums.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <stdexcept>

#include "oracle/clones.hpp"

namespace assay::oracle {
namespace {

constexpr std::int64_t most_rows = 64;

/// max(0, a) of dot products that are f32 numbers: those that mid -/+ radius round to bound them. A NaN stays.
ASSAY_CLONES
void rectify(const double* mid, const double* radius, float* least, float* most) {
  for (std::int64_t j = 0; j < head_sums::keys; ++j) {
    const auto low = static_cast<float>(mid[j] - radius[j]), high = static_cast<float>(mid[j] + radius[j]);
    least[j] = low < 0 ? 0.0F : low;
    most[j] = high < 0 ? 0.0F : high;
  }
}

/// low = the least that fma(weight, from_low, low) may be, high = the most that fma(weight, from_high, high) may be.
ASSAY_CLONES
void add_fused(double weight, const float* from_low, const float* from_high, float* low, float* high) {
  constexpr double beside = 0x1p-52;  // of |s|: at least one place of s, which is at least twice the error of s
  for (std::int64_t j = 0; j < head_sums::keys; ++j) {
    const double product = weight * static_cast<double>(from_low[j]), addend = low[j], s = addend + product;
    const double part = s - addend, error = (addend - (s - part)) + (product - part);
    low[j] = static_cast<float>(error < 0 ? s - beside * std::fabs(s) : s);
  }
  for (std::int64_t j = 0; j < head_sums::keys; ++j) {
    const double product = weight * static_cast<double>(from_high[j]), addend = high[j], s = addend + product;
    const double part = s - addend, error = (addend - (s - part)) + (product - part);
    high[j] = static_cast<float>(error > 0 ? s + beside * std::fabs(s) : s);
  }
}

ASSAY_CLONES
void add_rounded(float weight, const float* from_low, const float* from_high, float* low, float* high) {
  for (std::int64_t j = 0; j < head_sums::keys; ++j) low[j] += weight * from_low[j];
  for (std::int64_t j = 0; j < head_sums::keys; ++j) high[j] += weight * from_high[j];
}

}  // namespace

bool head_sums::has_order(const contract& declared) {
  std::int64_t joined = 0;
  bool ended = false;
  for (const std::int32_t stride : declared.head_tree) {
    ended = ended || stride == 0;
    if (ended ? stride != 0
              : stride < 0 || !std::has_single_bit(static_cast<unsigned>(stride)) || (joined & stride) != 0)
      return false;
    joined |= stride;
  }
  return declared.head_rows >= 1 && declared.head_rows <= most_rows && joined == declared.head_rows - 1;
}

head_sums::head_sums(const contract& declared)
    : rows_(declared.head_rows),
      fuses_(declared.fuses_logits != 0),
      sums_(static_cast<std::size_t>(2 * keys * std::clamp<std::int64_t>(rows_, 0, most_rows))) {
  if (!has_order(declared)) throw std::invalid_argument("oracle: head_rows and head_tree do not define an order");
  for (const std::int32_t stride : declared.head_tree)
    if (stride != 0) strides_.push_back(stride);
}

void head_sums::clear() {
  std::ranges::fill(sums_, 0.0F);
}

void head_sums::add(std::int64_t head, double weight, const double* mid, const double* radius) {
  float least[keys], most[keys];
  rectify(mid, radius, least, most);
  const bool turns = weight < 0;  // the least dot product makes the most of it
  const float *from_low = turns ? most : least, *from_high = turns ? least : most;
  float *to_low = low(head % rows_), *to_high = high(head % rows_);
  if (fuses_)
    add_fused(weight, from_low, from_high, to_low, to_high);
  else
    add_rounded(static_cast<float>(weight), from_low, from_high, to_low, to_high);
}

void head_sums::join() {
  std::int64_t joined = 0;
  for (const std::int64_t stride : strides_) {
    joined |= stride;
    for (std::int64_t row = 0; row < rows_; ++row) {
      if ((row & joined) != 0) continue;
      for (std::int64_t i = 0; i < 2 * keys; ++i) low(row)[i] += low(row + stride)[i];
    }
  }
}

}  // namespace assay::oracle
