/// Numbers over nights, as small lines.
#pragma once

#include <string>
#include <vector>

namespace assay::html {

/// One number of a stage, on successive nights; the last one is the newest.
struct number_history {
  std::string stage;
  std::string name;
  std::vector<double> values;
};

/// A table with a line for each number. Empty without any.
std::string history_table(const std::vector<number_history>& numbers);

}  // namespace assay::html
