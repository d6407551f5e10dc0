#include "properties/write_file.hpp"

#include <unistd.h>

#include <catch2/catch_test_macros.hpp>

#include "properties/case.hpp"
#include "properties/runner.hpp"

namespace assay {
namespace {

namespace fs = std::filesystem;

TEST_CASE("a file is written whole, over an old one, in folders that lack, without traces") {
  const fs::path folder = fs::temp_directory_path() / ("assay_write_test." + std::to_string(getpid()));
  const fs::path file = folder / "a" / "b.json";
  write_by_rename(file, "one");
  write_by_rename(file, "second");
  CHECK(read_file(file) == "second");
  CHECK(std::distance(fs::directory_iterator(file.parent_path()), fs::directory_iterator{}) == 1);
  write_by_rename(file, "");
  CHECK(read_file(file).empty());
  CHECK_THROWS_AS(write_by_rename("/proc/none/x", ""), environment_error);
  CHECK_THROWS_AS(read_file(folder), case_error);
  CHECK_THROWS_AS(read_file(folder / "absent"), case_error);
  fs::remove_all(folder);
}

}  // namespace
}  // namespace assay
