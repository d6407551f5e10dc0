#include <fmt/format.h>

#include <ostream>

#include "properties/case/types.hpp"
#include "properties/cli/cli.hpp"
#include "properties/explain/story.hpp"
#include "properties/html/report_page.hpp"
#include "properties/suite/minimize.hpp"
#include "properties/suite/report.hpp"

namespace assay {
namespace {

struct explain_arguments {
  library_options from;
  std::string file;
  std::string element;
  std::string html;
  double limit_seconds = 60;
};

/// Writes the page of the case, if it is asked for.
int write_page(const explain_arguments& given, const cli_context& context, const library& lib, const attention_case& c,
               const verdict& v, const std::string& story, const case_pictures& drawn, int status) {
  if (given.html.empty()) return status;
  const std::string file = given.file, library_arguments = given.from.text();
  reported_finding f;
  f.kernel = c.kernel;
  f.types = types_of(c);
  f.property = enclosure_property().name;
  f.sentence = enclosure_property().sentence;
  f.origin = v.origin;
  f.what = v.what;
  f.first_load = v.first_load;
  f.history = "a stored case of " + shape_text(c);
  f.file = file;
  f.replay = replay_line(library_arguments, file);
  f.explain = fmt::format("./assay explain{} {}", library_arguments, file);
  f.smallest = c;
  const html::case_report report{fmt::format("{}, {}: {} kernels of {}", c.kernel, f.types, lib.platform(), lib.path()),
                                 v, f, story, drawn};
  return write_report(context, given.html, html::case_page(report, source_finder::for_library(lib.path())), status);
}

int run(const explain_arguments& given, const cli_context& context) {
  require_place("--html", given.html);
  const auto lib = given.from.open(context);
  const attention_case c = load_case(given.file);
  // What kills a process is found out in another one.
  const verdict first = isolated_judge(*lib, enclosure_property(), given.limit_seconds)(c);
  if (first.origin == "crash" || first.origin == "hang" || first.origin == "memory") {
    context.out << "verdict: fail\n  " << first.origin << ": " << first.what << '\n';
    case_pictures drawn;
    drawn.pages = use_of_pages(c);
    drawn.none = "The run ended its process, so there is no map of errors.";
    return write_page(given, context, *lib, c, first, "", drawn, exit_defect);
  }
  detailed_run run = run_in_detail(*lib, c);
  tell_first_load(*lib, c, run.result);
  std::optional<assay::element> chosen;
  if (!given.element.empty()) chosen = parse_element(given.element, run.ran.written);
  const std::string story = explain(c, run, chosen);
  context.out << story << std::flush;
  const int status = run.result.result == outcome::fail ? exit_defect : exit_verified;
  if (given.html.empty()) return status;
  return write_page(given, context, *lib, c, run.result, story, picture(c, run), status);
}

}  // namespace

void add_explain(CLI::App& app, const cli_context& context, int& status) {
  auto given = std::make_shared<explain_arguments>();
  CLI::App* command =
      app.add_subcommand("explain", "Show which page, tile and split an output element comes from, and its error");
  command->add_option("case", given->file, "A case file")->required();
  command->add_option("--element", given->element,
                      "The element: o,ROW,HEAD,COLUMN or lse,ROW,HEAD. Default: the worst one");
  command->add_option("--html", given->html,
                      "Also write it to this file as one HTML page, with pictures. Missing folders are created");
  given->from.add_to(*command);
  command
      ->add_option("--limit", given->limit_seconds,
                   "Processor seconds after which the case counts as hung. The wall-clock limit is four times as long")
      ->check(seconds_above_zero())
      ->capture_default_str();
  command->callback([given, &context, &status] { status = run(*given, context); });
}

}  // namespace assay
