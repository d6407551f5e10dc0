#include "kv_cache.hpp"

#include <hip/hip_fp16.h>

#include <algorithm>
#include <cstring>

namespace {

constexpr std::uint16_t minus_infinity = 0xFC00;
/// Of cells that hold no key. llama.cpp clears its cache when it makes it, and later leaves old numbers there.
constexpr std::uint16_t stale = 0x7BFF;

/// As many cells as the launcher needs to always cut them into 8 parts. Else the parts, and with them the roundings,
/// would depend on the longest sequence of a batch: llama.cpp does not promise the same bits for other batches.
std::int64_t cells_of(const assay::problem& p, std::int64_t most_keys) {
  const std::int64_t least = std::max(most_keys, std::int64_t{8} * p.head_dim_qk);
  return (least + kv_cache::cell_step - 1) / kv_cache::cell_step * kv_cache::cell_step;
}

const std::int32_t* ints(const assay::tensor& t) {
  return static_cast<const std::int32_t*>(t.data);
}

/// The page with the given number in its sequence.
std::int64_t page_of(const assay::attention_tensors& t, std::int64_t s, std::int64_t number) {
  if (t.block_table.data != nullptr) return ints(t.block_table)[t.block_table.offset(s, number)];
  return ints(t.page_indices)[ints(t.page_indptr)[s] + number];
}

std::uint16_t half_at(const assay::tensor& t, std::int64_t offset) {
  return static_cast<const std::uint16_t*>(t.data)[offset];
}

/// The cells of one sequence, from its pages. Slots behind its last key become cells as they are.
void gather(const assay::problem& p, const assay::attention_tensors& t, const assay::tensor& pool, std::int64_t s,
            std::uint16_t* cells) {
  const std::int64_t pages = (ints(t.seqlens_k)[s] + p.page_size - 1) / p.page_size, dims = pool.shape[3];
  for (std::int64_t number = 0; number < pages; ++number)
    for (std::int64_t slot = 0; slot < p.page_size; ++slot)
      for (std::int64_t h = 0; h < p.heads_kv; ++h) {
        const std::int64_t cell = number * p.page_size + slot;
        const std::uint16_t* const from =
            static_cast<const std::uint16_t*>(pool.data) + pool.offset(page_of(t, s, number), slot, h);
        std::memcpy(cells + (cell * p.heads_kv + h) * dims, from, static_cast<std::size_t>(dims) * sizeof *from);
      }
}

bool is_visible(const assay::problem& p, std::int64_t key, std::int64_t position) {
  return (p.causal == 0 || key <= position) && (p.window == 0 || key > position - p.window);
}

void fill_mask(const assay::problem& p, const assay::attention_tensors& t, std::int64_t s, std::int64_t row,
               std::int64_t row_of_batch, std::int64_t rows, std::uint16_t* mask) {
  const std::int64_t keys = ints(t.seqlens_k)[s];
  const std::int64_t position = row + (t.prefix_offset.data != nullptr ? ints(t.prefix_offset)[s] : keys - rows);
  for (std::int64_t key = 0; key < keys; ++key)
    if (is_visible(p, key, position))
      mask[key] = t.bias.data == nullptr ? 0 : half_at(t.bias, t.bias.offset(0, row_of_batch, key));
}

}  // namespace

float of_f16(std::uint16_t bits) {
  return __half2float(__ushort_as_half(bits));
}

std::uint16_t to_f16(float x) {
  return __half_as_ushort(__float2half(x));
}

kv_cache::kv_cache(const assay::problem& p, const assay::attention_tensors& t, const stream_range& streams)
    : of(streams),
      cells(cells_of(p, (streams.most_keys + p.page_size - 1) / p.page_size * p.page_size)),
      q(of.count * of.rows * p.heads_q * p.head_dim_qk),
      k(of.count * cells * p.heads_kv * p.head_dim_qk),
      v(of.count * cells * p.heads_kv * p.head_dim_v),
      mask((of.count * of.rows + spare_rows) * cells),
      dst(of.count * of.rows * p.heads_q * p.head_dim_v) {
  const std::int64_t k_cells = cells * p.heads_kv * p.head_dim_qk, v_cells = cells * p.heads_kv * p.head_dim_v;
  std::fill_n(k.get(), of.count * k_cells, stale);
  std::fill_n(v.get(), of.count * v_cells, stale);
  std::fill_n(mask.get(), of.count * of.rows * cells, minus_infinity);
  std::fill_n(mask.get() + of.count * of.rows * cells, spare_rows * cells, stale);
  for (std::int64_t stream = 0; stream < of.count; ++stream) {
    gather(p, t, t.k, of.first + stream, k.get() + stream * k_cells);
    gather(p, t, t.v, of.first + stream, v.get() + stream * v_cells);
    for (std::int64_t row = 0; row < of.rows; ++row) {
      const std::int64_t at = stream * of.rows + row, row_of_batch = of.first_row + at;
      fill_mask(p, t, of.first + stream, row, row_of_batch, of.rows, mask.get() + at * cells);
      for (std::int64_t h = 0; h < p.heads_q; ++h)
        for (std::int64_t d = 0; d < p.head_dim_qk; ++d)
          q[(at * p.heads_q + h) * p.head_dim_qk + d] = of_f16(half_at(t.q, t.q.offset(row_of_batch, h, d)));
    }
  }
}
