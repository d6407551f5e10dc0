#include "properties/system/npy.hpp"

#include <catch2/catch_test_macros.hpp>

#include "properties/system/errors.hpp"

namespace assay {
namespace {

const npy_array small{"<i2", {2, 3}, "abcdefghijkl"};

/// Why a text is refused.
std::string refusal(const std::string& text) {
  try {
    static_cast<void>(from_npy(text, "a.npy"));
    return {};
  } catch (const case_error& e) {
    return e.what();
  }
}

std::string with_header(const std::string& header, const std::string& data = "") {
  std::string text("\x93NUMPY\1\0", 8);
  text += {static_cast<char>(header.size()), '\0'};
  return text + header + data;
}

std::string replaced(std::string text, const std::string& part, const std::string& by) {
  return text.replace(text.find(part), part.size(), by);
}

}  // namespace

TEST_CASE("an array is read as it was written, of any rank and size") {
  for (const npy_array& a :
       {small, npy_array{"<f8", {}, "01234567"}, npy_array{"|u1", {5}, "01234"}, npy_array{"<f4", {3, 0, 2}, ""}}) {
    const npy_array back = from_npy(to_npy(a), "a.npy");
    CHECK(back.descr == a.descr);
    CHECK(back.shape == a.shape);
    CHECK(back.bytes == a.bytes);
    CHECK((to_npy(a).size() - a.bytes.size()) % 64 == 0);  // as NumPy maps it
  }
  CHECK(to_npy(small).find("{'descr': '<i2', 'fortran_order': False, 'shape': (2, 3), }") == 10);
  CHECK(to_npy({"|u1", {5}, "01234"}).find("'shape': (5, ), }") != std::string::npos);
}

TEST_CASE("what is no such array is refused with a reason") {
  const std::string text = to_npy(small);
  CHECK(refusal("") == "a.npy: it is no .npy file");
  CHECK(refusal("not a file of NumPy") == "a.npy: it is no .npy file");
  CHECK(refusal(text.substr(0, 40)) == "a.npy: it ends within its header");
  CHECK(refusal(text.substr(0, text.size() - 1)) == "a.npy: it has 11 bytes of data, and its header says 12");
  CHECK(refusal(text + "x") == "a.npy: it has 13 bytes of data, and its header says 12");
  CHECK(refusal(replaced(text, "False", "True ")).starts_with("a.npy: it is in column-major order"));
  CHECK(refusal(replaced(text, "<i2", ">i2")).starts_with("a.npy: its elements are '>i2'"));
  CHECK(refusal(replaced(text, "<i2", "|O ")).starts_with("a.npy: its elements are '|O '"));
  CHECK(refusal(replaced(text, "descr", "nothi")) == "a.npy: its header is not one that NumPy writes");
  CHECK(refusal(replaced(text, "\1", "\7")).find("version 7") != std::string::npos);
  for (const char* shape : {"9999999999999999999999", "99999999999, 99999999999"})
    CHECK(refusal(with_header(std::string("{'descr': '<f4', 'fortran_order': False, 'shape': (") + shape + "), }"))
              .find("too large") != std::string::npos);
}

}  // namespace assay
