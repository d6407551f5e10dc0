/// What else a kernel did wrong in a run that failed, at another line of its source.
struct other_failure {
  std::string origin;
  std::string what;
  bool operator==(const other_failure&) const = default;
};

/// The verdict on a case.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "oracle/enclosure.hpp"
#include "properties/case/case.hpp"
#include "properties/run/kernel_library.hpp"
#include "properties/run/reach.hpp"
#include "properties/run/teeth.hpp"

namespace assay {

enum class outcome { pass, fail, discard, undecided };

/// The verdict on a case. `what` is one line: what is wrong and where (fail), or the reason (discard).
struct verdict {
  outcome result = outcome::pass;
  std::string
      origin;  ///< which check decided: "enclosure", "residual", origin_of a defect, "memory", a property's name
  std::string what;
  std::string hint;  ///< of a failure that was kept: one more line that helps to find its cause, or empty
  std::vector<other_failure> also;  ///< of a failure, where the kernel's run tells of several
  std::vector<oracle::judgement> judgements;
  std::int64_t outputs_judged = 0;    ///< elements of the results whose enclosure is not a point
  std::int64_t outputs_sharp = 0;     ///< those of them whose enclosure admits at most two values
  std::int64_t rows_regressed = 0;    ///< of o, times heads: those of which the residual test says something
  std::int64_t lse_regressed = 0;     ///< the same of lse
  std::int64_t accesses_checked = 0;  ///< loads and stores of the kernel, except those to its own stack
  double kernel_seconds = 0;
  double oracle_seconds = 0;
  reach_set reached = 0;                         ///< of a case whose outputs were judged
  std::vector<named_bite> teeth;                 ///< of a case that passed, where the library measures them
  std::map<std::string, std::int64_t> accepted;  ///< defects that --accept names, by its line
  std::string first_load;    ///< one line on the load that explains a NaN (nan_origin.hpp), where it was asked for
  bool could_check = false;  ///< the kernel stores, in checked runs, and the library was compiled for checks
  std::int64_t draw = 0;     ///< of a run's case: how often it was drawn anew, as the library's predicate refused it
  std::string accuracy;      ///< one line on the distance to exact attention, where it was asked for
};

/// Checks one case: fill, run, enclose, judge. Every entry point uses it.
verdict run_case(const library& lib, const attention_case& c);

}  // namespace assay
