#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <iostream>
#include <map>
#include <set>
#include <string_view>

#include "properties/campaign/target.hpp"
#include "properties/cli/cli.hpp"
#include "properties/system/counted.hpp"
#include "properties/system/scratch_folder.hpp"
#include "properties/system/write_file.hpp"

namespace assay {
namespace {

namespace fs = std::filesystem;

struct pack_arguments {
  fs::path folder;
  std::vector<std::string> platforms;
  std::vector<std::string> libraries;
  std::vector<std::string> targets;
  std::vector<std::string> corpus{"corpus"};
};

/// What each Linux with a C library has: another one's would not go with the loader there.
bool is_of_libc(const std::string& name) {
  constexpr std::array<std::string_view, 11> families{"linux-vdso.", "linux-gate.", "ld-linux", "libc.",
                                                      "libmvec.",    "libm.",       "libdl.",   "libpthread.",
                                                      "librt.",      "libresolv.",  "libutil."};
  return std::ranges::any_of(families, [&](std::string_view family) { return name.starts_with(family); });
}

/// The shared libraries that this process has loaded by now.
std::set<fs::path> loaded_libraries() {
  std::set<fs::path> files;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* to) {
        const fs::path file = info->dlpi_name == nullptr ? "" : info->dlpi_name;
        if (!file.empty() && !is_of_libc(file.filename().string())) static_cast<std::set<fs::path>*>(to)->insert(file);
        return 0;
      },
      &files);
  return files;
}

/// Libraries of kernels are loaded to learn what they need themselves.
fs::path loaded(const fs::path& file) {
  if (dlopen(fs::absolute(file).c_str(), RTLD_NOW | RTLD_LOCAL) == nullptr)
    throw environment_error(fmt::format("{}: cannot be loaded: {}", file.string(), dlerror()));
  return file;
}

std::vector<fs::path> kernel_libraries(const pack_arguments& given) {
  std::vector<fs::path> files{loaded(beside_the_program("assay_kernels_cpu_unchecked.so"))};
  for (const std::string& platform : given.platforms) {
    if (platform == "cpu") continue;
    library_options from;
    from.platform = platform;
    files.push_back(loaded(from.open({std::cout, std::cerr, nullptr}, opened_for::lists)->path()));
  }
  for (const std::string& file : given.libraries) {
    library::load(file);
    files.push_back(loaded(file));
  }
  return files;
}

bool is_platform(const std::string& name) {
  return name == "nvidia" || name == "amd";
}

/// The named fuzz targets. They need no other libraries than the program, and look for them in the same place.
std::vector<campaign::target> fuzz_targets(const pack_arguments& given) {
  std::vector<campaign::target> found;
  found.reserve(given.targets.size());
  for (const std::string& name : given.targets)
    found.push_back(campaign::find_target(name, campaign::target_folders({})));
  return found;
}

std::string readme(const std::vector<fs::path>& kernels, const std::vector<campaign::target>& targets) {
  std::string text =
      "# Assay, packed\n\nThis folder runs wherever it lies, on a machine with glibc and, for a GPU, its driver. "
      "Nothing is "
      "installed.\n\n```sh\nbin/assay run\nbin/assay replay corpus\n";
  for (const fs::path& file : kernels) {
    constexpr std::string_view prefix = "assay_kernels_";
    const std::string stem = file.stem().string();
    if (stem == "assay_kernels_cpu_unchecked") continue;
    if (stem.starts_with(prefix) && is_platform(stem.substr(prefix.size())))
      text +=
          fmt::format("bin/assay run --platform cpu,{0}\nbin/assay bench --platform {0}\n", stem.substr(prefix.size()));
    else
      text += fmt::format("bin/assay run --library lib/{}\n", file.filename().string());
  }
  for (const campaign::target& t : targets) text += fmt::format("bin/assay fuzz {}\n", t.name);
  return text +
         "```\n\n`bin/assay --help` lists the commands; an exit status of 0 is verified, 1 a defect, 2 wrong usage, 3 "
         "that "
         "something is missing here. `lib/` holds the kernels and the shared libraries that the program needs.\n";
}

/// A file, or a folder with what is in it. Throws environment_error.
void lay(const fs::path& from, const fs::path& to) {
  std::error_code error;
  fs::copy(fs::canonical(from), to, fs::copy_options::recursive | fs::copy_options::overwrite_existing, error);
  if (error) throw environment_error(fmt::format("{}: cannot be copied: {}", from.string(), error.message()));
}

/// Two files would get one name in the pack. Throws usage_error.
void demand_other_names(const std::vector<fs::path>& files, const char* option) {
  std::map<std::string, fs::path> taken;
  for (const fs::path& file : files)
    if (const auto [at, is_new] = taken.emplace(file.filename().string(), file);
        !is_new && fs::canonical(at->second) != fs::canonical(file))
      throw usage_error(fmt::format("{}: {} and {} have one name", option, at->second.string(), file.string()));
}

/// Each corpus lies in the folder corpus, so that files of two must have other names. Throws usage_error.
void demand_other_cases(const std::vector<std::string>& corpus, const fs::path& folder) {
  std::map<fs::path, fs::path> taken;
  const auto is_within = [](const fs::path& inner, const fs::path& outer) {
    const fs::path from = fs::weakly_canonical(inner).lexically_relative(fs::weakly_canonical(outer));
    return !from.empty() && *from.begin() != "..";
  };
  for (const std::string& place : corpus) {
    if (!fs::is_directory(place))
      throw usage_error(fmt::format("--corpus: {}: there is no such folder (see --help)", place));
    if (is_within(folder, place)) throw usage_error(fmt::format("{}: lies in the corpus {}", folder.string(), place));
    for (const fs::directory_entry& one : fs::recursive_directory_iterator(place)) {
      if (one.is_directory()) continue;
      if (const auto [at, is_new] = taken.emplace(one.path().lexically_relative(place), one.path()); !is_new)
        throw usage_error(
            fmt::format("--corpus: {} and {} have one name in the pack", at->second.string(), one.path().string()));
    }
  }
}

int pack(const pack_arguments& given, const cli_context& context) {
  if (std::error_code unknown; fs::exists(given.folder, unknown) && !fs::is_empty(given.folder, unknown))
    throw usage_error(fmt::format("{}: there is something already", given.folder.string()));
  require_place("DIR", given.folder / "README.md");
  demand_other_cases(given.corpus, given.folder);
  const std::vector<fs::path> kernels = kernel_libraries(given);
  demand_other_names(kernels, "--library");
  const std::vector<campaign::target> targets = fuzz_targets(given);
  const fs::path folder = fs::absolute(given.folder).lexically_normal();
  scratch_folder made(folder.has_filename() ? folder : folder.parent_path());
  const fs::path lib = made.path() / "lib", bin = made.path() / "bin";
  fs::create_directory(lib);
  fs::create_directory(bin);
  lay("/proc/self/exe", bin / "assay");
  for (const campaign::target& t : targets) lay(t.binary, bin / t.name);
  for (const fs::path& file : loaded_libraries()) lay(file, lib / file.filename());
  for (const fs::path& file : kernels) lay(file, lib / file.filename());
  for (const std::string& place : given.corpus) lay(place, made.path() / "corpus");
  write_by_rename(made.path() / "README.md", readme(kernels, targets));
  made.keep();
  std::uintmax_t bytes = 0;
  std::int64_t files = 0;
  for (const fs::directory_entry& one : fs::recursive_directory_iterator(given.folder))
    if (one.is_regular_file()) bytes += one.file_size(), ++files;
  context.out << fmt::format("packed {} in {}, {:.1f} MB; README.md there says how to run it\n", counted(files, "file"),
                             given.folder.string(), 1e-6 * static_cast<double>(bytes));
  return exit_verified;
}

}  // namespace

void add_pack(CLI::App& app, const cli_context& context, int& status) {
  auto given = std::make_shared<pack_arguments>();
  CLI::App* command = app.add_subcommand(
      "pack", "Copy the program, its libraries and the corpus to a folder that runs on a bare machine");
  command->add_option("dir", given->folder, "The folder: it is made, or empty")->required();
  command
      ->add_option(
          "--platform", given->platforms,
          "Pack the kernels of Assay for these platforms, too: nvidia, amd. They must be built; no GPU is needed")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::IsMember(std::vector<std::string>{"cpu", "nvidia", "amd"}));
  command->add_option("--library", given->libraries, "Pack this kernel library, too. May be repeated")
      ->allow_extra_args(false);
  command
      ->add_option("--target", given->targets,
                   "Pack this fuzz target of the fuzz build, too (see: assay list targets). May be repeated")
      ->allow_extra_args(false);
  command->add_option("--corpus", given->corpus, "Folder of cases to pack")
      ->allow_extra_args(false)
      ->capture_default_str();
  command->callback([given, &context, &status] { status = pack(*given, context); });
}

}  // namespace assay
