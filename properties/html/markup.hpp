/// Pieces of an HTML page as text. Every value goes through text(), which escapes it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace assay::html {

/// A value, for an element or an attribute in double quotes: escaped, printable, and cut after `most_bytes`.
std::string text(std::string_view value, std::size_t most_bytes = 4096);

/// A number for a reader: "0.25", "1,234", "5.9e+06".
std::string number(double value);
std::string whole(std::int64_t value);

/// An error in units of its enclosure; "not finite" where it has none.
std::string error_number(double value);

/// A command line that the reader copies.
std::string command(std::string_view line);

/// A part that is closed until the reader opens it. `body` is markup.
std::string details(std::string_view summary, const std::string& body);

/// A picture with its words. `svg` and `below` are markup.
std::string figure(const std::string& svg, std::string_view caption, const std::string& below = {});

/// The start of a picture: its size in user units, and what a screen reader says of it.
std::string svg_begin(double width, double height, std::string_view label);

/// A table. Its caption and headers are text, its cells are markup. The first cell of each row is a header.
class table {
 public:
  /// `numbers` columns from `first_number` on are aligned as numbers.
  table(std::string_view caption, const std::vector<std::string>& headers, std::size_t first_number = 1,
        std::size_t numbers = 1000);
  void row(const std::vector<std::string>& cells);
  std::string finish() const;
  bool empty() const { return rows_ == 0; }

 private:
  std::string text_;
  const char* alignment(std::size_t column) const;
  std::size_t first_number_, numbers_;
  std::size_t rows_ = 0;
};

}  // namespace assay::html
