#include "properties/html/nights.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "properties/html/bars.hpp"
#include "properties/html/markup.hpp"
#include "properties/system/counted.hpp"

namespace assay::html {

std::string history_table(const std::vector<number_history>& numbers) {
  constexpr std::size_t most_rows = 100;
  table rows("Numbers of the last nights; the newest night is at the right end of a line",
             {"stage", "number", "over nights", "nights", "least", "most", "newest"}, 3);
  std::size_t row = 0;
  for (const number_history& n : numbers) {
    if (n.values.empty() || row++ == most_rows) continue;
    const auto [least, most] = std::ranges::minmax(n.values);
    rows.row({text(n.stage, 60), text(n.name, 60),
              spark_svg(n.values, fmt::format("{} of {} over {}: from {} to {}", n.name, n.stage,
                                              counted(std::ssize(n.values), "night"), number(n.values.front()),
                                              number(n.values.back()))),
              whole(std::ssize(n.values)), number(least), number(most), number(n.values.back())});
  }
  return rows.empty() ? "" : rows.finish();
}

}  // namespace assay::html
