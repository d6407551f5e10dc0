#include "properties/system/guarded_memory.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <catch2/catch_test_macros.hpp>
#include <cstring>
#include <fstream>
#include <new>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "properties/system/worker.hpp"

namespace assay {
namespace {

constexpr std::int64_t mib = std::int64_t{1} << 20;

guarded_memory filled(std::int64_t bytes) {
  guarded_memory made(bytes);
  std::memset(made.body(), 1, static_cast<std::size_t>(bytes));
  return made;
}

/// What the process has in memory.
std::int64_t resident_mib() {
  std::ifstream statm("/proc/self/statm");
  std::int64_t all = 0, resident = 0;
  statm >> all >> resident;
  return resident * os_page_bytes() / mib;
}

std::string numbers_of(const std::vector<std::int64_t>& numbers) {
  std::string text;
  for (const std::int64_t n : numbers) text += std::to_string(n) + " ";
  return text;
}

TEST_CASE("memory that was given back is the next owner's, be it large", "[memory]") {
  isolated child(
      [](const std::string&) {
        const guarded_memory other = filled(1);
        const std::byte* first = filled(40 * mib).body();
        const std::byte* second = filled(40 * mib).body();
        return std::string(first == second ? "same" : "another");
      },
      60);
  CHECK(child.ask("").reply == "same");
}

TEST_CASE("a smaller owner has the end of what waits, and nothing before it", "[memory]") {
  isolated child(
      [](const std::string&) {
        const std::int64_t page = os_page_bytes();
        const guarded_memory other = filled(1);
        const std::byte* const end = [&] {
          const guarded_memory all = filled(8000 * page);  // no other test's
          return all.body() + all.body_bytes();
        }();
        const auto is_refused = [](const std::byte* at) {  // by the system, which reads it
          return write(memfd_create("", 0), at, 1) < 0;
        };
        std::string text;
        for (const std::int64_t pages : {7970, 7950, 8000, 7900}) {  // more than 256 KiB would be unused
          const guarded_memory part(pages * page);
          const bool has_waited = *part.body() == std::byte{1};  // fresh memory is 0
          const bool is_end = part.body() + part.body_bytes() == end;
          const bool ends_refused = is_refused(part.body() - 1) && is_refused(part.body() + pages * page);
          text += fmt::format("{}{}{} ", has_waited ? "waited" : "fresh", !has_waited || is_end ? "" : ", not the end",
                              ends_refused ? "" : ", open");
        }
        return text;
      },
      60);
  const work_result found = child.ask("");
  REQUIRE(found.reply.has_value());
  CHECK(*found.reply == "waited waited waited fresh ");
}

TEST_CASE("memory that waits adds little to what owners held at once", "[memory]") {
  isolated child(
      [](const std::string&) {
        std::vector<std::int64_t> grown;
        const std::int64_t before = resident_mib();
        auto other = std::make_optional<guarded_memory>(filled(1));
        {
          std::vector<guarded_memory> all;
          all.reserve(5);
          for (int i = 0; i < 5; ++i) all.push_back(filled((20 + i) * mib));  // 110 MiB
        }
        grown.push_back(resident_mib() - before);
        auto large = std::make_optional<guarded_memory>(filled(100 * mib));
        grown.push_back(resident_mib() - before);
        {
          const guarded_memory larger = filled(50 * mib);  // 150 MiB with the one before
          grown.push_back(resident_mib() - before);
        }
        std::vector<guarded_memory> all;
        all.reserve(45);
        for (int i = 0; i < 45; ++i) all.push_back(filled(mib + i * os_page_bytes()));
        grown.push_back(resident_mib() - before);
        all.clear();
        large.reset();
        other.reset();
        grown.push_back(resident_mib() - before);  // nothing is owned
        return numbers_of(grown);
      },
      60);
  const work_result grown = child.ask("");
  REQUIRE(grown.reply.has_value());
  CAPTURE(*grown.reply);
  std::istringstream numbers(*grown.reply);
  constexpr std::int64_t extra = 16 + 8;  // 8 for what else a process takes
  for (const std::int64_t most : {110, 110, 150, 150}) {
    std::int64_t now = 0;
    numbers >> now;
    CHECK(now >= 90);  // it was measured
    CHECK(now <= most + extra);
  }
  std::int64_t in_the_end = 0;
  numbers >> in_the_end;
  CHECK(in_the_end <= extra);
}

TEST_CASE("memory that waits makes room where the system has no more", "[memory]") {
  isolated child(
      [](const std::string&) {
        const guarded_memory other = filled(1);
        {
          const guarded_memory first = filled(300 * mib);
        }
        // As much address space as there is, and 100 MiB: 310 MiB fit only where the 300 were.
        std::ifstream statm("/proc/self/statm");
        std::int64_t pages = 0;
        statm >> pages;
        rlimit limited{};
        getrlimit(RLIMIT_AS, &limited);
        limited.rlim_cur = static_cast<rlim_t>(pages * os_page_bytes() + 100 * mib);
        setrlimit(RLIMIT_AS, &limited);
        try {
          const guarded_memory next = filled(310 * mib);
        } catch (const std::bad_alloc&) {
          return std::string("none");
        }
        return std::string("made");
      },
      60);
  CHECK(child.ask("").reply == "made");
}

}  // namespace
}  // namespace assay
