#include <fmt/format.h>

#include <iterator>
#include <optional>
#include <utility>

#include "properties/generate/large.hpp"
#include "properties/relations/beyond_space.hpp"
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

/// The good call, described as if its pool ended after so many pages.
struct shorter_pool {
  problem stated;
  abi_tensors tensors;
};
shorter_pool with_pages(const refusal_check& checked, std::int64_t pages) {
  shorter_pool call{checked.planned(), checked.tensors()};
  call.stated.num_pages = pages;
  for (const assay_tensor& t : call.tensors.list())
    if (checked.described(t.name).is_pool) t.view.shape[0] = pages;
  return call;
}

/// Breaks every tensor, of the whole pool or of one of `pages`. No call is to get as far as a page's number.
void run(refusal_check& checked, const broken_tensor& m, relation& r, std::optional<std::int64_t> pages) {
  const std::size_t count = checked.tensors().list().size();
  for (std::size_t i = 0; i < count && !r.decided(); ++i) {
    shorter_pool call = with_pages(checked, pages.value_or(checked.planned().num_pages));
    std::vector<assay_tensor>& tensors = call.tensors.list();
    const std::string name = fmt::format(fmt::runtime(m.name), tensors[i].name);
    const planned_tensor& described = checked.described(tensors[i].name);
    if (pages && !described.is_pool) continue;
    if (!m.apply({call.stated, described, tensors}, i)) continue;
    if (const auto wrong = checked.run(call.stated, tensors, name)) r.fail(*wrong);
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
  // Two pages are the fewest that can lie apart, and so the ones that a wrong bound takes for one.
  for (const std::optional<std::int64_t> pages : {std::optional<std::int64_t>{}, {2}})
    for (const broken_tensor& m : broken_tensors())
      if (!r.decided() && checked.planned().num_pages >= pages.value_or(0)) run(checked, m, r, pages);
  verdict beyond;
  if (!r.decided()) beyond = verdict_beyond_space(lib, c);
  if (beyond.result == outcome::fail) r.fail(beyond.what);
  verdict v = r.conclude();
  return v.result == outcome::pass && beyond.result == outcome::undecided ? beyond : v;
}

/// Hundreds of calls: of a crowd of sequences each takes a second. The last one mostly has rows.
void adapt(attention_case& c) {
  if (std::ssize(c.sequences) <= most_sequences_of_all) return;
  attention_case few = c;
  few.sequences.erase(few.sequences.begin() + most_sequences_of_all - 1, few.sequences.end() - 1);
  if (is_valid(few)) c = std::move(few);
}

}  // namespace

const property bad_problem_rejected{
    "bad_problem_rejected",
    "the host rejects a bad problem with a reason and launches nothing, also one that is legal but not supported",
    check,
    adapt,
};

}  // namespace assay::relations
