#include "properties/data/live_specials.hpp"

#include <algorithm>

#include "properties/case/number.hpp"
#include "properties/case/operation.hpp"
#include "properties/data/noise.hpp"

namespace assay {
namespace {

enum draw_of : std::uint64_t { of_q = 1, of_k, of_v, of_second_v, of_weight, of_dim };

std::int64_t below(std::uint64_t& chance, std::int64_t count) {
  chance = mix(chance);
  return static_cast<std::int64_t>(chance % static_cast<std::uint64_t>(count));
}

/// Keys of which one gets special elements: of append_kv the last old ones, whose page may get new rows.
key_range candidates(const attention_case& c, const sequence& s) {
  const operation& op = describe(c);
  if (op.kind != operation_kind::append_kv) return {0, s.k};
  const std::int64_t end = op.live_keys(c, s).end;
  constexpr std::int64_t near = 8;
  return {std::max<std::int64_t>(0, end - near), end};
}

}  // namespace

live_specials::live_specials(const attention_case& c) : case_(c) {
  if (c.data.specials == special_kind::none) return;
  const bool is_attention = describe(c).kind == operation_kind::attention;
  gives_signs_ = c.data.specials != special_kind::nans && is_attention && has_infinities(c.q_type);
  const bool factor_is_negative = (c.scale < 0) != ((c.q_scale < 0) != (c.k_scale < 0));
  k_is_negative_ = !factor_is_negative;
  for (std::int64_t head = 0; head < c.heads_kv; ++head) signed_dims_.push_back(signed_dim(head));
  for (std::size_t s = 0; s < c.sequences.size(); ++s) {
    of_sequences_.push_back(draw(static_cast<std::int64_t>(s)));
    const of_sequence& drawn = of_sequences_.back();
    count(c.q_type, drawn.q);
    count(c.kv_type, drawn.k);
    count(dtype::f32, drawn.weight);
    for (const std::optional<element>& v : drawn.v) count(v_type(c), v);
  }
}

std::uint64_t live_specials::noise(std::int64_t sequence, std::uint64_t what) const {
  constexpr std::uint64_t of_specials = 0xA5;
  return mix(mix(case_.data.seed ^ (of_specials << 56)) ^ (static_cast<std::uint64_t>(sequence) << 8) ^ what);
}

std::int64_t live_specials::signed_dim(std::int64_t head_kv) const {
  std::uint64_t chance = noise(head_kv, of_dim);
  return below(chance, case_.head_dim_qk);
}

live_specials::of_sequence live_specials::draw(std::int64_t sequence) const {
  const assay::sequence& s = case_.sequences[static_cast<std::size_t>(sequence)];
  const operation_kind kind = describe(case_).kind;
  const key_range keys = candidates(case_, s);
  const std::int64_t group = case_.heads_q / case_.heads_kv;
  of_sequence drawn;
  std::uint64_t chance = noise(sequence, of_q);
  if (s.q > 0 && kind != operation_kind::append_kv && chance % 4 == 0) {
    const std::int64_t row = below(chance, s.q), head = below(chance, case_.heads_q);
    const auto bits = bits_of(case_.q_type, mix(chance), false);
    const std::int64_t dim =
        gives_signs_ ? signed_dims_[static_cast<std::size_t>(head / group)] : below(chance, case_.head_dim_qk);
    if (bits) drawn.q = {row, head, dim, *bits};
  }
  if (keys.first >= keys.end) return drawn;
  const auto any_key = [&] { return keys.first + below(chance, keys.end - keys.first); };
  chance = noise(sequence, of_k);
  if (kind != operation_kind::attention || chance % 4 == 0) {
    const std::int64_t key = any_key(), head = below(chance, case_.heads_kv);
    const auto bits = bits_of(case_.kv_type, mix(chance), k_is_negative_);
    const std::int64_t dim =
        gives_signs_ ? signed_dims_[static_cast<std::size_t>(head)] : below(chance, case_.head_dim_qk);
    if (bits) drawn.k = {key, head, dim, *bits};
  }
  for (std::size_t nth = 0; nth < 2; ++nth) {
    chance = noise(sequence, nth == 0 ? of_v : of_second_v);
    if (nth == 1 && chance % 2 == 0) continue;
    const std::int64_t key = any_key(), head = below(chance, case_.heads_kv), dim = below(chance, case_.head_dim_v);
    const auto bits = bits_of(v_type(case_), mix(chance), chance % 2 == 0);
    if (bits) drawn.v[nth] = {key, head, dim, *bits};
  }
  chance = noise(sequence, of_weight);
  if (s.q > 0 && kind == operation_kind::mqa_logits && chance % 4 == 0) {
    const std::int64_t row = below(chance, s.q);
    drawn.weight = {row, below(chance, case_.heads_q), 0, poison_pattern(dtype::f32, poison_kind::nan)};
  }
  return drawn;
}

std::optional<std::uint32_t> live_specials::bits_of(dtype type, std::uint64_t chance, bool is_negative) const {
  if (type == dtype::i8) return std::nullopt;
  const special_kind kind = case_.data.specials;
  const bool wants_infinity = kind == special_kind::infinities || (kind == special_kind::both && chance % 2 == 0);
  if (wants_infinity && has_infinities(type)) {
    const number_format f = format_of(type);
    return (f.last_finite + 1) | (is_negative ? f.sign : 0);
  }
  if (kind == special_kind::infinities) return std::nullopt;
  const std::uint32_t nan = poison_pattern(type, poison_kind::nan);
  return is_fnuz(type) || chance % 4 < 2 ? nan : nan | format_of(type).sign;
}

std::uint32_t live_specials::with_sign(dtype type, std::uint32_t bits, bool is_negative) const {
  const std::uint32_t sign = format_of(type).sign, magnitude = bits & ~sign;
  return magnitude != 0 && is_negative ? magnitude | sign : magnitude;  // the fnuz types have no -0
}

void live_specials::count(dtype type, const std::optional<element>& e) {
  if (!e) return;
  const number_format f = format_of(type);
  const bool is_infinite = has_infinities(type) && (e->bits & ~f.sign) == f.last_finite + 1;
  ++(is_infinite ? infinities_ : nans_);
}

std::uint32_t live_specials::q(const place& at, std::uint32_t bits) const {
  if (of_sequences_.empty()) return bits;
  const of_sequence& s = of_sequences_[static_cast<std::size_t>(at.sequence)];
  if (s.q && s.q->is_at(at)) return s.q->bits;
  const std::int64_t group = case_.heads_q / case_.heads_kv;
  const bool is_signed = gives_signs_ && at.dim == signed_dims_[static_cast<std::size_t>(at.head / group)];
  return is_signed ? with_sign(case_.q_type, bits, false) : bits;
}

std::uint32_t live_specials::k(const place& at, std::uint32_t bits) const {
  if (of_sequences_.empty()) return bits;
  const of_sequence& s = of_sequences_[static_cast<std::size_t>(at.sequence)];
  if (s.k && s.k->is_at(at)) return s.k->bits;
  const bool is_signed = gives_signs_ && at.dim == signed_dims_[static_cast<std::size_t>(at.head)];
  return is_signed ? with_sign(case_.kv_type, bits, k_is_negative_) : bits;
}

std::uint32_t live_specials::v(const place& at, std::uint32_t bits) const {
  if (of_sequences_.empty()) return bits;
  for (const std::optional<element>& e : of_sequences_[static_cast<std::size_t>(at.sequence)].v)
    if (e && e->is_at(at)) return e->bits;
  return bits;
}

std::uint32_t live_specials::weight(const place& at, std::uint32_t bits) const {
  if (of_sequences_.empty()) return bits;
  const std::optional<element>& e = of_sequences_[static_cast<std::size_t>(at.sequence)].weight;
  return e && e->is_at(at) ? e->bits : bits;
}

}  // namespace assay
