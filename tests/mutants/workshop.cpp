#include "tests/mutants/workshop.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>
#include <chrono>
#include <set>
#include <sstream>

#include "properties/generate/kernel_space.hpp"
#include "properties/system/child_process.hpp"
#include "properties/system/errors.hpp"
#include "properties/system/write_file.hpp"

namespace assay::mutants {
namespace {

namespace fs = std::filesystem;

constexpr double compile_limit_seconds = 600;

std::vector<std::string> words_of(const std::string& line) {
  std::istringstream text(line);
  std::vector<std::string> words;
  for (std::string word; text >> word;) words.push_back(word);
  return words;
}

/// "e4m3fn_bf16" names "e4m3fn:bf16"; "e4m3fn" names "e4m3fn:f32" where the kernel has only that.
std::string types_named(const std::string& kernel, const std::string& suffix) {
  const kernel_space* space = find_kernel_space(kernel);
  std::string longer;
  for (const std::string& types : space != nullptr ? types_of_the_space(*space) : std::vector<std::string>{}) {
    std::string name = types;
    std::ranges::replace_if(name, [](char c) { return c == '/' || c == ':'; }, '_');
    if (name == suffix) return types;
    if (longer.empty() && name.starts_with(suffix + "_")) longer = types;
  }
  if (longer.empty()) throw environment_error(fmt::format("{} has no types '{}'", kernel, suffix));
  return longer;
}

/// Paths below the project's folder that a file includes.
std::vector<std::string> includes_of(const fs::path& file) {
  std::istringstream text(read_file(file));
  std::vector<std::string> found;
  constexpr std::string_view start = "#include \"";
  for (std::string line; std::getline(text, line);)
    if (line.starts_with(start)) found.push_back(line.substr(start.size(), line.rfind('"') - start.size()));
  return found;
}

void collect(const fs::path& sources, const std::string& file, std::set<std::string>& seen) {
  if (!fs::exists(sources / file) || !seen.insert(file).second) return;
  for (const std::string& included : includes_of(sources / file)) collect(sources, included, seen);
}

bool may_be_mutated(const std::string& path) {
  const bool is_interface = path.starts_with("kernels/") && path.find('/', 8) == std::string::npos;
  const bool is_contract = path.find("_contract.") != std::string::npos || path.starts_with("kernels/host/declare.");
  const bool is_hardware = path.starts_with("kernels/device/mma/") && !path.ends_with("mma/heads.hpp");
  return path.starts_with("kernels/") && !path.starts_with("kernels/platform/") && !is_interface && !is_contract &&
         !is_hardware;
}

bool runs(std::vector<std::string> arguments, const fs::path& log) {
  return run_child({std::move(arguments), {"CCACHE_DISABLE=1"}, log}, compile_limit_seconds).status == 0;
}

bool is_device(const std::string& source) {
  return source.ends_with(".hip");
}

/// Of an object in a link command: whether it is that of the source, in the kernels' own library.
bool is_object_of(const std::string& word, const std::string& source) {
  return word.ends_with("/" + source + ".o");
}

}  // namespace

std::string object_name(const std::string& source) {
  std::string name = source + ".o";
  std::ranges::replace(name, '/', '_');
  return name;
}

std::vector<kernel_recipe> read_recipes(const fs::path& file) {
  std::istringstream text(read_file(file));
  std::vector<kernel_recipe> recipes;
  for (std::string line; std::getline(text, line);) {
    std::vector<std::string> words = words_of(line);
    if (words.size() < 3) continue;
    recipes.push_back({words[0], types_named(words[0], words[1]), {words.begin() + 2, words.end()}});
  }
  if (recipes.empty()) throw environment_error(file.string() + ": names no kernels");
  return recipes;
}

reach reach_of(const fs::path& sources, const std::vector<kernel_recipe>& recipes) {
  reach reached;
  for (const kernel_recipe& kernel : recipes)
    for (const std::string& source : kernel.sources) {
      std::set<std::string> seen;
      collect(sources, source, seen);
      for (const std::string& file : seen)
        if (may_be_mutated(file)) reached[file][kernel.name].push_back(source);
    }
  return reached;
}

workshop::workshop(fs::path sources, fs::path build, fs::path work)
    : sources_(std::move(sources)), build_(std::move(build)), work_(std::move(work)) {
  const boost::json::value all = boost::json::parse(read_file(build_ / "compile_commands.json"));
  for (const boost::json::value& one : all.as_array()) {
    const auto text = [&](const char* key) { return std::string(one.as_object().at(key).as_string()); };
    const fs::path file = fs::path(text("file")).lexically_relative(sources_);
    std::vector<std::string> words = words_of(text("command"));
    const auto output = std::ranges::find(words, "-o");
    const std::string part = is_device(file.string()) ? "assay_kernels_cpu_device.dir/" : "assay_kernels_cpu.dir/";
    if (output == words.end() || (output + 1)->find("/" + part) == std::string::npos) continue;
    compile_commands_[file.string()] = std::move(words);
  }
  fs::create_directories(work_ / "clean");
  const fs::path log = work_ / "link_commands.txt";
  if (!runs({"/usr/bin/env", "ninja", "-C", build_.string(), "-t", "commands", "lib/assay_kernels_cpu.so"}, log))
    throw environment_error(fmt::format("ninja does not tell how {} links its kernels", build_.string()));
  std::istringstream commands(read_file(log));
  for (std::string line; std::getline(commands, line);)
    if (line.find("-o lib/assay_kernels_cpu.so") != std::string::npos) link_command_ = words_of(line);
  std::erase_if(link_command_, [](const std::string& word) { return word == ":" || word == "&&"; });
  if (link_command_.empty() || compile_commands_.empty())
    throw environment_error(fmt::format("{} was not configured for the kernels", build_.string()));
}

fs::path workshop::clean_object(const std::string& source) const {
  return work_ / "clean" / object_name(source);
}

bool workshop::compile(const std::string& source, const fs::path& overlay, const fs::path& object) const {
  const auto known = compile_commands_.find(source);
  if (known == compile_commands_.end()) throw environment_error(source + " is not among the compile commands");
  std::vector<std::string> command;
  for (std::size_t i = 0; i < known->second.size(); ++i)
    if (known->second[i] == "-o" || known->second[i] == "-c")
      ++i;
    else
      command.push_back(known->second[i]);
  // Without columns and checksums of the sources, an object differs only where its code does. The checker reads lines.
  for (const char* option : {"-w", "-gdwarf-4", "-gno-column-info"}) command.emplace_back(option);
  if (!overlay.empty()) command.insert(command.end(), {"-ivfsoverlay", overlay.string()});
  command.insert(command.end(), {"-o", object.string(), "-c", (sources_ / source).string()});
  return runs(std::move(command), object.string() + ".log");
}

bool workshop::link(const std::vector<std::string>& compiled, const fs::path& folder, const fs::path& library) const {
  std::vector<std::string> command;
  for (const std::string& word : link_command_) {
    const bool is_replaced =
        std::ranges::any_of(compiled, [&](const std::string& source) { return is_object_of(word, source); });
    if (is_replaced) continue;
    if (word == "lib/assay_kernels_cpu.so") {
      command.push_back(library.string());
      // First, since of inline functions that several objects have, the first is linked.
      for (const std::string& source : compiled) command.push_back((folder / object_name(source)).string());
    } else {
      const bool is_here = word.starts_with("CMakeFiles/") || word.starts_with("lib");
      command.push_back(is_here ? (build_ / word).string() : word);
    }
  }
  return runs(std::move(command), folder / "link.log");
}

void workshop::build_clean(const std::string& source) const {
  if (fs::exists(clean_object(source))) return;
  if (!compile(source, {}, clean_object(source))) throw environment_error(source + " does not compile as it is");
}

built workshop::build(const std::string& path, const std::string& text, const std::vector<std::string>& compiled,
                      const fs::path& folder, const fs::path& library) const {
  const auto start = std::chrono::steady_clock::now();
  built result;
  result.compiles = result.is_same = true;
  // The compiler sees the mutated file under the original's path: it is in no way another file.
  const fs::path mutated = folder / "mutated", overlay = folder / "overlay.json";
  write_by_rename(mutated, text);
  const boost::json::object file{
      {"name", (sources_ / path).string()}, {"type", "file"}, {"external-contents", mutated.string()}};
  write_by_rename(overlay, boost::json::serialize(boost::json::object{
                               {"version", 0}, {"use-external-names", false}, {"roots", boost::json::array{file}}}));
  for (const std::string& source : compiled) {
    const fs::path object = folder / object_name(source);
    result.compiles = result.compiles && compile(source, overlay, object);
    result.is_same = result.is_same && result.compiles && read_file(object) == read_file(clean_object(source));
  }
  if (result.compiles && !result.is_same) result.compiles = link(compiled, folder, library);
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return result;
}

}  // namespace assay::mutants
