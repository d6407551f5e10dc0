/// What to keep of a corpus, and what to add to it.
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
  std::string verdict;  ///< what plan_corpus() saw: "pass", "fail" (also of its process), "discard", "undecided"
};

/// The cases in files, and in folders of them, sorted. A file that does not end in .json holds the bytes of `t`, if
/// that makes cases of bytes; else it is left out if it is in a folder. Throws case_error for a bad file.
std::vector<stored_case> read_cases(const std::vector<std::string>& places, const campaign::target& t);

/// Whether somebody said what the case is there for; the tool's own reasons begin with "covers ".
bool has_own_reason(const attention_case& c);

/// What of the cases is needed, and for what.
struct corpus_plan {
  std::vector<stored_case> cases;
  std::vector<placement> placed;     ///< of `cases`
  std::vector<stored_case> failing;  ///< cannot be in a corpus, whose cases pass; not among `cases` unless pinned
  std::vector<stored_case> open;     ///< neither pass nor fail, so that they verify nothing; only those not pinned
  feature_names names;               ///< of all features that any case has
};

/// Runs all cases and finds the smallest set with their features. Costs are multiply_adds().
corpus_plan plan_corpus(const library& lib, std::vector<stored_case> cases, int jobs, double limit_seconds);

/// "covers 7 features of its own: ...": some of them by name.
std::string reason_of(const feature_names& names, const std::vector<std::uint32_t>& adds);

/// Where a case that is added goes: a folder for each kernel, a name by what is in it unless it has one. Where a file
/// of that name is already, or will be (`taken`), the name has what is in the case added to it.
std::filesystem::path place_in(const std::filesystem::path& corpus, const stored_case& added,
                               const std::set<std::filesystem::path>& taken);

}  // namespace assay::corpus
