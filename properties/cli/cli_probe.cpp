#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <iterator>
#include <ostream>

#include "properties/cli/cli.hpp"
#include "properties/probe/probe.hpp"
#include "properties/system/printable.hpp"
#include "properties/system/worker.hpp"

namespace assay {
namespace {

struct probe_arguments {
  library_options from;
  std::uint64_t seed = seed_of_the_moment();
  int tiles = 600;
  std::uint32_t stride = 1021;
  double limit_seconds = 3600;  // the search for an atom may take minutes
};

/// Why a line without a miss holds nothing; empty where enough was compared.
std::string too_few(bool is_enough) {
  return is_enough ? "" : fmt::format("; too few results: at least {} must be compared", probe::least_compared);
}

std::string text_of(const probe::atom_report& r) {
  if (!r.failure.empty()) return fmt::format("{}: did not run: {}\n", r.name, r.failure);
  std::string text;
  if (r.is_declared)
    text = fmt::format("{}: the declared atom {}: {} misses of {}{}{}\n", r.name,
                       r.declared.misses > 0 ? "FAILS"
                       : r.holds()           ? "holds"
                                             : "is not confirmed",
                       r.declared.misses, r.declared.compared,
                       r.declared.unbounded > 0 ? fmt::format(", {} beyond f32", r.declared.unbounded) : "",
                       too_few(r.is_enough()));
  else
    text = fmt::format("{}: no atom is declared{}\n", r.name, too_few(r.is_enough()));
  if (!r.found) return text;
  const probe::search_result& f = *r.found;
  if (f.fitting > 0)
    return text + fmt::format("  {} of {} atoms fit all {} results; the first: {}\n", f.fitting, f.tried,
                              f.of_best.compared, probe::to_text(f.best));
  return text + fmt::format("  none of {} atoms fits; nearest, with {} misses of {}: {}\n", f.tried, f.of_best.misses,
                            f.of_best.compared, probe::to_text(f.best));
}

std::string text_of(const probe::function_report& r, std::uint32_t stride) {
  if (!r.failure.empty()) return fmt::format("{}: did not run: {}\n", r.name, r.failure);
  const std::string floats =
      fmt::format("{} floats, every {}", r.compared, stride == 1 ? "one" : fmt::format("{}th", stride));
  if (r.compared == 0) return fmt::format("{}: is not confirmed: {}{}\n", r.name, floats, too_few(r.is_enough()));
  return fmt::format("{}: largest relative error {:.4g} = 2^{:.3f} at {}, declared 2^{:.3f}{}; {}{}\n", r.name, r.worst,
                     std::log2(r.worst), r.at, std::log2(r.declared), r.worst <= r.declared ? "" : " EXCEEDED", floats,
                     too_few(r.is_enough()));
}

constexpr const char* function_names[] = {"exp2", "log", "tanh"};  // assay_unit_function

// What the child replies with: one of these, then text.
constexpr char holds = '+', fails = '-', is_broken = '!', has_no_unit = '?';

/// In a child, for the library's functions and tables may be wrong. "unit": its atoms' names, one a line. "atom 3" and
/// "function 0": the lines for people.
std::string serve(const library& lib, const probe_arguments& given, const std::string& request) {
  try {
    const assay_matrix_unit* const unit = lib.matrix_unit();
    if (unit == nullptr) return {has_no_unit};
    const std::int32_t number = std::atoi(request.substr(request.find(' ') + 1).c_str());
    if (request.starts_with("atom")) {
      const probe::atom_report r = probe::probe_atom(*unit, number, given.tiles, given.seed);
      return (r.holds() ? holds : fails) + text_of(r);
    }
    if (request.starts_with("function")) {
      const auto r = probe::probe_function(*unit, static_cast<assay_unit_function>(number), given.stride);
      return (r.holds() ? holds : fails) + text_of(r, given.stride);
    }
    if (const std::string fault = probe::unit_fault(*unit); !fault.empty())
      return is_broken + fmt::format("{}: assay_matrix_unit_v1: {}", lib.path(), fault);
    std::string names{holds};
    for (std::int32_t i = 0; i < unit->num_atoms; ++i) names += probe::atom_of(*unit, i).name + std::string("\n");
    return names;
  } catch (const environment_error& e) {
    return is_broken + std::string(e.what());
  }
}

/// The names of the unit's atoms. Throws usage_error where there is no unit, environment_error where it is broken.
std::vector<std::string> atoms_of(const library& lib, isolated& child) {
  const work_result said = child.ask("unit");
  if (!said.reply)
    throw environment_error(
        fmt::format("{}: assay_matrix_unit_v1: the process that read its table ended: {}", lib.path(), said.death));
  const std::string text = said.reply->substr(1);
  if (said.reply->front() == has_no_unit)
    throw usage_error(fmt::format("{}: exports no assay_matrix_unit_v1, so there is nothing to probe", lib.path()));
  if (said.reply->front() == is_broken) throw environment_error(text);
  std::vector<std::string> names;
  for (std::size_t at = 0, end = 0; (end = text.find('\n', at)) != std::string::npos; at = end + 1)
    names.push_back(text.substr(at, end - at));
  return names;
}

int run(const probe_arguments& given, const cli_context& context) {
  const auto lib = given.from.open(context);
  isolated child([&](const std::string& request) { return serve(*lib, given, request); }, given.limit_seconds);
  const std::vector<std::string> atoms = atoms_of(*lib, child);
  context.out << fmt::format("{} ({}): {} tiles of 16 by 16 for each atom, seed {}\n", lib->path(), lib->platform(),
                             given.tiles, given.seed);
  bool all_hold = true;
  const auto ask = [&](const std::string& request, const std::string& name) {
    const work_result said = child.ask(request);
    context.out << (said.reply ? printable(said.reply->substr(1))
                               : fmt::format("{}: did not run: the process that ran it ended: {}\n", name, said.death))
                << std::flush;
    all_hold &= said.reply && said.reply->front() == holds;
  };
  for (std::size_t i = 0; i < atoms.size(); ++i) ask(fmt::format("atom {}", i), atoms[i]);
  for (std::size_t i = 0; i < std::size(function_names); ++i) ask(fmt::format("function {}", i), function_names[i]);
  return all_hold ? exit_verified : exit_defect;
}

}  // namespace

void add_probe(CLI::App& app, const cli_context& context, int& status) {
  auto given = std::make_shared<probe_arguments>();
  CLI::App* command = app.add_subcommand("probe", "Measure a matrix unit, and exp2, log and tanh");
  command->footer(
      "Runs the library's matrix atoms (assay_matrix_unit_v1) on crafted inputs, and compares each result with what "
      "the declared atom gives, bit by bit. Where none is declared, or it fails, prints the atom that fits "
      "(kernels/matrix_atom.hpp). Exit status: see assay --help; 1 also where a declared atom or error bound fails, or "
      "fewer than 1000 results of one were compared.");
  given->from.add_to(*command);
  command->add_option("--seed", given->seed, "Seed of the inputs. Default: from the clock; it is printed");
  command->add_option("--tiles", given->tiles, "Tiles of 16 by 16 results for each atom")
      ->check(whole_number(1, 100000))
      ->capture_default_str();
  command->add_option("--stride", given->stride, "Of all floats, evaluate every STRIDE-th; 1: all")
      ->check(whole_number(1, 1U << 31))
      ->capture_default_str();
  command
      ->add_option("--limit", given->limit_seconds,
                   "Processor seconds after which an atom or a function counts as hung. The wall-clock limit is four "
                   "times as long")
      ->check(seconds_above_zero())
      ->capture_default_str();
  command->callback([given, &context, &status] { status = run(*given, context); });
}

}  // namespace assay
