/// The error of an output in units of its enclosure: as a map over rows and columns, and summed by what the elements
/// were made of.
#pragma once

#include <boost/describe.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "properties/run/execute.hpp"

namespace assay {

/// The error of an element that has no finite one: a NaN, an infinity, or wrong bits where given ones are due.
inline constexpr double error_not_finite = 1e300;

/// Cells of a map: larger outputs are reduced, and a cell has the largest error of its elements.
inline constexpr std::int64_t most_map_rows = 32, most_map_columns = 64;

/// Errors of a share of the elements that lie outside of their enclosure.
struct error_share {
  std::string name;       ///< "page 3", "lane 0"
  double error = 0;       ///< sum of finite errors
  double not_finite = 0;  ///< number of elements without a finite one; a part of an element for each page, tile, split
};
BOOST_DESCRIBE_STRUCT(error_share, (), (name, error, not_finite))

/// The shares of one kind. They add up to the whole.
struct error_sum {
  std::string kind;  ///< "page", "tile", "split", "head" or "lane"
  std::vector<error_share> shares;
};
BOOST_DESCRIBE_STRUCT(error_sum, (), (kind, shares))

/// An element far outside.
struct error_element {
  std::string index;  ///< "[0, 1, 5]"
  double value = 0;
  double lo = 0, hi = 0;  ///< the enclosure; both 0 where given bits were due
  double error = 0;
};
BOOST_DESCRIBE_STRUCT(error_element, (), (index, value, lo, hi, error))

/// Of one output tensor. Rows are all axes but the last one, in row-major order; columns are the last axis.
struct error_map {
  std::string tensor;
  std::string row_axes;  ///< "query row, head"
  std::string column_axis;
  std::int64_t rows = 0, columns = 0;          ///< of the tensor, without pages that the call does not reach
  std::int64_t map_rows = 0, map_columns = 0;  ///< of `cells`
  std::vector<double> cells;                   ///< row major; see judgement::worst_factor: above 1 is outside
  std::int64_t elements = 0;
  std::int64_t outside = 0;
  error_share total;                 ///< of all elements outside
  std::vector<error_sum> sums;       ///< empty where no element lies outside
  std::vector<error_element> worst;  ///< up to 8 elements outside, the worst first
};
BOOST_DESCRIBE_STRUCT(error_map, (),
                      (tensor, row_axes, column_axis, rows, columns, map_rows, map_columns, cells, elements, outside,
                       total, sums, worst))

/// The names of a tensor's axes, of which there are `rank`: "query row", "head", "column".
std::vector<std::string> axes_of(const std::string& tensor, std::size_t rank);

/// Reduces a matrix to at most most_map_rows x most_map_columns cells, each the largest of its values.
void reduce_to_cells(const std::vector<double>& values, std::int64_t rows, std::int64_t columns, error_map& map);

/// The map of a judged run's output. Throws std::invalid_argument if the run has no such output or enclosure.
error_map map_errors(const detailed_run& run, const std::string& tensor);

}  // namespace assay
