/// Mutated cases for fuzzers: close to the original, always inside the case space, the same for the same seed.
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <string>

#include "properties/case/case.hpp"
#include "properties/generate/choice.hpp"

namespace assay {

/// Repeats the choices of the walked case, but draws the choices at the given places (0 is the first) anew. If a new
/// draw makes a later choice impossible, such as more keys than the cost allows, the nearest possible value replaces
/// it.
class repeating_source : public choice_source {
 public:
  /// `drawn` makes the new draws; null only if there are none.
  repeating_source(std::set<std::int64_t> places, choice_source* drawn) : places_(std::move(places)), drawn_(drawn) {}
  std::int64_t choose(std::span<const alternative> alternatives, std::int64_t current) override;
  std::int64_t choices() const { return choices_; }  ///< made so far

 private:
  std::set<std::int64_t> places_;
  choice_source* drawn_;
  std::int64_t choices_ = 0;
};

/// The case of the space with the same choices, as far as its limits allow: a seed for fuzzers if `c` itself has no
/// byte form for these kernels (none named: all). If the kernel of `c` is not among them, a similar case of one that
/// is.
attention_case nearest_encodable(const attention_case& c, std::span<const std::string> kernels = {});

/// The case with one choice drawn anew, seldom up to four; sometimes one of the shrinker's steps instead. The result
/// has a byte form for these kernels (bytes.hpp) for any `c`.
attention_case mutate_case(const attention_case& c, std::uint64_t seed, std::span<const std::string> kernels);

/// Any case that has a byte form for these kernels, as often as the case space's weights say: far from all others.
attention_case draw_case(std::uint64_t seed, std::span<const std::string> kernels);

/// A crossover: takes the fields of `a` in the order of case.hpp, but one run of fields from `b`. Then brings the case
/// back into the case space, as repeating_source does. For two different kernels it crosses only fields that all
/// kernels have.
attention_case cross_cases(const attention_case& a, const attention_case& b, std::uint64_t seed,
                           std::span<const std::string> kernels);

}  // namespace assay
