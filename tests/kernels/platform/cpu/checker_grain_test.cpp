/// Block-local memory has records for each two bytes until a launch makes an access of an odd size or offset, and for
/// each byte from then on. Verdicts and places are those of bytes all along. Each program runs in dynamic LDS and in a
/// static __shared__ array, after a launch of even accesses (so it splits the records itself) and after one of odd ones
/// (so it starts with records of bytes).
#include <hip/hip_runtime.h>

#include <array>
#include <catch2/catch_test_macros.hpp>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "tests/kernels/platform/cpu/checking.hpp"

using namespace assay::cpu;

namespace {

constexpr int threads = 128, blocks = 2, area_bytes = 33;
constexpr int no_defect = -1;

enum operation : int { barrier, load, store, add, fill };
enum area : int { dynamic, fixed };
/// What one thread does; thread 1 stands for any but thread 0.
struct step {
  operation what = barrier;
  int thread = 0;
  int size = 0;
  int offset = 0;
  area where = dynamic;
};
using program = std::vector<step>;

template <class T>
__device__ int make(operation what, unsigned char* place) {
  auto* const at = reinterpret_cast<volatile T*>(place);  // volatile: of the whole width
  if (what == load) return static_cast<int>(*at);
  *at = T{};
  return 0;
}

__global__ void run_steps(const step* steps, int count, int* out) {
  HIP_DYNAMIC_SHARED(unsigned char, lds);
  alignas(16) __shared__ unsigned char held[area_bytes];
  int sum = 0;
  for (int i = 0; i < count; ++i) {
    const step s = steps[i];
    if (s.what == barrier) __syncthreads();
    if (s.what == barrier || static_cast<int>(threadIdx.x) != s.thread) continue;
    unsigned char* const place = (s.where == fixed ? &held[0] : lds) + s.offset;
    if (s.what == add) {
      atomicAdd(reinterpret_cast<int*>(place), 1);
    } else if (s.what == fill) {
      std::memset(place, 0, static_cast<std::size_t>(s.size));
    } else {
      switch (s.size) {
        case 1: sum += make<std::uint8_t>(s.what, place); break;
        case 2: sum += make<std::uint16_t>(s.what, place); break;
        case 4: sum += make<std::uint32_t>(s.what, place); break;
        default: sum += make<std::uint64_t>(s.what, place); break;
      }
    }
  }
  out[static_cast<int>(blockIdx.x) * threads + static_cast<int>(threadIdx.x)] = sum;
}

program joined(program first, const program& then) {
  first.insert(first.end(), then.begin(), then.end());
  return first;
}

/// Thread 0 writes the first bytes, an even number, by half-words. A barrier follows.
program written(int bytes = area_bytes - 1) {
  program p;
  for (int offset = 0; offset < bytes; offset += 2) p.push_back({store, 0, 2, offset});
  p.push_back({});
  return p;
}

program in_area(program p, area where, int other) {
  for (step& s : p) {
    s.where = where;
    if (s.thread == 1) s.thread = other;
  }
  return p;
}

program even_launch() {
  return joined(written(), {{load, 1, 2, 4}});
}
program odd_launch() {
  return joined(written(), {{store, 0, 1, area_bytes - 1}, {}, {load, 1, 1, 5}});
}

/// The defects of the programs, launched one after the other.
std::vector<seen_defect> defects_of_programs(const assay_launch& l, const std::vector<program>& programs) {
  program all;
  for (const program& p : programs) all.insert(all.end(), p.begin(), p.end());
  std::vector<int> results(std::size_t{blocks} * threads);
  toy_tensor out("out", results.data(), {blocks * threads}, {1}, ASSAY_OUTPUT);
  toy_tensor code("code", reinterpret_cast<int*>(all.data()),
                  {static_cast<std::int64_t>(all.size() * sizeof(step) / sizeof(int))}, {1}, ASSAY_INPUT);
  const std::array tensors{out.get(), code.get()};
  return checked_defects(l, tensors, [&] {
    const step* at = all.data();
    for (const program& p : programs) {
      const int count = static_cast<int>(p.size());
      hipLaunchKernelGGL(run_steps, blocks, threads, area_bytes, nullptr, at, count, results.data());
      at += count;
    }
  });
}

/// Every defect is of this kind, at this byte of the area, and there is one; none for `no_defect`.
void require_defects(const std::vector<seen_defect>& seen, int kind, int byte, area where, int other) {
  INFO((seen.empty() ? "nothing" : seen[0].message));
  REQUIRE(seen.empty() == (kind == no_defect));
  const std::string place = (where == fixed ? "static __shared__ held byte " : "LDS byte ") + std::to_string(byte);
  for (const seen_defect& d : seen) {
    INFO(d.message);
    REQUIRE(d.kind == kind);
    REQUIRE(mentions(d, "checker_grain_test.cpp:"));
    if (kind == ASSAY_DATA_RACE) {
      REQUIRE(mentions(d, "race on " + place + ":"));
      REQUIRE(mentions(d, "by thread 0 "));
      REQUIRE(mentions(d, "by thread " + std::to_string(other) + " "));
    } else {
      REQUIRE(mentions(d, " of " + place + ", which no thread has written"));
    }
  }
}

/// On all schedules, in both areas, with both sizes of records at the start, by threads of one wave and of two.
void require_verdict(const program& p, int kind, int byte = -1) {
  for (const assay_launch& l : all_checked_launches())
    for (const area where : {dynamic, fixed})
      for (const int other : {1, 64})
        for (const bool starts_odd : {false, true}) {
          INFO(name(l) << ", area " << where << ", other thread " << other << ", starts odd " << starts_odd);
          const program before = starts_odd ? odd_launch() : even_launch();
          const std::vector<seen_defect> seen =
              defects_of_programs(l, {in_area(before, where, other), in_area(p, where, other)});
          require_defects(seen, kind, byte, where, other);
        }
}

/// The first step, another access elsewhere that is odd, the second step; with or without a barrier before the last.
program around_odd_access(const step& first, const step& second, bool is_ordered) {
  program p = joined(written(), {first, {store, 1, 1, 21}});
  if (is_ordered) p.push_back({});
  p.push_back(second);
  return p;
}

}  // namespace

TEST_CASE("A byte of a half-word that another thread stored races at that byte", "[checker][grain]") {
  for (const int byte : {4, 5})
    for (const operation what : {load, store}) {
      require_verdict(joined(written(), {{store, 0, 2, 4}, {what, 1, 1, byte}}), ASSAY_DATA_RACE, byte);
      require_verdict(joined(written(), {{store, 0, 2, 4}, {}, {what, 1, 1, byte}}), no_defect);
    }
  require_verdict(joined(written(), {{load, 0, 2, 4}, {store, 1, 1, 5}}), ASSAY_DATA_RACE, 5);
  require_verdict(joined(written(), {{load, 0, 2, 4}, {load, 1, 1, 5}}), no_defect);
}

TEST_CASE("Two threads may store the two bytes of one half-word", "[checker][grain]") {
  require_verdict({{store, 0, 1, 4}, {store, 1, 1, 5}}, no_defect);
  require_verdict(joined(written(), {{store, 0, 1, 4}, {store, 1, 1, 5}}), no_defect);
  require_verdict(joined(written(), {{load, 0, 1, 5}, {store, 1, 1, 4}, {}, {load, 1, 2, 4}}), no_defect);
  require_verdict(joined(written(), {{store, 0, 1, 4}, {store, 1, 1, 5}, {store, 1, 1, 4}}), ASSAY_DATA_RACE, 4);
}

TEST_CASE("What even accesses did is known after an odd one elsewhere", "[checker][grain][long]") {
  for (const int offset : {0, 30}) {  // the first half-word, and the last whole one
    const step store_half{store, 0, 2, offset}, load_half{load, 0, 2, offset};
    require_verdict(around_odd_access(store_half, {load, 1, 2, offset}, false), ASSAY_DATA_RACE, offset);
    require_verdict(around_odd_access(store_half, {load, 1, 2, offset}, true), no_defect);
    require_verdict(around_odd_access(store_half, {load, 1, 1, offset + 1}, false), ASSAY_DATA_RACE, offset + 1);
    require_verdict(around_odd_access(load_half, {store, 1, 2, offset}, false), ASSAY_DATA_RACE, offset);
    require_verdict(around_odd_access(load_half, {store, 1, 2, offset}, true), no_defect);
    require_verdict(around_odd_access(load_half, {store, 1, 1, offset + 1}, false), ASSAY_DATA_RACE, offset + 1);
    require_verdict(around_odd_access(load_half, {load, 1, 1, offset + 1}, false), no_defect);
  }
  // The record is still of an atomic, which races with plain accesses only.
  require_verdict(around_odd_access({add, 0, 4, 4}, {add, 1, 4, 4}, false), no_defect);
  require_verdict(around_odd_access({add, 0, 4, 4}, {load, 1, 1, 7}, false), ASSAY_DATA_RACE, 7);
}

TEST_CASE("A byte that nothing wrote is unwritten, before and after records are split", "[checker][grain]") {
  const program some = joined(written(6), {{store, 0, 2, 8}, {}});  // not bytes 6 and 7
  for (const int byte : {6, 7}) {
    require_verdict(joined(some, {{load, 1, 1, byte}}), ASSAY_UNWRITTEN_READ, byte);
    require_verdict(joined(some, {{store, 1, 1, 21}, {load, 1, 1, byte}}), ASSAY_UNWRITTEN_READ, byte);
    const int written_one = 13 - byte;
    require_verdict(joined(some, {{store, 1, 1, written_one}, {load, 1, 1, written_one}}), no_defect);
    require_verdict(joined(some, {{store, 1, 1, written_one}, {}, {load, 0, 4, 4}}), ASSAY_UNWRITTEN_READ, byte);
  }
  require_verdict(joined(some, {{store, 1, 1, 21}, {load, 1, 1, 5}, {load, 1, 2, 8}}), no_defect);
}

TEST_CASE("Reports name the first byte at fault, whatever size records have", "[checker][grain]") {
  const program some = joined(written(6), {{store, 0, 2, 8}, {}});
  for (const bool splits : {false, true}) {
    program odd;
    if (splits) odd = {{store, 1, 1, 21}};
    require_verdict(joined(joined(some, odd), {{load, 1, 4, 4}}), ASSAY_UNWRITTEN_READ, 6);
    require_verdict(joined(joined(some, odd), {{load, 1, 8, 0}}), ASSAY_UNWRITTEN_READ, 6);
    require_verdict(joined(joined(written(), odd), {{store, 0, 2, 10}, {load, 1, 8, 8}}), ASSAY_DATA_RACE, 10);
    require_verdict(joined(joined(written(), odd), {{store, 0, 4, 12}, {store, 1, 8, 8}}), ASSAY_DATA_RACE, 12);
  }
  require_verdict(joined(written(), {{store, 0, 1, 11}, {load, 1, 8, 8}}), ASSAY_DATA_RACE, 11);
  // The access has its own size, not that of its records.
  for (const program& p :
       {joined(written(6), {{load, 0, 4, 4}}), joined(written(6), {{store, 0, 1, 21}, {load, 0, 4, 4}})})
    for (const assay_launch& l : all_checked_launches()) {
      const std::vector<seen_defect> seen = defects_of_programs(l, {p});
      REQUIRE_FALSE(seen.empty());
      CHECK(mentions(seen[0], "load of 4 bytes"));
    }
}

TEST_CASE("Launches of odd and of even accesses may follow each other", "[checker][grain]") {
  struct launched {
    program steps;
    int kind, byte;
  };
  const std::vector<launched> launches{
      {joined(written(), {{store, 0, 1, 7}, {load, 1, 1, 7}}), ASSAY_DATA_RACE, 7},
      {joined(written(), {{store, 0, 2, 6}, {load, 1, 2, 6}}), ASSAY_DATA_RACE, 6},  // starts with bytes
      {joined(written(), {{store, 0, 2, 6}, {load, 1, 2, 8}}), no_defect, 0},        // with half-words
      {joined(written(4), {{load, 1, 2, 4}}), ASSAY_UNWRITTEN_READ, 4},
      {joined(written(4), {{store, 0, 1, 4}, {}, {load, 1, 2, 4}}), ASSAY_UNWRITTEN_READ, 5},
      {odd_launch(), no_defect, 0},
      {joined(written(4), {{load, 1, 1, 5}}), ASSAY_UNWRITTEN_READ, 5},
      {even_launch(), no_defect, 0},
  };
  for (const assay_launch& l : all_checked_launches())
    for (const area where : {dynamic, fixed})
      for (int turn = 0; turn < 2; ++turn)
        for (const launched& one : launches) {
          INFO(name(l) << ", area " << where << ", launch " << &one - launches.data());
          require_defects(defects_of_programs(l, {in_area(one.steps, where, 64)}), one.kind, one.byte, where, 64);
        }
}

TEST_CASE("Dynamic LDS and static __shared__ variables have records of their own size", "[checker][grain]") {
  for (const assay_launch& l : all_checked_launches())
    for (const area odd : {dynamic, fixed}) {
      const area even = odd == dynamic ? fixed : dynamic;
      INFO(name(l) << ", area of odd accesses " << odd);
      const program both = joined(in_area(written(), even, 1), in_area(written(), odd, 1));
      const auto seen = [&](const program& in_even, const program& in_odd) {
        const program p = joined(joined(both, in_area(in_even, even, 1)), in_area(in_odd, odd, 1));
        return defects_of_programs(l, {p, p});
      };
      const program apart{{store, 0, 1, 4}, {store, 1, 1, 5}}, together{{store, 0, 1, 5}, {load, 1, 1, 5}};
      const program halves{{store, 0, 2, 6}, {load, 1, 2, 8}}, half{{store, 0, 2, 6}, {load, 1, 2, 6}};
      require_defects(seen(halves, apart), no_defect, 0, even, 1);
      require_defects(seen(half, apart), ASSAY_DATA_RACE, 6, even, 1);
      require_defects(seen(halves, together), ASSAY_DATA_RACE, 5, odd, 1);
    }
}

TEST_CASE("The last byte of an odd number is part of the LDS, and the next is not", "[checker][grain]") {
  constexpr int last = area_bytes - 1;
  require_verdict(joined(written(), {{store, 0, 1, last}, {}, {load, 1, 1, last}}), no_defect);
  require_verdict(joined(written(), {{store, 0, 1, last}, {}, {store, 0, 1, last}, {load, 1, 1, last}}),
                  ASSAY_DATA_RACE, last);
  require_verdict(joined(written(), {{load, 1, 1, last}}), ASSAY_UNWRITTEN_READ, last);
  const auto require_outside = [](const assay_launch& l, const program& before, const step& access) {
    const std::vector<seen_defect> seen = defects_of_programs(l, {before, joined(written(), {access})});
    INFO(name(l) << ": " << (seen.empty() ? "nothing" : seen[0].message));
    REQUIRE(seen.size() == 1);
    CHECK(seen[0].kind == ASSAY_OUT_OF_BOUNDS);
    CHECK(mentions(seen[0], "outside of the LDS: byte " + std::to_string(access.offset) + " of 33"));
  };
  for (const assay_launch& l : all_checked_launches())
    for (const program& before : {even_launch(), odd_launch()}) {
      require_outside(l, before, {load, 1, 1, last + 1});
      require_outside(l, before, {load, 1, 2, last});
      require_outside(l, before, {load, 1, 4, last});
    }
}

#if !ASSAY_ASAN  // which takes the calls by which memset is seen
TEST_CASE("An even number of bytes at an odd offset covers those bytes only", "[checker][grain]") {
  for (const int byte : {3, 6}) {
    require_verdict(joined(written(), {{fill, 0, 4, 3}, {load, 1, 1, byte}}), ASSAY_DATA_RACE, byte);
    require_verdict(joined(written(), {{fill, 0, 4, 3}, {}, {load, 1, 1, byte}}), no_defect);
  }
  for (const int byte : {2, 7}) require_verdict(joined(written(), {{fill, 0, 4, 3}, {load, 1, 1, byte}}), no_defect);
  require_verdict(joined(written(), {{fill, 0, 3, 4}, {load, 1, 1, 7}}), no_defect);
  require_verdict(joined(written(), {{fill, 0, 3, 4}, {load, 1, 2, 6}}), ASSAY_DATA_RACE, 6);
}
#endif
