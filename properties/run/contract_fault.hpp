/// Whether a declared contract can bound the outputs. The library under test declares it, and a bad contract gives a
/// useless enclosure.
#pragma once

#include <cstdint>
#include <string>

#include "kernels/contract.hpp"
#include "kernels/problem.hpp"

namespace assay {

/// What declare() gets, of a library that knows so many bytes of a contract: none of its fields has a value that a
/// kernel may declare. Each int is -1, each float NaN. Fields that the library does not know are neutral.
contract undeclared_contract(std::int32_t known_bytes = sizeof(contract));

/// The first field of an atom that is out of range, as "products is not 1 to 64"; empty where there is none, or where
/// the atom is undeclared.
std::string atom_fault(const matrix_atom& atom);

/// Names the fields that still are as in undeclared_contract(), or the first one that is out of range or that
/// contract.hpp does not allow for this problem; else empty. With NaN or negative errors every output would pass. With
/// errors as large as those of 8 bits, wrong kernels would pass.
std::string contract_fault(const contract& declared, const problem& planned);

}  // namespace assay
