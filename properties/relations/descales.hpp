/// Edits of per-page descales in filled inputs. All leave inputs without such descales alone.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "properties/transform.hpp"

namespace assay::relations {

/// Chooses pages.
using page_choice = std::function<bool(std::int64_t page)>;

/// Multiplies the descales of the chosen pages by 2^exponent, in all heads. Dead ones, which may be NaN, stay so.
void scale_descale(inputs& in, const std::string& name, int exponent, const page_choice& chosen);
void scale_descales(inputs& in, int exponent, const page_choice& chosen);  ///< of K and of V

/// Sets the descales of K and V of the chosen pages.
void set_descales(inputs& in, const page_choice& chosen, float value);

/// Whether a descale may be one of a live page: finite and above 0.
bool is_usable_descale(double value);

}  // namespace assay::relations
