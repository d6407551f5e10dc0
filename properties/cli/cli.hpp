/// What the commands of the command line share.
#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "properties/cli/program.hpp"
#include "properties/relations/property.hpp"

namespace assay {

/// A wrong option or argument. Exit status 2.
struct usage_error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// What a command opens its library for.
enum class opened_for { runs, lists };

/// Which library a command works on.
struct library_options {
  std::string path;
  std::string platform;
  bool unchecked = false;
  bool lockstep_waves = false;
  std::string accept;                 ///< a file: accepted_defects.hpp
  std::string contract = "declared";  ///< a contract_use
  std::string atoms;                  ///< of known_atoms, or empty: the cpu platform's own arithmetic
  void add_to(CLI::App& command);
  /// As arguments of a command line, each with a space before it.
  std::string text() const;
  /// Throws usage_error for an unknown platform, environment_error for one that is not built or, for runs, whose driver
  /// or device is not here.
  std::shared_ptr<library> open(const cli_context& context, opened_for what = opened_for::runs) const;

 protected:
  void add_checks_to(CLI::App& command);
};

/// Which libraries a command works on, one after the other: --library and --platform name several.
struct several_libraries : library_options {
  std::vector<std::string> paths;
  std::vector<std::string> platforms;
  void add_to(CLI::App& command);
  /// At least one. Throws usage_error where the options do not go together.
  std::vector<library_options> each() const;
  /// As text(), with all libraries.
  std::string text_of_all() const;
};

/// The names that --contract takes.
const std::map<std::string, contract_use>& contract_uses();

/// The properties of these names; all without any. "all" is all. Throws usage_error.
std::vector<const property*> select_properties(const std::vector<std::string>& names);

/// Reads and checks a case. Throws case_error that names file and field.
attention_case load_case(const std::filesystem::path& file);

/// Writes a report whose verdict was printed. If that fails: says so, and returns the status of a missing thing in
/// place of "verified"; a defect stays one.
int write_report(const cli_context& context, const std::filesystem::path& file, const std::string& text, int status);

/// Checks before the work that its result can be written. An empty path means that the option is not given. Throws
/// usage_error.
void require_place(const char* option, const std::filesystem::path& file);

/// Checks of option values. CLI11's own let NaN pass, wrap numbers that are too large, and print bounds of 300 digits.
CLI::Validator whole_number(std::uint64_t least, std::uint64_t most);
CLI::Validator seconds_above_zero();
CLI::Validator seconds_from_zero();

/// One job per processor.
int default_jobs();

/// The default seed: from the clock, and short enough to type again.
std::uint64_t seed_of_the_moment();

}  // namespace assay
