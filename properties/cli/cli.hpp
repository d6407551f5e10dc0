/// The command line. Every command is a function that adds itself to the parser; main() is one call.
#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <iosfwd>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "properties/relations/property.hpp"

namespace assay {

/// What the program talks to.
struct cli_context {
  std::ostream& out;
  std::ostream& err;
  std::shared_ptr<library> preset;  ///< used instead of the built-in library; for tests
};

/// Exit statuses of every command. A run that verified too little (suite.hpp: shortfall) is exit_defect too.
enum exit_code : int { exit_verified = 0, exit_defect = 1, exit_usage = 2, exit_environment = 3 };

/// Runs one command line (without the program's name) to its exit status. Errors are one line on `err`.
int run_program(const std::vector<std::string>& arguments, const cli_context& context);

/// A wrong option or argument. Exit status 2.
struct usage_error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Which library a command works on.
struct library_options {
  std::string path;
  std::string platform;
  bool unchecked = false;
  bool lockstep_waves = false;
  void add_to(CLI::App& command);
  /// As arguments of a command line, each with a space before it.
  std::string text() const;
  /// Throws usage_error for an unknown platform, environment_error for one that is not here.
  std::shared_ptr<library> open(const cli_context& context) const;
};

/// The properties of these names; all without any. "all" is all. Throws usage_error.
std::vector<const property*> select_properties(const std::vector<std::string>& names);

/// Reads and checks a case. Throws case_error that names file and field.
attention_case load_case(const std::filesystem::path& file);

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

/// Each adds its command; the command's callback sets `status`.
void add_run(CLI::App& app, const cli_context& context, int& status);
void add_replay(CLI::App& app, const cli_context& context, int& status);
void add_explain(CLI::App& app, const cli_context& context, int& status);
void add_minimize(CLI::App& app, const cli_context& context, int& status);
void add_list(CLI::App& app, const cli_context& context, int& status);
void add_bench(CLI::App& app, const cli_context& context, int& status);
void add_corpus(CLI::App& app, const cli_context& context, int& status);
void add_merge_reports(CLI::App& app, const cli_context& context, int& status);
void add_fuzz(CLI::App& app, const cli_context& context, int& status);
void add_faults(CLI::App& app, const cli_context& context, int& status);
void add_nightly(CLI::App& app, const cli_context& context, int& status);

}  // namespace assay
