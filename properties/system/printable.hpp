/// Text that others wrote (a kernel library, a file), made fit for a terminal, for JSON and for XML.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace assay {

/// Bytes of a message that are kept: enough for any message of ours, and for the beginning of a library's.
inline constexpr std::size_t most_printable_bytes = 4096;

/// The text with each byte escaped ("\x1b") that is a control character other than newline and tab, or that is not part
/// of a character: bytes that are no UTF-8, surrogates, U+FFFE and U+FFFF. A longer text is cut between two characters,
/// and its end says how many bytes are left out.
std::string printable(std::string_view text, std::size_t most_bytes = most_printable_bytes);

}  // namespace assay
