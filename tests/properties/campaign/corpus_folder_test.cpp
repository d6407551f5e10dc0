#include "properties/campaign/corpus_folder.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <csignal>
#include <thread>

#include "properties/system/interrupts.hpp"
#include "properties/system/write_file.hpp"
#include "tests/properties/campaign/fake_target.hpp"
#include "tests/properties/faulty_library.hpp"

namespace assay::campaign {
namespace {

namespace fs = std::filesystem;
using testing::fake_target;
using testing::names_in;

/// A campaign on split_kv whose folders are there.
options prepared(const fake_target& fake) {
  const options given = fake.given("split_kv");
  const folders at(given.folder);
  for (const fs::path& folder : {at.corpus, at.failing}) fs::create_directories(folder);
  return given;
}

std::string bytes_text(const options& given, const attention_case& c) {
  const auto bytes = *bytes_of(given.fuzzed, c);
  return {bytes.begin(), bytes.end()};
}

TEST_CASE("what the target makes of cases becomes inputs, once, however often a campaign starts") {
  const fake_target fake;
  options given = prepared(fake);
  write_by_rename(fake.root() / "cases" / "deep" / "a.json", "a case");
  write_by_rename(fake.root() / "cases" / "b.json", "FOREIGN");
  write_by_rename(fake.root() / "cases" / "notes.txt", "BAD");
  given.seeds = {fake.root() / "cases"};
  result into;
  plant_seeds(given, into);
  plant_seeds(given, into);
  CHECK(into.seeds == 2);
  REQUIRE(names_in(fake.state("corpus")).size() == 1);
  CHECK(read_file(fake.state("corpus") / names_in(fake.state("corpus")).front()) == "a case");

  given.max_len = 5;
  plant_seeds(given, into);
  CHECK(into.seeds_outside == 1);
  CHECK(into.seeds == 2);
}

TEST_CASE("a bad case file, and a target that dies while writing seeds, are errors") {
  const fake_target fake;
  options given = prepared(fake);
  const fs::path file = fake.root() / "a.json";
  given.seeds = {file};
  result into;
  write_by_rename(file, "BAD");
  CHECK_THROWS_MATCHES(plant_seeds(given, into), case_error, Catch::Matchers::Message(file.string() + ": is no case"));
  write_by_rename(file, "CRASH");
  CHECK_THROWS_MATCHES(plant_seeds(given, into), environment_error,
                       Catch::Matchers::MessageMatches(Catch::Matchers::ContainsSubstring("killed by signal 9")));
  CHECK(names_in(fake.state("corpus")).empty());
}

TEST_CASE("an interrupt while seeds are written leaves no half of one") {
  const fake_target fake;
  options given = prepared(fake);
  write_by_rename(fake.root() / "a.json", "a case");
  write_by_rename(fake.root() / "b.json", "HANG");
  given.seeds = {fake.root() / "a.json", fake.root() / "b.json"};
  const interrupts noted;
  const fs::path part = fake.state("logs") / "seeds" / "seed-0.7.part";
  std::jthread interrupting([&part] {
    while (!fs::exists(part)) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    std::raise(SIGINT);
  });
  result into;
  plant_seeds(given, into);
  CHECK(into.seeds == 1);
  REQUIRE(names_in(fake.state("corpus")).size() == 1);
  CHECK(read_file(fake.state("corpus") / names_in(fake.state("corpus")).front()) == "a case");
  CHECK_FALSE(fs::exists(fake.state("logs") / "seeds"));
}

TEST_CASE("an entry put aside is not planted again, and goes back when it passes") {
  const fake_target fake;
  options given = prepared(fake);
  const std::string bytes = bytes_text(given, assay::testing::small_case());
  write_by_rename(fake.root() / "a.json", bytes);  // which the target takes as they are
  given.seeds = {fake.root() / "a.json"};
  result into;
  plant_seeds(given, into);
  const folders at(given.folder);
  CHECK(put_aside(at, "other bytes") == 0);
  CHECK(put_aside(at, bytes) == 1);
  plant_seeds(given, into);
  CHECK(names_in(at.corpus).empty());
  CHECK(names_in(at.failing).size() == 1);

  const auto odd = assay::testing::corrupting_library([](assay::testing::call& c) {
    const tensor lse = c.view("lse");
    for (std::int64_t i = 0; i < lse.size(); ++i) static_cast<float*>(lse.data)[i] += 1;
  });
  readmit(given, *odd);
  CHECK(names_in(at.corpus).empty());
  readmit(given, *library::built_in());
  CHECK(names_in(at.corpus).size() == 1);
  CHECK(names_in(at.failing).empty());
}

}  // namespace
}  // namespace assay::campaign
