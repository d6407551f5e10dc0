// A kernel library without kernels whose matrix unit is as ASSAY_UNIT says: sound, or broken in one field or function.
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "kernels/library.h"

namespace {

bool is(const char* what) {
  const char* asked = std::getenv("ASSAY_UNIT");
  return asked != nullptr && std::strcmp(asked, what) == 0;
}

assay_status multiply(std::int32_t /*atom*/, std::int32_t count, const void* /*a*/, const void* /*b*/,
                      const void* /*c*/, void* d) {
  if (is("multiply crashes")) std::raise(SIGSEGV);
  while (is("multiply hangs")) pause();
  if (is("multiply fails")) {
    assay_status endless{ASSAY_FAILED, {}};
    std::memset(endless.message, 'x', sizeof endless.message);
    endless.message[1] = '\033';
    return endless;
  }
  std::memset(d, 0, static_cast<std::size_t>(count) * 256 * sizeof(float));
  return {ASSAY_OK, {}};
}

assay_status evaluate(std::int32_t /*function*/, std::int64_t count, const float* /*x*/, float* y) {
  std::memset(y, 0, static_cast<std::size_t>(count) * sizeof(float));
  return {ASSAY_OK, {}};
}

assay_unit_atom atom_under_test() {
  assay_unit_atom a{"the atom", ASSAY_TYPE_F16, 16, {}};
  a.declared.sum = assay::atom_sum::aligned;
  if (is("no products")) a.declared.products = 0;
  if (is("products of 12")) a.declared.products = a.declared.group = a.declared.run = 12;
  if (is("no group")) a.declared.group = 0;
  if (is("a sum of 7")) a.declared.sum = static_cast<assay::atom_sum>(7);
  if (is("no name")) a.name = nullptr;
  if (is("a name of two lines")) a.name = "two\nlines";
  if (is("a name nowhere")) a.name = reinterpret_cast<const char*>(8);
  if (is("type f32")) a.type = ASSAY_TYPE_F32;
  if (is("type none")) a.type = 0;
  if (is("type -1")) a.type = -1;
  if (is("depth -1")) a.depth = -1;
  if (is("depth 0")) a.depth = 0;
  if (is("depth 80")) a.depth = 80;
  return a;
}

}  // namespace

extern "C" {

[[gnu::visibility("default")]] const assay_library* assay_library_v1() {
  static const assay_library table = ASSAY_LIBRARY("cpu", nullptr, 0);
  return &table;
}

[[gnu::visibility("default")]] const assay_matrix_unit* assay_matrix_unit_v1() {
  static const assay_unit_atom atom = atom_under_test();
  static assay_matrix_unit unit{
      sizeof(assay_matrix_unit), sizeof(assay_unit_atom), 1, &atom, multiply, evaluate, 1e-6F, 0, 0, 1e-6F, 1e-6F};
  if (is("an endless error")) unit.tanh_relative_error = std::numeric_limits<float>::infinity();
  if (is("an error of NaN")) unit.log_absolute_error = std::numeric_limits<float>::quiet_NaN();
  return &unit;
}
}
