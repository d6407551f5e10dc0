/// Tiny append_kv problems with memory of their own, and numbers for it. Shares nothing with the oracle.
#pragma once

#include "tests/oracle/elements.hpp"

namespace assay::testing {

/// How the numbers of a problem are chosen.
enum class append_data {
  plain,       ///< normal
  spread,      ///< rows from 2^-20 to 2^20 times as large: scales grow
  ties,        ///< middles between two codes, in units of a scale that is a power of two
  saturating,  ///< far beyond the largest code, where the scale is per tensor
  zeros,       ///< of both signs: the largest magnitude is 0
  powers,      ///< the largest magnitude is F times a power of two, and so are descales
  repeated,    ///< the largest magnitude over F is the descale that is there, twice or 4 times it, up to a rounding
};
inline constexpr std::uint64_t append_kinds_of_data = 7;

/// What a test of append_kv varies.
struct append_options {
  dtype q_type = dtype::bf16;
  dtype k_type = dtype::e4m3fn;
  dtype v_type = dtype::e4m3fn;
  bool per_page = false;
  rotary_kind rotary = rotary_kind::none;
  std::int32_t heads = 2, dim_qk = 8, dim_v = 6, page_size = 4;
  std::int32_t pages = 5;      ///< that some row goes to; as many again have no owner
  bool is_head_major = false;  ///< pools lie as HND
  bool has_skipped = true;     ///< one row in four is skipped
  bool starts_pages = true;    ///< some pages are fresh
  append_data data = append_data::plain;
  float k_scale = 1.0F, v_scale = 1.0F;
  std::uint64_t seed = 1;
};

/// A pool full of NaN, whatever its type calls one.
inline memory make_pool(const char* name, dtype type, const problem& p, std::int64_t dim, bool is_head_major) {
  memory m(name, type, {p.num_pages, p.page_size, p.heads_kv, dim});
  if (is_head_major) m.view.stride[1] = dim, m.view.stride[2] = p.page_size * dim;
  if (type == dtype::e4m3fnuz) std::ranges::fill(*m.bytes, std::byte{0x80});
  return m;
}

/// Fills an append_setting step by step, from one generator.
class append_maker {
 public:
  explicit append_maker(const append_options& o) : o_(o), random_(o.seed * 15485863 + 3) {}

  setting make() {
    state_problem();
    std::vector<std::int64_t> ids(static_cast<std::size_t>(s_.stated.num_pages));
    for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<std::int64_t>(i);
    shuffle(ids);
    for (std::int32_t n = 0; n < o_.pages; ++n) choose_rows(ids[static_cast<std::size_t>(n)]);
    shuffle(slots_);
    s_.stated.total_q = static_cast<std::int32_t>(slots_.size());
    make_memory();
    for (const page_state& page : pages_) fill_page(page);
    for (std::size_t r = 0; r < slots_.size(); ++r) fill_row(static_cast<std::int64_t>(r));
    return std::move(s_);
  }

 private:
  struct page_state {
    std::int64_t page, live;  ///< slots [0, live) hold keys
  };

  void state_problem() {
    problem& p = s_.stated;
    p.operation = operation_kind::append_kv;
    p.q_type = o_.q_type;
    p.k_type = o_.k_type;
    p.v_type = o_.v_type;
    p.kv_descale = o_.per_page ? descale_kind::per_page : descale_kind::per_tensor;
    p.heads_q = p.heads_kv = o_.heads;
    p.head_dim_qk = o_.dim_qk;
    p.head_dim_v = o_.dim_v;
    p.page_size = o_.page_size;
    p.num_pages = 2 * o_.pages;
    p.rotary = o_.rotary;
    p.k_scale = o_.per_page ? 1.0F : o_.k_scale;
    p.v_scale = o_.per_page ? 1.0F : o_.v_scale;
    p.num_splits = 1;
  }

  template <class T>
  void shuffle(std::vector<T>& list) {
    for (std::size_t i = list.size(); i > 1; --i) std::swap(list[i - 1], list[random_() % i]);
  }

  /// Appends behind the live slots, starts a page anew, or writes anywhere.
  void choose_rows(std::int64_t page) {
    const auto size = static_cast<std::uint64_t>(o_.page_size);
    const auto live = static_cast<std::int64_t>(random_() % (size + 1));
    const std::int64_t begin =
        o_.starts_pages && random_() % 3 == 0 ? 0 : std::min<std::int64_t>(live, o_.page_size - 1);
    const auto count = static_cast<std::int64_t>(1 + random_() % std::min<std::uint64_t>(size, 6));
    for (std::int64_t slot = begin; slot < std::min<std::int64_t>(begin + count, o_.page_size); ++slot)
      if (slot == begin || random_() % 5 != 0) slots_.push_back(page * o_.page_size + slot);
    if (o_.has_skipped && random_() % 4 == 0) slots_.push_back(-1 - static_cast<std::int64_t>(random_() % 9));
    pages_.push_back({page, live});
  }

  void make_memory() {
    const problem& p = s_.stated;
    s_.buffers = {memory("k_new", p.q_type, {p.total_q, p.heads_kv, p.head_dim_qk}),
                  memory("v_new", p.q_type, {p.total_q, p.heads_kv, p.head_dim_v}),
                  memory("slots", dtype::i64, {p.total_q}),
                  make_pool("k", p.k_type, p, p.head_dim_qk, o_.is_head_major),
                  make_pool("v", p.v_type, p, p.head_dim_v, o_.is_head_major)};
    if (o_.per_page)
      for (const char* name : {"k_descale", "v_descale"})
        s_.buffers.emplace_back(name, dtype::f32, std::vector<std::int64_t>{p.num_pages, p.heads_kv});
    if (p.rotary == rotary_kind::none) return;
    const std::int64_t length = 40, pairs = p.head_dim_qk / 2;
    s_.buffers.emplace_back("positions", dtype::i32, std::vector<std::int64_t>{p.total_q});
    for (const char* name : {"rope_cos", "rope_sin"}) {
      s_.buffers.emplace_back(name, dtype::f32, std::vector<std::int64_t>{length, pairs});
      for (std::int64_t i = 0; i < length * pairs; ++i) {
        const std::int64_t position = i / pairs, pair = i % pairs;
        const double angle =
            static_cast<double>(position) * std::pow(10000.0, -static_cast<double>(pair) / static_cast<double>(pairs));
        s_.buffers.back().set(i, name[5] == 'c' ? std::cos(angle) : std::sin(angle));
      }
    }
  }

  double some_descale() {
    const int exponent = static_cast<int>(random_() % 12) - 8;
    const bool is_power = o_.data == append_data::ties || o_.data == append_data::powers;
    return std::ldexp(is_power ? 1.0 : 1 + uniform(random_), exponent);
  }

  void fill_page(const page_state& state) {
    for (const char* name : {"k", "v"}) {
      const memory& pool = s_[name];
      for (std::int64_t head = 0; head < o_.heads; ++head) {
        for (std::int64_t slot = 0; slot < state.live; ++slot)
          for (std::int64_t d = 0; d < pool.view.shape[3]; ++d)
            pool.set_bits(pool.view.offset(state.page, slot, head, d), is_code(pool.view.type)
                                                                           ? static_cast<std::uint32_t>(random_() % 256)
                                                                           : encode(pool.view.type, normal(random_)));
        // Of a page without a live key only as long as this call starts it: else its descale would be no number.
        if (o_.per_page && !(state.live == 0 && starts(state.page)))
          s_[std::string(name) + "_descale"].set(state.page * o_.heads + head, some_descale());
      }
    }
  }

  bool starts(std::int64_t page) const { return std::ranges::count(slots_, page * o_.page_size) > 0; }

  void fill_row(std::int64_t row) {
    const std::int64_t slot = slots_[static_cast<std::size_t>(row)];
    set_slot(s_["slots"], row, slot);
    if (o_.rotary != rotary_kind::none && slot >= 0) s_["positions"].set(row, static_cast<double>(random_() % 40));
    if (slot < 0) return;  // NaN stays: what is skipped is not looked at
    for (const char* name : {"k", "v"}) {
      const memory& added = s_[std::string(name) + "_new"];
      const double size = o_.data == append_data::spread ? std::ldexp(1.0, static_cast<int>(random_() % 31) - 15) : 1.0;
      for (std::int64_t head = 0; head < o_.heads; ++head)
        for (std::int64_t d = 0; d < added.view.shape[2]; ++d)
          added.set(added.view.offset(row, head, d), within_type(size * draw(name[0], slot / o_.page_size, head, d)));
    }
  }

  /// Rows are finite.
  double within_type(double x) const { return o_.q_type == dtype::f16 ? std::clamp(x, -65504.0, 65504.0) : x; }

  double draw(char which, std::int64_t page, std::int64_t head, std::int64_t d) {
    const dtype type = which == 'k' ? o_.k_type : o_.v_type;
    const double f = is_code(type) ? largest_of(type) : 1.0, x = normal(random_);
    const std::string name = std::string(1, which) + "_descale";
    switch (o_.data) {
      case append_data::ties: return tie(type, which == 'k' ? o_.k_scale : o_.v_scale, page, d == 0);
      case append_data::saturating: return 2000 * x;
      case append_data::zeros: return x < 0 ? -0.0 : 0.0;
      case append_data::powers: return d == 0 ? std::ldexp(f, static_cast<int>(random_() % 8) - 4) : x;
      case append_data::repeated: {
        const double before = o_.per_page ? static_cast<double>(float_at(s_[name], page * o_.heads + head)) : 1.0;
        const double most = std::isfinite(before) ? std::ldexp(before * f, static_cast<int>(page % 3)) : 1.0;
        return d == 0 ? most * (1 + (static_cast<double>(random_() % 5) - 2) * 0x1p-24) : most * uniform(random_) * 0.5;
      }
      default: return x;
    }
  }

  /// A middle between two codes in units of 2^-2 or of `scale`, or, once, what makes 2^-2 the page's new scale.
  double tie(dtype type, float scale, std::int64_t page, bool is_largest) {
    const double unit = o_.per_page ? 0.25 : static_cast<double>(scale);
    if (!is_code(type)) return normal(random_);
    if (o_.per_page && o_.q_type == dtype::f32) return near_tie(type, page, is_largest);
    if (is_largest) return largest_of(type) * unit;
    if (type == dtype::i8) return (static_cast<double>(random_() % 250) - 124.5) * unit;
    const auto magnitude = static_cast<std::uint32_t>(random_() % 0x7D);
    const bool fnuz = type == dtype::e4m3fnuz;
    const double middle = (e4m3_value(magnitude, fnuz) + e4m3_value(magnitude + 1, fnuz)) / 2;
    return (random_() % 2 == 0 ? middle : -middle) * unit;
  }

  /// The same in units of a descale that A / F is rounded to: only the very f32 makes it a tie.
  double near_tie(dtype type, std::int64_t page, bool is_largest) {
    const auto f = static_cast<float>(largest_of(type)), most = f * (1 + static_cast<float>(page % 7) / 7);
    if (is_largest) return static_cast<double>(most);
    const auto code = static_cast<std::uint32_t>(random_() % 0x7D);
    const bool fnuz = type == dtype::e4m3fnuz;
    const double middle = type == dtype::i8 ? code + 0.5 : (e4m3_value(code, fnuz) + e4m3_value(code + 1, fnuz)) / 2;
    return middle * static_cast<double>(most / f);
  }

  const append_options o_;
  std::mt19937_64 random_;
  setting s_;
  std::vector<page_state> pages_;
  std::vector<std::int64_t> slots_;
};

/// All dead memory holds NaN; half of the pool's pages have no owner.
inline setting make_append_setting(const append_options& o) {
  return append_maker(o).make();
}

}  // namespace assay::testing
