#include "properties/nightly/night.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>
#include <cctype>

#include "properties/case.hpp"

namespace assay {
namespace {

namespace json = boost::json;

json::object to_object(const night_finding& f) {
  return {{"stage", f.stage}, {"origin", f.origin}, {"what", f.what}, {"file", f.file}, {"replay", f.replay}};
}

json::object to_object(const night_stage& s) {
  json::array findings;
  for (const night_finding& f : s.findings) findings.push_back(to_object(f));
  return {{"name", s.name},       {"arguments", json::value_from(s.arguments)}, {"status", s.status},
          {"seconds", s.seconds}, {"numbers", json::value_from(s.numbers)},     {"findings", std::move(findings)},
          {"log", s.log}};
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
    s.findings.push_back({text(f, "stage"), text(f, "origin"), text(f, "what"), text(f, "file"), text(f, "replay")});
  }
  s.log = text(o, "log");
  return s;
}

}  // namespace

std::string night_finding::key() const {
  std::string all = stage + ": " + origin + ": " + what;
  std::string kept;
  for (const char c : all) {
    const bool is_digit = std::isdigit(static_cast<unsigned char>(c)) != 0;
    if (!is_digit)
      kept += c;
    else if (kept.empty() || kept.back() != '#')
      kept += '#';
  }
  return kept;
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
                                      {"verified", n.is_clean()},
                                      {"stages", std::move(stages)}}) +
         "\n";
}

night night_from_json(const std::string& written, const std::string& origin) {
  try {
    const json::value parsed = json::parse(written);
    const json::object& o = parsed.as_object();
    if (o.at("version").to_number<int>() != 1) throw std::runtime_error("its version is not 1");
    night n{text(o, "started"), o.at("minutes").to_number<double>(), o.at("seed").to_number<std::uint64_t>(), {}};
    for (const json::value& v : o.at("stages").as_array()) n.stages.push_back(stage_of(v.as_object()));
    return n;
  } catch (const std::exception& e) {
    throw case_error(fmt::format("{}: is no report of a night: {}", origin, e.what()));
  }
}

}  // namespace assay
