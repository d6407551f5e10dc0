/// The byte form of cases, for fuzzers only: never stored in git, and free to change with the case space.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "properties/case.hpp"

namespace assay {

/// Total: any bytes are some valid case of one of these kernels, all of the space if none is named.
attention_case decode_case(std::span<const std::uint8_t> bytes, std::span<const std::string> kernels = {});

/// decode_case(encode_case(c, kernels), kernels) == c for every case of the space. Throws case_error for others.
std::vector<std::uint8_t> encode_case(const attention_case& c, std::span<const std::string> kernels = {});

}  // namespace assay
