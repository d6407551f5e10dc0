/// The oracle's table of operations. The public functions of enclosure.hpp use only this table.
#pragma once

#include <optional>
#include <span>

#include "oracle/code_counts.hpp"
#include "oracle/effects.hpp"
#include "oracle/enclosure.hpp"

namespace assay::oracle {

/// The evaluations of one operation.
struct operation {
  using contract_evaluation = enclosure (*)(const problem&, std::span<const named_tensor>, const contract&,
                                            code_counts*);
  using definition_evaluation = enclosure (*)(const problem&, std::span<const named_tensor>);

  operation_kind kind;
  contract_evaluation enclose;  ///< the counts may be null
  definition_evaluation evaluate_exactly;
  definition_evaluation evaluate_in_binary64;  ///< null: the exact evaluation is fast enough
  std::span<const standard_fault> (*standard_faults)();
  std::vector<fault_effect> (*fault_effects)(const fault_setting& given);
  /// See spread(); null: no fault has a place.
  std::optional<fault_effect> (*spread)(const fault_setting& given, const fault_effect& of_row,
                                        std::int64_t budget) = nullptr;
};

/// Throws std::invalid_argument, with its number, for an operation that is not in the table.
const operation& operation_of(operation_kind kind);

}  // namespace assay::oracle
