#include "properties/system/printable.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

namespace assay {
namespace {

/// Bytes of the character that the text begins with; 0 if it begins with none that may be printed.
std::size_t character_bytes(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return (first >= 0x20 && first != 0x7F) || first == '\n' || first == '\t' ? 1 : 0;
  const std::size_t bytes = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < bytes) return 0;
  std::uint32_t code = first & (0xFFU >> (bytes + 1));
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xC0U) != 0x80U) return 0;
    code = code << 6 | (byte(i) & 0x3FU);
  }
  constexpr std::uint32_t least[] = {0, 0, 0xA0, 0x800, 0x10000};  // below U+00A0 are further control characters
  const bool is_surrogate = code >= 0xD800 && code <= 0xDFFF, is_none = (code & 0xFFFEU) == 0xFFFEU;
  return code < least[bytes] || code > 0x10FFFF || is_surrogate || is_none ? 0 : bytes;
}

}  // namespace

std::string printable(std::string_view text, std::size_t most_bytes) {
  std::string safe;
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t bytes = character_bytes(text.substr(at, 4));
    if (at + std::max<std::size_t>(bytes, 1) > most_bytes) break;
    if (bytes == 0)
      safe += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[at]));
    else
      safe += text.substr(at, bytes);
    at += std::max<std::size_t>(bytes, 1);
  }
  if (at < text.size()) safe += fmt::format(" ... ({} more bytes)", text.size() - at);
  return safe;
}

}  // namespace assay
