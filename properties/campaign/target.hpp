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
  std::string kernel;            ///< whose cases its bytes are; empty: they are something else
  std::filesystem::path binary;  ///< linked with libFuzzer; empty where it is not needed
};

/// All targets, as `assay list targets` prints them.
std::vector<std::string> target_names();

/// Where the binaries of targets are looked for, in this order: `given` alone if it is not empty, else the fuzz build
/// beside the build of this program, else beside this program.
std::vector<std::filesystem::path> target_folders(const std::filesystem::path& given);

/// The target of that name, which is what its bytes are. Throws case_error for an unknown one.
target target_named(const std::string& name);

/// The target of that name, with its binary from the first folder that has one linked with libFuzzer (every build has
/// binaries with a plain main, too). Throws case_error for an unknown name, environment_error where there is no such
/// binary.
target find_target(const std::string& name, const std::vector<std::filesystem::path>& folders);

/// What the target makes of the bytes; nothing if its bytes are no case.
std::optional<attention_case> case_of(const target& t, std::span<const std::uint8_t> bytes);

/// The bytes from which the target makes this case; nothing if no bytes do.
std::optional<std::vector<std::uint8_t>> bytes_of(const target& t, const attention_case& c);

}  // namespace assay::campaign
