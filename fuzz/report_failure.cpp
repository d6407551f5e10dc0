#include "fuzz/report_failure.hpp"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "fuzz/counters.hpp"
#include "properties/run/by_platform.hpp"
#include "properties/run/fault_watch.hpp"

namespace assay::fuzz {
namespace {

/// Allocated once and never freed: a fault during exit still finds it.
std::string& announced() {
  static auto* text = new std::string;
  return *text;
}

/// "nvidia: ", or empty.
std::string& teller() {
  static auto* text = new std::string;
  return *text;
}

/// Async-signal-safe.
void put(const char* text, std::size_t size) {
  while (size > 0) {
    const ssize_t n = write(STDERR_FILENO, text, size);
    if (n <= 0) return;
    text += n;
    size -= static_cast<std::size_t>(n);
  }
}

/// The engine's own handler runs next and keeps the input.
void report_fault(const char* what, std::size_t size) {
  constexpr char head[] = "assay finding: memory: ";
  put(head, sizeof head - 1);
  put(teller().data(), teller().size());
  put(what, size);
  put("\n", 1);
  put(announced().data(), announced().size());
  put("\n", 1);
  write_hits();
}

/// The variable's value; empty if it is not set.
std::string value_of(const char* variable) {
  const char* value = std::getenv(variable);
  return value == nullptr ? "" : value;
}

execution_checks wanted_checks() {
  const std::string wanted = value_of("ASSAY_FUZZ_CHECKS");
  if (!wanted.empty() && wanted != "none" && wanted != "lockstep_waves")
    throw environment_error("ASSAY_FUZZ_CHECKS: must be 'none' or 'lockstep_waves', not '" + wanted + "'");
  return {wanted != "none", wanted == "lockstep_waves"};
}

std::shared_ptr<library> open_library() {
  fault_watch::tell(report_fault);
  try {
    const std::string path = value_of("ASSAY_FUZZ_LIBRARY");
    std::shared_ptr<library> opened = path.empty() ? library::built_in() : library::load(path);
    opened->checks = wanted_checks();
    return opened;
  } catch (const environment_error& e) {
    std::fprintf(stderr, "%s\n", e.what());
    std::_Exit(3);
  }
}

}  // namespace

const library& under_test() {
  static const std::shared_ptr<library> opened = open_library();
  return *opened;
}

void announce(std::string input) {
  announced() = std::move(input);
}

running_on::running_on(const library& lib) {
  teller() = by_platform(lib, {}).what;
}

running_on::~running_on() {
  teller().clear();
}

void report(const std::string& origin, const std::string& what) {
  std::fprintf(stderr, "assay finding: %s: %s%s\n%s\n", origin.c_str(), teller().c_str(), what.c_str(),
               announced().c_str());
  write_hits();
  std::abort();
}

void expect_no_failure(const verdict& v) {
  if (v.result == outcome::fail) report(v.origin, v.what);
}

}  // namespace assay::fuzz
