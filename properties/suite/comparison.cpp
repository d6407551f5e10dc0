#include "properties/suite/comparison.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <boost/json.hpp>
#include <chrono>
#include <list>

#include "properties/case/types.hpp"
#include "properties/run/execute.hpp"
#include "properties/run/verdict_json.hpp"
#include "properties/suite/sufficiency.hpp"
#include "properties/system/counted.hpp"
#include "properties/system/worker.hpp"

namespace assay {
namespace {

namespace json = boost::json;

constexpr std::size_t shown_findings = 5;

/// While it lives, runs of a library check no loads and stores, and measure no teeth.
class plain_runs {
 public:
  explicit plain_runs(library& lib) : lib_(lib), checked_(lib.checks.accesses), measured_(lib.measures_teeth) {
    lib_.checks.accesses = lib_.measures_teeth = false;
  }
  ~plain_runs() {
    lib_.checks.accesses = checked_;
    lib_.measures_teeth = measured_;
  }
  plain_runs(const plain_runs&) = delete;
  plain_runs& operator=(const plain_runs&) = delete;

 private:
  library& lib_;
  bool checked_, measured_;
};

std::string name_of(const library& lib) {
  return lib.platform() + " (" + lib.path() + ")";
}

/// What a worker says of a case.
struct said {
  bool ran = false;       ///< on both, and outputs of both were judged
  std::string one_sided;  ///< why one has outputs and another has none: "cpu: pass, nvidia: discard"
  std::map<std::string, agreement_counts> outputs;
  std::string finding;
};

bool is_judged(const detailed_run& run) {
  return !run.bounds.tensors.empty();
}

void compare_runs(const detailed_run& a, const detailed_run& b, said& to) {
  if (!is_judged(a) || !is_judged(b)) return;
  for (const oracle::enclosed_tensor& bounds : a.bounds.tensors) {
    const buffer* const first = find_buffer(a.ran.written.buffers, bounds.name);
    const buffer* const second = find_buffer(b.ran.written.buffers, bounds.name);
    const auto other = std::ranges::find(b.bounds.tensors, bounds.name, &oracle::enclosed_tensor::name);
    if (first == nullptr || second == nullptr || other == b.bounds.tensors.end()) continue;
    if (bounds.shape != other->shape || bounds.indices != other->indices) continue;  // partials of other splits
    to.outputs[bounds.name] += compare_outputs(bounds, first->view(), *other, second->view());
    to.ran = true;
  }
}

/// Overflow leaves some undecided; that two contracts differ in it is no finding.
bool contradict(outcome a, outcome b) {
  return a != b && (a == outcome::fail || b == outcome::fail) && a != outcome::discard && b != outcome::discard;
}

said compare_on(const std::vector<std::shared_ptr<library>>& libraries, const attention_case& c) {
  said to;
  const detailed_run first = run_in_detail(*libraries.front(), c);
  for (std::size_t i = 1; i < libraries.size(); ++i) {
    const detailed_run other = run_in_detail(*libraries[i], c);
    const std::string &one = libraries.front()->platform(), &two = libraries[i]->platform();
    if (contradict(first.result.result, other.result.result) && to.finding.empty())
      to.finding = fmt::format("{}: {}, {}: {}", one, assay::name_of(first.result.result), two,
                               assay::name_of(other.result.result));
    if (is_judged(first) != is_judged(other))
      to.one_sided = fmt::format("{}: {}, {}: {}", one, assay::name_of(first.result.result), two,
                                 assay::name_of(other.result.result));
    compare_runs(first, other, to);
  }
  return to;
}

json::array to_array(const agreement_counts& n) {
  return {n.elements, n.same_bits, n.within_both, n.across, n.unbounded, n.apart};
}

std::string to_text(const said& s, const std::string& name, const attention_case& c) {
  json::object outputs;
  for (const auto& [name, n] : s.outputs) outputs[name] = to_array(n);
  if (!s.one_sided.empty() && s.finding.empty()) return json::serialize(json::object{{"lost", s.one_sided}});
  return json::serialize(json::object{{"ran", s.ran},
                                      {"kernel", c.kernel},
                                      {"types", types_of(c)},
                                      {"name", name},
                                      {"outputs", std::move(outputs)},
                                      {"finding", s.finding},
                                      {"case", s.finding.empty() ? "" : to_json(c)}});
}

void add(library_comparison& to, const json::object& o) {
  ++(o.at("ran").as_bool() ? to.cases : to.uncompared);
  const auto text = [&](const char* key) { return json::value_to<std::string>(o.at(key)); };
  for (const auto& [name, n] : o.at("outputs").as_object()) {
    const auto at = [&counts = n.as_array()](std::size_t i) { return counts.at(i).to_number<std::int64_t>(); };
    to.table[{text("kernel"), text("types"), std::string(name)}] +=
        agreement_counts{at(0), at(1), at(2), at(3), at(4), at(5)};
  }
  if (text("finding").empty()) return;
  compared_case found{text("name"), text("finding"), from_json(text("case"), "a compared case")};
  found.stored.why = found.what + "; " + found.name;
  to.findings.push_back(std::move(found));
}

}  // namespace

library_comparison compare_libraries(const std::vector<std::shared_ptr<library>>& libraries, int jobs,
                                     double limit_seconds, const cases_to_compare& from) {
  const auto start = std::chrono::steady_clock::now();
  library_comparison made;
  std::list<plain_runs> plain;
  for (const auto& lib : libraries) {
    made.libraries.push_back(name_of(*lib));
    plain.emplace_back(*lib);
  }
  const auto serve = [&](const std::string& request) {
    try {
      const attention_case c = from.read(request);
      return to_text(compare_on(libraries, c), from.name(request), c);
    } catch (const std::exception& e) {
      return json::serialize(json::object{{"lost", e.what()}});
    }
  };
  const auto lose = [&](const std::string& request, const std::string& why) {
    ++made.lost;
    if (made.first_lost.size() < shown_findings)
      made.first_lost.push_back(fmt::format("{}: {}", from.name(request), why));
  };
  run_workers(jobs, limit_seconds, serve, from.next, [&](const work_result& worked) {
    if (!worked.reply) return lose(worked.request, worked.death);
    const json::value reply = json::parse(*worked.reply);
    if (const json::value* const why = reply.as_object().if_contains("lost"))
      return lose(worked.request, json::value_to<std::string>(*why));
    add(made, reply.as_object());
  });
  std::ranges::sort(made.findings, {}, [](const compared_case& f) { return std::pair(f.name.size(), f.name); });
  made.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return made;
}

std::string comparison_shortfall(const library_comparison& c) {
  if (c.cases == 0) return "no case has outputs of both";
  const std::int64_t all = c.cases + c.uncompared + c.lost;
  if (static_cast<double>(c.lost) <= max_undecided_share * static_cast<double>(all)) return {};
  return fmt::format("{} of {} were lost, more than {}%", c.lost, counted(all, "case"), 100 * max_undecided_share);
}

std::span<const compared_case> first_findings(const library_comparison& c) {
  return std::span(c.findings).first(std::min(shown_findings, c.findings.size()));
}

std::string comparison_text(const library_comparison& c) {
  const auto percent = [](std::int64_t part, std::int64_t all) {
    return 100 * static_cast<double>(part) / static_cast<double>(std::max<std::int64_t>(1, all));
  };
  std::string text =
      fmt::format("{} against {} on {} in {:.1f} s", fmt::join(c.libraries.begin() + 1, c.libraries.end(), ", "),
                  c.libraries.front(), counted(c.cases, "case"), c.seconds);
  if (c.uncompared > 0) text += fmt::format(" ({} more without outputs of both)", c.uncompared);
  text += fmt::format("\n{:<14} {:<20} {:<12} {:>12} {:>12} {:>12} {:>10} {:>10} {:>8}\n", "kernel", "types", "output",
                      "elements", "same bits", "within both", "across", "unbounded", "apart");
  agreement_counts all;
  for (const auto& [key, n] : c.table) {
    const auto& [kernel, types, output] = key;
    text += fmt::format("{:<14} {:<20} {:<12} {:>12} {:>12} {:>12} {:>10} {:>10} {:>8}\n", kernel, types, output,
                        n.elements, n.same_bits, n.within_both, n.across, n.unbounded, n.apart);
    all += n;
  }
  text += fmt::format("{}: {:.2f}% have the same bits, {:.2f}% differ within both enclosures\n",
                      counted(all.elements, "element"), percent(all.same_bits, all.elements),
                      percent(all.within_both, all.elements));
  for (const compared_case& f : first_findings(c)) text += fmt::format("DIFFERENCE {}: {}\n", f.name, f.what);
  if (const std::size_t more = c.findings.size() - first_findings(c).size(); more > 0)
    text += fmt::format("and {} more\n", more);
  for (const std::string& one : c.first_lost) text += fmt::format("LOST {}\n", one);
  if (const std::string missing = comparison_shortfall(c); !missing.empty())
    text += fmt::format("NOT COMPARED: {}\n", missing);
  return text;
}

json::object comparison_json(const library_comparison& c) {
  json::array table;
  for (const auto& [key, n] : c.table)
    table.push_back({{"kernel", std::get<0>(key)},
                     {"types", std::get<1>(key)},
                     {"output", std::get<2>(key)},
                     {"elements", n.elements},
                     {"same_bits", n.same_bits},
                     {"within_both", n.within_both},
                     {"across", n.across},
                     {"unbounded", n.unbounded},
                     {"apart", n.apart}});
  json::array findings;
  for (const compared_case& f : c.findings)
    findings.push_back({{"case", f.name}, {"what", f.what}, {"stored", json::parse(to_json(f.stored))}});
  return {{"libraries", json::value_from(c.libraries)},
          {"cases", c.cases},
          {"uncompared", c.uncompared},
          {"lost", c.lost},
          {"seconds", c.seconds},
          {"table", std::move(table)},
          {"findings", std::move(findings)}};
}

}  // namespace assay
