// Extreme values and layouts: that they are drawn, what they are, and that they shrink away.
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <limits>
#include <map>
#include <random>
#include <set>
#include <string>

#include "properties/case/tensor_plan.hpp"
#include "properties/data/difference.hpp"
#include "properties/data/edit.hpp"
#include "properties/data/recipe.hpp"
#include "properties/generate/choice.hpp"
#include "properties/generate/kernel_space.hpp"
#include "tests/properties/generate/arbitrary_case.hpp"

using namespace assay;

namespace {

std::set<std::string> kinds_of(const attention_case& c) {
  std::set<std::string> in;
  const auto add_if = [&in](bool is, const char* name) {
    if (is) in.insert(name);
  };
  add_if(c.scale < 0, "negative scale");
  add_if(c.scale == 0, "scale 0");
  add_if(std::fabs(c.scale) > 0x1p40F && c.k_scale < 0x1p-40F, "scales far from 1 that cancel");
  add_if(std::fabs(c.scale) > 0x1p40F && c.q_scale < 0x1p-40F, "a scale of Q far from 1");
  add_if(c.v_scale < 0, "negative v_scale");
  add_if(c.v_scale == 0, "v_scale 0");
  add_if(c.v_scale > 0x1p40F, "v_scale far above 1");
  add_if(c.v_scale > 0 && c.v_scale < 0x1p-40F, "v_scale far below 1");
  add_if(c.v_scale * static_cast<float>(amplitude(v_type(c))) > 5e4F && c.o_type == dtype::f16, "O overflows");
  add_if(c.data.descale_ratio > 1 && c.data.descale_ratio < 1.016F, "near descales");
  add_if(c.bias_shared == bias_sharing::heads, "bias of all heads");
  add_if(c.bias_shared == bias_sharing::rows, "bias of all rows");
  for (const auto& [kind, name] : {std::pair{bias_kind::holes, "holes"},
                                   {bias_kind::left_padded, "left padded"},
                                   {bias_kind::lowest, "lowest"},
                                   {bias_kind::steep, "steep"}})
    add_if(c.data.bias == kind, name);
  add_if(c.data.sinks == sink_kind::large, "large sinks");
  add_if(c.data.sinks == sink_kind::huge, "huge sinks");
  add_if(c.packing == tensor_packing::packed, "packed");
  add_if(c.v_has_other_layout, "V in another layout");
  return in;
}

attention_case with_bias(dtype type, bias_kind kind) {
  attention_case c;
  c.heads_q = 2;
  c.bias_type = type;
  c.data.bias = kind;
  c.pool_pages = 26;
  c.sequences = {{2, 200, std::nullopt, {}}, {1, 203, std::nullopt, {}}};
  std::int64_t page = 0;
  for (sequence& s : c.sequences)
    for (int i = 0; i < 13; ++i) s.pages.push_back(page++);
  return c;
}

}  // namespace

TEST_CASE("extreme values and layouts are drawn by each kernel that has them", "[values]") {
  const std::map<std::string, std::vector<const char*>> wanted{
      {"split_kv",
       {"negative scale", "scale 0", "scales far from 1 that cancel", "negative v_scale", "v_scale 0",
        "v_scale far above 1", "v_scale far below 1", "O overflows", "bias of all heads", "bias of all rows", "holes",
        "left padded", "lowest", "steep", "large sinks", "huge sinks", "packed", "V in another layout"}},
      {"batch_prefill",
       {"negative scale", "scale 0", "scales far from 1 that cancel", "a scale of Q far from 1", "negative v_scale",
        "v_scale 0", "v_scale far above 1", "v_scale far below 1", "O overflows", "near descales", "packed",
        "V in another layout"}},
      {"mqa_logits", {"packed"}},
      {"append_kv", {"near descales", "packed", "V in another layout"}}};
  constexpr int cases = 3000;
  for (const auto& [kernel, names] : wanted) {
    std::map<std::string, int> counts;
    test::for_cases(cases,
                    [&](const attention_case& c) {
                      REQUIRE_NOTHROW(validate(c));
                      for (const std::string& name : kinds_of(c)) ++counts[name];
                    },
                    {kernel});
    for (const char* name : names) {
      INFO(kernel << ", " << name << ": " << counts[name] << " of " << cases);
      CHECK(counts[name] >= 0.004 * cases);
    }
  }
}

TEST_CASE("each kind of bias holds what its name says", "[values]") {
  const double lowest_of[] = {-static_cast<double>(std::numeric_limits<float>::max()), -65504, -0x1.FEp127};
  int type_number = 0;
  for (const dtype type : {dtype::f32, dtype::f16, dtype::bf16}) {
    const double infinity = std::numeric_limits<double>::infinity(), lowest = lowest_of[type_number++];
    for (const bias_kind kind :
         {bias_kind::normal, bias_kind::holes, bias_kind::left_padded, bias_kind::lowest, bias_kind::steep}) {
      const attention_case c = with_bias(type, kind);
      const inputs in = fill(c);
      const tensor& t = find_buffer(in.buffers, "bias")->view();
      int infinite = 0, least = 0, hundred = 0, ten_thousand = 0;
      bool begins_padded = true, is_padding = true;
      for (std::int64_t key = 0; key < 200; ++key) {
        const double value = value_at(t, t.offset(1, 1, key));
        infinite += value == -infinity ? 1 : 0;
        least += value == lowest ? 1 : 0;
        hundred += value == 100 ? 1 : 0;
        ten_thousand += value < -9000 && value > -11000 ? 1 : 0;
        const bool masked = value == -infinity || value == lowest;
        if (key == 0) begins_padded = masked;
        if (masked && !is_padding) begins_padded = false;  // a hole behind the padding
        is_padding = is_padding && masked;
      }
      INFO(name_of(type) << " kind " << static_cast<int>(kind));
      CHECK((infinite > 0) == (kind == bias_kind::holes || kind == bias_kind::left_padded));
      CHECK((least > 0) == (kind == bias_kind::lowest));
      CHECK((hundred > 20) == (kind == bias_kind::steep));
      CHECK((ten_thousand > 20) == (kind == bias_kind::steep));
      if (kind == bias_kind::left_padded || kind == bias_kind::lowest) CHECK(begins_padded);
      if (kind == bias_kind::holes) CHECK((infinite > 20 && infinite < 80));
    }
  }
}

TEST_CASE("paddings of a first tile and of all keys are both drawn", "[values]") {
  int first_tile = 0, all = 0, none = 0;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    attention_case c = with_bias(dtype::f32, bias_kind::left_padded);
    c.data.seed = seed;
    const recipe made(c);
    constexpr std::uint32_t minus_infinity = 0xFF800000U;
    const auto is_masked = [&](std::int64_t key) { return made.bias(0, 0, key, 0) == minus_infinity; };
    first_tile += is_masked(63) && !is_masked(199) ? 1 : 0;
    all += is_masked(199) ? 1 : 0;
    none += is_masked(0) ? 0 : 1;
  }
  CHECK(first_tile > 150);
  CHECK(all > 5);
  CHECK(all < 60);
  CHECK(none == 0);
}

TEST_CASE("large and huge sinks are finite or -inf, and as large as they say", "[values]") {
  attention_case c = with_bias(dtype::none, bias_kind::normal);
  c.bias_type = dtype::none;
  c.heads_q = 64;
  c.sinks = true;
  for (const sink_kind kind : {sink_kind::large, sink_kind::huge}) {
    c.data.sinks = kind;
    const inputs in = fill(c);
    const tensor& t = find_buffer(in.buffers, "sinks")->view();
    int negative = 0, positive = 0, none = 0;
    for (std::int64_t h = 0; h < 64; ++h) {
      const double value = value_at(t, h);
      if (std::isinf(value) && value < 0) {
        ++none;
        continue;
      }
      REQUIRE(std::isfinite(value));
      (value < 0 ? negative : positive) += 1;
      CHECK(std::fabs(value) >= (kind == sink_kind::large ? 16 : 1.9e38));
    }
    CHECK((negative > 5 && positive > 5 && none > 3));
  }
}

TEST_CASE("heads or rows that share a bias have stride 0, and a clone has a place for each", "[values]") {
  for (const bias_sharing shared : {bias_sharing::heads, bias_sharing::rows}) {
    attention_case c = with_bias(dtype::f16, bias_kind::normal);
    c.bias_shared = shared;
    c.input_margin = 3;
    const int dimension = shared == bias_sharing::heads ? 0 : 1;
    const inputs in = fill(c), apart = clone(in);
    const buffer& b = *find_buffer(in.buffers, "bias");
    const buffer& all = *find_buffer(apart.buffers, "bias");
    CHECK(b.view().stride[dimension] == 0);
    CHECK(all.view().stride[dimension] > 0);
    CHECK(all.size_bytes() > b.size_bytes());
    std::set<std::uint32_t> values;
    for_each_index(b.view(), [&](const std::vector<std::int64_t>& i) {
      values.insert(bits_at(b.view(), offset_of(b.view(), i)));
      REQUIRE(bits_at(b.view(), offset_of(b.view(), i)) == bits_at(all.view(), offset_of(all.view(), i)));
    });
    CHECK(values.size() > 100);
    const buffer same = copy_of(b);
    CHECK(same.size_bytes() == b.size_bytes());
    CHECK(same.view().stride[dimension] == 0);
    for (const index_range& gap : b.gaps()) CHECK(gap.size() % 2 == 0);
  }
}

TEST_CASE("packed tensors leave room for each other, and V may lie in the other order", "[values]") {
  attention_case c;
  c.heads_q = 6;
  c.heads_kv = 2;
  c.head_dim_v = 128;
  c.pool_pages = 3;
  c.sequences = {{2, 40, std::nullopt, {2, 0, 1}}};
  c.packing = tensor_packing::packed;
  c.v_has_other_layout = true;
  const inputs in = fill(c);
  const auto stride = [&](const char* name, int d) { return find_buffer(in.buffers, name)->view().stride[d]; };
  CHECK(stride("q", 0) == 6 * 64 + 2 * 64 + 2 * 128);
  CHECK(stride("q", 1) == 64);
  CHECK(stride("k", 0) == 16 * 2 * (64 + 128));
  CHECK(stride("v", 0) == 16 * 2 * (64 + 128));
  CHECK((stride("k", 1) == 2 * 64 && stride("k", 2) == 64));
  CHECK((stride("v", 1) == 128 && stride("v", 2) == 16 * 128));
  for (const char* name : {"q", "k", "v"}) {
    const buffer& b = *find_buffer(in.buffers, name);
    const buffer same = copy_of(b);
    for (int d = 0; d < b.view().rank; ++d) CHECK(same.view().stride[d] == b.view().stride[d]);
    std::int64_t between = 0;
    for (const index_range& gap : b.gaps()) between += gap.size();
    CHECK(between == b.size_bytes() - b.view().size() * size_bytes(b.view().type));
    CHECK(between > 0);
  }
}
