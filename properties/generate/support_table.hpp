/// The features that a kernel may lack, one row for each flag of kernels/support.h: what has it, and what takes it
/// away.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "properties/case/case.hpp"
#include "properties/case/support.hpp"
#include "properties/generate/kernel_space.hpp"

namespace assay {

/// Operations that have a feature, as a sum.
enum operation_set : std::uint8_t { of_attention = 1, of_mqa_logits = 2, of_append_kv = 4 };
constexpr std::uint8_t of_all = of_attention | of_mqa_logits | of_append_kv;
operation_set operation_of(const attention_case& c);
operation_set operation_of(std::string_view kernel);

struct supported_feature {
  const char* name;  ///< words for the list of what a kernel takes: "window"
  std::int32_t assay_support::* lacks;
  std::uint8_t operations;
  bool (*has)(const attention_case& c);
  /// Null where one field does not decide: fit() does it.
  void (*take_away)(attention_case& c);
};

/// All of them but those that no case shows: what a kernel does not write, and whether it keeps to a budget.
std::span<const supported_feature> supported_features();

/// The softmax scale of models: 1 / sqrt(head_dim_qk).
float usual_scale(const attention_case& c);

/// Sets the scales that undo the amplitude of quantised types, and a usual softmax scale where that was of their kind.
void set_usual_scales(attention_case& c);

/// Gives a case other types, and takes or changes what does not suit them: scales, descales per page, infinities.
void give_types(attention_case& c, const type_choice& t);

/// Whether every row of the case sees a key.
bool every_row_sees_a_key(const attention_case& c);

/// Whether some head dims of K and V that the kernel takes differ.
bool takes_unequal_dims(const assay_support& s);

/// Combinations of types that a kernel takes and that a case can have, those of its space first in its order.
std::vector<type_choice> supported_types(std::string_view kernel, const assay_support& s);

/// The same as types_of() names them.
std::vector<std::string> names_of_supported_types(std::string_view kernel, const assay_support& s);

/// The first thing that the case has and the kernel does not take, as words ("a window", "head_dim_qk 72"); else empty.
/// What it says of the data holds for the recipe, not for single overridden elements.
std::string unsupported_by(const assay_support& s, const attention_case& c);

}  // namespace assay
