#include "properties/campaign/target.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <sstream>
#include <string_view>

#include "properties/case/case.hpp"
#include "properties/generate/bytes.hpp"
#include "properties/generate/kernel_space.hpp"
#include "properties/system/errors.hpp"
#include "properties/system/write_file.hpp"

namespace assay::campaign {
namespace {

namespace fs = std::filesystem;

/// libFuzzer's driver carries the names of its options; a plain main does not.
bool has_libfuzzer(const fs::path& binary) {
  return read_file(binary).find("max_total_time") != std::string::npos;
}

std::span<const std::string> only(const target& t) {
  return {&t.kernel, 1};
}

}  // namespace

std::vector<std::string> target_names() {
  std::istringstream names(ASSAY_FUZZ_TARGETS);
  std::vector<std::string> all;
  for (std::string name; names >> name;) all.push_back(name);
  return all;
}

std::vector<fs::path> target_folders(const fs::path& given) {
  if (!given.empty()) return {given};
  std::error_code error;
  const fs::path here = fs::read_symlink("/proc/self/exe", error).parent_path();
  return {here, here / ".." / ".." / "fuzz" / "bin"};
}

target target_named(const std::string& name) {
  if (const auto names = target_names(); std::ranges::find(names, name) == names.end())
    throw case_error(fmt::format("unknown target '{}' (see: assay list targets)", name));
  target t{name, name.substr(std::string_view("fuzz_").size()), {}};
  if (find_kernel_space(t.kernel) == nullptr) t.kernel.clear();
  return t;
}

target find_target(const std::string& name, const std::vector<fs::path>& folders) {
  target t = target_named(name);
  std::vector<std::string> looked;
  for (const fs::path& folder : folders) {
    std::error_code error;
    t.binary = fs::weakly_canonical(folder / name, error);
    if (fs::is_regular_file(t.binary, error) && has_libfuzzer(t.binary)) return t;
    looked.push_back(t.binary.string());
  }
  throw environment_error(
      fmt::format("{}: found no binary with libFuzzer at {}; './assay fuzz' builds it, or: cmake "
                  "--preset fuzz && ninja -C build/fuzz {}",
                  name, fmt::join(looked, " or "), name));
}

std::optional<attention_case> case_of(const target& t, std::span<const std::uint8_t> bytes) {
  if (t.kernel.empty()) return std::nullopt;
  return decode_case(bytes, only(t));
}

std::optional<std::vector<std::uint8_t>> bytes_of(const target& t, const attention_case& c) {
  if (t.kernel.empty() || c.kernel != t.kernel) return std::nullopt;
  attention_case plain = c;
  plain.why.clear();  // bytes do not encode it
  try {
    return encode_case(plain, only(t));
  } catch (const case_error&) {
    return std::nullopt;
  }
}

}  // namespace assay::campaign
