#include "properties/cli/program.hpp"

namespace assay {

int run_program(const std::vector<std::string>& arguments, const cli_context& context) {
  const command_table all = {
      {add_run, add_replay, add_explain, add_minimize, add_list, add_bench, add_new, add_pack, add_merge_reports,
       add_export, add_check, add_fuzz, add_corpus, add_faults, add_nightly, add_probe},
      {}};
  return run_command(all, arguments, context);
}

}  // namespace assay
