/// Descriptions of the operations. A description says which tensors a case has, which keys a row sees, what a run costs
/// and which properties apply. Only this folder distinguishes the operations; all other code asks the description.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/contract.hpp"
#include "properties/case/case.hpp"
#include "properties/case/planned_tensor.hpp"
#include "properties/case/visibility.hpp"

namespace assay {

/// What a property can need from a kernel; a set of capabilities is their sum.
enum capability : std::uint32_t {
  has_page_tables = 1,     ///< sequences of keys in pages that a table names
  has_mask = 2,            ///< rows that do not see all keys of their sequence
  has_softmax = 4,         ///< O and LSE, per row and head, from K and V
  has_row_outputs = 8,     ///< outputs that are written whole, and no other tensor
  has_columns = 16,        ///< a row of outputs has a column for every key
  has_splits = 32,         ///< keys of a row can be split over blocks, and are combined
  has_page_descales = 64,  ///< K and V can have descales per page
  has_slots = 128,         ///< rows are written to slots of a pool
  has_values = 256,        ///< V, of head_dim_v
  // Of every kernel, unless it declares that it takes less (kernels/support.h):
  takes_split_counts = 1 << 9,      ///< a num_splits that the caller chooses
  has_partials = 1 << 10,           ///< o_partial and lse_partial
  takes_page_descales = 1 << 11,    ///< FP8 keys with descales per page
  takes_tensor_descales = 1 << 12,  ///< k_scale and v_scale
  hides_keys = 1 << 13,             ///< masks that hide a key of a sequence from some row
  has_several_rows = 1 << 14,
  has_long_sequences = 1 << 15,  ///< several rows of one sequence
  has_several_sequences = 1 << 16,
  has_several_heads = 1 << 17,
  has_far_pages = 1 << 18,      ///< pools of more than 2^31 bytes
  has_spare_entries = 1 << 19,  ///< table entries behind a sequence's last page
  has_far_strides = 1 << 20,
  has_attention_too = 1 << 21,  ///< a kernel of attention in the same library
  refuses_problems = 1 << 22,   ///< checks on the host what it is called with
  has_schedules = 1 << 23,      ///< a platform that runs waves in the order that a case says
};
/// What a kernel is not asked about: each has it that does not declare otherwise.
inline constexpr std::uint32_t unless_declared = ~std::uint32_t{511};

/// A field of a case that only one operation reads. In cases of the others it has its plain value.
struct own_field {
  const char* name;
  const char* refusal;  ///< of a case of another operation where it has another value
  bool (*is_plain)(const attention_case& c);
  /// Null where the plain value is wrong in most cases of the operation.
  void (*make_plain)(attention_case& c);
};

/// A value of a problem's field that is wrong for the operation, and that the host must refuse.
struct bad_value {
  const char* name;
  bool (*apply)(problem& p);  ///< false where the problem cannot have it
};

struct operation {
  operation_kind kind;
  const char* name;
  std::span<const char* const> kernels;  ///< names of the kernels that compute it
  std::uint32_t capabilities;            ///< of every kernel that computes it; a kernel may have more (kernel_space)
  std::span<const char* const> results;  ///< the tensors that users read; other outputs are workspaces or statistics
  bool is_causal;                        ///< causal for any value of problem::causal
  q_batching plain_batching;             ///< of the smallest cases

  /// Inputs and in-out tensors in problem.hpp's order; optional ones only where the case has them. The fields have
  /// passed the range checks of validate().
  std::vector<planned_tensor> (*inputs)(const attention_case& c);
  /// Outputs and workspaces of a planned problem, without gaps.
  std::vector<planned_tensor> (*outputs)(const problem& planned);
  /// Throws case_error where fields do not go together, or belong to another operation.
  void (*validate)(const attention_case& c);
  /// Keys of a sequence whose pool elements a run may depend on. All others are dead.
  key_range (*live_keys)(const attention_case& c, const sequence& s);
  /// Multiply-adds for each pair of a query row and a key.
  std::int64_t (*pair_cost)(const attention_case& c);
  /// The first fault of a contract for a problem of this operation, beyond what every contract must say; "" for none.
  std::string (*contract_fault)(const contract& declared, const problem& planned);

  std::span<const own_field> own_fields = {};  // NOLINT(readability-redundant-member-init): may be left out
  /// Copies the own fields to the problem, which has all others. May be null.
  void (*state)(const attention_case& c, problem& stated) = nullptr;
  /// Beyond those that are wrong for all operations.
  std::span<const bad_value> bad_values = {};  // NOLINT(readability-redundant-member-init): may be left out
};

extern const operation attention_operation;
extern const operation mqa_logits_operation;
extern const operation append_kv_operation;

/// All operations.
inline constexpr const operation* operations[] = {&attention_operation, &mqa_logits_operation, &append_kv_operation};

/// By kind, and by the name of a kernel. A kernel of an unknown name computes attention.
const operation& describe(operation_kind kind);
const operation& describe(std::string_view kernel);
inline const operation& describe(const attention_case& c) {
  return describe(std::string_view(c.kernel));
}

/// Whether a tensor of that name is a result of the operation.
bool is_result(const operation& op, std::string_view tensor);

visibility visibility_of(const attention_case& c);
visibility visibility_of(const problem& p);

/// Position of the sequence's first query row.
inline std::int64_t first_position(const sequence& s) {
  return s.prefix_offset ? *s.prefix_offset : std::int64_t{s.k} - s.q;
}

}  // namespace assay
