/// The list of properties; each has a file of its name.
#pragma once

#include "properties/relations/property.hpp"

// Order is the order of reports; case i of a run goes to property i mod size.
#define ASSAY_PROPERTIES(X) \
  X(output_enclosed)        \
  X(split_count)            \
  X(combine_partials)       \
  X(page_permutation)       \
  X(page_sharing)           \
  X(pool_shift)             \
  X(table_tail)             \
  X(dead_memory)            \
  X(hidden_keys)            \
  X(other_sequences)        \
  X(wave_schedule)          \
  X(head_permutation)       \
  X(v_scaling)              \
  X(nothing_else_written)   \
  X(bad_problem_rejected)   \
  X(descale_exchange)       \
  X(equal_descales)         \
  X(context_splits)         \
  X(other_rows)             \
  X(row_strides)            \
  X(far_rows)               \
  X(more_columns)           \
  X(slot_order)             \
  X(named_slots)            \
  X(slot_twice)             \
  X(append_then_attend)     \
  X(append_again)           \
  X(planned_workspace)      \
  X(another_problem_first)

namespace assay::relations {

#define ASSAY_DECLARE_PROPERTY(name) extern const property name;
ASSAY_PROPERTIES(ASSAY_DECLARE_PROPERTY)
#undef ASSAY_DECLARE_PROPERTY

}  // namespace assay::relations
