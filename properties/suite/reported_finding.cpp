#include "properties/suite/reported_finding.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "properties/case/types.hpp"
#include "properties/suite/report.hpp"

namespace assay {
namespace {

/// `property`: " --property NAME", or empty. explain takes none: it judges by the enclosure.
void add_commands(const std::string& library_arguments, const std::string& property, reported_finding& f) {
  if (f.file.empty()) return;
  f.replay = replay_line(library_arguments + property, f.file);
  f.explain = "./assay explain" + library_arguments + " " + f.file.string();
}

}  // namespace

std::vector<reported_finding> reported_findings(const suite_options& options, const suite_result& result) {
  std::vector<reported_finding> all;
  all.reserve(result.findings.size());
  for (const finding& f : result.findings) {
    const verdict& v = f.shrunk.result;
    reported_finding r;
    r.kernel = f.shrunk.smallest.kernel;
    r.types = types_of(f.shrunk.smallest);
    r.property = f.broken->name;
    r.sentence = f.broken->sentence;
    r.is_flaky = !f.shrunk.reproduced;
    r.origin = r.is_flaky ? f.origin : v.origin;
    r.what = r.is_flaky ? f.what : v.what;
    if (!r.is_flaky) r.hint = v.hint, r.first_load = v.first_load;
    r.history = history_text(options, f);
    r.file = f.file;
    r.smallest = f.shrunk.smallest;
    if (f.shrunk.steps > 0) r.met = suite_case(options, f.index, f.draw);
    add_commands(options.library_arguments, "", r);
    all.push_back(std::move(r));
  }
  return all;
}

std::vector<reported_finding> reported_findings(const std::string& library_arguments,
                                                const std::vector<replayed_case>& cases) {
  std::vector<reported_finding> all;
  for (const replayed_case& replayed : cases) {
    const auto first = static_cast<std::ptrdiff_t>(all.size());
    for (std::size_t i = 0; i < replayed.verdicts.size(); ++i) {
      const verdict& v = replayed.verdicts[i];
      if (v.result != outcome::fail) continue;
      const auto same = std::find_if(all.begin() + first, all.end(), [&](const reported_finding& r) {
        return r.origin == v.origin && r.what == v.what;
      });
      if (same != all.end()) {
        same->also.emplace_back(replayed.selected[i]->name);
        continue;
      }
      reported_finding r;
      r.kernel = replayed.stored.kernel;
      r.types = types_of(replayed.stored);
      r.property = replayed.selected[i]->name;
      r.sentence = replayed.selected[i]->sentence;
      r.origin = v.origin;
      r.what = v.what;
      r.hint = v.hint;
      r.first_load = v.first_load;
      r.history = "a stored case of " + shape_text(replayed.stored);
      r.file = replayed.file;
      r.smallest = replayed.stored;
      add_commands(library_arguments, fmt::format(" --property {}", r.property), r);
      all.push_back(std::move(r));
    }
  }
  return all;
}

}  // namespace assay
