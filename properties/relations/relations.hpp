/// All properties, one file each; property_table.cpp puts them in order.
#pragma once

#include "properties/relations/property.hpp"

namespace assay::relations {

extern const property output_enclosed;
extern const property split_count;
extern const property page_permutation;
extern const property page_sharing;
extern const property pool_shift;
extern const property table_tail;
extern const property dead_memory;
extern const property other_sequences;
extern const property wave_schedule;
extern const property hidden_keys;
extern const property v_scaling;
extern const property head_permutation;
extern const property combine_partials;
extern const property nothing_else_written;
extern const property bad_problem_rejected;
extern const property descale_exchange;
extern const property equal_descales;
extern const property context_splits;
extern const property other_rows;
extern const property row_strides;
extern const property more_columns;
extern const property slot_order;
extern const property named_slots;
extern const property slot_twice;
extern const property append_then_attend;

}  // namespace assay::relations
