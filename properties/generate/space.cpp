#include "properties/generate/space.hpp"

#include <algorithm>
#include <stdexcept>

#include "properties/case/operation.hpp"
#include "properties/generate/empty.hpp"
#include "properties/generate/kernel_space.hpp"
#include "properties/generate/walker.hpp"

namespace assay {

std::int64_t multiply_adds(const attention_case& c) {
  std::int64_t pairs = 0;
  for (const sequence& s : c.sequences) pairs += std::int64_t{s.q} * s.k;
  return pairs * describe(c).pair_cost(c);
}

void walk(attention_case& c, choice_source& source, const space_limits& limits, std::span<const std::string> kernels) {
  const std::vector<std::string> names = drawable(kernels);
  if (names.empty()) throw std::invalid_argument("cases cannot be generated for any of these kernels");
  space_walker w(c, source, limits);
  c.version = 1;
  const auto last = static_cast<std::int64_t>(names.size()) - 1;
  const auto now = std::ranges::find(names, c.kernel) - names.begin();
  c.kernel = names[static_cast<std::size_t>(w.pick(options(0, last).add(1, 0, last), now))];
  const empty_kind lacked = fill_in(c);
  find_kernel_space(c.kernel)->walk(w);
  choose_empty(w, lacked);
  w.padding_rows();
  w.far_logits();
}

void walk(attention_case& c, choice_source& source, const space_limits& limits) {
  walk(c, source, limits, kernels_of_the_space());
}

}  // namespace assay
