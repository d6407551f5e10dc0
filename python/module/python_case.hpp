/// A case as Python sees it: its numbers, inputs, enclosures and exact values, and the verdict on outputs.
#pragma once

#include <pybind11/pybind11.h>

namespace assay::python {

/// Adds the class `Case` to the module.
void bind_case(pybind11::module_& m);

}  // namespace assay::python
