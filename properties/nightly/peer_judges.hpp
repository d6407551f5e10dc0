/// All judges on one case: the rules of other projects, and ours.
#pragma once

#include <string>
#include <vector>

#include "properties/case/case.hpp"
#include "properties/nightly/peer_table.hpp"
#include "properties/run/kernel_library.hpp"

namespace assay {

/// Names and rules of all judges: peer_rules(), then our enclosure, then all checks of one run.
std::vector<std::pair<std::string, std::string>> judges();

/// One letter per judge.
enum judgement_letter : char { accepts = 'a', flags = 'f', cannot_judge = '-' };

struct judged_case {
  std::string letters;      ///< one per judge; empty if the library does not support the case
  std::string output_bits;  ///< a fingerprint of the results and the LSE; empty if there are none
  bool operator==(const judged_case&) const = default;
};

/// Runs the case twice: with loads and stores unchecked for the rules and the enclosure, then checked. A launch that
/// fails is flagged by everyone.
judged_case judge_case(library& lib, const attention_case& c, case_kind kind);

/// Of a run that ended at a guard page: only our checks flag it.
judged_case stopped_run();

/// What judge_case() says of cases 0 to options.cases - 1 of a kind. A case that ends its process is a stopped_run(),
/// and `stopped` becomes true.
std::vector<judged_case> judge_cases(library& lib, const std::string& kernel, const std::string& types, case_kind kind,
                                     const peer_options& options, bool& stopped);

}  // namespace assay
