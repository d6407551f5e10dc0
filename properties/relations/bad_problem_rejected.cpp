#include <fmt/format.h>

#include "properties/relations/broken_calls.hpp"
#include "properties/relations/refusal.hpp"
#include "properties/relations/relation.hpp"
#include "properties/relations/relations.hpp"

namespace assay::relations {
namespace {

void plan(refusal_check& checked, const broken_problem& m, relation& r) {
  problem broken = checked.stated();
  if (!m.apply(broken)) return;
  if (const auto wrong = checked.plan(broken, m.name)) r.fail(*wrong);
}

void run(refusal_check& checked, const broken_problem& m, relation& r) {
  problem broken = checked.planned();
  abi_tensors tensors = checked.tensors();
  if (!m.apply(broken)) return;
  if (const auto wrong = checked.run(broken, tensors.list(), m.name)) r.fail(*wrong);
}

void run(refusal_check& checked, const broken_tensor& m, relation& r) {
  const std::size_t count = checked.tensors().list().size();
  for (std::size_t i = 0; i < count && !r.decided(); ++i) {
    abi_tensors tensors = checked.tensors();
    const std::string name = fmt::format(fmt::runtime(m.name), tensors.list()[i].name);
    const planned_tensor& described = checked.described(tensors.list()[i].name);
    if (!m.apply({describe(checked.planned().operation), described, tensors.list()}, i)) continue;
    if (const auto wrong = checked.run(checked.planned(), tensors.list(), name)) r.fail(*wrong);
  }
}

verdict check(const library& lib, const attention_case& c) {
  relation r(bad_problem_rejected, lib, c);
  if (r.decided()) return r.conclude();
  refusal_check checked(lib, c, clone(r.given()), r.base().planned);
  for (const broken_problem& m : broken_problems(describe(checked.planned().operation))) {
    if (!r.decided() && m.in_plan) plan(checked, m, r);
    if (!r.decided()) run(checked, m, r);
  }
  for (const broken_tensor& m : broken_tensors())
    if (!r.decided()) run(checked, m, r);
  return r.conclude();
}

}  // namespace

const property bad_problem_rejected{
    "bad_problem_rejected",
    "the host rejects a bad problem with a reason and launches nothing",
    check,
    nullptr,
};

}  // namespace assay::relations
