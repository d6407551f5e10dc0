#include "fuzz/schedules.hpp"

#include <map>

#include "fuzz/counters.hpp"
#include "properties/data/difference.hpp"
#include "properties/data/edit.hpp"

namespace assay::fuzz {
namespace {

constexpr const char* texts[] = {
    R"({"version": 1, "why": "two tiles, causal, one head", "num_splits": 1, "causal": true, "pool_pages": 5,
        "sequences": [{"q": 3, "k": 70, "pages": [4, 0, 3, 1, 2]}]})",
    R"({"version": 1, "why": "three splits, the last empty for one sequence, grouped heads", "num_splits": 3,
        "heads_q": 4, "heads_kv": 2, "page_size": 64, "pool_pages": 4,
        "sequences": [{"q": 1, "k": 130, "pages": [0, 1, 2]}, {"q": 2, "k": 64, "pages": [3]}],
        "data": {"fill": "ascending_maxima"}})",
    R"({"version": 1, "why": "three tiles, each with another descale", "kernel": "batch_prefill", "q_type": "e4m3fn",
        "kv_type": "e4m3fn", "page_size": 64, "pool_pages": 3, "kv_descale": "per_page", "scale": 0.125,
        "q_scale": 0.03125, "k_scale": 0.03125, "v_scale": 0.03125, "num_splits": 1,
        "sequences": [{"q": 5, "k": 190, "pages": [1, 0, 2]}], "data": {"descale_ratio": 10}})",
    R"({"version": 1, "why": "causal rows in two blocks, pages within tiles", "kernel": "batch_prefill",
        "q_type": "e4m3fn", "kv_type": "e4m3fn", "pool_pages": 5, "causal": true, "scale": 0.125, "q_scale": 0.03125,
        "k_scale": 0.03125, "v_scale": 0.03125, "num_splits": 1,
        "sequences": [{"q": 66, "k": 80, "pages": [4, 3, 2, 1, 0]}]})",
    R"({"version": 1, "why": "two chunks of two stages, two splits", "kernel": "mqa_logits", "q_type": "e4m3fn",
        "kv_type": "e4m3fn", "o_type": "f32", "heads_q": 4, "head_dim_qk": 64, "page_size": 64, "pool_pages": 6,
        "batching": "batch", "max_model_len": 330, "fills_hidden": true, "num_splits": 2,
        "sequences": [{"q": 2, "k": 300, "pages": [4, 3, 2, 1, 0]}, {"q": 2, "k": 5, "pages": [5]}]})",
    R"({"version": 1, "why": "preshuffled keys, three rows", "kernel": "mqa_logits", "q_type": "e4m3fn",
        "kv_type": "e4m3fn", "o_type": "f32", "heads_q": 32, "head_dim_qk": 64, "pool_pages": 9, "batching": "batch",
        "k_order": "preshuffled", "max_model_len": 144, "num_splits": 1,
        "sequences": [{"q": 3, "k": 129, "pages": [8, 6, 4, 2, 0, 1, 3, 5, 7]}]})",
    R"({"version": 1, "why": "new rows of two sequences in pages with descales, rotated", "kernel": "append_kv",
        "kv_type": "e4m3fn", "heads_q": 2, "heads_kv": 2, "page_size": 16, "pool_pages": 5, "kv_descale": "per_page",
        "rotary": "half", "num_splits": 1,
        "sequences": [{"q": 20, "k": 40, "pages": [4, 0, 3]}, {"q": 3, "k": 2, "pages": [1]}],
        "data": {"descale_ratio": 300}})",
};

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
    for (const char* text : texts) read.push_back(from_json(text, "fuzz/schedules.cpp"));
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
