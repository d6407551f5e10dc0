/// A kernel in Python as a library of the suite: an assay_library in memory, whose functions call Python.
#pragma once

#include <pybind11/pybind11.h>

#include <memory>
#include <string>

#include "kernels/support.h"
#include "properties/run/kernel_library.hpp"

namespace assay::python {

/// Its functions are called in worker processes, with the GIL held.
struct python_kernel {
  std::string name;   ///< "split_kv": what the suite draws cases for
  std::string label;  ///< of the library, for people
  /// run(problem: dict, tensors: dict[str, Array]) -> None, or (status, message, traceback): a status of
  /// assay_status_code, or -1 for an exception.
  pybind11::object run;
  pybind11::object declare;  ///< declare(problem: dict) -> dict, as contract_of takes it; None: the types alone
  assay_support takes{};
};

/// The kernel as the one kernel of a library for the platform "python". One at a time: the C ABI has no place for a
/// closure, so the library that was made last is the one that runs.
std::shared_ptr<library> library_of(const python_kernel& k);

/// The traceback of the last run in this process that ended with one.
const std::string& last_traceback();

/// Adds the class `Kernel` to the module.
void bind_kernel(pybind11::module_& m);

}  // namespace assay::python
