/// Runs the suite on mutants, and says which of them it kills.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "tests/mutants/equivalents.hpp"
#include "tests/mutants/workshop.hpp"

namespace assay::mutants {

struct mutation_options {
  std::filesystem::path sources;  ///< the project's folder
  std::filesystem::path build;
  std::filesystem::path work = "out/mutants";
  std::filesystem::path program;  ///< assay
  std::filesystem::path recipes;
  /// Mutates only paths that contain it.
  std::string only = {};      // NOLINT(readability-redundant-member-init): may be left out
  std::int64_t sample = 100;  ///< 0: all
  std::int64_t cases = 600;   ///< of a run
  std::uint64_t seed = 1;     ///< of the sample and of the runs
  int jobs = 1;
  double limit_seconds = 600;  ///< for one run
  /// Results (mutation_json) whose survivors are tried in place of a sample.
  std::vector<std::filesystem::path> again = {};  // NOLINT(readability-redundant-member-init): may be left out
};

enum class fate {
  killed,       ///< the run failed, hung or crashed, or verified less than that of the clean kernels
  survived,     ///< the run of the mutant ended like that of the clean kernels
  equivalent,   ///< it survived, and the committed list says why it may
  same_object,  ///< the compiler makes the same code of it
  not_built,    ///< it does not compile
};
const char* name_of(fate f);

struct mutant_result {
  mutant change;
  fate what = fate::survived;
  std::string kernel;  ///< the one that killed it, or all that it was tried in
  std::string detail;  ///< how it was killed; the reason of the equivalent
  double build_seconds = 0;
  double run_seconds = 0;
};

struct mutation_result {
  std::vector<mutant_result> tried;  ///< in the order of the sample
  std::int64_t mutants = 0;          ///< that there are
  std::vector<std::string> gone;     ///< survivors of earlier results that are no mutants any more, as "PATH: LINE"
  std::int64_t count(fate f) const;
  /// Killed, of those that are neither equivalent nor broken; 1 if there are none.
  double score() const;
};

/// All mutants of all files that may be mutated, sorted by path and place.
std::vector<mutant> all_mutants(const mutation_options& options, const reach& reached);

/// The sample: the first mutants of a shuffle by the seed. A larger sample begins with the smaller one.
std::vector<mutant> sampled(std::vector<mutant> all, std::int64_t count, std::uint64_t seed);

/// What to try: the sample, or the survivors of earlier results, known by content, but those that are listed as
/// equivalent now. `gone` receives the survivors that `all` has no more. Throws case_error where a file is no result.
std::vector<mutant> chosen(const mutation_options& options, const std::vector<equivalent>& known,
                           std::vector<mutant> all, std::vector<std::string>& gone);

/// Tries what is chosen. A mutant of code that several kernels share is tried in one after the other until one kills
/// it. Calls `done` after each.
mutation_result try_mutants(const mutation_options& options, const std::vector<equivalent>& known,
                            const std::function<void(const mutant_result&)>& done);

/// Counts, build errors, the survivors with their changes, and the score.
std::string mutation_text(const mutation_result& result, const mutation_options& options);
/// Stable keys, version 1; survivors are findings, as nights read them.
std::string mutation_json(const mutation_result& result, const mutation_options& options, double floor);

}  // namespace assay::mutants
