#include "properties/campaign/process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <thread>

#include "properties/system/errors.hpp"

namespace assay::campaign {
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
  setpgid(0, 0);  // an interrupt is for the campaign, which ends its children itself
  for (const int number : {SIGINT, SIGTERM, SIGPIPE}) signal(number, SIG_DFL);
  dup2(log, STDOUT_FILENO);
  dup2(log, STDERR_FILENO);
  execve(arguments[0], arguments, environment);
  _exit(127);
}

}  // namespace

process::process(const command& what) : log_file_(what.log), start_(clock::now()), stop_(start_) {
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

process::~process() {
  kill();
}

bool process::poll() {
  if (pid_ < 0) return false;
  int status = 0;
  const pid_t ended = waitpid(pid_, &status, WNOHANG);
  read_log();
  if (ended != pid_) return true;
  pid_ = -1;
  stop_ = clock::now();
  status_ = status;
  end_ = WIFSIGNALED(status) ? fmt::format("killed by signal {} ({})", WTERMSIG(status), strsignal(WTERMSIG(status)))
                             : fmt::format("exited with status {}", WEXITSTATUS(status));
  return false;
}

int process::exit_status() const {
  return WIFSIGNALED(status_) ? 128 + WTERMSIG(status_) : WEXITSTATUS(status_);
}

double process::seconds() const {
  return std::chrono::duration<double>((pid_ < 0 ? stop_ : clock::now()) - start_).count();
}

void process::kill() {
  if (pid_ < 0) return;
  ::kill(pid_, SIGKILL);
  while (poll()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

void process::read_log() {
  std::ifstream file(log_file_, std::ios::binary);
  file.seekg(read_);
  char chunk[65536];
  while (file.read(chunk, sizeof chunk), file.gcount() > 0) {
    read_ += file.gcount();
    partial_.append(chunk, static_cast<std::size_t>(file.gcount()));
    std::size_t begin = 0;
    for (std::size_t end = 0; (end = partial_.find('\n', begin)) != std::string::npos; begin = end + 1)
      read_line(log_, std::string_view(partial_).substr(begin, end - begin));
    partial_.erase(0, begin);
  }
}

fuzzer_log run_to_end(const command& what, double limit_seconds, bool* succeeded) {
  process child(what);
  while (child.poll() && child.seconds() <= limit_seconds) std::this_thread::sleep_for(std::chrono::milliseconds(2));
  const bool hung = child.end().empty();
  child.kill();
  fuzzer_log log = child.log();
  *succeeded = !hung && child.succeeded();
  if (!*succeeded && !log.is)
    log.is = hung ? complaint{"hang", fmt::format("did not end within {:g} s", limit_seconds)}
                  : complaint{"crash", "the target " + child.end()};
  return log;
}

}  // namespace assay::campaign
