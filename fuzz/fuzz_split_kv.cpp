/// Any bytes are a case of the space; its run must not fail. A finding ends the process after printing the case.
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "properties/bytes.hpp"
#include "properties/runner.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const char* const given = std::getenv("ASSAY_FUZZ_LIBRARY");
  static const auto kernels = given == nullptr ? assay::library::built_in() : assay::library::load(given);
  static const std::vector<std::string> drawn{"split_kv"};
  const assay::attention_case c = assay::decode_case({data, size}, drawn);
  const assay::verdict v = assay::run_case(*kernels, c);
  if (v.result != assay::outcome::fail) return 0;
  std::fprintf(stderr, "assay finding: %s: %s\n%s\n", v.origin.c_str(), v.what.c_str(), assay::to_json(c).c_str());
  std::abort();
}
