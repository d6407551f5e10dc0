#include "properties/nightly/night.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>

#include "properties/campaign/kinds.hpp"
#include "properties/case/case.hpp"

namespace assay {
namespace {

namespace json = boost::json;

json::object to_object(const night_finding& f) {
  return {{"stage", f.stage}, {"kernel", f.kernel}, {"origin", f.origin},
          {"what", f.what},   {"file", f.file},     {"replay", f.replay}};
}

json::object to_object(const night_stage& s) {
  json::array findings;
  for (const night_finding& f : s.findings) findings.push_back(to_object(f));
  return {{"name", s.name},
          {"arguments", json::value_from(s.arguments)},
          {"status", s.status},
          {"seconds", s.seconds},
          {"numbers", json::value_from(s.numbers)},
          {"findings", std::move(findings)},
          {"log", s.log},
          {"reported", s.reported},
          {"left_out", s.left_out}};
}

std::string text(const json::object& o, const char* key) {
  return std::string(o.at(key).as_string());
}

night_stage stage_of(const json::object& o) {
  night_stage s;
  s.name = text(o, "name");
  s.arguments = json::value_to<std::vector<std::string>>(o.at("arguments"));
  s.status = o.at("status").to_number<int>();
  s.seconds = o.at("seconds").to_number<double>();
  s.numbers = json::value_to<std::map<std::string, double>>(o.at("numbers"));
  for (const json::value& v : o.at("findings").as_array()) {
    const json::object& f = v.as_object();
    s.findings.push_back({text(f, "stage"), f.contains("kernel") ? text(f, "kernel") : "", text(f, "origin"),
                          text(f, "what"), text(f, "file"), text(f, "replay")});
  }
  s.log = text(o, "log");
  s.reported = o.contains("reported") && o.at("reported").as_bool();
  if (o.contains("left_out")) s.left_out = text(o, "left_out");
  return s;
}

}  // namespace

std::string status_text(int status) {
  switch (status) {
    case 0: return "verified";
    case 1: return "DEFECT";
    case 2: return "bad usage";
    case 3: return "environment error";
    case 124: return "took too long";
    default: return status > 128 ? fmt::format("ended by signal {}", status - 128) : fmt::format("exit {}", status);
  }
}

std::string night_finding::key() const {
  return (kernel.empty() ? stage : kernel) + ": " + campaign::kind_of({origin, what});
}

bool night::is_clean() const {
  return std::ranges::all_of(stages, [](const night_stage& s) { return s.status == 0; });
}

std::string to_json(const night& n) {
  json::array stages;
  for (const night_stage& s : n.stages) stages.push_back(to_object(s));
  return json::serialize(json::object{{"version", 1},
                                      {"started", n.started},
                                      {"minutes", n.minutes},
                                      {"seed", n.seed},
                                      {"platform", n.platform},
                                      {"verified", n.is_clean()},
                                      {"stages", std::move(stages)}}) +
         "\n";
}

night night_from_json(const std::string& written, const std::string& origin) {
  try {
    const json::value parsed = json::parse(written);
    const json::object& o = parsed.as_object();
    if (o.at("version").to_number<int>() != 1) throw std::runtime_error("version must be 1");
    night n{text(o, "started"), o.at("minutes").to_number<double>(), o.at("seed").to_number<std::uint64_t>(), {}};
    if (o.contains("platform")) n.platform = text(o, "platform");
    for (const json::value& v : o.at("stages").as_array()) n.stages.push_back(stage_of(v.as_object()));
    return n;
  } catch (const std::exception& e) {
    throw case_error(fmt::format("{}: cannot be read as the report of a night: {}", origin, e.what()));
  }
}

}  // namespace assay
