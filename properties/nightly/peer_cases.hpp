/// Cases as other projects' tests draw them: uniform random shapes, one kind of data, pages in order.
#pragma once

#include <cstdint>
#include <string>

#include "properties/case/case.hpp"
#include "properties/data/inputs.hpp"

namespace assay {

/// Case `index` of a seed. Sequences of up to 1,024 keys (decode) or 384 keys (prefill), every length as likely; head
/// dims 64 and 128; N(0, 1) data, or U[0, 1) for the FP8 prefill as in aiter; page ids 0, 1, 2, ...; equal descales; no
/// window, bias, soft cap or sink; dead memory is zero. Lengths are shorter than those of the projects, because the
/// kernel runs on the CPU. Throws case_error if the kernel has no such types (as types_of() names them).
attention_case peer_case(const std::string& kernel, const std::string& types, std::uint64_t seed, std::int64_t index);

/// The data of such a case: uniform data lies in [0, 1).
inputs peer_inputs(const attention_case& c);

}  // namespace assay
