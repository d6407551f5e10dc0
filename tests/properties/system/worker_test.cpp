#include "properties/system/worker.hpp"

#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <catch2/catch_test_macros.hpp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <new>

#include "properties/system/errors.hpp"

namespace assay {
namespace {

std::string serve(const std::string& request) {
  if (request == "crash") raise(SIGKILL);
  if (request == "exit") _exit(7);
  if (request == "speak") worker::end_with_last_words("farewell", 8);
  if (request == "hang") pause();
  for (volatile bool forever = request == "spin"; forever;) {
  }
  if (request == "leave") {
    for (int fd = 3; fd < 64; ++fd) close(fd);
    for (volatile bool forever = true; forever;) {
    }
  }
  if (request == "fork" && fork() == 0) return "from the child of the child";
  if (request == "fork") usleep(20'000);
  if (request == "print") std::printf("not the report's\n"), std::fflush(stdout);
  if (request == "no memory") throw std::bad_alloc();
  if (request == "leave a child") {
    const pid_t left = fork();
    for (volatile bool forever = left == 0; forever;) pause();
    return std::to_string(left);
  }
  if (request == "crash beside a child") {
    for (volatile bool forever = fork() == 0; forever;) pause();
    raise(SIGSEGV);
  }
  if (request == "big") return std::string(1 << 20, 'x');
  return request + "!";
}

std::map<std::string, work_result> run(int jobs, std::vector<std::string> requests, double limit_seconds = 60) {
  std::map<std::string, work_result> results;
  std::size_t next = 0;
  run_workers(
      jobs, limit_seconds, serve,
      [&]() -> std::optional<std::string> {
        if (next == requests.size()) return std::nullopt;
        return requests[next++];
      },
      [&](const work_result& r) { results[r.request] = r; });
  return results;
}

TEST_CASE("every request gets its reply, whatever the number of workers") {
  std::vector<std::string> requests;
  requests.reserve(100);
  for (int i = 0; i < 100; ++i) requests.push_back(std::to_string(i));
  for (const int jobs : {1, 3}) {
    const auto results = run(jobs, requests);
    REQUIRE(results.size() == requests.size());
    for (const auto& [request, result] : results) CHECK(result.reply == request + "!");
  }
}

TEST_CASE("a reply may be larger than a pipe holds") {
  CHECK(run(1, {"big"}).at("big").reply->size() == 1 << 20);
}

TEST_CASE("a worker that dies is named with its request and replaced") {
  const auto results = run(1, {"a", "crash", "b", "exit", "c"});
  CHECK(results.at("crash").death == "killed by signal 9 (Killed)");
  CHECK(results.at("exit").death == "exited with status 7");
  for (const char* alive : {"a", "b", "c"}) CHECK(results.at(alive).reply.has_value());
}

TEST_CASE("a worker's last words are no reply, and it is replaced") {
  const auto results = run(1, {"a", "speak", "b"});
  CHECK_FALSE(results.at("speak").reply.has_value());
  CHECK(results.at("speak").last_words == "farewell");
  CHECK(results.at("speak").death == "exited with status 1");
  CHECK(results.at("b").reply == "b!");
  CHECK(results.at("b").last_words.empty());
  worker::end_with_last_words("not a child", 11);
}

TEST_CASE("a worker that hangs is ended at its limit") {
  const auto results = run(2, {"hang", "spin", "a", "b"}, 0.2);
  CHECK(results.at("hang").death == "did not end within 0.8 s");
  CHECK(results.at("hang").seconds < 0.2);
  CHECK(results.at("spin").death == "did not end within 0.2 s of processor time");
  CHECK(results.at("b").reply == "b!");
}

TEST_CASE("what a worker did for others is not on a request's account") {
  const auto busy_for = [](double seconds) {
    timespec t{};
    do clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    while (static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec) < seconds);
  };
  double spent = 0;
  isolated child(
      [&](const std::string& request) {
        busy_for(spent += 0.15);
        return request;
      },
      0.25);
  for (const char* request : {"a", "b", "c"}) CHECK(child.ask(request).reply == request);
}

namespace {

std::string hooks_called;

/// Hooks that note their calls, until the object dies.
struct noting_hooks {
  explicit noting_hooks(void (*while_waiting)()) {
    hooks_called.clear();
    set_worker_hooks({[] { hooks_called += "before "; }, [] { hooks_called += "parent "; },
                      [] { hooks_called += "child "; }, while_waiting});
  }
  ~noting_hooks() { set_worker_hooks({}); }
  noting_hooks(const noting_hooks&) = delete;
  noting_hooks& operator=(const noting_hooks&) = delete;
};

}  // namespace

TEST_CASE("a program's hooks are called around the fork of a worker, on each side of it") {
  const noting_hooks noted(nullptr);
  isolated child([](const std::string&) { return hooks_called; }, 60);
  CHECK(child.ask("").reply == "before child ");
  CHECK(hooks_called == "before parent ");
}

TEST_CASE("what a hook throws while workers are waited for ends them") {
  struct interrupt {};
  const noting_hooks noted([] { throw interrupt{}; });
  CHECK_THROWS_AS(run(2, {"hang", "hang"}), interrupt);
}

TEST_CASE("a worker that closes its pipe and goes on is ended") {
  const auto results = run(1, {"leave", "a"}, 60);
  CHECK(results.at("leave").death == "closed its pipe and did not end");
  CHECK(results.at("a").reply == "a!");
}

TEST_CASE("a copy of a worker does not answer in its place") {
  const auto results = run(1, {"fork", "a", "b"});
  CHECK(results.at("fork").reply == "fork!");
  CHECK(results.at("a").reply == "a!");
  CHECK(results.at("b").reply == "b!");
}

TEST_CASE("the end of a worker is noticed although a process that it started holds its pipe") {
  const auto results = run(1, {"crash beside a child", "a"}, 60);
  CHECK(results.at("crash beside a child").death == "killed by signal 11 (Segmentation fault)");
  CHECK(results.at("a").reply == "a!");
}

TEST_CASE("what a worker leaves behind ends with it") {
  const std::string left = *run(1, {"leave a child"}).at("leave a child").reply;
  const auto pid = static_cast<pid_t>(std::stol(left));
  int tries = 0;
  while (kill(pid, 0) == 0 && std::filesystem::exists("/proc/" + left + "/exe") && ++tries < 200) usleep(5000);
  CHECK(tries < 200);
}

TEST_CASE("what a worker prints does not get into the report") {
  int pipe_ends[2];
  REQUIRE(pipe(pipe_ends) == 0);
  std::fflush(nullptr);
  const int before = dup(STDOUT_FILENO);
  REQUIRE(dup2(pipe_ends[1], STDOUT_FILENO) == STDOUT_FILENO);
  const auto results = run(1, {"print"});
  dup2(before, STDOUT_FILENO);
  close(before);
  close(pipe_ends[1]);
  char byte = 0;
  CHECK(read(pipe_ends[0], &byte, 1) == 0);
  close(pipe_ends[0]);
  CHECK(results.at("print").reply == "print!");
}

TEST_CASE("running out of memory is a fault of the machine where there is a limit, else of the request") {
  CHECK(run(1, {"no memory"}).at("no memory").death == "exited with status 1");
  rlimit before{};
  REQUIRE(getrlimit(RLIMIT_AS, &before) == 0);
  rlimit limited = before;
  limited.rlim_cur = RLIM_INFINITY - 1;  // a limit, but none that a sanitizer meets
  REQUIRE(setrlimit(RLIMIT_AS, &limited) == 0);
  CHECK_THROWS_AS(run(1, {"no memory"}), environment_error);
  setrlimit(RLIMIT_AS, &before);
}

TEST_CASE("an isolated child answers on after a crash") {
  isolated child(serve, 60);
  CHECK(child.ask("x").reply == "x!");
  CHECK_FALSE(child.ask("crash").reply.has_value());
  CHECK(child.ask("y").reply == "y!");
}

}  // namespace
}  // namespace assay
