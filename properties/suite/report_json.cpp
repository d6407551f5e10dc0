#include <boost/json.hpp>

#include "properties/suite/report.hpp"
#include "properties/suite/scope.hpp"
#include "properties/suite/sufficiency.hpp"

namespace assay {
namespace {

namespace json = boost::json;

json::object to_object(const suite_options& options, const finding& f, const page_extras& extras) {
  json::object o{{"kernel", f.shrunk.smallest.kernel},
                 {"met_by", f.met_by->name},
                 {"property", f.broken->name},
                 {"sentence", f.broken->sentence},
                 {"failed_as", f.origin},
                 {"seen", f.what},
                 {"origin", f.shrunk.result.origin},
                 {"what", f.shrunk.result.what},
                 {"hint", f.shrunk.result.hint},
                 {"index", f.index},
                 {"draw", f.draw},
                 {"alike", f.alike},
                 {"reproduced", f.shrunk.reproduced},
                 {"first_load", f.shrunk.result.first_load},
                 {"steps", f.shrunk.steps},
                 {"tries", f.shrunk.tries},
                 {"file", f.file.string()},
                 {"replay", f.file.empty() ? "" : replay_line(options.library_arguments, f.file)},
                 {"case", json::parse(to_json(f.shrunk.smallest))}};
  if (const auto drawn = extras.pictures.find(f.index); drawn != extras.pictures.end()) {
    json::object pictures{{"smallest", json::parse(to_json(drawn->second.smallest))}};
    if (drawn->second.met) pictures["met"] = json::parse(to_json(*drawn->second.met));
    o["pictures"] = std::move(pictures);
  }
  return o;
}

json::array names_of(const std::vector<const property*>& properties) {
  json::array names;
  for (const property* p : properties) names.emplace_back(p->name);
  return names;
}

/// The options in which shards of one run agree. `cases` is 0 for a run of `seconds`.
json::object asked_of(const suite_options& options) {
  json::object supports;
  for (const auto& [kernel, s] : options.supports) supports[kernel] = support_to_json(s);
  return {{"supports", std::move(supports)},
          {"left_out", names_of(options.left_out)},
          {"has_attention", options.traits.has_attention},
          {"has_schedules", options.traits.has_schedules},
          {"kernels", json::value_from(options.kernels)},
          {"types", json::value_from(options.types)},
          {"cases", options.seconds > 0 ? 0 : options.cases},
          {"seconds", options.seconds},
          {"workspace_budget", options.workspace_budget_bytes},
          {"waves", options.waves}};
}

}  // namespace

void tag_invoke(const json::value_from_tag&, json::value& to, const counts& c) {
  to = {{"pass", c.pass}, {"fail", c.fail}, {"discard", c.discard}, {"undecided", c.undecided}};
}

namespace {

json::array rows_of_teeth(const suite_result& result) {
  json::array teeth;
  for (const auto& [key, b] : result.teeth)
    teeth.push_back({{"kernel", std::get<0>(key)},
                     {"types", std::get<1>(key)},
                     {"fault", std::get<2>(key)},
                     {"asked", b.asked},
                     {"seen", b.seen},
                     {"smallest", b.seen > 0 ? json::value(b.smallest) : json::value(nullptr)}});
  return teeth;
}

json::array rows_of_slowest(const suite_result& result) {
  json::array slowest;
  for (const slow_case& slow : result.slowest)
    slowest.push_back({{"kernel", slow.kernel},
                       {"property", slow.met_by->name},
                       {"types", slow.types},
                       {"index", slow.index},
                       {"seconds", slow.seconds}});
  return slowest;
}

}  // namespace

std::string report_json(const std::string& path, const std::string& platform, const suite_options& options,
                        const suite_result& result, const page_extras& extras) {
  json::array table;
  for (const auto& [key, cell] : result.table) {
    json::object row{{"kernel", std::get<0>(key)}, {"property", std::get<1>(key)}, {"types", std::get<2>(key)}};
    const json::value fields = json::value_from(cell);
    for (const auto& field : fields.as_object()) row.insert(field);
    table.push_back(std::move(row));
  }
  json::array teeth = rows_of_teeth(result);
  json::array reached;
  for (const auto& [key, cell] : result.reached) {
    json::object row{{"kernel", key.first}, {"thing", key.second}};
    const json::value fields = json::value_from(cell);
    for (const auto& field : fields.as_object()) row.insert(field);
    reached.push_back(std::move(row));
  }
  // Other reports need them to be merged; they are many.
  json::array pairs;
  if (options.shards > 1)
    for (const std::uint32_t pair : result.pairs.pairs()) pairs.emplace_back(pair);
  json::object triples;
  if (options.shards > 1)
    for (const auto& [kernel, digits] : result.triples.digits()) triples[kernel] = digits;
  json::array findings;
  for (const finding& f : result.findings) findings.push_back(to_object(options, f, extras));
  json::array undecided;
  for (const undecided_case& u : result.undecided)
    undecided.push_back(
        {{"property", u.met_by->name}, {"index", u.index}, {"what", u.what}, {"file", u.file.string()}});
  const json::object report{{"version", 1},
                            {"library", path},
                            {"library_arguments", options.library_arguments},
                            {"platform", platform},
                            {"devices", extras.devices},
                            {"asked", asked_of(options)},
                            {"properties", names_of(options.selected)},
                            {"seed", options.seed},
                            {"shard", options.shard},
                            {"shards", options.shards},
                            {"jobs", options.jobs},
                            {"seconds", result.seconds},
                            {"outputs_judged", result.outputs_judged},
                            {"outputs_sharp", result.outputs_sharp},
                            {"rows_regressed", result.rows_regressed},
                            {"lse_regressed", result.lse_regressed},
                            {"accesses_checked", result.accesses_checked},
                            {"redrawn", result.redrawn},
                            {"checked", json::value_from(result.checked)},
                            {"kernel_seconds", result.kernel_seconds},
                            {"oracle_seconds", result.oracle_seconds},
                            {"accept_blunt", options.accept_blunt},
                            {"verified", options.shards == 1 && exit_status(options, result) == 0},
                            {"shortfall", shortfall(options, result)},
                            {"verified_for", json::value_from(verified_for(options, result))},
                            {"left_out", json::value_from(left_out_lines(options))},
                            {"total", json::value_from(result.total)},
                            {"table", std::move(table)},
                            {"reached", std::move(reached)},
                            {"teeth", std::move(teeth)},
                            {"pairs", std::move(pairs)},
                            {"triples", std::move(triples)},
                            {"slowest", rows_of_slowest(result)},
                            {"accepted", json::value_from(result.accepted)},
                            {"discards", json::value_from(result.discards)},
                            {"undecided", std::move(undecided)},
                            {"unwritten", json::value_from(result.unwritten)},
                            {"findings", std::move(findings)}};
  return json::serialize(report) + "\n";
}

}  // namespace assay
