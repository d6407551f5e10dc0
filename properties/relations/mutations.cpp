#include "properties/relations/mutations.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string_view>

namespace assay::relations {
namespace {

constexpr float nan = std::numeric_limits<float>::quiet_NaN();
constexpr float infinity = std::numeric_limits<float>::infinity();

template <auto Field, auto Value>
bool set(problem& p) {
  // Enumerations get values that they do not have: that is what a broken caller passes.
  p.*Field = static_cast<std::remove_reference_t<decltype(p.*Field)>>(
      Value);  // NOLINT(clang-analyzer-optin.core.EnumCastOutOfRange)
  return true;
}

/// For fields that only one of the operations reads.
template <operation_kind Of, auto Field, auto Value>
bool set_of(problem& p) {
  return p.operation == Of && set<Field, Value>(p);
}
constexpr operation_kind attention = operation_kind::attention, mqa = operation_kind::mqa_logits;

bool other_operation(problem& p) {
  p.operation = p.operation == attention ? mqa : attention;
  return true;
}

bool too_few_columns(problem& p) {
  if (p.operation != mqa || p.max_k == 0) return false;
  p.max_model_len = p.max_k - 1;
  return true;
}

template <auto Field>
bool set_nan(problem& p) {
  p.*Field = nan;
  return true;
}

template <auto Field>
bool set_infinite(problem& p) {
  p.*Field = infinity;
  return true;
}

bool undivided_heads(problem& p) {
  if (p.heads_kv < 2) return false;
  ++p.heads_q;
  return true;
}

bool odd_batch(problem& p) {
  if (p.batching != q_batching::batch) return false;
  ++p.total_q;
  return true;
}

// Far more pages than any case's table has, and few enough for their number to be none of a kernel's limits.
bool longer_than_table(problem& p) {
  if (p.page_table != page_table_kind::block_table) return false;
  p.max_k = 1 << 30;
  return true;
}

const problem_mutation scalars[] = {
    {"num_seqs -1", set<&problem::num_seqs, -1>},
    {"total_q -1", set<&problem::total_q, -1>},
    {"max_q -1", set<&problem::max_q, -1>},
    {"max_k -1", set<&problem::max_k, -1>},
    {"heads_q 0", set<&problem::heads_q, 0>},
    {"heads_q -1", set<&problem::heads_q, -1>},
    {"heads_kv 0", set<&problem::heads_kv, 0>},
    {"heads_kv -1", set<&problem::heads_kv, -1>},
    {"heads_q that heads_kv does not divide", undivided_heads},
    {"head_dim_qk 0", set<&problem::head_dim_qk, 0>},
    {"head_dim_qk -64", set<&problem::head_dim_qk, -64>},
    {"head_dim_qk 68", set<&problem::head_dim_qk, 68>},
    {"head_dim_qk 2^30", set<&problem::head_dim_qk, 1 << 30>},
    {"head_dim_v 0", set<&problem::head_dim_v, 0>},
    {"head_dim_v -64", set<&problem::head_dim_v, -64>},
    {"head_dim_v 68", set_of<attention, &problem::head_dim_v, 68>},
    {"head_dim_v 2^30", set_of<attention, &problem::head_dim_v, 1 << 30>},
    {"page_size 0", set<&problem::page_size, 0>},
    {"page_size -16", set<&problem::page_size, -16>},
    {"num_pages -1", set<&problem::num_pages, -1>},
    {"window -1", set<&problem::window, -1>},
    {"num_splits -1", set<&problem::num_splits, -1>},
    {"num_splits 129", set<&problem::num_splits, 129>},
    {"num_splits 0 where a plan is due", set<&problem::num_splits, 0>, false},
    {"scale NaN", set_nan<&problem::scale>},
    {"scale infinite", set_infinite<&problem::scale>},
    {"q_scale NaN", set_nan<&problem::q_scale>},
    {"k_scale NaN", set_nan<&problem::k_scale>},
    {"v_scale NaN", set_nan<&problem::v_scale>},
    {"v_scale infinite", set_infinite<&problem::v_scale>},
    {"soft_cap NaN", set_nan<&problem::soft_cap>},
    {"soft_cap -1", set<&problem::soft_cap, -1>},
    {"q_type none", set<&problem::q_type, dtype::none>},
    {"q_type i32", set<&problem::q_type, dtype::i32>},
    {"k_type 99", set<&problem::k_type, 99>},
    {"v_type i32", set<&problem::v_type, dtype::i32>},
    {"o_type none", set<&problem::o_type, dtype::none>},
    {"o_type -1", set<&problem::o_type, -1>},
    {"bias_type i8", set<&problem::bias_type, dtype::i8>},
    {"page_table 7", set<&problem::page_table, 7>},
    {"batching 7", set<&problem::batching, 7>},
    {"kv_descale 7", set<&problem::kv_descale, 7>},
    {"operation 7", set<&problem::operation, 7>},
    {"another operation than the kernel's", other_operation},
    {"heads_kv 2 where MQA has one", set_of<mqa, &problem::heads_kv, 2>},
    {"batching group where mqa_logits has batch", set_of<mqa, &problem::batching, q_batching::group>},
    {"k_order 7", set_of<mqa, &problem::k_order, 7>},
    {"split_contexts 7", set_of<mqa, &problem::split_contexts, 7>},
    {"fills_hidden 7", set_of<mqa, &problem::fills_hidden, 7>},
    {"max_model_len -1", set_of<mqa, &problem::max_model_len, -1>},
    {"max_model_len below max_k", too_few_columns},
    {"total_q that is not num_seqs * max_q in batch mode", odd_batch},
    {"max_k beyond what the block table holds", longer_than_table, false},
};

bool is(const assay_tensor& t, std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names)
    if (name == t.name) return true;
  return false;
}

// Prefix and sinks may be absent; nothing else of a case's tensors may.
bool leave_out(std::vector<assay_tensor>& tensors, std::size_t at) {
  if (is(tensors[at], {"prefix_offset", "sinks"})) return false;
  tensors.erase(tensors.begin() + static_cast<std::ptrdiff_t>(at));
  return true;
}

bool retype(std::vector<assay_tensor>& tensors, std::size_t at) {
  assay_tensor& t = tensors[at];
  t.type = static_cast<std::int32_t>(t.type == static_cast<std::int32_t>(dtype::i8) ? dtype::f32 : dtype::i8);
  t.view.dtype = {static_cast<std::uint8_t>(kDLInt), 8, 1};
  return true;
}

// The first dimension of every tensor but the page list is fixed by the problem.
bool lengthen(std::vector<assay_tensor>& tensors, std::size_t at) {
  if (is(tensors[at], {"page_indices"})) return false;
  ++tensors[at].view.shape[0];
  return true;
}

bool shorten_last(std::vector<assay_tensor>& tensors, std::size_t at) {
  if (!is(tensors[at], {"q", "k", "v", "k_descale", "v_descale", "o", "o_partial", "lse", "lse_partial", "weights",
                        "k_row_scale", "logits"}))
    return false;
  --tensors[at].view.shape[tensors[at].view.ndim - 1];
  return true;
}

bool flatten(std::vector<assay_tensor>& tensors, std::size_t at) {
  --tensors[at].view.ndim;
  return true;
}

// No element is read, so no address is wrong.
bool is_empty(const DLTensor& view) {
  return std::find(view.shape, view.shape + view.ndim, 0) != view.shape + view.ndim;
}

bool lose_data(std::vector<assay_tensor>& tensors, std::size_t at) {
  if (is_empty(tensors[at].view)) return false;
  tensors[at].view.data = nullptr;
  return true;
}

bool misalign(std::vector<assay_tensor>& tensors, std::size_t at) {
  if (tensors[at].view.dtype.bits < 16 || is_empty(tensors[at].view)) return false;
  tensors[at].view.data = static_cast<std::byte*>(tensors[at].view.data) + 1;
  return true;
}

bool spread_elements(std::vector<assay_tensor>& tensors, std::size_t at) {
  if (!is(tensors[at], {"k", "v"})) return false;
  tensors[at].view.strides[3] = 2;
  return true;
}

bool misalign_slots(std::vector<assay_tensor>& tensors, std::size_t at) {
  if (!is(tensors[at], {"k", "v"}) || tensors[at].view.shape[1] < 2) return false;
  tensors[at].view.strides[1] += 1;
  return true;
}

bool overlap_rows(std::vector<assay_tensor>& tensors, std::size_t at) {
  const DLTensor& view = tensors[at].view;
  if (!is(tensors[at], {"logits"}) || view.shape[0] < 2 || view.shape[1] < 2) return false;
  tensors[at].view.strides[0] = view.shape[1] - 1;
  return true;
}

const tensor_mutation tensor_breaks[] = {
    {"a call without {}", leave_out},
    {"{} of another type", retype},
    {"{} with one more than it should have in its first dimension", lengthen},
    {"{} with one less than it should have in its last dimension", shorten_last},
    {"{} with a dimension missing", flatten},
    {"{} without data", lose_data},
    {"{} at an address that its type does not allow", misalign},
    {"{} with a last stride of 2", spread_elements},
    {"{} with a slot stride that is no multiple of 8", misalign_slots},
    {"{} with rows that overlap", overlap_rows},
};

}  // namespace

std::span<const problem_mutation> problem_mutations() {
  return scalars;
}
std::span<const tensor_mutation> tensor_mutations() {
  return tensor_breaks;
}

}  // namespace assay::relations
