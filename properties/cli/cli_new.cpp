#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <ostream>
#include <string_view>

#include "properties/cli/cli.hpp"
#include "properties/system/write_file.hpp"

namespace assay {
namespace {

namespace fs = std::filesystem;

/// Of a file, a CMake project and a target.
bool is_name(const std::string& name) {
  constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ", others = "0123456789_";
  constexpr std::size_t longest = 64;
  return !name.empty() && name.size() <= longest && letters.find(name[0]) != std::string_view::npos &&
         name.find_first_not_of(std::string(letters) + std::string(others)) == std::string::npos;
}

std::string replaced(std::string text, std::string_view what, const std::string& by) {
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += by.size())
    text.replace(at, what.size(), by);
  return text;
}

/// As a shell takes it for one word.
std::string quoted(const std::string& text) {
  const bool is_plain = std::ranges::all_of(text, [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
           std::string_view("/._-+,:@%=").find(c) != std::string_view::npos;
  });
  return is_plain ? text : "'" + replaced(text, "'", R"('\'')") + "'";
}

/// A folder beside the one that is made of it. It is gone at the end.
struct scratch_folder {
  fs::path path;
  scratch_folder(const fs::path& where, const std::string& name) : path(where / fmt::format(".{}.{}", name, getpid())) {
    std::error_code error;
    fs::create_directory(path, error);
    if (error) throw usage_error(fmt::format("{}: cannot be made: {}", (where / name).string(), error.message()));
  }
  scratch_folder(const scratch_folder&) = delete;
  scratch_folder& operator=(const scratch_folder&) = delete;
  ~scratch_folder() {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
};

/// The kit that this program belongs to: an installation, or a build folder, which has the form of one.
struct kit {
  fs::path prefix;
  fs::path program;  ///< that runs what the kit builds: of a checkout its launcher, which keeps the kit up to date
};

kit own_kit() {
  const fs::path program = fs::canonical("/proc/self/exe"), prefix = program.parent_path().parent_path();
  const fs::path launcher = prefix.parent_path().parent_path() / "assay";
  const bool is_launched = prefix.filename() == "release" && prefix.parent_path().filename() == "build";
  return {prefix, is_launched && fs::is_regular_file(launcher) ? launcher : program};
}

int make(const std::string& name, const fs::path& where, const cli_context& context) {
  if (!is_name(name))
    throw usage_error(fmt::format("new: '{}' is no name: a letter, then letters, digits and '_', at most 64", name));
  const fs::path folder = where / name;
  if (fs::exists(fs::symlink_status(folder))) throw usage_error(fmt::format("{}: exists already", folder.string()));
  const kit own = own_kit();
  const fs::path from = own.prefix / "share" / "assay" / "starter";
  if (!fs::exists(from))
    throw environment_error(
        fmt::format("{}: is missing (builds with sanitizers or for fuzzers have no kit)", from.string()));
  const std::string prefix = quoted(own.prefix.string()), program = quoted(own.program.string());
  const scratch_folder made(where, name);
  for (const fs::path& file : files_below(from, "")) {
    // Names first: a path may hold any word. No name holds an '@'.
    std::string text = replaced(read_file(file), "starter", name);
    text = replaced(replaced(text, "@ASSAY_PREFIX@", prefix), "@ASSAY_PROGRAM@", program);
    write_by_rename(made.path / replaced(file.filename().string(), "starter", name), text);
  }
  std::error_code error;
  fs::rename(made.path, folder, error);
  if (error) throw usage_error(fmt::format("{}: cannot be made: {}", folder.string(), error.message()));
  context.out << fmt::format(
      "{0}: a kernel of attention in f16. Build it and check it (minutes):\n"
      "cmake -S {1} -B {2} -G Ninja -DCMAKE_PREFIX_PATH={3}\n"
      "cmake --build {2}\n"
      "{4} run --library {5}\n",
      folder.string(), quoted(folder.string()), quoted((folder / "build").string()), prefix, program,
      quoted((folder / "build" / (name + ".so")).string()));
  return exit_verified;
}

}  // namespace

void add_new(CLI::App& app, const cli_context& context, int& status) {
  auto name = std::make_shared<std::string>();
  auto where = std::make_shared<std::string>(".");
  CLI::App* command = app.add_subcommand("new",
                                         "Make a folder for a kernel of your own: a small attention kernel, its "
                                         "library and its build. There is none for other operations");
  command->add_option("name", *name, "Name of the folder and of the library: letters, digits and '_'")->required();
  command->add_option("--in", *where, "Make the folder in this one")->capture_default_str();
  command->callback([name, where, &context, &status] {
    // The shown paths are as given: without "./".
    status = make(*name, *where == "." ? fs::path() : fs::path(*where), context);
  });
}

}  // namespace assay
