// A kernel library that declares what it takes, around the kernels of the library that ASSAY_NARROWED names. As
// ASSAY_NARROW says, what it declares is broken.
#include <dlfcn.h>

#include <cstdlib>
#include <cstring>

#include "kernels/library.h"

namespace {

bool is(const char* what) {
  const char* asked = std::getenv("ASSAY_NARROW");
  return asked != nullptr && std::strcmp(asked, what) == 0;
}

const assay_library* narrowed() {
  void* handle = dlopen(std::getenv("ASSAY_NARROWED"), RTLD_NOW | RTLD_LOCAL);
  return reinterpret_cast<const assay_library* (*)()>(dlsym(handle, "assay_library_v1"))();
}

assay_support support_of_split_kv() {
  assay_support s{};
  s.size_bytes = sizeof s;
  s.types[0] = {ASSAY_TYPE_F16, ASSAY_TYPE_F16, ASSAY_TYPE_F16};
  s.head_dims.values[0] = is("a head dim that no case has") ? 12 : 128;
  s.no_window = is("a flag of 2") ? 2 : 1;
  if (is("a size of 0")) s.size_bytes = 0;
  return s;
}

}  // namespace

extern "C" {

[[gnu::visibility("default")]] const assay_library* assay_library_v1() {
  static const assay_library* const table = narrowed();
  return table;
}

[[gnu::visibility("default")]] const assay_support* assay_support_v1(const char* kernel) {
  static const assay_support s = support_of_split_kv();
  return std::strcmp(kernel, "split_kv") == 0 ? &s : nullptr;
}

[[gnu::visibility("default")]] assay_status assay_supports_case_v1(const char* /*kernel*/,
                                                                   const assay::problem* planned,
                                                                   const assay_tensor* /*tensors*/,
                                                                   std::int32_t /*num_tensors*/) {
  if (planned->num_seqs == 2) return {ASSAY_UNSUPPORTED, "two sequences"};
  return {ASSAY_OK, {}};
}
}
