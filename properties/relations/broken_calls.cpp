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

bool max_q_above_all_rows(problem& p) {
  p.max_q = p.total_q + 1;
  return true;
}

bool no_pages(problem& p) {
  if (!has(p, has_page_tables) || p.num_seqs == 0 || p.max_k == 0) return false;
  p.num_pages = 0;
  return true;
}

// Far more pages than the table of any case has, but so few that no kernel refuses their number alone.
bool longer_than_table(problem& p) {
  if (!has(p, has_page_tables) || p.page_table != page_table_kind::block_table) return false;
  if (p.num_seqs == 0) return false;  // no row of the table is read
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
    {"head_dim_qk 68", set_field<&problem::head_dim_qk, 68>, true, true},
    {"head_dim_qk 2^30", set_field<&problem::head_dim_qk, 1 << 30>, true, true},
    {"head_dim_v 0", set_field<&problem::head_dim_v, 0>},
    {"head_dim_v -64", set_field<&problem::head_dim_v, -64>},
    {"head_dim_v 68", set_where<has_values, &problem::head_dim_v, 68>, true, true},
    {"head_dim_v 2^30", set_where<has_values, &problem::head_dim_v, 1 << 30>, true, true},
    {"page_size 0", set_field<&problem::page_size, 0>},
    {"page_size -16", set_field<&problem::page_size, -16>},
    {"num_pages -1", set_field<&problem::num_pages, -1>},
    {"window -1", set_field<&problem::window, -1>},
    {"num_splits -1", set_field<&problem::num_splits, -1>},
    {"num_splits 129", set_field<&problem::num_splits, 129>, true, true},
    {"num_splits 0 (not planned)", set_field<&problem::num_splits, 0>, false},
    {"scale NaN", set_nan<&problem::scale>},
    {"scale infinite", set_infinite<&problem::scale>},
    {"q_scale NaN", set_nan<&problem::q_scale>},
    {"q_scale infinite", set_infinite<&problem::q_scale>},
    {"k_scale NaN", set_nan<&problem::k_scale>},
    {"k_scale infinite", set_infinite<&problem::k_scale>},
    {"v_scale NaN", set_nan<&problem::v_scale>},
    {"v_scale infinite", set_infinite<&problem::v_scale>},
    {"soft_cap NaN", set_nan<&problem::soft_cap>},
    {"soft_cap infinite", set_infinite<&problem::soft_cap>},
    {"soft_cap -1", set_field<&problem::soft_cap, -1>},
    {"causal 2", set_field<&problem::causal, 2>},
    {"causal -1", set_field<&problem::causal, -1>},
    {"q_type none", set_field<&problem::q_type, dtype::none>},
    {"q_type i32", set_field<&problem::q_type, dtype::i32>},
    {"v_type i32", set_field<&problem::v_type, dtype::i32>},
    {"o_type none", set_field<&problem::o_type, dtype::none>},
    {"bias_type i8", set_field<&problem::bias_type, dtype::i8>},
    ASSAY_UNKNOWN_VALUES(q_type),
    ASSAY_UNKNOWN_VALUES(k_type),
    ASSAY_UNKNOWN_VALUES(v_type),
    ASSAY_UNKNOWN_VALUES(o_type),
    ASSAY_UNKNOWN_VALUES(bias_type),
    ASSAY_UNKNOWN_VALUES(page_table),
    ASSAY_UNKNOWN_VALUES(batching),
    ASSAY_UNKNOWN_VALUES(kv_descale),
    ASSAY_UNKNOWN_VALUES(operation),
    {"another operation than the kernel's", other_operation},
    {"total_q that is not num_seqs * max_q in batch mode", odd_batch},
    {"max_q above total_q", max_q_above_all_rows},
    {"keys, but no pages", no_pages},
    {"max_k larger than the block table allows", longer_than_table, false},
};

}  // namespace

std::vector<broken_problem> broken_problems(const operation& op) {
  std::vector<broken_problem> all(std::begin(scalars), std::end(scalars));
  for (const bad_value& bad : op.bad_values) all.push_back({bad.name, bad.apply});
  return all;
}

}  // namespace assay::relations
