/// The eight page-permutation probes of Composable Kernel PR 6054, on the kernels and on faulty copies of them: a table
/// of what upstream measured, what we measure, and what the enclosure says. CTest runs the hidden case.
#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <fmt/format.h>
#include <catch2/catch_test_macros.hpp>

#include "properties/relations/property.hpp"
#include "properties/run/accuracy.hpp"
#include "properties/run/execute.hpp"
#include "properties/run/verdict_json.hpp"
#include "properties/suite/minimize.hpp"

namespace fs = std::filesystem;
using namespace assay;

namespace {

/// A probe of the report, with its max_diff before and after the fix, and whether the hazard touches it.
struct probe {
  const char* pages;
  const char* file;
  double upstream;
  double upstream_fixed;
  bool affected;
};

constexpr probe probes[] = {
    {"[4096]", "4096", 0.0061, 0.0061, false},
    {"[4097]", "4097", 0.0063, 0.0063, false},
    {"[4096, 4096]", "4096_4096", 0.0054, 0.0054, false},
    {"[4096, 4097]", "4096_4097", 0.0801, 0.0084, true},
    {"[4098, 4099]", "4098_4099", 0.1108, 0.0088, true},
    {"[4097, 4098]", "4097_4098", 0.0312, 0.0151, true},
    {"[4096, 4098]", "4096_4098", 0.0157, 0.0054, true},
    {"[4095, 4096]", "4095_4096", 0.0247, 0.0072, true},
};

attention_case load_probe(const probe& p) {
  const fs::path path =
      fs::path(ASSAY_SOURCE_DIR) / "corpus" / "batch_prefill" / ("ck_6054_probe_" + std::string(p.file) + ".json");
  std::ifstream file(path);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  return from_json(text, path.string());
}

struct outcome_of_probe {
  verdict judged;
  accuracy distance;
};

outcome_of_probe run_probe(const library& lib, const probe& p) {
  const detailed_run run = run_in_detail(lib, load_probe(p));
  outcome_of_probe o{run.result, {}};
  if (!run.bounds.tensors.empty()) o.distance = measure_accuracy(run.given, run.ran, run.result);
  return o;
}

using outcomes = std::array<outcome_of_probe, std::size(probes)>;

outcomes run_probes(const library& lib) {
  outcomes all;
  std::ranges::transform(probes, all.begin(), [&](const probe& p) { return run_probe(lib, p); });
  return all;
}

/// A line per probe. max_diff is against the exact result rounded to o's type, as upstream measures it.
void print_table(const std::string& title, const outcomes& all, const outcomes& clean) {
  fmt::print("{}\n{:<14} {:>9} {:>9} | {:>8} {:>9} {:>9} | {:>11} {:>9} | {:>9} {:>8}\n", title, "pages", "upstream",
             "fixed", "verdict", "max_diff", "unpatched", "|o - exact|", "unpatched", "factor", "outside");
  for (std::size_t i = 0; i < std::size(probes); ++i) {
    const probe& p = probes[i];
    const accuracy& sound = clean[i].distance;
    const accuracy& a = all[i].distance;
    fmt::print("{:<14} {:>9.4f} {:>9.4f} | {:>8} {:>9.5f} {:>9.5f} | {:>11.5f} {:>9.5f} | {:>9.4g} {:>7.1f}%\n",
               p.pages, p.upstream, p.upstream_fixed, name_of(all[i].judged.result), a.largest_rounded,
               sound.largest_rounded, a.largest, sound.largest, a.worst_factor, 100 * a.outside_share);
  }
  std::fflush(stdout);
}

std::shared_ptr<library> faulty(const std::string& name) {
  return library::load((fs::path(ASSAY_BINARY_DIR) / "lib" / ("fault_" + name + ".so")).string());
}

/// The affected probes fail by far, and only they.
void check_affected(const std::string& title, const outcomes& all, const outcomes& clean) {
  print_table(title, all, clean);
  for (std::size_t i = 0; i < std::size(probes); ++i) {
    INFO(probes[i].pages << ": " << all[i].judged.what);
    if (probes[i].affected) {
      CHECK(all[i].judged.result == outcome::fail);
      CHECK(all[i].judged.origin == "enclosure");
      CHECK(all[i].distance.worst_factor > 100);
    } else {
      CHECK(all[i].judged.result == outcome::pass);
    }
  }
}

/// Faults that touch memory that is not there may end the process: each probe in one of its own. Prints a line per
/// probe.
void check_memory_faults(const std::string& title, const library& lib, const std::string& origin) {
  const property& enclosed = enclosure_property();
  fmt::print("{}\n{:<14} {:>9} {:>9} | {:>8}\n", title, "pages", "upstream", "fixed", "verdict");
  for (const probe& p : probes) {
    const verdict v = isolated_judge(lib, enclosed, 60)(load_probe(p));
    fmt::print("{:<14} {:>9.4f} {:>9.4f} | {:>8} {}: {}\n", p.pages, p.upstream, p.upstream_fixed, name_of(v.result),
               v.origin, v.what);
    std::fflush(stdout);
    INFO(p.pages << ": " << v.what);
    CHECK(v.result == outcome::fail);
    CHECK(v.origin == origin);
  }
}

}  // namespace

TEST_CASE("an early-saved descale fails exactly the five probes that the report names, the kernel none", "[.probes]") {
  const outcomes clean = run_probes(*library::built_in());
  print_table("the kernels as they are", clean, clean);
  for (const outcome_of_probe& o : clean) {
    INFO(o.judged.what);
    CHECK(o.judged.result == outcome::pass);
  }
  check_affected("both descales saved before their reader", run_probes(*faulty("prefill_early_saved_descale")), clean);
  check_affected("V's descale alone", run_probes(*faulty("prefill_early_saved_v_descale")), clean);
}

TEST_CASE("without the clamp, or with 32-bit page offsets, all eight probes touch what is not theirs", "[.probes]") {
  const auto unclamped = faulty("prefill_unclamped_page_index");
  // What stands behind a sequence's pages may be anything: pages that the pool has not.
  check_memory_faults("page look-ups without their clamp", *unclamped, "wild access");
  // These pages are in the pool, but no sequence has them.
  check_memory_faults("page offsets of 32 bits", *faulty("prefill_page_offset_32_bits"), "memory");
  unclamped->checks.accesses = false;
  check_memory_faults("page look-ups without their clamp, loads and stores unchecked", *unclamped, "memory");
}
