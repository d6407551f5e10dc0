/// Shrinking a failing case: the smallest one that still fails in the same way.
#pragma once

#include <functional>

#include "properties/relations/property.hpp"

namespace assay {

/// By what failures differ: the check that decided, and of exceptions the lines of source that the message
/// names.
std::string failure_kind(const std::string& origin, const std::string& what);

/// The verdict with the failure of this kind first, where that is among its others; else as it is.
verdict led_by(const std::string& kind, verdict v);

/// When to stop shrinking.
struct shrink_budget {
  double seconds = 20;
  int tries = 4000;
};

struct minimized {
  attention_case smallest;
  verdict result;           ///< of `smallest`
  bool reproduced = false;  ///< the given case failed again; else it was not shrunk
  int steps = 0;            ///< successful reductions
  int tries = 0;
};

/// Judges a candidate, in this process or, if it may crash, in another.
using judge_function = std::function<verdict(const attention_case&)>;

/// Descends greedily through `simpler`: takes the first candidate that fails in the same way
/// (failure_kind), and starts over. It
/// stays within what the kernel takes.
minimized minimize(const attention_case& failing, const judge_function& judge, const shrink_budget& budget = {},
                   const assay_support& takes = {});

/// Checks a property on a case in a child process. A crash or hang of the child is a failure of that origin, and costs
/// only the child. With `tells_loads`, a failure that asks for it says which load explains it: another run.
judge_function isolated_judge(const library& lib, const property& p, double limit_seconds, bool tells_loads = false);

/// Adds that to a verdict, in this process.
void tell_first_load(const library& lib, const attention_case& c, verdict& v);

/// The same within this process: exceptions become failures. A discard where the property does not apply to the kernel,
/// or needs more than it takes. A failure where the library refuses a case that it declares to support.
verdict check_property(const library& lib, const property& p, const attention_case& c);

/// hint_for() in a child process; empty if the child does not end well.
std::string isolated_hint(const library& lib, const attention_case& c, const verdict& failed, double limit_seconds);

}  // namespace assay
