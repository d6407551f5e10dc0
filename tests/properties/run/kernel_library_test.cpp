#include <catch2/catch_test_macros.hpp>
#include <filesystem>

#include "properties/data/difference.hpp"
#include "properties/data/inputs.hpp"
#include "properties/run/execution.hpp"
#include "properties/run/kernel_library.hpp"
#include "properties/system/errors.hpp"
#include "tests/properties/faulty_library.hpp"

namespace assay {
namespace {

assay_library table_of(const assay_kernel* kernels, std::int32_t count) {
  return ASSAY_LIBRARY("cpu", kernels, count);
}

TEST_CASE("the built-in library has its kernels by name") {
  const auto lib = library::built_in();
  CHECK(std::string(lib->platform()) == "cpu");
  REQUIRE(lib->find("split_kv") != nullptr);
  CHECK(lib->find("no_such_kernel") == nullptr);
  CHECK_FALSE(lib->kernels().empty());
}

TEST_CASE("a table that this program cannot use is refused") {
  const assay_kernel good = *library::built_in()->find("split_kv");
  const auto refuses = [](const assay_library& table) {
    try {
      library lib(&table, "x.so");
      return false;
    } catch (const environment_error& e) {
      return std::string(e.what()).starts_with("x.so: ");
    }
  };
  CHECK_FALSE(refuses(table_of(&good, 1)));
  assay_library table = table_of(&good, 1);
  for (std::int32_t assay_library::* const size :
       {&assay_library::size_bytes, &assay_library::problem_bytes, &assay_library::contract_bytes,
        &assay_library::launch_bytes, &assay_library::tensor_bytes, &assay_library::kernel_bytes}) {
    table = table_of(&good, 1);
    table.*size += 8;
    CHECK(refuses(table));
    table.*size = 1;
    CHECK(refuses(table));
  }
  table = table_of(&good, 1);
  table.platform = nullptr;
  CHECK(refuses(table));
  assay_kernel nameless = good;
  nameless.name = nullptr;
  CHECK(refuses(table_of(&nameless, 1)));
  assay_kernel runless = good;
  runless.run = nullptr;
  CHECK(refuses(table_of(&runless, 1)));
  CHECK(refuses(table_of(nullptr, 1)));
  const std::string endless(1000, 'x');
  for (const char* name : {"", "two\nlines", "\x1B[2J", "\xC3\xA9", "a b", endless.c_str()}) {
    assay_kernel named = good;
    named.name = name;
    CHECK(refuses(table_of(&named, 1)));
    table = table_of(&good, 1);
    table.platform = name;
    CHECK(refuses(table));
  }
  CHECK_THROWS_AS(library(nullptr, "x.so"), environment_error);
}

TEST_CASE("a shared object with the built-in kernels gives the same bits") {
  const std::string path = ASSAY_BINARY_DIR "/lib/assay_kernels_cpu.so";
  if (!std::filesystem::exists(path)) SKIP("assay_kernels_cpu.so is not built");
  const auto lib = library::load(path);
  CHECK(lib->path() == path);
  CHECK(lib->supports_generated);
  inputs in = fill(testing::small_case());
  const execution one = execute(*library::built_in(), testing::small_case(), in);
  const execution two = execute(*lib, testing::small_case(), in);
  REQUIRE(two.status.code == ASSAY_OK);
  CHECK_FALSE(first_difference(one.written, two.written).has_value());
}

TEST_CASE("the unchecked twin runs what nothing checks, and nothing else, with the same bits") {
  if (!std::filesystem::exists(ASSAY_BINARY_DIR "/lib/assay_kernels_cpu_unchecked.so")) SKIP("the twin is not built");
  const auto run = [](const library& lib, bool checks_accesses) {
    inputs in = fill(testing::small_case());
    return execute(lib, testing::small_case(), in, {.checks_accesses = checks_accesses});
  };
  const auto changes_o = testing::corrupting_library([](testing::call& c) { set_bits(c.view("o"), 5, 0x7E00); });
  const auto one = std::make_shared<library>(assay_library_v1(), "one");
  const execution plain = run(*one, false);
  one->unchecked_twin = changes_o;
  CHECK_FALSE(first_difference(plain.written, run(*one, true).written).has_value());
  CHECK(first_difference(plain.written, run(*one, false).written).has_value());
  one->unchecked_twin = library::built_in_unchecked();
  const execution twins = run(*one, false);
  REQUIRE(twins.status.code == ASSAY_OK);
  CHECK(twins.accesses_checked == 0);
  CHECK_FALSE(first_difference(plain.written, twins.written).has_value());
}

}  // namespace
}  // namespace assay
