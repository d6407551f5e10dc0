/// Edits of per-page descales in filled inputs. They do not change inputs without such descales.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "properties/data/edit.hpp"
#include "properties/relations/agreement.hpp"

namespace assay::relations {

/// Chooses pages.
using page_choice = std::function<bool(std::int64_t page)>;

/// Multiplies the descales of the chosen pages by 2^exponent, in all heads. Dead ones, which may be NaN, stay so.
void scale_descale(inputs& in, const std::string& name, int exponent, const page_choice& chosen);
void scale_descales(inputs& in, int exponent, const page_choice& chosen);  ///< of K and of V

/// Sets the descales of K and V of the chosen pages.
void set_descales(inputs& in, const page_choice& chosen, float value);

/// Whether a descale is valid for a live page: finite and above 0.
bool is_usable_descale(double value);

/// How a run with equal per-page descales, powers of two, disagrees with one that has them in k_scale and v_scale.
/// Scaling by them rounds nothing, and the ratio of equal ones is 1: under one arithmetic both problems admit the same
/// outputs, and each run must lie in the other's enclosure as well. A library with another arithmetic per tensor is
/// held to what both contracts can explain.
std::optional<std::string> per_tensor_disagreement(const enclosed_run& paged, const enclosed_run& plain);

}  // namespace assay::relations
