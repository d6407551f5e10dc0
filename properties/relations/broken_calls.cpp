#include "properties/relations/broken_calls.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>

#include "properties/case/own_fields.hpp"

namespace assay::relations {
namespace {

constexpr float nan = std::numeric_limits<float>::quiet_NaN();
constexpr float infinity = std::numeric_limits<float>::infinity();

bool has(const problem& p, std::uint32_t any_of) {
  return (describe(p.operation).capabilities & any_of) != 0;
}

/// For fields that only some operations read: those with one of these capabilities.
template <std::uint32_t AnyOf, auto Field, auto Value>
bool set_where(problem& p) {
  return has(p, AnyOf) && set_field<Field, Value>(p);
}

bool other_operation(problem& p) {
  p.operation = p.operation == operation_kind::attention ? operation_kind::mqa_logits : operation_kind::attention;
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

// Far more pages than the table of any case has, but so few that no kernel refuses their number alone.
bool longer_than_table(problem& p) {
  if (!has(p, has_page_tables) || p.page_table != page_table_kind::block_table) return false;
  p.max_k = 1 << 30;
  return true;
}

const broken_problem scalars[] = {
    {"num_seqs -1", set_field<&problem::num_seqs, -1>},
    {"total_q -1", set_field<&problem::total_q, -1>},
    {"max_q -1", set_field<&problem::max_q, -1>},
    {"max_k -1", set_field<&problem::max_k, -1>},
    {"heads_q 0", set_field<&problem::heads_q, 0>},
    {"heads_q -1", set_field<&problem::heads_q, -1>},
    {"heads_kv 0", set_field<&problem::heads_kv, 0>},
    {"heads_kv -1", set_field<&problem::heads_kv, -1>},
    {"heads_q that heads_kv does not divide", undivided_heads},
    {"head_dim_qk 0", set_field<&problem::head_dim_qk, 0>},
    {"head_dim_qk -64", set_field<&problem::head_dim_qk, -64>},
    {"head_dim_qk 68", set_field<&problem::head_dim_qk, 68>},
    {"head_dim_qk 2^30", set_field<&problem::head_dim_qk, 1 << 30>},
    {"head_dim_v 0", set_field<&problem::head_dim_v, 0>},
    {"head_dim_v -64", set_field<&problem::head_dim_v, -64>},
    {"head_dim_v 68", set_where<has_values, &problem::head_dim_v, 68>},
    {"head_dim_v 2^30", set_where<has_values, &problem::head_dim_v, 1 << 30>},
    {"page_size 0", set_field<&problem::page_size, 0>},
    {"page_size -16", set_field<&problem::page_size, -16>},
    {"num_pages -1", set_field<&problem::num_pages, -1>},
    {"window -1", set_field<&problem::window, -1>},
    {"num_splits -1", set_field<&problem::num_splits, -1>},
    {"num_splits 129", set_field<&problem::num_splits, 129>},
    {"num_splits 0 (not planned)", set_field<&problem::num_splits, 0>, false},
    {"scale NaN", set_nan<&problem::scale>},
    {"scale infinite", set_infinite<&problem::scale>},
    {"q_scale NaN", set_nan<&problem::q_scale>},
    {"k_scale NaN", set_nan<&problem::k_scale>},
    {"v_scale NaN", set_nan<&problem::v_scale>},
    {"v_scale infinite", set_infinite<&problem::v_scale>},
    {"soft_cap NaN", set_nan<&problem::soft_cap>},
    {"soft_cap -1", set_field<&problem::soft_cap, -1>},
    {"q_type none", set_field<&problem::q_type, dtype::none>},
    {"q_type i32", set_field<&problem::q_type, dtype::i32>},
    {"k_type 99", set_field<&problem::k_type, 99>},
    {"v_type i32", set_field<&problem::v_type, dtype::i32>},
    {"o_type none", set_field<&problem::o_type, dtype::none>},
    {"o_type -1", set_field<&problem::o_type, -1>},
    {"bias_type i8", set_field<&problem::bias_type, dtype::i8>},
    {"page_table 7", set_field<&problem::page_table, 7>},
    {"batching 7", set_field<&problem::batching, 7>},
    {"kv_descale 7", set_field<&problem::kv_descale, 7>},
    {"operation 7", set_field<&problem::operation, 7>},
    {"another operation than the kernel's", other_operation},
    {"total_q that is not num_seqs * max_q in batch mode", odd_batch},
    {"max_k larger than the block table allows", longer_than_table, false},
};

bool leave_out(const described_call& call, std::size_t at) {
  if (call.planned.is_optional) return false;
  call.tensors.erase(call.tensors.begin() + static_cast<std::ptrdiff_t>(at));
  return true;
}

bool retype(const described_call& call, std::size_t at) {
  assay_tensor& t = call.tensors[at];
  t.type = static_cast<std::int32_t>(t.type == static_cast<std::int32_t>(dtype::i8) ? dtype::f32 : dtype::i8);
  t.view.dtype = {static_cast<std::uint8_t>(kDLInt), 8, 1};
  return true;
}

bool lengthen(const described_call& call, std::size_t at) {
  if (call.planned.has_free_rows) return false;
  ++call.tensors[at].view.shape[0];
  return true;
}

// Tables may be wider than they must be, so that one that is narrower is not always wrong.
bool shorten_last(const described_call& call, std::size_t at) {
  const tensor_content content = call.planned.content;
  if (is_index(content) || content == tensor_content::bias || content == tensor_content::sinks) return false;
  --call.tensors[at].view.shape[call.tensors[at].view.ndim - 1];
  return true;
}

bool flatten(const described_call& call, std::size_t at) {
  --call.tensors[at].view.ndim;
  return true;
}

// Without elements no address is wrong.
bool is_empty(const DLTensor& view) {
  return std::find(view.shape, view.shape + view.ndim, 0) != view.shape + view.ndim;
}

bool lose_data(const described_call& call, std::size_t at) {
  DLTensor& view = call.tensors[at].view;
  if (is_empty(view)) return false;
  view.data = nullptr;
  return true;
}

bool misalign(const described_call& call, std::size_t at) {
  DLTensor& view = call.tensors[at].view;
  if (view.dtype.bits < 16 || is_empty(view)) return false;
  view.data = static_cast<std::byte*>(view.data) + 1;
  return true;
}

bool is_kv_pool(const described_call& call) {
  return call.planned.content == tensor_content::keys || call.planned.content == tensor_content::values;
}

bool spread_elements(const described_call& call, std::size_t at) {
  if (!is_kv_pool(call)) return false;
  call.tensors[at].view.strides[3] = 2;
  return true;
}

bool misalign_slots(const described_call& call, std::size_t at) {
  if (!is_kv_pool(call) || call.tensors[at].view.shape[1] < 2) return false;
  call.tensors[at].view.strides[1] += 1;
  return true;
}

bool overlap_columns(const described_call& call, std::size_t at) {
  DLTensor& view = call.tensors[at].view;
  const bool has_rows_of_columns = (call.op.capabilities & has_columns) != 0 && is_result(call.op, call.planned.name);
  if (!has_rows_of_columns || view.shape[0] < 2 || view.shape[1] < 2) return false;
  view.strides[0] = view.shape[1] - 1;
  return true;
}

bool deny_writing(const described_call& call, std::size_t at) {
  if (call.planned.role != tensor_role::in_out) return false;
  call.tensors[at].role = ASSAY_INPUT;
  return true;
}

const broken_tensor tensor_breaks[] = {
    {"a call without {}", leave_out},
    {"{} with a wrong type", retype},
    {"{} with a first dimension that is too long by 1", lengthen},
    {"{} with a last dimension that is too short by 1", shorten_last},
    {"{} with a dimension missing", flatten},
    {"{} without data", lose_data},
    {"{} at an address that is misaligned for its type", misalign},
    {"{} with a last stride of 2", spread_elements},
    {"{} with a slot stride that is not a multiple of 8", misalign_slots},
    {"{} with rows that overlap", overlap_columns},
    {"{} as an input that must not be written", deny_writing},
};

}  // namespace

std::vector<broken_problem> broken_problems(const operation& op) {
  std::vector<broken_problem> all(std::begin(scalars), std::end(scalars));
  for (const bad_value& bad : op.bad_values) all.push_back({bad.name, bad.apply});
  return all;
}
std::span<const broken_tensor> broken_tensors() {
  return tensor_breaks;
}

}  // namespace assay::relations
