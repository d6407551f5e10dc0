#include "fuzz/schedules.hpp"

#include <map>

#include "fuzz/counters.hpp"
#include "properties/data/difference.hpp"
#include "properties/data/edit.hpp"

namespace assay::fuzz {
namespace {

std::int64_t choose(choice_source& choices, std::int64_t lo, std::int64_t hi) {
  const alternative all{1, lo, hi};
  return choices.choose({&all, 1}, lo);
}

/// A case's inputs, and their run with the default schedule.
struct baseline {
  inputs data;
  execution ran;
};

}  // namespace

const std::vector<attention_case>& schedule_cases() {
  static const std::vector<attention_case> cases = [] {
    std::vector<attention_case> read;
    for (const case_text& c : case_texts()) read.push_back(from_json(c.text, c.file));
    return read;
  }();
  return cases;
}

attention_case choose_schedule(choice_source& choices) {
  const auto last = static_cast<std::int64_t>(schedule_cases().size()) - 1;
  attention_case c = schedule_cases()[static_cast<std::size_t>(choose(choices, 0, last))];
  c.schedule.wave_size = choose(choices, 0, 1) == 0 ? 64 : 32;
  c.schedule.kind = static_cast<schedule_kind>(choose(choices, 1, 3));
  c.schedule.depth = static_cast<std::int32_t>(choose(choices, 1, 8));
  c.schedule.seed = static_cast<std::uint64_t>(choose(choices, 0, 0xFFFF'FFFF));
  return c;
}

verdict check_schedule(const library& lib, const attention_case& c) {
  static std::map<std::string, baseline> known;
  attention_case plain = c;
  plain.schedule = {.wave_size = c.schedule.wave_size};
  auto at = known.find(to_json(plain));
  if (at == known.end()) {
    inputs given = fill(plain);
    execution ran = execute(lib, plain, given);
    at = known.emplace(to_json(plain), baseline{std::move(given), std::move(ran)}).first;
  }
  baseline& expected = at->second;
  if (auto decided = verdict_of(expected.ran)) return *decided;
  clear_edges(lib);
  const execution ran = execute(lib, c, expected.data);
  count_edges(lib);
  if (auto decided = verdict_of(ran)) return *decided;
  if (const auto difference = first_difference(expected.ran.written, ran.written))
    return failed("wave_schedule", "after another order of waves " + *difference);
  return passed();
}

}  // namespace assay::fuzz
