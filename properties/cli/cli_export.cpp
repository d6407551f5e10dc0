#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <ostream>
#include <set>

#include "properties/cli/cli.hpp"
#include "properties/run/verdict_json.hpp"
#include "properties/suite/exported_case.hpp"
#include "properties/suite/suite.hpp"
#include "properties/system/counted.hpp"
#include "properties/system/write_file.hpp"

namespace assay {
namespace {

namespace fs = std::filesystem;

/// The files' cases, each under the file's name; of several with one name the later ones have a number, too. Cases of
/// folders that are too large are left out, and counted.
std::vector<exported_case> named_cases(const std::vector<std::string>& places, std::int64_t& too_large) {
  std::vector<exported_case> all;
  std::set<std::string> taken;
  for (const std::string& place : places)
    for (const fs::path& file : files_below(place, ".json")) {
      const attention_case stated = load_case(file);
      if (file != place && !too_large_to_export(stated).empty()) {
        ++too_large;
        continue;
      }
      const std::string stem = file.stem().string();
      std::string name = stem;
      for (int i = 2; !taken.insert(name).second; ++i) name = fmt::format("{}-{}", stem, i);
      all.push_back({name, stated});
    }
  if (all.empty()) throw usage_error(fmt::format("{}: there are no cases", fmt::join(places, ", ")));
  return all;
}

int write(const std::vector<std::string>& places, const fs::path& folder, const cli_context& context) {
  if (std::error_code unknown; fs::exists(folder, unknown) && !fs::is_empty(folder, unknown))
    throw usage_error(fmt::format("--to: {}: there is something already", folder.string()));
  require_place("--to", folder / "manifest.json");
  std::int64_t too_large = 0;
  const std::vector<exported_case> cases = named_cases(places, too_large);
  const fs::path made = fs::absolute(folder).lexically_normal();
  export_cases(cases, made.has_filename() ? made : made.parent_path());
  if (too_large > 0)
    context.out << fmt::format("left out {}: a tensor has more than {} MiB\n", counted(too_large, "case"),
                               most_exported_bytes >> 20);
  context.out << fmt::format("wrote {} to {}; 'assay check {}' judges what is written to their outputs/\n",
                             counted(std::ssize(cases), "case"), folder.string(), folder.string());
  return exit_verified;
}

int check(const fs::path& folder, const cli_context& context) {
  counts n;
  for (const checked_case& c : check_exported(folder)) {
    ++n.of(c.result.result);
    context.out << fmt::format("{:<9} {}", c.result.result == outcome::fail ? "FAIL" : name_of(c.result.result),
                               c.name);
    if (!c.judged.empty()) context.out << fmt::format(" ({})", fmt::join(c.judged, ", "));
    if (!c.judged.empty() && !c.missing.empty()) context.out << fmt::format(", without {}", fmt::join(c.missing, ", "));
    context.out << "\n";
    if (c.result.result != outcome::pass) context.out << fmt::format("  {}: {}\n", c.result.origin, c.result.what);
  }
  context.out << fmt::format("{}: {} pass, {} fail, {} discard, {} undecided\n", counted(n.total(), "case"), n.pass,
                             n.fail, n.discard, n.undecided);
  if (n.fail > 0) return exit_defect;
  if (n.discard == 0 && n.undecided == 0 && n.pass > 0) return exit_verified;
  context.out << "NOT VERIFIED: not all cases have outputs that could be judged\n";
  return exit_defect;
}

}  // namespace

void add_export(CLI::App& app, const cli_context& context, int& status) {
  auto places = std::make_shared<std::vector<std::string>>();
  auto folder = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand(
      "export", "Write inputs, exact values and enclosures of cases as .npy, for tests that link nothing");
  command->footer(
      "manifest.json lists the files, with types and shapes, and the problem's numbers. bf16 is written as uint16, FP8 "
      "as uint8. What may not be written keeps what 'initial' holds. Enclosures are by what the types allow in any "
      "order. Write your outputs to the files "
      "that the manifest names; 'assay check DIR' judges them.");
  command->add_option("cases", *places, "Case files, or folders of case files")->required();
  command->add_option("--to", *folder, "The folder: it is made, or empty")->required();
  command->callback([places, folder, &context, &status] { status = write(*places, *folder, context); });
}

void add_check(CLI::App& app, const cli_context& context, int& status) {
  auto folder = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand("check", "Judge the outputs that were written to a folder of 'assay export'");
  command->footer("Outputs whose file is missing are not judged; a case without any is not verified.");
  command->add_option("dir", *folder, "The folder")->required();
  command->callback([folder, &context, &status] { status = check(*folder, context); });
}

}  // namespace assay
