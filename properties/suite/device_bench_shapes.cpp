#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>
#include <numeric>
#include <random>

#include "properties/case/tensor_plan.hpp"
#include "properties/case/types.hpp"
#include "properties/suite/device_bench.hpp"

namespace assay {
namespace {

constexpr std::int32_t k = 1024;

/// `count` sequences of which each has pages from all over the pool, as after a while of serving.
void deal_pages(attention_case& c, std::int64_t count, std::int32_t rows, std::int32_t keys) {
  const std::int64_t each = pages_for(keys, c.page_size);
  c.pool_pages = count * each;
  std::vector<std::int64_t> pages(static_cast<std::size_t>(c.pool_pages));
  std::iota(pages.begin(), pages.end(), 0);
  std::ranges::shuffle(pages, std::mt19937(1));
  for (std::int64_t i = 0; i < count; ++i)
    c.sequences.push_back({.q = rows,
                           .k = keys,
                           .prefix_offset = {},
                           .pages = {pages.begin() + i * each, pages.begin() + (i + 1) * each}});
}

/// 32 query heads on 8, as Llama 3 and many others have them.
attention_case grouped_heads(const char* kernel, dtype q, dtype kv, dtype o, std::int32_t page_size) {
  attention_case c;
  c.kernel = kernel;
  c.q_type = q, c.kv_type = kv, c.o_type = o;
  c.heads_q = 32, c.heads_kv = 8;
  c.head_dim_qk = c.head_dim_v = 128;
  c.page_size = page_size;
  c.scale = 0.08838835F;  // 1 / sqrt(128)
  c.causal = true;
  return c;
}

std::string in_k(std::int32_t keys) {
  return fmt::format("{}k", keys / k);
}

void add_decoding(std::vector<bench_shape>& shapes) {
  for (const auto& [q, kv] :
       {std::pair{dtype::bf16, dtype::bf16}, {dtype::bf16, dtype::e4m3fn}, {dtype::f16, dtype::e4m3fn}})
    for (const std::int32_t page_size : {16, 64})
      for (const auto& [batch, keys] : {std::pair{16, 8 * k}, {64, 8 * k}, {1, 128 * k}}) {
        attention_case c = grouped_heads("split_kv", q, kv, q, page_size);
        deal_pages(c, batch, 1, keys);
        shapes.push_back({fmt::format("decode {} x {}, pages of {}", batch, in_k(keys), page_size), std::move(c)});
      }
}

void add_prefill(std::vector<bench_shape>& shapes) {
  for (const dtype type : {dtype::bf16, dtype::e4m3fn})
    for (const std::int32_t keys : {2 * k, 8 * k}) {
      attention_case c = grouped_heads("batch_prefill", type, type, dtype::bf16, 64);
      c.page_table = page_table_kind::page_list;
      c.num_splits = 1;
      deal_pages(c, 1, keys, keys);
      shapes.push_back({fmt::format("prefill 1 x {}, causal, pages of 64", in_k(keys)), std::move(c)});
    }
}

/// DeepSeek's indexer: 64 heads, two new tokens.
void add_logits(std::vector<bench_shape>& shapes) {
  for (const std::int64_t batch : {1, 16, 64}) {
    attention_case c;
    c.kernel = "mqa_logits";
    c.batching = q_batching::batch;
    c.q_type = c.kv_type = dtype::e4m3fn;
    c.o_type = dtype::f32;
    c.heads_q = 64;
    c.head_dim_qk = 128;
    c.page_size = 64;
    c.max_model_len = 32 * k;
    deal_pages(c, batch, 2, 32 * k);
    shapes.push_back({fmt::format("logits {} x 32k, 2 rows, pages of 64", batch), std::move(c)});
  }
}

/// The rows of a long prefill.
void add_appending(std::vector<bench_shape>& shapes) {
  for (const dtype kv : {dtype::bf16, dtype::e4m3fn}) {
    attention_case c = grouped_heads("append_kv", dtype::bf16, kv, dtype::bf16, 16);
    c.heads_q = c.heads_kv;
    c.scale = 1.0F, c.causal = false;
    deal_pages(c, 8, 8 * k, 8 * k);
    shapes.push_back({"append 8 x 8k rows, pages of 16", std::move(c)});
  }
}

}  // namespace

std::vector<bench_shape> bench_shapes(const library& lib) {
  std::vector<bench_shape> shapes;
  if (lib.has("split_kv")) add_decoding(shapes);
  if (lib.has("batch_prefill")) add_prefill(shapes);
  if (lib.has("mqa_logits")) add_logits(shapes);
  if (lib.has("append_kv")) add_appending(shapes);
  return shapes;
}

bool mentions(const bench_shape& shape, std::string_view text) {
  const std::string names[] = {shape.name, shape.stated.kernel, types_of(shape.stated)};
  return std::ranges::any_of(names, [&](const std::string& name) { return name.find(text) != std::string::npos; });
}

std::string device_bench_text(const device_bench_result& result) {
  std::string text = fmt::format(
      "{}: a copy of 1 GiB reads and writes {:.2f} TB/s; as big: beside a copy of the shape's bytes\n"
      "{:<38} {:<16} {:>6} {:>9} {:>20} {:>7} {:>6} {:>6} {:>8}\n",
      result.device, 1e-12 * result.copy_bytes_per_second, "shape", "types", "splits", "median us", "least to most us",
      "TB/s", "copy", "as big", "TFLOP/s");
  for (const device_speed& s : result.speeds) {
    text += fmt::format("{:<38} {:<16} ", s.shape, s.types);
    if (!s.refusal.empty()) {
      text += "not measured: " + s.refusal + "\n";
      continue;
    }
    text +=
        fmt::format("{:>6} {:>9.1f} {:>20} {:>7.3f} {:>5.0f}% {:>5.0f}% {:>8.2f}\n", s.splits, 1e6 * s.median_seconds,
                    fmt::format("{:.1f} to {:.1f}", 1e6 * s.least_seconds, 1e6 * s.most_seconds),
                    1e-12 * s.bytes_per_second(), 100 * s.bytes_per_second() / result.copy_bytes_per_second,
                    100 * s.of_copy_as_big(), 1e-12 * s.operations_per_second());
  }
  return text;
}

std::string device_bench_json(const device_bench_result& result) {
  boost::json::array speeds;
  for (const device_speed& s : result.speeds)
    speeds.push_back({{"shape", s.shape},
                      {"kernel", s.kernel},
                      {"types", s.types},
                      {"refusal", s.refusal},
                      {"splits", s.splits},
                      {"bytes", s.bytes},
                      {"operations", s.operations},
                      {"launches", s.launches},
                      {"median_seconds", s.median_seconds},
                      {"least_seconds", s.least_seconds},
                      {"most_seconds", s.most_seconds},
                      {"copy_seconds", s.copy_seconds}});
  return boost::json::serialize(boost::json::object{{"version", 1},
                                                    {"device", result.device},
                                                    {"copy_bytes_per_second", result.copy_bytes_per_second},
                                                    {"speeds", std::move(speeds)}}) +
         "\n";
}

}  // namespace assay
