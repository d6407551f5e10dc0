#include "properties/corpus/case_features.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <boost/describe.hpp>
#include <boost/mp11.hpp>
#include <charconv>
#include <optional>
#include <sstream>

#include "properties/case/types.hpp"
#include "properties/run/execute.hpp"
#include "properties/run/features.hpp"
#include "properties/run/verdict_json.hpp"
#include "properties/suite/suite.hpp"
#include "properties/system/progress.hpp"
#include "properties/system/worker.hpp"

namespace assay::corpus {
namespace {

/// Names the fields of one object: choices by value, amounts by bucket, optionals also by whether they are set. Leaves
/// out texts, lists, seeds and scales of data.
template <typename T>
void add_fields(const T& object, std::vector<std::string>& names) {
  boost::mp11::mp_for_each<boost::describe::describe_members<T, boost::describe::mod_public>>([&](auto member) {
    using field = std::remove_cvref_t<decltype(object.*member.pointer)>;
    const auto& value = object.*member.pointer;
    if constexpr (std::is_enum_v<field>)
      names.push_back(fmt::format("{} {}", member.name, boost::describe::enum_to_string(value, "?")));
    else if constexpr (std::is_same_v<field, bool>)
      names.push_back(fmt::format("{} {}", member.name, value));
    else if constexpr (std::is_same_v<field, float>)
      names.push_back(fmt::format("{} {}", member.name, value == field{} ? "none" : value == 1 ? "1" : "some"));
    else if constexpr (std::is_same_v<field, std::optional<std::int32_t>>)
      names.push_back(!value       ? fmt::format("{} none", member.name)
                      : *value < 0 ? fmt::format("{} negative", member.name)
                                   : fmt::format("{} bucket {}", member.name, bucket_of(*value)));
    else if constexpr (std::is_signed_v<field>)  // leaves out seeds, which are unsigned
      if (std::string_view(member.name) != "version")
        names.push_back(fmt::format("{} bucket {}", member.name, bucket_of(value)));
  });
}

std::vector<std::string> fields_of(const attention_case& c) {
  std::vector<std::string> names;
  add_fields(c, names);
  add_fields(c.data, names);
  add_fields(c.schedule, names);
  for (const sequence& s : c.sequences) add_fields(s, names);
  names.push_back("types " + types_of(c));
  names.push_back(fmt::format("page_size {}", c.page_size));
  names.push_back(fmt::format("head_dims {} {}", c.head_dim_qk, c.head_dim_v));
  names.push_back(fmt::format("sequences bucket {}", bucket_of(static_cast<std::int64_t>(c.sequences.size()))));
  names.push_back(fmt::format("overrides {}", !c.data.overrides.empty()));
  return names;
}

std::vector<std::string> of_kernel(const attention_case& c, std::vector<std::string> names) {
  for (std::string& name : names) name.insert(0, c.kernel + ": ");
  std::ranges::sort(names);
  const auto repeated = std::ranges::unique(names);
  names.erase(repeated.begin(), repeated.end());
  return names;
}

std::size_t parse(const std::string& text) {
  std::size_t at = 0;
  std::from_chars(text.data(), text.data() + text.size(), at);
  return at;
}

}  // namespace

std::uint32_t feature_names::number_of(const std::string& name) {
  const auto [at, is_new] = numbers_.try_emplace(name, static_cast<std::uint32_t>(names_.size()));
  if (is_new) names_.push_back(name);
  return at->second;
}

std::vector<std::string> features_of(const library& lib, const attention_case& c) {
  std::ranges::fill(lib.edge_flags(), std::uint8_t{0});
  const detailed_run run = run_in_detail(lib, c);
  std::vector<std::string> names = fields_of(c);
  names.push_back(fmt::format("verdict {} {}", name_of(run.result.result), run.result.origin));
  const feature_counts counts = count_features(c, run);
  for (std::size_t i = 0; i < counts.size(); ++i)
    if (counts[i] > 0) names.push_back(fmt::format("{} bucket {}", features()[i].name, bucket_of(counts[i])));
  const auto edges = lib.edge_flags();
  for (std::size_t i = 0; i < edges.size(); ++i)
    if (edges[i] != 0) names.push_back(fmt::format("edge {}", i));
  return of_kernel(c, std::move(names));
}

std::vector<std::vector<std::uint32_t>> features_of(const library& lib, std::span<const attention_case> cases, int jobs,
                                                    double limit_seconds, feature_names& names) {
  std::vector<std::vector<std::string>> named(cases.size());
  std::size_t next_case = 0;
  std::size_t done = 0;
  progress shown;
  const auto serve = [&](const std::string& request) {
    return fmt::format("{}", fmt::join(features_of(lib, cases[parse(request)]), "\n"));
  };
  const auto next = [&]() -> std::optional<std::string> {
    if (next_case == cases.size()) return std::nullopt;
    return std::to_string(next_case++);
  };
  run_workers(jobs, limit_seconds, serve, next, [&](const work_result& worked) {
    std::vector<std::string>& features = named[parse(worked.request)];
    if (worked.reply) {
      std::istringstream lines(*worked.reply);
      for (std::string line; std::getline(lines, line);) features.push_back(line);
    } else {
      const attention_case& c = cases[parse(worked.request)];
      features = fields_of(c);
      features.push_back("ends its process: " + verdict_of(worked).origin);
      features = of_kernel(c, std::move(features));
    }
    shown.show(fmt::format("{}/{} cases", ++done, cases.size()));
  });
  // Numbered in the order of the cases, so that numbers do not depend on the speed of processes.
  std::vector<std::vector<std::uint32_t>> numbers(cases.size());
  for (std::size_t i = 0; i < cases.size(); ++i)
    for (const std::string& name : named[i]) numbers[i].push_back(names.number_of(name));
  return numbers;
}

}  // namespace assay::corpus
