#include "properties/suite/sufficiency.hpp"

#include <catch2/catch_test_macros.hpp>

#include "properties/suite/minimize.hpp"
#include "properties/suite/report.hpp"
#include "tests/properties/faulty_library.hpp"

namespace assay {
namespace {

/// Plain cases of one kernel in f16.
suite_options options_for(std::int64_t cases) {
  suite_options options;
  options.kernels = {"split_kv"};
  options.types = {"f16"};
  options.selected = {&enclosure_property()};
  options.cases = cases;
  options.jobs = 2;
  return options;
}

suite_result run_with_teeth(library& lib, const suite_options& options) {
  lib.measures_teeth = true;
  suite_result result = run_suite(lib, options);
  lib.measures_teeth = false;
  return result;
}

/// As coarse as a contract may be: accumulators of 10 bits over 1024 products, elementary functions of 10 bits.
void loosen(contract& c) {
  c.qk = c.pv = {1024, 10, 1025.0F, 0x1p-10F, 0x1p-14F};
  c.p_flush = 0x1p-14F;
  c.constant_roundings = c.sum_roundings = c.normalise_roundings = 256;
  c.exp2_relative_error = c.log_absolute_error = c.log_relative_error = c.tanh_relative_error = 0x1p-10F;
}

TEST_CASE("a run of the clean kernels sees nearly all standard faults, and is verified", "[long]") {
  const suite_options options = options_for(150);
  const suite_result result = run_with_teeth(*library::built_in(), options);
  INFO(report_text(options, result));
  CHECK(exit_status(options, result) == 0);
  CHECK(missing_teeth(options, result).empty());
  for (const auto& [key, b] : result.teeth) {
    CAPTURE(std::get<2>(key), b.seen, b.asked);
    if (b.asked >= 20) CHECK(static_cast<double>(b.seen) > 0.75 * static_cast<double>(b.asked));
  }
}

TEST_CASE("a run with the loosest contract has no defect, is not verified, and says what it would miss", "[long]") {
  const auto loose = testing::declaring_library(loosen);
  suite_options options = options_for(150);
  options.seed = 2;
  const suite_result result = run_with_teeth(*loose, options);
  const std::string text = report_text(options, result);
  INFO(text);
  CHECK(result.total.fail == 0);
  CHECK(exit_status(options, result) == 1);
  CHECK(shortfall(options, result) == "too blunt: the run would miss standard faults");
  const std::vector<std::string> missed = missing_teeth(options, result);
  REQUIRE(missed.size() == 1);
  CHECK(missed[0].starts_with("split_kv: would miss "));
  for (const char* fault : {"output_truncated", "p_truncated", "split_misweighed"})
    CHECK(missed[0].find(fault) != std::string::npos);
  CHECK(text.find("NOT VERIFIED: too blunt") != std::string::npos);

  options.accept_blunt = true;
  CHECK(exit_status(options, result) == 0);
  CHECK(report_text(options, result).find("accepted, however blunt: ") != std::string::npos);
}

TEST_CASE("a contract without an order is verified as that, and says what it would miss", "[long]") {
  const auto open = testing::declaring_library([](contract& c) { c.order = tile_order::any; });
  suite_options options = options_for(250);
  options.seed = 3;
  const suite_result result = run_with_teeth(*open, options);
  const std::string text = report_text(options, result);
  INFO(text);
  CHECK(exit_status(options, result) == 0);
  CHECK(text.find("verified (order-free): 250 cases, no defect") != std::string::npos);
  const std::vector<std::string> teeth = order_free_teeth(options, result);
  REQUIRE(teeth.size() == 1);
  CHECK(teeth[0].starts_with("split_kv without an order: would have seen key_dropped, "));
  CHECK(teeth[0].find("would miss ") < teeth[0].find("p_truncated"));

  // A blunter one than orders explain is not.
  const auto loose = testing::declaring_library([](contract& c) {
    loosen(c);
    c.order = tile_order::any;
  });
  const suite_result blunt = run_with_teeth(*loose, options);
  INFO(report_text(options, blunt));
  CHECK(exit_status(options, blunt) == 1);
}

TEST_CASE("one case is too little, whatever it is") {
  const suite_options options = options_for(1);
  suite_options all = options;
  all.types.clear();
  all.selected.clear();
  for (const property& p : properties())
    if (can_be_checked(p, all)) all.selected.push_back(&p);
  const suite_result result = run_with_teeth(*library::built_in(), all);
  CHECK(result.total.pass == 1);
  CHECK(exit_status(all, result) == 1);
  CHECK(shortfall(all, result) == "1 case passed: too little to verify");
  CHECK(missing_reach(all, result).size() == 3);
  CHECK(exit_status(result) == 0);  // a replay of that one case
}

TEST_CASE("a library that says it supports generated cases fails if it refuses one") {
  const auto refusing = testing::refusing_library(ASSAY_UNSUPPORTED);
  const attention_case c = suite_case(options_for(1), 0);
  CHECK(check_property(*refusing, enclosure_property(), c).result == outcome::discard);
  refusing->supports_generated = true;
  const verdict v = check_property(*refusing, enclosure_property(), c);
  CHECK(v.result == outcome::fail);
  CHECK(v.what == "the library says that it supports generated cases, but: unsupported: planted refusal");
  attention_case outside = c;
  outside.soft_cap = 3.25F;  // the space has others
  CHECK(check_property(*refusing, enclosure_property(), outside).result == outcome::discard);
  attention_case bounded = c;
  bounded.workspace_budget_bytes = 1;
  CHECK(check_property(*refusing, enclosure_property(), bounded).result == outcome::discard);
}

TEST_CASE("one case of a narrow run is too little as well, and a part of a run says that it is one") {
  suite_options options = options_for(1);
  const suite_result result = run_with_teeth(*library::built_in(), options);
  CHECK(result.total.pass == 1);
  CHECK(missing_reach(options, result).empty());
  CHECK(exit_status(options, result) == 1);
  CHECK(shortfall(options, result) == "1 case passed: too little to verify");
  CHECK(report_text(options, result).find("  split_kv: at fewer than 8 places: key_dropped") != std::string::npos);
  options.shards = 2;
  const std::string part = report_text(options, result);
  CHECK(part.find("part 1/2: 1 cases, no defect; merge-reports tells") != std::string::npos);
  CHECK(part.find("verified: ") == std::string::npos);
}

TEST_CASE("each thing that a space declares is asked for, of runs that draw from all of it") {
  suite_options options = options_for(100);
  options.types.clear();
  options.selected.clear();
  for (const property& p : properties())
    if (can_be_checked(p, options)) options.selected.push_back(&p);
  suite_result result;
  result.total.pass = 100;
  for (const property* p : options.selected)
    for (const std::string& types : types_of_the_space(*find_kernel_space("split_kv")))
      result.table[{"split_kv", p->name, types}].pass = 1;
  for (const reachable_thing& t : reachable()) result.reached[{"split_kv", t.name}].pass = 1;
  CHECK(missing_reach(options, result).empty());
  result.reached[{"split_kv", "sinks"}] = {};
  CHECK(missing_reach(options, result) == std::vector<std::string>{"split_kv: no case passed with sinks"});
  options.selected = {&enclosure_property()};  // its cases need not have sinks
  CHECK(missing_reach(options, result).empty());
}

TEST_CASE("a library with caches of e5m2 alone must reach FP8, too") {
  suite_options options = options_for(100);
  options.selected.clear();
  for (const property& p : properties())
    if (can_be_checked(p, options)) options.selected.push_back(&p);
  const auto asks_for_fp8 = [&](std::int32_t cache) {
    assay_support takes{};
    takes.size_bytes = sizeof takes;
    takes.types[0] = {ASSAY_TYPE_F16, cache, ASSAY_TYPE_F16};
    options.supports["split_kv"] = read_support(takes);
    options.types.clear();
    suite_result result;
    result.total.pass = 100;
    const std::vector<std::string> lines = missing_reach(options, result);
    return std::ranges::any_of(lines, [](const std::string& l) { return l.find("FP8") != std::string::npos; });
  };
  CHECK(asks_for_fp8(ASSAY_TYPE_E5M2));
  CHECK(asks_for_fp8(ASSAY_TYPE_E4M3FN));
  CHECK_FALSE(asks_for_fp8(ASSAY_TYPE_F16));
  const auto fp8 = std::ranges::find(reachable(), std::string_view("fp8"), &reachable_thing::name);
  attention_case c = testing::small_case();
  for (const auto& [type, is_fp8] : {std::pair{dtype::e5m2fnuz, true}, {dtype::f16, false}}) {
    c.kv_type = type;
    CHECK(fp8->holds(c, {}) == is_fp8);
  }
}

TEST_CASE("what only contracts or outputs can have is asked for where a case had it") {
  const suite_options options = options_for(100);
  suite_result result;
  result.total.pass = 100;
  const auto rare = [&] {
    const std::vector<std::string> lines = rarely_asked(options, result);
    return lines.empty() ? std::string{} : lines.front();
  };
  CHECK(rare().find("key_dropped") != std::string::npos);
  CHECK(rare().find("p_truncated") == std::string::npos);  // P in f32
  CHECK(rare().find("lse_in_base_2") == std::string::npos);
  result.reached[{"split_kv", "rounded_p"}].pass = 1;
  CHECK(rare().find("p_truncated") != std::string::npos);
  result.reached[{"split_kv", "lse"}].pass = 1;
  CHECK(rare().find("lse_in_base_2") != std::string::npos);
}

TEST_CASE("what a kernel declares not to take is not asked for, and tiles that no case can fill are not either") {
  suite_options options = options_for(100);
  options.types.clear();
  options.selected.clear();
  for (const property& p : properties())
    if (can_be_checked(p, options)) options.selected.push_back(&p);
  suite_result result;
  result.total.pass = 100;
  result.reached[{"split_kv", "short_tiles"}].pass = 1;
  const auto missing = [&](const std::string& what) {
    for (const std::string& line : missing_reach(options, result))
      if (line.find(what) != std::string::npos) return true;
    return false;
  };
  const char* const things[] = {"sinks",
                                "a sliding window",
                                "three tiles of keys",
                                "head dims of K and V that differ",
                                "with types f16, ",
                                "two splits that have keys",
                                "split_count"};
  for (const char* thing : things) CHECK(missing(thing));
  assay_support& s = options.supports["split_kv"];
  s = {};
  s.no_sinks = s.no_window = s.no_split_count = 1;
  s.most_keys = 100;
  s.head_dims.values[0] = 64;
  s.types[0] = {ASSAY_TYPE_BF16, ASSAY_TYPE_BF16, ASSAY_TYPE_BF16};
  for (const char* thing : things) CHECK_FALSE(missing(thing));
  CHECK(missing("with types bf16"));
  CHECK(missing("a soft cap"));
  s = {};
  CHECK(missing("three tiles of keys"));
  result.reached[{"split_kv", "short_tiles"}] = {};  // a contract may take all keys of a row for one tile
  CHECK_FALSE(missing("three tiles of keys"));
}

TEST_CASE("undecided cases count for each property, types and thing, not only together") {
  const suite_options options = options_for(1000);
  suite_result result;
  result.total = {.pass = 990, .fail = 0, .discard = 0, .undecided = 10};
  result.table[{"split_kv", "output_enclosed", "f16"}] = result.total;
  CHECK(shortfall(result).empty());
  result.reached[{"split_kv", "sinks"}] = {.pass = 0, .fail = 0, .discard = 0, .undecided = 10};
  CHECK(shortfall(result) == "10 of 10 cases of split_kv with sinks were undecided, more than 5%");
  CHECK(exit_status(options, result) == 1);
}

TEST_CASE("a run in which nothing was checked, though the library was compiled for checks, is not verified") {
#if ASSAY_TSAN
  SKIP("ThreadSanitizer takes the calls that the checker needs");
#endif
  const auto hiding = testing::faulty_library([](testing::call& one) {
    one.launch.checked = 0;  // as kernels that no launch of the platform runs
    return one.run();
  });
  suite_result result;
  const verdict hidden = check_property(*hiding, enclosure_property(), testing::small_case());
  REQUIRE(hidden.result == outcome::pass);
  CHECK(hidden.accesses_checked == 0);
  CHECK(hidden.could_check);
  result.total.pass = 100;
  result.checked["split_kv"] = hidden.accesses_checked;
  CHECK(
      shortfall(result).starts_with("the library was compiled for checks, but none of the loads and stores of split_"));
  // Another kernel of the library that was checked does not hide it.
  result.checked["batch_prefill"] = result.accesses_checked = 1;
  CHECK(
      shortfall(result).starts_with("the library was compiled for checks, but none of the loads and stores of split_"));
  result.checked["split_kv"] = 1;
  CHECK(shortfall(result).empty());

  // A run counts them by kernel.
  suite_options options = options_for(3);
  const suite_result unseen = run_suite(*hiding, options);
  CHECK(unseen.total.pass == 3);
  CHECK(unseen.checked == std::map<std::string, std::int64_t>{{"split_kv", 0}});

  hiding->checks.accesses = false;
  CHECK_FALSE(check_property(*hiding, enclosure_property(), testing::small_case()).could_check);
  CHECK_FALSE(library::built_in_unchecked()->is_compiled_for_checks());
  attention_case empty = testing::small_case();
  empty.sequences.clear();
  const verdict of_empty = check_property(*library::built_in(), enclosure_property(), empty);
  CHECK(of_empty.result == outcome::pass);
  CHECK_FALSE(of_empty.could_check);
}

TEST_CASE("a library with part of the types is verified in them, and refuses the others for all to see", "[long]") {
  const auto only_f16 = testing::faulty_library([](testing::call& one) {
    if (one.stated.q_type != dtype::f16 || one.stated.k_type != dtype::f16)
      return assay_status{ASSAY_UNSUPPORTED, "only f16"};
    return one.run();
  });
  const suite_options in_f16 = options_for(150);
  const suite_result verified = run_with_teeth(*only_f16, in_f16);
  INFO(report_text(in_f16, verified));
  CHECK(verified.total.discard == 0);
  CHECK(exit_status(in_f16, verified) == 0);

  suite_options in_all = options_for(60);
  in_all.types.clear();
  const suite_result partial = run_with_teeth(*only_f16, in_all);
  CHECK(partial.total.fail == 0);
  CHECK(exit_status(in_all, partial) == 1);
  CHECK(shortfall(in_all, partial).find(" cases were discarded, more than 5%") != std::string::npos);
  CHECK(report_text(in_all, partial).find("unsupported: only f16") != std::string::npos);

  only_f16->supports_generated = true;  // which is not so
  in_all.budget.seconds = 1;
  const suite_result declared = run_suite(*only_f16, in_all);
  CHECK(declared.total.fail > 0);
  REQUIRE(declared.findings.size() == 1);
  CHECK(declared.findings[0].origin == "refusal");
}

}  // namespace
}  // namespace assay
