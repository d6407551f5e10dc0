/// Files that are there whole or not at all.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace assay {

/// Writes to a temporary neighbour and renames it. Makes the folders that lack. Throws environment_error.
void write_by_rename(const std::filesystem::path& path, std::string_view text);

/// Whether write_by_rename could write there, found out by a file that is there for a moment. Makes no folders.
bool can_be_written(const std::filesystem::path& path);

/// 32-bit FNV-1a of a text: names files by what is in them.
std::uint32_t fingerprint(std::string_view text);

/// The whole file. Throws case_error that names the file when it cannot be read.
std::string read_file(const std::filesystem::path& path);

}  // namespace assay
