#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "properties/case/field_checks.hpp"
#include "properties/case/operation.hpp"
#include "properties/case/tensor_plan.hpp"

namespace assay {
namespace {

constexpr std::int64_t int32_max = std::numeric_limits<std::int32_t>::max();
/// Past each limit of 16 bits.
constexpr std::int64_t sequences_max = 131'072;
constexpr std::int64_t tensor_bytes_max = std::int64_t{1} << 30;

void check_finite(const std::string& field, float value) {
  if (!std::isfinite(value)) refuse(field, "must be finite");
}

bool is_half(dtype type) {
  return type == dtype::f16 || type == dtype::bf16;
}

void check_types(const attention_case& c) {
  const bool is_wide = is_half(c.q_type) || c.q_type == dtype::f32;
  if (!is_wide && !is_fp8(c.q_type) && c.q_type != dtype::i8)
    refuse("q_type", "must be f32, f16, bf16, an FP8 type or i8");
  const bool is_narrower = (is_wide && is_fp8(c.kv_type)) || (c.q_type == dtype::f32 && is_half(c.kv_type));
  if (c.kv_type != c.q_type && !is_narrower)
    refuse("kv_type", "must be q_type, or an FP8 type if q_type is f32, f16 or bf16, or f16 or bf16 if it is f32");
  if (!is_half(c.o_type) && c.o_type != dtype::f32) refuse("o_type", "must be f16, bf16 or f32");
  if (!is_half(c.bias_type) && c.bias_type != dtype::f32 && c.bias_type != dtype::none)
    refuse("bias_type", "must be none, f16, bf16 or f32");
  if (c.kv_descale == descale_kind::per_page && !is_fp8(c.kv_type))
    refuse("kv_descale", "per_page needs FP8 keys and values");
}

void check_kernel(const attention_case& c) {
  const auto is_name = [](char ch) { return (ch >= 'a' && ch <= 'z') || (ch >= '0' && ch <= '9') || ch == '_'; };
  if (c.kernel.empty() || c.kernel.size() > 64 || !std::ranges::all_of(c.kernel, is_name))
    refuse("kernel", "must be a name of at most 64 lower-case letters, digits and underscores");
}

void check_scalars(const attention_case& c) {
  check_range("version", c.version, 1, 1);
  check_kernel(c);
  check_types(c);
  check_range("heads_q", c.heads_q, 1, 1024);
  check_range("heads_kv", c.heads_kv, 1, 1024);
  if (c.heads_q % c.heads_kv != 0)
    refuse("heads_kv", fmt::format("{} does not divide heads_q {}", c.heads_kv, c.heads_q));
  for (const auto& [field, value] : {std::pair{"head_dim_qk", c.head_dim_qk}, {"head_dim_v", c.head_dim_v}}) {
    check_range(field, value, 8, 1024);
    // The pool is dense, so its slot strides are heads_kv * head_dim: problem.hpp wants multiples of 8 elements.
    if (value % 8 != 0) refuse(field, fmt::format("{} is not a multiple of 8", value));
  }
  check_range("page_size", c.page_size, 1, 65536);
  check_range("pool_pages", c.pool_pages, 0, int32_max);
  check_range("spare_table_entries", c.spare_table_entries, 0, 65536);
  check_range("row_margin", c.row_margin, 0, 65536);
  check_range("input_margin", c.input_margin, 0, 65536);
  check_range("far_dimension", c.far_dimension, 0, max_rank - 1);
  check_range("window", c.window, 0, int32_max);
  check_finite("scale", c.scale);
  check_finite("q_scale", c.q_scale);
  check_finite("k_scale", c.k_scale);
  check_finite("v_scale", c.v_scale);
  check_finite("soft_cap", c.soft_cap);
  check_finite("data.descale_ratio", c.data.descale_ratio);
  if (!(c.data.descale_ratio > 0)) refuse("data.descale_ratio", "must be above 0");
  if (!(c.soft_cap >= 0)) refuse("soft_cap", "must not be negative");
  check_range("num_splits", c.num_splits, 0, 1024);
  check_range("workspace_budget_bytes", c.workspace_budget_bytes, 0, std::numeric_limits<std::int64_t>::max());
  check_range("schedule.depth", c.schedule.depth, 0, 1000);
  if (c.schedule.wave_size != 32 && c.schedule.wave_size != 64) refuse("schedule.wave_size", "must be 32 or 64");
}

void check_pages(const attention_case& c, const sequence& s, const std::string& field) {
  const std::int64_t wanted = pages_for(s.k, c.page_size);
  if (static_cast<std::int64_t>(s.pages.size()) != wanted)
    refuse(field, fmt::format("{} pages are given, but {} keys at page_size {} need {}", s.pages.size(), s.k,
                              c.page_size, wanted));
  for (std::size_t i = 0; i < s.pages.size(); ++i)
    if (s.pages[i] < 0 || s.pages[i] >= c.pool_pages)
      refuse(fmt::format("{}[{}]", field, i),
             fmt::format("page id {} is outside the pool of {} pages", s.pages[i], c.pool_pages));
}

void check_sequences(const attention_case& c) {
  check_range("sequences", static_cast<std::int64_t>(c.sequences.size()), 0, sequences_max);
  std::int64_t total_q = 0;
  for (std::size_t i = 0; i < c.sequences.size(); ++i) {
    const sequence& s = c.sequences[i];
    const std::string at = fmt::format("sequences[{}].", i);
    check_range(at + "q", s.q, 0, int32_max);
    check_range(at + "k", s.k, 0, int32_max);
    total_q += s.q;
    check_range(at + "q", total_q, 0, int32_max);
    if (s.prefix_offset.has_value() != c.sequences.front().prefix_offset.has_value())
      refuse(at + "prefix_offset", "must be given for all sequences or for none");
    if (c.batching == q_batching::batch && s.q != c.sequences.front().q)
      refuse(at + "q", fmt::format("{} rows, but in batch mode every sequence must have {}, as the first one has", s.q,
                                   c.sequences.front().q));
    check_pages(c, s, at + "pages");
  }
}

std::string named_shape(const planned_tensor& t) {
  const std::int64_t gap = t.gap + t.outer_gap;
  const std::string gaps = gap > 0 ? fmt::format(" with {} elements between its rows", gap) : "";
  return fmt::format("of shape [{}]{}", fmt::join(t.shape, ", "), gaps);
}

/// Of a far tensor, what has memory is bounded.
void check_bytes(const planned_tensor& t) {
  planned_tensor near = t;
  if (t.is_far) near.outer_gap = 0;
  const std::optional<std::int64_t> bytes = checked_bytes(near);
  if (!bytes || *bytes > tensor_bytes_max) refuse(t.name, fmt::format("the tensor {} exceeds 1 GiB", named_shape(t)));
}

/// Of a pool, what is used is bounded like any tensor; its addresses are bounded only as such.
void check_pool(const planned_tensor& t, const std::vector<std::int64_t>& used) {
  if (!is_sparse(t)) return;
  const std::optional<std::int64_t> bytes = checked_bytes(t);
  const std::int64_t most = t.role == tensor_role::in_out ? written_pool_bytes_max : sparse_pool_bytes_max;
  if (!bytes || *bytes > most) refuse(t.name, fmt::format("the pool {} exceeds {} TiB", named_shape(t), most >> 40));
  const auto count = static_cast<std::int64_t>(used.size());
  if (count > sparse_pages_max)
    refuse(t.name, fmt::format("a pool larger than {1} MiB has {0} pages in use, more than {2}", count,
                               dense_pool_bytes_max >> 20, sparse_pages_max));
  if (count * (*bytes / t.shape[0]) > tensor_bytes_max)
    refuse(t.name, fmt::format("the {} pages in use of the pool {} exceed 1 GiB", count, named_shape(t)));
}

void check_sink(const std::string& field, std::uint32_t bits) {
  constexpr std::uint32_t exponent = 0x7F800000U, minus_infinity = 0xFF800000U;
  if ((bits & exponent) == exponent && bits != minus_infinity) refuse(field, "a sink must be finite or -inf");
}

void check_descale(const std::string& field, std::uint32_t bits) {
  const auto value = std::bit_cast<float>(bits);
  if (!(value > 0) || !std::isfinite(value)) refuse(field, "a descale must be finite and above 0");
}

void check_key_scale(const std::string& field, std::uint32_t bits) {
  const auto value = std::bit_cast<float>(bits);
  if (!(value >= 0) || !std::isfinite(value)) refuse(field, "a key's scale must be finite and at least 0");
}

/// A kernel may pass a NaN on, and the judge takes this one for an unwritten element (oracle/enclosure.hpp).
std::uint32_t unwritten_bits(dtype type) {
  return size_bytes(type) == 4 ? 0xFFFFFFFFU : 0xFFFFU;
}

std::string overridable(const std::vector<planned_tensor>& tensors) {
  std::vector<std::string> names;
  for (const planned_tensor& t : tensors)
    if (!is_index(t.content)) names.push_back(t.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

void check_override(const override_bits& o, const std::string& at, const std::vector<planned_tensor>& tensors,
                    const std::vector<std::int64_t>& used) {
  const auto found = std::ranges::find(tensors, o.tensor, &planned_tensor::name);
  // Index tensors say where memory is: changing them makes another problem, not other data.
  if (found == tensors.end() || is_index(found->content))
    refuse(at + "tensor", fmt::format("'{}' is not a tensor of this case whose data can be overridden: {}", o.tensor,
                                      overridable(tensors)));
  if (o.index.size() != found->shape.size())
    refuse(at + "index", fmt::format("{} coordinates are given, but {} has {} dimensions", o.index.size(), o.tensor,
                                     found->shape.size()));
  for (std::size_t d = 0; d < o.index.size(); ++d)
    if (o.index[d] < 0 || o.index[d] >= found->shape[d])
      refuse(fmt::format("{}index[{}]", at, d), fmt::format("{} is not below {}", o.index[d], found->shape[d]));
  if (found->is_pool && is_sparse(*found) && !std::ranges::binary_search(used, o.index[0]))
    refuse(at + "index[0]", fmt::format("no sequence uses page {} of the sparse pool", o.index[0]));
  if (size_bytes(found->type) < 4 && (o.bits >> (8 * size_bytes(found->type))) != 0)
    refuse(at + "bits", fmt::format("{} has more bits than the tensor's type", o.bits));
  if (size_bytes(found->type) > 1 && found->role == tensor_role::input && o.bits == unwritten_bits(found->type))
    refuse(at + "bits", "all bits are set, as in an element that no kernel wrote: take another NaN");
  switch (found->content) {
    case tensor_content::sinks: return check_sink(at + "bits", o.bits);
    case tensor_content::k_descales:
    case tensor_content::v_descales: return check_descale(at + "bits", o.bits);
    case tensor_content::key_scales: return check_key_scale(at + "bits", o.bits);
    default: return;
  }
}

void refuse_fields_of_others(const attention_case& c) {
  for (const operation* other : operations)
    for (const own_field& field : other->own_fields)
      if (other->kind != describe(c).kind && !field.is_plain(c)) refuse(field.name, field.refusal);
}

}  // namespace

void refuse(const std::string& field, const std::string& what) {
  throw case_error(field + ": " + what);
}

void check_range(const std::string& field, std::int64_t value, std::int64_t lo, std::int64_t hi) {
  if (value < lo || value > hi) refuse(field, fmt::format("{} is not in [{}, {}]", value, lo, hi));
}

void validate(const attention_case& c) {
  check_scalars(c);
  check_sequences(c);
  check_range("max_model_len", c.max_model_len, 0, int32_max);
  refuse_fields_of_others(c);
  describe(c).validate(c);
  const std::vector<planned_tensor> tensors = plan_tensors(c);
  const std::vector<std::int64_t> used = pages_in_use(c);
  for (const planned_tensor& t : tensors)
    if (t.is_pool)
      check_pool(t, used);
    else
      check_bytes(t);
  problem planned = to_problem(c);
  planned.num_splits = std::max(c.num_splits, 1);
  for (const planned_tensor& t : plan_outputs(planned, layout_of(c))) check_bytes(t);
  for (std::size_t i = 0; i < c.data.overrides.size(); ++i)
    check_override(c.data.overrides[i], fmt::format("data.overrides[{}].", i), tensors, used);
}

problem to_problem(const attention_case& c) {
  problem p;
  p.operation = describe(c).kind;
  p.q_type = c.q_type;
  p.k_type = c.kv_type;
  p.v_type = v_type(c);
  p.o_type = c.o_type;
  p.bias_type = c.bias_type;
  p.page_table = c.page_table;
  p.batching = c.batching;
  p.kv_descale = c.kv_descale;
  p.num_seqs = static_cast<std::int32_t>(c.sequences.size());
  for (const sequence& s : c.sequences) {
    p.total_q += s.q;
    p.max_q = std::max(p.max_q, s.q);
    p.max_k = std::max(p.max_k, s.k);
  }
  p.heads_q = c.heads_q;
  p.heads_kv = c.heads_kv;
  p.head_dim_qk = c.head_dim_qk;
  p.head_dim_v = c.head_dim_v;
  p.page_size = c.page_size;
  p.num_pages = c.pool_pages;
  p.causal = c.causal ? 1 : 0;
  p.window = c.window;
  p.num_splits = c.num_splits;
  p.scale = c.scale;
  p.q_scale = c.q_scale;
  p.k_scale = c.k_scale;
  p.v_scale = c.v_scale;
  p.soft_cap = c.soft_cap;
  if (const operation& op = describe(c); op.state != nullptr) op.state(c, p);
  return p;
}

bool is_valid(const attention_case& c) {
  try {
    validate(c);
    return true;
  } catch (const case_error&) {
    return false;
  }
}

}  // namespace assay
