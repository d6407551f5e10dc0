#include <map>
#include <set>

#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <cstring>

#include "properties/case/number.hpp"
#include "properties/case/operation.hpp"
#include "properties/data/recipe.hpp"
#include "tests/properties/data/decode.hpp"
#include "tests/properties/generate/arbitrary_case.hpp"

using namespace assay;

namespace {

/// Written apart from tensor_plan's: straight from problem.hpp, key by key.
bool is_seen(const attention_case& c, const sequence& s, std::int64_t i, std::int64_t j) {
  const std::int64_t p = s.prefix_offset ? *s.prefix_offset + i : s.k - s.q + i;
  if (c.causal && j > p) return false;
  return c.window == 0 || j > p - c.window;
}

std::set<std::pair<std::int64_t, std::int64_t>> live_slots(const attention_case& c) {
  std::set<std::pair<std::int64_t, std::int64_t>> live;
  for (const sequence& s : c.sequences)
    for (std::int64_t j = 0; j < s.k; ++j)
      for (std::int64_t i = 0; i < s.q; ++i)
        if (is_seen(c, s, i, j)) live.insert({s.pages[static_cast<std::size_t>(j / c.page_size)], j % c.page_size});
  return live;
}

/// First element whose being poison differs from its being dead, or "".
std::string misplaced_poison(const attention_case& c, const inputs& in) {
  const auto live = live_slots(c);
  for (const char* name : {"k", "v"}) {
    const tensor& t = test::tensor_of(in, name);
    const std::uint32_t poison = poison_pattern(t.type, c.data.poison);
    for (std::int64_t page = 0; page < t.shape[0]; ++page)
      for (std::int64_t slot = 0; slot < t.shape[1]; ++slot)
        for (std::int64_t h = 0; h < t.shape[2]; ++h)
          for (std::int64_t d = 0; d < t.shape[3]; ++d) {
            const bool is_poison = test::bits_at(t, t.offset(page, slot, h, d)) == poison;
            if (is_poison == live.contains({page, slot})) return std::string(name) + " " + std::to_string(page);
          }
  }
  return "";
}

std::string misplaced_bias_poison(const attention_case& c, const inputs& in) {
  const tensor& t = test::tensor_of(in, "bias");
  const std::uint32_t poison = poison_pattern(t.type, c.data.poison);
  // Heads or rows may share elements: those that one of them sees are live.
  std::set<std::int64_t> live;
  std::int64_t row = 0;
  for (const sequence& s : c.sequences)
    for (std::int64_t i = 0; i < s.q; ++i, ++row)
      for (std::int64_t h = 0; h < t.shape[0]; ++h)
        for (std::int64_t j = 0; j < s.k; ++j)
          if (is_seen(c, s, i, j)) live.insert(t.offset(h, row, j));
  for (std::int64_t at_row = 0; at_row < row; ++at_row)
    for (std::int64_t h = 0; h < t.shape[0]; ++h)
      for (std::int64_t j = 0; j < t.shape[2]; ++j) {
        const std::int64_t at = t.offset(h, at_row, j);
        if ((test::bits_at(t, at) == poison) == live.contains(at)) return "bias " + std::to_string(j);
      }
  return "";
}

}  // namespace

TEST_CASE("poison is in all dead memory and nowhere in live memory", "[fill]") {
  int checked = 0, with_bias = 0;
  for (std::uint64_t i = 0; checked < 150; ++i) {
    attention_case c = test::arbitrary(i, 30);
    if ((describe(c).capabilities & has_softmax) == 0) continue;  // the tests of its walk look at its fills
    if (c.data.fill == fill_kind::largest || c.pool_pages * c.page_size > 3000) continue;  // largest is huge as well
    // Only NaN, and -128 for int8, are never live values of 1-byte types; a page tag may be the largest value.
    const bool any_poison = size_bytes(c.kv_type) > 1 && c.data.fill != fill_kind::page_tagged;
    c.data.poison = any_poison ? static_cast<poison_kind>(i % 3) : poison_kind::nan;
    c.data.specials = special_kind::none;  // they look like poison
    const inputs in = fill(c);
    INFO(to_json(c));
    REQUIRE(misplaced_poison(c, in).empty());
    if (c.bias_type != dtype::none) {
      REQUIRE(misplaced_bias_poison(c, in).empty());
      ++with_bias;
    }
    ++checked;
  }
  CHECK(with_bias > 5);
}

TEST_CASE("the liveness check sees poison on a live slot and data on a dead one", "[fill]") {
  attention_case c;
  c.pool_pages = 3;
  c.causal = true;
  c.window = 4;
  c.sequences = {{1, 20, std::nullopt, {2, 0}}};  // keys 16 to 19 are seen: page 0, slots 0 to 3
  for (const auto& [page, slot] : {std::pair{0, 3}, {0, 4}, {2, 15}, {1, 0}}) {
    inputs in = fill(c);
    REQUIRE(misplaced_poison(c, in).empty());
    const tensor& k = test::tensor_of(in, "k");
    store_bits(k.data, k.offset(page, slot, 0, 63), k.type, slot == 3 ? 0x7E00 : 0);
    CHECK(misplaced_poison(c, in) == "k " + std::to_string(page));
  }
}

TEST_CASE("rotary tables hold the rows of positions that get a slot, and poison in all others", "[fill]") {
  attention_case c;
  c.kernel = "append_kv";
  c.pool_pages = 3;
  c.rotary = rotary_kind::half;
  c.data.poison = poison_kind::nan;
  c.sequences = {{2, 20, 18, {2, 0}}, {3, 6, 4, {1}}};  // positions 18 and 19; 4 and 5, the third has no slot
  const inputs in = fill(c);
  for (const char* name : {"rope_cos", "rope_sin"}) {
    const tensor& table = test::tensor_of(in, name);
    REQUIRE(table.shape[0] == 20);
    for (std::int64_t row = 0; row < table.shape[0]; ++row)
      for (std::int64_t pair = 0; pair < table.shape[1]; ++pair) {
        float value = 0;
        std::memcpy(&value, static_cast<const float*>(table.data) + table.offset(row, pair), sizeof value);
        INFO(name << " " << row << ", " << pair);
        const double angle = static_cast<double>(row) *
                             std::pow(10000.0, -static_cast<double>(pair) / static_cast<double>(table.shape[1]));
        if (row == 4 || row == 5 || row >= 18)
          REQUIRE(std::fabs(static_cast<double>(value) - (name[5] == 'c' ? std::cos(angle) : std::sin(angle))) <=
                  0x1p-21 + 0x1p-24);
        else
          REQUIRE(std::isnan(value));
      }
  }
}

TEST_CASE("live data is finite in every fill and type", "[fill]") {
  for (std::uint64_t i = 0; i < 120; ++i) {
    attention_case c = test::arbitrary(i, 25);
    c.data.poison = poison_kind::zero;
    c.data.specials = special_kind::none;  // drawn_specials_test has them
    // Masks hold -inf: values_test has them.
    if (c.data.bias == bias_kind::holes || c.data.bias == bias_kind::left_padded) c.data.bias = bias_kind::lowest;
    const inputs in = fill(c);
    for (const buffer& b : in.buffers) {
      if (b.name() == "sinks" || b.view().type == dtype::i64 || b.is_sparse()) continue;
      bool finite = true;
      for (std::int64_t e = 0; e < extent(b.view()); ++e) finite = finite && std::isfinite(test::value_at(b.view(), e));
      INFO(b.name() << " " << to_json(c));
      REQUIRE(finite);
    }
  }
}

TEST_CASE("page tables hold the pages, and lies after them", "[fill]") {
  attention_case c;
  c.pool_pages = 9;
  c.spare_table_entries = 2;
  c.sequences = {{1, 40, std::nullopt, {7, 2, 5}}, {2, 10, std::nullopt, {7}}};
  const inputs table = fill(c);
  const tensor& t = test::tensor_of(table, "block_table");
  REQUIRE(t.shape[1] == 5);
  CHECK(test::value_at(t, 0) == 7);
  CHECK(test::value_at(t, 2) == 5);
  CHECK(test::value_at(t, 5) == 7);
  int lies = 0;
  for (const std::int64_t at : {3, 4, 6, 7, 8, 9}) {
    const double entry = test::value_at(t, at);
    lies += entry < 0 || entry >= 9;
  }
  CHECK(lies >= 4);
  c.page_table = page_table_kind::page_list;
  const inputs list = fill(c);
  // Each sequence's own range of the list ends in entries that are none of its pages.
  CHECK(test::value_at(test::tensor_of(list, "page_indptr"), 1) == 5);
  CHECK(test::value_at(test::tensor_of(list, "page_indptr"), 2) == 8);
  CHECK(test::value_at(test::tensor_of(list, "page_indices"), 2) == 5);
  CHECK(test::value_at(test::tensor_of(list, "page_indices"), 5) == 7);
  CHECK(test::tensor_of(list, "page_indices").shape[0] == 8);
}

TEST_CASE("data follows its key: other pages, other page sizes, more sequences and heads leave it alone", "[fill]") {
  for (int kind = 0; kind <= static_cast<int>(fill_kind::far_logits); ++kind) {
    attention_case c;
    c.data.fill = static_cast<fill_kind>(kind);
    c.pool_pages = 9;
    c.sequences = {{1, 40, std::nullopt, {7, 2, 5}}};
    attention_case other = c;
    other.pool_pages = 12;
    other.page_size = 10;
    other.layout = pool_layout::hnd;
    other.heads_q = other.heads_kv = 3;
    other.sequences[0].pages = {1, 11, 3, 0};
    other.sequences.push_back({3, 5, std::nullopt, {9}});
    const inputs a = fill(c), b = fill(other);
    bool same = true;
    for (const char* name : {"k", "v"}) {
      const tensor &x = test::tensor_of(a, name), &y = test::tensor_of(b, name);
      for (std::int64_t j = 0; j < 40; ++j)
        for (std::int64_t d = 0; d < 64; ++d)
          same =
              same &&
              test::bits_at(x, x.offset(c.sequences[0].pages[static_cast<std::size_t>(j / 16)], j % 16, 0, d)) ==
                  test::bits_at(y, y.offset(other.sequences[0].pages[static_cast<std::size_t>(j / 10)], j % 10, 0, d));
    }
    CHECK(same);
  }
}

TEST_CASE("descales of live pages are usable and clearly different from those around them, dead ones are poison",
          "[fill]") {
  attention_case c;
  c.q_type = c.kv_type = dtype::e4m3fn;
  c.kv_descale = descale_kind::per_page;
  c.page_size = 64;
  c.heads_q = c.heads_kv = 2;
  c.pool_pages = 45;
  c.causal = true;
  c.sequences = {{1, 40 * 64, 40 * 64 - 1, {}}, {1, 128, 63, {41, 42}}};  // page 42 is hidden, 40, 43 and 44 unused
  for (std::int64_t page = 0; page < 40; ++page) c.sequences[0].pages.push_back(39 - page);
  for (const float ratio : {1.02F, 1.1F, 2.0F, 1000.0F, 1 / 1.1F}) {
    c.data.descale_ratio = ratio;
    const double step = std::max(ratio, 1 / ratio);
    const double spread = 1 + std::min(step - 1, 1.0) / 4;
    const inputs in = fill(c);
    std::set<double> all;
    for (const char* name : {"k_descale", "v_descale"})
      for (int h = 0; h < 2; ++h) {
        const tensor& t = test::tensor_of(in, name);
        int up = 0, down = 0;
        for (std::int64_t n = 0; n < 40; ++n) {
          const double own = test::value_at(t, t.offset(39 - n, h));
          all.insert(own);
          REQUIRE((own >= 0.999 / (step * step) && own <= spread));
          for (const std::int64_t later : {1, 2}) {
            if (n + later >= 40) continue;
            const double next = test::value_at(t, t.offset(39 - n - later, h));
            const double change = std::max(own / next, next / own);
            CHECK(change >= 0.999 * step / spread);
            CHECK(change <= 1.001 * step * step * spread);
            if (later == 1) ++(next > own ? up : down);
          }
        }
        CHECK(std::min(up, down) >= 12);
        CHECK(std::isfinite(test::value_at(t, t.offset(41, h))));
        for (const std::int64_t dead : {40, 42, 43, 44}) CHECK(std::isnan(test::value_at(t, t.offset(dead, h))));
      }
    CHECK(all.size() > 155);  // 160 descales, of K and V and two heads
  }
  c.data.descale_ratio = 1;
  const inputs flat = fill(c);
  for (std::int64_t page = 0; page < 40; ++page)
    CHECK(test::value_at(test::tensor_of(flat, "k_descale"), 2 * page) == 1);
}

TEST_CASE("normal FP8 data gives logits that are neither flat nor saturated", "[fill]") {
  for (const dtype type : {dtype::e4m3fn, dtype::e4m3fnuz}) {
    attention_case c;
    c.q_type = c.kv_type = type;
    c.pool_pages = 16;
    c.scale = 0.125F;
    c.q_scale = c.k_scale = 1 / static_cast<float>(amplitude(type));
    c.sequences = {{8, 256, std::nullopt, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}}};
    const inputs in = fill(c);
    const tensor &q = test::tensor_of(in, "q"), &k = test::tensor_of(in, "k");
    double squares = 0;
    for (std::int64_t i = 0; i < 8; ++i)
      for (std::int64_t j = 0; j < 256; ++j) {
        double dot = 0;
        for (std::int64_t d = 0; d < 64; ++d)
          dot += test::value_at(q, q.offset(i, 0, d)) * test::value_at(k, k.offset(j / 16, j % 16, 0, d));
        squares += std::pow(dot * c.scale * c.q_scale * c.k_scale, 2);
      }
    const double deviation = std::sqrt(squares / (8 * 256));
    CHECK(deviation > 0.8);
    CHECK(deviation < 1.25);
  }
}

TEST_CASE("an override sets one element to its bits", "[fill]") {
  attention_case c;
  c.pool_pages = 1;
  c.q_order = q_layout::transposed;
  c.sequences = {{2, 3, std::nullopt, {0}}};
  c.data.overrides = {{"q", {1, 0, 5}, 0x7C00}};
  const inputs in = fill(c);
  const tensor& q = test::tensor_of(in, "q");
  CHECK(q.stride[0] == 1);
  CHECK(std::isinf(test::value_at(q, q.offset(1, 0, 5))));
  CHECK(std::isfinite(test::value_at(q, q.offset(0, 0, 5))));
}

TEST_CASE("every fill is frozen: the same bits for ever, on every machine", "[fill]") {
  const auto hash_of = [](fill_kind kind) {
    attention_case c;
    c.data.fill = kind;
    c.q_type = c.o_type = dtype::bf16;
    c.kv_type = dtype::e4m3fn;
    c.heads_q = 2;
    c.pool_pages = 10;
    c.causal = true;
    c.sinks = true;
    c.bias_type = dtype::f16;
    c.spare_table_entries = 4;
    c.sequences = {{3, 130, std::nullopt, {8, 7, 6, 5, 4, 3, 2, 1, 0}}, {1, 17, std::nullopt, {8, 9}}};
    std::uint64_t hash = 0xCBF29CE484222325U;  // FNV-1a
    for (const dtype type : {dtype::e4m3fn, dtype::bf16}) {
      c.kv_type = type;
      for (const buffer& b : fill(c).buffers)
        for (const std::byte byte : b.bytes()) hash = (hash ^ static_cast<std::uint64_t>(byte)) * 0x100000001B3U;
    }
    return hash;
  };
  static constexpr std::uint64_t golden[] = {
      988039722881520218U,   2319897328879650605U,  271706582137209813U,  7016804431415006791U,  7147203878533048339U,
      17293819005987657122U, 14556726400901369059U, 9315431731967754427U, 13583751426236894165U, 14239953177000282298U,
      3986983868297376637U,  17430777683133432661U, 5199679415665645915U, 3205783035527255568U};
  for (int kind = 0; kind <= static_cast<int>(fill_kind::far_logits); ++kind) {
    INFO("fill " << kind);
    CHECK(hash_of(static_cast<fill_kind>(kind)) == golden[kind]);
  }
}
