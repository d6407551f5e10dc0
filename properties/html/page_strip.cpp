#include "properties/html/page_strip.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "properties/html/markup.hpp"
#include "properties/system/counted.hpp"

namespace assay::html {
namespace {

constexpr std::size_t cells_of_line = 32;
constexpr double cell_width = 26, cell_height = 22, line_height = 40;

std::string users_of(const used_page& p) {
  constexpr std::ptrdiff_t most_named = 8;
  if (p.sequences.empty()) return "none: the page is dead";
  const auto end = p.sequences.begin() + std::min(most_named, std::ssize(p.sequences));
  const std::string more =
      std::ssize(p.sequences) > most_named ? fmt::format(" and {} more", std::ssize(p.sequences) - most_named) : "";
  return fmt::format("{}{}", fmt::join(p.sequences.begin(), end, ", "), more);
}

/// What stands below a page.
std::string label_of(const used_page& p) {
  if (p.sequences.empty()) return "dead";
  return p.entries == 1 ? fmt::format("s{}", p.sequences.front()) : fmt::format("×{}", p.entries);
}

std::string table_of(const page_use& use) {
  constexpr std::size_t most_rows = 64;
  table pages("Pages of the pool", {"page", "sequences that use it", "table entries", "live slots"}, 2);
  for (std::size_t i = 0; i < std::min(use.pages.size(), most_rows); ++i)
    pages.row({whole(use.pages[i].page), text(users_of(use.pages[i])), whole(use.pages[i].entries),
               fmt::format("{} of {}", use.pages[i].live_slots, use.page_size)});
  return pages.finish();
}

}  // namespace

std::string page_strip_svg(const page_use& use) {
  const std::size_t lines = (use.pages.size() + cells_of_line - 1) / cells_of_line;
  const double width = cell_width * static_cast<double>(std::min(use.pages.size(), cells_of_line)) + 4;
  std::string svg =
      svg_begin(std::max(width, 60.0), line_height * static_cast<double>(lines),
                fmt::format("{} of the pool: {} used, {} shared, {} dead. The table below has them.",
                            counted(use.pool_pages, "page"), use.used, use.shared, use.pool_pages - use.used));
  for (std::size_t i = 0; i < use.pages.size(); ++i) {
    const used_page& p = use.pages[i];
    const double x = 2 + cell_width * static_cast<double>(i % cells_of_line);
    const std::size_t line = i / cells_of_line;
    const double y = 2 + line_height * static_cast<double>(line);
    const double share = use.page_size > 0 ? static_cast<double>(p.live_slots) / static_cast<double>(use.page_size) : 0;
    const auto box = [&](const char* kind, double w) {
      svg += fmt::format("<rect class=\"{}\" x=\"{:g}\" y=\"{:g}\" width=\"{:.1f}\" height=\"{:g}\"/>", kind, x, y, w,
                         cell_height - 2);
    };
    box(p.sequences.empty() ? "dead" : "tail", cell_width - 3);
    if (!p.sequences.empty()) box(p.entries > 1 ? "shared" : "bar", (cell_width - 3) * share);
    svg += fmt::format("<text class=\"soft\" x=\"{:g}\" y=\"{:g}\" text-anchor=\"middle\">{}</text>\n",
                       x + cell_width / 2 - 1, y + cell_height + 10, text(label_of(p)));
  }
  return svg + "</svg>";
}

std::string page_figure(const page_use& use) {
  if (use.pages.empty()) return {};
  const std::string cut =
      std::ssize(use.pages) < use.pool_pages ? fmt::format(" The strip shows the first {}.", use.pages.size()) : "";
  const std::string key =
      "<ul class=\"key\" aria-label=\"Colours of pages\">"
      "<li><svg width=\"12\" height=\"12\" aria-hidden=\"true\"><rect class=\"bar\" width=\"12\" height=\"12\"/></svg>"
      "live slots, of one table entry</li>"
      "<li><svg width=\"12\" height=\"12\" aria-hidden=\"true\"><rect class=\"shared\" width=\"12\" "
      "height=\"12\"/></svg>live slots, shared by several entries</li>"
      "<li><svg width=\"12\" height=\"12\" aria-hidden=\"true\"><rect class=\"tail\" width=\"12\" height=\"12\"/></svg>"
      "dead tail slots</li>"
      "<li><svg width=\"12\" height=\"12\" aria-hidden=\"true\"><rect class=\"dead\" width=\"11\" height=\"11\"/></svg>"
      "dead page</li></ul>\n";
  return figure(page_strip_svg(use),
                fmt::format("The pool has {} of {}. {} used, {} used by several table entries, {} dead. Below each "
                            "page stands the sequence that uses it (s0), or how many entries do.{}",
                            counted(use.pool_pages, "page"), counted(use.page_size, "slot"),
                            use.used == 1 ? "1 is" : fmt::format("{} are", use.used), use.shared,
                            use.pool_pages - use.used, cut),
                key) +
         details("The pages as a table", table_of(use));
}

}  // namespace assay::html
