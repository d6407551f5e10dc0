#include "properties/system/printable.hpp"

#include <boost/json.hpp>
#include <catch2/catch_test_macros.hpp>

#include "properties/system/xml.hpp"

namespace assay {
namespace {

TEST_CASE("what may be printed stays as it is") {
  for (const char* text :
       {"", "o[0, 3] = 0.5 lies outside", "two\nlines\tand a tab", "\xC3\xA9 \xE2\x82\xAC \xF0\x9F\x98\x80"})
    CHECK(printable(text) == text);
}

TEST_CASE("control characters, and bytes of no character, are escaped") {
  CHECK(printable("a\x1B[31mb\x7F\r") == "a\\x1b[31mb\\x7f\\x0d");
  CHECK(printable("\xC2\x85") == "\\xc2\\x85");  // U+0085, a control character
  CHECK(printable("\xFF\xC3") == "\\xff\\xc3");  // the second is cut off
  CHECK(printable("\xC0\xAF") == "\\xc0\\xaf");  // overlong
  CHECK(printable("\xE0\x80\xAF") == "\\xe0\\x80\\xaf");
  CHECK(printable("\xED\xA0\x80") == "\\xed\\xa0\\x80");  // a surrogate
  CHECK(printable("\xEF\xBF\xBE") == "\\xef\\xbf\\xbe");  // U+FFFE
  CHECK(printable("\xF4\x90\x80\x80") == "\\xf4\\x90\\x80\\x80");
  CHECK(printable(std::string_view("a\0b", 3)) == "a\\x00b");
}

TEST_CASE("a long text is cut between two characters, and says so") {
  CHECK(printable("abcdef", 6) == "abcdef");
  CHECK(printable("abcdef", 4) == "abcd ... (2 more bytes)");
  CHECK(printable("abc\xC3\xA9"
                  "f",
                  4) == "abc ... (3 more bytes)");
  CHECK(printable(std::string(std::size_t{50} << 20, 'x')).size() < most_printable_bytes + 64);
}

TEST_CASE("whatever the bytes, the text is one that JSON and XML take") {
  for (int first = 0; first < 256; ++first)
    for (int second = 0; second < 256; ++second) {
      const std::string bytes = {static_cast<char>(first), static_cast<char>(second)};
      const std::string safe = printable(bytes);
      const std::string json = boost::json::serialize(boost::json::string(safe));
      REQUIRE(boost::json::parse(json).as_string() == safe);
      for (const char c : xml_text(bytes)) REQUIRE((static_cast<unsigned char>(c) >= 0x20 || c == '\t'));
    }
}

}  // namespace
}  // namespace assay
