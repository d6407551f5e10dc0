#include "properties/suite/suite.hpp"
#include "properties/case/types.hpp"
#include "properties/data/difference.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <catch2/catch_test_macros.hpp>
#include <map>
#include <set>
#include <stdexcept>

#include "properties/relations/relations.hpp"
#include "properties/suite/report.hpp"
#include "properties/suite/sufficiency.hpp"
#include "properties/system/write_file.hpp"
#include "tests/properties/faulty_library.hpp"
#include "tests/properties/scratch.hpp"

namespace assay {
namespace {

std::vector<const property*> all_properties() {
  std::vector<const property*> all;
  for (const property& p : properties()) all.push_back(&p);
  return all;
}

suite_options options_for(std::int64_t cases) {
  suite_options options;
  options.kernels = {"split_kv"};
  for (const property* p : all_properties())
    if (can_be_checked(*p, options)) options.selected.push_back(p);
  options.cases = cases;
  options.seed = 7;
  options.budget = {.seconds = 5, .tries = 200};
  return options;
}

TEST_CASE("a case is a function of seed and number") {
  const suite_options options = options_for(100);
  suite_options other = options;
  other.seed = 8;
  int differ = 0;
  for (std::int64_t i = 0; i < 60; ++i) {
    CHECK(suite_case(options, i) == suite_case(options, i));
    differ += suite_case(options, i) == suite_case(other, i) ? 0 : 1;
  }
  CHECK(differ > 40);
}

TEST_CASE("every case of the suite is valid after its property adapted it") {
  const suite_options options = options_for(0);
  for (std::int64_t i = 0; i < 13 * 101; ++i) CHECK_NOTHROW(validate(suite_case(options, i)));
}

TEST_CASE("a run in waves of one size draws no others, whatever its properties adapt") {
  suite_options options = options_for(0);
  for (const std::int64_t waves : {32, 64}) {
    options.waves = waves;
    for (std::int64_t i = 0; i < static_cast<std::int64_t>(options.selected.size()) * 20; ++i)
      REQUIRE(suite_case(options, i).schedule.wave_size == waves);
  }
}

TEST_CASE("a run of a kernel draws its cases alone, for the properties that are about it") {
  suite_options options;
  options.kernels = {"batch_prefill", "no_such"};
  for (const property& p : properties())
    if (can_be_checked(p, options)) options.selected.push_back(&p);
  std::set<std::string> names;
  for (const property* p : options.selected) names.insert(p->name);
  CHECK(names == std::set<std::string>{
                     "output_enclosed",      "page_permutation", "page_sharing",      "pool_shift",
                     "table_tail",           "dead_memory",      "hidden_keys",       "other_sequences",
                     "wave_schedule",        "head_permutation", "v_scaling",         "nothing_else_written",
                     "bad_problem_rejected", "descale_exchange", "equal_descales",    "other_rows",
                     "row_strides",          "far_rows",         "planned_workspace", "another_problem_first"});
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(names.size()) * 101; ++i) {
    const attention_case c = suite_case(options, i);
    INFO(to_json(c));
    REQUIRE_NOTHROW(validate(c));
    REQUIRE(c.kernel == "batch_prefill");
    REQUIRE(c.q_type == c.kv_type);
    REQUIRE(c.num_splits <= 1);
    REQUIRE((c.window == 0 && c.bias_type == dtype::none && !c.sinks));
    if (c.kv_descale == descale_kind::per_page) REQUIRE(c.page_size % 64 == 0);
    const std::string property_name = suite_property(options, i).name;
    const bool needs_pages = property_name == "descale_exchange" || property_name == "equal_descales";
    if (needs_pages) REQUIRE(c.kv_descale == descale_kind::per_page);
  }
}

TEST_CASE("kernels share a run, and each property gets cases of every kernel that it is about") {
  suite_options options = options_for(0);
  options.kernels = kernels_of_the_space();
  options.selected = all_properties();
  std::map<std::string, std::set<std::string>> kernels;
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(options.selected.size()) * 40; ++i)
    kernels[suite_property(options, i).name].insert(suite_case(options, i).kernel);
  for (const property& p : properties())
    for (const std::string& kernel : options.kernels) CHECK(kernels[p.name].contains(kernel) == applies(p, kernel));
}

TEST_CASE("nothing is checked of a library whose kernels have no cases") {
  suite_options options = options_for(13);
  options.kernels = {"no_such"};
  options.selected = all_properties();
  const suite_result result = run_suite(*library::built_in(), options);
  CHECK(result.total.total() == 0);
  CHECK(exit_status(result) == 1);
}

TEST_CASE("faults at several lines are as many findings, which share the time for shrinking") {
  const auto lib = testing::faulty_library([](testing::call& c) -> assay_status {
    const std::string always = "always (a.py:1)", rarely = "rarely (a.py:2)";
    if (c.stated.causal != 0) throw std::runtime_error("alone (a.py:3)");
    throw std::runtime_error(c.stated.max_k > 40 ? always + "\n" + rarely : always);
  });
  suite_options options = options_for(26);
  options.budget = {.seconds = 6, .tries = 60};
  const testing::scratch scratch;
  options.findings = scratch.path();
  const suite_result result = run_suite(*lib, options);
  std::map<std::string, const finding*> found;
  std::int64_t alike = 0;
  for (const finding& f : result.findings) {
    found[f.shrunk.result.what] = &f;
    alike += f.alike;
  }
  REQUIRE(found.size() == 3);
  CHECK(alike == result.total.fail);
  REQUIRE(found.contains("rarely (a.py:2)"));
  const finding& rare = *found.at("rarely (a.py:2)");
  CHECK(rare.alike == 0);
  CHECK(rare.shrunk.smallest.sequences.front().k >= 41);
  CHECK(history_text(options, rare).find("seen beside others alone") != std::string::npos);
  CHECK(found.at("always (a.py:1)")->shrunk.smallest.sequences.front().k < 41);
}

TEST_CASE("the number of processes moves no count", "[long]") {
  suite_options options = options_for(39);
  const suite_result one = run_suite(*library::built_in(), options);
  options.jobs = 3;
  const suite_result three = run_suite(*library::built_in(), options);
  CHECK(one.table == three.table);
  CHECK(one.discards == three.discards);
  CHECK(one.total.total() == 39);
}

TEST_CASE("a run that another library's shard had time for has as many cases in that shard") {
  for (const std::int64_t shard : {1, 2, 3})
    for (const std::int64_t had : {0, 1, 7, 40, 41, 100}) {
      suite_options options = options_for(0);
      options.shards = 3;
      options.shard = shard;
      options.cases = cases_of_run(options, had);
      case_numbers numbers(options, case_numbers::clock::now());
      std::int64_t cases = 0, last = -1;
      while (const auto number = numbers.next()) ++cases, last = case_numbers::parse(*number);
      CHECK(cases == had);
      CHECK(options.cases == last + 1);
    }
}

TEST_CASE("the shards of a run are its disjoint parts", "[long]") {
  suite_options options = options_for(52);
  const suite_result whole = run_suite(*library::built_in(), options);
  suite_result sum;
  options.shards = 3;
  for (options.shard = 1; options.shard <= options.shards; ++options.shard) {
    const suite_result part = run_suite(*library::built_in(), options);
    for (const auto& [key, cell] : part.table) sum.table[key] += cell;
    sum.total += part.total;
  }
  CHECK(sum.table == whole.table);
  CHECK(sum.total == whole.total);
}

TEST_CASE("a run by time stops at its time") {
  suite_options options = options_for(0);
  options.seconds = 0.2;
  const suite_result result = run_suite(*library::built_in(), options);
  CHECK(result.total.total() > 0);
  CHECK(result.seconds < 30);
}

TEST_CASE("failures of one kind are one finding, shrunk, written whole and failing again") {
  const auto faulty = testing::corrupting_library([](testing::call& c) {
    const tensor lse = c.view("lse");
    for_each_index(lse,
                   [&](const std::vector<std::int64_t>& i) { static_cast<float*>(lse.data)[offset_of(lse, i)] += 1; });
  });
  const testing::scratch folder;
  suite_options options = options_for(13);
  options.findings = folder.path();
  options.selected = {&enclosure_property()};
  const suite_result result = run_suite(*faulty, options);
  CHECK(exit_status(result) == 1);
  REQUIRE(result.findings.size() == 1);
  const finding& f = result.findings.front();
  CHECK(f.alike == result.total.fail);
  CHECK(f.shrunk.result.origin == "enclosure");
  const attention_case kept = from_json(read_file(f.file), f.file.string());
  CHECK(kept == f.shrunk.smallest);
  CHECK(kept.why.starts_with("output_enclosed: "));
  CHECK(kept.sequences.size() == 1);
  CHECK(run_case(*faulty, kept).result == outcome::fail);
  CHECK(run_case(*library::built_in(), kept).result == outcome::pass);
  for (const auto& entry : std::filesystem::directory_iterator(options.findings))
    CHECK(entry.path().extension() == ".json");

  options.origins = {"memory"};  // other failures are not reported, but counted: the run is not verified
  const suite_result unreported = run_suite(*faulty, options);
  CHECK(unreported.findings.empty());
  CHECK(unreported.total.fail == result.total.fail);
  CHECK(exit_status(unreported) == 1);
}

TEST_CASE("a finding that cannot be written is in the report, whole") {
  const auto faulty = testing::corrupting_library([](testing::call& c) {
    if (c.view("lse").size() > 0) set_bits(c.view("lse"), 0, 0x7F7FFFFF);
  });
  const testing::scratch folder;
  write_by_rename(folder.path() / "file", "");
  suite_options options = options_for(8);
  options.selected = {&enclosure_property()};
  options.findings = folder.path() / "file" / "findings";
  const suite_result result = run_suite(*faulty, options);
  CHECK(exit_status(result) == 1);
  REQUIRE(result.findings.size() == 1);
  CHECK(result.findings.front().file.empty());
  REQUIRE_FALSE(result.unwritten.empty());
  const std::string text = report_text(options, result);
  CHECK(text.find("DEFECT") != std::string::npos);
  CHECK(text.find(to_json(result.findings.front().shrunk.smallest)) != std::string::npos);
  CHECK(text.find(result.unwritten.front()) != std::string::npos);
  CHECK(text.find("assay replay") == std::string::npos);
}

TEST_CASE("running out of memory costs no failure that was found before") {
  int runs = 0;  // of one process
  const auto faulty = testing::faulty_library([&](testing::call& c) {
    if (++runs > 3) throw std::bad_alloc();
    const assay_status status = c.run();
    if (c.view("lse").size() > 0) set_bits(c.view("lse"), 0, 0x7F7FFFFF);
    return status;
  });
  const testing::scratch folder;
  suite_options options = options_for(8);
  options.jobs = 1;
  options.selected = {&enclosure_property()};
  options.findings = folder.path();
  rlimit before{};
  REQUIRE(getrlimit(RLIMIT_AS, &before) == 0);
  rlimit limited = before;
  limited.rlim_cur = RLIM_INFINITY - 1;  // a limit, but none that a sanitizer meets
  REQUIRE(setrlimit(RLIMIT_AS, &limited) == 0);
  const suite_result result = run_suite(*faulty, options);
  setrlimit(RLIMIT_AS, &before);
  CHECK(exit_status(result) == 1);
  CHECK(result.total.fail > 0);
  REQUIRE(result.findings.size() == 1);
  CHECK(result.findings.front().origin == "enclosure");
  CHECK_FALSE(result.findings.front().file.empty());
  REQUIRE_FALSE(result.unwritten.empty());
  CHECK(result.unwritten.front().find("needs more memory") != std::string::npos);
}

TEST_CASE("a run can stop at its first failure", "[long]") {
  const auto faulty = testing::corrupting_library([](testing::call& c) {
    if (c.stated.heads_q > 1 && c.view("o").size() > 0) set_bits(c.view("o"), 0, 0x7BFF);
  });
  const testing::scratch folder;
  suite_options options = options_for(200);
  options.findings = folder.path();
  options.selected = {&enclosure_property()};
  options.budget.seconds = 0;
  options.jobs = 1;
  const suite_result whole = run_suite(*faulty, options);
  REQUIRE(whole.findings.size() == 1);
  options.stops_at_failure = true;
  const suite_result result = run_suite(*faulty, options);
  REQUIRE(result.findings.size() == 1);
  CHECK(result.findings[0].index == whole.findings[0].index);
  CHECK(result.total.fail == 1);
  CHECK(result.total.total() == whole.findings[0].index + 1);
  CHECK(exit_status(result) == 1);
}

TEST_CASE("the first undecided cases are kept, and the report says how to replay them", "[long]") {
  const auto shifting = testing::declaring_library([](contract& c) { c.p_shift = 4; });  // which knows of no sinks
  const testing::scratch folder;
  suite_options options = options_for(60);
  options.findings = folder.path();
  options.selected = {&enclosure_property()};
  const suite_result result = run_suite(*shifting, options);
  REQUIRE(result.total.undecided > static_cast<std::int64_t>(most_undecided_cases));
  REQUIRE(result.undecided.size() == most_undecided_cases);
  const undecided_case& u = result.undecided.front();
  const attention_case kept = from_json(read_file(u.file), u.file.string());
  CHECK(run_case(*shifting, kept).result == outcome::undecided);
  const std::string text = report_text(options, result);
  INFO(text);
  CHECK(text.find("undecided:\n  case ") != std::string::npos);
  CHECK(text.find("./assay replay " + u.file.string() + " --property output_enclosed\n") != std::string::npos);
  CHECK(text.find(" more\n") != std::string::npos);
}

TEST_CASE("a failure that the enclosure shows is reported as the enclosure's") {
  const auto faulty = testing::corrupting_library([](testing::call& c) { set_bits(c.view("o"), 0, 0x7BFF); });
  const testing::scratch folder;
  suite_options options = options_for(4);
  options.findings = folder.path();
  options.selected = {&relations::page_permutation};
  const suite_result result = run_suite(*faulty, options);
  REQUIRE(result.findings.size() == 1);
  CHECK(result.findings[0].met_by == &relations::page_permutation);
  CHECK(result.findings[0].broken == &enclosure_property());
  CHECK(finding_text(options, result.findings[0]).starts_with("FAIL output_enclosed: "));
  // Its property's row has it.
  CHECK(report_junit(options, result).find("FAIL output_enclosed: ") != std::string::npos);
}

TEST_CASE("a failure that does not come again is reported with what was seen") {
  const testing::scratch folder;
  const std::filesystem::path been_here = folder.path() / "been_here";
  const auto faulty = testing::corrupting_library([&](testing::call& c) {
    if (!std::filesystem::exists(been_here)) set_bits(c.view("o"), 0, 0x7BFF);
    write_by_rename(been_here, "");
  });
  suite_options options = options_for(1);
  options.findings = folder.path();
  options.selected = {&relations::output_enclosed};
  const suite_result result = run_suite(*faulty, options);
  REQUIRE(result.findings.size() == 1);
  CHECK_FALSE(result.findings[0].shrunk.reproduced);
  CHECK(result.findings[0].what.starts_with("o[0, 0, 0] = "));
  CHECK(result.findings[0].shrunk.smallest.why.find(" lies outside ") != std::string::npos);
  CHECK(exit_status(result) == 1);
}

TEST_CASE("a case that kills its process is a finding, and the run goes on") {
  const auto faulty = testing::faulty_library([](testing::call& c) {
    if (c.stated.causal != 0) std::abort();
    return c.run();
  });
  const testing::scratch folder;
  suite_options options = options_for(26);
  options.findings = folder.path();
  options.selected = {&enclosure_property()};
  options.jobs = 2;
  const suite_result result = run_suite(*faulty, options);
  CHECK(result.total.total() == 26);
  CHECK(result.total.pass > 0);
  REQUIRE(result.findings.size() == 1);
  CHECK(result.findings[0].shrunk.result.origin == "crash");
  CHECK(result.findings[0].shrunk.result.what.find("killed by signal 6") != std::string::npos);
  CHECK(result.findings[0].shrunk.smallest.causal);
}

TEST_CASE("a case that hangs is a finding") {
  const auto faulty = testing::faulty_library([](testing::call&) -> assay_status {
    for (;;) pause();
  });
  const testing::scratch folder;
  suite_options options = options_for(1);
  options.findings = folder.path();
  options.limit_seconds = 0.2;
  options.budget.tries = 1;
  const suite_result result = run_suite(*faulty, options);
  REQUIRE(result.findings.size() == 1);
  CHECK(result.findings[0].shrunk.result.origin == "hang");
}

TEST_CASE("a library that refuses everything is not verified") {
  const suite_result result = run_suite(*testing::refusing_library(ASSAY_UNSUPPORTED), options_for(13));
  CHECK(result.total.discard == 13);
  CHECK(result.discards.at("unsupported: planted refusal") == 13);
  CHECK(exit_status(result) == 1);
}

TEST_CASE("discards and undecided cases count as a failure above their share only") {
  suite_result result;
  result.total = {.pass = 95, .fail = 0, .discard = 5, .undecided = 0};
  CHECK(exit_status(result) == 0);
  result.total = {.pass = 94, .fail = 0, .discard = 6, .undecided = 0};
  CHECK(exit_status(result) == 1);
  result.total = {.pass = 95, .fail = 0, .discard = 0, .undecided = 5};
  CHECK(exit_status(result) == 0);
  result.total = {.pass = 94, .fail = 0, .discard = 0, .undecided = 6};
  CHECK(exit_status(result) == 1);
  CHECK(shortfall(result) == "6 of 100 cases were undecided, more than 5%");
  result.total = {.pass = 9, .fail = 0, .discard = 0, .undecided = 1};
  CHECK(exit_status(result) == 0);
}

TEST_CASE("a run in which nothing ran or nothing passed is not verified") {
  suite_options options = options_for(5);
  options.shard = options.shards = 3;
  const suite_result empty = run_suite(*library::built_in(), options);
  CHECK(empty.total.total() == 0);
  CHECK(exit_status(empty) == 1);
  suite_result result;
  result.total = {.pass = 0, .fail = 0, .discard = 0, .undecided = 1};
  CHECK(exit_status(result) == 1);
}

TEST_CASE("a run of some types draws only these, and the types that can be named are those of the space") {
  suite_options options = options_for(600);
  options.kernels = kernels_of_the_space();
  std::set<std::string> drawn;
  for (std::int64_t i = 0; i < options.cases; ++i) drawn.insert(types_of(suite_case(options, i)));
  const std::vector<std::string> named = types_of_the_space();
  CHECK(drawn == std::set<std::string>(named.begin(), named.end()));
  options.types = {"e4m3fnuz:bf16"};
  for (std::int64_t i = 0; i < 60; ++i)
    if (can_be_checked(suite_property(options, i), options)) CHECK(types_of(suite_case(options, i)) == "e4m3fnuz:bf16");
  options.types = {"bf16/e4m3fn"};
  for (std::int64_t i = 0; i < 60; ++i) CHECK(types_of(suite_case(options, i)) == "bf16/e4m3fn");
}

TEST_CASE("a run without FP8 leaves descales per page out, and says so") {
  suite_options options;
  options.kernels = {"batch_prefill"};
  options.types = {"bf16"};
  for (const property& p : properties()) {
    if (can_be_checked(p, options)) options.selected.push_back(&p);
    options.left_out.push_back(&p);
  }
  const auto is_dealt = [&](const char* name) {
    return std::ranges::any_of(options.selected, [&](const property* p) { return p->name == std::string(name); });
  };
  CHECK_FALSE(is_dealt("descale_exchange"));
  CHECK_FALSE(is_dealt("equal_descales"));
  CHECK(is_dealt("v_scaling"));
  const std::vector<std::string> lines = left_out_lines(options);
  CHECK(std::ranges::count(lines, "batch_prefill: descale_exchange (the kernel takes no descales per page)") == 1);
  for (std::int64_t i = 0; i < 200; ++i) CHECK(types_of(suite_case(options, i)) == "bf16");
  options.types = {"bf16", "e4m3fn:f16"};
  for (const property& p : properties())
    if (p.name == std::string("descale_exchange")) CHECK(can_be_checked(p, options));
}

}  // namespace
}  // namespace assay
