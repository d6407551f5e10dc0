#include <array>

#include "properties/generate/kernel_space.hpp"
#include "properties/relations/relations.hpp"

namespace assay {

bool applies(const property& p, std::string_view kernel) {
  return (capabilities_of(kernel) & p.needs) == p.needs;
}

std::span<const property> properties() {
  // Order is the order of reports; case i of a run goes to property i mod size.
  static const std::array table{
      relations::output_enclosed,    relations::split_count,          relations::combine_partials,
      relations::page_permutation,   relations::page_sharing,         relations::pool_shift,
      relations::table_tail,         relations::dead_memory,          relations::hidden_keys,
      relations::other_sequences,    relations::wave_schedule,        relations::head_permutation,
      relations::v_scaling,          relations::nothing_else_written, relations::bad_problem_rejected,
      relations::descale_exchange,   relations::equal_descales,       relations::context_splits,
      relations::other_rows,         relations::row_strides,          relations::more_columns,
      relations::slot_order,         relations::named_slots,          relations::slot_twice,
      relations::append_then_attend,
  };
  return table;
}

const property& enclosure_property() {
  return properties().front();
}

}  // namespace assay
