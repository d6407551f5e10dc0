#include "properties/system/write_file.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

#include "properties/system/errors.hpp"

namespace assay {
namespace {

namespace fs = std::filesystem;

/// A temporary file beside the path. Its name has the process's number: shards may share a folder.
fs::path partial_name(const fs::path& path) {
  return path.string() + fmt::format(".{}.part", getpid());
}

}  // namespace

void write_by_rename(const fs::path& path, std::string_view text) {
  std::error_code error;
  if (path.has_parent_path()) fs::create_directories(path.parent_path(), error);
  const fs::path partial = partial_name(path);
  {
    std::ofstream file(partial, std::ios::binary);
    file.write(text.data(), static_cast<std::streamsize>(text.size()));
    file.flush();
    if (!file) throw environment_error(fmt::format("{}: cannot be written: {}", path.string(), std::strerror(errno)));
  }
  fs::rename(partial, path, error);
  if (error) throw environment_error(fmt::format("{}: cannot be written: {}", path.string(), error.message()));
}

bool can_be_written(const fs::path& path) {
  std::error_code error;
  if (fs::is_directory(path, error)) return false;
  fs::path folder = fs::absolute(path).parent_path();
  while (!fs::exists(folder, error) && folder.has_relative_path()) folder = folder.parent_path();
  const fs::path probe = partial_name(folder / "probe");
  // Permissions do not show it: root has all of them, and still cannot write to /proc.
  const bool written = std::ofstream(probe).good();
  fs::remove(probe, error);
  return written;
}

std::uint32_t fingerprint(std::string_view text) {
  std::uint32_t hash = 0x811C9DC5U;
  for (const char byte : text) hash = (hash ^ static_cast<unsigned char>(byte)) * 0x01000193U;
  return hash;
}

std::vector<fs::path> files_below(const fs::path& place, std::string_view extension) {
  if (!fs::is_directory(place)) return {place};
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(place))
    if (entry.is_regular_file() && (extension.empty() || entry.path().extension() == extension))
      files.push_back(entry.path());
  std::ranges::sort(files);
  return files;
}

std::string read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  if (file) text << file.rdbuf();
  // An empty file sets failbit on the output side only; a folder opens, but cannot be read.
  if (!file || file.bad() || fs::is_directory(path))
    throw case_error(fmt::format("{}: cannot be read: {}", path.string(), std::strerror(errno != 0 ? errno : EISDIR)));
  return std::move(text).str();
}

}  // namespace assay
