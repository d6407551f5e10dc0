// The JSON form is written by hand rather than by Boost.JSON's serializer, which writes one line and long floats.
#include <charconv>
#include <cmath>
#include <concepts>

#include <fmt/format.h>
#include <boost/json.hpp>

#include "properties/case/case.hpp"
#include "properties/case/fields.hpp"

namespace assay {
namespace {

constexpr std::size_t line_columns = 100;  // an object that fits is written on one line

std::string in_quotes(std::string_view text) {
  return boost::json::serialize(boost::json::string(text));
}

/// The shortest text that reads back as the same float. Boost.JSON's reader is exact only to an ulp of a double, and
/// from_json rounds a second time, so the text is tried, and longer ones follow.
std::string float_text(float value) {
  char text[64];
  const auto shortest = std::to_chars(text, text + sizeof text, value);
  std::string written(text, shortest.ptr);
  const auto reads_back = [value](const std::string& s) {
    return static_cast<float>(boost::json::parse(s).to_number<double>()) == value;
  };
  if (!reads_back(written)) written = fmt::format("{:.17g}", static_cast<double>(value));
  if (value == 0 && std::signbit(value)) written = "-0.0";
  return written;
}

/// Equal, and for floats of equal sign: -0.0 is data too.
template <typename T>
bool same(const T& a, const T& b) {
  if constexpr (std::floating_point<T>) return a == b && std::signbit(a) == std::signbit(b);
  return a == b;
}

template <typename T>
std::string to_text(const T& value, std::size_t indent, bool one_line);

/// Items between brackets: on one line, or one item per line.
std::string join(char open, char close, const std::vector<std::string>& items, std::size_t indent, bool one_line) {
  if (items.empty()) return {open, close};
  std::string out(1, open);
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (i > 0) out += one_line ? ", " : ",";
    if (!one_line) out += "\n" + std::string(indent + 2, ' ');
    out += items[i];
  }
  if (!one_line) out += "\n" + std::string(indent, ' ');
  return out + close;
}

template <typename T>
std::string struct_text(const T& value, std::size_t indent, bool one_line) {
  static const T defaults{};
  std::vector<std::string> items;
  fields::for_each<T>([&](const char* name, auto pointer) {
    const bool always = std::string_view(name) == "version";
    if (always || !same(value.*pointer, defaults.*pointer))
      items.push_back(in_quotes(name) + ": " + to_text(value.*pointer, indent + 2, one_line));
  });
  return join('{', '}', items, indent, one_line);
}

template <typename T>
std::string to_text(const T& value, std::size_t indent, bool one_line) {
  if constexpr (std::same_as<T, bool>) {
    return value ? "true" : "false";
  } else if constexpr (std::integral<T>) {
    return std::to_string(value);
  } else if constexpr (std::same_as<T, float>) {
    return float_text(value);
  } else if constexpr (std::same_as<T, std::string>) {
    return in_quotes(value);
  } else if constexpr (std::is_enum_v<T>) {
    return in_quotes(boost::describe::enum_to_string(value, ""));
  } else if constexpr (fields::is_optional<T>) {
    return to_text(*value, indent, one_line);  // absent ones equal the default and are not written
  } else if constexpr (fields::is_vector<T>) {
    constexpr bool is_scalar_list = std::is_arithmetic_v<typename T::value_type>;
    std::vector<std::string> items;
    items.reserve(value.size());
    for (const auto& item : value) items.push_back(to_text(item, indent + 2, one_line || is_scalar_list));
    return join('[', ']', items, indent, one_line || is_scalar_list);
  } else {
    std::string line = struct_text(value, indent, true);
    if (one_line || (indent > 0 && indent + line.size() <= line_columns)) return line;
    return struct_text(value, indent, false);
  }
}

}  // namespace

std::string to_json(const attention_case& c) {
  return to_text(c, 0, false) + "\n";
}

}  // namespace assay
