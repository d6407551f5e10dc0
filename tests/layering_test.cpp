/// Holds the house's rules (tests/layering.hpp), each with a test in which it is broken.
#include "tests/layering.hpp"

#include <algorithm>
#include <filesystem>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <catch2/catch_test_macros.hpp>

namespace fs = std::filesystem;
using namespace assay::layering;

namespace {

const fs::path root = ASSAY_SOURCE_DIR;

std::string joined(const std::vector<std::string>& lines) {
  std::ostringstream out;
  for (const std::string& line : lines) out << line << '\n';
  return out.str();
}

/// Why `path` may not include `included`, in quotes or brackets; empty if it may.
std::string refusal(const std::string& path, const std::string& included) {
  const bool is_hip = included.starts_with("hip/");
  return joined(broken_includes({{path, {"#include " + (is_hip ? "<" + included + ">" : '"' + included + '"')}}}));
}

bool names(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

std::vector<std::size_t> lengths_in(const std::vector<std::string>& lines) {
  std::vector<std::size_t> lengths;
  for (const function_length& f : functions_of({"oracle/a.cpp", lines})) lengths.push_back(f.lines);
  return lengths;
}

}  // namespace

TEST_CASE("rooms include only downwards, and the oracle shares only the problem with the kernels", "[layering]") {
  const auto broken = broken_includes(code_below(root));
  INFO(joined(broken));
  CHECK(broken.empty());
}

TEST_CASE("the include rule finds an upward include, and an oracle that shares kernel code", "[layering]") {
  CHECK(names(refusal("oracle/a.cpp", "properties/case/case.hpp"), "upwards"));
  CHECK(names(refusal("oracle/a.cpp", "kernels/device/paging.hpp"), "shares more"));
  CHECK(names(refusal("oracle/a.cpp", "hip/hip_runtime.h"), "shares more"));
  CHECK(names(refusal("kernels/split_kv/a.hip", "oracle/enclosure.hpp"), "upwards"));
  CHECK(names(refusal("properties/case/case.cpp", "fuzz/edits.hpp"), "upwards"));
  CHECK(names(refusal("properties/cli/cli.cpp", "python/module/python_array.hpp"), "upwards"));
  CHECK(refusal("python/module/module.cpp", "properties/cli/program.hpp").empty());
  CHECK(broken_includes({{"oracle/a.cpp", {"#include \"kernels/problem.hpp\"", "#include <vector>"}}}).empty());
}

TEST_CASE("the include rule keeps the floors of properties/", "[layering]") {
  CHECK(names(refusal("properties/case/a.cpp", "properties/data/fill.hpp"), "upwards"));
  CHECK(names(refusal("properties/suite/a.cpp", "properties/campaign/target.hpp"), "upwards"));
  CHECK(names(refusal("properties/relations/a.cpp", "properties/explain/story.hpp"), "its own floor"));
  CHECK(names(refusal("properties/generate/a.cpp", "properties/run/run_case.hpp"), "its own floor"));
  CHECK(names(refusal("properties/misc/a.cpp", "properties/case/case.hpp"), "without a floor"));
  CHECK(names(refusal("properties/cli/a.cpp", "properties/misc/a.hpp"), "without a floor"));
  CHECK(refusal("properties/cli/a.cpp", "properties/nightly/stages.hpp").empty());
  CHECK(refusal("properties/run/a.cpp", "properties/run/run_case.hpp").empty());
}

TEST_CASE("the include rule keeps kernels apart from each other, and from the platform's insides", "[layering]") {
  CHECK(names(refusal("kernels/problem.hpp", "kernels/device/math.hpp"), "upwards"));
  CHECK(names(refusal("kernels/split_kv/a.cpp", "kernels/mqa_logits/mqa_logits_host.hpp"), "another kernel"));
  CHECK(names(refusal("kernels/new_kernel/a.cpp", "kernels/split_kv/plan.hpp"), "another kernel"));
  CHECK(names(refusal("kernels/split_kv/a.cpp", "kernels/registry.cpp"), "upwards"));
  CHECK(names(refusal("kernels/split_kv/a.hip", "kernels/platform/cpu/device.hpp"), "vendor's platform"));
  CHECK(names(refusal("kernels/split_kv/a.hip", "kernels/platform/common/math_errors.hpp"), "a platform"));
  CHECK(names(refusal("kernels/host/a.cpp", "kernels/device/math.hpp"), "its own floor"));
  CHECK(names(refusal("kernels/host/a.cpp", "kernels/split_kv/plan.hpp"), "upwards"));
  CHECK(names(refusal("kernels/device/a.hpp", "kernels/platform/nvidia/device.hpp"), "a platform"));
  CHECK(refusal("kernels/split_kv/a.hip", "kernels/platform/current.hpp").empty());
  CHECK(refusal("kernels/split_kv/a.hip", "hip/hip_runtime.h").empty());
  CHECK(refusal("kernels/registry.cpp", "kernels/split_kv/split_kv_host.hpp").empty());
}

TEST_CASE("the include rule keeps the floors of the platforms", "[layering]") {
  CHECK(names(refusal("kernels/platform/cpu/base/a.cpp", "kernels/platform/cpu/checker/clock.hpp"), "upwards"));
  CHECK(names(refusal("kernels/platform/cpu/checker/a.cpp", "kernels/platform/cpu/executor/wave.hpp"), "upwards"));
  CHECK(names(refusal("kernels/platform/cpu/executor/a.cpp", "hip/hip_runtime.h"), "upwards"));
  CHECK(names(refusal("kernels/platform/cpu/hip/a.cpp", "kernels/platform/cpu/device.hpp"), "upwards"));
  CHECK(names(refusal("kernels/platform/cpu/device.hpp", "kernels/platform/nvidia/hip/hip_runtime.h"), "vendor"));
  CHECK(names(refusal("kernels/platform/nvidia/device.hpp", "kernels/platform/amd/device.hpp"), "floor"));
  CHECK(names(refusal("kernels/contract.hpp", "hip/hip_runtime.h"), "upwards"));
  CHECK(refusal("kernels/platform/nvidia/device.hpp", "hip/hip_runtime.h").empty());
  CHECK(refusal("kernels/platform/amd/device.hpp", "hip/hip_runtime.h").empty());
}

TEST_CASE("no rooms include each other in a circle", "[layering]") {
  const auto circle = circle_in(arrows_between(code_below(root)));
  INFO(joined(circle));
  CHECK(circle.empty());
}

TEST_CASE("a circle of rooms is found and named", "[layering]") {
  const source a{"properties/case/a.cpp", {"#include \"properties/data/a.hpp\""}};
  const source b{"properties/data/a.cpp", {"#include \"properties/run/a.hpp\"", "#include \"oracle/a.hpp\""}};
  const source c{"properties/run/a.cpp", {"#include \"properties/data/a.hpp\"", "#include \"properties/data/b.hpp\""}};
  CHECK(circle_in(arrows_between({a, b})).empty());
  CHECK(circle_in(arrows_between({a, b, c})) == std::vector<std::string>{"properties/data", "properties/run"});
  CHECK(arrows_between({c}) == arrows{{{"properties/run", "properties/data"}, 2}});
}

TEST_CASE("no two rooms have a file of the same name", "[layering]") {
  const auto shared = shared_names(code_below(root));
  INFO(joined(shared));
  CHECK(shared.empty());
}

TEST_CASE("a name that two rooms share is found, one that vendors share is not", "[layering]") {
  const auto shared = shared_names({{"oracle/a.hpp", {}}, {"fuzz/a.hpp", {}}, {"tests/b.hpp", {}}, {"fuzz/b.hpp", {}}});
  CHECK(shared == std::vector<std::string>{"a.hpp: fuzz/a.hpp oracle/a.hpp"});
  CHECK(shared_names({{"kernels/split_kv/plan.hpp", {}}, {"kernels/host/plan.hpp", {}}}).size() == 1);
  CHECK(shared_names({{"kernels/platform/cpu/device.hpp", {}}, {"kernels/platform/amd/device.hpp", {}}}).empty());
  CHECK(shared_names({{"kernels/platform/cpu/hip/a.h", {}}, {"kernels/platform/cpu/base/a.h", {}}}).size() == 1);
}

TEST_CASE("no file hides randomness or a comparison that a NaN passes", "[layering]") {
  const auto found = blind_lines(code_below(root));
  INFO(joined(found));
  CHECK(found.empty());
  CHECK(blind_lines({{"oracle/a.cpp", {"if (std::abs(a - b) > tol) fail();"}}}).size() == 1);
}

TEST_CASE("functions have at most 70 lines", "[layering]") {
  // Longer since before the rule: to be split, not to be joined by others.
  static const std::set<std::string> known = {"kernels/split_kv/split_kv_kernel.hpp"};
  std::size_t functions = 0;
  for (const source& s : code_below(root))
    for (const function_length& f : functions_of(s)) {
      ++functions;
      INFO(f.path << ':' << f.line << ": " << f.lines << " lines");
      CHECK((f.lines <= 70 || known.contains(f.path)));
    }
  CHECK(functions > 1000);  // it sees them
}

TEST_CASE("lengths of functions are those from brace to brace, of namespaces and of classes", "[layering]") {
  CHECK(lengths_in({"namespace a {", "int f(int x) {", "  if (x) {", "  }", "}", "}"}) == std::vector<std::size_t>{4});
  CHECK(lengths_in({"struct [[x(1)]] a : b<(1)> {", "  int f() const {", "    return 1;", "  }",
                    "  int g() { return 2; }", "};"}) == std::vector<std::size_t>{3, 1});
  CHECK(lengths_in({"a::a(int x)", "    : b_(x) {", "}"}) == std::vector<std::size_t>{2});
  CHECK(lengths_in({"bool operator==(a x, a y) {", "  return true;", "}"}) == std::vector<std::size_t>{3});
  CHECK(lengths_in({"TEST_CASE(\"a {\", \"[b]\") {", "  // }", "  f('}', R\"x(}", ")x\");", "}"}) ==
        std::vector<std::size_t>{5});
  CHECK(lengths_in({"constexpr int all[] = {", "  f(1),", "};", "enum class e { a = f(1) };"}).empty());
  CHECK(lengths_in({"#define OPEN(x) \\", "  {", "void f() {", "  const int n = 1'000;", "}"}) ==
        std::vector<std::size_t>{3});
}

TEST_CASE("banned words become fewer", "[layering]") {
  const auto broken = broken_ceilings(texts_below(root), read_word_rules(root / "tests" / "words.txt"));
  INFO(joined(broken));
  CHECK(broken.empty());
}

TEST_CASE("a banned word above its area's ceiling is found, an allowed one is not", "[layering]") {
  word_rules rules{{"whilom"}, {{{"fuzz", "whilom"}, 1}}, {{"oracle/allowed.md", "whilom"}}};
  CHECK(broken_ceilings({{"fuzz/a.cpp", {"// Whilom."}}, {"oracle/allowed.md", {"whilom"}}}, rules).empty());
  CHECK(broken_ceilings({{"oracle/a.cpp", {"// whilom"}}}, rules).size() == 1);
  CHECK(broken_ceilings({{"fuzz/a.cpp", {"// whilom", "\"a whilom b\""}}}, rules).size() == 1);
  CHECK(broken_ceilings({{"oracle/a.cpp", {"int whilom_a, awhilom;"}}}, rules).empty());
}

TEST_CASE("files stay small: median at most 120 lines, none over 500, fuzz targets at most 40", "[layering]") {
  std::vector<std::size_t> lines;
  for (const source& s : code_below(root)) {
    lines.push_back(s.lines.size());
    INFO(s.path << ": " << s.lines.size() << " lines");
    CHECK(s.lines.size() <= (s.path.starts_with("fuzz/fuzz_") ? 40U : 500U));
  }
  std::sort(lines.begin(), lines.end());
  REQUIRE(!lines.empty());
  CHECK(lines[lines.size() / 2] <= 120);
}

TEST_CASE("the top level holds the named rooms and nothing else", "[layering]") {
  static const std::set<std::string> rooms = {
      "kernels",   "oracle", "properties",        "fuzz",    "corpus",       "tests",           "CMakeLists.txt",
      "README.md", "assay",  "CMakePresets.json", "LICENSE", "CHANGELOG.md", "CONTRIBUTING.md", "docs",
      "examples",  "python", "pyproject.toml"};
  static const std::set<std::string> made_here = {"build", "out"};  // ignored by git
  for (const auto& entry : fs::directory_iterator(root)) {
    const std::string name = entry.path().filename().string();
    INFO(name);
    CHECK((name.starts_with('.') || rooms.contains(name) || made_here.contains(name)));
  }
}
