#include <fmt/format.h>

#include <boost/describe.hpp>
#include <ostream>
#include <set>
#include <sstream>

#include "properties/campaign/target.hpp"
#include "properties/cli/cli.hpp"

namespace assay {
namespace {

int list(const std::string& what, const library_options& from, const cli_context& context) {
  if (what == "kernels") {
    for (const std::string& kernel : from.open(context)->kernels()) context.out << kernel << '\n';
  } else if (what == "properties") {
    for (const property& p : properties()) context.out << fmt::format("{:<22} {}\n", p.name, p.sentence);
  } else if (what == "fills") {
    boost::mp11::mp_for_each<boost::describe::describe_enumerators<fill_kind>>(
        [&](auto fill) { context.out << fill.name << '\n'; });
  } else if (what == "platforms") {
    context.out << from.open(context)->platform() << '\n';
  } else if (what == "targets") {
    for (const std::string& name : campaign::target_names()) context.out << name << '\n';
  } else {
    std::istringstream names(ASSAY_FAULTS);
    for (std::string name; names >> name;) context.out << name << '\n';
  }
  return exit_verified;
}

}  // namespace

void add_list(CLI::App& app, const cli_context& context, int& status) {
  auto what = std::make_shared<std::string>();
  auto from = std::make_shared<library_options>();
  CLI::App* command = app.add_subcommand("list", "Name what there is");
  command
      ->add_option("what", *what,
                   "kernels and platforms (of the library), properties, fills (of data), faults (of tests/faults) or "
                   "targets (of fuzzing)")
      ->required()
      ->check(CLI::IsMember(std::set<std::string>{"kernels", "properties", "targets", "faults", "platforms", "fills"}));
  from->add_to(*command);
  command->callback([what, from, &context, &status] { status = list(*what, *from, context); });
}

}  // namespace assay
