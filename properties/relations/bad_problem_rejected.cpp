#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <string_view>
#include <utility>

#include "properties/generate/large.hpp"
#include "properties/relations/beyond_space.hpp"
#include "properties/relations/broken_calls.hpp"
#include "properties/relations/refusal.hpp"
#include "properties/relations/relation.hpp"
#include "properties/relations/relations.hpp"

namespace assay::relations {
namespace {

/// What the library did not refuse, a sentence each.
using sentences = std::vector<std::string>;

void note(const std::optional<std::string>& wrong, sentences& missing) {
  if (wrong) missing.push_back(*wrong);
}

void plan(refusal_check& checked, const broken_problem& m, sentences& missing) {
  problem broken = checked.stated();
  if (m.apply(broken)) note(checked.plan(broken, m.name), missing);
}

void run(refusal_check& checked, const broken_problem& m, sentences& missing) {
  problem broken = checked.planned();
  abi_tensors tensors = checked.tensors();
  if (m.apply(broken)) note(checked.run(broken, tensors.list(), m.name), missing);
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
void run(refusal_check& checked, const broken_tensor& m, sentences& missing, std::optional<std::int64_t> pages) {
  const std::size_t count = checked.tensors().list().size();
  for (std::size_t i = 0; i < count && !checked.has_launched(); ++i) {
    shorter_pool call = with_pages(checked, pages.value_or(checked.planned().num_pages));
    std::vector<assay_tensor>& tensors = call.tensors.list();
    const std::string name = fmt::format(fmt::runtime(m.name), tensors[i].name);
    const planned_tensor& described = checked.described(tensors[i].name);
    if (pages && !described.is_pool) continue;
    if (!m.apply({call.stated, described, tensors}, i)) continue;
    note(checked.run(call.stated, tensors, name), missing);
  }
}

/// Whether run() has to refuse what only the built-in kernels do not take: where tensors contradict it. A number of
/// splits shows in the partials alone.
bool contradicts_tensors(const broken_problem& m, const attention_case& c, const assay_support& takes) {
  problem p = to_problem(c);
  const std::int32_t splits = p.num_splits;
  return m.apply(p) && (p.num_splits == splits || takes.no_partials == 0);
}

void check_scalars(refusal_check& checked, const attention_case& c, const library& lib, sentences& missing) {
  const bool is_declared = lib.declares(c.kernel);
  for (const broken_problem& m : broken_problems(describe(checked.planned().operation))) {
    const bool is_taken = m.is_own_limit && is_declared;
    if (m.in_plan && !is_taken) plan(checked, m, missing);
    if (!is_taken || contradicts_tensors(m, c, lib.support_of(c.kernel))) run(checked, m, missing);
  }
}

/// Until one is launched with: a kernel that follows a broken description may end the process, and all is lost that was
/// found.
void check_tensors(refusal_check& checked, sentences& missing) {
  // Two pages are the fewest that can lie apart, and so the ones that a wrong bound takes for one.
  for (const std::optional<std::int64_t> pages : {std::optional<std::int64_t>{}, {2}})
    for (const broken_tensor& m : broken_tensors())
      if (checked.planned().num_pages >= pages.value_or(0)) run(checked, m, missing, pages);
}

/// Of a sentence about plan(), the same about run().
std::string about_run(const std::string& sentence) {
  constexpr std::string_view plans = "plan() ";
  return sentence.starts_with(plans) ? "run() " + sentence.substr(plans.size()) : "";
}

/// All of them in one line, each once: also what neither plan() nor run() refuses.
std::string all_of(sentences missing) {
  sentences each;
  for (std::string& m : missing) {
    const std::string of_run = about_run(m);
    const bool is_both = !of_run.empty() && std::ranges::find(missing, of_run) != missing.end();
    if (is_both) std::ranges::replace(missing, of_run, std::string());
    std::string sentence = is_both ? "plan() and " + of_run : m;
    if (!sentence.empty() && std::ranges::find(each, sentence) == each.end()) each.push_back(std::move(sentence));
  }
  if (each.size() == 1) return each.front();
  return fmt::format("{} refusals are missing: {}", each.size(), fmt::join(each, "; "));
}

sentences missing_refusals(const library& lib, const attention_case& c, const relation& r, device_look look) {
  refusal_check checked(lib, c, clone(r.given()), r.base().planned, r.base().workspace_bytes, look);
  sentences missing;
  check_scalars(checked, c, lib, missing);
  check_tensors(checked, missing);
  note(checked.ended(), missing);
  return missing;
}

/// Where something is missing on a device, each call is made again and looked at by itself, for the sentences.
sentences missing_refusals(const library& lib, const attention_case& c, const relation& r) {
  sentences missing = missing_refusals(lib, c, r, device_look::at_the_end);
  if (missing.empty() || lib.tensors_on() == kDLCPU) return missing;
  sentences by_call = missing_refusals(lib, c, r, device_look::after_each_call);
  return by_call.empty() ? missing : by_call;
}

verdict check(const library& lib, const attention_case& c) {
  relation r(bad_problem_rejected, lib, c);
  if (r.decided()) return r.conclude();
  sentences missing = missing_refusals(lib, c, r);
  verdict beyond;
  if (missing.empty()) beyond = verdict_beyond_space(lib, c);
  if (beyond.result == outcome::fail) missing.push_back(beyond.what);
  if (!missing.empty()) r.fail(all_of(std::move(missing)));
  verdict v = r.conclude();
  return v.result == outcome::pass && beyond.result == outcome::undecided ? beyond : v;
}

/// Hundreds of calls: of a crowd of sequences each takes a second. The last one mostly has rows.
void adapt(attention_case& c, const assay_support& /*takes*/) {
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
    refuses_problems,
};

}  // namespace assay::relations
