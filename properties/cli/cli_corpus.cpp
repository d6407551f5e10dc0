#include <fmt/format.h>

#include <ostream>

#include "properties/cli/cli.hpp"
#include "properties/corpus/corpus_plan.hpp"
#include "properties/system/write_file.hpp"

namespace assay {
namespace {

namespace fs = std::filesystem;
using corpus::corpus_plan;
using corpus::stored_case;

struct corpus_arguments {
  library_options from;
  std::string corpus = "corpus";
  std::vector<std::string> candidates;
  std::string target;
  int jobs = default_jobs();
  double limit_seconds = 60;
  bool write = false;
  bool all = false;
};

void print_left_out(const corpus_plan& plan, const cli_context& context) {
  for (const stored_case& s : plan.failing)
    context.out << fmt::format(
        "FAIL {}: this case fails, and a corpus holds only cases that pass (see: assay replay)\n", s.file.string());
  for (const stored_case& s : plan.open)
    context.out << fmt::format("skip {}: its verdict is {}, so it verifies nothing (see: assay replay)\n",
                               s.file.string(), s.verdict);
}

int finish(const corpus_plan& plan, const corpus_arguments& given, std::size_t kept, std::size_t changed,
           const char* done, const cli_context& context) {
  context.out << fmt::format("{} features of {} cases; {} cases kept, {} {}{}\n", plan.names.count(), plan.cases.size(),
                             kept, changed, done,
                             given.write || changed == 0 ? "" : "; nothing was written (see --write)");
  return plan.failing.empty() ? exit_verified : exit_defect;
}

int merge(const corpus_arguments& given, const cli_context& context) {
  const auto lib = given.from.open(context);
  const campaign::target bytes = given.target.empty() ? campaign::target{} : campaign::target_named(given.target);
  std::vector<stored_case> cases = corpus::read_cases({given.corpus}, {});
  for (stored_case& s : cases) s.is_pinned = true;
  const std::size_t here = cases.size();
  for (stored_case& s : corpus::read_cases(given.candidates, bytes)) cases.push_back(std::move(s));
  corpus_plan plan = corpus::plan_corpus(*lib, std::move(cases), given.jobs, given.limit_seconds);
  print_left_out(plan, context);
  std::set<fs::path> added;
  for (std::size_t i = 0; i < plan.cases.size(); ++i) {
    stored_case& s = plan.cases[i];
    if (s.is_pinned || !plan.placed[i].is_kept) continue;
    const std::string reason = corpus::reason_of(plan.names, plan.placed[i].adds);
    if (s.c.why.empty()) s.c.why = reason;
    const fs::path place = corpus::place_in(given.corpus, s, added);
    context.out << fmt::format("add {}: {} (from {})\n", place.string(), reason, s.file.string());
    if (given.write) write_by_rename(place, to_json(s.c));
    added.insert(place);
  }
  return finish(plan, given, here + added.size(), added.size(), "added", context);
}

int minimize(const corpus_arguments& given, const cli_context& context) {
  const auto lib = given.from.open(context);
  std::vector<stored_case> cases = corpus::read_cases({given.corpus}, {});
  for (stored_case& s : cases) s.is_pinned = corpus::has_own_reason(s.c) && !given.all;
  const corpus_plan plan = corpus::plan_corpus(*lib, std::move(cases), given.jobs, given.limit_seconds);
  print_left_out(plan, context);
  std::size_t removed = 0;
  for (std::size_t i = 0; i < plan.cases.size(); ++i) {
    const stored_case& s = plan.cases[i];
    if (plan.placed[i].is_kept) {
      if (plan.placed[i].adds.empty())
        context.out << fmt::format("keep {}: others have all its features, but it has a reason: {}\n", s.file.string(),
                                   s.c.why);
      continue;
    }
    context.out << fmt::format("remove {}: others have all its features{}{}\n", s.file.string(),
                               s.c.why.empty() ? "" : "; it was there for: ", s.c.why);
    if (given.write) fs::remove(s.file);
    ++removed;
  }
  return finish(plan, given, plan.cases.size() - removed, removed, "removed", context);
}

CLI::App* add_command(CLI::App& corpus, const char* name, const char* sentence, corpus_arguments& given) {
  CLI::App* command = corpus.add_subcommand(name, sentence);
  given.from.add_to(*command);
  command->add_option("--jobs", given.jobs, "Number of worker processes")
      ->check(whole_number(1, 1024))
      ->capture_default_str();
  command
      ->add_option("--limit", given.limit_seconds,
                   "Processor seconds after which a case counts as hung. The wall-clock limit is four times as long")
      ->check(seconds_above_zero())
      ->capture_default_str();
  command->add_flag("--write", given.write, "Write the changes. Default: only print them");
  return command;
}

}  // namespace

void add_corpus(CLI::App& app, const cli_context& context, int& status) {
  CLI::App* command = app.add_subcommand("corpus", "Add useful cases to a corpus, or remove superfluous ones");
  command->require_subcommand(1);
  command->footer(
      "Each case has features: its fields, its verdict, the counts that 'assay fuzz' uses (splits, tiles, pages, "
      "rows), "
      "and the edges of kernel code that it runs. Both commands choose few, small cases that have all features "
      "together (greedy set cover). They list cases that do not pass, and neither add nor remove them. Both commands "
      "only print their plan unless you pass --write.");
  auto given = std::make_shared<corpus_arguments>();
  CLI::App* merging = add_command(*command, "merge", "Add the candidates that have a new feature", *given);
  merging->add_option("corpus", given->corpus, "The corpus: a folder with one folder per kernel")->required();
  merging
      ->add_option("candidates", given->candidates, "Case files, folders of case files, or folders of campaign inputs")
      ->required();
  merging->add_option("--target", given->target, "Read files other than .json as inputs of this fuzz target");
  merging->callback([given, &context, &status] { status = merge(*given, context); });
  CLI::App* minimizing =
      add_command(*command, "minimize", "Remove tool-added cases whose features other cases have", *given);
  minimizing->add_option("corpus", given->corpus, "The corpus: a folder of case files")->capture_default_str();
  minimizing->add_flag("--all", given->all, "Also remove cases that a person gave a reason");
  minimizing->callback([given, &context, &status] { status = minimize(*given, context); });
}

}  // namespace assay
