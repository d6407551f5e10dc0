#include "oracle/operations.hpp"

#include <stdexcept>
#include <string>

#include "oracle/append_kv.hpp"
#include "oracle/attention.hpp"
#include "oracle/enclose.hpp"
#include "oracle/float_environment.hpp"
#include "oracle/mqa_logits.hpp"

namespace assay::oracle {
namespace {

/// For operations that do not round P.
template <enclosure evaluate(const problem&, std::span<const named_tensor>, const contract&)>
enclosure without_counts(const problem& planned, std::span<const named_tensor> inputs, const contract& declared,
                         code_counts* /*counts*/) {
  return evaluate(planned, inputs, declared);
}

constexpr operation operations[] = {
    {operation_kind::attention, enclose_attention, evaluate_attention_exactly, evaluate_attention_in_binary64,
     attention_faults, attention_effects, spread_attention},
    {operation_kind::mqa_logits, without_counts<enclose_mqa_logits>, evaluate_mqa_logits_exactly,
     evaluate_mqa_logits_in_binary64, mqa_logits_faults, mqa_logits_effects},
    {operation_kind::append_kv, without_counts<enclose_append_kv>, evaluate_append_kv_exactly, nullptr,
     append_kv_faults, append_kv_effects},
};

enclosure enclose_counting(const problem& planned, std::span<const named_tensor> inputs, const contract& declared,
                           code_counts* counts) {
  const ieee_arithmetic arithmetic_of_the_proofs;
  return operation_of(planned.operation).enclose(planned, inputs, declared, counts);
}

}  // namespace

const operation& operation_of(operation_kind kind) {
  for (const operation& o : operations)
    if (o.kind == kind) return o;
  throw std::invalid_argument("oracle: operation " + std::to_string(static_cast<std::int32_t>(kind)) + " is unknown");
}

enclosure enclose(const problem& planned, std::span<const named_tensor> inputs, const contract& declared) {
  return enclose_counting(planned, inputs, declared, nullptr);
}

enclosure enclose(const problem& planned, std::span<const named_tensor> inputs, const contract& declared,
                  code_counts& counts) {
  return enclose_counting(planned, inputs, declared, &counts);
}

enclosure evaluate_exactly(const problem& planned, std::span<const named_tensor> inputs) {
  const ieee_arithmetic arithmetic_of_the_proofs;
  return operation_of(planned.operation).evaluate_exactly(planned, inputs);
}

enclosure evaluate_in_binary64(const problem& planned, std::span<const named_tensor> inputs) {
  const ieee_arithmetic arithmetic_of_the_proofs;
  const operation& o = operation_of(planned.operation);
  return (o.evaluate_in_binary64 != nullptr ? o.evaluate_in_binary64 : o.evaluate_exactly)(planned, inputs);
}

}  // namespace assay::oracle
