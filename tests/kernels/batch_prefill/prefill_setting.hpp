/// A batch_prefill problem with its tensors, for tests of the kernel alone: random data in the live keys, NaN in all
/// dead memory, page tables of exactly the length that is needed in front of memory that must not be read, and the
/// definition of attention in binary64 beside it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/library.h"
#include "kernels/tensor.hpp"
#include "tests/kernels/guarded.hpp"

namespace assay::prefill {

struct sequence {
  std::int32_t queries;
  std::int32_t keys;
};

/// What a test says of its problem; the rest follows.
struct setting {
  std::vector<sequence> sequences;
  dtype type = dtype::e4m3fn;
  dtype o_type = dtype::f16;
  std::int32_t heads_q = 1, heads_kv = 1;
  std::int32_t head_dim_qk = 64, head_dim_v = 64;
  std::int32_t page_size = 16;
  page_table_kind page_table = page_table_kind::block_table;
  q_batching batching = q_batching::group;
  descale_kind kv_descale = descale_kind::per_tensor;
  bool causal = false;
  /// Empty: bottom-right alignment.
  std::vector<std::int32_t> prefix_offset = {};  // NOLINT(readability-redundant-member-init): may be left out
  float soft_cap = 0.0F;
  float v_scale = 1.0F;
  std::uint64_t seed = 1;
};

std::string text(const setting& s);

/// Elements of one or two bytes, NaN at first.
class codes {
 public:
  codes() = default;
  codes(dtype type, std::int64_t count);
  void set(std::int64_t i, std::uint16_t code);
  std::uint16_t get(std::int64_t i) const;
  std::int64_t size() const { return static_cast<std::int64_t>(bytes_.size()) / element_bytes_; }
  const void* data() const { return bytes_.data(); }

 private:
  std::int64_t element_bytes_ = 1;
  std::vector<std::uint8_t> bytes_;
};

/// The tensors of a setting and what the kernel makes of them.
class trial {
 public:
  explicit trial(const setting& s);
  trial(const trial&) = delete;
  trial& operator=(const trial&) = delete;

  assay_status run(const assay_launch& launch);

  /// An output element and where the definition of attention puts it.
  struct comparison {
    double actual, exact, bound;
  };
  std::vector<comparison> compare() const;

  problem scalars;
  std::vector<std::uint16_t> o;
  std::vector<float> lse;

 private:
  std::int64_t k_at(std::int64_t page, std::int64_t slot, std::int64_t head) const;
  std::int64_t v_at(std::int64_t page, std::int64_t slot, std::int64_t head) const;
  std::int32_t page_of(std::size_t s, std::int32_t key) const;
  void compare_row(std::size_t s, std::int64_t i, std::int32_t head, std::vector<comparison>& all) const;

  setting setting_;
  std::vector<std::vector<std::int32_t>> pages_;  // of each sequence
  codes q_, k_, v_;
  std::vector<float> k_descale_, v_descale_;
  std::vector<std::int32_t> first_query_, cu_seqlens_q_, seqlens_k_;
  guarded<std::int32_t> table_, indptr_;
};

}  // namespace assay::prefill
