/// Contracts and supports as Python states them: dictionaries by the names of contract.hpp and support.h.
#pragma once

#include <pybind11/pybind11.h>

#include <string>
#include <vector>

#include "kernels/contract.hpp"
#include "kernels/problem.hpp"

namespace assay::python {

/// The contract that `fields` state of a problem. "recipe" names the one to start from, of contract_recipes.hpp or
/// "defaults" (contract.hpp's values); without it that is of_types(), or the defaults where `fields` state an order.
/// "qk" and "pv" are dictionaries of an accumulation's fields, "qk_atom" and "pv_atom" names of known_atoms. Throws
/// py::value_error that names what is wrong, and what there is.
contract contract_of(const pybind11::dict& fields, const problem& stated);

/// The names that contract_of knows.
std::vector<std::string> contract_fields();

/// The scalars of a problem by name, enumerations and types by theirs.
pybind11::dict dict_of(const problem& p);

}  // namespace assay::python
