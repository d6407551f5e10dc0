#include "properties/explain/error_map.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "properties/data/difference.hpp"
#include "properties/explain/covered.hpp"
#include "properties/explain/error_sums.hpp"

namespace assay {
namespace {

constexpr std::size_t most_worst = 8;

double plain(double factor) {
  return std::isfinite(factor) ? std::min(factor, error_not_finite) : error_not_finite;
}

error_element describe_element(const oracle::enclosed_tensor& bounds, const tensor& out, const error_at& at) {
  const auto flat = static_cast<std::size_t>(at.flat);
  error_element e{fmt::format("[{}]", fmt::join(at.index, ", ")), value_at(out, offset_of(out, at.index)), 0, 0,
                  plain(at.error)};
  if (bounds.is_enclosed(at.flat)) e.lo = bounds.elements[flat].lo, e.hi = bounds.elements[flat].hi;
  // JSON has no words for what is not finite.
  for (double* number : {&e.value, &e.lo, &e.hi})
    if (!std::isfinite(*number)) *number = std::signbit(*number) ? -error_not_finite : error_not_finite;
  return e;
}

}  // namespace

std::vector<std::string> axes_of(const std::string& tensor, std::size_t rank) {
  std::vector<std::string> axes;
  if (tensor.starts_with("logits"))
    axes = {"query row", "key"};
  else if (tensor.starts_with("lse"))
    axes = {"query row", "head"};
  else if (tensor.starts_with("o"))
    axes = {"query row", "head", "column"};
  else if (rank == 2)
    axes = {"page", "head"};  // descales
  else
    axes = {"page", "slot", "head", "column"};
  if (tensor.ends_with("_partial")) axes.insert(axes.begin(), "split");
  if (axes.size() != rank) {
    axes.clear();
    for (std::size_t d = 0; d < rank; ++d) axes.push_back(fmt::format("axis {}", d));
  }
  return axes;
}

void reduce_to_cells(const std::vector<double>& values, std::int64_t rows, std::int64_t columns, error_map& map) {
  map.rows = rows;
  map.columns = columns;
  map.map_rows = std::min(rows, most_map_rows);
  map.map_columns = std::min(columns, most_map_columns);
  map.cells.assign(static_cast<std::size_t>(map.map_rows * map.map_columns), 0);
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t c = 0; c < columns; ++c) {
      double& cell = map.cells[static_cast<std::size_t>(r * map.map_rows / rows * map.map_columns +
                                                        c * map.map_columns / columns)];
      cell = std::max(cell, plain(values[static_cast<std::size_t>(r * columns + c)]));
    }
}

error_map map_errors(const detailed_run& run, const std::string& tensor) {
  const auto bounds = std::ranges::find(run.bounds.tensors, tensor, &oracle::enclosed_tensor::name);
  const buffer* out = find_buffer(run.ran.written.buffers, tensor);
  if (bounds == run.bounds.tensors.end() || out == nullptr)
    throw std::invalid_argument("error map: there is no judged output " + tensor);
  const std::vector<double> errors = oracle::factors(*bounds, run.ran.written.tensors());
  error_map map;
  map.tensor = tensor;
  const std::vector<std::string> axes = axes_of(tensor, bounds->shape.size());
  map.column_axis = axes.back();
  map.row_axes = fmt::format("{}", fmt::join(axes.begin(), axes.end() - 1, ", "));
  const std::int64_t columns = std::max<std::int64_t>(1, bounds->shape.back());
  map.elements = std::ssize(errors);
  reduce_to_cells(errors, map.elements / columns, columns, map);

  std::vector<error_at> outside;
  for (std::int64_t flat = 0; flat < map.elements; ++flat)
    if (const double error = errors[static_cast<std::size_t>(flat)]; error > 1)
      outside.push_back({flat, index_of(*bounds, flat), error});
  map.outside = std::ssize(outside);
  map.total.name = "all";
  for (const error_at& at : outside) add_error(map.total, at.error, 1);
  if (!outside.empty()) map.sums = sum_errors(run, tensor, axes, outside);
  std::ranges::sort(outside, std::ranges::greater{}, [](const error_at& at) { return std::pair(at.error, -at.flat); });
  for (std::size_t i = 0; i < std::min(outside.size(), most_worst); ++i)
    map.worst.push_back(describe_element(*bounds, out->view(), outside[i]));
  return map;
}

}  // namespace assay
