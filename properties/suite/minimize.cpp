#include "properties/suite/minimize.hpp"
#include "properties/generate/bytes.hpp"
#include "properties/run/execute.hpp"
#include "properties/run/hint.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <sstream>
#include <unordered_set>
#include <utility>

#include "properties/generate/shrink.hpp"
#include "properties/generate/support_table.hpp"
#include "properties/run/execute.hpp"
#include "properties/run/nan_origin.hpp"
#include "properties/run/verdict_json.hpp"
#include "properties/suite/source_lines.hpp"
#include "properties/system/device_driver.hpp"
#include "properties/system/worker.hpp"

namespace assay {
namespace {

bool same_failure(const verdict& a, const verdict& b) {
  return a.result == outcome::fail && b.result == outcome::fail &&
         failure_kind(a.origin, a.what) == failure_kind(b.origin, b.what);
}

/// Of an exception: the first line of its message, and what the others say beside.
verdict raised(const std::string& message) {
  std::istringstream lines(message);
  std::string line;
  std::getline(lines, line);
  verdict v = failed("exception", line);
  while (std::getline(lines, line)) v.also.push_back({"exception", line});
  return v;
}

class descent {
 public:
  descent(minimized& found, const judge_function& judge, const shrink_budget& budget, const assay_support& takes)
      : found_(found),
        kind_(failure_kind(found.result.origin, found.result.what)),
        judge_(judge),
        budget_(budget),
        takes_(takes) {}

  bool spent() const {
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
    return found_.tries >= budget_.tries || seconds > budget_.seconds;
  }

  /// Replaces the case by the first simpler one that fails in the same way. False if all simpler ones pass.
  bool step() {
    for (attention_case& candidate : simpler(found_.smallest, takes_)) {
      if (spent()) return false;
      if (!tried_.insert(to_json(candidate)).second) continue;
      ++found_.tries;
      verdict v = led_by(kind_, judge_(candidate));
      if (!same_failure(v, found_.result)) continue;
      found_.smallest = std::move(candidate);
      found_.result = std::move(v);
      ++found_.steps;
      return true;
    }
    return false;
  }

 private:
  minimized& found_;
  std::string kind_;
  const judge_function& judge_;
  const shrink_budget& budget_;
  const assay_support& takes_;
  std::unordered_set<std::string> tried_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace

std::string failure_kind(const std::string& origin, const std::string& what) {
  std::string kind = origin;
  if (origin != "exception") return kind;
  for (const source_place& p : places_in(what)) kind += fmt::format(" {}:{}", p.name, p.line);
  return kind;
}

verdict led_by(const std::string& kind, verdict v) {
  if (v.result != outcome::fail || failure_kind(v.origin, v.what) == kind) return v;
  for (other_failure& other : v.also) {
    if (failure_kind(other.origin, other.what) != kind) continue;
    std::swap(v.origin, other.origin);
    std::swap(v.what, other.what);
    break;
  }
  return v;
}

minimized minimize(const attention_case& failing, const judge_function& judge, const shrink_budget& budget,
                   const assay_support& takes) {
  minimized found{failing, judge(failing)};
  found.reproduced = found.result.result == outcome::fail;
  if (!found.reproduced) return found;
  descent search(found, judge, budget, takes);
  while (!search.spent() && search.step()) {
  }
  return found;
}

namespace {

/// Why the refusal of this case, of which a budget for workspaces is no part, is a failure; empty if it is none.
std::string promise_of(const library& lib, const attention_case& c) {
  if (c.workspace_budget_bytes != 0) return {};
  if (lib.declares(c.kernel) && unsupported_by(lib.support_of(c.kernel), c).empty() &&
      refused_by_predicate(lib, c).empty())
    return "the library refuses what it declares to support: ";
  return lib.supports_generated && is_in_space(c) ? "the library says that it supports generated cases, but: " : "";
}

}  // namespace

verdict check_property(const library& lib, const property& p, const attention_case& c) {
  if (!applies(p, c.kernel)) return discarded(fmt::format("{} is not about {}", p.name, c.kernel));
  if (const std::string why = left_out(p, c.kernel, lib.support_of(c.kernel), traits_of(lib)); !why.empty())
    return discarded(fmt::format("{} is left out: {}", p.name, why));
  try {
    if (lib.checks.accepted != nullptr) lib.checks.accepted->take_counts();  // of what came before
    verdict v = p.check(lib, c);
    if (lib.checks.accepted != nullptr) v.accepted = lib.checks.accepted->take_counts();
    // Elements that are judged are stored.
    const bool stores = std::ranges::any_of(v.judgements, [](const oracle::judgement& j) { return j.elements > 0; });
    v.could_check = stores && lib.checks.accesses && lib.is_compiled_for_checks();
    const bool is_refused = v.result == outcome::discard && v.origin == refusal_origin;
    if (const std::string promise = is_refused ? promise_of(lib, c) : ""; !promise.empty())
      return failed(refusal_origin, promise + v.what);
    return v;
  } catch (const std::bad_alloc&) {
    if (worker::has_memory_limit()) throw;  // it is this machine's then, not the kernel's
    return failed("exception", "std::bad_alloc");
  } catch (const device_memory_error& e) {
    return undecided("device", e.what());
  } catch (const std::exception& e) {
    return raised(e.what());
  }
}

void tell_first_load(const library& lib, const attention_case& c, verdict& v) {
  if (!asks_for_loads(v)) return;
  try {
    v.first_load = first_suspect_load(lib, c);
  } catch (const std::exception&) {  // the verdict stands without it
    v.first_load.clear();
  }
}

judge_function isolated_judge(const library& lib, const property& p, double limit_seconds, bool tells_loads) {
  const auto serve = [&lib, &p, tells_loads](const std::string& request) {
    const attention_case c = from_json(request, "candidate");
    // What shrinking makes of a case may be beyond what the library takes.
    if (const std::string why = refused_by_predicate(lib, c); !why.empty())
      return verdict_to_json(discarded("the library does not support the case: " + why));
    verdict v = check_property(lib, p, c);
    if (tells_loads) tell_first_load(lib, c, v);
    return verdict_to_json(v);
  };
  auto child = std::make_shared<isolated>(serve, limit_seconds);
  return [child](const attention_case& c) { return verdict_of(child->ask(to_json(c))); };
}

std::string isolated_hint(const library& lib, const attention_case& c, const verdict& failed, double limit_seconds) {
  const auto serve = [&lib, &failed](const std::string& request) {
    return hint_for(lib, from_json(request, "candidate"), failed);
  };
  return isolated(serve, limit_seconds).ask(to_json(c)).reply.value_or("");
}

}  // namespace assay
