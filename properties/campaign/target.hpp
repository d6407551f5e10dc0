/// The fuzz targets: programs that take bytes, abort on a finding, and are driven by libFuzzer.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "properties/case/case.hpp"

namespace assay::campaign {

struct target {
  std::string name;              ///< "fuzz_split_kv"
  std::string kernel;            ///< whose cases its inputs encode; empty: its inputs are not cases
  std::filesystem::path binary;  ///< linked with libFuzzer; empty if only its inputs matter
};

/// All targets, as `assay list targets` prints them.
std::vector<std::string> target_names();

/// The folders to search for targets' binaries, in order: `given` alone if it is not empty; else this program's
/// own folder, then the fuzz build beside this program's build.
std::vector<std::filesystem::path> target_folders(const std::filesystem::path& given);

/// The target of that name, without its binary. Throws case_error for an unknown name.
target target_named(const std::string& name);

/// The target of that name, with its binary from the first folder that has one linked with libFuzzer (other builds have
/// binaries with a plain main). Throws case_error for an unknown name, environment_error if there is no such binary.
target find_target(const std::string& name, const std::vector<std::filesystem::path>& folders);

/// The case that the bytes encode; nothing if the target's inputs are not cases.
std::optional<attention_case> case_of(const target& t, std::span<const std::uint8_t> bytes);

/// The bytes that encode this case; nothing if none do.
std::optional<std::vector<std::uint8_t>> bytes_of(const target& t, const attention_case& c);

}  // namespace assay::campaign
