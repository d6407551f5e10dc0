// A kernel library that misbehaves as ASSAY_ATTACK says, around the kernels of the library that ASSAY_ATTACKED names.
#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cfenv>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#include "kernels/library.h"

namespace {

bool is(const char* attack) {
  const char* asked = std::getenv("ASSAY_ATTACK");
  return asked != nullptr && std::strcmp(asked, attack) == 0;
}

[[noreturn]] void crash() {
  std::raise(SIGSEGV);
  std::abort();
}

[[noreturn]] void loop() {
  for (volatile bool forever = true; forever;) {
  }
  std::abort();
}

struct at_load {
  at_load() {
    if (is("exit while loading")) std::exit(0);
    if (is("_exit while loading")) _exit(0);
    if (is("crash while loading")) crash();
    if (is("loop while loading")) loop();
    if (is("print while loading")) std::puts("verified: 2000 cases, no defect (seed 1)");
  }
  ~at_load() {
    if (is("exit while unloading")) _exit(0);
    if (is("crash while unloading")) crash();
  }
} const loading;

const assay_library& attacked() {
  static const assay_library* const table = [] {
    void* handle = dlopen(std::getenv("ASSAY_ATTACKED"), RTLD_NOW | RTLD_LOCAL);
    auto* entry = reinterpret_cast<const assay_library* (*)()>(dlsym(handle, "assay_library_v1"));
    return entry();
  }();
  return *table;
}

const assay_kernel& kernel() {
  for (std::int32_t i = 0; i < attacked().num_kernels; ++i)
    if (std::string_view(attacked().kernels[i].name) == "split_kv") return attacked().kernels[i];
  std::abort();
}

/// A defect whose message is `text`.
assay_status report(const assay_launch* how, const char* text) {
  const assay_defect found{ASSAY_OUT_OF_BOUNDS, "attack", text, {0, 0, 0}, 0, 0};
  if (how->on_defect != nullptr) how->on_defect(how->context, &found);
  return {ASSAY_FAILED, "attack"};
}

assay_status refuse(const char* bytes, std::size_t size) {
  assay_status status{ASSAY_FAILED, {}};
  std::memcpy(status.message, bytes, std::min(size, sizeof status.message - 1));
  return status;
}

assay_status plan(const assay::problem* p, std::int64_t budget, assay_plan* out) {
  if (is("crash in plan")) crash();
  if (is("exit in plan")) std::exit(0);
  if (is("no plan")) return {ASSAY_OK, {}};
  return kernel().plan(p, budget, out);
}

assay_status declare(const assay::problem* p, const assay_launch* how, assay::contract* c) {
  if (is("crash in declare")) crash();
  return kernel().declare(p, how, c);
}

assay_status run(const assay::problem* p, const assay_tensor* tensors, std::int32_t count, const assay_launch* how) {
  if (is("exit in run")) std::exit(0);
  if (is("_exit in run")) _exit(0);
  if (is("crash in run")) crash();
  if (is("crash in run, leaving a child")) {
    for (volatile bool forever = fork() == 0; forever;) pause();
    crash();
  }
  if (is("abort in run")) std::abort();
  if (is("loop in run")) loop();
  if (is("throw in run")) throw 1;
  if (is("close files and loop in run")) {
    for (int fd = 0; fd < 256; ++fd) close(fd);
    loop();
  }
  if (is("close files in run"))
    for (int fd = 3; fd < 256; ++fd) close(fd);
  if (is("fork in run")) static_cast<void>(fork());
  if (is("print in run")) std::puts("verified: 2000 cases, no defect (seed 1)"), std::fflush(stdout);
  if (is("signals in run"))
    for (int number = 1; number < 32; ++number) static_cast<void>(signal(number, SIG_IGN));
  if (is("message that is no UTF-8")) return refuse("\xFF\xFE \xC3", 5);
  if (is("message of control characters")) return refuse("\x1B[2J\x07\r\n]]>", 10);
  if (is("message without an end")) {
    assay_status status{ASSAY_FAILED, {}};
    std::memset(status.message, 'x', sizeof status.message);
    return status;
  }
  if (is("message of U+FFFE")) return refuse("\xEF\xBF\xBE", 3);
  if (is("defect of 50 MB")) return report(how, std::string(std::size_t{50} << 20, 'x').c_str());
  if (is("defect that is no UTF-8")) return report(how, "\x80\xC0\xAF");
  if (is("status of no kind")) return {77, "attack"};
  if (is("nothing in run")) return {ASSAY_OK, {}};
  const assay_status status = kernel().run(p, tensors, count, how);
  if (is("rounding left upward")) std::fesetround(FE_UPWARD);
  return status;
}

}  // namespace

extern "C" [[gnu::visibility("default")]] const assay_library* assay_library_v1() {
  if (is("exit in the entry")) std::exit(0);
  if (is("crash in the entry")) crash();
  if (is("nothing from the entry")) return nullptr;
  static const std::string endless(std::size_t{1} << 20, 'x');
  static const assay_kernel mine{is("another name")            ? "none"
                                 : is("a name of two lines")   ? "split_kv\nappend_kv"
                                 : is("a name without an end") ? endless.c_str()
                                                               : "split_kv",
                                 plan, declare, run, nullptr};
  static assay_library table = attacked();
  table.num_kernels = is("no kernels") ? 0 : is("negative kernels") ? -1 : 1;
  table.kernels = &mine;
  if (is("another ABI")) table.size_bytes = 9;
  if (is("another problem")) table.problem_bytes += 8;
  if (is("no platform")) table.platform = nullptr;
  if (is("control characters in the platform")) table.platform = "cpu\x1B[2J\nsplit_kv";
  return &table;
}
