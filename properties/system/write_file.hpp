/// Reading, finding and writing files. A file that is written is there whole or not at all.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace assay {

/// Writes to a temporary file beside the path and renames it; writes through a link, straight into a device or a pipe,
/// and behind what is in a file that is stdout or stderr. Creates missing folders. Throws environment_error, also where
/// there is anything else; then nothing is left.
void write_by_rename(const std::filesystem::path& path, std::string_view text);

/// Whether write_by_rename could write there. Tries it with a temporary file; creates no folders.
bool can_be_written(const std::filesystem::path& path);

/// 32-bit FNV-1a of a text, to name files by their content.
std::uint32_t fingerprint(std::string_view text);

/// The place itself if it is a file; else the files below it whose names end with `extension` (empty: all), sorted.
/// Throws case_error where a folder cannot be read.
std::vector<std::filesystem::path> files_below(const std::filesystem::path& place, std::string_view extension);

/// No case, report or input is larger; the largest cases, of 65,600 sequences, have a few MiB.
inline constexpr std::uintmax_t most_file_bytes = std::uintmax_t{64} << 20;

/// The whole file. Throws case_error that names the file when it cannot be read, is no regular file, or is too large.
std::string read_file(const std::filesystem::path& path);

}  // namespace assay
