#include "kernels/host/unsupported_tensors.hpp"

#include <array>
#include <initializer_list>

namespace assay {
namespace {

/// Whether strides are those of a dense tensor with its dimensions in that order, outermost first.
bool is_dense(const tensor& t, std::initializer_list<int> order) {
  std::int64_t expected = 1;
  for (auto d = std::rbegin(order); d != std::rend(order); ++d) {
    if (t.shape[*d] > 1 && t.stride[*d] != expected) return false;
    expected *= t.shape[*d];
  }
  return true;
}

enum class pool_order { either, nhd, hnd };
/// Of pages of one slot or one head both orders may be said.
pool_order order_of(const tensor& pool) {
  if (pool.shape[1] < 2 || pool.shape[2] < 2 || pool.stride[1] == pool.stride[2]) return pool_order::either;
  return pool.stride[1] > pool.stride[2] ? pool_order::nhd : pool_order::hnd;
}

const char* pools(const assay_support& s, const tensor& k, const tensor& v) {
  const std::array<pool_order, 2> orders{order_of(k), order_of(v)};
  for (const pool_order o : orders) {
    if (s.no_nhd != 0 && o == pool_order::nhd) return "NHD pools";
    if (s.no_hnd != 0 && o == pool_order::hnd) return "HND pools";
  }
  const bool are_known = orders[0] != pool_order::either && orders[1] != pool_order::either;
  if (s.no_unequal_layouts != 0 && are_known && orders[0] != orders[1]) return "unequal layouts of K and V";
  if (s.no_input_margins == 0) return nullptr;
  for (const tensor* pool : {&k, &v}) {
    tensor page = *pool;
    if (s.no_packing == 0) page.shape[0] = 1;  // the distance of pages is the caller's
    if (!is_dense(page, {0, 1, 2, 3}) && !is_dense(page, {0, 2, 1, 3})) return "gaps between the rows of K and V";
  }
  return nullptr;
}

const char* queries(const assay_support& s, const tensor& q) {
  const bool is_transposed = q.shape[2] > 1 && q.stride[2] != 1;
  if (s.no_q_transposed != 0 && is_transposed) return "a transposed Q";
  const bool is_by_heads = q.shape[0] > 1 && q.shape[1] > 1 && q.stride[1] > q.stride[0];
  if (s.no_q_heads_outermost != 0 && is_by_heads) return "Q by heads";
  if (s.no_input_margins == 0 || is_transposed) return nullptr;
  tensor row = q;
  if (s.no_packing == 0) row.shape[0] = 1;
  return is_dense(row, {0, 1, 2}) || is_dense(q, {1, 0, 2}) ? nullptr : "gaps between the rows of Q";
}

const char* biases(const assay_support& s, const tensor& bias) {
  if (bias.data == nullptr) return nullptr;
  const auto is_shared = [&](int d) { return bias.shape[d] > 1 && bias.stride[d] == 0; };
  if (s.no_shared_bias != 0 && (is_shared(0) || is_shared(1))) return "a bias that heads or rows share";
  return nullptr;
}

}  // namespace

const char* unsupported(const assay_support& takes, const attention_tensors& t) {
  if (takes.no_prefix_offset != 0 && t.prefix_offset.data != nullptr) return "a prefix offset";
  if (takes.no_sinks != 0 && t.sinks.data != nullptr) return "sinks";
  if (const char* const what = pools(takes, t.k, t.v)) return what;
  if (const char* const what = queries(takes, t.q)) return what;
  if (const char* const what = biases(takes, t.bias)) return what;
  if (takes.no_output_margins == 0) return nullptr;
  const bool has_lse = t.lse.data != nullptr;
  return is_dense(t.o, {0, 1, 2}) && (!has_lse || is_dense(t.lse, {0, 1})) ? nullptr : "gaps between the rows of O";
}

}  // namespace assay
