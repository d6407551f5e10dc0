/// What happened to one output element, for a person who looks at a defect.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "properties/run/execute.hpp"

namespace assay {

/// An element of an output, by name and logical index.
struct element {
  std::string tensor;
  std::vector<std::int64_t> index;
};

/// "o,1,2,3". Throws case_error unless the text names an element of these outputs.
element parse_element(const std::string& text, const outputs& out);

/// The element that a verdict is about: the worst one outside its enclosure, else the one nearest to its bound.
std::optional<element> worst_element(const verdict& v);

/// The case, the verdict per tensor, how far the output is from exact attention, and the story of one element: value,
/// enclosure, exact value; sequence, row, head; and tile by tile the split, the running state and the keys that count
/// most, with page and slot.
std::string explain(const attention_case& c, const detailed_run& run, const std::optional<element>& chosen);

}  // namespace assay
