#include <fmt/format.h>

#include <boost/json.hpp>

#include "properties/case/case.hpp"
#include "properties/nightly/stages.hpp"
#include "properties/system/write_file.hpp"

namespace assay {
namespace {

namespace json = boost::json;
namespace fs = std::filesystem;

/// Numbers of reports that nights compare, and their names in the comparison.
constexpr std::pair<const char*, const char*> compared[] = {
    {"/total/pass", "cases passed"},
    {"/cases_per_second", "cases/s"},
    {"/suite/cases_per_second", "suite cases/s"},
    {"/tiny/cases_per_second", "tiny cases/s"},
    {"/caught", "faults caught"},
    {"/mutation_score", "mutation score"},
    {"/executions", "executions"},
    {"/executions_per_second_and_process", "executions/s"},
    {"/copy_bytes_per_second", "copied bytes/s"},
    {"/comparison/cases", "cases compared"},
    {"/faults_seen", "faults seen by a tool"},
};

std::string text(const json::object& o, const char* key) {
  const json::value* v = o.if_contains(key);
  return v != nullptr && v->is_string() ? std::string(v->as_string()) : std::string();
}

/// The objects of an array; none where there is no such array.
std::vector<const json::object*> objects_at(const json::object& o, const char* key) {
  std::vector<const json::object*> all;
  const json::value* const list = o.if_contains(key);
  if (list == nullptr || !list->is_array()) return all;
  for (const json::value& v : list->as_array())
    if (const json::object* one = v.if_object()) all.push_back(one);
  return all;
}

double number(const json::object& o, const char* key) {
  const json::value* v = o.if_contains(key);
  return v != nullptr && v->is_number() ? v->to_number<double>() : 0;
}

/// The growth of a campaign at its last point.
void read_growth(const json::object& report, night_stage& stage) {
  const std::vector<const json::object*> points = objects_at(report, "points");
  if (points.empty()) return;
  for (const char* name : {"edges", "features", "corpus"})
    if (const json::value* v = points.back()->if_contains(name); v != nullptr && v->is_number())
      stage.numbers[name] = v->to_number<double>();
}

/// Of a campaign on two platforms, and of kernels on a GPU.
void read_speeds(const json::object& report, night_stage& stage) {
  for (const json::object* side : objects_at(report, "by_platform"))
    stage.numbers[text(*side, "platform") + " executions/s"] = number(*side, "executions_per_second");
  for (const json::object* speed : objects_at(report, "speeds"))
    if (const double seconds = number(*speed, "median_seconds"); seconds > 0)
      stage.numbers[text(*speed, "shape") + ", " + text(*speed, "types") + ", bytes/s"] =
          number(*speed, "bytes") / seconds;
}

/// Faults that the report of `faults` lists as not caught.
void read_faults_missed(const json::object& report, night_stage& stage) {
  for (const json::object* fault : objects_at(report, "faults")) {
    const json::value* caught = fault->if_contains("caught");
    if (caught != nullptr && caught->is_bool() && !caught->as_bool())
      stage.findings.push_back(
          {stage.name, "", "fault not caught", text(*fault, "fault"), "", "./assay faults " + text(*fault, "fault")});
  }
}

/// `teller` begins what it says: "nvidia: ", or nothing.
void read_findings(const json::object& report, const std::string& teller, night_stage& stage) {
  for (const json::object* f : objects_at(report, "findings")) {
    const bool is_reproduced = !text(*f, "origin").empty();
    const std::string what = is_reproduced ? text(*f, "what") : text(*f, "seen") + ", but not when repeated";
    stage.findings.push_back({stage.name, text(*f, "kernel"), text(*f, is_reproduced ? "origin" : "failed_as"),
                              teller + what, text(*f, "file"), text(*f, "replay")});
  }
}

/// Where two libraries ran the same cases and one passed what the other failed, or their enclosures are apart.
void read_comparison(const json::object& report, night_stage& stage) {
  const json::value* const v = report.if_contains("comparison");
  const json::object* const made = v == nullptr ? nullptr : v->if_object();
  if (made == nullptr) return;
  for (const json::object* f : objects_at(*made, "findings"))
    stage.findings.push_back({stage.name, "", "comparison", text(*f, "what"), text(*f, "case"), ""});
}

void read_one(const json::object& report, const std::string& platform, night_stage& stage) {
  boost::system::error_code error;
  const json::value whole = report;
  for (const auto& [pointer, name] : compared)
    if (const json::value* v = whole.find_pointer(pointer, error); v != nullptr && v->is_number())
      stage.numbers[(platform.empty() ? "" : platform + " ") + name] = v->to_number<double>();
  read_growth(report, stage);
  read_speeds(report, stage);
  read_findings(report, platform.empty() ? "" : platform + ": ", stage);
  read_faults_missed(report, stage);
}

}  // namespace

void read_report(const fs::path& report, night_stage& stage) {
  const std::string written = read_file(report);
  boost::system::error_code error;
  const json::value parsed = json::parse(written, error);
  if (error || !parsed.is_object()) throw case_error(report.string() + ": must be a JSON object");
  read_one(parsed.as_object(), "", stage);
  for (const json::object* of_platform : objects_at(parsed.as_object(), "platforms"))
    read_one(*of_platform, text(*of_platform, "platform"), stage);
  read_comparison(parsed.as_object(), stage);
}

}  // namespace assay
