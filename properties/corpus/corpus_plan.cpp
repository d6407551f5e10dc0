#include "properties/corpus/corpus_plan.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "properties/generate/space.hpp"
#include "properties/system/write_file.hpp"

namespace assay::corpus {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view own_reason = "covers ";

attention_case read_case(const fs::path& file, const campaign::target& t) {
  const std::string text = read_file(file);
  if (file.extension() == ".json") return from_json(text, file.string());
  const auto c = campaign::case_of(t, {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
  if (!c)
    throw case_error(fmt::format("{}: must be a .json file, or give the target whose input it is", file.string()));
  return *c;
}

/// "pass", "fail", "discard" or "undecided"; "fail" for a case that ends its process.
std::string verdict_in(const std::vector<std::uint32_t>& features, const feature_names& names) {
  constexpr std::string_view key = ": verdict ";
  for (const std::uint32_t f : features) {
    const std::string& name = names.name_of(f);
    const std::size_t at = name.find(key);
    if (at == std::string::npos) continue;
    const std::size_t begin = at + key.size();
    return name.substr(begin, name.find(' ', begin) - begin);
  }
  return "fail";
}

}  // namespace

std::vector<stored_case> read_cases(const std::vector<std::string>& places, const campaign::target& t) {
  std::vector<stored_case> cases;
  for (const std::string& place : places) {
    const std::vector<fs::path> files = files_below(place, t.kernel.empty() ? ".json" : "");
    if (files.empty()) throw case_error(fmt::format("{}: holds no case", place));
    cases.reserve(cases.size() + files.size());
    for (const fs::path& file : files) cases.push_back({file, read_case(file, t), false, {}});
  }
  return cases;
}

bool has_own_reason(const attention_case& c) {
  return !c.why.empty() && !c.why.starts_with(own_reason);
}

corpus_plan plan_corpus(const library& lib, std::vector<stored_case> cases, int jobs, double limit_seconds) {
  corpus_plan plan;
  std::vector<attention_case> alone;
  alone.reserve(cases.size());
  for (const stored_case& s : cases) alone.push_back(s.c);
  const auto features = features_of(lib, alone, jobs, limit_seconds, plan.names);
  std::vector<member> members;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    cases[i].verdict = verdict_in(features[i], plan.names);
    if (cases[i].verdict == "fail") plan.failing.push_back(cases[i]);
    if (cases[i].verdict != "pass" && !cases[i].is_pinned) {
      if (cases[i].verdict != "fail") plan.open.push_back(cases[i]);
      continue;
    }
    members.push_back({features[i], multiply_adds(cases[i].c), cases[i].is_pinned});
    plan.cases.push_back(std::move(cases[i]));
  }
  plan.placed = cover(members);
  return plan;
}

std::string reason_of(const feature_names& names, const std::vector<std::uint32_t>& adds) {
  constexpr std::size_t most = 3;
  std::vector<std::string> some;
  // Edges, which have only numbers, come last.
  for (const bool edges : {false, true})
    for (const std::uint32_t f : adds)
      if (some.size() < most && (names.name_of(f).find(": edge ") != std::string::npos) == edges)
        some.push_back(names.name_of(f));
  return fmt::format("{}{} feature{} that no other case has: {}{}", own_reason, adds.size(),
                     adds.size() == 1 ? "" : "s", fmt::join(some, "; "), adds.size() > some.size() ? "; ..." : "");
}

fs::path place_in(const fs::path& corpus, const stored_case& added, const std::set<fs::path>& taken) {
  attention_case c = added.c;
  c.why.clear();
  std::string text = to_json(c);
  const bool is_named = added.file.extension() == ".json";
  const std::string stem = is_named ? added.file.stem().string() : fmt::format("covers_{:08x}", fingerprint(text));
  fs::path place = corpus / c.kernel / (stem + ".json");
  for (; fs::exists(place) || taken.contains(place); text += ' ')  // fingerprints may coincide
    place = corpus / c.kernel / fmt::format("{}-{:08x}.json", stem, fingerprint(text));
  return place;
}

}  // namespace assay::corpus
