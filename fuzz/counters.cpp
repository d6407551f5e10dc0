#include "fuzz/counters.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "properties/run/conflict_flags.hpp"
#include "properties/run/features.hpp"

namespace assay::fuzz {
namespace {

/// Counters for edges of kernels. A library with more edges shares counters between edges; ours have a quarter of this.
/// libFuzzer scans them in some microseconds per run.
constexpr std::size_t most_edges = 1 << 15;

// The engine finds the section by its name. `used`: our code never reads it, so the optimiser would remove it.
[[gnu::section("__libfuzzer_extra_counters"), gnu::used, gnu::aligned(64)]]
volatile std::uint8_t counters[most_edges + num_features];

std::uint64_t runs_with[num_features];
std::uint64_t runs = 0;
std::uint64_t discarded_runs = 0;
std::uint64_t undecided_runs = 0;
bool counts_features = false;

/// What is counted of one library, and how its lines begin.
struct side {
  const library* of = nullptr;
  std::array<std::string, 5> names;  // made before a handler of signals needs them
  std::array<std::uint64_t, 5> counts{};
};
side sides[2];
std::size_t num_sides = 0;

side& side_of(const library& lib) {
  for (std::size_t i = 0; i < num_sides; ++i)
    if (sides[i].of == &lib) return sides[i];
  side& made = sides[num_sides];
  made.of = &lib;
  constexpr const char* counted[] = {":runs", ":decided", ":discarded", ":undecided", ":microseconds"};
  for (std::size_t i = 0; i < made.names.size(); ++i) made.names[i] = lib.platform() + counted[i];
  ++num_sides;
  return made;
}

std::vector<std::uint8_t> conflicts_seen;  // a byte for each pair
std::uint64_t num_conflicts_seen = 0;
char hits_path[4096];
char partial_path[sizeof hits_path + 8];
std::atomic<bool> is_printed{false};

void begin() {
  if (const char* path = std::getenv("ASSAY_FUZZ_COUNTERS")) {
    std::strncpy(hits_path, path, sizeof hits_path - 1);
    std::snprintf(partial_path, sizeof partial_path, "%s.part", hits_path);
  }
  std::atexit(write_hits);
}

/// "name hits\n" at `at`; returns its end.
char* put_line(char* at, char* end, const char* name, std::uint64_t hits) {
  const std::size_t size = std::strlen(name);
  if (static_cast<std::size_t>(end - at) < size + 24) return at;  // a space, 20 digits and a newline
  std::copy_n(name, size, at);
  at[size] = ' ';
  at = std::to_chars(at + size + 1, end, hits).ptr;
  *at++ = '\n';
  return at;
}

/// In one write, so that other processes' output on stderr cannot come between.
bool put_text(int file, const char* text, std::size_t size) {
  return write(file, text, size) == static_cast<ssize_t>(size);
}

}  // namespace

void clear_edges(const library& lib) {
  std::ranges::fill(lib.edge_flags(), std::uint8_t{0});
}

void count_edges(const library& lib) {
  const auto flags = lib.edge_flags();
  for (std::size_t i = 0; i < flags.size(); ++i)
    if (flags[i] != 0) counters[i % most_edges] = 1;
  static const std::span<const std::uint8_t> conflicts = conflict_flags(lib);
  conflicts_seen.resize(conflicts.size());
  for (std::size_t i = 0; i < conflicts.size(); ++i) {
    if (conflicts[i] == 0 || conflicts_seen[i] != 0) continue;
    conflicts_seen[i] = 1;
    ++num_conflicts_seen;
  }
}

void count_run(outcome result) {
  static const bool begun = (begin(), true);
  static_cast<void>(begun);
  ++runs;
  discarded_runs += result == outcome::discard ? 1 : 0;
  undecided_runs += result == outcome::undecided ? 1 : 0;
  // A killed process loses the counts of at most half of its runs, and of at most 1024.
  if (hits_path[0] != '\0' && (std::has_single_bit(runs) || runs % 1024 == 0)) write_hits();
}

void count_side(const library& lib, outcome result, std::chrono::duration<double> took) {
  side& s = side_of(lib);
  const bool is_discarded = result == outcome::discard, is_undecided = result == outcome::undecided;
  s.counts[0] += 1;
  s.counts[1] += is_discarded || is_undecided ? 0 : 1;
  s.counts[2] += is_discarded ? 1 : 0;
  s.counts[3] += is_undecided ? 1 : 0;
  s.counts[4] += static_cast<std::uint64_t>(std::max(0.0, 1e6 * took.count()));
}

void count_features_of(const attention_case& c, const detailed_run& run) {
  const feature_counts counts = count_features(c, run);
  counts_features = true;
  for (std::size_t i = 0; i < num_features; ++i) {
    counters[most_edges + i] = static_cast<std::uint8_t>(std::min<std::int64_t>(counts[i], 255));
    runs_with[i] += counts[i] > 0 ? 1 : 0;
  }
}

void write_hits() {
  if (runs == 0 || (hits_path[0] == '\0' && is_printed.exchange(true))) return;
  char text[4096];
  char* at = put_line(text, std::end(text), "runs", runs);
  at = put_line(at, std::end(text), "decided", runs - discarded_runs - undecided_runs);
  at = put_line(at, std::end(text), "discarded", discarded_runs);
  at = put_line(at, std::end(text), "undecided", undecided_runs);
  if (!conflicts_seen.empty()) at = put_line(at, std::end(text), "most_barrier_conflicts", num_conflicts_seen);
  for (std::size_t i = 0; i < num_sides; ++i)
    for (std::size_t j = 0; j < sides[i].names.size(); ++j)
      at = put_line(at, std::end(text), sides[i].names[j].c_str(), sides[i].counts[j]);
  for (std::size_t i = 0; counts_features && i < num_features; ++i)
    at = put_line(at, std::end(text), features()[i].name, runs_with[i]);
  const auto size = static_cast<std::size_t>(at - text);
  if (hits_path[0] == '\0') {
    put_text(STDERR_FILENO, text, size);
    return;
  }
  const int file = open(partial_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (file < 0) return;
  const bool whole = put_text(file, text, size);
  if (close(file) == 0 && whole) std::rename(partial_path, hits_path);
}

}  // namespace assay::fuzz
