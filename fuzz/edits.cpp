#include "fuzz/edits.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <span>

#include "properties/relations/broken_calls.hpp"

namespace assay::fuzz {
namespace {

constexpr std::int32_t problem::* integers[] = {
    &problem::head_dim_qk, &problem::head_dim_v, &problem::causal,
    &problem::window,      &problem::num_splits, &problem::fills_hidden,
};
constexpr float problem::* numbers[] = {
    &problem::scale, &problem::q_scale, &problem::k_scale, &problem::v_scale, &problem::soft_cap,
};
constexpr std::int32_t integer_values[] = {0,
                                           1,
                                           -1,
                                           2,
                                           16,
                                           64,
                                           65,
                                           1 << 16,
                                           1 << 30,
                                           std::numeric_limits<std::int32_t>::max(),
                                           std::numeric_limits<std::int32_t>::min()};
constexpr float number_values[] = {1.0F,
                                   0.0F,
                                   -1.0F,
                                   1e-40F,
                                   1e38F,
                                   -std::numeric_limits<float>::infinity(),
                                   std::numeric_limits<float>::infinity(),
                                   std::numeric_limits<float>::quiet_NaN()};

template <typename T>
T one_of(choice_source& choices, std::span<const T> values) {
  return values[choose(choices, values.size())];
}

void edit(assay_tensor& t, choice_source& choices) {
  DLTensor& view = t.view;
  const std::size_t axis = view.ndim > 0 ? choose(choices, static_cast<std::size_t>(view.ndim)) : 0;
  switch (choose(choices, 5)) {
    case 0:
      if (view.ndim > 0 && view.shape[axis] > 0) --view.shape[axis];
      break;
    case 1:
      if (view.ndim > 0) view.shape[axis] = 0;
      break;
    case 2: view.ndim = std::max(view.ndim - 1, 0); break;
    case 3: t.type = static_cast<std::int32_t>(choose(choices, 12)) - 1; break;
    default: view.data = nullptr; break;
  }
}

}  // namespace

std::size_t choose(choice_source& choices, std::size_t count) {
  const alternative all{1, 0, static_cast<std::int64_t>(count) - 1};
  return static_cast<std::size_t>(choices.choose({&all, 1}, 0));
}

void edit(problem& p, choice_source& choices) {
  for (std::size_t left = choose(choices, 5); left > 0; --left) {
    const std::size_t which = choose(choices, std::size(integers) + std::size(numbers));
    if (which < std::size(integers))
      p.*integers[which] = one_of<std::int32_t>(choices, integer_values);
    else
      p.*numbers[which - std::size(integers)] = one_of<float>(choices, number_values);
  }
}

void edit(std::vector<assay_tensor>& tensors, std::size_t kept, choice_source& choices) {
  for (std::size_t left = choose(choices, 4); left > 0; --left)
    if (const std::size_t at = choose(choices, tensors.size()); at != kept) edit(tensors[at], choices);
}

std::optional<std::string> break_and_check(relations::refusal_check& checked, choice_source& choices) {
  abi_tensors tensors = checked.tensors();
  if (choose(choices, 2) == 0) {
    const auto breaks = relations::broken_problems(describe(checked.planned().operation));
    const relations::broken_problem& m = breaks[choose(choices, breaks.size())];
    const bool plans = m.in_plan && choose(choices, 2) == 0;
    problem broken = plans ? checked.stated() : checked.planned();
    edit(broken, choices);
    if (!m.apply(broken)) return std::nullopt;
    if (plans) return checked.plan(broken, m.name);
    edit(tensors.list(), tensors.list().size(), choices);
    return checked.run(broken, tensors.list(), m.name);
  }
  const auto& breaks = relations::broken_tensors();
  const relations::broken_tensor& m = breaks[choose(choices, breaks.size())];
  const std::size_t at = choose(choices, tensors.list().size());
  const std::string name = fmt::format(fmt::runtime(m.name), tensors.list()[at].name);
  const planned_tensor& described = checked.described(tensors.list()[at].name);
  edit(tensors.list(), at, choices);
  if (!m.apply({checked.planned(), described, tensors.list()}, at)) return std::nullopt;
  return checked.run(checked.planned(), tensors.list(), name);
}

}  // namespace assay::fuzz
