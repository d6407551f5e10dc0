/// Standard faults: what a kernel's results would hold if the kernel had a known kind of bug. The suite changes results
/// accordingly and asks the judge. So a run measures which bugs it would have seen.
///
/// The effect of a fault is the difference of two evaluations of the definition in binary64, without and with the
/// fault, at a few places of the case. It is added to what the kernel computed. Verdicts do not depend on it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "kernels/contract.hpp"
#include "kernels/problem.hpp"
#include "kernels/tensor.hpp"
#include "oracle/enclosure.hpp"

namespace assay::oracle {

struct standard_fault {
  const char* name;      ///< snake_case
  const char* sentence;  ///< what is wrong, for reports
  /// What cases must have so that a kernel can have the fault, as properties/run/reach.hpp names it; "" for nothing.
  const char* needs = "";
  /// Its effect may be as small as what rounds differently in another order: a contract that leaves the order open need
  /// not show it.
  bool needs_order = false;
};

/// An element as the fault leaves it.
struct changed_element {
  std::int64_t flat = 0;   ///< its place among the elements that the enclosure covers
  std::uint32_t bits = 0;  ///< what it holds
};

struct changed_tensor {
  std::size_t tensor = 0;  ///< in enclosure::tensors
  std::vector<changed_element> elements;
};

/// Where a fault strikes that is no accident of one row: its sequence, and what tells the same choice for all rows.
struct fault_place {
  std::int64_t sequence = 0;
  std::int64_t key = 0;    ///< of the sequence; rows that do not see it may lack the fault
  std::uint64_t seed = 0;  ///< of what else is chosen
};

/// A fault at one place of a case. `tensors` holds elements that keep their bits too: they are those that the fault
/// reaches.
struct fault_effect {
  const standard_fault* fault = nullptr;
  std::vector<changed_tensor> tensors;
  std::optional<fault_place> place = std::nullopt;  ///< where spread() takes it
};

/// All faults of an operation, in the order of reports.
std::span<const standard_fault> standard_faults(operation_kind kind);

/// The effects of the operation's faults at places that `seed` chooses. A fault that the case cannot have (a lost sink
/// without sinks) has none. `bounds` is the enclosure of `outputs`, which it must fit.
std::vector<fault_effect> fault_effects(const problem& planned, std::span<const named_tensor> inputs,
                                        const contract& declared, const enclosure& bounds,
                                        std::span<const named_tensor> outputs, std::uint64_t seed);

/// An effect as a kernel shows it that has the fault in every row: in all rows and heads of the place's sequence that
/// can have it. Nothing without a place, and where more than `budget` numbers of K and V would be read.
std::optional<fault_effect> spread(const problem& planned, std::span<const named_tensor> inputs,
                                   const contract& declared, const enclosure& bounds,
                                   std::span<const named_tensor> outputs, const fault_effect& of_row,
                                   std::int64_t budget);

/// What the judge says of an effect.
struct fault_sighting {
  bool changes = false;  ///< a bit of the results; a fault that changes none cannot be seen
  bool is_seen = false;  ///< an element left its enclosure, or lost bits that it had to keep
  /// The largest change, relative to the largest of the changed elements before it; 1 where one of the two is no
  /// number, 0 where only the sign of a zero changes.
  double size = 0;
};

/// Asks the judge of the whole case, but only of the elements that the fault reaches.
fault_sighting ask_judge(const fault_effect& effect, const enclosure& bounds, std::span<const named_tensor> outputs);

}  // namespace assay::oracle
