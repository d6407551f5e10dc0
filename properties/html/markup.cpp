#include "properties/html/markup.hpp"

#include <fmt/format.h>

#include <cmath>

#include "properties/explain/error_map.hpp"
#include "properties/system/printable.hpp"

namespace assay::html {

std::string text(std::string_view value, std::size_t most_bytes) {
  std::string safe;
  for (const char c : printable(value, most_bytes)) {
    switch (c) {
      case '&': safe += "&amp;"; break;
      case '<': safe += "&lt;"; break;
      case '>': safe += "&gt;"; break;
      case '"': safe += "&quot;"; break;
      case '\'': safe += "&#39;"; break;
      default: safe += c;
    }
  }
  return safe;
}

std::string whole(std::int64_t value) {
  std::string digits = fmt::format("{}", value);
  const std::size_t first = value < 0 ? 1 : 0;
  for (std::size_t at = digits.size(); at > first + 3;) digits.insert(at -= 3, ",");
  return digits;
}

std::string number(double value) {
  constexpr double most_plain = 1e6, least_rounded = 1000;
  if (std::fabs(value) < most_plain && (value == std::floor(value) || std::fabs(value) >= least_rounded))
    return whole(std::llround(value));
  return fmt::format("{:.3g}", value);
}

std::string error_number(double value) {
  return value >= error_not_finite ? "not finite" : number(value);
}

std::string command(std::string_view line) {
  return fmt::format("<pre class=\"command\" tabindex=\"0\" aria-label=\"Command\"><code>{}</code></pre>\n",
                     text(line));
}

std::string details(std::string_view summary, const std::string& body) {
  return fmt::format("<details><summary>{}</summary>\n{}</details>\n", text(summary), body);
}

std::string figure(const std::string& svg, std::string_view caption, const std::string& below) {
  return fmt::format(
      "<figure>\n<figcaption>{}</figcaption>\n<div class=\"drawing\" tabindex=\"0\" role=\"group\" "
      "aria-label=\"{}\">{}</div>\n{}</figure>\n",
      text(caption), text(caption), svg, below);
}

std::string svg_begin(double width, double height, std::string_view label) {
  return fmt::format(
      "<svg viewBox=\"0 0 {0:.0f} {1:.0f}\" width=\"{0:.0f}\" height=\"{1:.0f}\" role=\"img\" "
      "aria-label=\"{2}\">",
      width, height, text(label));
}

const char* table::alignment(std::size_t column) const {
  return column >= first_number_ && column - first_number_ < numbers_ ? " class=\"n\"" : "";
}

table::table(std::string_view caption, const std::vector<std::string>& headers, std::size_t first_number,
             std::size_t numbers)
    : text_(fmt::format("<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"{0}\">\n<table>\n"
                        "<caption>{0}</caption>\n<thead><tr>",
                        text(caption))),
      first_number_(first_number),
      numbers_(numbers) {
  for (std::size_t i = 0; i < headers.size(); ++i)
    text_ += fmt::format("<th scope=\"col\"{}>{}</th>", alignment(i), text(headers[i]));
  text_ += "</tr></thead>\n<tbody>\n";
}

void table::row(const std::vector<std::string>& cells) {
  ++rows_;
  text_ += "<tr>";
  for (std::size_t i = 0; i < cells.size(); ++i)
    text_ += i == 0 ? fmt::format("<th scope=\"row\">{}</th>", cells[i])
                    : fmt::format("<td{}>{}</td>", alignment(i), cells[i]);
  text_ += "</tr>\n";
}

std::string table::finish() const {
  return text_ + "</tbody>\n</table>\n</div>\n";
}

}  // namespace assay::html
