#include "properties/system/json_check.hpp"

#include <algorithm>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <boost/json/basic_parser_impl.hpp>

#include "properties/system/errors.hpp"

namespace assay {
namespace {

constexpr std::size_t depth_max = 16;  // a case nests 5 deep

std::string position(std::string_view text, std::size_t offset) {
  const std::string_view before = text.substr(0, std::min(offset, text.size()));
  const auto line = std::ranges::count(before, '\n') + 1;
  const std::size_t line_start = before.find_last_of('\n') + 1;  // npos + 1 == 0: the first line
  return fmt::format("{}:{}", line, before.size() - line_start + 1);
}

/// A SAX handler that only remembers the keys of the open objects.
class duplicate_finder {
 public:
  static constexpr std::size_t max_array_size = std::numeric_limits<std::size_t>::max();
  static constexpr std::size_t max_object_size = std::numeric_limits<std::size_t>::max();
  static constexpr std::size_t max_string_size = std::numeric_limits<std::size_t>::max();
  static constexpr std::size_t max_key_size = std::numeric_limits<std::size_t>::max();
  using error_code = boost::json::error_code;
  using string_view = boost::json::string_view;

  const std::string& duplicate() const { return duplicate_; }

  bool on_object_begin(error_code&) {
    keys_.emplace_back();
    return true;
  }
  bool on_object_end(std::size_t, error_code&) {
    keys_.pop_back();
    return true;
  }
  bool on_key_part(string_view part, std::size_t, error_code&) {
    key_.append(part.data(), part.size());
    return true;
  }
  bool on_key(string_view part, std::size_t, error_code& ec) {
    key_.append(part.data(), part.size());
    const bool is_new = keys_.back().insert(key_).second;
    if (!is_new) {
      duplicate_ = key_;
      ec = boost::json::error::exception;
    }
    key_.clear();
    return is_new;
  }
  bool on_document_begin(error_code&) { return true; }
  bool on_document_end(error_code&) { return true; }
  bool on_array_begin(error_code&) { return true; }
  bool on_array_end(std::size_t, error_code&) { return true; }
  bool on_string_part(string_view, std::size_t, error_code&) { return true; }
  bool on_string(string_view, std::size_t, error_code&) { return true; }
  bool on_number_part(string_view, error_code&) { return true; }
  bool on_int64(std::int64_t, string_view, error_code&) { return true; }
  bool on_uint64(std::uint64_t, string_view, error_code&) { return true; }
  bool on_double(double, string_view, error_code&) { return true; }
  bool on_bool(bool, error_code&) { return true; }
  bool on_null(error_code&) { return true; }
  bool on_comment_part(string_view, error_code&) { return true; }
  bool on_comment(string_view, error_code&) { return true; }

 private:
  std::vector<std::set<std::string>> keys_;
  std::string key_;
  std::string duplicate_;
};

}  // namespace

boost::json::value parse_json(std::string_view text) {
  boost::json::parse_options options;
  options.max_depth = depth_max;

  boost::json::error_code ec;
  boost::json::basic_parser<duplicate_finder> finder(options);
  const std::size_t used = finder.write_some(false, text.data(), text.size(), ec);
  if (!finder.handler().duplicate().empty())
    throw case_error(fmt::format("{}: field '{}' is given twice", position(text, used), finder.handler().duplicate()));
  if (ec) throw case_error(fmt::format("{}: {}", position(text, used), ec.message()));
  const auto rest = text.substr(used).find_first_not_of(" \t\r\n");
  if (rest != std::string_view::npos)
    throw case_error(fmt::format("{}: text after the end of the case", position(text, used + rest)));

  return boost::json::parse({text.data(), text.size()}, {}, options);
}

}  // namespace assay
