#include "properties/nightly/child.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <thread>

#include "properties/runner.hpp"

namespace assay {
namespace {

namespace fs = std::filesystem;
using clock = std::chrono::steady_clock;

constexpr int cannot_start = 127;
constexpr int took_too_long = 124;

[[noreturn]] void become(const std::vector<char*>& arguments, const fs::path& log, pid_t parent) {
  setpgid(0, 0);  // so that the limit ends what it started, too
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != parent) _exit(cannot_start);
  const int out = open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  const int in = open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (out < 0 || in < 0) _exit(cannot_start);
  dup2(in, STDIN_FILENO);
  dup2(out, STDOUT_FILENO);
  dup2(out, STDERR_FILENO);
  execv(arguments.front(), arguments.data());
  _exit(cannot_start);
}

int status_of(int wait_status) {
  return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}

}  // namespace

child_end run_child(const fs::path& program, const std::vector<std::string>& arguments, const fs::path& log,
                    double limit_seconds) {
  std::vector<std::string> words{program.string()};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  const auto start = clock::now();
  const pid_t parent = getpid(), child = fork();
  if (child < 0) throw environment_error(fmt::format("no process for {}: {}", words[0], std::strerror(errno)));
  if (child == 0) become(pointers, log, parent);
  const auto seconds = [&] { return std::chrono::duration<double>(clock::now() - start).count(); };
  for (int wait_status = 0;;) {
    const pid_t ended = waitpid(child, &wait_status, WNOHANG);
    if (ended == child) {
      if (status_of(wait_status) == cannot_start)
        throw environment_error(fmt::format("{} could not be started, or {} not be written", words[0], log.string()));
      return {status_of(wait_status), seconds()};
    }
    if (seconds() > limit_seconds) {
      kill(-child, SIGKILL);
      waitpid(child, &wait_status, 0);
      return {took_too_long, seconds()};
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

fs::path own_program() {
  return fs::read_symlink("/proc/self/exe");
}

}  // namespace assay
