#include "properties/system/npy.hpp"

#include <fmt/format.h>

#include <charconv>
#include <limits>
#include <regex>

#include "properties/system/errors.hpp"

namespace assay {
namespace {

constexpr std::string_view magic("\x93NUMPY", 6);

[[noreturn]] void refuse(std::string_view origin, const std::string& what) {
  throw case_error(fmt::format("{}: {}", origin, what));
}

/// The size of an element, by the digits of its type's name.
std::int64_t element_bytes(const std::string& descr, std::string_view origin) {
  static const std::regex form("[<|][biuf]([1248])");
  std::smatch match;
  if (!std::regex_match(descr, match, form))
    refuse(origin, fmt::format("its elements are '{}': little-endian numbers of 1, 2, 4 or 8 bytes are read", descr));
  return match[1].str().front() - '0';
}

std::vector<std::int64_t> shape_of(const std::string& list, std::string_view origin) {
  std::vector<std::int64_t> shape;
  static const std::regex number("[0-9]+");
  for (std::sregex_iterator at(list.begin(), list.end(), number), end; at != end; ++at) {
    std::int64_t extent = 0;
    const std::string digits = at->str();
    if (std::from_chars(digits.data(), digits.data() + digits.size(), extent).ec != std::errc{})
      refuse(origin, fmt::format("its shape ({}) is too large", list));
    shape.push_back(extent);
  }
  return shape;
}

}  // namespace

std::string to_npy(const npy_array& a) {
  std::string extents;
  for (const std::int64_t extent : a.shape) extents += fmt::format("{}, ", extent);
  if (a.shape.size() > 1) extents.resize(extents.size() - 2);
  std::string header = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", a.descr, extents);
  constexpr std::size_t before = 10, aligned = 64;  // what precedes the header; the data's alignment
  header.resize((before + header.size() + aligned) / aligned * aligned - before - 1, ' ');
  header += '\n';
  std::string text(magic);
  text += {'\1', '\0', static_cast<char>(header.size() & 0xFF), static_cast<char>(header.size() >> 8)};
  return text + header + a.bytes;
}

npy_array from_npy(std::string_view text, std::string_view origin) {
  constexpr std::size_t least = 12;
  if (text.size() < least || !text.starts_with(magic)) refuse(origin, "it is no .npy file");
  const auto byte = [&](std::size_t at) { return static_cast<std::size_t>(static_cast<unsigned char>(text[at])); };
  const std::size_t version = byte(6);
  if (version < 1 || version > 3) refuse(origin, fmt::format(".npy files of version {} are not read", version));
  const std::size_t begin = version == 1 ? 10 : 12;
  const std::size_t size = byte(8) + (byte(9) << 8) + (version == 1 ? 0 : (byte(10) << 16) + (byte(11) << 24));
  if (size > text.size() - begin) refuse(origin, "it ends within its header");
  const std::string header(text.substr(begin, size));
  static const std::regex form(
      R"(\s*\{\s*'descr':\s*'([^']*)'\s*,\s*'fortran_order':\s*(True|False)\s*,\s*'shape':\s*\(([0-9, L]*)\),?\s*\}\s*)");
  std::smatch match;
  if (!std::regex_match(header, match, form)) refuse(origin, "its header is not one that NumPy writes");
  npy_array a{match[1], shape_of(match[3], origin), {}};
  if (match[2] == "True" && a.shape.size() > 1)
    refuse(origin, "it is in column-major order: write it by numpy.ascontiguousarray()");
  std::int64_t bytes = element_bytes(a.descr, origin);
  for (const std::int64_t extent : a.shape)
    if (__builtin_mul_overflow(bytes, extent, &bytes)) refuse(origin, "its shape is too large");
  a.bytes = text.substr(begin + size);
  if (std::ssize(a.bytes) != bytes)
    refuse(origin, fmt::format("it has {} bytes of data, and its header says {}", a.bytes.size(), bytes));
  return a;
}

}  // namespace assay
