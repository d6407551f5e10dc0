#include <fmt/format.h>

#include <ostream>

#include "properties/cli/cli.hpp"
#include "properties/suite/minimize.hpp"
#include "properties/system/write_file.hpp"

namespace assay {
namespace {

struct minimize_arguments {
  library_options from;
  std::string file;
  std::string out;
  std::vector<std::string> properties;
  double limit_seconds = 60;
  shrink_budget budget{.seconds = 120, .tries = 100000};
};

int run(const minimize_arguments& given, const cli_context& context) {
  const auto lib = given.from.open(context);
  const attention_case c = load_case(given.file);
  require_place("--output", given.out);
  for (const property* p : select_properties(given.properties)) {
    if (!applies(*p, c.kernel)) continue;
    minimized found =
        minimize(c, isolated_judge(*lib, *p, given.limit_seconds), given.budget, lib->support_of(c.kernel));
    if (!found.reproduced) continue;
    found.smallest.why = fmt::format("{}: {}; shrunk from {}", p->name, found.result.what,
                                     std::filesystem::path(given.file).filename().string());
    const std::string text = to_json(found.smallest);
    context.err << fmt::format("assay: {} fails: {}\nassay: {} steps, {} tries\n", p->name, found.result.what,
                               found.steps, found.tries);
    if (given.out.empty())
      context.out << text << (text.ends_with('\n') ? "" : "\n");
    else
      write_by_rename(given.out, text);
    return exit_defect;
  }
  context.err << fmt::format("assay: {}: no property fails, so there is nothing to minimize\n", given.file);
  return exit_verified;
}

}  // namespace

void add_minimize(CLI::App& app, const cli_context& context, int& status) {
  auto given = std::make_shared<minimize_arguments>();
  CLI::App* command =
      app.add_subcommand("minimize", "Shrink a failing case to the smallest one that fails in the same way");
  command->add_option("case", given->file, "A case file")->required();
  command->add_option("-o,--output", given->out, "Write the smallest case to this file. Default: standard output");
  given->from.add_to(*command);
  command->add_option("--property", given->properties, "The property that fails. May be repeated. Default: try all")
      ->allow_extra_args(false);  // what follows is the case
  command
      ->add_option("--limit", given->limit_seconds,
                   "Processor seconds after which a case counts as hung. The wall-clock limit is four times as long")
      ->check(seconds_above_zero())
      ->capture_default_str();
  command->add_option("--shrink", given->budget.seconds, "Seconds to spend on shrinking")
      ->check(seconds_from_zero())
      ->capture_default_str();
  command->callback([given, &context, &status] { status = run(*given, context); });
}

}  // namespace assay
