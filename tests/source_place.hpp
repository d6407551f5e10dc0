/// Where a test's source holds a text, as reports name it: no test knows a line's number, which an edit above moves.
#pragma once

#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>

namespace assay::testing {

/// "launched.hip:62", for the only line of the file that holds the text. Throws where none does, or several.
inline std::string place_of(const std::filesystem::path& file, std::string_view text) {
  std::ifstream source(file);
  std::string line, place;
  for (int number = 1; std::getline(source, line); ++number) {
    if (line.find(text) == std::string::npos) continue;
    if (!place.empty()) throw std::runtime_error(file.string() + " holds several times: " + std::string(text));
    place = file.filename().string() + ":" + std::to_string(number);
  }
  if (place.empty()) throw std::runtime_error(file.string() + " does not hold: " + std::string(text));
  return place;
}

}  // namespace assay::testing
