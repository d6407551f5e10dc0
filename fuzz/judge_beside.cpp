#include "fuzz/judge_beside.hpp"

#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "fuzz/counters.hpp"
#include "fuzz/report_failure.hpp"
#include "properties/suite/minimize.hpp"
#include "properties/system/device_driver.hpp"
#include "properties/system/worker.hpp"

namespace assay::fuzz {
namespace {

int job_number() {
  const char* const text = std::getenv("ASSAY_FUZZ_JOB");
  if (text == nullptr) return 0;
  int number = -1;
  const auto [end, error] = std::from_chars(text, text + std::strlen(text), number);
  if (error != std::errc{} || *end != '\0' || number < 0)
    throw environment_error(std::string("ASSAY_FUZZ_JOB: '") + text + "' is no number of a process");
  return number;
}

std::shared_ptr<library> open_beside() {
  const char* const path = std::getenv("ASSAY_FUZZ_BESIDE");
  if (path == nullptr || *path == '\0') return nullptr;
  try {
    std::shared_ptr<library> opened = library::load(path);  // in a child, before there is a driver
    opened->checks = under_test().checks;
    worker::take_number(job_number());
    if (opened->tensors_on() != kDLCPU) device_driver::of(opened->tensors_on());
    return opened;
  } catch (const std::exception& e) {  // also what the driver says of a device that cannot be used
    std::fprintf(stderr, "%s\n", e.what());
    std::_Exit(3);
  }
}

}  // namespace

const library* beside() {
  static const std::shared_ptr<library> opened = open_beside();
  return opened.get();
}

void judge_beside(const attention_case& c) {
  const library& lib = *beside();
  const running_on named(lib);
  const auto start = std::chrono::steady_clock::now();
  const verdict v = check_property(lib, enclosure_property(), c);
  count_side(lib, v.result, std::chrono::steady_clock::now() - start);
  expect_no_failure(v);
}

}  // namespace assay::fuzz
