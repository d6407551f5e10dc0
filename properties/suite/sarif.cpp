#include "properties/suite/sarif.hpp"

#include <fmt/format.h>

#include <boost/json.hpp>

#include "properties/system/printable.hpp"
#include "properties/system/write_file.hpp"

namespace assay {
namespace {

namespace json = boost::json;
namespace fs = std::filesystem;

/// A path as RFC 3986 has it.
std::string uri_of(const fs::path& path) {
  std::string uri;
  for (const char c : path.generic_string()) {
    const bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                          std::string_view("-._~/+").find(c) != std::string_view::npos;
    uri += is_plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return uri;
}

/// Relative to the root of the sources where the file lies below it, else absolute.
json::object artifact_at(const fs::path& path) {
  const fs::path absolute = fs::absolute(path).lexically_normal(), here = fs::current_path();
  const fs::path relative = absolute.lexically_relative(here);
  if (relative.empty() || *relative.begin() == "..") return {{"uri", "file://" + uri_of(absolute)}};
  return {{"uri", uri_of(relative)}, {"uriBaseId", "%SRCROOT%"}};
}

json::object physical(const fs::path& file, std::int64_t line) {
  return {{"artifactLocation", artifact_at(file)}, {"region", {{"startLine", line}}}};
}

json::object text(const std::string& words) {
  return {{"text", printable(words)}};
}

/// "output_enclosed/data-race".
std::string rule_of(const reported_finding& f) {
  std::string kind = f.origin;
  for (char& c : kind)
    if (c == ' ') c = '-';
  return f.property + "/" + kind;
}

json::object rule(const reported_finding& f) {
  return {{"id", rule_of(f)},
          {"name", rule_of(f)},
          {"shortDescription", text(fmt::format("{}: {}", f.property, f.origin))},
          {"fullDescription", text(f.sentence)},
          {"help", text(fmt::format("The property: {}. See: ./assay list properties", f.sentence))},
          {"defaultConfiguration", {{"level", "error"}}},
          {"properties", {{"tags", json::array{"correctness", "gpu-kernel"}}}}};
}

/// The places of the finding, the best one first.
json::array places_of(const std::string& library, const reported_finding& f, const source_finder& sources,
                      std::string& first_name) {
  json::array places;
  for (const source_place& p : places_in(f.what))
    if (const auto file = sources.find(p.name)) {
      if (places.empty()) first_name = file->filename().string();
      places.push_back(physical(*file, p.line));
    }
  std::error_code error;
  if (!places.empty()) return places;
  if (fs::is_regular_file(library, error))  // GitHub asks for a line even of what has none
    places.push_back(physical(library, 1));
  else if (!f.file.empty())
    places.push_back(physical(f.file, 1));
  return places;
}

json::object result(const std::string& library, const reported_finding& f, std::size_t rule_index,
                    const source_finder& sources) {
  std::string first_name;
  json::array places = places_of(library, f, sources, first_name);
  const std::string key = fmt::format("{} {} {}", f.kernel, rule_of(f), first_name);
  std::string message = fmt::format("{}: {}: {}", f.kernel, f.origin, f.what);
  if (!f.hint.empty()) message += ". Hint: " + f.hint;
  if (!f.replay.empty()) message += ". Replay: " + f.replay;
  json::object location{{"logicalLocations", json::array{json::object{{"name", f.kernel}, {"kind", "function"}}}}};
  if (!places.empty()) location["physicalLocation"] = places.front();
  json::array related;
  for (std::size_t i = 1; i < places.size(); ++i)
    related.push_back(
        {{"id", related.size() + 1}, {"physicalLocation", places[i]}, {"message", text("also named by the finding")}});
  json::object made{{"ruleId", rule_of(f)},
                    {"ruleIndex", rule_index},
                    {"level", "error"},
                    {"message", text(message)},
                    {"locations", json::array{std::move(location)}},
                    {"partialFingerprints",
                     {{"assayFinding/v1", fmt::format("{:08x}{:08x}", fingerprint(key), fingerprint(key + " 2"))}}},
                    {"properties", {{"kernel", f.kernel}, {"types", f.types}, {"flaky", f.is_flaky}}}};
  if (!f.file.empty()) {
    related.push_back({{"id", related.size() + 1},
                       {"physicalLocation", physical(f.file, 1)},
                       {"message", text("the case: " + f.history)}});
    made["attachments"] =
        json::array{json::object{{"description", text("the case")}, {"artifactLocation", artifact_at(f.file)}}};
  }
  if (!related.empty()) made["relatedLocations"] = std::move(related);
  return made;
}

}  // namespace

std::string report_sarif(const std::string& library, const std::vector<reported_finding>& findings,
                         const source_finder& sources) {
  json::array rules, results;
  std::map<std::string, std::size_t> index;
  for (const reported_finding& f : findings) {
    const auto [at, is_new] = index.emplace(rule_of(f), rules.size());
    if (is_new) rules.push_back(rule(f));
    results.push_back(result(library, f, at->second, sources));
  }
  const json::object driver{
      {"name", "Assay"}, {"fullName", "Assay, a verifier of GPU attention kernels"}, {"rules", std::move(rules)}};
  const json::object run{{"tool", {{"driver", driver}}},
                         {"invocations", json::array{json::object{{"executionSuccessful", true}}}},
                         {"columnKind", "utf16CodeUnits"},
                         {"results", std::move(results)}};
  return json::serialize(json::object{
             {"$schema", "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"},
             {"version", "2.1.0"},
             {"runs", json::array{run}}}) +
         "\n";
}

}  // namespace assay
