#include "properties/system/write_file.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <optional>
#include <sstream>

#include "properties/system/errors.hpp"

namespace assay {
namespace {

namespace fs = std::filesystem;

/// A temporary file beside the path. Its name has the process's number: shards may share a folder.
fs::path partial_name(const fs::path& path) {
  return path.string() + fmt::format(".{}.part", getpid());
}

[[noreturn]] void refuse(const fs::path& path, const std::string& why) {
  throw environment_error(fmt::format("{}: cannot be written: {}", path.string(), why));
}

/// False if that fails; then errno says why.
bool write_whole(const fs::path& path, std::string_view text) {
  errno = 0;
  std::ofstream file(path, std::ios::binary);
  file.write(text.data(), static_cast<std::streamsize>(text.size()));
  file.close();
  return !file.fail();
}

/// stdout or stderr where that is the regular file at this path: by /dev/stdout, or by its own name (--json x > x).
std::optional<int> standard_file_at(const fs::path& path) {
  struct stat there{};
  if (stat(path.c_str(), &there) != 0 || !S_ISREG(there.st_mode)) return std::nullopt;
  for (const int fd : {STDOUT_FILENO, STDERR_FILENO}) {
    struct stat open{};
    if (fstat(fd, &open) == 0 && open.st_dev == there.st_dev && open.st_ino == there.st_ino) return fd;
  }
  return std::nullopt;
}

/// False if that fails; then errno says why.
bool write_behind(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

/// How a place is written: a regular file, or one that is not there yet, by rename; a device or a pipe, such as
/// /dev/stdout or what a shell makes of >(jq), through it; the file that is stdout, behind what is in it; nothing else.
enum class place { file, stream, standard, neither };

place place_of(const fs::path& path) {
  if (standard_file_at(path)) return place::standard;
  std::error_code error;
  switch (fs::status(path, error).type()) {
    case fs::file_type::regular: return place::file;
    case fs::file_type::not_found:
      return fs::is_symlink(fs::symlink_status(path, error)) ? place::neither : place::file;
    case fs::file_type::character:
    case fs::file_type::fifo: return place::stream;
    default: return place::neither;
  }
}

/// What is replaced: a link stays, and the file that it names is written.
fs::path target_of(const fs::path& path) {
  std::error_code error;
  return fs::is_symlink(fs::symlink_status(path, error)) ? fs::canonical(path, error) : path;
}

}  // namespace

void write_by_rename(const fs::path& path, std::string_view text) {
  std::error_code error;
  const place where = place_of(path);
  if (where == place::neither) refuse(path, "it is no regular file, device or pipe");
  if (where == place::stream) {
    if (!write_whole(path, text)) refuse(path, std::strerror(errno));
    return;
  }
  if (where == place::standard) {
    if (!write_behind(*standard_file_at(path), text)) refuse(path, std::strerror(errno));
    return;
  }
  if (path.has_parent_path()) fs::create_directories(path.parent_path(), error);
  const fs::path target = target_of(path);
  const fs::path partial = partial_name(target);
  if (!write_whole(partial, text)) {
    const std::string why = std::strerror(errno);
    fs::remove(partial, error);
    refuse(path, why);
  }
  fs::rename(partial, target, error);
  if (!error) return;
  const std::string why = error.message();
  fs::remove(partial, error);
  refuse(path, why);
}

bool can_be_written(const fs::path& path) {
  std::error_code error;
  if (const place where = place_of(path); where != place::file) return where != place::neither;
  fs::path folder = fs::absolute(target_of(path)).parent_path();
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
  std::error_code error;
  if (!fs::is_directory(place, error)) return {place};
  std::vector<fs::path> files;
  const auto refuse_if = [&](const fs::path& at) {
    if (error) throw case_error(fmt::format("{}: cannot be read: {}", at.string(), error.message()));
  };
  auto entry = fs::recursive_directory_iterator(place, error);
  refuse_if(place);
  for (; entry != fs::recursive_directory_iterator(); entry.increment(error), refuse_if(place)) {
    std::error_code unknown;  // of a link to nothing: no regular file
    if (entry->is_regular_file(unknown) && (extension.empty() || entry->path().extension() == extension))
      files.push_back(entry->path());
  }
  std::ranges::sort(files);
  return files;
}

std::string read_file(const fs::path& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (error) throw case_error(fmt::format("{}: cannot be read: {}", path.string(), error.message()));
  if (!fs::is_regular_file(status) && !fs::is_directory(status) && fs::exists(status))
    throw case_error(fmt::format("{}: cannot be read: it is no regular file", path.string()));
  if (fs::is_regular_file(status) && fs::file_size(path, error) > most_file_bytes)
    throw case_error(fmt::format("{}: cannot be read: it has more than {} bytes", path.string(), most_file_bytes));
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  if (file) text << file.rdbuf();
  // An empty file sets failbit on the output side only; a folder opens, but cannot be read.
  if (!file || file.bad() || fs::is_directory(path))
    throw case_error(fmt::format("{}: cannot be read: {}", path.string(), std::strerror(errno != 0 ? errno : EISDIR)));
  return std::move(text).str();
}

}  // namespace assay
