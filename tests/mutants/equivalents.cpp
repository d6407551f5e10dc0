#include "tests/mutants/equivalents.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "properties/system/errors.hpp"
#include "properties/system/write_file.hpp"

namespace assay::mutants {

std::vector<equivalent> read_equivalents(const std::filesystem::path& file) {
  std::istringstream text(read_file(file));
  std::vector<equivalent> all;
  std::vector<std::string> block;
  std::size_t number = 0;
  const auto end_block = [&] {
    if (block.empty()) return;
    const bool is_whole = block.size() == 4 && block[1].starts_with("- ") && block[2].starts_with("+ ") &&
                          block[3].starts_with("reason: ");
    if (!is_whole)
      throw case_error(
          fmt::format("{}:{}: a block is PATH, '- BEFORE', '+ AFTER' and 'reason: TEXT'", file.string(), number));
    all.push_back({block[0], block[1].substr(2), block[2].substr(2), block[3].substr(8)});
    block.clear();
  };
  for (std::string line; std::getline(text, line);) {
    ++number;
    if (line.starts_with('#')) continue;
    if (line.empty())
      end_block();
    else
      block.push_back(line);
  }
  end_block();
  return all;
}

const equivalent* find(const std::vector<equivalent>& all, const mutant& change) {
  const auto found = std::ranges::find_if(all, [&](const equivalent& e) {
    return e.path == change.path && e.before == change.before && e.after == change.after;
  });
  return found == all.end() ? nullptr : &*found;
}

}  // namespace assay::mutants
