#include "properties/system/scratch_folder.hpp"

#include <catch2/catch_test_macros.hpp>

#include "tests/properties/scratch.hpp"

namespace assay {

namespace fs = std::filesystem;

TEST_CASE("a folder that is not kept is gone; a kept one has its name, also over an empty folder") {
  const testing::scratch here;
  {
    const scratch_folder left(here.path() / "a");
    CHECK(fs::exists(left.path()));
  }
  CHECK(fs::is_empty(here.path()));
  fs::create_directory(here.path() / "a");
  {
    scratch_folder kept(here.path() / "a");
    fs::create_directory(kept.path() / "b");
    kept.keep();
  }
  CHECK(fs::exists(here.path() / "a" / "b"));
  CHECK(std::distance(fs::directory_iterator(here.path()), {}) == 1);
}

}  // namespace assay
