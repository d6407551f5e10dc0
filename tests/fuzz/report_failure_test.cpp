/// How fuzz targets end on a finding: what they print, and that an engine's own handler comes after it.
#include "fuzz/report_failure.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch_test_macros.hpp>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <sstream>

#include "fuzz/check_case.hpp"
#include "fuzz/counters.hpp"
#include "properties/run/fault_watch.hpp"
#include "properties/run/features.hpp"
#include "tests/properties/faulty_library.hpp"
#include "tests/properties/scratch.hpp"

using namespace assay;

namespace {

struct ending {
  std::string printed;
  int signal = 0;
  int status = 0;
};

void engine_handler(int) {
  constexpr char text[] = "the engine's handler\n";
  if (write(STDERR_FILENO, text, sizeof text - 1) < 0) _exit(1);
  _exit(77);
}

/// Runs it in a child whose stderr is kept.
ending end_of(const std::function<void()>& run) {
  int channel[2];
  REQUIRE(pipe(channel) == 0);
  const pid_t child = fork();
  if (child == 0) {
    for (const int fatal : {SIGABRT, SIGBUS}) std::signal(fatal, SIG_DFL);
    std::signal(SIGSEGV, engine_handler);
    dup2(channel[1], STDERR_FILENO);
    run();
    _exit(0);
  }
  close(channel[1]);
  ending end;
  char part[4096];
  for (ssize_t n = 0; (n = read(channel[0], part, sizeof part)) > 0;)
    end.printed.append(part, static_cast<std::size_t>(n));
  close(channel[0]);
  int state = 0;
  waitpid(child, &state, 0);
  end.signal = WIFSIGNALED(state) ? WTERMSIG(state) : 0;
  end.status = WIFEXITED(state) ? WEXITSTATUS(state) : 0;
  return end;
}

}  // namespace

TEST_CASE("a failure prints one line, then its input, and aborts", "[fuzz]") {
  const ending end = end_of([] {
    fuzz::announce("{\n  \"the\": \"case\"\n}");
    fuzz::report("enclosure", "o[0] lies outside");
  });
  CHECK(end.signal == SIGABRT);
  CHECK(end.printed == "assay finding: enclosure: o[0] lies outside\n{\n  \"the\": \"case\"\n}\n");
}

TEST_CASE("only a failing verdict is reported", "[fuzz]") {
  const ending end = end_of([] {
    fuzz::expect_no_failure(passed());
    fuzz::expect_no_failure(discarded("rejected"));
  });
  CHECK((end.signal == 0 && end.status == 0 && end.printed.empty()));
}

TEST_CASE("a fault of a kernel is reported as memory, then by the engine", "[fuzz]") {
  const ending end = end_of([] {
    const inputs given = fill(testing::small_case());
    static_cast<void>(fuzz::under_test());
    fuzz::announce("the case");
    const fault_watch watch(given.buffers, {});
    const buffer& table = given.buffers.back();
    const auto* past = static_cast<const volatile char*>(table.view().data) + table.size_bytes();
    for (std::int64_t i = 0; i < (1 << 20); ++i) static_cast<void>(past[i]);
  });
  CHECK(end.printed.starts_with("assay finding: memory: "));
  CHECK(end.printed.find(" was read past its end, at byte ") != std::string::npos);
  CHECK(end.printed.find("\nthe case\n") != std::string::npos);
  CHECK(end.printed.ends_with("the engine's handler\n"));
  CHECK(end.status == 77);
}

TEST_CASE("a library that cannot be loaded ends a target with exit status 3", "[fuzz]") {
  const ending end = end_of([] {
    setenv("ASSAY_FUZZ_LIBRARY", "/nowhere.so", 1);
    static_cast<void>(fuzz::under_test());
  });
  CHECK(end.status == 3);
  CHECK(end.printed.find("/nowhere.so: cannot be loaded") != std::string::npos);
}

TEST_CASE("the environment says what a target checks", "[fuzz]") {
  const auto checks = [](const char* wanted) {
    return end_of([wanted] {
      setenv("ASSAY_FUZZ_CHECKS", wanted, 1);
      const execution_checks c = fuzz::under_test().checks;
      std::fprintf(stderr, "%d %d", c.accesses ? 1 : 0, c.lockstep_waves ? 1 : 0);
    });
  };
  CHECK(checks("").printed == "1 0");
  CHECK(checks("none").printed == "0 0");
  CHECK(checks("lockstep_waves").printed == "1 1");
  CHECK(checks("some").status == 3);
}

TEST_CASE("a process keeps a file of its runs of each feature, however it ends", "[fuzz]") {
  const testing::scratch folder;
  const std::filesystem::path file = folder.path() / "counters";
  for (const int fatal : {SIGABRT, SIGKILL}) {
    std::filesystem::remove(file);
    const ending end = end_of([&] {
      setenv("ASSAY_FUZZ_COUNTERS", file.c_str(), 1);
      fuzz::check_case(testing::small_case());
      fuzz::check_case(testing::small_case());
      if (fatal == SIGABRT) fuzz::report("a finding", "after two runs");
      raise(fatal);
    });
    CHECK(end.signal == fatal);
    std::map<std::string, std::uint64_t> hits;
    std::ifstream in(file);
    for (std::string line; std::getline(in, line);) {
      std::istringstream words(line);
      std::string name;
      REQUIRE((words >> name));
      REQUIRE(!hits.contains(name));
      REQUIRE((words >> hits[name]));
    }
    CHECK(hits["runs"] == 2);
    CHECK(hits["decided"] == 2);
    CHECK(hits["tiles_many"] == 2);
    CHECK(hits["most_barrier_conflicts"] >= 2);  // a stage is filled and used again
    CHECK(hits["most_barrier_conflicts"] < 1000);
    CHECK(hits.size() == 5 + num_features);
  }
}

TEST_CASE("runs are counted by outcome", "[fuzz]") {
  const ending end = end_of([] {
    unsetenv("ASSAY_FUZZ_COUNTERS");
    for (const outcome result : {outcome::pass, outcome::discard, outcome::undecided, outcome::discard})
      fuzz::count_run(result);
    fuzz::count_run(outcome::fail);
    fuzz::write_hits();
  });
  CHECK(end.printed == "runs 5\ndecided 2\ndiscarded 2\nundecided 1\n");
}
