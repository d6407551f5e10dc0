#include "properties/cli/cli.hpp"
#include "properties/data/difference.hpp"

#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>

#include <boost/json.hpp>
#include <boost/property_tree/xml_parser.hpp>
#include <catch2/catch_test_macros.hpp>
#include <regex>
#include <sstream>

#include "properties/relations/property.hpp"
#include "properties/system/write_file.hpp"
#include "tests/properties/faulty_library.hpp"
#include "tests/properties/scratch.hpp"

namespace assay {
namespace {

namespace fs = std::filesystem;
using testing::scratch;

struct answer {
  int status;
  std::string out;
  std::string err;
};

answer assay(const std::vector<std::string>& arguments, std::shared_ptr<library> lib = nullptr) {
  std::ostringstream out;
  std::ostringstream err;
  const int status = run_program(arguments, {out, err, std::move(lib)});
  return {status, out.str(), err.str()};
}

std::shared_ptr<library> lse_off_by_one() {
  return testing::corrupting_library([](testing::call& c) {
    const tensor lse = c.view("lse");
    for_each_index(
        lse, [&](const std::vector<std::int64_t>& at) { static_cast<float*>(lse.data)[offset_of(lse, at)] += 1; });
  });
}

void expect_usage_error(const std::vector<std::string>& arguments, const std::string& part) {
  const answer a = assay(arguments);
  CAPTURE(a.err);
  CHECK(a.status == 2);
  CHECK(a.err.starts_with("assay: "));
  CHECK(a.err.find(part) != std::string::npos);
  CHECK(std::ranges::count(a.err, '\n') == 1);
}

TEST_CASE("wrong usage exits 2 with one line that names what is wrong") {
  expect_usage_error({}, "subcommand");
  expect_usage_error({"verify"}, "verify");
  expect_usage_error({"run", "--no-such-option"}, "--no-such-option");
  expect_usage_error({"run", "--cases", "many"}, "--cases");
  expect_usage_error({"run", "--cases", "0"}, "--cases");
  expect_usage_error({"run", "--cases", "5", "--seconds", "5"}, "--cases");
  expect_usage_error({"run", "--property", "no_such"}, "no property 'no_such'");
  expect_usage_error({"run", "--kernel", "no_such"}, "no kernel 'no_such'");
  expect_usage_error({"run", "--types", "f32"}, "--types: 'f32' is none of f16, ");  // of the built-in kernels
  expect_usage_error({"run", "--platform", "abacus"}, "no platform 'abacus'");
  for (const char* shard : {"0/3", "4/3", "1", "1/", "a/b", "1/2/3", "-1/2"})
    expect_usage_error({"run", "--shard", shard}, "--shard: ");
  for (const char* seed : {"-1", "18446744073709551616", "1.5", "x"})
    expect_usage_error({"run", "--seed", seed}, "--seed");
  for (const char* seconds : {"nan", "inf", "0", "-1", "1e999", "5s"})
    expect_usage_error({"run", "--seconds", seconds}, "--seconds");
  expect_usage_error({"run", "--limit", "nan"}, "--limit");
  expect_usage_error({"run", "--jobs", "0"}, "--jobs");
  expect_usage_error({"list", "unicorns"}, "unicorns");
  expect_usage_error({"explain"}, "case");
}

TEST_CASE("a place that cannot be written is noticed before the work, by root too") {
  const scratch here;
  const std::string file = here.write("c.json", to_json(testing::small_case()));
  for (const char* option : {"--json", "--junit"}) {
    expect_usage_error({"run", option, "/proc/report"}, std::string(option) + ": /proc/report: cannot be written");
    expect_usage_error({"run", option, "/proc/no/report"}, "cannot be written");
    expect_usage_error({"run", option, file + "/report"}, "cannot be written");
    expect_usage_error({"run", option, here.file("")}, "cannot be written");
  }
  expect_usage_error({"run", "--findings", "/proc/findings"}, "--findings: /proc/findings");
  expect_usage_error({"bench", "--json", "/proc/report"}, "--json: /proc/report");
  expect_usage_error({"bench", "--shape", "decode"}, "--shape is for kernels on a GPU");
  expect_usage_error({"bench", "--shape", ""}, "--shape: the text is empty");
  expect_usage_error({"minimize", file, "--output", "/proc/small.json"}, "--output: /proc/small.json");
  CHECK(std::distance(fs::directory_iterator(here.file("")), fs::directory_iterator{}) == 1);
}

TEST_CASE("help exits 0 and goes to the output") {
  for (const char* command : {"run", "replay", "explain", "minimize", "list", "bench", "merge-reports", "fuzz",
                              "faults", "nightly", "new", "pack"}) {
    const answer a = assay({command, "--help"});
    CHECK(a.status == 0);
    CHECK(a.err.empty());
    CHECK(a.out.find("--help") != std::string::npos);
  }
}

TEST_CASE("bad input exits 2 with one line that names file and field") {
  const scratch here;
  expect_usage_error({"replay", here.file("absent.json")}, "absent.json: cannot be read");
  // An option that may be repeated takes one value each time.
  expect_usage_error({"replay", "--property", "output_enclosed", here.file("absent.json")},
                     "absent.json: cannot be read");
  expect_usage_error({"explain", here.write("cut.json", "{\"version\": 1,")}, "cut.json:");
  expect_usage_error({"minimize", here.write("unknown.json", "{\"version\": 1, \"colour\": 3}")}, "colour");
  expect_usage_error(
      {"replay", here.write("page.json", R"({"version": 1, "pool_pages": 4, "sequences": [{"pages": [9]}]})")},
      "page.json: sequences[0].pages[0]");
  attention_case foreign = testing::small_case();
  foreign.kernel = "no_such";
  fs::create_directories(here.file("foreign"));
  expect_usage_error({"replay", here.write("foreign/a.json", to_json(foreign))}, "no kernel 'no_such'");
  expect_usage_error({"replay", here.file("foreign")}, "no case is for a kernel of");
  foreign.kernel = "split_kv";
  here.write("foreign/b.json", to_json(foreign));
  const answer rest = assay({"replay", here.file("foreign")});
  CHECK(rest.status == 0);
  CHECK(rest.out.find("skipped 1 case of no_such") != std::string::npos);
  expect_usage_error({"run", "--kernel", "split_kv", "--property", "equal_descales"},
                     "none of the selected properties applies to");
  fs::create_directories(here.file("empty"));
  expect_usage_error({"replay", here.file("empty")}, "holds no .json file");
}

TEST_CASE("libraries and platforms that do not go together are wrong usage") {
  expect_usage_error({"run", "--platform", "cpu,abacus"}, "no platform 'abacus'");
  expect_usage_error({"fuzz", "fuzz_split_kv", "--platform", "abacus"}, "no platform 'abacus'");
  expect_usage_error({"nightly", "--platform", "abacus"}, "abacus");
  expect_usage_error({"faults", "--compute-sanitizer"}, "--compute-sanitizer: is for --platform nvidia");
  expect_usage_error({"faults", "--cases", "3"}, "--cases: needs --peers or --compute-sanitizer");
  expect_usage_error({"pack", "there", "--platform", "abacus"}, "abacus");
  expect_usage_error({"pack", "there", "--corpus", "no/such/folder"},
                     "--corpus: no/such/folder: there is no such folder");
  expect_usage_error({"run", "--platform", "cpu,cpu"}, "'cpu' is there twice");
  expect_usage_error({"replay", "--library", "a.so", "--platform", "cpu,nvidia"}, "--library: not with several");
  expect_usage_error({"run", "--library", "a.so", "--library", "b.so", "--platform", "cpu"}, "--platform: not with");
  expect_usage_error({"run", "--library", "a.so", "--library", "b.so", "--junit", "x"}, "--junit: not with several");
}

TEST_CASE("a platform that is not built is named in one line") {
  for (const std::vector<std::string>& command : {std::vector<std::string>{"replay", "--platform", "cpu,amd"},
                                                  {"fuzz", "fuzz_split_kv", "--platform", "amd"},
                                                  {"nightly", "--platform", "amd", "--minutes", "1"}}) {
    const answer a = assay(command);
    CHECK(a.status == 3);
    CHECK(a.err.find("--platform amd: not built: there is no ") != std::string::npos);
    CHECK(std::ranges::count(a.err, '\n') == 1);
  }
}

TEST_CASE("two libraries are judged on the same cases, and compared") {
  if (!fs::exists(ASSAY_BINARY_DIR "/lib/orders.so")) SKIP("the library is not built");
  const scratch here;
  const std::string cpu = ASSAY_BINARY_DIR "/lib/assay_kernels_cpu_unchecked.so";
  const std::vector<std::string> common{"--property", "output_enclosed",
                                        "--types",    "f16",
                                        "--seed",     "4",
                                        "--cases",    "12",
                                        "--jobs",     "1",
                                        "--shrink",   "0",
                                        "--json",     here.file("r.json"),
                                        "--findings", here.file("findings")};
  const std::string orders = ASSAY_BINARY_DIR "/lib/orders.so";
  const auto run = [&](const std::string& order) {
    setenv("ASSAY_ORDER", order.c_str(), 1);
    setenv("ASSAY_DECLARES", "types", 1);
    std::vector<std::string> all{"run", "--accept-blunt", "--library", cpu, "--library", orders};
    all.insert(all.end(), common.begin(), common.end());
    return assay(all);
  };
  const answer sound = run("ascending");
  CAPTURE(sound.out, sound.err);
  CHECK(sound.status == 0);
  const auto report = [&] { return boost::json::parse(read_file(here.file("r.json"))); };
  CHECK(report().at("platforms").as_array().size() == 2);
  CHECK(report().at_pointer("/comparison/cases").to_number<int>() > 8);
  CHECK(report().at_pointer("/platforms/0/total") == report().at_pointer("/platforms/1/total"));
  const answer lossy = run("lost_wave");
  CHECK(lossy.status == 1);
  CHECK(report().at_pointer("/platforms/0/total/fail").to_number<int>() == 0);
  CHECK(report().at_pointer("/platforms/1/total/fail").to_number<int>() > 0);
  CHECK(lossy.out.find("DIFFERENCE case ") != std::string::npos);
  const std::size_t begin = lossy.out.find(here.file("findings/difference-"));
  REQUIRE(begin != std::string::npos);
  const std::string file = lossy.out.substr(begin, lossy.out.find('\n', begin) - begin);
  const answer again = assay({"replay", "--library", cpu, "--library", orders, file, "--property", "output_enclosed"});
  CHECK(again.status == 1);
  CHECK(again.out.find("DIFFERENCE " + file) != std::string::npos);
}

TEST_CASE("atoms are only for libraries that multiply by them") {
  const std::string orders = ASSAY_BINARY_DIR "/lib/orders.so";
  if (!std::filesystem::exists(orders)) SKIP("orders.so is not built");
  const answer a = assay({"run", "--library", orders, "--atoms", "hopper", "--cases", "1"});
  CHECK(a.status == 2);
  CHECK(a.err.find("does not multiply by the cpu platform's atoms") != std::string::npos);
}

TEST_CASE("faults that a platform cannot show are not a success") {
  const answer a = assay({"faults", "combine_reads_padding_rows", "--platform", "amd"});
  CHECK(a.status == 2);
  CHECK(a.err.find("amd can show none of these faults") != std::string::npos);
}

TEST_CASE("a library that is not there, or not one, exits 3") {
  const scratch here;
  const answer absent = assay({"run", "--library", here.file("absent.so")});
  CHECK(absent.status == 3);
  CHECK(std::ranges::count(absent.err, '\n') == 1);
  CHECK(assay({"run", "--library", here.write("text.so", "no library")}).status == 3);
  // Tests of devices load a driver of their own, if all tests run in one process.
  if (dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD) == nullptr)
    CHECK(assay({"run", "--platform", "nvidia"}).status == 3);
  const answer faultless = assay({"faults", "missing_rescale", "--platform", "amd"});
  CHECK(faultless.status == 3);
  CHECK(faultless.err.find("fault_missing_rescale_amd.so: the faulty library is not built") != std::string::npos);
}

/// The output without what depends on the clock.
std::string timeless(const std::string& text) {
  return std::regex_replace(text, std::regex(" in [0-9.]+ s \\([^)]*\\)"), "");
}

TEST_CASE("a run with a seed is reproducible whatever the jobs, and says its seed", "[long]") {
  const answer one = assay({"run", "--cases", "39", "--seed", "11", "--jobs", "1", "--accept-blunt"});
  const answer two = assay({"run", "--cases", "39", "--seed", "11", "--jobs", "2", "--accept-blunt"});
  CHECK(one.status == 0);
  CHECK(one.err.empty());
  CHECK(timeless(one.out) == timeless(two.out));
  CHECK(one.out.find("accepted, however blunt: 39 cases, no defect (seed 11)") != std::string::npos);
}

TEST_CASE("a run of few cases is not verified, and says what it lacks", "[long]") {
  const answer a = assay({"run", "--cases", "20", "--seed", "11"});
  CHECK(a.status == 1);
  CHECK(a.out.find("NOT VERIFIED: 20 cases passed: too little to verify (seed 11)") != std::string::npos);
  CHECK(a.out.find("  batch_prefill: no case passed with ") != std::string::npos);
  CHECK(a.out.find("teeth of split_kv ") != std::string::npos);
}

TEST_CASE("a run without a seed prints one that is enough to repeat it") {
  const answer first = assay({"run", "--cases", "13"});
  std::smatch seed;
  REQUIRE(std::regex_search(first.out, seed, std::regex("seed ([0-9]+)")));
  const answer again = assay({"run", "--cases", "13", "--seed", seed[1]});
  CHECK(timeless(first.out) == timeless(again.out));
}

TEST_CASE("a defect exits 1, is reported with its enclosure, and its replay line replays it") {
  const scratch here;
  const auto faulty = lse_off_by_one();
  const answer a = assay({"run", "--cases", "13", "--seed", "3", "--property", "output_enclosed", "--findings",
                          here.file("findings"), "--shrink", "5"},
                         faulty);
  CAPTURE(a.out);
  CHECK(a.status == 1);
  CHECK(a.out.find("FAIL output_enclosed: the output, its LSE and the split workspaces lie in") != std::string::npos);
  CHECK(a.out.find("lies outside [") != std::string::npos);
  CHECK(a.out.find("DEFECT: ") != std::string::npos);
  std::smatch line;
  REQUIRE(std::regex_search(a.out, line, std::regex("\n\\./assay replay (\\S+)\n")));
  const answer replayed =
      assay({"replay", line[1], "--property", "output_enclosed", "--json", here.file("replay.json")}, faulty);
  CHECK(replayed.status == 1);
  CHECK(replayed.out.find("FAIL") != std::string::npos);
  const boost::json::value report = boost::json::parse(read_file(here.file("replay.json")));
  CHECK_FALSE(report.at("verified").as_bool());
  CHECK(report.at("total").at("fail").as_int64() == 1);
  REQUIRE(report.at("findings").as_array().size() == 1);
  const boost::json::value& found = report.at("findings").at(0);
  CHECK(found.at("kernel").as_string() == "split_kv");
  CHECK(found.at("origin").as_string() == "enclosure");
  CHECK(found.at("replay").as_string() == "./assay replay --property output_enclosed " + line[1].str());
  const answer fixed = assay({"replay", line[1]});
  CAPTURE(fixed.out);
  CHECK(fixed.status == 0);
}

TEST_CASE("loads and stores are checked unless they are not to be, and a line that replays says so", "[long]") {
  const scratch here;
  const answer checked = assay({"run", "--cases", "13", "--seed", "1"});
  CHECK(std::regex_search(checked.out, std::regex("\n[0-9.e+]+ loads and stores checked\n")));
  const answer lockstep = assay({"run", "--cases", "13", "--seed", "1", "--lockstep-waves"});
  CHECK(timeless(lockstep.out) == timeless(checked.out));
  const answer unchecked = assay({"run", "--cases", "13", "--seed", "1", "--unchecked", "--accept-blunt"});
  CAPTURE(unchecked.out);
  CHECK(unchecked.status == 0);
  CHECK(unchecked.out.find("\nloads and stores were not checked\n") != std::string::npos);
  expect_usage_error({"run", "--unchecked", "--lockstep-waves"}, "--lockstep-waves");
  const answer failed = assay({"run", "--cases", "13", "--seed", "3", "--property", "output_enclosed", "--findings",
                               here.file("findings"), "--shrink", "0", "--unchecked"},
                              lse_off_by_one());
  CHECK(failed.out.find("\n./assay replay --unchecked ") != std::string::npos);
}

TEST_CASE("replay --accuracy tells the distance to exact of every kernel's result", "[long]") {
  for (const auto& [file, tensor] : {std::pair{"split_kv/llama3_8b_decode.json", "o"},
                                     {"batch_prefill/two_tiles_two_pages.json", "o"},
                                     {"mqa_logits/page_tagged_64.json", "logits"}}) {
    const std::string path = std::string(ASSAY_SOURCE_DIR) + "/corpus/" + file;
    const answer a = assay({"replay", path, "--accuracy"});
    CAPTURE(a.out);
    CHECK(a.status == 0);
    CHECK(a.out.find(std::string("max |") + tensor + " - exact| ") != std::string::npos);
    CHECK(assay({"replay", path}).out.find("exact|") == std::string::npos);
  }
}

TEST_CASE("a finding in a folder is checked against the property that it broke") {
  const scratch here;
  attention_case c = testing::small_case();
  c.why = "head_permutation: planted";
  here.write("findings/a.json", to_json(c));
  const auto faulty = testing::corrupting_library([](testing::call& one) {
    const tensor o = one.view("o");
    set_bits(o, o.offset(0, 1), 0);
  });
  const answer a = assay({"replay", here.file("findings")}, faulty);
  CHECK(a.status == 1);
  CHECK(a.out.find("head_permutation: permuting heads permutes the output") != std::string::npos);
}

TEST_CASE("reports are well-formed JSON and XML that agree with each other") {
  const scratch here;
  const answer a = assay({"run", "--cases", "26", "--seed", "5", "--shrink", "1", "--json", here.file("sub/r.json"),
                          "--junit", here.file("r.xml"), "--findings", here.file("findings")},
                         lse_off_by_one());
  CHECK(a.status == 1);
  const boost::json::value report = boost::json::parse(read_file(here.file("sub/r.json")));
  CHECK(report.at("seed").to_number<int>() == 5);
  CHECK_FALSE(report.at("verified").as_bool());
  CHECK_FALSE(report.at("findings").as_array().empty());
  CHECK(report.at("findings").at(0).at("case").is_object());
  std::int64_t cases = 0;
  for (const auto& row : report.at("table").as_array())
    for (const char* field : {"pass", "fail", "discard", "undecided"}) cases += row.at(field).to_number<std::int64_t>();
  CHECK(cases == 26);

  boost::property_tree::ptree xml;
  boost::property_tree::read_xml(here.file("r.xml"), xml);
  const auto& suite = xml.get_child("testsuites.testsuite");
  CHECK(suite.get<std::string>("<xmlattr>.name") == "split_kv");
  const auto of_split_kv = [](const property& p) { return applies(p, "split_kv"); };
  CHECK(suite.get<int>("<xmlattr>.tests") == std::ranges::count_if(properties(), of_split_kv));
  CHECK(suite.get<int>("<xmlattr>.failures") >= 1);
}

TEST_CASE("minimize writes the smallest case that fails the same way") {
  const scratch here;
  const std::string file = here.write("big.json", to_json(testing::small_case()));
  const answer a = assay({"minimize", file, "-o", here.file("small.json")}, lse_off_by_one());
  CHECK(a.status == 1);
  const attention_case small = load_case(here.file("small.json"));
  CHECK(small.sequences.size() == 1);
  CHECK(small.heads_q == 1);
  CHECK(assay({"minimize", file}).status == 0);
}

TEST_CASE("explain names the worst element, its page, and how far it is from exact") {
  const scratch here;
  const std::string file = here.write("c.json", to_json(testing::small_case()));
  const answer clean = assay({"explain", file});
  CAPTURE(clean.out);
  CHECK(clean.status == 0);
  CHECK(clean.out.find("page") != std::string::npos);
  const answer faulty = assay({"explain", file}, lse_off_by_one());
  CHECK(faulty.status == 1);
  CHECK(faulty.out.find("lies outside") != std::string::npos);
  const answer element = assay({"explain", file, "--element", "o,1,2,3"});
  CHECK(element.out.find("o[1, 2, 3]") != std::string::npos);
  CHECK(assay({"explain", file, "--element", "o[1, 2, 3]"}).out == element.out);
  const answer outside = assay({"explain", file, "--element", "o,99,0,0"});
  CHECK(outside.status == 2);
  CHECK(outside.err.find("lies outside of o, whose shape is [") != std::string::npos);
  const answer unknown = assay({"explain", file, "--element", "x,0"});
  CHECK(unknown.status == 2);
  CHECK(unknown.err.find("there is no output 'x' (it has: o, lse") != std::string::npos);
}

TEST_CASE("replay prints a failure once, and names the other properties that show it", "[long]") {
  const scratch here;
  const std::string file = here.write("c.json", to_json(testing::small_case()));
  const answer faulty = assay({"replay", file}, lse_off_by_one());
  CAPTURE(faulty.out);
  CHECK(faulty.status == 1);
  const std::size_t first = faulty.out.find("  enclosure: lse[");
  REQUIRE(first != std::string::npos);
  CHECK(faulty.out.find("  enclosure: lse[", first + 1) == std::string::npos);
  CHECK(faulty.out.find("other properties end with the same failure: ") != std::string::npos);
}

TEST_CASE("list names what there is") {
  CHECK(assay({"list", "kernels"}).out == "split_kv\nbatch_prefill\nmqa_logits\nappend_kv\n");
  CHECK(assay({"list", "platforms"}).out == "cpu\n");
  CHECK(assay({"list", "fills"}).out.find("page_tagged\n") != std::string::npos);
  CHECK(assay({"list", "properties"}).out.find("dead_memory") != std::string::npos);
  CHECK(assay({"list", "targets"}).out.find("fuzz_split_kv\n") != std::string::npos);
  CHECK(assay({"list", "faults"}).out.find("missing_barrier\n") != std::string::npos);
  CHECK(assay({"list", "faults", "--markdown"}).out.find("| `page_offset_in_tiles` |") != std::string::npos);
  expect_usage_error({"list", "kernels", "--markdown"}, "--markdown");
}

}  // namespace
}  // namespace assay
