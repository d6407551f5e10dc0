#include "properties/suite/bench.hpp"

#include <fmt/format.h>

#include <chrono>

#include "kernels/platform/cpu/base/fiber.hpp"
#include "oracle/enclose.hpp"
#include "oracle/width.hpp"
#include "properties/case/types.hpp"
#include "properties/data/recipe.hpp"
#include "properties/run/execute.hpp"
#include "properties/suite/suite.hpp"

namespace assay {
namespace {

using clock = std::chrono::steady_clock;

double seconds_since(clock::time_point start) {
  return std::chrono::duration<double>(clock::now() - start).count();
}

/// One decode row per head of a group of 4, 1,024 keys of head_dim 128 in pages of 64: the size of issue reports.
attention_case sharpness_case(dtype q_type, dtype kv_type) {
  attention_case c;
  c.q_type = q_type;
  c.kv_type = kv_type;
  c.o_type = q_type == dtype::i8 ? dtype::f16 : q_type;
  c.heads_q = 4;
  c.head_dim_qk = c.head_dim_v = 128;
  c.page_size = 64;
  c.pool_pages = 16;
  c.num_splits = 1;
  c.scale = 0.08838835F;  // 1 / sqrt(128)
  // Descales that bring the data of quantised types, which fills their range, back to a standard deviation near 1.
  if (kv_type == dtype::e4m3fn) c.k_scale = c.v_scale = 1.0F / 32;
  if (kv_type == dtype::e4m3fnuz) c.k_scale = c.v_scale = 1.0F / 16;
  if (q_type == dtype::i8) c.q_scale = c.k_scale = 1.0F / 40;
  sequence s{.q = 4, .k = 1024, .prefix_offset = {}, .pages = {}};
  for (std::int64_t page = 0; page < c.pool_pages; ++page) s.pages.push_back(page);
  c.sequences = {s};
  return c;
}

/// 64 rows of one head on 2,048 keys in two pages of 1024: the shape of CK issue 6054, for one head. `ratio` other than
/// 1: the pages' descales differ by it.
attention_case prefill_case(dtype type, dtype o_type, float ratio) {
  attention_case c;
  c.kernel = "batch_prefill";
  c.q_type = c.kv_type = type;
  c.o_type = o_type;
  c.head_dim_qk = c.head_dim_v = 128;
  c.page_size = 1024;
  c.pool_pages = 2;
  c.page_table = page_table_kind::page_list;
  c.num_splits = 1;
  c.scale = 0.08838835F;  // 1 / sqrt(128)
  c.q_scale = c.k_scale = c.v_scale = 1 / static_cast<float>(amplitude(type));
  if (ratio != 1) c.kv_descale = descale_kind::per_page;
  c.data.descale_ratio = ratio;
  c.sequences = {{.q = 64, .k = 2048, .prefix_offset = {}, .pages = {0, 1}}};
  return c;
}

/// Logits of 2 rows of 64 heads over 2,048 keys in pages of 64: the shape of aiter issue 2866, for one sequence.
attention_case logits_case(dtype type) {
  attention_case c;
  c.kernel = "mqa_logits";
  c.batching = q_batching::batch;
  c.q_type = c.kv_type = type;
  c.o_type = dtype::f32;
  c.heads_q = 64;
  c.head_dim_qk = 128;
  c.page_size = 64;
  c.pool_pages = 32;
  c.num_splits = 1;
  c.max_model_len = 2048;
  sequence s{.q = 2, .k = 2048, .prefix_offset = {}, .pages = {}};
  for (std::int64_t page = 0; page < c.pool_pages; ++page) s.pages.push_back(page);
  c.sequences = {s};
  return c;
}

attention_case tiny_case() {
  attention_case c;
  c.pool_pages = 1;
  c.num_splits = 1;
  c.scale = 0.125F;
  c.sequences = {{.q = 1, .k = 16, .prefix_offset = {}, .pages = {0}}};
  return c;
}

void add(throughput& t, const verdict& v) {
  ++t.cases;
  t.accesses_checked += v.accesses_checked;
  t.kernel_seconds += v.kernel_seconds;
  t.oracle_seconds += v.oracle_seconds;
}

throughput measure_suite(const library& lib) {
  suite_options options;
  options.kernels = lib.kernels();
  options.selected = {&enclosure_property()};
  throughput t;
  constexpr std::int64_t cases = 202;  // twice through all sizes
  const auto start = clock::now();
  for (std::int64_t i = 0; i < cases; ++i) add(t, run_case(lib, suite_case(options, i)));
  t.seconds = seconds_since(start);
  return t;
}

throughput measure_tiny(const library& lib) {
  throughput t;
  const attention_case c = tiny_case();
  run_case(lib, c);  // allocates fiber stacks and the like
  const auto start = clock::now();
  while (seconds_since(start) < 1.0) add(t, run_case(lib, c));
  t.seconds = seconds_since(start);
  return t;
}

sharpness measure_sharpness(const library& lib, const attention_case& c) {
  sharpness s;
  s.types = types_of(c);
  if (c.kv_descale == descale_kind::per_page) s.types += " paged";
  const detailed_run run = run_in_detail(lib, c);
  if (run.bounds.tensors.empty()) return s;
  const oracle::enclosed_tensor& result = run.bounds.tensors.front();
  if (result.name != "o") s.types += " " + result.name;
  const oracle::width_statistics width = oracle::measure_width(result);
  s.elements = width.elements;
  s.median_radius_ulp = width.median_radius_ulp;
  s.p99_radius_ulp = width.p99_radius_ulp;
  s.sharp_share = width.sharp_share;
  oracle::code_counts codes;
  oracle::enclose(run.ran.planned, run.given.tensors(), run.ran.declared, codes);
  if (codes.codes > 0) s.ambiguous_p_share = static_cast<double>(codes.ambiguous) / static_cast<double>(codes.codes);
  return s;
}

void measure_exact(const library& lib, bench_result& result) {
  detailed_run run = run_in_detail(lib, sharpness_case(dtype::f16, dtype::f16));
  auto start = clock::now();
  const oracle::enclosure exact = oracle::evaluate_exactly(run.ran.planned, run.given.tensors());
  result.exact_seconds = seconds_since(start);
  start = clock::now();
  constexpr int repeats = 20;  // one evaluation of the contract is too short to time
  for (int i = 0; i < repeats; ++i) oracle::enclose(run.ran.planned, run.given.tensors(), run.ran.declared);
  result.contract_seconds = seconds_since(start) / repeats;

  // Without the rounding of P, the contract encloses attention itself.
  run.ran.declared.p_type = dtype::f32;
  const oracle::enclosure bounds = oracle::enclose(run.ran.planned, run.given.tensors(), run.ran.declared);
  for (std::size_t t = 0; t < exact.tensors.size(); ++t)
    for (std::size_t i = 0; i < exact.tensors[t].elements.size(); ++i) {
      const oracle::interval& inner = exact.tensors[t].elements[i];
      const oracle::interval& outer = bounds.tensors[t].elements[i];
      ++result.unquantised_elements;
      // The exact value lies somewhere in `inner`; the two must at least meet.
      if (outer.lo <= inner.hi && inner.lo <= outer.hi) ++result.unquantised_contained;
    }
}

}  // namespace

bench_result measure(const library& lib, const library& unchecked) {
  bench_result result;
  for (const auto& [q, kv] : {std::pair{dtype::f16, dtype::f16},
                              {dtype::bf16, dtype::bf16},
                              {dtype::i8, dtype::i8},
                              {dtype::f16, dtype::e4m3fn},
                              {dtype::f16, dtype::e4m3fnuz},
                              {dtype::bf16, dtype::e4m3fn},
                              {dtype::bf16, dtype::e4m3fnuz}})
    result.sharp.push_back(measure_sharpness(lib, sharpness_case(q, kv)));
  if (lib.has("batch_prefill")) {
    for (const dtype type : {dtype::f16, dtype::bf16})
      result.sharp.push_back(measure_sharpness(lib, prefill_case(type, type, 1.0F)));
    for (const dtype type : {dtype::e4m3fn, dtype::e4m3fnuz})
      for (const dtype o_type : {dtype::f16, dtype::bf16})
        for (const float ratio : {1.0F, 1.03F})
          result.sharp.push_back(measure_sharpness(lib, prefill_case(type, o_type, ratio)));
  }
  if (lib.has("mqa_logits"))
    for (const dtype type : {dtype::e4m3fn, dtype::e4m3fnuz})
      result.sharp.push_back(measure_sharpness(lib, logits_case(type)));
  result.suite = measure_suite(lib);
  result.unchecked_suite = measure_suite(unchecked);
  result.tiny = measure_tiny(lib);
  measure_exact(lib, result);
  result.switch_seconds = cpu::measure_switch_seconds();
  return result;
}

}  // namespace assay
