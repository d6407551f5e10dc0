/// The input tensors of a case as names, types and shapes: what validate() bounds and fill() makes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "properties/case.hpp"

namespace assay {

/// An input tensor that is yet to be made. `order` is the memory order of its dimensions, outermost first.
struct planned_tensor {
  std::string name;
  dtype type = dtype::none;
  std::vector<std::int64_t> shape;
  std::vector<int> order;
};

/// All inputs of a case in problem.hpp's order; optional ones only where the case has them. The fields must have passed
/// the range checks of validate(), the sizes of the tensors need not be bounded yet.
std::vector<planned_tensor> plan_tensors(const attention_case& c);

/// Bytes of a tensor, or nothing where they do not fit int64.
std::optional<std::int64_t> checked_bytes(dtype type, const std::vector<std::int64_t>& shape);

/// ceil(keys / page_size).
inline std::int64_t pages_for(std::int64_t keys, std::int64_t page_size) {
  return (keys + page_size - 1) / page_size;
}

/// Keys [first, end) of a sequence that at least one of its query rows sees; empty ranges have first == end. The rows'
/// positions are consecutive and a window is at least one key wide, so the union over the rows has no gap.
struct key_range {
  std::int64_t first = 0;
  std::int64_t end = 0;
};
key_range visible_keys(const attention_case& c, const sequence& s);

/// Whether query row `row` of a sequence sees key `key`; the definition of problem.hpp.
bool sees(const attention_case& c, const sequence& s, std::int64_t row, std::int64_t key);

}  // namespace assay
