/// The main of fuzz targets without an engine: runs the target on files, so that every build can test it. If the target
/// takes cases, a .json file runs a second time as the bytes of its case.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string_view>
#include <vector>

#include "fuzz/case_bytes.hpp"
#include "properties/case/case.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

std::optional<std::vector<std::uint8_t>> case_input(const char* file, std::string_view text) {
  try {
    return assay::fuzz::input_of(assay::fuzz::form, text, file);
  } catch (const assay::case_error& e) {
    std::fprintf(stderr, "%s\n", e.what());
    std::exit(2);
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
    if (const auto input = case_input(files[i], {text.data(), text.size()})) {
      LLVMFuzzerTestOneInput(input->data(), input->size());
      ++cases;
    }
  }
  std::printf("%d inputs and %d cases, no defect\n", count - 1, cases);
}
