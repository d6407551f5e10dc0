#include "properties/system/child_process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <thread>

#include "properties/system/errors.hpp"

namespace assay {
namespace {

using clock = std::chrono::steady_clock;

/// Pointers as exec takes them.
std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> all;
  all.reserve(texts.size() + 1);
  for (std::string& text : texts) all.push_back(text.data());
  all.push_back(nullptr);
  return all;
}

/// The child's side. Only what is allowed between fork and exec.
[[noreturn]] void become(char** arguments, char** environment, int log, pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(0);
  setpgid(0, 0);  // Ctrl-C reaches the parent only, which ends its children itself
  for (const int number : {SIGINT, SIGTERM, SIGPIPE}) signal(number, SIG_DFL);
  dup2(log, STDOUT_FILENO);
  dup2(log, STDERR_FILENO);
  execve(arguments[0], arguments, environment);
  _exit(child_process::cannot_execute);
}

}  // namespace

std::string end_text(int wait_status) {
  if (WIFSIGNALED(wait_status))
    return fmt::format("killed by signal {} ({})", WTERMSIG(wait_status), strsignal(WTERMSIG(wait_status)));
  return fmt::format("exited with status {}", WEXITSTATUS(wait_status));
}

child_process::child_process(const command& what) : start_(clock::now()), stop_(start_) {
  const int log = open(what.log.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0644);
  if (log < 0) throw environment_error(fmt::format("{}: {}", what.log.string(), std::strerror(errno)));
  std::vector<std::string> arguments = what.arguments;
  std::vector<std::string> environment = what.environment;
  for (char** entry = environ; *entry != nullptr; ++entry) environment.emplace_back(*entry);
  const std::vector<char*> argv = pointers(arguments);
  const std::vector<char*> envp = pointers(environment);
  const pid_t parent = getpid();
  pid_ = fork();
  if (pid_ == 0) become(const_cast<char**>(argv.data()), const_cast<char**>(envp.data()), log, parent);
  close(log);
  if (pid_ < 0) throw environment_error(fmt::format("{}: {}", what.arguments[0], std::strerror(errno)));
}

child_process::~child_process() {
  kill();
}

bool child_process::poll() {
  if (pid_ < 0) return false;
  int status = 0;
  if (waitpid(pid_, &status, WNOHANG) != pid_) return true;
  pid_ = -1;
  stop_ = clock::now();
  status_ = status;
  end_ = end_text(status);
  return false;
}

bool child_process::wait(double limit_seconds) {
  while (poll() && seconds() <= limit_seconds) std::this_thread::sleep_for(std::chrono::milliseconds(2));
  const bool ended = pid_ < 0;
  kill();
  return ended;
}

void child_process::kill() {
  if (pid_ < 0) return;
  ::kill(pid_, SIGKILL);
  while (poll()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

int child_process::exit_status() const {
  return WIFSIGNALED(status_) ? 128 + WTERMSIG(status_) : WEXITSTATUS(status_);
}

double child_process::seconds() const {
  return std::chrono::duration<double>((pid_ < 0 ? stop_ : clock::now()) - start_).count();
}

child_end run_child(const command& what, double limit_seconds) {
  constexpr int took_too_long = 124;
  child_process child(what);
  const bool ended = child.wait(limit_seconds);
  if (ended && child.exit_status() == child_process::cannot_execute)
    throw environment_error(fmt::format("{}: cannot be started", what.arguments[0]));
  return {ended ? child.exit_status() : took_too_long, child.seconds()};
}

std::filesystem::path own_program() {
  return std::filesystem::read_symlink("/proc/self/exe");
}

}  // namespace assay
