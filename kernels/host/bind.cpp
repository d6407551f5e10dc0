#include "kernels/host/bind.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <utility>

#include "kernels/host/check.hpp"
#include "kernels/platform/current.hpp"

namespace assay {
namespace {

/// Each element of a written tensor needs its own place, so each stride must exceed the span of all smaller strides.
/// This also refuses dimensions that interleave without overlap; no pool or output has such dimensions.
assay_status check_overlap(const expectation& e, const tensor& t) {
  std::pair<std::int64_t, int> steps[max_rank];  // magnitude of the stride, dimension
  int count = 0;
  for (int d = 0; d < t.rank; ++d)
    if (t.shape[d] > 1) steps[count++] = {t.stride[d] < 0 ? -t.stride[d] : t.stride[d], d};
  std::sort(steps, steps + count);
  std::int64_t span = 1;
  for (const auto& [step, d] : std::span(steps, static_cast<std::size_t>(count))) {
    if (step < span)
      return refuse(ASSAY_REJECTED, "tensor %s is written, but its elements overlap: stride %lld in dimension %d",
                    e.name, static_cast<long long>(t.stride[d]), d);
    span += step * (t.shape[d] - 1);
  }
  return {};
}

assay_status check_layout(const expectation& e, const tensor& t) {
  const std::int64_t element_bytes = size_bytes(t.type);
  const auto alignment_bytes = static_cast<std::uintptr_t>(element_bytes * e.vector_elements);
  if (alignment_bytes == 0) return refuse(ASSAY_REJECTED, "tensor %s has no element type", e.name);
  if (reinterpret_cast<std::uintptr_t>(t.data) % alignment_bytes != 0)
    return refuse(ASSAY_REJECTED, "tensor %s is not aligned to %d bytes", e.name, static_cast<int>(alignment_bytes));
  // Not size(): a product of extents that a caller made up may wrap to 0.
  if (std::find(t.shape, t.shape + t.rank, 0) != t.shape + t.rank) return {};
  if (t.data == nullptr) return refuse(ASSAY_REJECTED, "tensor %s has no data", e.name);
  __int128 reach = 0;
  for (int d = 0; d < t.rank; ++d) {
    if (t.shape[d] <= 1) continue;
    const std::int64_t stride = t.stride[d];
    if (d == t.rank - 1 && e.unit_last_stride && stride != 1)
      return refuse(ASSAY_REJECTED, "tensor %s has a last stride of %lld, must be 1", e.name,
                    static_cast<long long>(stride));
    if (d < t.rank - 1 && stride % e.vector_elements != 0)
      return refuse(ASSAY_REJECTED, "tensor %s has stride %lld in dimension %d, must be a multiple of %d", e.name,
                    static_cast<long long>(stride), d, e.vector_elements);
    const __int128 step = stride;
    reach += (step < 0 ? -step : step) * (t.shape[d] - 1);
  }
  if (reach > INT64_MAX / element_bytes - 1)
    return refuse(ASSAY_REJECTED, "tensor %s spans more than 2^63 bytes", e.name);
  return e.role == ASSAY_INPUT ? assay_status{} : check_overlap(e, t);
}

assay_status convert(const expectation& e, const assay_tensor& given, tensor& to) {
  const DLTensor& view = given.view;
  if (given.type != static_cast<std::int32_t>(e.type))
    return refuse(ASSAY_REJECTED, "tensor %s has type %s, must be %s", e.name, name_of(static_cast<dtype>(given.type)),
                  name_of(e.type));
  // What may be read and written may also be read alone, or written alone.
  if (given.role != e.role && given.role != ASSAY_IN_OUT)
    return refuse(ASSAY_REJECTED, "tensor %s has role %d, must be %d", e.name, given.role, static_cast<int>(e.role));
  if (view.dtype.bits != 8 * size_bytes(e.type) || view.dtype.lanes != 1)
    return refuse(ASSAY_REJECTED, "tensor %s has elements of %d bits", e.name, view.dtype.bits * view.dtype.lanes);
  if (view.device.device_type != platform::device_type)
    return refuse(ASSAY_REJECTED, "tensor %s is on device type %d, must be %d", e.name,
                  static_cast<int>(view.device.device_type), static_cast<int>(platform::device_type));
  if (view.ndim != static_cast<std::int32_t>(e.shape.size()))
    return refuse(ASSAY_REJECTED, "tensor %s has %d dimensions, must have %d", e.name, view.ndim,
                  static_cast<int>(e.shape.size()));
  if (view.shape == nullptr || view.strides == nullptr)
    return refuse(ASSAY_REJECTED, "tensor %s has no shape or no strides", e.name);
  to.type = e.type;
  to.rank = view.ndim;
  to.data = view.data == nullptr ? nullptr : static_cast<std::byte*>(view.data) + view.byte_offset;
  for (int d = 0; d < to.rank; ++d) {
    const std::int64_t extent = view.shape[d], wanted = e.shape[static_cast<std::size_t>(d)];
    if (extent < 0 || (wanted != any_extent && extent != wanted))
      return refuse(ASSAY_REJECTED, "tensor %s has extent %lld in dimension %d, must be %lld", e.name,
                    static_cast<long long>(extent), d, static_cast<long long>(wanted));
    to.shape[d] = extent;
    to.stride[d] = view.strides[d];
  }
  if (e.least_columns > 0 && to.shape[to.rank - 1] < e.least_columns)
    return refuse(ASSAY_REJECTED, "tensor %s has extent %lld in dimension %d, must be at least %lld", e.name,
                  static_cast<long long>(to.shape[to.rank - 1]), to.rank - 1, static_cast<long long>(e.least_columns));
  return check_layout(e, to);
}

assay_status bind_one(const expectation& e, std::span<const assay_tensor> given) {
  const assay_tensor* found = nullptr;
  for (const assay_tensor& t : given) {
    if (t.name == nullptr || std::strcmp(t.name, e.name) != 0) continue;
    if (found != nullptr) return refuse(ASSAY_REJECTED, "tensor %s is given twice", e.name);
    found = &t;
  }
  if (found != nullptr) return convert(e, *found, *e.to);
  return e.required ? refuse(ASSAY_REJECTED, "tensor %s is missing", e.name) : assay_status{};
}

}  // namespace

std::vector<expectation> page_tables(const problem& p, paged_tensors& to) {
  const std::int64_t sequences = p.num_seqs;
  if (p.page_table == page_table_kind::page_list)
    return {{"page_indptr", &to.page_indptr, dtype::i32, {sequences + 1}, true, true},
            {"page_indices", &to.page_indices, dtype::i32, {any_extent}, true, true}};
  expectation table{"block_table", &to.block_table, dtype::i32, {sequences, any_extent}, true, true};
  // A table too narrow for the longest sequence would be read past its row.
  if (sequences > 0) table.least_columns = (std::int64_t{p.max_k} + p.page_size - 1) / p.page_size;
  return {table};
}

std::vector<expectation> paged_attention_tensors(const problem& p, paged_tensors& to) {
  const std::int64_t sequences = p.num_seqs, rows = p.total_q, heads = p.heads_q;
  std::vector<expectation> all = {
      {"q", &to.q, p.q_type, {rows, heads, p.head_dim_qk}, true, false},
      {"k", &to.k, p.k_type, {p.num_pages, p.page_size, p.heads_kv, p.head_dim_qk}, true, true, ASSAY_INPUT, 8},
      {"v", &to.v, p.v_type, {p.num_pages, p.page_size, p.heads_kv, p.head_dim_v}, true, true, ASSAY_INPUT, 8},
      {"seqlens_k", &to.seqlens_k, dtype::i32, {sequences}, true, true},
      {"prefix_offset", &to.prefix_offset, dtype::i32, {sequences}, false, true},
      {"o", &to.o, p.o_type, {rows, heads, p.head_dim_v}, true, true, ASSAY_OUTPUT},
      {"lse", &to.lse, dtype::f32, {rows, heads}, true, true, ASSAY_OUTPUT},
  };
  for (expectation& table : page_tables(p, to)) all.push_back(std::move(table));
  if (p.batching == q_batching::group)
    all.push_back({"cu_seqlens_q", &to.cu_seqlens_q, dtype::i32, {sequences + 1}, true, true});
  return all;
}

std::vector<expectation> attention_tensors_of(const problem& p, attention_tensors& to) {
  const std::int64_t rows = p.total_q, heads = p.heads_q;
  std::vector<expectation> all = paged_attention_tensors(p, to);
  all.push_back({"sinks", &to.sinks, dtype::f32, {heads}, false, true});
  if (p.bias_type != dtype::none) all.push_back({"bias", &to.bias, p.bias_type, {heads, rows, p.max_k}, true, false});
  if (p.num_splits > 1) {
    all.push_back(
        {"o_partial", &to.o_partial, dtype::f32, {p.num_splits, rows, heads, p.head_dim_v}, true, true, ASSAY_OUTPUT});
    all.push_back({"lse_partial", &to.lse_partial, dtype::f32, {p.num_splits, rows, heads}, true, true, ASSAY_OUTPUT});
  }
  return all;
}

assay_status bind_tensors(std::span<const expectation> expected, std::span<const assay_tensor> given) {
  for (const expectation& e : expected)
    if (const assay_status status = bind_one(e, given); status.code != ASSAY_OK) return status;
  return {};
}

}  // namespace assay
