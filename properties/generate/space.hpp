/// The one definition of the case space: what is legal, how fields constrain each other, and what is drawn more often.
/// Random generation, the fuzzers' byte form and exhaustive enumeration are three sources of choices for the same walk.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "properties/case/case.hpp"

namespace assay {

/// One way to choose: any value of [lo, hi], as often as `weight` says. Alternatives may overlap.
struct alternative {
  std::int32_t weight = 1;
  std::int64_t lo = 0;
  std::int64_t hi = 0;
};

/// Where choices come from. The alternatives' weights add up to at most 256; the first one's `lo` is the simplest
/// value.
class choice_source {
 public:
  virtual ~choice_source() = default;
  /// A value of one of the alternatives. `current` is the walked case's value: a source that writes a case down returns
  /// it.
  virtual std::int64_t choose(std::span<const alternative> alternatives, std::int64_t current) = 0;
  /// Asks a random source to draw rare features often in the rest of the walk: of some cases there are few.
  virtual void favour_rare() {}
};

/// Bounds of the walk. Wider limits contain narrower ones.
struct space_limits {
  std::int32_t max_sequences = 8;
  std::int32_t max_q = 130;   ///< just beyond two blocks of 64 rows
  std::int32_t max_k = 8200;  ///< a tile for each of 128 splits
  std::int32_t max_splits = 128;
  std::int32_t max_heads = 32;
  std::int32_t cost_class = 5;  ///< most multiply-adds of a case: of 65536 (class 0) to 20 million (class 5)
  bool vary_arithmetic = true;  ///< types, heads, head dims, scales, soft cap, bias, sinks
  bool vary_memory = true;      ///< page sizes, page ids, layouts, tables
  bool vary_data = true;        ///< fill, seed, poison
  bool vary_schedule = true;
  /// Page ids whose bytes lie beyond 2^31, 2^32 and 2^35. Their pools are far larger than memory, so they are sparse.
  bool high_pages = true;
  /// Sometimes draws a case that costs up to class 5 for any cost_class: enough for two row blocks over many tiles.
  bool dear_cases = true;
  bool large_cases = true;  ///< sometimes draws a case of large.hpp, beyond all extents above but not beyond their cost
  bool empty_cases = true;  ///< sometimes draws a case of empty.hpp: without sequences, rows or keys
  /// At least 0: the case is empty, or large, in the way of this number, modulo the number of ways. The quotient lets
  /// what a way leaves open go by turns.
  std::int32_t empty_turn = -1, large_turn = -1;
};

/// Multiply-adds of a case: the sum over sequences of rows * keys, times the operation's cost per pair.
std::int64_t multiply_adds(const attention_case& c);

/// Walks the case field by field and sets each to what the source chooses. Every walk ends in a valid case: nothing is
/// discarded. Fields outside the space (`why`, overrides) are left alone. The kernel is the first choice, of those that
/// are both in `kernels` and in the table of kernel_space.hpp; throws std::invalid_argument if there is none.
void walk(attention_case& c, choice_source& source, const space_limits& limits, std::span<const std::string> kernels);
/// The same, of all kernels of the table.
void walk(attention_case& c, choice_source& source, const space_limits& limits = {});

/// Limits under which all combinations can be tried: at most 2 sequences, 3 query rows, 5 keys, masks and splits.
inline constexpr space_limits tiny_space{2, 3, 5, 3, 1, 0, false, false, false, false, false, false, false, false};

}  // namespace assay
