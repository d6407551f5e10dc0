#include "tests/properties/campaign/fake_target.hpp"

#include <unistd.h>

#include <algorithm>

#include "properties/system/write_file.hpp"

namespace assay::campaign::testing {
namespace {

namespace fs = std::filesystem;

/// Options as libFuzzer takes them ("max_total_time" is how it is known to be one). With a file it runs that; else it
/// runs the corpus, then what it "finds", each once. An input that fails is written where artifacts go.
constexpr const char* script = R"script(#!/bin/bash
here=$(dirname "$0")
if [[ -n $ASSAY_FUZZ_SEEDS ]]; then
  for file in "$@"; do
    if grep -q BAD "$file"; then echo "$file: is no case" >&2; exit 2; fi
    if grep -q CRASH "$file"; then kill -9 $$; fi
    if grep -q HANG "$file"; then printf cut >"$ASSAY_FUZZ_SEEDS/seed-0.7.part"; exec sleep 100; fi
    if ! grep -q FOREIGN "$file"; then cp "$file" "$ASSAY_FUZZ_SEEDS/seed-$(cksum <"$file" | cut -d' ' -f1)"; fi
  done
  exit
fi
echo "$ASSAY_FUZZ_CHECKS" >>"$here/checks"
for argument in "$@"; do
  case $argument in
    -artifact_prefix=*) prefix=${argument#*=} ;;
    -max_total_time=*) seconds=${argument#*=} ;;
    -*) ;;
    *) input=$argument ;;
  esac
done
run() { # FILE
  if grep -q HANG "$1"; then sleep 100; fi
  if grep -q LOST "$1"; then
    if grep -q WHY "$1"; then echo "assay finding: planted: $(grep -o 'of kind [a-z]*' "$1") in byte 17"; fi
    kill -9 $$
  fi
  summary=
  if grep -q CRASH "$1"; then summary='deadly signal'; fi
  if [[ -n $prefix ]] && grep -q SLOW "$1"; then summary='timeout after 1 seconds'; fi
  if [[ -n $summary ]]; then
    echo "SUMMARY: libFuzzer: $summary"
  elif grep -q FLAKY "$1"; then
    if [[ -e $here/failed_before ]]; then rm "$here/failed_before"; return; fi
    touch "$here/failed_before"
  elif ! grep -q BAD "$1"; then
    return
  fi
  if [[ -z $summary ]]; then echo "assay finding: planted: $(grep -o 'of kind [a-z]*' "$1") in byte 17"; fi
  if [[ -n $prefix ]]; then cp "$1" "${prefix}crash-$(basename "$1")"; fi
  exit 77
}
if [[ -f $input ]]; then run "$input"; exit 0; fi
count=0
for file in "$input"*; do
  [[ -f $file ]] || continue
  run "$file"
  count=$((count + 1))
done
echo "#$count INITED cov: 5 ft: 7 corp: $count/9b exec/s: 0 rss: 9Mb"
for file in "$here"/find/*; do
  [[ -f $file ]] || continue
  mv "$file" "$here/found"
  run "$here/found/$(basename "$file")"
done
echo "stat::number_of_executed_units: $((count + 100))"
echo "planted_counter 3" >>"$ASSAY_FUZZ_COUNTERS"
if [[ -e $here/counts ]]; then cat "$here/counts" >>"$ASSAY_FUZZ_COUNTERS"; fi
sleep "$seconds"
)script";

}  // namespace

fake_target::fake_target() : root_(fs::temp_directory_path() / ("assay_campaign_test." + std::to_string(getpid()))) {
  fs::remove_all(root_);
  fs::create_directories(root_ / "find");
  fs::create_directories(root_ / "found");
  write_by_rename(root_ / "target", script);
  fs::permissions(root_ / "target", fs::perms::owner_all);
}

fake_target::~fake_target() {
  fs::remove_all(root_);
}

options fake_target::given(const std::string& kernel) const {
  options o;
  o.fuzzed = {"fuzz_fake", kernel, root_ / "target"};
  // Each input to be found takes processes of its own, and a machine may be busy.
  o.seconds = 2 + 2.0 * static_cast<double>(names_in(root_ / "find").size());
  o.limit_seconds = 5;
  o.folder = root_ / "state";
  return o;
}

void fake_target::will_count(const std::string& lines) const {
  write_by_rename(root_ / "counts", lines);
}

void fake_target::will_find(const std::string& name, const std::string& bytes) const {
  write_by_rename(root_ / "find" / name, bytes);
}

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.push_back(entry.path().filename().string());
  std::ranges::sort(names);
  return names;
}

}  // namespace assay::campaign::testing
