#include "properties/cli/program.hpp"

namespace assay {

/// The launcher starts this program with these commands only, and only before the whole program is built.
int run_program(const std::vector<std::string>& arguments, const cli_context& context) {
  const command_table of_suite = {{add_run, add_replay, add_explain, add_minimize, add_bench, add_new},
                                  "This program has some of the commands; './assay --help' lists all"};
  return run_command(of_suite, arguments, context);
}

}  // namespace assay
