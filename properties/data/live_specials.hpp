/// Live data that is not finite: a few elements of Q, K and V, and of mqa_logits' weights, are NaN or infinite
/// (data_recipe::specials). Most rows and columns do not meet one.
///
/// Of each sequence, by chance: an element of Q in one of four sequences, an element of K in one of four, one or two
/// elements of V. Of mqa_logits, whose keys reach one column each, an element of K in every sequence, and a weight in
/// one of four. Of append_kv elements of old keys and values alone, near the new rows: problem.hpp wants new rows
/// finite.
///
/// Logits of +inf are undecided (oracle/semantics.md). So where Q and K may be infinite, all elements of Q at one
/// dim of each kv head are positive, all of K there have the sign that makes logits of -inf, and infinities lie there.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "properties/data/recipe.hpp"

namespace assay {

class live_specials {
 public:
  explicit live_specials(const attention_case& c);

  /// What the element holds: `bits`, unless it is one of the special ones.
  std::uint32_t q(const place& at, std::uint32_t bits) const;
  std::uint32_t k(const place& at, std::uint32_t bits) const;
  std::uint32_t v(const place& at, std::uint32_t bits) const;
  std::uint32_t weight(const place& at, std::uint32_t bits) const;

  /// How many elements are NaN, or infinite. Pages in two places may hold fewer.
  std::int64_t nans() const { return nans_; }
  std::int64_t infinities() const { return infinities_; }

 private:
  /// An element of a sequence, without its number.
  struct element {
    std::int64_t index, head, dim;
    std::uint32_t bits;
    bool is_at(const place& p) const { return p.index == index && p.head == head && p.dim == dim; }
  };
  struct of_sequence {
    std::optional<element> q, k, weight;
    std::optional<element> v[2];
  };

  of_sequence draw(std::int64_t sequence) const;
  std::uint64_t noise(std::int64_t sequence, std::uint64_t what) const;
  /// The special bits of a type; nothing where it has none of the kind.
  std::optional<std::uint32_t> bits_of(dtype type, std::uint64_t chance, bool is_negative) const;
  std::int64_t signed_dim(std::int64_t head_kv) const;
  std::uint32_t with_sign(dtype type, std::uint32_t bits, bool is_negative) const;
  void count(dtype type, const std::optional<element>& e);

  const attention_case& case_;
  bool gives_signs_ = false;               ///< to Q and K at signed_dim()
  bool k_is_negative_ = false;             ///< there, beside positive Q
  std::vector<std::int64_t> signed_dims_;  ///< by kv head
  std::vector<of_sequence> of_sequences_;  ///< empty: there are none
  std::int64_t nans_ = 0;
  std::int64_t infinities_ = 0;
};

}  // namespace assay
