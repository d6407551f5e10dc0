#include "properties/system/xml.hpp"

#include "properties/system/printable.hpp"

namespace assay {

std::string xml_text(std::string_view text) {
  std::string safe;
  for (const char c : printable(text, text.size())) {
    switch (c) {
      case '&': safe += "&amp;"; break;
      case '<': safe += "&lt;"; break;
      case '>': safe += "&gt;"; break;
      case '"': safe += "&quot;"; break;
      case '\n': safe += "&#10;"; break;
      default: safe += c;
    }
  }
  return safe;
}

}  // namespace assay
