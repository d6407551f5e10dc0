/// Changed cases for fuzzers: near the one they come from, always inside the case space, the same for the same seed.
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <string>

#include "properties/case/case.hpp"
#include "properties/generate/choice.hpp"

namespace assay {

/// Repeats the choices that the walked case shows, but draws those at the given places (0 is the first) anew. What a
/// new draw made impossible, such as more keys than the cost allows, becomes the nearest possible value.
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

/// The case of the space that makes the same choices, as far as its limits allow: a seed for fuzzers where the case
/// itself has no byte form for these kernels (none named: all). Of a kernel that is not among them, one that looks like
/// it.
attention_case nearest_encodable(const attention_case& c, std::span<const std::string> kernels = {});

/// The case with one choice drawn anew, seldom up to four; now and then a case from the shrinker's steps instead. Such
/// a case has a byte form for these kernels (bytes.hpp) whatever `c` is.
attention_case mutate_case(const attention_case& c, std::uint64_t seed, std::span<const std::string> kernels);

/// Any case that has a byte form for these kernels, as often as the case space's weights say: far from all others.
attention_case draw_case(std::uint64_t seed, std::span<const std::string> kernels);

/// A case whose fields, in the order of case.hpp, are those of `a` but for a run of them that is of `b`, and then
/// brought back into the case space as by repeating_source. Of two kernels' cases only what all kernels have is
/// crossed.
attention_case cross_cases(const attention_case& a, const attention_case& b, std::uint64_t seed,
                           std::span<const std::string> kernels);

}  // namespace assay
