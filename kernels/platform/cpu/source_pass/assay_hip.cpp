/// assay_hip COMPILER ARGUMENT...: compiles one HIP source for the cpu platform. It stands before the compiler, as
/// ccache does: CMake's CXX_COMPILER_LAUNCHER. It preprocesses with ASSAY_SOURCE_PASS defined, rewrites what C++ does
/// not know (source_pass.hpp), and compiles the result. A command that compiles nothing is run as it is.
/// Exit status: that of the compiler; 2 where the source cannot be rewritten, or a file cannot be read or written.
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/platform/cpu/source_pass/source_pass.hpp"

extern char** environ;  // NOLINT(readability-redundant-declaration): POSIX has it in no header

namespace {

using arguments = std::vector<std::string>;

int run(arguments command) {
  std::vector<char*> raw;
  for (std::string& argument : command) raw.push_back(argument.data());
  raw.push_back(nullptr);
  pid_t child = 0;
  if (const int error = posix_spawnp(&child, raw[0], nullptr, nullptr, raw.data(), environ); error != 0) {
    std::fprintf(stderr, "assay_hip: cannot run %s: %s\n", raw[0], std::strerror(error));
    return 2;
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0)
    if (errno != EINTR) return 2;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 2;
}

bool is_source(std::string_view argument) {
  constexpr std::string_view endings[] = {".hip", ".cu", ".cpp", ".cc", ".cxx", ".c++"};
  return !argument.starts_with('-') &&
         std::any_of(std::begin(endings), std::end(endings), [&](std::string_view e) { return argument.ends_with(e); });
}

/// What the two steps are called with.
struct steps {
  arguments preprocess, compile;
  std::string text;  ///< file between them
};

/// Empty if the command compiles no source of its own.
steps steps_of(const arguments& command) {
  steps s;
  std::string output;
  std::size_t source = 0;
  const bool compiles = std::find(command.begin(), command.end(), "-c") != command.end();
  for (std::size_t i = 1; i < command.size(); ++i) {
    if (command[i] == "-o" && i + 1 < command.size())
      output = command[++i];
    else if (is_source(command[i]))
      source = i;
  }
  if (!compiles || source == 0 || output.empty()) return s;
  s.text = output + ".assay.ii";
  for (std::size_t i = 0; i < command.size(); ++i) {
    const std::string& a = command[i];
    if (a == "-c") {
      s.preprocess.emplace_back("-E");
      s.compile.push_back(a);
    } else if (a == "-o") {
      s.preprocess.insert(s.preprocess.end(), {a, s.text});
      s.compile.insert(s.compile.end(), {a, command[++i]});
    } else if (i == source) {
      s.preprocess.insert(s.preprocess.end(), {"-DASSAY_SOURCE_PASS", "-fdeclspec", "-x", "c++", a});
      s.compile.insert(s.compile.end(),
                       {"-Wno-unused-command-line-argument", "-fdeclspec", "-x", "c++-cpp-output", s.text});
    } else if (a == "-MF" || a == "-MT" || a == "-MQ") {  // dependencies: the first step finds them
      s.preprocess.insert(s.preprocess.end(), {a, command[++i]});
    } else if (a == "-MD" || a == "-MMD") {
      s.preprocess.push_back(a);
    } else if (a == "-x") {
      ++i;
    } else if (a != "-xc++" && a != "-xhip" && a != "-xcuda") {
      s.preprocess.push_back(a);
      s.compile.push_back(a);
    }
  }
  return s;
}

}  // namespace

int main(int argc, char** argv) {
  const arguments command(argv + 1, argv + argc);
  if (command.empty()) {
    std::fputs("usage: assay_hip COMPILER ARGUMENT...\n", stderr);
    return 2;
  }
  const steps s = steps_of(command);
  if (s.text.empty()) return run(command);
  if (const int status = run(s.preprocess); status != 0) return status;
  std::stringstream read;
  if (!(read << std::ifstream(s.text).rdbuf())) {
    std::fprintf(stderr, "assay_hip: cannot read %s\n", s.text.c_str());
    return 2;
  }
  try {
    std::ofstream file(s.text);
    file << assay::source_pass::rewritten(read.str()) << std::flush;
    if (!file) {
      std::fprintf(stderr, "assay_hip: cannot write %s\n", s.text.c_str());
      return 2;
    }
  } catch (const assay::source_pass::unclear_source& e) {
    std::fprintf(stderr, "%s\n", e.what());
    std::remove(s.text.c_str());
    return 2;
  }
  const int status = run(s.compile);
  if (status == 0) std::remove(s.text.c_str());
  return status;
}
