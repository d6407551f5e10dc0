#include <ostream>

#include "properties/cli/cli.hpp"
#include "properties/explain/story.hpp"
#include "properties/suite/minimize.hpp"

namespace assay {
namespace {

struct explain_arguments {
  library_options from;
  std::string file;
  std::string element;
  double limit_seconds = 60;
};

int run(const explain_arguments& given, const cli_context& context) {
  const auto lib = given.from.open(context);
  const attention_case c = load_case(given.file);
  // What kills a process is found out in another one.
  const verdict first = isolated_judge(*lib, enclosure_property(), given.limit_seconds)(c);
  if (first.origin == "crash" || first.origin == "hang" || first.origin == "memory") {
    context.out << "verdict: fail\n  " << first.origin << ": " << first.what << '\n';
    return exit_defect;
  }
  detailed_run run = run_in_detail(*lib, c);
  tell_first_load(*lib, c, run.result);
  std::optional<assay::element> chosen;
  if (!given.element.empty()) chosen = parse_element(given.element, run.ran.written);
  context.out << explain(c, run, chosen);
  return run.result.result == outcome::fail ? exit_defect : exit_verified;
}

}  // namespace

void add_explain(CLI::App& app, const cli_context& context, int& status) {
  auto given = std::make_shared<explain_arguments>();
  CLI::App* command =
      app.add_subcommand("explain", "Show which page, tile and split an output element comes from, and its error");
  command->add_option("case", given->file, "A case file")->required();
  command->add_option("--element", given->element,
                      "The element: o,ROW,HEAD,COLUMN or lse,ROW,HEAD. Default: the worst one");
  given->from.add_to(*command);
  command
      ->add_option("--limit", given->limit_seconds,
                   "Processor seconds after which the case counts as hung. The wall-clock limit is four times as long")
      ->check(seconds_above_zero())
      ->capture_default_str();
  command->callback([given, &context, &status] { status = run(*given, context); });
}

}  // namespace assay
