#include "properties/nightly/night_comparison.hpp"

#include <algorithm>
#include <map>

namespace assay {
namespace {

std::map<std::string, night_finding> findings_of(const night& n) {
  std::map<std::string, night_finding> all;
  for (const night_stage& s : n.stages)
    for (const night_finding& f : s.findings) all.emplace(f.key(), f);
  return all;
}

const night_stage* stage_of(const night& n, const std::string& name) {
  const auto at = std::ranges::find(n.stages, name, &night_stage::name);
  return at == n.stages.end() ? nullptr : &*at;
}

/// Whether a stage that reported today would have found it again. For findings of the properties, which draw other
/// cases every night, that is the stage that replays old findings.
bool was_sought(const night_finding& f, const night& today) {
  const night_stage* stage = stage_of(today, f.stage == "properties" ? old_findings_stage : f.stage);
  return stage != nullptr && stage->reported;
}

}  // namespace

comparison compare(const night& before, const night& now) {
  comparison c;
  const auto then = findings_of(before), today = findings_of(now);
  for (const auto& [key, f] : today) (then.contains(key) ? c.stayed : c.appeared).push_back(f);
  for (const auto& [key, f] : then)
    if (!today.contains(key) && was_sought(f, now)) c.gone.push_back(f);
  for (const night_stage& s : now.stages)
    if (const night_stage* old = stage_of(before, s.name))
      for (const auto& [name, value] : s.numbers)
        if (const auto at = old->numbers.find(name); at != old->numbers.end())
          c.numbers.push_back({s.name, name, at->second, value});
  return c;
}

}  // namespace assay
