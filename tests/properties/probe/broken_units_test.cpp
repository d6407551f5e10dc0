/// `assay probe` on libraries whose matrix unit is broken (tests/units): each ends with one line that says where.
#include <stdlib.h>

#include <catch2/catch_test_macros.hpp>
#include <filesystem>
#include <sstream>

#include "properties/cli/program.hpp"

namespace assay {
namespace {

const std::string path = ASSAY_BINARY_DIR "/lib/units.so";

struct answer {
  int status;
  std::string out, err;
};

answer probe(const char* how, const char* limit = "60") {
  setenv("ASSAY_UNIT", how, 1);
  std::ostringstream out, err;
  const int status =
      run_program({"probe", "--library", path, "--tiles", "12", "--seed", "1", "--stride", "100003", "--limit", limit},
                  {out, err, nullptr});
  unsetenv("ASSAY_UNIT");
  return {status, out.str(), err.str()};
}

struct fault {
  const char* how;
  const char* says;
};

TEST_CASE("probe: what a library's table has wrong is one line, and status 3", "[probe][cli]") {
  if (!std::filesystem::exists(path)) SKIP("units.so is not built");
  for (const fault& f : {fault{"no products", "atom 0 'the atom': declared.products is not 1 to 64"},
                         {"products of 12", "atom 0 'the atom': depth is 16, not a multiple of declared.products, 12"},
                         {"no group", "atom 0 'the atom': declared.group does not divide"},
                         {"a sum of 7", "atom 0 'the atom': declared.sum is not one of the known ones"},
                         {"no name", "atom 0: name is not 1 to 64 printable characters"},
                         {"a name of two lines", "atom 0: name is not 1 to 64 printable characters"},
                         {"type f32", "atom 0 'the atom': type is 1 (f32), not f16, bf16, i8 or an FP8 type"},
                         {"type none", "atom 0 'the atom': type is 0 (none), not f16"},
                         {"type -1", "atom 0 'the atom': type is -1 (unknown), not f16"},
                         {"depth -1", "atom 0 'the atom': depth is -1, not 1 to 64"},
                         {"depth 0", "atom 0 'the atom': depth is 0, not 1 to 64"},
                         {"depth 80", "atom 0 'the atom': depth is 80, not 1 to 64"},
                         {"an endless error", "tanh_relative_error is inf, not 0 to 2^-10"},
                         {"an error of NaN", "log_absolute_error is nan, not 0 to 2^-10"},
                         {"a name nowhere", "the process that read its table ended: killed by signal 11"}}) {
    CAPTURE(f.how);
    const answer a = probe(f.how);
    CAPTURE(a.err);
    CHECK(a.status == exit_environment);
    CHECK(a.out.empty());
    CHECK(a.err.starts_with("assay: " + path + ": assay_matrix_unit_v1: " + f.says));
    CHECK(a.err.find('\n') == a.err.size() - 1);
  }
}

TEST_CASE("probe: a unit that crashes, hangs, fails or computes wrongly is a defect", "[probe][cli]") {
  if (!std::filesystem::exists(path)) SKIP("units.so is not built");
  const answer wrong = probe("");
  CHECK(wrong.status == exit_defect);
  CHECK(wrong.out.find("the atom: the declared atom FAILS: ") != std::string::npos);
  CHECK(wrong.out.find("tanh: largest relative error 1 = 2^0.000") != std::string::npos);
  const answer crashed = probe("multiply crashes");
  CHECK(crashed.status == exit_defect);
  CHECK(crashed.out.find("the atom: did not run: the process that ran it ended: killed by signal 11") !=
        std::string::npos);
  CHECK(crashed.out.find("tanh: largest") != std::string::npos);  // what comes next goes on
  const answer hung = probe("multiply hangs", "0.1");
  CHECK(hung.status == exit_defect);
  CHECK(hung.out.find("the atom: did not run: the process that ran it ended: ") != std::string::npos);
  CHECK(hung.out.find("tanh: ") != std::string::npos);
  const answer failed = probe("multiply fails");
  CHECK(failed.status == exit_defect);
  CHECK(failed.out.find("the atom: did not run: x\\x1bxxx") != std::string::npos);
}

TEST_CASE("probe: too few results and floats verify nothing", "[probe][cli][long]") {
  std::ostringstream out, err;
  CHECK(run_program({"probe", "--tiles", "1", "--seed", "1", "--stride", "2147483648"}, {out, err, nullptr}) ==
        exit_defect);
  const std::string said = out.str();
  CAPTURE(said);
  CHECK(said.find("i8: the declared atom is not confirmed: 0 misses of 256; too few results: at least 1000 must be "
                  "compared") != std::string::npos);
  CHECK(said.find("f16: no atom is declared; too few results") != std::string::npos);
  CHECK(said.find("log: is not confirmed: 0 floats, every 2147483648th; too few results") != std::string::npos);
}

}  // namespace
}  // namespace assay
