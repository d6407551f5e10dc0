#include "properties/suite/sarif.hpp"

#include <boost/json.hpp>
#include <catch2/catch_test_macros.hpp>
#include <set>

#include "properties/run/execute.hpp"
#include "tests/properties/faulty_library.hpp"
#include "tests/properties/scratch.hpp"

namespace assay {
namespace {

namespace json = boost::json;

reported_finding some_finding() {
  reported_finding f;
  f.smallest = testing::small_case();
  f.kernel = "split_kv";
  f.types = "f16";
  f.property = "output_enclosed";
  f.sentence = "the output lies in the enclosure";
  f.origin = "data race";
  f.what =
      "split_kv: race on LDS byte 1: store of 2 bytes (some_kernel.hpp:2) by thread 1 and load by thread 0 "
      "(inner.hpp:1, from middle.hpp:9, from some_kernel.hpp:3), with no barrier";
  f.history = "case 17 of seed 9";
  f.file = "out/findings/a case.json";
  f.replay = "./assay replay out/findings/x.json";
  return f;
}

/// A folder with the kernel's source.
class sources {
 public:
  sources() {
    here_.write("kernels/some_kernel.hpp", "one\ntwo\nthree\nfour\n");
    here_.write("build/other_kernel.hpp", "one\n");
    here_.write("a/twice.hpp", "one\n");
    here_.write("b/twice.hpp", "one\n");
  }
  std::filesystem::path path() const { return here_.path(); }
  source_finder finder() const { return source_finder({here_.path()}); }

 private:
  testing::scratch here_;
};

json::object run_of(const std::string& sarif) {
  return json::parse(sarif).at("runs").at(0).as_object();
}

TEST_CASE("places of a message: the access's line, and of inlined calls the innermost and the outermost") {
  const std::vector<source_place> places = places_in(some_finding().what);
  CHECK(places == std::vector<source_place>{{"some_kernel.hpp", 2}, {"inner.hpp", 1}, {"some_kernel.hpp", 3}});
  CHECK(places_in("o[0, 1] = 3.5:2 lies outside").empty());
  CHECK(places_in("a.hpp:1 and a.hpp:1").size() == 1);
}

TEST_CASE("a source is found by name where one file has it, and not in builds") {
  const sources here;
  const source_finder finder = here.finder();
  CHECK(finder.find("some_kernel.hpp") == here.path() / "kernels/some_kernel.hpp");
  CHECK(finder.find("kernels/some_kernel.hpp") == here.path() / "kernels/some_kernel.hpp");
  CHECK_FALSE(finder.find("nels/some_kernel.hpp"));
  CHECK_FALSE(finder.find("other_kernel.hpp"));
  CHECK_FALSE(finder.find("twice.hpp"));
  CHECK(finder.find("a/twice.hpp") == here.path() / "a/twice.hpp");
  CHECK_FALSE(finder.find("/etc/passwd.h"));
  CHECK_FALSE(finder.find("../kernels/some_kernel.hpp"));
}

TEST_CASE("an excerpt has the lines around, and none where the file is shorter") {
  const sources here;
  const auto excerpt = here.finder().excerpt({"some_kernel.hpp", 2}, 1);
  REQUIRE(excerpt);
  CHECK(excerpt->first_line == 1);
  CHECK(excerpt->lines == std::vector<std::string>{"one", "two", "three"});
  CHECK(here.finder().excerpt({"some_kernel.hpp", 4}, 1)->lines.size() == 2);
  CHECK_FALSE(here.finder().excerpt({"some_kernel.hpp", 5}));
  CHECK_FALSE(here.finder().excerpt({"some_kernel.hpp", 0}));
}

TEST_CASE("SARIF has its version, a tool, a rule for each property and kind, and a result for each finding") {
  const sources here;
  reported_finding other = some_finding();
  other.origin = "enclosure";
  other.what = "o[0, 0, 0] = 1 lies outside [2, 3]";
  const std::string sarif = report_sarif("no such.so", {some_finding(), other, some_finding()}, here.finder());
  CHECK(json::parse(sarif).at("version") == "2.1.0");
  const json::object run = run_of(sarif);
  const json::object& driver = run.at("tool").at("driver").as_object();
  CHECK(driver.at("name") == "Assay");
  const json::array& rules = driver.at("rules").as_array();
  REQUIRE(rules.size() == 2);
  CHECK(rules[0].at("id") == "output_enclosed/data-race");
  CHECK(rules[1].at("id") == "output_enclosed/enclosure");
  for (const json::value& rule : rules) {
    CHECK_FALSE(rule.at("shortDescription").at("text").as_string().empty());
    CHECK_FALSE(rule.at("help").at("text").as_string().empty());
  }
  const json::array& results = run.at("results").as_array();
  REQUIRE(results.size() == 3);
  for (const json::value& one : results) {
    const auto index = one.at("ruleIndex").to_number<std::size_t>();
    CHECK(one.at("ruleId") == rules.at(index).at("id"));
    CHECK(one.at("level") == "error");
    CHECK_FALSE(one.at("message").at("text").as_string().empty());
    CHECK(one.at("partialFingerprints").at("assayFinding/v1").as_string().size() == 16);
    CHECK(one.at("locations").as_array().size() == 1);
    CHECK(one.at("attachments").at(0).at("artifactLocation").at("uri") == "out/findings/a%20case.json");
  }
}

TEST_CASE(
    "a result lies at the kernel's line, names other lines and the case, and the library where no line is known") {
  const sources here;
  const json::object run = run_of(report_sarif("no such.so", {some_finding()}, here.finder()));
  const json::object& one = run.at("results").at(0).as_object();
  const json::value& place = one.at("locations").at(0).at("physicalLocation");
  CHECK(place.at("region").at("startLine") == 2);
  CHECK(std::string(place.at("artifactLocation").at("uri").as_string()).ends_with("kernels/some_kernel.hpp"));
  CHECK(std::string(place.at("artifactLocation").at("uri").as_string()).starts_with("file:///"));
  const json::array& related = one.at("relatedLocations").as_array();
  REQUIRE(related.size() == 2);
  CHECK(related[0].at("physicalLocation").at("region").at("startLine") == 3);
  CHECK(related[1].at("physicalLocation").at("artifactLocation").at("uriBaseId") == "%SRCROOT%");

  const std::string library = (here.path() / "kernels" / "some_kernel.hpp").string();  // any file
  reported_finding unknown = some_finding();
  unknown.what = "o[0] lies outside";
  const json::object at_library = run_of(report_sarif(library, {unknown}, here.finder()));
  CHECK(std::string(at_library.at("results")
                        .at(0)
                        .at("locations")
                        .at(0)
                        .at("physicalLocation")
                        .at("artifactLocation")
                        .at("uri")
                        .as_string())
            .ends_with("some_kernel.hpp"));
  const json::object at_case = run_of(report_sarif("built-in", {unknown}, here.finder()));
  CHECK(at_case.at("results").at(0).at("locations").at(0).at("physicalLocation").at("artifactLocation").at("uri") ==
        "out/findings/a%20case.json");
}

TEST_CASE("a fingerprint is the same for other seeds, lines and values, and another for another kernel") {
  const sources here;
  const auto print_of = [&](const reported_finding& f) {
    return run_of(report_sarif("x.so", {f}, here.finder()))
        .at("results")
        .at(0)
        .at("partialFingerprints")
        .at("assayFinding/v1");
  };
  reported_finding f = some_finding();
  const json::value first = print_of(f);
  f.what.replace(f.what.find("hpp:2"), 5, "hpp:4");
  f.history = "case 1 of seed 2";
  f.file = "out/y.json";
  CHECK(print_of(f) == first);
  f.kernel = "mqa_logits";
  CHECK(print_of(f) != first);
}

TEST_CASE("a run without findings has no results, and hostile words stay words") {
  const source_finder none({});
  const json::object run = run_of(report_sarif("x.so", {}, none));
  CHECK(run.at("results").as_array().empty());
  CHECK(run.at("tool").at("driver").at("rules").as_array().empty());
  reported_finding f = some_finding();
  f.what = "\"}]}\x01\xff";
  const std::string sarif = report_sarif("x.so", {f}, none);
  REQUIRE_NOTHROW(json::parse(sarif));
  CHECK(sarif.find("\\\\x01") != std::string::npos);
}

TEST_CASE("findings of a run and of a replay have one form") {
  suite_options options;
  options.seed = 9;
  options.library_arguments = " --library x.so";
  suite_result result;
  finding f;
  f.index = 17;
  f.met_by = f.broken = &enclosure_property();
  f.alike = 2;
  f.file = "f.json";
  f.shrunk = {testing::small_case(), failed("enclosure", "wrong"), true, 0, 8};
  f.shrunk.result.hint = "look there";
  result.findings = {f};
  const std::vector<reported_finding> of_run = reported_findings(options, result);
  REQUIRE(of_run.size() == 1);
  CHECK(of_run[0].what == "wrong");
  CHECK(of_run[0].hint == "look there");
  CHECK(of_run[0].replay == "./assay replay --library x.so f.json");
  CHECK(of_run[0].explain == "./assay explain --library x.so f.json");
  CHECK_FALSE(of_run[0].met);

  replayed_case r{"f.json", testing::small_case(), {}, {}};
  r.selected = {&properties()[0], &properties()[1], &properties()[2]};
  r.verdicts = {failed("enclosure", "wrong"), passed(), failed("enclosure", "wrong")};
  const std::vector<reported_finding> of_replay = reported_findings(" --library x.so", {r});
  REQUIRE(of_replay.size() == 1);
  CHECK(of_replay[0].also == std::vector<std::string>{properties()[2].name});
  CHECK(of_replay[0].replay == "./assay replay --library x.so --property output_enclosed f.json");
}

}  // namespace
}  // namespace assay
