#include "properties/suite/sufficiency.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "oracle/standard_faults.hpp"
#include "properties/suite/scope.hpp"

namespace assay {
namespace {

const char* plural(std::int64_t count) {
  return count == 1 ? "" : "s";
}

/// One undecided case does not fail a short run, unless no other case ran.
bool has_too_many_undecided(const counts& n) {
  return n.undecided > 1 && static_cast<double>(n.undecided) > max_undecided_share * static_cast<double>(n.total());
}

std::string undecided_text(const counts& n, const std::string& of_what) {
  return fmt::format("{} of {} cases{} were undecided, more than {:.0f}%", n.undecided, n.total(), of_what,
                     100 * max_undecided_share);
}

/// The first group of cases of which too many are undecided.
std::string undecided_group(const suite_result& result) {
  std::map<std::string, counts> groups;
  for (const auto& [key, cell] : result.table) {
    groups[fmt::format(" of {} for {}", std::get<0>(key), std::get<1>(key))] += cell;
    groups[fmt::format(" of {} with types {}", std::get<0>(key), std::get<2>(key))] += cell;
  }
  for (const reachable_thing& t : reachable())
    for (const auto& [key, cell] : result.reached)
      if (key.second == t.name) groups[fmt::format(" of {} with {}", key.first, t.sentence)] += cell;
  for (const auto& [of_what, n] : groups)
    if (has_too_many_undecided(n)) return undecided_text(n, of_what);
  return {};
}

/// Kernels of which cases were drawn.
std::vector<std::string> kernels_of(const suite_options& options) {
  return drawable(options.kernels);
}

bool has_fp8(const std::string& types) {
  return types.find("e4m3") != std::string::npos || types.find("e5m2") != std::string::npos;
}
bool is_quantised(const std::string& types) {
  return has_fp8(types) || types.find("i8") != std::string::npos;
}

/// Whether cases of these types can reach it: floats have no scales.
bool fits_types(const std::vector<std::string>& types, std::string_view thing) {
  if (thing == "fp8" || thing == "page_descales") return std::ranges::any_of(types, has_fp8);
  return thing != "scales" || std::ranges::any_of(types, is_quantised);
}

/// Whether the run drew from the whole space: then it must have reached all of it. An edited case need not.
bool draws_whole_space(const suite_options& options) {
  const auto is_selected = [&](const property& p) {
    return std::ranges::find(options.selected, &p) != options.selected.end();
  };
  return options.shards == 1 && std::ranges::all_of(properties(), [&](const property& p) {
           return is_selected(p) || !can_be_checked(p, options);
         });
}

counts reached_with(const suite_result& result, const std::string& kernel, const std::string& thing) {
  const auto at = result.reached.find({kernel, thing});
  return at == result.reached.end() ? counts{} : at->second;
}

/// Whether the contract's tiles are so short that cases reach what takes several of them. A contract may take all keys
/// of a row for one tile.
bool has_tiles_within(const suite_result& result, const std::string& kernel, std::int64_t most_keys) {
  const auto is_reached = [&](const char* tiles) { return reached_with(result, kernel, tiles).total() > 0; };
  constexpr std::int64_t keys_of_short_tiles = 256, keys_of_usual_tiles = 4096;
  return (is_reached("short_tiles") && (most_keys == 0 || most_keys >= keys_of_short_tiles)) ||
         (is_reached("usual_tiles") && (most_keys == 0 || most_keys >= keys_of_usual_tiles));
}

/// The things that the kernel's space declares, that these types allow, and that the kernel takes.
std::vector<const reachable_thing*> expected_of(const suite_options& options, const suite_result& result,
                                                const std::string& kernel) {
  std::vector<const reachable_thing*> expected;
  const assay_support takes = support_in(options, kernel);
  const std::vector<std::string> types = types_of_run(options, kernel);
  const reach_set declared = reach_named(find_kernel_space(kernel)->reaches);
  constexpr std::string_view of_tiles[] = {"two_tiles", "three_tiles", "filled_splits", "long_pages"};
  for (std::size_t i = 0; i < reachable().size(); ++i) {
    const std::string_view name = reachable()[i].name;
    if ((declared >> i & 1U) == 0 || !fits_types(types, name) || !can_reach(kernel, takes, name)) continue;
    const bool takes_tiles = std::ranges::find(of_tiles, name) != std::end(of_tiles);
    if (!takes_tiles || has_tiles_within(result, kernel, takes.most_keys)) expected.push_back(&reachable()[i]);
  }
  return expected;
}

std::vector<std::string> properties_not_passed(const suite_options& options, const suite_result& result,
                                               const std::string& kernel) {
  std::map<std::string, std::int64_t> passed;
  for (const auto& [key, cell] : result.table)
    if (std::get<0>(key) == kernel) passed[std::get<1>(key)] += cell.pass;
  std::vector<std::string> missing;
  for (const property* p : options.selected)
    if (applies(*p, kernel) && passed[p->name] == 0 &&
        left_out(*p, kernel, support_in(options, kernel), options.traits).empty())
      missing.emplace_back(p->name);
  return missing;
}

std::vector<std::string> types_not_passed(const suite_options& options, const suite_result& result,
                                          const std::string& kernel) {
  std::set<std::string> passed;
  for (const auto& [key, cell] : result.table)
    if (std::get<0>(key) == kernel && cell.pass > 0) passed.insert(std::get<2>(key));
  std::vector<std::string> missing;
  for (const std::string& types : types_of_run(options, kernel))
    if (!passed.contains(types)) missing.push_back(types);
  return missing;
}

std::vector<std::string> things_not_reached(const suite_options& options, const suite_result& result,
                                            const std::string& kernel) {
  std::vector<std::string> missing;
  if (!draws_whole_space(options)) return missing;
  for (const reachable_thing* t : expected_of(options, result, kernel))
    if (reached_with(result, kernel, t->name).pass == 0) missing.emplace_back(t->sentence);
  return missing;
}

bite bite_of(const suite_result& result, const std::string& kernel, const char* fault) {
  bite sum;
  for (const auto& [key, counted] : result.teeth)
    if (std::get<0>(key) == kernel && std::get<2>(key) == fault) sum += counted;
  return sum;
}

bool is_missed(const bite& b) {
  return static_cast<double>(b.seen) < least_seen_share * static_cast<double>(b.asked);
}

}  // namespace

bool is_order_free(const suite_result& result, const std::string& kernel) {
  std::int64_t passed = 0;
  for (const auto& [key, cell] : result.table)
    if (std::get<0>(key) == kernel) passed += cell.pass;
  const std::int64_t free = reached_with(result, kernel, "order_free").pass;
  return free > 0 && free >= passed;
}

namespace {

/// "key_dropped (3 of 20 places seen)" where the kernel's cases, or those of some types, show too little of a fault.
void add_missed(const suite_result& result, const std::string& kernel, const char* fault,
                std::vector<std::string>& missed) {
  const bite all = bite_of(result, kernel, fault);
  if (all.asked >= least_asked && is_missed(all)) {
    missed.push_back(fmt::format("{} ({} of {} places seen)", fault, all.seen, all.asked));
    return;
  }
  if (is_order_free(result, kernel)) return;  // coarse types are blunt by themselves: the table has them
  for (const auto& [key, b] : result.teeth)
    if (std::get<0>(key) == kernel && std::get<2>(key) == fault && b.asked >= least_asked_of_types && is_missed(b))
      missed.push_back(
          fmt::format("{} with types {} ({} of {} places seen)", fault, std::get<1>(key), b.seen, b.asked));
}

/// A line for a list that is not empty.
void add_line(const std::string& kernel, const char* what, const std::vector<std::string>& list,
              std::vector<std::string>& lines) {
  if (!list.empty()) lines.push_back(fmt::format("{}: {} {}", kernel, what, fmt::join(list, ", ")));
}

/// Whether the run must have asked for the fault. What only the contract and the outputs decide, each case has or none.
bool is_due(const suite_options& options, const suite_result& result, const std::string& kernel,
            const oracle::standard_fault& fault) {
  const std::string_view needs = fault.needs;
  if (needs.empty()) return true;
  if (needs == "rounded_p" || needs == "lse") return reached_with(result, kernel, fault.needs).pass > 0;
  if (!draws_whole_space(options)) return false;
  return std::ranges::any_of(expected_of(options, result, kernel),
                             [&](const reachable_thing* t) { return t->name == needs; });
}

}  // namespace

std::vector<std::string> missing_reach(const suite_options& options, const suite_result& result) {
  std::vector<std::string> lines;
  if (options.shards > 1) return lines;
  for (const std::string& kernel : kernels_of(options)) {
    add_line(kernel, "no case passed", properties_not_passed(options, result, kernel), lines);
    add_line(kernel, "no case passed with types", types_not_passed(options, result, kernel), lines);
    add_line(kernel, "no case passed with", things_not_reached(options, result, kernel), lines);
  }
  return lines;
}

std::vector<std::string> missing_teeth(const suite_options& options, const suite_result& result) {
  std::vector<std::string> lines;
  if (options.shards > 1) return lines;
  for (const std::string& kernel : kernels_of(options)) {
    std::vector<std::string> missed;
    for (const oracle::standard_fault& fault : oracle::standard_faults(describe(kernel).kind))
      if (!fault.needs_order || !is_order_free(result, kernel)) add_missed(result, kernel, fault.name, missed);
    add_line(kernel, "would miss", missed, lines);
  }
  return lines;
}

std::vector<std::string> order_free_teeth(const suite_options& options, const suite_result& result) {
  std::vector<std::string> lines;
  for (const std::string& kernel : kernels_of(options)) {
    if (reached_with(result, kernel, "order_free").pass == 0) continue;
    std::vector<std::string> seen, missed;
    for (const oracle::standard_fault& fault : oracle::standard_faults(describe(kernel).kind)) {
      const bite all = bite_of(result, kernel, fault.name);
      if (all.asked >= least_asked) (is_missed(all) ? missed : seen).emplace_back(fault.name);
    }
    std::string line = fmt::format("{} without an order: would have seen {}", kernel, fmt::join(seen, ", "));
    if (!missed.empty()) line += fmt::format("; would miss {}", fmt::join(missed, ", "));
    lines.push_back(std::move(line));
  }
  return lines;
}

std::vector<std::string> rarely_asked(const suite_options& options, const suite_result& result) {
  std::vector<std::string> lines;
  if (options.shards > 1) return lines;
  for (const std::string& kernel : kernels_of(options)) {
    std::vector<std::string> rare;
    for (const oracle::standard_fault& fault : oracle::standard_faults(describe(kernel).kind)) {
      if (is_due(options, result, kernel, fault) && bite_of(result, kernel, fault.name).asked < least_asked)
        rare.emplace_back(fault.name);
    }
    add_line(kernel, fmt::format("at fewer than {} places:", least_asked).c_str(), rare, lines);
  }
  return lines;
}

std::string shortfall(const suite_result& result) {
  const counts& n = result.total;
  const auto all = static_cast<double>(n.total());
  if (n.total() == 0) return "no case ran";
  if (static_cast<double>(n.discard) > max_discard_share * all)
    return fmt::format("{} of {} cases were discarded, more than {:.0f}%", n.discard, n.total(),
                       100 * max_discard_share);
  if (has_too_many_undecided(n)) return undecided_text(n, "");
  if (n.pass == 0) return fmt::format("0 of {} cases passed", n.total());
  for (const auto& [kernel, times] : result.checked)
    if (times == 0)
      return fmt::format(
          "the library was compiled for checks, but none of the loads and stores of {} was checked: it ran outside of "
          "the cpu platform's launches",
          kernel);
  return undecided_group(result);
}

std::string shortfall(const suite_options& options, const suite_result& result) {
  if (std::string counted = shortfall(result); !counted.empty() || options.accept_blunt) return counted;
  if (!missing_reach(options, result).empty() || !rarely_asked(options, result).empty())
    return fmt::format("{} case{} passed: too little to verify", result.total.pass, plural(result.total.pass));
  if (!missing_teeth(options, result).empty()) return "too blunt: the run would miss standard faults";
  return {};
}

int exit_status(const suite_options& options, const suite_result& result) {
  return result.total.fail > 0 || !shortfall(options, result).empty() ? 1 : 0;
}

int exit_status(const suite_result& result) {
  return result.total.fail > 0 || !shortfall(result).empty() ? 1 : 0;
}

}  // namespace assay
