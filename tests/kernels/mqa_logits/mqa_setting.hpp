/// An mqa_logits problem with its tensors, for tests of the kernel alone: random data in the live keys, NaN in all dead
/// memory, unused pages that must not be touched where they fill whole pages of the host, page tables of exactly the
/// needed length, canaries around and between the rows of logits, and the definition in binary64 beside it.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/library.h"
#include "kernels/tensor.hpp"
#include "tests/kernels/guarded.hpp"

namespace assay::mqa {

/// What a test says of its problem; the rest follows.
struct setting {
  std::vector<std::int32_t> contexts;
  std::int32_t max_model_len = 0;
  std::int32_t next_n = 1;
  dtype type = dtype::e4m3fn;
  std::int32_t heads = 32;
  std::int32_t head_dim = 128;
  std::int32_t page_size = 16;
  key_order order = key_order::plain;
  page_table_kind page_table = page_table_kind::block_table;
  context_split split_contexts = context_split::fixed;
  std::int32_t num_splits = 1;
  bool fills_hidden = true;
  std::int32_t row_margin = 0;  ///< columns between the rows of logits
  std::uint64_t seed = 1;
};

std::string text(const setting& s);

/// One that must be a kernel of the library.
const assay_kernel& kernel();

/// The tensors of a setting and what the kernel makes of them.
class trial {
 public:
  explicit trial(const setting& s);
  trial(const trial&) = delete;
  trial& operator=(const trial&) = delete;

  /// Runs on canaries. `but_without`: the name of a tensor that is not given; `row_stride`: stated instead of the real.
  assay_status run(const assay_launch& launch, const char* but_without = nullptr, std::int64_t row_stride = -1);

  /// seqlens_k of every sequence from now on, whatever its pages hold.
  void claim_contexts(std::int32_t keys) { setting_.contexts.assign(setting_.contexts.size(), keys); }

  /// One line about the first element that is not what it must be, canaries included; empty if there is none.
  std::string first_fault() const;

  problem scalars;
  std::vector<std::uint32_t> logits;  ///< bits, with everything around the rows

 private:
  std::size_t key_at(std::int32_t page, std::int32_t slot, std::int32_t dim) const;
  void hide_unused_pages();
  struct comparison {
    double exact, bound;
  };
  comparison define(std::size_t s, std::int64_t row, std::int32_t key) const;

  setting setting_;
  std::int64_t row_stride_;
  std::array<double, 256> value_;                 // of each code
  std::vector<std::vector<std::int32_t>> pages_;  // of each sequence
  std::vector<std::uint8_t> q_;
  std::vector<float> weights_;
  guarded<std::uint8_t> k_;
  std::vector<float> k_row_scale_;
  guarded<std::int32_t> table_, indptr_;
};

}  // namespace assay::mqa
