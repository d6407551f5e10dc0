/// What the executor's tests share: launch parameters, all schedules, and a collector of defects.
#pragma once

#include <string>
#include <vector>

#include "kernels/library.h"
#include "kernels/platform/cpu/executor/executor.hpp"
#include "kernels/platform/cpu/hip/runtime_api.h"

namespace assay::cpu {

struct seen_defect {
  int kind;
  std::string kernel;
  std::string message;
  std::vector<int> block;
  int wave;
  int lane;
  bool operator==(const seen_defect&) const = default;
};

inline void collect(void* context, const assay_defect* d) {
  static_cast<std::vector<seen_defect>*>(context)->push_back(
      {d->kind, d->kernel, d->message, {d->block[0], d->block[1], d->block[2]}, d->wave, d->lane});
}

inline assay_launch parameters(int wave_size, int schedule = ASSAY_ROUND_ROBIN, std::uint64_t seed = 1,
                               int workers = 1) {
  assay_launch l{};
  l.wave_size = wave_size;
  l.schedule = schedule;
  l.seed = seed;
  l.depth = 3;
  l.workers = workers;
  return l;
}

/// Every schedule under both wave sizes; the seeded ones with a few seeds.
inline std::vector<assay_launch> all_launches() {
  std::vector<assay_launch> all;
  for (const int wave_size : {32, 64}) {
    all.push_back(parameters(wave_size, ASSAY_ROUND_ROBIN));
    all.push_back(parameters(wave_size, ASSAY_REVERSE));
    for (const std::uint64_t seed : {1U, 2U, 3U}) {
      all.push_back(parameters(wave_size, ASSAY_RANDOM, seed));
      all.push_back(parameters(wave_size, ASSAY_PCT, seed));
    }
  }
  return all;
}

inline std::string name(const assay_launch& l) {
  return "wave " + std::to_string(l.wave_size) + ", schedule " + std::to_string(l.schedule) + ", seed " +
         std::to_string(l.seed) + ", workers " + std::to_string(l.workers);
}

/// The defects of what `run` launches under these parameters; clears the HIP error.
template <class F>
std::vector<seen_defect> defects_of(assay_launch l, F run) {
  std::vector<seen_defect> seen;
  l.context = &seen;
  l.on_defect = &collect;
  const launch_scope scope(l);
  run();
  static_cast<void>(hipGetLastError());
  return seen;
}

}  // namespace assay::cpu
