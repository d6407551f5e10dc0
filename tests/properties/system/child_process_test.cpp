// Programs run as children.
#include "properties/system/child_process.hpp"

#include <catch2/catch_test_macros.hpp>

#include "properties/system/errors.hpp"
#include "properties/system/write_file.hpp"
#include "tests/properties/scratch.hpp"

namespace assay {
namespace {

namespace fs = std::filesystem;

std::string script(const testing::scratch& here, const std::string& name, const std::string& text) {
  const fs::path file = here.write(name, "#!/bin/sh\n" + text);
  fs::permissions(file, fs::perms::owner_all);
  return file.string();
}

}  // namespace

TEST_CASE("a child's end is its exit status, its signal or the limit") {
  const testing::scratch here;
  const fs::path log = here.file("log");
  CHECK(run_child({{script(here, "a", "echo said; echo wrong >&2; exit 3\n")}, {}, log}, 60).status == 3);
  CHECK(read_file(log) == "said\nwrong\n");
  CHECK(run_child({{script(here, "b", "kill -9 $$\n")}, {}, log}, 60).status == 128 + 9);
  CHECK(run_child({{script(here, "c", "sleep 60\n")}, {}, log}, 0.2).status == 124);
  CHECK(run_child({{script(here, "d", "[ \"$1\" = 'two words' ]\n"), "two words"}, {}, log}, 60).status == 0);
  CHECK_THROWS_AS(run_child({{here.file("absent")}, {}, log}, 60), environment_error);
  CHECK_THROWS_AS(run_child({{script(here, "e", "true\n")}, {}, here.file("no/log")}, 60), environment_error);
}

}  // namespace assay
