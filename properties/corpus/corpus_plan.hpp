/// Which cases to keep in a corpus, and which to add.
#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "properties/campaign/target.hpp"
#include "properties/corpus/case_features.hpp"
#include "properties/corpus/cover.hpp"

namespace assay::corpus {

/// A case of a corpus.
struct stored_case {
  std::filesystem::path file;
  attention_case c;
  bool is_pinned = false;
  std::string verdict;  ///< set by plan_corpus(): "pass", "fail" (also if it ends its process), "discard", "undecided"
};

/// The cases in files, and in folders of them, sorted. A file that does not end in .json is an input of `t`. If inputs
/// of `t` are not cases, such files in folders are left out. Throws case_error for a bad file.
std::vector<stored_case> read_cases(const std::vector<std::string>& places, const campaign::target& t);

/// Whether its `why` was written by a person; the tool's own begin with "covers ".
bool has_own_reason(const attention_case& c);

/// Which cases are needed, and for which features.
struct corpus_plan {
  std::vector<stored_case> cases;
  std::vector<placement> placed;     ///< of `cases`
  std::vector<stored_case> failing;  ///< cases of a corpus must pass; not among `cases` unless pinned
  std::vector<stored_case> open;     ///< discarded or undecided, and not pinned
  feature_names names;               ///< of all features that any case has
};

/// Runs all cases and finds the smallest set with their features. Costs are multiply_adds().
corpus_plan plan_corpus(const library& lib, std::vector<stored_case> cases, int jobs, double limit_seconds);

/// "covers 7 features of its own: ...": some of them by name.
std::string reason_of(const feature_names& names, const std::vector<std::uint32_t>& adds);

/// The file for a case that is added: in the folder of its kernel, with the name of its own file or a fingerprint. If
/// that name is used or in `taken`, a fingerprint is appended.
std::filesystem::path place_in(const std::filesystem::path& corpus, const stored_case& added,
                               const std::set<std::filesystem::path>& taken);

}  // namespace assay::corpus
