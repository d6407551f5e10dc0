/// The byte form of cases, for fuzzers only: never stored in git, and free to change with the case space.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "properties/generate/space.hpp"

namespace assay {

/// The part of the case space that has a byte form. Fuzzers need many small runs per second, and larger cases take the
/// same paths through the kernels.
inline constexpr space_limits byte_limits{.max_sequences = 4,
                                          .max_q = 130,
                                          .max_k = 2200,
                                          .max_heads = 8,
                                          .cost_class = 1,
                                          .dear_cases = false,
                                          .large_cases = false};

/// Total: any bytes give a valid case of one of these kernels within byte_limits. Without a name: of all kernels.
attention_case decode_case(std::span<const std::uint8_t> bytes, std::span<const std::string> kernels = {});

/// decode_case(encode_case(c, kernels), kernels) == c for every case of the space within byte_limits. Throws
/// case_error for others.
std::vector<std::uint8_t> encode_case(const attention_case& c, std::span<const std::string> kernels = {});

/// Whether the suite can generate the case, within any limits.
bool is_in_space(const attention_case& c);

}  // namespace assay
