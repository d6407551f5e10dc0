/// Defects that a file accepts by name count as none, are counted, and no others are.
#include "properties/run/accepted_defects.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <string>

#include "properties/case/case.hpp"
#include "properties/relations/relations.hpp"
#include "properties/suite/minimize.hpp"
#include "tests/properties/faulty_library.hpp"

namespace assay {
namespace {

assay_defect race(const char* message) {
  return {ASSAY_DATA_RACE, "split_kv", message, {0, 0, 0}, 0, 0};
}

std::string refusal_of(const std::string& text) {
  try {
    accepted_defects parsed(text, "known.txt");
    return "none";
  } catch (const case_error& e) {
    return e.what();
  }
}

constexpr const char* message = "race on o[0]: store of 4 bytes (paging.hpp:68, from a.hpp:120) by thread 1";

}  // namespace

TEST_CASE("a defect is accepted by its kind and a place that its message names as a whole") {
  accepted_defects known("# comment\n\ndata-race paging.hpp:68 all store the same\n", "known.txt");
  CHECK_FALSE(known.empty());
  CHECK(known.accepts(race(message)));
  CHECK(known.accepts(
      race("race on memory of hipMalloc (h.cpp:3)[0]: store of 1 byte (a.hpp:1, from paging.hpp:68) by")));
  for (const char* other :
       {"race on o[0]: store of 4 bytes (paging.hpp:680)", "race on o[0]: store of 4 bytes (mypaging.hpp:68)",
        "race on o[0]: store of 4 bytes (paging.hpp:6)", "", "race on o[0]: store of 4 bytes (",
        // The other side, and the memory, are not the access.
        "race on o[0]: load of 4 bytes (b.hpp:1) by thread 1 and store by thread 2 (paging.hpp:68), with",
        "race on memory of hipMalloc (paging.hpp:68)[0]: store of 4 bytes (b.hpp:1) by thread 1"})
    CHECK_FALSE(known.accepts(race(other)));
  assay_defect unwritten = race(message);
  unwritten.kind = ASSAY_UNWRITTEN_READ;
  CHECK_FALSE(known.accepts(unwritten));
  CHECK(known.take_counts() == std::map<std::string, std::int64_t>{{"data-race paging.hpp:68 all store the same", 2}});
  CHECK(known.take_counts() == std::map<std::string, std::int64_t>{{"data-race paging.hpp:68 all store the same", 0}});
}

TEST_CASE("a line that names no kind, place or reason is refused with its number") {
  using Catch::Matchers::StartsWith;
  CHECK(refusal_of("data-race paging.hpp:68 why\n") == "none");
  CHECK_THAT(refusal_of("\nraces paging.hpp:68 why"), StartsWith("known.txt:2: no kind 'races' can be accepted"));
  CHECK_THAT(refusal_of("wild-access paging.hpp:68 why"), StartsWith("known.txt:1: no kind"));
  for (const char* place : {"", "paging.hpp", "paging.hpp:", ":68", "paging.hpp:6x", "kernels/paging.hpp:68"})
    CHECK_THAT(refusal_of(std::string("data-race ") + place + " why"), StartsWith("known.txt:1: after the kind comes"));
  CHECK(refusal_of("data-race paging.hpp:68") == "known.txt:1: it has no reason");
}

TEST_CASE("a case passes with an accepted defect, which is counted, and fails with another") {
  const auto lib = testing::faulty_library([](testing::call& c) -> assay_status {
    const assay_status status = c.run();
    const assay_defect defect = race(message);
    if (c.launch.accepts != nullptr && c.launch.accepts(c.launch.context, &defect) != 0) return status;
    c.launch.on_defect(c.launch.context, &defect);
    return {ASSAY_FAILED, "the launch ended with a defect"};
  });
  const attention_case c = testing::small_case();
  const verdict unknown = check_property(*lib, relations::output_enclosed, c);
  CHECK(unknown.result == outcome::fail);
  CHECK(unknown.origin == "data race");
  CHECK(unknown.accepted.empty());
  lib->checks.accepted = std::make_shared<accepted_defects>("data-race a.hpp:120 known", "known.txt");
  const verdict known = check_property(*lib, relations::output_enclosed, c);
  INFO(known.what);
  CHECK(known.result == outcome::pass);
  CHECK(known.accepted == std::map<std::string, std::int64_t>{{"data-race a.hpp:120 known", 1}});
  lib->checks.accepted = std::make_shared<accepted_defects>("data-race a.hpp:12 another", "known.txt");
  CHECK(check_property(*lib, relations::output_enclosed, c).result == outcome::fail);
}

}  // namespace assay
