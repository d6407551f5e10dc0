/// All judges on one case: the rules of other projects, and ours.
#pragma once

#include <string>
#include <vector>

#include "properties/nightly/peer_table.hpp"

namespace assay {

/// Names and rules of all judges: peer_rules(), then our enclosure, then all checks of one run.
std::vector<std::pair<std::string, std::string>> judges();

/// One letter per judge.
enum judgement_letter : char { accepts = 'a', flags = 'f', cannot_judge = '-' };

/// The judges' letters on one case; empty if the library does not support the case. Runs it twice: with loads and
/// stores unchecked for the rules and the enclosure, then checked. A launch that fails is flagged by everyone.
std::string judge_case(library& lib, const attention_case& c, case_kind kind);

/// The letters of a run that ended at a guard page: only our checks flag it.
std::string letters_of_stopped_run();

/// What judge_case() says of cases 0 to options.cases - 1 of a kind. A case that ends its process gets
/// letters_of_stopped_run(), and `stopped` becomes true.
std::vector<std::string> judge_cases(library& lib, const std::string& kernel, const std::string& types, case_kind kind,
                                     const peer_options& options, bool& stopped);

}  // namespace assay
