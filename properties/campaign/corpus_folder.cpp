#include "properties/campaign/corpus_folder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "properties/campaign/judges.hpp"
#include "properties/campaign/target_process.hpp"
#include "properties/system/interrupts.hpp"
#include "properties/system/write_file.hpp"

namespace assay::campaign {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> json_files(const std::vector<fs::path>& places) {
  std::vector<fs::path> all;
  for (const fs::path& place : places) {
    const std::vector<fs::path> files = files_below(place, ".json");
    all.insert(all.end(), files.begin(), files.end());
  }
  return all;
}

/// Has the target write the inputs of the cases into the folder: only it knows the form of its inputs.
void write_inputs(const options& given, const std::vector<fs::path>& cases, const fs::path& folder) {
  constexpr std::size_t at_once = 1000;  // an argument list holds at least 2 MiB / 16
  fs::create_directories(folder);
  for (std::size_t begin = 0; begin < cases.size() && !interrupts::seen(); begin += at_once) {
    command what{{given.fuzzed.binary.string()}, target_environment(given), folders(given.folder).logs / "seeds.txt"};
    what.environment.push_back("ASSAY_FUZZ_SEEDS=" + folder.string());
    for (std::size_t i = begin; i < std::min(begin + at_once, cases.size()); ++i)
      what.arguments.push_back(cases[i].string());
    target_process writer(what);
    while (writer.poll() && !interrupts::seen()) std::this_thread::sleep_for(std::chrono::milliseconds(2));
    writer.kill();
    if (writer.succeeded() || interrupts::seen()) continue;
    if (writer.exit_status() == 2) throw case_error(writer.log().last_line);
    throw environment_error(fmt::format("{} {} while writing seeds: {}", given.fuzzed.binary.string(), writer.end(),
                                        writer.log().last_line));
  }
}

}  // namespace

void plant_seeds(const options& given, result& into) {
  const folders at(given.folder);
  const fs::path written = fs::absolute(at.logs / "seeds");
  fs::remove_all(written);  // left by a campaign that was killed
  write_inputs(given, json_files(given.seeds), written);
  for (const auto& entry : fs::directory_iterator(written)) {
    const fs::path name = entry.path().filename();
    if (name.extension() == ".part") continue;  // left by a writer that was interrupted
    const bool fits = static_cast<std::int64_t>(entry.file_size()) <= given.max_len;
    ++(fits ? into.seeds : into.seeds_outside);
    if (fits && !fs::exists(at.corpus / name) && !fs::exists(at.failing / name))
      fs::rename(entry.path(), at.corpus / name);
  }
  fs::remove_all(written);
}

int put_aside(const folders& at, const std::string& bytes) {
  int moved = 0;
  for (const auto& entry : fs::directory_iterator(at.corpus)) {
    std::error_code gone;  // a process may replace the entry at any time
    if (entry.file_size(gone) != bytes.size() || gone || read_file(entry.path()) != bytes) continue;
    fs::rename(entry.path(), at.failing / entry.path().filename(), gone);
    ++moved;
  }
  return moved;
}

void readmit(const options& given, const library& lib) {
  const folders at(given.folder);
  const auto judge = library_judge(given, lib, given.limit_seconds);
  std::vector<fs::path> entries;
  for (const auto& entry : fs::directory_iterator(at.failing)) entries.push_back(entry.path());
  for (const fs::path& entry : entries) {
    const std::string bytes = read_file(entry);
    const auto c = case_of(given.fuzzed, {reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()});
    if (interrupts::seen() || (c && judge(*c).result == outcome::fail)) continue;
    fs::rename(entry, at.corpus / entry.filename());
  }
}

}  // namespace assay::campaign
