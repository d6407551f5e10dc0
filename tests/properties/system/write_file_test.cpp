#include "properties/system/write_file.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <thread>

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

TEST_CASE("a link stays and its target is written; a device and a pipe are written through") {
  const testing::scratch folder;
  const fs::path target = folder.path() / "target", link = folder.path() / "link", pipe = folder.path() / "pipe";
  write_by_rename(target, "old");
  fs::create_symlink(target, link);
  CHECK(can_be_written(link));
  write_by_rename(link, "new");
  CHECK(fs::is_symlink(link));
  CHECK(read_file(target) == "new");

  CHECK(can_be_written("/dev/null"));
  write_by_rename("/dev/null", "nothing");
  CHECK(fs::is_character_file("/dev/null"));
  CHECK_THROWS_WITH(write_by_rename("/dev/full", "x"), "/dev/full: cannot be written: No space left on device");

  REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
  CHECK(can_be_written(pipe));
  std::string seen;
  std::thread reader([&] { std::getline(std::ifstream(pipe), seen); });
  write_by_rename(pipe, "through");
  reader.join();
  CHECK(seen == "through");
  CHECK(fs::is_fifo(pipe));
  CHECK_THROWS_WITH(read_file(pipe), Catch::Matchers::EndsWith("it is no regular file"));
}

TEST_CASE("a report goes behind what is in a file that is stdout, by whatever name") {
  const testing::scratch folder;
  const fs::path file = folder.path() / "redirected";
  std::fflush(stdout);
  const int before = dup(STDOUT_FILENO), redirected = open(file.c_str(), O_CREAT | O_WRONLY, 0600);
  REQUIRE(redirected >= 0);
  dup2(redirected, STDOUT_FILENO);
  const bool can = can_be_written("/dev/stdout");
  std::printf("verdict\n");
  std::fflush(stdout);
  write_by_rename("/dev/stdout", "one\n");
  write_by_rename(file, "two\n");
  dup2(before, STDOUT_FILENO);
  close(before);
  close(redirected);
  CHECK(can);
  CHECK(read_file(file) == "verdict\none\ntwo\n");
}

TEST_CASE("a link into a folder that cannot be written is noticed before") {
  const testing::scratch folder;
  const fs::path link = folder.path() / "link";
  fs::create_symlink("/proc/version", link);
  CHECK_FALSE(can_be_written(link));
}

TEST_CASE(
    "what is neither file, device nor pipe is not replaced, and no trace is left of a file that cannot be written") {
  const testing::scratch folder;
  const fs::path dangling = folder.path() / "dangling", place = folder.path() / "folder";
  fs::create_symlink(folder.path() / "absent", dangling);
  fs::create_directory(place);
  for (const fs::path& one : {dangling, place}) {
    CHECK_FALSE(can_be_written(one));
    CHECK_THROWS_AS(write_by_rename(one, "x"), environment_error);
  }
  CHECK(fs::is_symlink(dangling));
  rlimit before{};
  REQUIRE(getrlimit(RLIMIT_FSIZE, &before) == 0);
  rlimit limited = before;
  limited.rlim_cur = 100;
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  REQUIRE(setrlimit(RLIMIT_FSIZE, &limited) == 0);
  CHECK_THROWS_AS(write_by_rename(folder.path() / "large", std::string(1000, 'x')), environment_error);
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  CHECK(std::distance(fs::directory_iterator(folder.path()), fs::directory_iterator{}) == 2);
}

TEST_CASE("a file that is too large, a link that leads nowhere and a folder that cannot be walked are bad input") {
  const testing::scratch folder;
  const fs::path large = folder.path() / "large.json", loop = folder.path() / "loop";
  write_by_rename(large, "");
  fs::resize_file(large, most_file_bytes + 1);  // sparse
  CHECK_THROWS_AS(read_file(large), case_error);
  fs::create_symlink(loop, loop);
  CHECK_THROWS_AS(read_file(loop), case_error);
  CHECK(files_below(folder.path(), ".json") == std::vector<fs::path>{large});
  CHECK_THROWS_AS(read_file(std::string(5000, 'x')), case_error);
}

}  // namespace
}  // namespace assay
