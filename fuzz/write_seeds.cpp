/// Seeds of a target that is linked with an engine. If the environment variable ASSAY_FUZZ_SEEDS names a folder, the
/// target converts its arguments, case files, to inputs in that folder, named by their content, and exits: with status
/// 2 after a bad case file, 3 if it cannot write.
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "fuzz/case_bytes.hpp"
#include "properties/case/case.hpp"
#include "properties/system/write_file.hpp"

extern "C" int LLVMFuzzerInitialize(int* count, char*** arguments) {
  const char* folder = std::getenv("ASSAY_FUZZ_SEEDS");
  if (folder == nullptr) return 0;
  try {
    for (int i = 1; i < *count; ++i) {
      const char* file = (*arguments)[i];
      const auto input = assay::fuzz::input_of(assay::fuzz::form, assay::read_file(file), file);
      if (!input) continue;
      const std::string_view bytes(reinterpret_cast<const char*>(input->data()), input->size());
      const std::string name = fmt::format("seed-{:08x}", assay::fingerprint(bytes));
      assay::write_by_rename(std::filesystem::path(folder) / name, bytes);
    }
  } catch (const assay::case_error& e) {
    std::fprintf(stderr, "%s\n", e.what());
    std::_Exit(2);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    std::_Exit(3);
  }
  std::_Exit(0);
}
