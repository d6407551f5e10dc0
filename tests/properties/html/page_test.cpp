#include "properties/html/page.hpp"

#include <catch2/catch_test_macros.hpp>
#include <cctype>
#include <cstdio>

#include "properties/html/report_page.hpp"
#include "properties/html/style.hpp"
#include "properties/run/execute.hpp"
#include "properties/suite/report.hpp"
#include "tests/properties/html/some_pictures.hpp"
#include "tests/properties/scratch.hpp"

namespace assay::html {
namespace {

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// What stands between < and >, behind the style.
std::vector<std::string> tags_of(const std::string& page) {
  std::vector<std::string> tags;
  for (std::size_t at = page.find("</style>"); (at = page.find('<', at)) != std::string::npos; ++at)
    tags.push_back(page.substr(at + 1, page.find('>', at) - at - 1));
  return tags;
}

/// Whether a tag has an attribute like onclick.
bool has_handler(const std::string& tag) {
  for (std::size_t at = 0; (at = tag.find(" on", at)) != std::string::npos; ++at) {
    std::size_t end = at + 3;
    while (end < tag.size() && std::isalpha(static_cast<unsigned char>(tag[end])) != 0) ++end;
    if (end > at + 3 && end < tag.size() && tag[end] == '=') return true;
  }
  return false;
}

suite_options some_options() {
  suite_options options;
  options.kernels = {"split_kv"};
  for (const property& p : properties())
    if (can_be_checked(p, options)) options.selected.push_back(&p);
  options.seed = 9;
  return options;
}

suite_result some_result(const suite_options& options) {
  suite_result result;
  result.table[{"split_kv", options.selected[0]->name, "f16"}] = {.pass = 3, .fail = 1, .discard = 0, .undecided = 0};
  result.total = {.pass = 3, .fail = 1, .discard = 0, .undecided = 0};
  result.slowest = {{1.25, 17, options.selected[0], "split_kv", "f16"}};
  return result;
}

std::string page_of(const suite_options& options, const suite_result& result,
                    const std::vector<reported_finding>& findings = {},
                    const std::vector<finding_pictures>& pictures = {}) {
  return run_page("cpu kernels of built-in, seed 9", options, result, findings, source_finder({}), pictures);
}

TEST_CASE("the first screen says what is wrong, and the command to run next") {
  const suite_options options = some_options();
  const std::string page = page_of(options, some_result(options), {testing::some_finding()});
  const std::string header = page.substr(0, page.find("</header>"));
  CHECK(has(header, ">DEFECT</span> 1 of 4 cases failed"));
  CHECK(has(header, "<code>./assay replay out/findings/x.json</code>"));
  CHECK(has(page, "<h3 id=\"title-1\">1. output_enclosed of split_kv: enclosure</h3>"));
  CHECK(has(page, "1.25"));
}

TEST_CASE("a report without findings has no section of findings and no picture") {
  const suite_options options = some_options();
  suite_result result = some_result(options);
  result.total = {.pass = 4, .fail = 0, .discard = 0, .undecided = 0};
  const std::string page = page_of(options, result);
  CHECK_FALSE(has(page, "id=\"findings\""));
  CHECK_FALSE(has(page, "<svg"));
  CHECK_FALSE(has(page, "Picture"));
  CHECK(has(page, ">NOT VERIFIED</span>"));
  CHECK(has(page, "<li>Missing: split_kv: no case passed"));
  CHECK(has(page, "<code>./assay run --cases 2000</code>"));
}

TEST_CASE("an accepted run says so, and names the next seed") {
  suite_options options = some_options();
  options.accept_blunt = true;
  suite_result result = some_result(options);
  result.total = {.pass = 4, .fail = 0, .discard = 0, .undecided = 0};
  const std::string page = page_of(options, result);
  CHECK(has(page, "verdict pass"));
  CHECK(has(page, "<code>./assay run --seed 10</code>"));
}

TEST_CASE("an empty run is not verified, and says that nothing passed") {
  const suite_options options = some_options();
  const std::string page = page_of(options, {});
  CHECK(has(page, ">NOT VERIFIED</span>"));
  CHECK(has(page, "No case ran. Give the run more time"));
  CHECK(has(page, "<code>./assay run --cases 2000</code>"));
  suite_result discarded;
  discarded.total.discard = 7;
  discarded.discards["unsupported: head_dim N"] = 7;
  const std::string without = page_of(options, discarded);
  CHECK(has(without, "unsupported: head_dim N"));
  CHECK(has(without, "See under Remarks why cases were discarded"));
}

TEST_CASE("a page loads nothing: no script, no link to a place, and a policy that admits its own style alone") {
  const suite_options options = some_options();
  const std::string page = page_of(options, some_result(options), {testing::some_finding()},
                                   {{testing::largest_pictures(), testing::largest_pictures()}});
  CHECK(has(page, "content=\"default-src 'none'; style-src '" + std::string(style_hash()) + "'; base-uri 'none'; "));
  for (const char* part : {"<script", "src=", "url(", "@import", "http:", "https:", " style=", "<link"}) {
    CAPTURE(part);
    CHECK_FALSE(has(page, part));
  }
  for (const std::string& tag : tags_of(page)) {
    CAPTURE(tag);
    CHECK_FALSE(has_handler(tag));
    if (const std::size_t at = tag.find("href=\""); at != std::string::npos) CHECK(tag[at + 6] == '#');
  }
}

TEST_CASE("the policy's hash is that of the style") {
  const testing::scratch here;
  const std::string file = here.write("style.css", std::string(style_sheet()));
  FILE* const said = popen(("sha256sum " + file).c_str(), "r");
  REQUIRE(said != nullptr);
  char hex[65] = {};
  REQUIRE(std::fread(hex, 1, 64, said) == 64);
  pclose(said);
  std::uint32_t bits = 0;
  int held = 0;
  std::string base64;
  const std::string digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  for (int i = 0; i < 64; ++i) {
    bits = bits << 4 | static_cast<std::uint32_t>(std::stoi(std::string(1, hex[i]), nullptr, 16));
    for (held += 4; held >= 6; held -= 6) base64 += digits[bits >> (held - 6) & 63U];
  }
  base64 += digits[bits << (6 - held) & 63U];       // 256 bits: 4 are left
  CHECK("sha256-" + base64 + "=" == style_hash());  // what style.cpp must say
}

TEST_CASE("hostile words of a library, a case and a path stay words") {
  suite_options options = some_options();
  options.library_arguments = " --library " + testing::hostile;
  suite_result result = some_result(options);
  result.discards[testing::hostile] = 1;
  result.accepted[testing::hostile] = 1;
  result.unwritten = {testing::hostile};
  result.undecided = {{1, options.selected[0], testing::hostile, testing::hostile, 0}};
  result.table[{testing::hostile, options.selected[0]->name, testing::hostile}].pass = 1;
  result.teeth[{testing::hostile, testing::hostile, "key_dropped"}] = {1, 1, 0.5};
  result.reached[{testing::hostile, reachable()[0].name}].pass = 1;
  result.slowest[0].types = testing::hostile;
  reported_finding f = testing::some_finding();
  f.smallest.why = testing::hostile;
  for (std::string* word : {&f.kernel, &f.types, &f.property, &f.sentence, &f.origin, &f.what, &f.hint, &f.first_load,
                            &f.history, &f.replay, &f.explain})
    *word = testing::hostile;
  f.file = testing::hostile;
  f.also = {testing::hostile};
  finding_pictures pictures{testing::largest_pictures(), {}};
  pictures.smallest.none = testing::hostile;
  pictures.smallest.maps[0].tensor = pictures.smallest.maps[0].row_axes = testing::hostile;
  pictures.smallest.maps[0].column_axis = pictures.smallest.maps[0].worst[0].index = testing::hostile;
  pictures.smallest.maps[0].sums[0].shares[0].name = pictures.smallest.ulps[0].tensor = testing::hostile;
  const std::string run = run_page(testing::hostile, options, result, {f}, source_finder({}), {pictures});
  const std::string replay = replay_page(testing::hostile, result, {}, {f}, source_finder({}), {pictures});
  const std::string one =
      case_page({testing::hostile, failed(testing::hostile, testing::hostile), f, testing::hostile, pictures.smallest},
                source_finder({}));
  for (const std::string& page : {run, replay, one}) {
    for (const char* part : {"<script", "<img", "</pre></title>", "\x1b"}) {
      CAPTURE(part);
      CHECK_FALSE(has(page.substr(page.find("</style>")), part));
    }
    CHECK(has(page, "&lt;script&gt;alert(&#39;x&#39;)"));
  }
}

TEST_CASE("a page is bounded: 100,000 cases, thousands of findings with the longest words and pictures") {
  suite_options options = some_options();
  options.cases = 100'000;
  suite_result result = some_result(options);
  result.total = {.pass = 99'000, .fail = 1000, .discard = 0, .undecided = 0};
  for (const property* p : options.selected)
    for (int t = 0; t < 12; ++t)
      result.table[{"split_kv", p->name, "types" + std::to_string(t)}] = {
          .pass = 12345, .fail = 12345, .discard = 12345, .undecided = 12345};
  for (int i = 0; i < 5000; ++i) result.discards["reason " + std::to_string(i) + std::string(5000, '&')] = i;
  reported_finding f = testing::some_finding();
  for (std::string* word : {&f.sentence, &f.what, &f.hint, &f.first_load, &f.history})
    *word = std::string(100'000, '"');
  f.smallest.why = std::string(100'000, '<');
  f.smallest.sequences.resize(10'000, {.q = 1, .k = 0, .prefix_offset = {}, .pages = {}});
  f.met = f.smallest;
  const std::vector<reported_finding> findings(3000, f);
  const std::vector<finding_pictures> pictures(most_pictured,
                                               {testing::largest_pictures(), testing::largest_pictures()});
  const std::string page = page_of(options, result, findings, pictures);
  CAPTURE(page.size());
  CHECK(page.size() <= most_page_bytes);
  CHECK(has(page, "More findings"));
  CHECK(has(page, "id=\"cases\""));
  CHECK(page.ends_with("</html>\n"));

  // Without words of that length most pictures fit, even if each is as large as one can be; the others are left out.
  const std::vector<reported_finding> usual(most_pictured, testing::some_finding());
  const std::string drawn = page_of(options, some_result(options), usual, pictures);
  CAPTURE(drawn.size());
  CHECK(drawn.size() <= most_page_bytes);
  std::size_t strips = 0;
  for (std::size_t at = 0; (at = drawn.find("<caption>Pages of the pool", at)) != std::string::npos; ++at) ++strips;
  CHECK(strips >= 6);
  CHECK_FALSE(has(drawn, "More findings"));
}

TEST_CASE("a page is for all readers: a language, a way past the navigation, headings in order, tables with headers") {
  const suite_options options = some_options();
  const std::string page =
      page_of(options, some_result(options), {testing::some_finding()}, {{testing::largest_pictures(), {}}});
  CHECK(has(page, "<html lang=\"en\">"));
  CHECK(has(page, "<a class=\"skip\" href=\"#main\">"));
  CHECK(has(page, "<main id=\"main\" tabindex=\"-1\">"));
  int level = 1;
  for (const std::string& tag : tags_of(page)) {
    CAPTURE(tag.substr(0, 200));
    if (tag.size() > 2 && tag[0] == 'h' && tag[1] >= '1' && tag[1] <= '6') {
      CHECK(tag[1] - '0' <= level + 1);
      level = tag[1] - '0';
    }
    if (tag == "th" || tag.starts_with("th ")) CHECK(has(tag, "scope="));
    if (tag.starts_with("svg ")) CHECK((has(tag, "aria-label=") || has(tag, "aria-hidden=")));
  }
  for (std::size_t at = 0; (at = page.find("<table>", at)) != std::string::npos; ++at)
    CHECK(page.compare(at, 17, "<table>\n<caption>") == 0);
}

TEST_CASE("a section that has no room is named as left out") {
  page made({.title = "t", .word = "w", .sentence = "s", .about = "a", .points = {}, .next = "", .next_command = ""});
  CHECK(made.section("empty", "Empty", ""));
  CHECK(made.section("a", "A", std::string(most_page_bytes / 2, 'x')));
  CHECK_FALSE(made.section("b", "B", std::string(most_page_bytes / 2, 'y')));
  const std::string page = made.finish();
  CHECK(page.size() <= most_page_bytes);
  CHECK(has(page, "Left out"));
  CHECK_FALSE(has(page, "yyy"));
  CHECK_FALSE(has(page, "Empty"));
}

}  // namespace
}  // namespace assay::html
