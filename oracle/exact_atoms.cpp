/// Everything here is binary64 whose results are exact, so that the atom's function itself is evaluated:
/// - Powers of two and numbers times them. Exponents of products lie between -253 and 256, so that a scale is at least
///   2^-250 and a product of nonzero elements times a scale at least 2^-550: nothing underflows.
/// - Products of two elements of at most 24 bits.
/// - Sums of multiples of a unit 2^(E - bits) whose magnitudes are below 4 * 65 * 2^E: 2^(31 + 9) units of at most 31
///   bits; with units `nearest_binades` finer, below 2^52.
/// - The cut of a binary64 number to a multiple of a power of two, and its rounding to f32.
///
/// Intervals. Let E be the exponent to which the terms are aligned. With E fixed, an atom is monotone in each term:
/// cuts, exact sums and the last rounding are. Over the given ends E lies in [E_lo, E_hi], both attained by magnitudes
/// at the ends. A coarser cut is a cut of the finer one, so that for every E between:
///   toward zero: |cut_E_hi(x)| <= |cut_E(x)| <= |cut_E_lo(x)|, of one sign;   down: cut_E_hi(x) <= cut_E(x) <=
///   cut_E_lo(x)
/// Hence the least sum is at least that of the terms' least values, cut at E_hi where they are positive and at E_lo
/// where they are negative (down: at E_hi), and the largest alike. Where E_lo is more than `nearest_binades` below
/// E_hi, it is raised to that, and each term may be off by one unit more.
#include "oracle/exact_atoms.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <iterator>
#include <limits>
#include <vector>

#include "oracle/atoms.hpp"
#include "oracle/clones.hpp"

namespace assay::oracle {
namespace {

#define ASSAY_INLINE [[gnu::always_inline]] inline

constexpr int block = static_cast<int>(lane_block);
constexpr double nearest_binades = 0x1p-12;
constexpr double f32_least = 0x1p-126;
constexpr double least_aligned = 0x1p-133;
static_assert(least_alignment_exponent == -133);

using lanes_of = double[block];

/// One a_k, and the magnitudes that its exponent comes from: 0 where it may be 0.
struct factor {
  double least, most;
  double small, large;
  std::int64_t k;
};

/// A row of them. Cloned loops use no containers: their functions have no clones.
struct factors {
  const factor* first;
  std::int64_t count;
};

/// The terms of one group, by part.
struct group_terms {
  std::vector<factor> part[2];
  bool is_first = false, is_last = false;  ///< of its atom
  std::vector<factor> tree;                ///< pairwise: all `group` places, those without a term with k < 0
};
struct group_view {
  factors part[2];
  factors tree;
  bool is_first, is_last;  ///< of its atom
};

/// The atom's constants in the form of the loops.
struct form {
  double least;     ///< smallest normal operand
  double fraction;  ///< 2^fraction_bits
  double sum;       ///< 2^sum_bits
  double reach;     ///< 2^-c_reach, or 0
  std::uint64_t dropped;
  double subnormals;  ///< 2^(126 + result_bits)
  bool of_product, down, flushes_inputs, flushes_results;
  cut result;
};

/// Both ends of a value in each lane.
struct ends {
  lanes_of lo, hi;
};

ASSAY_INLINE double larger(double a, double b) {
  return a > b ? a : b;
}
ASSAY_INLINE double power_below(double x) {
  return std::bit_cast<double>(std::bit_cast<std::uint64_t>(x) & 0x7FF0000000000000U);
}
ASSAY_INLINE double without(double x, std::uint64_t bits) {
  return std::bit_cast<double>(std::bit_cast<std::uint64_t>(x) & ~bits);
}

ASSAY_INLINE double cut_to(double x, double scale, double unit, bool down) {
  const double scaled = x * scale;
  return (down ? __builtin_floor(scaled) : __builtin_trunc(scaled)) * unit;
}

/// To f32, or fewer bits, in the declared direction.
ASSAY_INLINE double rounded(double x, const form& f) {
  double y = 0;
  if (f.result == cut::nearest_even) {
    y = static_cast<double>(static_cast<float>(x));
  } else {
    const double toward_zero = without(x, f.dropped), scaled = x * f.subnormals;
    // The next magnitude; a carry into the exponent is right.
    const double away = std::bit_cast<double>(std::bit_cast<std::uint64_t>(toward_zero) + f.dropped + 1);
    const bool goes_down = f.result == cut::down;
    const double normal = goes_down && x < toward_zero ? away : toward_zero;
    const double subnormal = (goes_down ? __builtin_floor(scaled) : __builtin_trunc(scaled)) / f.subnormals;
    y = std::fabs(x) < f32_least ? subnormal : normal;
  }
  return f.flushes_results && std::fabs(y) < f32_least ? 0.0 : y;
}

/// a + b rounded once to f32: the binary64 sum, its last bit made odd where it is not exact, has enough bits left.
ASSAY_INLINE double sum_in_f32(double a, double b) {
  const double s = a + b, of_b = s - a, error = (a - (s - of_b)) + (b - of_b);
  const auto bits = std::bit_cast<std::uint64_t>(s);
  const bool is_open = error != 0 && (bits & 1U) == 0;
  const std::uint64_t odd = (error > 0) == (s > 0) ? bits + 1 : bits - 1;
  return static_cast<double>(static_cast<float>(std::bit_cast<double>(is_open ? odd : bits)));
}

ASSAY_INLINE double flushed(double x, double least) {
  return std::fabs(x) < least ? 0.0 : x;
}

/// c's ends. It is an f32 number: those next to the ball's ends, inwards. The slack covers the difference's rounding.
ASSAY_INLINE void load(const double* mid, const double* radius, ends& c) {
  constexpr std::uint64_t below_f32 = (std::uint64_t{1} << 29) - 1;
  for (int l = 0; l < block; ++l) {
    const double slack = 0x1p-51 * (std::fabs(mid[l]) + radius[l]);
    const double lo = mid[l] - radius[l] - slack, hi = mid[l] + radius[l] + slack;
    const double lo_in = without(lo, below_f32), hi_in = without(hi, below_f32);
    const auto outwards = [](double x) {
      return std::bit_cast<double>(std::bit_cast<std::uint64_t>(x) + below_f32 + 1);
    };
    const double least = lo > 0 && lo_in < lo ? outwards(lo_in) : lo_in;
    const double most = hi < 0 && hi_in > hi ? outwards(hi_in) : hi_in;
    c.lo[l] = radius[l] == 0 ? mid[l] : std::fabs(lo) < f32_least ? lo : least;
    c.hi[l] = radius[l] == 0 ? mid[l] : std::fabs(hi) < f32_least ? hi : most;
  }
}

/// Notes lanes that are NaN, infinite or beyond f32 at either end. What later groups make of them is not followed: such
/// a lane stays unbounded, also where a unit would leave out c.
ASSAY_INLINE void note_unbounded(const ends& c, lanes_of& unbounded) {
  for (int l = 0; l < block; ++l) {
    const bool is_bounded = (std::fabs(c.lo[l]) <= f32_largest) & (std::fabs(c.hi[l]) <= f32_largest);
    unbounded[l] = is_bounded ? unbounded[l] : 1.0;  // also for NaN
  }
}

ASSAY_INLINE void store(const ends& c, const lanes_of& unbounded, double* mid, double* radius) {
  for (int l = 0; l < block; ++l) {
    const double lo = c.lo[l], hi = c.hi[l], middle = (lo + hi) / 2, half = (hi - lo) / 2;
    const bool is_bounded = unbounded[l] == 0;
    mid[l] = is_bounded ? middle : 0.0;
    radius[l] = !is_bounded ? std::numeric_limits<double>::infinity()
                : half == 0 ? 0.0
                            : half + 0x1p-52 * std::fabs(middle);
  }
}

/// Powers of two of the largest exponents of the products, least and most; 0 where there may be none.
ASSAY_INLINE void products_tops(const factors& terms, const double* b, std::int64_t lanes, const form& f,
                                lanes_of& small, lanes_of& large) {
  for (int l = 0; l < block; ++l) small[l] = large[l] = 0;
  for (std::int64_t i = 0; i < terms.count; ++i) {
    const factor& a = terms.first[i];
    const double* const of_k = b + a.k * lanes;
    for (int l = 0; l < block; ++l) {
      const double size = std::fabs(of_k[l]), normal = larger(power_below(of_k[l]), f.least);
      const double counted = f.of_product ? size : (size > 0 ? normal : 0.0);
      const double used = f.flushes_inputs && size < f.least ? 0.0 : counted;
      small[l] = larger(a.small * used, small[l]);
      large[l] = larger(a.large * used, large[l]);
    }
  }
  if (f.of_product)
    for (int l = 0; l < block; ++l) small[l] = power_below(small[l]), large[l] = power_below(large[l]);
}

/// The units of a cut between the exponents `small` and `large` (powers of two, 0 for none).
struct cutting {
  double fine_scale, fine_unit, coarse_scale, coarse_unit;
  double slack;  ///< one more fine unit, where the fine one stands for finer ones
};
ASSAY_INLINE cutting cutting_of(double small, double large, double bits) {
  const double coarse = large > 0 ? large : 1.0, least = coarse * nearest_binades;
  const double fine = small > least ? small : large > 0 ? least : 1.0;
  const double unit = fine / bits;
  return {bits / fine, unit, bits / coarse, coarse / bits, large > 0 && small < least ? unit : 0.0};
}

/// Of one term with the given ends: what it adds to both ends of the sum. See the head of this file.
ASSAY_INLINE void add_cut(double lo, double hi, const cutting& t, bool down, double& to_lo, double& to_hi) {
  const bool lo_coarse = down || lo >= 0, hi_fine = down || hi >= 0;
  to_lo +=
      cut_to(lo, lo_coarse ? t.coarse_scale : t.fine_scale, lo_coarse ? t.coarse_unit : t.fine_unit, down) - t.slack;
  to_hi += cut_to(hi, hi_fine ? t.fine_scale : t.coarse_scale, hi_fine ? t.fine_unit : t.coarse_unit, down) + t.slack;
}

/// The aligned sum of the terms' products. With `is_point` all ends are equal, and so are the exponents.
ASSAY_INLINE void add_products(const factors& terms, const double* b, std::int64_t lanes, const form& f, bool is_point,
                               const lanes_of& small, const lanes_of& large, ends& sum) {
  cutting t[block];
  for (int l = 0; l < block; ++l) t[l] = cutting_of(small[l], large[l], f.fraction);
  for (std::int64_t i = 0; i < terms.count; ++i) {
    const factor& a = terms.first[i];
    const double* const of_k = b + a.k * lanes;
    if (is_point) {
      for (int l = 0; l < block; ++l) {
        const double y = f.flushes_inputs ? flushed(of_k[l], f.least) : of_k[l];
        sum.lo[l] += cut_to(a.least * y, t[l].coarse_scale, t[l].coarse_unit, f.down);
      }
      continue;
    }
    for (int l = 0; l < block; ++l) {
      const double y = f.flushes_inputs ? flushed(of_k[l], f.least) : of_k[l];
      const double one = a.least * y, other = a.most * y;
      add_cut(y >= 0 ? one : other, y >= 0 ? other : one, t[l], f.down, sum.lo[l], sum.hi[l]);
    }
  }
  if (is_point)
    for (int l = 0; l < block; ++l) sum.hi[l] = sum.lo[l];
}

/// Powers of two of c's exponent, least and most.
ASSAY_INLINE void c_tops(const ends& c, lanes_of& small, lanes_of& large) {
  for (int l = 0; l < block; ++l) {
    const double a = std::fabs(c.lo[l]), z = std::fabs(c.hi[l]);
    const double most = larger(a, z), least = c.lo[l] <= 0 && c.hi[l] >= 0 ? 0.0 : (a < z ? a : z);
    large[l] = most > 0 ? larger(power_below(most), f32_least) : 0.0;
    small[l] = least > 0 ? larger(power_below(least), f32_least) : 0.0;
  }
}

/// All terms and c in one alignment.
ASSAY_INLINE void join_together(const group_view& g, const double* b, std::int64_t lanes, const form& f, bool is_point,
                                ends& c) {
  lanes_of small, large, c_small, c_large;
  products_tops(g.part[0], b, lanes, f, small, large);
  c_tops(c, c_small, c_large);
  ends sum{};
  for (int l = 0; l < block; ++l) {
    // Without a term the sum is 0, whatever the exponent.
    const double at_least = c_large[l] > 0 || large[l] > 0 ? least_aligned : 0.0;
    small[l] = larger(larger(small[l], c_small[l]), at_least);
    large[l] = larger(larger(large[l], c_large[l]), at_least);
    add_cut(c.lo[l], c.hi[l], cutting_of(small[l], large[l], f.fraction), f.down, sum.lo[l], sum.hi[l]);
  }
  add_products(g.part[0], b, lanes, f, is_point, small, large, sum);
  for (int l = 0; l < block; ++l) {
    c.lo[l] = rounded(sum.lo[l], f);
    c.hi[l] = rounded(sum.hi[l], f);
  }
}

/// The products first, then c, each cut down.
ASSAY_INLINE void join_later(const group_view& g, bool has_parts, const double* b, std::int64_t lanes, const form& f,
                             bool is_point, ends& c) {
  lanes_of small, large;
  ends sum{};
  products_tops(g.part[0], b, lanes, f, small, large);
  add_products(g.part[0], b, lanes, f, is_point, small, large, sum);
  if (has_parts) {
    lanes_of other_small, other_large;
    ends other{};
    products_tops(g.part[1], b, lanes, f, other_small, other_large);
    add_products(g.part[1], b, lanes, f, is_point, other_small, other_large, other);
    for (int l = 0; l < block; ++l) {
      small[l] = larger(small[l], other_small[l]);
      large[l] = larger(large[l], other_large[l]);
      const cutting t = cutting_of(small[l], large[l], f.fraction);
      double lo = 0, hi = 0;
      add_cut(sum.lo[l], sum.hi[l], t, true, lo, hi);
      add_cut(other.lo[l], other.hi[l], t, true, lo, hi);
      sum.lo[l] = lo;
      sum.hi[l] = hi;
    }
  }
  lanes_of c_small, c_large;
  c_tops(c, c_small, c_large);
  for (int l = 0; l < block; ++l) {
    small[l] = larger(small[l], c_small[l]);
    large[l] = larger(large[l], c_large[l]);
    double lo = 0, hi = 0, c_lo = 0, c_hi = 0;
    add_cut(sum.lo[l], sum.hi[l], cutting_of(small[l], large[l], f.sum), true, lo, hi);
    add_cut(c.lo[l], c.hi[l], cutting_of(small[l], large[l], f.fraction), true, c_lo, c_hi);
    // A c below the reach of every exponent is left out; one below the reach of some may be.
    const bool is_never = c_large[l] < small[l] * f.reach, may_be = c_small[l] < large[l] * f.reach;
    c.lo[l] = rounded(lo + (is_never ? 0.0 : may_be && c_lo > 0 ? 0.0 : c_lo), f);
    c.hi[l] = rounded(hi + (is_never ? 0.0 : may_be && c_hi < 0 ? 0.0 : c_hi), f);
  }
}

/// Both ends of the product with one element of a lane.
ASSAY_INLINE void product_of(const factor& a, double b, const form& f, double& lo, double& hi) {
  const double y = f.flushes_inputs ? flushed(b, f.least) : b, one = a.least * y, other = a.most * y;
  lo = y >= 0 ? one : other;
  hi = y >= 0 ? other : one;
}

ASSAY_INLINE void fuse(const factors& terms, const double* b, std::int64_t lanes, const form& f, ends& c) {
  for (std::int64_t i = 0; i < terms.count; ++i)
    for (int l = 0; l < block; ++l) {
      const factor& a = terms.first[i];
      double lo = 0, hi = 0;
      product_of(a, b[a.k * lanes + l], f, lo, hi);
      const double least = sum_in_f32(lo, c.lo[l]), most = sum_in_f32(hi, c.hi[l]);
      c.lo[l] = f.flushes_results ? flushed(least, f32_least) : least;
      c.hi[l] = f.flushes_results ? flushed(most, f32_least) : most;
    }
}

constexpr int largest_group = 64;

ASSAY_INLINE void add_pairwise(const factors& tree, const double* b, std::int64_t lanes, const form& f, ends& c) {
  const auto f32 = [&](double x) {
    const auto y = static_cast<double>(static_cast<float>(x));
    return f.flushes_results ? flushed(y, f32_least) : y;
  };
  for (int l = 0; l < block; ++l) {
    double lo[largest_group] = {}, hi[largest_group] = {};
    for (std::int64_t i = 0; i < tree.count; ++i) {
      if (tree.first[i].k < 0) continue;
      product_of(tree.first[i], b[tree.first[i].k * lanes + l], f, lo[i], hi[i]);
      lo[i] = f32(lo[i]);
      hi[i] = f32(hi[i]);
    }
    // Neighbours of a binary tree over halves: i and i + 1, then i and i + 2, ...
    for (std::int64_t distance = 1; distance < tree.count; distance *= 2)
      for (std::int64_t i = 0; i + distance < tree.count; i += 2 * distance) {
        lo[i] = f32(sum_in_f32(lo[i], lo[i + distance]));
        hi[i] = f32(sum_in_f32(hi[i], hi[i + distance]));
      }
    c.lo[l] = f32(sum_in_f32(lo[0], c.lo[l]));
    c.hi[l] = f32(sum_in_f32(hi[0], c.hi[l]));
  }
}

ASSAY_INLINE void add_held(const ends& held, const form& f, ends& c) {
  for (int l = 0; l < block; ++l) {
    const double lo = sum_in_f32(held.lo[l], c.lo[l]), hi = sum_in_f32(held.hi[l], c.hi[l]);
    c.lo[l] = f.flushes_results ? flushed(lo, f32_least) : lo;
    c.hi[l] = f.flushes_results ? flushed(hi, f32_least) : hi;
  }
}

form form_of(const matrix_atom& a) {
  form f{};
  f.least = std::ldexp(1.0, a.least_exponent);
  f.fraction = std::ldexp(1.0, a.fraction_bits);
  f.sum = std::ldexp(1.0, a.sum_bits);
  f.reach = a.c_reach > 0 ? std::ldexp(1.0, -a.c_reach) : 0.0;
  f.dropped = (std::uint64_t{1} << (52 - a.result_bits)) - 1;
  f.subnormals = std::ldexp(1.0, 126 + a.result_bits);
  f.of_product = a.exponent == product_exponent::of_product;
  f.down = a.alignment == cut::down;
  f.flushes_inputs = a.flushes_inputs != 0;
  f.flushes_results = a.flushes_results != 0;
  f.result = a.result;
  return f;
}

factor factor_of(double least, double most, std::int64_t k, const form& f) {
  if (f.flushes_inputs) least = flushed(least, f.least), most = flushed(most, f.least);
  const double a = std::fabs(least), z = std::fabs(most);
  double large = larger(a, z), small = least <= 0 && most >= 0 ? 0.0 : (a < z ? a : z);
  if (!f.of_product) {
    large = large > 0 ? larger(power_below(large), f.least) : 0.0;
    small = small > 0 ? larger(power_below(small), f.least) : 0.0;
  }
  return {least, most, small, large, k};
}

/// The groups of the atoms of [0, extent), in their order. Those without a term are left out where they change no c.
std::vector<group_terms> groups_of(const double* a_least, const double* a_most, std::int64_t first, std::int64_t end,
                                   std::int64_t extent, const matrix_atom& atom, const form& f) {
  const std::int64_t products = atom.products, count = atom.sum == atom_sum::fused ? 1 : products / atom.group;
  const bool changes_c = f.flushes_inputs || f.flushes_results || atom.result_bits < 23 || atom.fraction_bits < 23;
  std::vector<group_terms> all;
  for (std::int64_t base = 0; base < extent; base += products) {
    const std::size_t before = all.size();
    std::vector<group_terms> of_atom(static_cast<std::size_t>(count));
    if (atom.sum == atom_sum::pairwise)
      for (group_terms& g : of_atom) g.tree.assign(static_cast<std::size_t>(atom.group), factor{0, 0, 0, 0, -1});
    for (std::int64_t k = std::max(base, first); k < std::min(base + products, end); ++k) {
      const std::int64_t run = (k - base) / atom.run, i = run / count * atom.run + (k - base) % atom.run;
      group_terms& g = of_atom[static_cast<std::size_t>(run % count)];
      const factor a = factor_of(a_least[k], a_most[k], k, f);
      g.part[i % atom.parts].push_back(a);
      if (atom.sum == atom_sum::pairwise) g.tree[static_cast<std::size_t>(i)] = a;
    }
    for (group_terms& g : of_atom)
      if (changes_c || !g.part[0].empty() || !g.part[1].empty()) all.push_back(std::move(g));
    if (all.size() > before) all[before].is_first = all.back().is_last = true;
  }
  return all;
}

ASSAY_CLONES
void run_groups(const group_view* groups, std::int64_t count, const double* b, std::int64_t lanes,
                const matrix_atom& atom, const form& f, bool is_point, double* mid, double* radius) {
  for (std::int64_t first = 0; first < lanes; first += block) {
    ends c, held;
    lanes_of unbounded{};
    load(mid + first, radius + first, c);
    note_unbounded(c, unbounded);
    for (std::int64_t i = 0; i < count; ++i) {
      const group_view& g = groups[i];
      bool all_points = is_point;
      if (atom.adds_c_last != 0 && g.is_first) {
        held = c;
        c = {};
      }
      for (int l = 0; l < block; ++l) {
        all_points &= c.lo[l] == c.hi[l];
        if (f.flushes_inputs) c.lo[l] = flushed(c.lo[l], f32_least), c.hi[l] = flushed(c.hi[l], f32_least);
      }
      if (atom.sum == atom_sum::fused)
        fuse(g.part[0], b + first, lanes, f, c);
      else if (atom.sum == atom_sum::pairwise)
        add_pairwise(g.tree, b + first, lanes, f, c);
      else if (atom.joins_c_later != 0)
        join_later(g, atom.parts == 2, b + first, lanes, f, all_points, c);
      else
        join_together(g, b + first, lanes, f, all_points, c);
      note_unbounded(c, unbounded);
      if (atom.adds_c_last != 0 && g.is_last) {
        add_held(held, f, c);
        note_unbounded(c, unbounded);
      }
    }
    store(c, unbounded, mid + first, radius + first);
  }
}

}  // namespace

void multiply_exactly(const double* a_least, const double* a_most, const double* b, std::int64_t first,
                      std::int64_t end, std::int64_t extent, std::int64_t lanes, const matrix_atom& atom, double* mid,
                      double* radius) {
  const form f = form_of(atom);
  bool is_point = true;
  for (std::int64_t k = first; k < end; ++k) is_point &= a_least[k] == a_most[k];  // false for NaN
  const std::vector<group_terms> groups = groups_of(a_least, a_most, first, end, extent, atom, f);
  const auto row = [](const std::vector<factor>& v) { return factors{v.data(), std::ssize(v)}; };
  std::vector<group_view> views;
  views.reserve(groups.size());
  for (const group_terms& g : groups)
    views.push_back({{row(g.part[0]), row(g.part[1])}, row(g.tree), g.is_first, g.is_last});
  run_groups(views.data(), std::ssize(views), b, lanes, atom, f, is_point, mid, radius);
}

void dot_exact_atoms(const double* query, const double* keys, std::int64_t dim, std::int64_t lanes,
                     const matrix_atom& atom, double* mid, double* radius) {
  std::fill(mid, mid + lanes, 0.0);
  std::fill(radius, radius + lanes, 0.0);
  multiply_exactly(query, query, keys, 0, dim, dim, lanes, atom, mid, radius);
}

}  // namespace assay::oracle
