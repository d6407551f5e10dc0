#include "properties/campaign/corpus_folder.hpp"

#include <fmt/format.h>

#include "properties/campaign/interrupts.hpp"
#include "properties/mutate.hpp"
#include "properties/write_file.hpp"

namespace assay::campaign {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> json_files(const std::vector<fs::path>& places) {
  std::vector<fs::path> files;
  for (const fs::path& place : places) {
    if (!fs::is_directory(place)) {
      files.push_back(place);
      continue;
    }
    for (const auto& entry : fs::recursive_directory_iterator(place))
      if (entry.path().extension() == ".json") files.push_back(entry.path());
  }
  return files;
}

}  // namespace

void plant_seeds(const options& given, result& into) {
  const folders at(given.folder);
  for (const fs::path& file : json_files(given.seeds)) {
    const std::string text = read_file(file);
    std::string input;
    if (given.fuzzed.name == "fuzz_case") {
      input = text;
    } else if (!given.fuzzed.kernel.empty()) {
      const attention_case c = from_json(text, file.string());
      if (c.kernel != given.fuzzed.kernel) continue;
      const attention_case near = nearest_encodable(c, {&given.fuzzed.kernel, 1});
      if (const auto bytes = bytes_of(given.fuzzed, near)) input.assign(bytes->begin(), bytes->end());
    } else {
      continue;
    }
    if (input.empty() || static_cast<std::int64_t>(input.size()) > given.max_len) {
      ++into.seeds_outside;
      continue;
    }
    const std::string name = fmt::format("seed-{:08x}", fingerprint(input));
    if (!fs::exists(at.corpus / name) && !fs::exists(at.failing / name)) write_by_rename(at.corpus / name, input);
    ++into.seeds;
  }
}

int put_aside(const folders& at, const std::string& bytes) {
  int moved = 0;
  for (const auto& entry : fs::directory_iterator(at.corpus)) {
    std::error_code gone;  // a process may replace an entry by a shorter one
    if (entry.file_size(gone) != bytes.size() || gone || read_file(entry.path()) != bytes) continue;
    fs::rename(entry.path(), at.failing / entry.path().filename(), gone);
    ++moved;
  }
  return moved;
}

void readmit(const options& given, const library& lib) {
  const folders at(given.folder);
  const auto judge = isolated_judge(lib, properties().front(), given.limit_seconds);
  std::vector<fs::path> entries;
  for (const auto& entry : fs::directory_iterator(at.failing)) entries.push_back(entry.path());
  for (const fs::path& entry : entries) {
    const std::string bytes = read_file(entry);
    const auto c = case_of(given.fuzzed, {reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()});
    if (interrupts::came() || (c && judge(*c).result == outcome::fail)) continue;
    fs::rename(entry, at.corpus / entry.filename());
  }
}

}  // namespace assay::campaign
