#include "properties/campaign/fuzzer_log.hpp"

#include <catch2/catch_test_macros.hpp>

namespace assay::campaign {
namespace {

fuzzer_log read(std::initializer_list<const char*> lines) {
  fuzzer_log log;
  for (const char* line : lines) read_line(log, line);
  return log;
}

TEST_CASE("status lines of libFuzzer give executions, edges, features and corpus entries") {
  const fuzzer_log before = read({"INFO: seed corpus: files: 3", "#4\tpulse  cov: 10 ft: 12 exec/s: 2 rss: 32Mb"});
  CHECK_FALSE(before.loaded);
  const fuzzer_log log =
      read({"#4\tINITED cov: 10 ft: 12 corp: 3/30b exec/s: 0 rss: 32Mb",
            "#4096\tNEW    cov: 110 ft: 1112 corp: 13/36b lim: 43 exec/s: 2048 rss: 32Mb L: 4/8 MS: 1 "
            "ChangeBit-"});
  CHECK(log.loaded);
  CHECK(log.executions == 4096);
  CHECK(log.coverage == 110);
  CHECK(log.features == 1112);
  CHECK(log.corpus == 13);
  CHECK_FALSE(log.complaint);
}

TEST_CASE("the final statistics win over the last status line") {
  CHECK(read({"#8\tpulse cov: 1 ft: 2 corp: 1/1b", "stat::number_of_executed_units: 15"}).executions == 15);
}

TEST_CASE("the target's words win over the sanitizer's, and these over nothing") {
  const char* own = "assay finding: enclosure: o[0] = 1 lies outside: by far";
  const char* summary = "SUMMARY: AddressSanitizer: heap-buffer-overflow x.cpp:3:5 in f";
  CHECK(read({own, summary}).complaint == complaint{"enclosure", "o[0] = 1 lies outside: by far"});
  CHECK(read({summary}).complaint == complaint{"AddressSanitizer", "heap-buffer-overflow x.cpp:3:5 in f"});
}

TEST_CASE("libFuzzer's own summaries have origins of their own") {
  CHECK(read({"SUMMARY: libFuzzer: timeout"}).complaint->origin == "hang");
  CHECK(read({"SUMMARY: libFuzzer: out-of-memory"}).complaint->origin == "out of memory");
  CHECK(read({"SUMMARY: libFuzzer: deadly signal"}).complaint->origin == "crash");
}

TEST_CASE("what the target says of a failing input ends where the engine speaks") {
  const fuzzer_log log =
      read({"assay finding: oracle: o[0]", "{", "  \"k\": 3", "}", "==7== ERROR: libFuzzer: deadly signal",
            "    #0 0x1 in main", "SUMMARY: libFuzzer: deadly signal"});
  CHECK(log.input == "{\n  \"k\": 3\n}\n");
  CHECK(log.complaint->origin == "oracle");
}

TEST_CASE("the last line is kept for processes that do not get far") {
  CHECK(read({"x.so: no such file", ""}).last_line == "x.so: no such file");
}

}  // namespace
}  // namespace assay::campaign
