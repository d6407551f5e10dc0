#include "properties/cli/cli.hpp"

#include <cstdlib>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <optional>
#include <ostream>
#include <thread>

#include "kernels/matrix_atoms.hpp"
#include "properties/system/printable.hpp"
#include "properties/system/write_file.hpp"

namespace assay {
namespace {

/// Errors are one line; some of CLI11's are more.
std::string one_line(std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  std::ranges::replace(text, '\n', ' ');
  return text;
}

/// Of matrix units, as --atoms takes them.
std::string names_of_atoms() {
  std::vector<std::string> names;
  for (const named_atoms& n : known_atoms) names.emplace_back(n.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

bool knows(const CLI::App& app, const std::string& command) {
  const auto is_it = [&](const CLI::App* one) { return one->get_name() == command; };
  return !app.get_subcommands(is_it).empty();
}

/// The whole text as a number, or nothing.
template <typename T>
std::optional<T> parse(const std::string& text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

CLI::Validator seconds(bool zero_too) {
  const auto check = [zero_too](const std::string& text) -> std::string {
    const auto value = parse<double>(text);
    const bool fits = value && std::isfinite(*value) && (*value > 0 || (zero_too && *value == 0));
    return fits ? "" : fmt::format("'{}' is not {}", text, zero_too ? "0 or a positive number" : "a positive number");
  };
  return {check, "SECONDS"};
}

int complain(const cli_context& context, int status, const std::string& what) {
  context.err << "assay: " << one_line(printable(what)) << '\n';
  return status;
}

}  // namespace

int run_command(const command_table& table, const std::vector<std::string>& arguments, const cli_context& context) {
  CLI::App app{"Verify GPU attention kernels on the CPU, without tolerances", "assay"};
  app.require_subcommand(1);
  app.footer(
      "Exit status: 0 verified; 1 a case failed, or too little was verified; 2 bad input or usage; 3 something is "
      "missing on this machine (a library, a file or a GPU).");
  int status = exit_verified;
  for (const auto add : table.add) add(app, context, status);
  if (!table.others.empty()) app.description(app.get_description() + ".\n" + table.others);
  try {
    // CLI11 would only say that a command is missing.
    if (!arguments.empty() && !arguments[0].starts_with('-') && !knows(app, arguments[0])) {
      if (!table.others.empty()) throw environment_error(fmt::format("'{}': {}", arguments[0], table.others));
      throw usage_error(fmt::format("no command '{}' (see --help)", arguments[0]));
    }
    std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());  // as CLI11 takes them
    app.parse(reversed);
    return status;
  } catch (const CLI::ParseError& e) {
    if (e.get_exit_code() != 0) return complain(context, exit_usage, fmt::format("{} (see --help)", e.what()));
    return app.exit(e, context.out, context.err);
  } catch (const usage_error& e) {
    return complain(context, exit_usage, e.what());
  } catch (const case_error& e) {
    return complain(context, exit_usage, e.what());
  } catch (const environment_error& e) {
    return complain(context, exit_environment, e.what());
  } catch (const std::filesystem::filesystem_error& e) {
    return complain(context, exit_usage, fmt::format("{}: {}", e.path1().string(), e.code().message()));
  } catch (const std::bad_alloc&) {
    return complain(context, exit_environment, "there is not enough memory (see: ulimit -v)");
  } catch (const std::exception& e) {
    return complain(context, exit_environment, fmt::format("internal error: {}", e.what()));
  }
}

namespace {

CLI::Validator names_a_file() {
  const auto check = [](const std::string& name) { return std::string(name.empty() ? "it names no file" : ""); };
  return {check, ""};
}

void demand_known(const std::string& platform) {
  if (platform != "cpu" && platform != "nvidia" && platform != "amd")
    throw usage_error(fmt::format("--platform: no platform '{}' (cpu, nvidia, amd)", platform));
}

/// The kernels of Assay for a GPU, beside the program.
std::shared_ptr<library> library_for(const std::string& platform) {
  const std::filesystem::path file = beside_the_program("assay_kernels_" + platform + ".so");
  if (std::error_code unknown; !std::filesystem::exists(file, unknown))
    throw environment_error(
        fmt::format("--platform {}: not built: there is no {} (kernels/README.md says how)", platform, file.string()));
  return library::load(file.string());
}

}  // namespace

void library_options::add_to(CLI::App& command) {
  command.add_option("--library", path, "Verify this kernel library (a shared object). Default: the built-in kernels")
      ->check(names_a_file());
  command.add_option("--platform", platform,
                     "Verify the kernels of Assay for this platform: cpu (default), nvidia or amd, on a GPU. With "
                     "--library: stop unless the library is for it");
  add_checks_to(command);
}

void several_libraries::add_to(CLI::App& command) {
  command
      .add_option("--library", paths,
                  "Verify this kernel library (a shared object). Default: the built-in kernels. May be repeated: each "
                  "library is judged on the same cases, then their outputs are compared, element by element")
      ->check(names_a_file())
      ->allow_extra_args(false);
  command
      .add_option("--platform", platforms,
                  "Verify the kernels of Assay for this platform: cpu (default), nvidia or amd, on a GPU. cpu,nvidia "
                  "verifies both and compares them. With --library: stop unless the library is for it")
      ->delimiter(',')
      ->allow_extra_args(false);
  add_checks_to(command);
}

std::vector<library_options> several_libraries::each() const {
  if (paths.size() > 1 && !platforms.empty()) throw usage_error("--platform: not with several libraries");
  if (!paths.empty() && platforms.size() > 1) throw usage_error("--library: not with several platforms");
  std::vector<library_options> all(std::max({paths.size(), platforms.size(), std::size_t{1}}), *this);
  const auto is_of_cpu = [](const std::string& path) {
    return std::string_view(library::load(path)->platform()) == "cpu";
  };
  const bool has_path_of_cpu = !atoms.empty() && paths.size() > 1 && std::ranges::any_of(paths, is_of_cpu);
  for (std::size_t i = 0; i < paths.size(); ++i) {
    all[i].path = paths[i];
    if (has_path_of_cpu && !is_of_cpu(paths[i])) all[i].atoms.clear();  // a GPU's unit is what it is
  }
  const bool has_cpu = std::ranges::find(platforms, "cpu") != platforms.end();
  for (std::size_t i = 0; i < platforms.size(); ++i) {
    demand_known(platforms[i]);
    if (std::find(platforms.begin(), platforms.begin() + static_cast<std::ptrdiff_t>(i), platforms[i]) !=
        platforms.begin() + static_cast<std::ptrdiff_t>(i))
      throw usage_error(fmt::format("--platform: '{}' is there twice", platforms[i]));
    all[i].platform = platforms[i];
    if (platforms[i] != "cpu" && has_cpu) all[i].atoms.clear();
  }
  return all;
}

void library_options::add_checks_to(CLI::App& command) {
  auto* off = command.add_flag("--unchecked", unchecked,
                               "Do not check loads and stores (bounds, races, unwritten memory). This is faster");
  command
      .add_flag("--lockstep-waves", lockstep_waves,
                "Assume that every instruction orders the lanes of a wave. Default: only collectives of the whole wave "
                "order them")
      ->excludes(off);
  command
      .add_option(
          "--accept", accept,
          "Accept the defects that this file names, one a line: data-race, unwritten-read or out-of-bounds, then "
          "file:line, then a reason. The report of a run says how often")
      ->excludes(off);
  const auto is_atom = [](const std::string& name) {
    return find_atoms(name.c_str()) != nullptr ? std::string()
                                               : fmt::format("no atoms '{}' ({})", name, names_of_atoms());
  };
  command
      .add_option(
          "--atoms", atoms,
          fmt::format("Compute on the cpu platform with the matrix unit of this GPU, bit by bit, and judge by its "
                      "exact atoms: {}",
                      names_of_atoms()))
      ->check(CLI::Validator(is_atom, ""));
  command
      .add_option("--contract", contract,
                  "Judge by: declared, the contract as the library declares it; open, its types in any order of "
                  "operations; none, as if it declared nothing")
      ->check(CLI::IsMember(std::vector<std::string>{"declared", "open", "none"}))
      ->capture_default_str();
}

const std::map<std::string, contract_use>& contract_uses() {
  static const std::map<std::string, contract_use> all{
      {"declared", contract_use::declared}, {"open", contract_use::open}, {"none", contract_use::none}};
  return all;
}

std::string library_options::text() const {
  const bool names_platform = path.empty() && !platform.empty() && platform != "cpu";
  return (path.empty() ? "" : " --library " + path) + (names_platform ? " --platform " + platform : "") +
         (unchecked ? " --unchecked" : "") + (lockstep_waves ? " --lockstep-waves" : "") +
         (accept.empty() ? "" : " --accept " + accept) + (atoms.empty() ? "" : " --atoms " + atoms) +
         (contract == "declared" ? "" : " --contract " + contract);
}

std::string several_libraries::text_of_all() const {
  std::string all;
  for (const std::string& one : paths) all += " --library " + one;
  return all + (platforms.empty() ? "" : fmt::format(" --platform {}", fmt::join(platforms, ","))) + text();
}

std::shared_ptr<library> library_options::open(const cli_context& context, opened_for what) const {
  // Kernel libraries read it, also in the worker processes; see kernels/platform/cpu/matrix_unit.
  if (!atoms.empty() && setenv("ASSAY_ATOMS", atoms.c_str(), 1) != 0)  // NOLINT(concurrency-mt-unsafe): one thread
    throw environment_error("--atoms: the environment cannot be changed");
  if (!platform.empty()) demand_known(platform);
  const bool takes_preset = context.preset && (platform.empty() || platform == context.preset->platform());
  const bool is_built_in = path.empty() && !takes_preset && (platform.empty() || platform == "cpu");
  std::shared_ptr<library> lib = !path.empty()  ? library::load(path)
                                 : takes_preset ? context.preset
                                 : !is_built_in ? library_for(platform)
                                 : unchecked    ? library::built_in_unchecked()
                                                : library::built_in();
  lib->checks = {!unchecked, lockstep_waves};
  lib->judged_by = contract_uses().at(contract);
  if (is_built_in && !unchecked) lib->unchecked_twin = library::built_in_unchecked();
  if (!accept.empty()) lib->checks.accepted = std::make_shared<accepted_defects>(read_file(accept), accept);
  if (!atoms.empty() && std::string_view(lib->platform()) != "cpu")
    throw usage_error(
        fmt::format("--atoms: {} is a library for {}, whose matrix unit is what it is", lib->path(), lib->platform()));
  if (!atoms.empty() && !path.empty() && lib->matrix_unit() == nullptr)
    throw usage_error(
        fmt::format("--atoms: {} does not multiply by the cpu platform's atoms (kernels/device/mma.hpp)", lib->path()));
  if (!platform.empty() && platform != lib->platform())
    throw environment_error(fmt::format("--platform: {} is a library for {}, not for {}; name one with --library",
                                        lib->path(), lib->platform(), platform));
  if (what == opened_for::runs) lib->devices();
  return lib;
}

std::vector<const property*> select_properties(const std::vector<std::string>& names) {
  std::vector<const property*> selected;
  for (const property& p : properties())
    if (names.empty() || std::ranges::find(names, p.name) != names.end() ||
        std::ranges::find(names, "all") != names.end())
      selected.push_back(&p);
  for (const std::string& name : names)
    if (name != "all" && std::ranges::find(properties(), name, &property::name) == properties().end())
      throw usage_error(fmt::format("--property: no property '{}' (see: assay list properties)", name));
  return selected;
}

attention_case load_case(const std::filesystem::path& file) {
  return from_json(read_file(file), file.string());
}

int write_report(const cli_context& context, const std::filesystem::path& file, const std::string& text, int status) {
  try {
    context.out.flush();  // `file` may be stdout
    write_by_rename(file, text);
    return status;
  } catch (const environment_error& e) {
    const int failed = complain(context, exit_environment, e.what());
    return status == exit_verified ? failed : status;
  }
}

void require_place(const char* option, const std::filesystem::path& file) {
  if (!file.empty() && !can_be_written(file))
    throw usage_error(fmt::format("{}: {}: cannot be written", option, file.string()));
}

CLI::Validator whole_number(std::uint64_t least, std::uint64_t most) {
  const auto check = [least, most](const std::string& text) -> std::string {
    const auto value = parse<std::uint64_t>(text);
    if (value && least <= *value && *value <= most) return {};
    return fmt::format("'{}' is not a whole number from {} to {}", text, least, most);
  };
  return {check, ""};
}

CLI::Validator seconds_above_zero() {
  return seconds(false);
}

CLI::Validator seconds_from_zero() {
  return seconds(true);
}

int default_jobs() {
  return static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
}

std::uint64_t seed_of_the_moment() {
  return static_cast<std::uint64_t>(std::chrono::system_clock::now().time_since_epoch().count()) % 1'000'000'000U;
}

}  // namespace assay
