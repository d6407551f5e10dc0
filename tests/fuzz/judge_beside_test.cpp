/// Fuzz targets that judge each case by a second library, over the driver of tests/device/fake_driver.cpp.
#include "fuzz/judge_beside.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch_test_macros.hpp>
#include <csignal>
#include <functional>

#include "fuzz/check_case.hpp"
#include "fuzz/counters.hpp"
#include "fuzz/report_failure.hpp"
#include "tests/device/fake_device.hpp"
#include "tests/properties/faulty_library.hpp"

using namespace assay;

namespace {

struct ending {
  std::string printed;
  int signal = 0;
  int status = 0;
};

/// Checks the case in a child, with the fake device's library beside the built-in kernels.
ending beside_fake_device(const char* planted, const attention_case& c, const std::function<void()>& before = {}) {
  int channel[2];
  REQUIRE(pipe(channel) == 0);
  const pid_t child = fork();
  if (child == 0) {
    for (const int fatal : {SIGABRT, SIGSEGV}) std::signal(fatal, SIG_DFL);
    dup2(channel[1], STDERR_FILENO);
    const testing::fake_device fake(planted);
    setenv("ASSAY_FUZZ_BESIDE", testing::fake_device_file.c_str(), 1);
    if (before) before();
    static_cast<void>(fuzz::under_test());
    static_cast<void>(fuzz::beside());
    fuzz::check_case(c);
    fuzz::write_hits();
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

bool names(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("a target judges each case by both libraries, and counts and times each", "[fuzz][device]") {
  if (!testing::has_fake_device()) SKIP("the fake device is not built");
  const ending end = beside_fake_device("", testing::small_case());
  INFO(end.printed);
  CHECK((end.signal == 0 && end.status == 0));
  for (const std::string platform : {"cpu", "nvidia"}) {
    CHECK(names(end.printed, platform + ":runs 1\n"));
    CHECK(names(end.printed, platform + ":decided 1\n"));
    CHECK(names(end.printed, platform + ":microseconds "));
  }
  CHECK(names(end.printed, "runs 1\n"));
}

TEST_CASE("a failure of the second library alone is a finding, named by its platform", "[fuzz][device]") {
  if (!testing::has_fake_device()) SKIP("the fake device is not built");
  const ending wrong = beside_fake_device("wrong_output", testing::small_case());
  INFO(wrong.printed);
  CHECK(wrong.signal == SIGABRT);
  CHECK(names(wrong.printed, "assay finding: enclosure: nvidia: o["));
  const ending broken = beside_fake_device("error", testing::small_case());
  CHECK(broken.signal == SIGABRT);
  CHECK(names(broken.printed,
              "assay finding: memory: nvidia: the device: an illegal memory access was encountered "
              "(CUDA_ERROR_ILLEGAL_ADDRESS, 700)\n"));
  CHECK(names(broken.printed, "nvidia:runs 1\n"));
}

TEST_CASE("a failure of the first library is named by its platform where two judge", "[fuzz][device]") {
  if (!testing::has_fake_device()) SKIP("the fake device is not built");
  const std::string broken = ASSAY_BINARY_DIR "/lib/fault_missing_rescale.so";
  if (!std::filesystem::exists(broken)) SKIP("the faulty library is not built");
  attention_case c = testing::small_case();
  c.num_splits = 1;
  c.pool_pages = 16;
  c.sequences = {{.q = 1, .k = 200, .prefix_offset = {}, .pages = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}}};
  const ending end = beside_fake_device("", c, [&] { setenv("ASSAY_FUZZ_LIBRARY", broken.c_str(), 1); });
  INFO(end.printed);
  CHECK(end.signal == SIGABRT);
  CHECK(names(end.printed, "assay finding: enclosure: cpu: "));
}

TEST_CASE("a second library that takes nothing decides nothing", "[fuzz][device]") {
  if (!testing::has_fake_device()) SKIP("the fake device is not built");
  const ending end = beside_fake_device("refuse", testing::small_case());
  INFO(end.printed);
  CHECK((end.signal == 0 && end.status == 0));
  CHECK(names(end.printed, "nvidia:discarded 1\n"));
  CHECK(names(end.printed, "cpu:decided 1\n"));
}

TEST_CASE("a second library, device or number that is not there ends a target with exit status 3", "[fuzz][device]") {
  if (!testing::has_fake_device()) SKIP("the fake device is not built");
  const auto ends_with = [](const char* variable, const char* value) {
    return beside_fake_device("", testing::small_case(), [=] { setenv(variable, value, 1); });
  };
  CHECK(ends_with("ASSAY_FUZZ_BESIDE", "/nowhere.so").status == 3);
  CHECK(names(ends_with("ASSAY_FUZZ_BESIDE", "/nowhere.so").printed, "/nowhere.so: cannot be loaded"));
  CHECK(ends_with("ASSAY_DEVICES", "7").status == 3);
  CHECK(names(ends_with("ASSAY_FUZZ_JOB", "-1").printed, "ASSAY_FUZZ_JOB: '-1' is no number of a process"));
  CHECK(ends_with("ASSAY_FUZZ_JOB", "3").status == 0);
}
