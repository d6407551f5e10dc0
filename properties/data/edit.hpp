/// Edits of filled inputs, for the relations.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "properties/data/inputs.hpp"

namespace assay {

/// The same elements along one axis, chosen by index: out[.., i, ..] = b[.., indices[i], ..]. The memory order of the
/// dimensions stays. This permutes, drops and duplicates along an axis. The first axis of a sparse buffer is not
/// allowed (std::logic_error).
buffer gather(const buffer& b, int axis, const std::vector<std::int64_t>& indices);

/// A copy of all buffers. Elements that heads or rows share are apart in the copy, so that it can be edited; kernels
/// give the same bits for both.
inputs clone(const inputs& in);
outputs clone(const outputs& out);

/// Replaces the input of that name, if there is one, by gather() of itself.
void gather_input(inputs& in, const std::string& name, int axis, const std::vector<std::int64_t>& indices);

/// Outputs gathered along their row axis or their head axis, whichever position that is in each of them.
enum class output_axis { rows, heads };
outputs gather_outputs(const outputs& out, output_axis axis, const std::vector<std::int64_t>& indices);

/// A permutation of 0 .. size-1 from a seed, the same on every machine, and not the identity where there is another.
std::vector<std::int64_t> permutation(std::int64_t size, std::uint64_t seed);

/// i32 element of an input by logical index; the tensor must be there.
std::int32_t& i32_at(inputs& in, const std::string& name, std::int64_t i0, std::int64_t i1 = 0);
std::int32_t i32_at(const inputs& in, const std::string& name, std::int64_t i0, std::int64_t i1 = 0);

/// Keys and query rows of a sequence.
std::int64_t keys_of(const inputs& in, std::int64_t s);
std::int64_t rows_of(const inputs& in, std::int64_t s);
std::int64_t first_row_of(const inputs& in, std::int64_t s);

/// The live page-table entry of page `ordinal` of sequence s.
std::int32_t& page_entry(inputs& in, std::int64_t s, std::int64_t ordinal);
std::int32_t page_entry(const inputs& in, std::int64_t s, std::int64_t ordinal);

/// Calls for every live page-table entry: sequence, ordinal, the entry.
void for_each_page(inputs& in, const std::function<void(std::int64_t, std::int64_t, std::int32_t&)>& visit);

/// Whether key j is visible to query row i of sequence s; the definition of problem.hpp.
bool is_visible(const inputs& in, std::int64_t s, std::int64_t i, std::int64_t j);

}  // namespace assay
