/// What a kernel takes (kernels/support.h), as the suite works with it.
#pragma once

#include <boost/json/fwd.hpp>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/support.h"
#include "kernels/tensor.hpp"
#include "properties/system/errors.hpp"

namespace assay {

/// Of kernels by name. A kernel that is not in it takes everything.
using support_map = std::map<std::string, assay_support, std::less<>>;

/// That of the kernel; one that restricts nothing where the map has none.
const assay_support& support_of(const support_map& all, std::string_view kernel);

/// What an export returned: its fields up to its own size, all others 0. Throws case_error where it cannot be used: a
/// size below that of a size, fields that this version does not know, values that its header does not allow. It names
/// the field.
assay_support read_support(const assay_support& given);

/// JSON with the fields that restrict something, in order; from_json is its inverse. Throws case_error.
boost::json::object support_to_json(const assay_support& s);
assay_support support_from_json(const boost::json::object& o);

/// The fields that JSON may have, in order.
std::vector<std::string> support_field_names();

/// Whether the sizes restrict something, whether they hold a value, and the nearest that they hold; of two the smaller.
/// Only values in [lo, hi] that are multiples of `step` are asked for. -1: there is none.
bool is_restricted(const assay_sizes& sizes);
bool holds(const assay_sizes& sizes, std::int64_t value);
std::int64_t nearest_of(const assay_sizes& sizes, std::int64_t value, std::int64_t lo, std::int64_t hi,
                        std::int64_t step = 1);

/// The combinations of types; empty: all.
std::vector<assay_types> types_in(const assay_support& s);

/// Sizes of head_dim_v.
inline const assay_sizes& head_dims_v_of(const assay_support& s) {
  return is_restricted(s.head_dims_v) ? s.head_dims_v : s.head_dims;
}

/// Outputs of its operation that the kernel does not write: neither allocated, nor passed, nor judged.
std::vector<std::string> outputs_left_out(const assay_support& s);

}  // namespace assay
