#include "properties/case/operation.hpp"

#include <algorithm>
#include <stdexcept>

namespace assay {
const operation& describe(operation_kind kind) {
  for (const operation* op : operations)
    if (op->kind == kind) return *op;
  throw std::invalid_argument("unknown operation");
}

const operation& describe(std::string_view kernel) {
  for (const operation* op : operations)
    if (std::ranges::find(op->kernels, kernel) != op->kernels.end()) return *op;
  return attention_operation;
}

bool is_result(const operation& op, std::string_view tensor) {
  return std::ranges::find(op.results, tensor) != op.results.end();
}

visibility visibility_of(const attention_case& c) {
  return {c.causal || describe(c).is_causal, c.window};
}

visibility visibility_of(const problem& p) {
  return {p.causal != 0 || describe(p.operation).is_causal, p.window};
}

}  // namespace assay
