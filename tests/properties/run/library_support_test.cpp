// Shared objects that declare what their kernels take: tests/narrow/library.cpp.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "properties/cli/program.hpp"
#include "properties/run/execute.hpp"
#include "tests/properties/faulty_library.hpp"

namespace assay {
namespace {

const std::string path = ASSAY_BINARY_DIR "/lib/narrow.so";

/// The library, as broken as `how` says, for the life of this.
struct narrow_environment {
  explicit narrow_environment(const char* how = "") {
    setenv("ASSAY_NARROWED", ASSAY_BINARY_DIR "/lib/assay_kernels_cpu.so", 1);
    setenv("ASSAY_NARROW", how, 1);
  }
  ~narrow_environment() { unsetenv("ASSAY_NARROW"); }
  narrow_environment(const narrow_environment&) = delete;
  narrow_environment& operator=(const narrow_environment&) = delete;
};

struct answer {
  int status;
  std::string out, err;
};

answer run(const std::vector<std::string>& arguments) {
  std::ostringstream out, err;
  const int status = run_program(arguments, {out, err, nullptr});
  return {status, out.str(), err.str()};
}

TEST_CASE("a shared object says what its kernels take, and has a predicate") {
  if (!std::filesystem::exists(path)) SKIP("narrow.so is not built");
  const narrow_environment as_it_is;
  const auto lib = library::load(path);
  CHECK(lib->declares("split_kv"));
  CHECK_FALSE(lib->declares("append_kv"));
  CHECK(lib->support_of("split_kv").head_dims.values[0] == 128);
  CHECK(lib->support_of("split_kv").no_window == 1);
  CHECK(lib->support_of("append_kv").no_window == 0);
  CHECK(lib->has_predicate());
  CHECK(refused_by_predicate(*lib, testing::small_case()) == "two sequences");
  attention_case one = testing::small_case();
  one.sequences.resize(1);
  CHECK(refused_by_predicate(*lib, one).empty());
}

TEST_CASE("what the kernels of a library take is listed") {
  if (!std::filesystem::exists(path)) SKIP("narrow.so is not built");
  const narrow_environment as_it_is;
  const answer a = run({"list", "kernels", "--library", path});
  CAPTURE(a.out, a.err);
  CHECK(a.status == 0);
  CHECK(a.out.find("split_kv\n  types   f16\n  sizes   head dim 128\n  takes   causal, not causal, prefix offset") !=
        std::string::npos);
  CHECK(a.out.find("\n  lacks   window\n") != std::string::npos);
  CHECK(a.out.find("\n  fields  .types = {{ASSAY_TYPE_F16, ASSAY_TYPE_F16, ASSAY_TYPE_F16}}, .head_dims = {.values = "
                   "{128}}, ") != std::string::npos);
  CHECK(a.out.find(".no_window = 1") != std::string::npos);
  CHECK(a.out.find("append_kv\n") != std::string::npos);
}

TEST_CASE("a support that cannot be used is one line on stderr, and exit status 3") {
  if (!std::filesystem::exists(path)) SKIP("narrow.so is not built");
  const auto error_of = [](const char* how) {
    const narrow_environment broken(how);
    const answer a = run({"run", "--library", path, "--cases", "1"});
    CAPTURE(a.err);
    CHECK(a.status == 3);
    CHECK(std::ranges::count(a.err, '\n') == 1);
    return a.err;
  };
  CHECK(error_of("a flag of 2").find("assay_support_v1(\"split_kv\"): no_window: 2 is not 0 or 1") !=
        std::string::npos);
  CHECK(error_of("a size of 0").find("assay_support_v1(\"split_kv\"): size_bytes: 0 ") != std::string::npos);
  CHECK(error_of("a head dim that no case has").find("split_kv: no case is within what it declares: ") !=
        std::string::npos);
}

}  // namespace
}  // namespace assay
