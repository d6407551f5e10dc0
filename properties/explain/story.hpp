/// How one output element came about, for people who debug a defect.
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

/// Reads "o,1,2,3". Throws case_error unless it is an element of these outputs.
element parse_element(const std::string& text, const outputs& out);

/// The worst element of a verdict: the one farthest outside its enclosure, else the one nearest to its bound.
std::optional<element> worst_element(const verdict& v);

/// The case, the verdict for each tensor, the distance of the output from exact attention, and the story of one
/// element: value, enclosure and exact value; sequence, row and head; and for each tile the split, the running state
/// and the keys that add most, with page and slot.
std::string explain(const attention_case& c, const detailed_run& run, const std::optional<element>& chosen);

}  // namespace assay
