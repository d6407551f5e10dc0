#include "properties/system/worker.hpp"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <new>
#include <set>

#include "properties/system/child_process.hpp"
#include "properties/system/errors.hpp"

namespace assay {
namespace {

/// The parent's ends of all pipes. A child closes them: a pipe reports its end only when no sibling holds it open.
std::set<int>& parent_fds() {
  static std::set<int> fds;
  return fds;
}

void close_parent_fd(int fd) {
  parent_fds().erase(fd);
  close(fd);
}

worker_hooks hooks_of_program;

void call(void (*hook)()) {
  if (hook != nullptr) hook();
}

/// False when the other side is gone.
bool write_all(int fd, const std::string& text) {
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t n = write(fd, text.data() + done, text.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    done += static_cast<std::size_t>(n);
  }
  return true;
}

/// Length in 8 bytes, then the text.
std::string framed(const std::string& text) {
  const std::uint64_t size = text.size();
  std::string frame(sizeof size, '\0');
  std::memcpy(frame.data(), &size, sizeof size);
  return frame + text;
}

/// Marks the length of a frame that holds last words.
constexpr std::uint64_t last_words_mark = std::uint64_t{1} << 63;

/// A child's end of its reply pipe.
int child_reply_fd = -1;
int child_number = 0;

/// Takes one whole frame off the front of `bytes`. `is_last` receives whether it held last words.
std::optional<std::string> unframe(std::string& bytes, bool* is_last = nullptr) {
  std::uint64_t size = 0;
  if (bytes.size() < sizeof size) return std::nullopt;
  std::memcpy(&size, bytes.data(), sizeof size);
  if (is_last != nullptr) *is_last = (size & last_words_mark) != 0;
  size &= ~last_words_mark;
  if (bytes.size() - sizeof size < size) return std::nullopt;
  std::string text = bytes.substr(sizeof size, size);
  bytes.erase(0, sizeof size + size);
  return text;
}

bool read_some(int fd, std::string& bytes) {
  char chunk[65536];
  ssize_t n = 0;
  do n = read(fd, chunk, sizeof chunk);
  while (n < 0 && errno == EINTR);
  if (n <= 0) return false;
  bytes.append(chunk, static_cast<std::size_t>(n));
  return true;
}

/// Exit status of a child that may have no more memory.
constexpr int out_of_memory = 113;

/// The reply, or the end of the process: a copy of it that the request made with fork() must not reply too.
std::string reply_of(const worker::serve_function& serve, const std::string& request) {
  const pid_t self = getpid();
  try {
    std::string reply = serve(request);
    if (getpid() != self) _exit(0);
    return reply;
  } catch (const std::bad_alloc&) {
    _exit(getpid() != self ? 0 : worker::has_memory_limit() ? out_of_memory : 1);
  }
}

[[noreturn]] void serve_requests(int request_fd, int reply_fd, const worker::serve_function& serve) {
  std::string bytes;
  for (;;) {
    while (const auto request = unframe(bytes))
      if (!write_all(reply_fd, framed(reply_of(serve, *request)))) _exit(0);
    if (!read_some(request_fd, bytes)) _exit(0);
  }
}

}  // namespace

void set_worker_hooks(const worker_hooks& hooks) {
  hooks_of_program = hooks;
}

worker::worker(const serve_function& serve, int number) {
  int request[2];
  int reply[2];
  if (pipe2(request, O_CLOEXEC) != 0 || pipe2(reply, O_CLOEXEC) != 0)
    throw environment_error(fmt::format("cannot make a pipe for a worker: {}", std::strerror(errno)));
  std::fflush(nullptr);  // the child would write the buffers a second time
  const pid_t parent = getpid();
  call(hooks_of_program.before_fork);
  pid_ = fork();
  const int error = errno;
  call(pid_ == 0 ? hooks_of_program.after_fork_in_child : hooks_of_program.after_fork_in_parent);
  if (pid_ < 0) throw environment_error(fmt::format("cannot fork a worker: {}", std::strerror(error)));
  if (pid_ == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(0);
    setpgid(0, 0);                       // what the child starts ends with it: kill()
    dup2(STDERR_FILENO, STDOUT_FILENO);  // stdout is the report's
    for (const int fd : parent_fds()) close(fd);
    parent_fds().clear();
    close(request[1]);
    close(reply[0]);
    signal(SIGPIPE, SIG_IGN);
    // The parent's handlers (a test framework's, a sanitizer's) would report the child's end as the parent's.
    for (const int number : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGINT, SIGTERM}) signal(number, SIG_DFL);
    child_reply_fd = reply[1];
    child_number = number;
    serve_requests(request[0], reply[1], serve);
  }
  setpgid(pid_, pid_);  // whichever of the two comes first
  close(request[0]);
  close(reply[1]);
  request_fd_ = request[1];
  reply_fd_ = reply[0];
  parent_fds().insert(request_fd_);
  parent_fds().insert(reply_fd_);
}

worker::~worker() {
  kill();
}

bool worker::has_memory_limit() {
  rlimit limit{};
  return getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
}

void worker::send(const std::string& request) {
  reply_.reset();
  // receive() notices that a child is gone. Until then SIGPIPE must not end the parent.
  struct sigaction ignore{};
  struct sigaction before{};
  ignore.sa_handler = SIG_IGN;
  sigaction(SIGPIPE, &ignore, &before);
  write_all(request_fd_, framed(request));
  sigaction(SIGPIPE, &before, nullptr);
}

bool worker::receive() {
  if (!read_some(reply_fd_, received_)) return true;
  bool is_last = false;
  auto frame = unframe(received_, &is_last);
  if (!frame) return false;
  if (is_last)
    last_words_ = std::move(*frame);
  else
    reply_ = std::move(frame);
  return true;
}

int worker::number() {
  return child_number;
}

void worker::take_number(int number) {
  child_number = number;
}

void worker::end_with_last_words(const char* text, std::size_t size) {
  if (child_reply_fd < 0) return;
  // One write of no more than PIPE_BUF bytes is whole, whatever other threads write.
  char frame[PIPE_BUF];
  size = std::min(size, sizeof frame - sizeof(std::uint64_t));
  const std::uint64_t head = size | last_words_mark;
  std::memcpy(frame, &head, sizeof head);
  std::memcpy(frame + sizeof head, text, size);
  const ssize_t written = write(child_reply_fd, frame, sizeof head + size);
  _exit(written < 0 ? 2 : 1);
}

std::string worker::end() {
  if (pid_ < 0) return "was ended";
  int status = 0;
  // A child that closed its pipe may go on for ever.
  constexpr int tries = 200, pause_ms = 5;
  pid_t ended = 0;
  for (int i = 0; ended == 0 && i < tries; ++i) {
    ended = waitpid(pid_, &status, WNOHANG);
    if (ended == 0) poll(nullptr, 0, pause_ms);
  }
  ::kill(-pid_, SIGKILL);  // its own children, too
  while (ended == 0 && waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  if (WIFEXITED(status) && WEXITSTATUS(status) == out_of_memory && has_memory_limit())
    throw environment_error("a case needs more memory than this process may have (see: ulimit -v)");
  const bool was_ended_here = ended == 0 && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
  return was_ended_here ? "closed its pipe and did not end" : end_text(status);
}

bool worker::has_ended() const {
  siginfo_t info{};
  if (waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid != pid_)
    return false;
  pollfd arrived{reply_fd_, POLLIN, 0};
  return poll(&arrived, 1, 0) == 0;
}

double worker::processor_seconds() const {
  clockid_t used{};
  timespec t{};
  if (pid_ < 0 || clock_getcpuclockid(pid_, &used) != 0 || clock_gettime(used, &t) != 0) return 0;
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

void worker::kill() {
  if (pid_ > 0) {
    ::kill(-pid_, SIGKILL);
    ::kill(pid_, SIGKILL);  // where it has not become a group yet
    while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
    pid_ = -1;
  }
  if (request_fd_ >= 0) close_parent_fd(request_fd_);
  if (reply_fd_ >= 0) close_parent_fd(reply_fd_);
  request_fd_ = reply_fd_ = -1;
}

namespace {

using clock = std::chrono::steady_clock;

struct slot {
  std::unique_ptr<worker> process;
  std::string request;
  clock::time_point since;
  double used_before = 0;  ///< processor time
  int number = 0;
  bool busy = false;
};

double seconds_since(clock::time_point start) {
  return std::chrono::duration<double>(clock::now() - start).count();
}

/// The result of a slot that replied, ended or reached its limit; nothing while it is still working.
std::optional<work_result> collect(slot& s, bool readable, double limit_seconds) {
  work_result result{s.request, std::nullopt, {}, {}, s.process->processor_seconds() - s.used_before};
  if (readable) {
    if (!s.process->receive()) return std::nullopt;
    result.reply = s.process->reply();
    result.last_words = s.process->last_words();
    if (!result.reply) result.death = s.process->end();
  } else if (s.process->has_ended()) {
    result.death = s.process->end();
  } else if (result.seconds > limit_seconds) {
    result.death = fmt::format("did not end within {:g} s of processor time", limit_seconds);
  } else if (seconds_since(s.since) > patience * limit_seconds) {
    result.death = fmt::format("did not end within {:g} s", patience * limit_seconds);
  } else {
    return std::nullopt;
  }
  if (!result.reply) s.process.reset();
  s.busy = false;
  return result;
}

/// Waits for the first result of busy slots.
void wait(std::vector<slot>& slots, double limit_seconds, const std::function<void(const work_result&)>& done) {
  std::vector<pollfd> fds;
  fds.reserve(slots.size());
  for (const slot& s : slots) fds.push_back({s.busy ? s.process->reply_fd() : -1, POLLIN, 0});
  constexpr int tick_ms = 50;  // how late a limit may be noticed
  poll(fds.data(), fds.size(), tick_ms);
  call(hooks_of_program.while_waiting);
  for (std::size_t i = 0; i < slots.size(); ++i)
    if (slots[i].busy)
      if (const auto result = collect(slots[i], fds[i].revents != 0, limit_seconds)) done(*result);
}

void start(slot& s, const worker::serve_function& serve, std::string request) {
  if (!s.process) s.process = std::make_unique<worker>(serve, s.number);
  s.request = std::move(request);
  s.since = clock::now();
  s.used_before = s.process->processor_seconds();
  s.busy = true;
  s.process->send(s.request);
}

}  // namespace

void run_workers(int jobs, double limit_seconds, const worker::serve_function& serve,
                 const std::function<std::optional<std::string>()>& next,
                 const std::function<void(const work_result&)>& done) {
  std::vector<slot> slots(static_cast<std::size_t>(jobs));
  for (int i = 0; i < jobs; ++i) slots[static_cast<std::size_t>(i)].number = i;
  for (bool more = true;;) {
    bool busy = false;
    for (slot& s : slots) {
      if (!s.busy && more) {
        if (auto request = next())
          start(s, serve, std::move(*request));
        else
          more = false;
      }
      busy = busy || s.busy;
    }
    if (!busy) return;
    wait(slots, limit_seconds, done);
  }
}

isolated::isolated(worker::serve_function serve, double limit_seconds)
    : serve_(std::move(serve)), limit_seconds_(limit_seconds) {}

work_result isolated::ask(const std::string& request) {
  std::vector<slot> one(1);
  one[0].process = std::move(worker_);
  start(one[0], serve_, request);
  work_result result;
  while (one[0].busy) wait(one, limit_seconds_, [&](const work_result& r) { result = r; });
  worker_ = std::move(one[0].process);
  return result;
}

}  // namespace assay
