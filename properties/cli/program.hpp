/// The command line. Every command is a function that adds itself to the parser; main() is one call. What lists the
/// commands needs no parser, so none is included here.
#pragma once

#include <iosfwd>
#include <memory>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace assay {

class library;

/// What the program talks to.
struct cli_context {
  std::ostream& out;
  std::ostream& err;
  std::shared_ptr<library> preset;  ///< used instead of the built-in library; for tests
};

/// Exit statuses of every command. A run that verified too little (suite.hpp: shortfall) is exit_defect too.
enum exit_code : int { exit_verified = 0, exit_defect = 1, exit_usage = 2, exit_environment = 3 };

/// Runs one command line (without the program's name) to its exit status. Errors are one line on `err`. The commands
/// are those of the definition that is linked: all_commands.cpp or suite_commands.cpp.
int run_program(const std::vector<std::string>& arguments, const cli_context& context);

/// The commands of a program.
struct command_table {
  /// Each adds its command; the command's callback sets `status`.
  std::vector<void (*)(CLI::App& app, const cli_context& context, int& status)> add;
  std::string others;  ///< a sentence: who has the commands that are not here; empty: there are no others
};

int run_command(const command_table& table, const std::vector<std::string>& arguments, const cli_context& context);

void add_run(CLI::App& app, const cli_context& context, int& status);
void add_replay(CLI::App& app, const cli_context& context, int& status);
void add_explain(CLI::App& app, const cli_context& context, int& status);
void add_minimize(CLI::App& app, const cli_context& context, int& status);
void add_list(CLI::App& app, const cli_context& context, int& status);
void add_bench(CLI::App& app, const cli_context& context, int& status);
void add_corpus(CLI::App& app, const cli_context& context, int& status);
void add_merge_reports(CLI::App& app, const cli_context& context, int& status);
void add_export(CLI::App& app, const cli_context& context, int& status);
void add_check(CLI::App& app, const cli_context& context, int& status);
void add_fuzz(CLI::App& app, const cli_context& context, int& status);
void add_faults(CLI::App& app, const cli_context& context, int& status);
void add_pack(CLI::App& app, const cli_context& context, int& status);
void add_new(CLI::App& app, const cli_context& context, int& status);
void add_probe(CLI::App& app, const cli_context& context, int& status);
void add_nightly(CLI::App& app, const cli_context& context, int& status);

}  // namespace assay
