#include <fmt/format.h>

#include <cmath>
#include <ostream>

#include "properties/cli/cli.hpp"
#include "properties/probe/probe.hpp"

namespace assay {
namespace {

struct probe_arguments {
  library_options from;
  std::uint64_t seed = seed_of_the_moment();
  int tiles = 600;
  std::uint32_t stride = 1021;
};

void print(std::ostream& out, const probe::atom_report& r) {
  if (!r.failure.empty()) {
    out << fmt::format("{}: did not run: {}\n", r.name, r.failure);
    return;
  }
  if (r.is_declared)
    out << fmt::format("{}: the declared atom {}: {} misses of {}\n", r.name,
                       r.declared.misses == 0 ? "holds" : "FAILS", r.declared.misses, r.declared.compared);
  else
    out << fmt::format("{}: no atom is declared\n", r.name);
  if (!r.found) return;
  const probe::search_result& f = *r.found;
  if (f.fitting > 0)
    out << fmt::format("  {} of {} atoms fit all {} results; the first: {}\n", f.fitting, f.tried, f.of_best.compared,
                       probe::to_text(f.best));
  else
    out << fmt::format("  none of {} atoms fits; nearest, with {} misses of {}: {}\n", f.tried, f.of_best.misses,
                       f.of_best.compared, probe::to_text(f.best));
}

int run(const probe_arguments& given, const cli_context& context) {
  const auto lib = given.from.open(context);
  const assay_matrix_unit* const unit = lib->matrix_unit();
  if (unit == nullptr)
    throw usage_error(fmt::format("{}: exports no assay_matrix_unit_v1, so there is nothing to probe", lib->path()));
  context.out << fmt::format("{} ({}): {} tiles of 16 by 16 for each atom, seed {}\n", lib->path(), lib->platform(),
                             given.tiles, given.seed);
  bool holds = true;
  for (const probe::atom_report& r : probe::probe_atoms(*unit, given.tiles, given.seed)) {
    print(context.out, r);
    context.out << std::flush;
    holds &= r.holds();
  }
  for (const probe::function_report& r : probe::probe_functions(*unit, given.stride)) {
    if (!r.failure.empty())
      context.out << fmt::format("{}: did not run: {}\n", r.name, r.failure);
    else
      context.out << fmt::format(
          "{}: largest relative error {:.4g} = 2^{:.3f} at {}, declared 2^{:.3f}{}; {} floats, every {}\n", r.name,
          r.worst, std::log2(r.worst), r.at, std::log2(r.declared), r.holds() ? "" : " EXCEEDED", r.compared,
          given.stride == 1 ? "one" : fmt::format("{}th", given.stride));
    holds &= r.holds();
  }
  context.out << std::flush;
  return holds ? exit_verified : exit_defect;
}

}  // namespace

void add_probe(CLI::App& app, const cli_context& context, int& status) {
  auto given = std::make_shared<probe_arguments>();
  CLI::App* command = app.add_subcommand("probe", "Measure a matrix unit, and exp2, log and tanh");
  command->footer(
      "Runs the library's matrix atoms (assay_matrix_unit_v1) on crafted inputs, and compares each result with what "
      "the "
      "declared atom gives, bit by bit. Where none is declared, or it fails, prints the atom that fits "
      "(kernels/matrix_atom.hpp). Exit status: see assay --help; 1 also where a declared atom or error bound fails.");
  given->from.add_to(*command);
  command->add_option("--seed", given->seed, "Seed of the inputs. Default: from the clock; it is printed");
  command->add_option("--tiles", given->tiles, "Tiles of 16 by 16 results for each atom")
      ->check(whole_number(1, 100000))
      ->capture_default_str();
  command->add_option("--stride", given->stride, "Of all floats, evaluate every STRIDE-th; 1: all")
      ->check(whole_number(1, 1U << 31))
      ->capture_default_str();
  command->callback([given, &context, &status] { status = run(*given, context); });
}

}  // namespace assay
