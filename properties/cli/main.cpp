#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <iostream>

#include "properties/cli/program.hpp"

namespace assay {
namespace {

/// A file that is opened later must not become stdin, stdout or stderr because that one was closed. What is written to
/// a closed stdout is lost, and must fail.
void open_standard_files() {
  for (const int fd : {0, 1, 2})
    if (fcntl(fd, F_GETFD) < 0) static_cast<void>(open(fd == 1 ? "/dev/full" : "/dev/null", O_RDWR));
}

/// Too small a stack would end the program without a word.
bool has_stack() {
  constexpr rlim_t least_bytes = rlim_t{512} << 10;
  rlimit limit{};
  return getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur >= least_bytes;
}

/// Whether stdout is a pipe that nothing reads any more.
bool has_lost_reader() {
  pollfd out{STDOUT_FILENO, POLLOUT, 0};
  return poll(&out, 1, 0) == 1 && (out.revents & POLLERR) != 0;
}

int run_and_flush(const std::vector<std::string>& arguments) {
  const int status = run_program(arguments, {std::cout, std::cerr, nullptr});
  if (std::cout.flush()) return status;
  if (has_lost_reader()) {  // as `assay | head` expects it: without a word, but with reports and findings written
    std::signal(SIGPIPE, SIG_DFL);
    std::raise(SIGPIPE);
  }
  if (status != exit_verified) return status;
  std::cerr << "assay: stdout cannot be written\n";
  return exit_environment;
}

}  // namespace
}  // namespace assay

int main(int argc, char** argv) {
  assay::open_standard_files();
  // A file that may not grow (ulimit -f) and a pipe without a reader are writes that fail; the rest is still done.
  for (const int number : {SIGXFSZ, SIGPIPE}) std::signal(number, SIG_IGN);
  if (!assay::has_stack()) {
    std::cerr << "assay: the stack may have too few bytes (see: ulimit -s)\n";
    return assay::exit_environment;
  }
  return assay::run_and_flush({argv + 1, argv + argc});
}
