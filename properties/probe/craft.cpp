#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>
#include <random>

#include "oracle/decode.hpp"
#include "properties/probe/probe.hpp"

namespace assay::probe {
namespace {

/// How a tile's numbers are drawn.
struct style {
  int spread;           ///< binades of the operands
  bool has_subnormals;  ///< a third of them
  bool has_zeros;       ///< half of k is 0 times a large number, the rest is tiny
  bool cancels;         ///< neighbours in k cancel
  bool has_equal_signs;
  bool walks;  ///< products of single bits, each lower than the one before
};
constexpr style styles[] = {
    {0, false, false, false, false, false}, {3, false, false, false, false, false},
    {8, false, false, false, false, false}, {14, false, false, false, false, false},
    {24, false, false, false, true, false}, {6, true, false, false, false, false},
    {14, true, false, true, false, false},  {4, false, true, false, false, false},
    {4, false, false, true, false, false},  {10, false, false, true, false, false},
    {0, false, false, false, false, true},  {0, false, false, true, true, true},
};

/// Bits of a floating-point type of up to 16 bits.
struct layout {
  int fraction, exponents;
  std::int64_t bytes;
};
layout layout_of(dtype type) {
  switch (type) {
    case dtype::f16: return {10, 31, 2};
    case dtype::bf16: return {7, 255, 2};
    case dtype::e5m2:
    case dtype::e5m2fnuz: return {2, 31, 1};
    default: return {3, 15, 1};
  }
}

class drawer {
 public:
  drawer(dtype type, std::uint64_t seed) : type_(type), layout_(layout_of(type)), random_(seed) {}

  std::uint64_t bits(std::uint64_t below) { return random_() % below; }

  /// A finite code with a biased exponent of at most the type's; 0 makes subnormals.
  std::uint32_t code(int exponent, std::uint32_t fraction, bool negative) {
    const int sign_at = static_cast<int>(layout_.bytes) * 8 - 1;
    const int clamped = std::clamp(exponent, 0, layout_.exponents - 1);
    const std::uint32_t made = static_cast<std::uint32_t>(clamped) << layout_.fraction | fraction;
    return made | (negative && made != 0 ? 1U << sign_at : 0U);
  }
  std::uint32_t draw(const style& s) {
    const bool negative = !s.has_equal_signs && bits(2) != 0;
    const auto fraction = static_cast<std::uint32_t>(bits(1U << layout_.fraction));
    if (s.has_subnormals && bits(3) == 0) return code(0, fraction, negative);
    const int middle = layout_.exponents / 2, spread = std::min(s.spread, layout_.exponents - 3);
    const int lowest = std::max(1, middle - spread / 2);
    return code(lowest + static_cast<int>(bits(static_cast<std::uint64_t>(spread) + 1)), fraction, negative);
  }
  float accumulator(const style& s) {
    const auto dice = bits(16);
    if (dice == 0 || s.walks) return 0;
    const int spread = 2 * s.spread + 9;
    int e = static_cast<int>(bits(static_cast<std::uint64_t>(spread))) - spread / 2;
    if (s.has_subnormals || s.has_zeros) e -= type_ == dtype::bf16 ? 60 : 14;
    const double x = std::ldexp(1 + static_cast<double>(bits(1U << 23)) * 0x1p-23, e);
    return static_cast<float>(bits(2) != 0 ? -x : x);
  }
  int middle() const { return layout_.exponents / 2; }
  int last() const { return layout_.exponents - 2; }
  int fraction_bits() const { return layout_.fraction; }
  std::int64_t bytes() const { return layout_.bytes; }

 private:
  dtype type_;
  layout layout_;
  std::mt19937_64 random_;
};

void put(std::vector<std::uint8_t>& to, std::int64_t at, std::int64_t bytes, std::uint32_t code) {
  std::memcpy(to.data() + at * bytes, &code, static_cast<std::size_t>(bytes));
}

/// Rows of one operand. The two operands of a walk hold powers of two whose products go down by one bit from k to k.
void fill(drawer& d, const style& s, bool is_a, std::int64_t first, std::int64_t depth, std::vector<std::uint8_t>& to) {
  const auto most = (1U << d.fraction_bits()) - 1;
  for (std::int64_t row = 0; row < 16; ++row) {
    const auto step = static_cast<int>(d.bits(4));
    std::uint32_t before = 0;
    for (std::int64_t k = 0; k < depth; ++k) {
      std::uint32_t made = d.draw(s);
      const auto at = static_cast<int>(k);
      if (s.walks)
        made = d.code(d.middle() - (is_a ? at * step / 2 : static_cast<int>(d.bits(4))), d.bits(4) == 0 ? most : 0,
                      is_a && !s.has_equal_signs && d.bits(2) != 0);
      if (s.has_zeros && k % 2 != 0)
        made = is_a ? 0 : d.code(d.last(), static_cast<std::uint32_t>(d.bits(most)), false);
      if (s.has_zeros && k % 2 == 0) made = d.code(1 + static_cast<int>(d.bits(4)), made & most, d.bits(2) != 0);
      // A's neighbours differ in sign, B's are equal: their products cancel.
      if (s.cancels && k % 2 != 0) made = is_a ? before ^ 1U << (d.bytes() * 8 - 1) : before;
      if (made == 1U << (d.bytes() * 8 - 1)) made = 0;  // FNUZ's NaN, and no -0 of others
      if (s.cancels && k % 8 == 7 && !is_a) made = d.draw(s);
      put(to, (first + row) * depth + k, d.bytes(), made);
      before = made;
    }
  }
}

}  // namespace

tiles craft(dtype type, std::int64_t depth, std::int64_t count, std::uint64_t seed) {
  tiles t{type, depth, count, {}, {}, {}, {}};
  drawer d(type, seed);
  t.a.resize(static_cast<std::size_t>(count * 16 * depth * d.bytes()));
  t.b.resize(t.a.size());
  t.c.resize(static_cast<std::size_t>(count * 256));
  t.d.resize(t.c.size());
  for (std::int64_t tile = 0; tile < count; ++tile) {
    const style& s = styles[static_cast<std::size_t>(tile) % std::size(styles)];
    fill(d, s, true, tile * 16, depth, t.a);
    fill(d, s, false, tile * 16, depth, t.b);
    for (std::int64_t i = 0; i < 256; ++i) t.c[static_cast<std::size_t>(tile * 256 + i)] = d.accumulator(s);
  }
  return t;
}

}  // namespace assay::probe
