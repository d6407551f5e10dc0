#include "properties/system/write_file.hpp"

#include <catch2/catch_test_macros.hpp>

#include "properties/case/case.hpp"
#include "properties/system/errors.hpp"
#include "tests/properties/scratch.hpp"

namespace assay {
namespace {

namespace fs = std::filesystem;

TEST_CASE("a file is written whole, over an old one, in folders that lack, without traces") {
  const testing::scratch folder;
  const fs::path file = folder.path() / "a" / "b.json";
  write_by_rename(file, "one");
  write_by_rename(file, "second");
  CHECK(read_file(file) == "second");
  CHECK(std::distance(fs::directory_iterator(file.parent_path()), fs::directory_iterator{}) == 1);
  write_by_rename(file, "");
  CHECK(read_file(file).empty());
  CHECK_THROWS_AS(write_by_rename("/proc/none/x", ""), environment_error);
  CHECK_THROWS_AS(read_file(folder.path()), case_error);
  CHECK_THROWS_AS(read_file(folder.path() / "absent"), case_error);
}

}  // namespace
}  // namespace assay
