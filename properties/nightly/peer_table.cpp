#include "properties/nightly/peer_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>
#include <map>
#include <tuple>

#include "properties/generate/kernel_space.hpp"
#include "properties/nightly/peer_judges.hpp"
#include "properties/system/counted.hpp"

namespace assay {
namespace {

namespace json = boost::json;

/// The letters on the clean kernels, by kernel, types and kind.
using clean_letters = std::map<std::tuple<std::string, std::string, case_kind>, std::vector<judged_case>>;

void count_clean(const std::vector<judged_case>& cases, case_kind kind, std::vector<judge_row>& rows) {
  for (const auto& [letters, bits] : cases)
    for (std::size_t j = 0; j < letters.size(); ++j) {
      judge_counts& counts = rows[j].of[static_cast<int>(kind)];
      counts.clean_cases += letters[j] == cannot_judge ? 0 : 1;
      counts.false_alarms += letters[j] == flags ? 1 : 0;
    }
}

/// A case in which a judge flags the clean kernel, too, says nothing about the fault.
void count_fault(const std::string& name, const std::vector<judged_case>& faulty, const std::vector<judged_case>& clean,
                 case_kind kind, std::vector<judge_row>& rows) {
  for (std::size_t j = 0; j < rows.size(); ++j) {
    judge_counts& counts = rows[j].of[static_cast<int>(kind)];
    bool is_judged = false, is_seen = false;
    for (std::size_t i = 0; i < faulty.size(); ++i) {
      if (faulty[i].letters.empty() || faulty[i].letters[j] == cannot_judge) continue;
      const bool flagged = faulty[i].letters[j] == flags && (clean[i].letters.empty() || clean[i].letters[j] != flags);
      const bool is_wrong = !faulty[i].output_bits.empty() && faulty[i].output_bits != clean[i].output_bits;
      is_judged = true;
      is_seen = is_seen || flagged;
      counts.wrong_runs += is_wrong ? 1 : 0;
      counts.wrong_seen += is_wrong && flagged ? 1 : 0;
    }
    counts.faults_judged += is_judged ? 1 : 0;
    counts.faults_seen += is_seen ? 1 : 0;
    if (is_seen && (rows[j].seen.empty() || rows[j].seen.back() != name)) rows[j].seen.push_back(name);
  }
}

clean_letters judge_clean(const std::vector<fault>& faults, peer_table& table,
                          const std::function<void(const std::string&)>& begin) {
  const std::shared_ptr<library> clean = library::built_in();
  clean_letters all;
  for (const kernel_space* space : kernel_spaces()) {
    if (std::ranges::find(faults, space->name, &fault::kernel) == faults.end()) continue;
    for (const std::string& types : types_of_the_space(*space))
      for (const case_kind kind : case_kinds) {
        begin(fmt::format("{}, clean, {}", space->name, types));
        bool stopped = false;
        auto& letters = all[{space->name, types, kind}];
        letters = judge_cases(*clean, space->name, types, kind, table.options, stopped);
        count_clean(letters, kind, table.rows);
      }
  }
  return all;
}

std::string share(std::int64_t part, std::int64_t whole) {
  return fmt::format("{}/{}", part, whole);
}

std::string percent(std::int64_t part, std::int64_t whole) {
  return whole == 0 ? "-" : fmt::format("{:.1f}%", 100 * static_cast<double>(part) / static_cast<double>(whole));
}

/// What follows the table.
std::string footer(const peer_table& t) {
  std::string text = fmt::format(
      "\n{} of each kind for each library and combination of types, seed {}.\n"
      "faults: seen in some case. wrong runs: flagged, of the runs of faulty kernels whose outputs differ from the "
      "clean\n"
      "kernel's. Both count only cases where the judge accepts the clean kernel. false alarms: cases of clean "
      "kernels.\n"
      "The reference is the exact value, rounded to f32 and then to the output's type.\n",
      counted(t.options.cases, "case"), t.options.seed);
  if (t.stopped[0] + t.stopped[1] > 0)
    text += fmt::format(
        "Runs of {} (our cases) and of {} (the peers' cases) ended at our guard pages: no output to compare.\n",
        counted(t.stopped[0], "fault"), counted(t.stopped[1], "fault"));
  return text;
}

}  // namespace

peer_table compare_with_peers(const std::vector<fault>& faults,
                              const std::function<std::shared_ptr<library>(const fault&)>& open,
                              const peer_options& options, const std::function<void(const std::string&)>& begin) {
  peer_table table;
  table.options = options;
  table.faults = std::ssize(faults);
  for (const auto& [name, rule] : judges()) table.rows.push_back({name, rule, {}, {}});
  const clean_letters clean = judge_clean(faults, table, begin);
  for (const fault& f : faults) {
    begin(f.name);
    const std::shared_ptr<library> faulty = open(f);
    for (const case_kind kind : case_kinds) {
      bool stopped = false;
      const auto letters = judge_cases(*faulty, f.kernel, f.types, kind, options, stopped);
      count_fault(f.name, letters, clean.at({f.kernel, f.types, kind}), kind, table.rows);
      table.stopped[static_cast<int>(kind)] += stopped ? 1 : 0;
    }
  }
  return table;
}

bool accepts_clean(const peer_table& table) {
  return std::ranges::all_of(table.rows.back().of, [](const judge_counts& c) { return c.false_alarms == 0; });
}

std::string peer_table_text(const peer_table& table) {
  constexpr const char* line = "{:<19} {:>9} {:>12} {:>12}   {:>9} {:>12} {:>12}   {}\n";
  std::string text = fmt::format(fmt::runtime(line), "", "", "", "our cases", "", "", "peers' cases", "");
  text += fmt::format(fmt::runtime(line), "judge", "faults", "wrong runs", "false alarms", "faults", "wrong runs",
                      "false alarms", "rule");
  for (const judge_row& row : table.rows) {
    const auto& [ours, peers] = row.of;
    text += fmt::format(fmt::runtime(line), row.name, share(ours.faults_seen, ours.faults_judged),
                        share(ours.wrong_seen, ours.wrong_runs), share(ours.false_alarms, ours.clean_cases),
                        share(peers.faults_seen, peers.faults_judged), share(peers.wrong_seen, peers.wrong_runs),
                        share(peers.false_alarms, peers.clean_cases), row.rule);
  }
  return text + footer(table);
}

std::string peer_table_markdown(const peer_table& table) {
  std::string text =
      "| judge | rule | faults seen | wrong runs seen | false alarms | faults seen | wrong runs seen | false alarms |\n"
      "|---|---|---:|---:|---:|---:|---:|---:|\n";
  for (const judge_row& row : table.rows) {
    const auto& [ours, peers] = row.of;
    std::string rule = row.rule;
    for (std::size_t at = 0; (at = rule.find('|', at)) != std::string::npos; at += 2) rule.insert(at, 1, '\\');
    text += fmt::format("| {} | {} | {} | {} | {} | {} | {} | {} |\n", row.name, rule,
                        share(ours.faults_seen, ours.faults_judged), percent(ours.wrong_seen, ours.wrong_runs),
                        percent(ours.false_alarms, ours.clean_cases), share(peers.faults_seen, peers.faults_judged),
                        percent(peers.wrong_seen, peers.wrong_runs), percent(peers.false_alarms, peers.clean_cases));
  }
  return text;
}

std::string peer_table_json(const peer_table& table) {
  json::array rows;
  for (const judge_row& row : table.rows) {
    json::object one{{"judge", row.name}, {"rule", row.rule}, {"seen", json::value_from(row.seen)}};
    for (const case_kind kind : case_kinds) {
      const judge_counts& c = row.of[static_cast<int>(kind)];
      one[kind == case_kind::ours ? "our_cases" : "peer_cases"] = json::object{
          {"faults_seen", c.faults_seen}, {"faults_judged", c.faults_judged}, {"wrong_seen", c.wrong_seen},
          {"wrong_runs", c.wrong_runs},   {"false_alarms", c.false_alarms},   {"clean_cases", c.clean_cases}};
    }
    rows.push_back(std::move(one));
  }
  return json::serialize(json::object{{"version", 1},
                                      {"seed", table.options.seed},
                                      {"cases", table.options.cases},
                                      {"faults", table.faults},
                                      {"stopped_our_cases", table.stopped[0]},
                                      {"stopped_peer_cases", table.stopped[1]},
                                      {"judges", std::move(rows)}}) +
         "\n";
}

}  // namespace assay
