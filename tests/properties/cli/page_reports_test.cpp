/// The reports that show findings: --html and --sarif of the commands.
#include <boost/json.hpp>
#include <catch2/catch_test_macros.hpp>
#include <sstream>

#include "properties/cli/cli.hpp"
#include "properties/data/difference.hpp"
#include "properties/system/write_file.hpp"
#include "tests/properties/faulty_library.hpp"
#include "tests/properties/scratch.hpp"

namespace assay {
namespace {

struct answer {
  int status;
  std::string err;
};

answer assay(const std::vector<std::string>& arguments, std::shared_ptr<library> lib = nullptr) {
  std::ostringstream out;
  std::ostringstream err;
  const int status = run_program(arguments, {out, err, std::move(lib)});
  return {status, err.str()};
}

std::shared_ptr<library> wrong_lse() {
  return testing::corrupting_library([](testing::call& c) {
    const tensor lse = c.view("lse");
    for_each_index(
        lse, [&](const std::vector<std::int64_t>& at) { static_cast<float*>(lse.data)[offset_of(lse, at)] += 1; });
  });
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST_CASE("a run writes a page with pictures of its findings, and SARIF", "[long]") {
  const testing::scratch here;
  const std::string page = here.file("new/r.html"), sarif = here.file("r.sarif"), json = here.file("r.json");
  const answer a =
      assay({"run",    "--kernel", "split_kv", "--cases", "40",         "--seed",          "3",
             "--jobs", "1",        "--shrink", "1",       "--property", "output_enclosed", "--html",
             page,     "--sarif",  sarif,      "--json",  json,         "--findings",      here.file("findings")},
            wrong_lse());
  CHECK(a.status == 1);
  CHECK(a.err.empty());
  const std::string html = read_file(page);
  CHECK(html.size() < 300'000);
  CHECK(has(html, ">DEFECT</span>"));
  CHECK(has(html, "Heat map of the error of lse"));
  CHECK(has(html, "The elements farthest outside"));
  CHECK(has(html, "Pages of the pool"));
  CHECK(has(html, "Distance of lse from exact"));
  const boost::json::value report = boost::json::parse(read_file(sarif)), written = boost::json::parse(read_file(json));
  const boost::json::value& results = report.at("runs").at(0).at("results");
  const boost::json::array& findings = written.at("findings").as_array();
  REQUIRE(results.as_array().size() == findings.size());
  for (std::size_t i = 0; i < findings.size(); ++i) {
    CHECK(has(std::string(results.at(i).at("message").at("text").as_string()),
              std::string(findings.at(i).at("what").as_string())));
    CHECK(has(html, std::string(findings.at(i).at("replay").as_string())));
  }
  const boost::json::array& slowest = written.at("slowest").as_array();
  REQUIRE(slowest.size() == 10);
  for (std::size_t i = 1; i < slowest.size(); ++i)
    CHECK(slowest[i - 1].at("seconds").to_number<double>() >= slowest[i].at("seconds").to_number<double>());
}

TEST_CASE("a replay and an explained case write pages", "[long]") {
  const testing::scratch here;
  const std::string file = here.write("c.json", to_json(testing::small_case())), page = here.file("p.html");
  CHECK(assay({"replay", file, "--html", page, "--sarif", here.file("p.sarif")}, wrong_lse()).status == 1);
  std::string html = read_file(page);
  CHECK(has(html, "1 of 1 stored case failed"));
  CHECK(has(html, "Other properties end with the same failure"));
  CHECK(has(html, "Heat map of the error of lse"));
  CHECK_FALSE(boost::json::parse(read_file(here.file("p.sarif"))).at("runs").at(0).at("results").as_array().empty());

  CHECK(assay({"explain", file, "--html", page}, wrong_lse()).status == 1);
  html = read_file(page);
  CHECK(has(html, "lies outside"));
  CHECK(has(html, "Where the element comes from"));
  CHECK(assay({"explain", file, "--html", page}).status == 0);
  html = read_file(page);
  CHECK(has(html, ">PASS</span>"));
  CHECK(has(html, "0 of 1,024 elements lie outside"));
  CHECK_FALSE(has(html, "The failure"));
}

TEST_CASE("a case that ends its process has a page, without a map") {
  const testing::scratch here;
  const std::string file = here.write("c.json", to_json(testing::small_case())), page = here.file("p.html");
  const auto crash = testing::faulty_library([](testing::call&) -> assay_status {
    *static_cast<volatile int*>(nullptr) = 1;  // NOLINT: it shall crash
    return {};
  });
  CHECK(assay({"explain", file, "--html", page}, crash).status == 1);
  CHECK(has(read_file(page), "The run ended its process, so there is no map of errors."));
  CHECK(assay({"replay", file, "--html", page}, crash).status == 1);
  CHECK(has(read_file(page), "The run ended its process, so there is no map of errors"));
}

TEST_CASE("pages and SARIF are of one library, and their places are tried before the work") {
  const testing::scratch here;
  const std::string file = here.write("c.json", to_json(testing::small_case()));
  for (const char* option : {"--html", "--sarif"}) {
    CHECK(has(assay({"run", "--library", "a.so", "--library", "b.so", option, "x"}).err,
              std::string(option) + ": not with several libraries"));
    CHECK(has(assay({"run", option, "/proc/report"}).err, std::string(option) + ": /proc/report: cannot be written"));
    CHECK(assay({"replay", file, option, "/proc/report"}).status == 2);
  }
  CHECK(assay({"explain", file, "--html", "/proc/report"}).status == 2);
}

}  // namespace
}  // namespace assay
