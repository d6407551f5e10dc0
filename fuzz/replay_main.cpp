/// The plain main of every fuzz target: runs it on the files given, so that targets are built and tested without an
/// engine. A file whose name ends in .json also runs as the bytes of the case that it holds, where the target's inputs
/// have such bytes.
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <vector>

#include "fuzz/input_form.hpp"
#include "properties/bytes.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

using assay::fuzz::form;

/// The case's bytes behind a head of zeros, or nothing if the target or the case space has none for it.
std::optional<std::vector<std::uint8_t>> bytes_of(std::string_view json) {
  if (form.kernels.empty()) return std::nullopt;
  try {
    assay::attention_case c = assay::from_json(json, "input");
    c.why.clear();
    std::vector<std::uint8_t> bytes = assay::encode_case(c, form.kernels);
    bytes.insert(bytes.begin(), form.head_bytes, 0);
    return bytes;
  } catch (const assay::case_error&) {
    return std::nullopt;
  }
}

}  // namespace

int main(int count, char** files) {
  int cases = 0;
  for (int i = 1; i < count; ++i) {
    std::ifstream file(files[i], std::ios::binary);
    const std::vector<char> text{std::istreambuf_iterator<char>(file), {}};
    if (file.bad() || !file.is_open()) {
      std::fprintf(stderr, "%s: cannot be read\n", files[i]);
      return 2;
    }
    LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
    if (std::filesystem::path(files[i]).extension() != ".json") continue;
    if (const auto bytes = bytes_of({text.data(), text.size()})) {
      LLVMFuzzerTestOneInput(bytes->data(), bytes->size());
      ++cases;
    }
  }
  std::printf("%d inputs and %d cases, no defect\n", count - 1, cases);
}
