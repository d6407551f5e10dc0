#include <algorithm>
#include <cmath>
#include <concepts>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "properties/case/case.hpp"
#include "properties/case/fields.hpp"
#include "properties/system/json_check.hpp"

namespace assay {
namespace {

namespace json = boost::json;

[[noreturn]] void refuse(const std::string& path, const std::string& what) {
  throw case_error(path.empty() ? what : path + ": " + what);
}

/// One line, whatever the text holds.
std::string in_one_line(std::string_view text) {
  const std::string quoted = json::serialize(json::string(text.substr(0, 64)));
  return quoted.substr(1, quoted.size() - 2);
}

template <std::integral T>
void read(const json::value& from, T& to, const std::string& path) {
  if constexpr (std::same_as<T, bool>) {
    if (!from.is_bool()) refuse(path, "must be true or false");
    to = from.get_bool();
  } else {
    if (!from.is_int64() && !from.is_uint64()) refuse(path, "must be an integer");
    using limits = std::numeric_limits<T>;
    const bool fits = from.is_int64() ? std::in_range<T>(from.get_int64()) : std::in_range<T>(from.get_uint64());
    if (!fits) refuse(path, fmt::format("{} is not in [{}, {}]", json::serialize(from), limits::min(), limits::max()));
    to = from.is_int64() ? static_cast<T>(from.get_int64()) : static_cast<T>(from.get_uint64());
  }
}

void read(const json::value& from, float& to, const std::string& path) {
  if (!from.is_number()) refuse(path, "must be a number");
  const auto value = from.to_number<double>();
  constexpr double most = std::numeric_limits<float>::max();
  constexpr double first_infinite = 0x1.ffffffp127;  // halfway to 2^128: rounds to infinity
  if (!(std::abs(value) < first_infinite)) refuse(path, "must be finite as a float");
  // The shortest text of the largest float is a double above it, whose plain conversion would be undefined.
  to = static_cast<float>(std::clamp(value, -most, most));
}

void read(const json::value& from, std::string& to, const std::string& path) {
  if (!from.is_string()) refuse(path, "must be a string");
  to.assign(from.get_string().data(), from.get_string().size());
}

template <typename T>
  requires std::is_enum_v<T>
void read(const json::value& from, T& to, const std::string& path) {
  std::string name;
  read(from, name, path);
  const bool has_zero = name.find('\0') != std::string::npos;  // the look-up would end there
  if (!has_zero && boost::describe::enum_from_string(name.c_str(), to)) return;
  std::string known;
  boost::mp11::mp_for_each<boost::describe::describe_enumerators<T>>(
      [&](auto d) { known += (known.empty() ? "" : ", ") + std::string(d.name); });
  refuse(path, fmt::format("'{}' is not one of {}", in_one_line(name), known));
}

template <typename T>
  requires fields::is_struct<T>
void read(const json::value& from, T& to, const std::string& path);

template <typename T>
void read(const json::value& from, std::optional<T>& to, const std::string& path) {
  read(from, to.emplace(), path);
}

template <typename T>
void read(const json::value& from, std::vector<T>& to, const std::string& path) {
  if (!from.is_array()) refuse(path, "must be a list");
  to.clear();
  to.reserve(from.get_array().size());
  for (const json::value& item : from.get_array())
    read(item, to.emplace_back(), fmt::format("{}[{}]", path, to.size() - 1));
}

template <typename T>
  requires fields::is_struct<T>
void read(const json::value& from, T& to, const std::string& path) {
  if (!from.is_object()) refuse(path, "must be an object");
  const std::string prefix = path.empty() ? "" : path + ".";
  for (const json::key_value_pair& given : from.get_object()) {
    bool known = false;
    fields::for_each<T>([&](const char* name, auto pointer) {
      if (given.key() != name) return;
      known = true;
      read(given.value(), to.*pointer, prefix + name);
    });
    if (!known) refuse(prefix + in_one_line({given.key().data(), given.key().size()}), "unknown field");
  }
}

attention_case read_case(std::string_view text) {
  const json::value parsed = parse_json(text);
  if (!parsed.is_object()) refuse("", "a case is a JSON object");
  // The version decides what every other field means, so it is looked at first.
  const json::value* version = parsed.get_object().if_contains("version");
  if (version == nullptr) refuse("version", "missing");
  if (!version->is_int64() || version->get_int64() != 1)
    refuse("version", json::serialize(*version).substr(0, 64) + " is unknown; this program reads version 1");
  attention_case c;
  read(parsed, c, "");
  validate(c);
  return c;
}

}  // namespace

attention_case from_json(std::string_view text, std::string_view origin) {
  try {
    return read_case(text);
  } catch (const case_error& e) {
    throw case_error(fmt::format("{}: {}", origin, e.what()));
  }
}

}  // namespace assay
