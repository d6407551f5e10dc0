#include <fmt/format.h>

#include <boost/describe.hpp>
#include <ostream>
#include <set>
#include <sstream>

#include "properties/campaign/target.hpp"
#include "properties/cli/cli.hpp"
#include "properties/generate/support_text.hpp"
#include "properties/nightly/fault.hpp"

namespace assay {
namespace {

int list(const std::string& what, bool markdown, const library_options& from, const cli_context& context) {
  if (markdown && what != "faults") throw usage_error("--markdown: only for faults");
  if (what == "kernels") {
    const auto lib = from.open(context, opened_for::lists);
    for (const std::string& kernel : lib->kernels()) {
      context.out << kernel << '\n';
      if (lib->declares(kernel)) context.out << support_list(kernel, lib->support_of(kernel));
    }
  } else if (what == "properties") {
    for (const property& p : properties()) context.out << fmt::format("{:<22} {}\n", p.name, p.sentence);
  } else if (what == "fills") {
    boost::mp11::mp_for_each<boost::describe::describe_enumerators<fill_kind>>(
        [&](auto fill) { context.out << fill.name << '\n'; });
  } else if (what == "platforms") {
    context.out << from.open(context, opened_for::lists)->platform() << '\n';
  } else if (what == "targets") {
    for (const std::string& name : campaign::target_names()) context.out << name << '\n';
  } else if (markdown) {
    context.out << upstream_markdown(read_faults(ASSAY_FAULT_PATCHES));
  } else {
    std::istringstream names(ASSAY_FAULTS);
    for (std::string name; names >> name;) context.out << name << '\n';
  }
  return exit_verified;
}

}  // namespace

void add_list(CLI::App& app, const cli_context& context, int& status) {
  auto what = std::make_shared<std::string>();
  auto markdown = std::make_shared<bool>(false);
  auto from = std::make_shared<library_options>();
  CLI::App* command = app.add_subcommand("list", "List kernels, properties, fills, faults, targets or platforms");
  command
      ->add_option("what", *what,
                   "What to list. kernels and platforms are those of the library, and what its kernels take if it says "
                   "so; fills are kinds of test data; faults "
                   "are planted bugs; targets are fuzz targets")
      ->required()
      ->check(CLI::IsMember(std::set<std::string>{"kernels", "properties", "targets", "faults", "platforms", "fills"}));
  command->add_flag("--markdown", *markdown, "faults only: print the bugs of upstream projects as a Markdown table");
  from->add_to(*command);
  command->callback([what, markdown, from, &context, &status] { status = list(*what, *markdown, *from, context); });
}

}  // namespace assay
