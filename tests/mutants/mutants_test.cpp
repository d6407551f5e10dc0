// The mutator: known sources give known mutants, and what is no code gives none.
#include "tests/mutants/mutate.hpp"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>

#include "properties/system/errors.hpp"
#include "properties/system/write_file.hpp"
#include "tests/mutants/equivalents.hpp"
#include "tests/mutants/source_tokens.hpp"
#include "tests/mutants/try_mutants.hpp"
#include "tests/properties/scratch.hpp"

namespace assay::mutants {
namespace {

namespace fs = std::filesystem;

/// "operation: mutated line", in the order of places.
std::vector<std::string> changes(const std::string& source) {
  std::vector<std::string> all;
  for (const mutant& m : mutants_of("a.cpp", source)) all.push_back(m.operation + ": " + m.after);
  return all;
}

using lines = std::vector<std::string>;

}  // namespace

TEST_CASE("tokens know their place and the space around them; comments, texts and directives are no code") {
  const std::string source =
      "#include <a>\n#define B \\\n  c < d\n// x < y\nint f(/* a < b */ int n) { return n<2 ? 'a' : 1'000u; }\n"
      "auto s = R\"x(a < \"b\")x\" \"c\\\" < d\";\n";
  std::vector<std::string> spellings;
  for (const token& t : tokens_of(source)) spellings.emplace_back(t.spelling);
  CHECK(spellings == lines{"int",           "f", "(", "int",  "n", ")",   "{",
                           "return",        "n", "<", "2",    "?", "'a'", ":",
                           "1'000u",        ";", "}", "auto", "s", "=",   "R\"x(a < \"b\")x\"",
                           "\"c\\\" < d\"", ";"});
  const std::vector<token> all = tokens_of("a <\n b<c> d");
  CHECK(all[1].after_space);
  CHECK(all[1].before_space);
  CHECK_FALSE(all[3].after_space);
  CHECK(all[2].line == 2);
  CHECK(all[6].after_space);
}

TEST_CASE("a snippet gives the known list of mutants") {
  CHECK(changes("void f(int n) {\n  if (n < 3 && g(n, k)) return;\n}\n") ==
        lines{"negated condition: if (!(n < 3 && g(n, k))) return;", "comparison: if (n <= 3 && g(n, k)) return;",
              "constant: if (n < 2 && g(n, k)) return;", "constant: if (n < 4 && g(n, k)) return;",
              "logic: if (n < 3 || g(n, k)) return;", "swapped arguments: if (n < 3 && g(k, n)) return;",
              "dropped jump: if (n < 3 && g(n, k)) ;"});
  CHECK(changes("{\n  x += a * b;\n}") ==
        lines{"dropped statement: ;", "arithmetic: x -= a * b;", "arithmetic: x += a / b;"});
  CHECK(changes("{\n  __syncthreads();\n}") == lines{"dropped barrier: ;"});
  CHECK(changes("{\n  const std::int64_t x = min_of<int>(y, 0.5F);\n}") ==
        lines{"narrowed type: const std::int32_t x = min_of<int>(y, 0.5F);",
              "other bound: const std::int64_t x = max_of<int>(y, 0.5F);",
              "constant: const std::int64_t x = min_of<int>(y, (1.01F * 0.5F));"});
  CHECK(changes("{\n  y = x ? true : 0.0F;\n}") ==
        lines{"dropped statement: ;", "constant: y = x ? false : 0.0F;", "constant: y = x ? true : 1.0F;"});
  CHECK(changes("{\n  a[i] = 0x1FU;\n}") ==
        lines{"dropped statement: ;", "constant: a[i] = 0x1EU;", "constant: a[i] = 0x20U;"});
}

TEST_CASE("what is no code, or no operation, is not mutated") {
  for (const char* source :
       {"// a < b;\n", "/* x = 1; */\n", "const char* s = \"a < b + 1\";\n",
        "#if A < 2\n#include \"a-1.hpp\"\n#endif\n", "template <class T, int N = 3>\nvoid f(T&& x, int* y);\n",
        "template <class A = std::array<int, 4>>\nstruct s;\n", "static_assert(sizeof(x) == 4, \"y\");\n",
        "[[gnu::aligned(16)]] int x;\n", "enum kind : int { a = 1, b = 2 };\n", "using x = a<3>;\n",
        "std::vector<std::array<T, N>> f(T const& x);\n", "bool operator<(const a& x, const a& y);\n",
        "{ return refuse(x, \"%d exceeds %d\", n - 1, 2); }", "void f(std::int32_t a, const T* b);\n"}) {
    INFO(source);
    CHECK(changes(source).empty());
  }
}

TEST_CASE("declarations are not dropped, and parameters are not swapped") {
  const auto has = [](const std::string& source, const std::string& operation) {
    return std::ranges::any_of(changes(source), [&](const std::string& c) { return c.starts_with(operation); });
  };
  CHECK_FALSE(has("{\n  float x = f(y);\n}", "dropped"));
  CHECK_FALSE(has("{\n  device::accumulator<float> s(a);\n}", "dropped"));
  CHECK_FALSE(has("void f(std::int64_t a, int b) {\n}", "swapped"));
  CHECK_FALSE(has("{\n  x = max_of(a, b);\n}", "swapped"));
  CHECK(has("{\n  s.f(a);\n}", "dropped statement"));
  CHECK(has("{\n  ++x;\n}", "dropped statement"));
  CHECK(has("{\n  a.b[f(x, y)] *= z;\n}", "dropped statement"));
  CHECK(has("{\n  p = f<int>(a * 2, b->c);\n}", "swapped"));
}

TEST_CASE("a mutant keeps the lines, and is a patch of one line") {
  const std::string source = "int f(int a) {\n  return a + 1;\n}\n";
  for (const mutant& m : mutants_of("kernels/a.hpp", source)) {
    const std::string mutated = mutated_text(source, m);
    CHECK(mutated != source);
    CHECK(std::ranges::count(mutated, '\n') == 3);
    CHECK(m.line == 2);
    CHECK(m.before == "return a + 1;");
    CHECK(mutated.find("  " + m.after + "\n") != std::string::npos);
  }
  CHECK(patch_text(source, mutants_of("kernels/a.hpp", source).front()) ==
        "--- a/kernels/a.hpp\n+++ b/kernels/a.hpp\n@@ -2 +2 @@\n-  return a + 1;\n+  return a - 1;\n");
}

TEST_CASE("a sample depends on the seed alone, and a larger one begins with the smaller one") {
  std::vector<mutant> all(50);
  for (std::size_t i = 0; i < all.size(); ++i) all[i].at = i;
  const std::vector<mutant> few = sampled(all, 5, 7), more = sampled(all, 20, 7);
  CHECK(few.size() == 5);
  CHECK(std::ranges::equal(few, std::vector(more.begin(), more.begin() + 5)));
  CHECK(sampled(all, 5, 8) != few);
  CHECK(sampled(all, 0, 7).size() == 50);
}

TEST_CASE("equivalent mutants are known by content; a broken list is refused by line") {
  const testing::scratch here;
  const std::string file = here.write(
      "list.txt", "# a comment\na.cpp\n- x = 1;\n+ x = 2;\nreason: x is not read\n\na.cpp\n- y;\n+ ;\nreason: z\n");
  const std::vector<equivalent> known = read_equivalents(file);
  REQUIRE(known.size() == 2);
  mutant m{"a.cpp", 9, "constant", 0, 0, {}, "x = 1;", "x = 2;"};
  REQUIRE(find(known, m) != nullptr);
  CHECK(find(known, m)->reason == "x is not read");
  m.after = "x = 0;";
  CHECK(find(known, m) == nullptr);
  try {
    read_equivalents(here.write("bad.txt", "a.cpp\n- x = 1;\nreason: none\n"));
    FAIL("read it");
  } catch (const case_error& e) {
    CHECK(std::string(e.what()).find("bad.txt:3: a block is") != std::string::npos);
  }
}

TEST_CASE("survivors of a result are chosen again by content, but those that are equivalent or gone") {
  const testing::scratch here;
  mutation_result result;
  const auto add = [&](const char* after, fate what) {
    result.tried.push_back({{"a.cpp", 9, "constant", 0, 0, {}, "x = 1;", after}, what, {}, {}, 0, 0});
  };
  add("x = 2;", fate::survived), add("x = 3;", fate::killed), add("x = 4;", fate::survived);
  add("x = 5;", fate::survived);
  mutation_options options;
  options.again = {here.write("result.json", mutation_json(result, options, 0))};
  std::vector<mutant> all;
  for (const char* after : {"x = 2;", "x = 3;", "x = 4;"}) all.push_back({"a.cpp", 7, "c", 0, 0, {}, "x = 1;", after});
  std::vector<std::string> gone;
  const std::vector<mutant> again = chosen(options, {{"a.cpp", "x = 1;", "x = 4;", "why"}}, all, gone);
  REQUIRE(again.size() == 1);
  CHECK(again.front() == all.front());
  CHECK(gone == lines{"a.cpp: x = 5;"});
  options.again = {here.write("other.json", "{}")};
  CHECK_THROWS_AS(chosen(options, {}, all, gone), case_error);
}

TEST_CASE("only kernels and their host code are mutated, and every listed equivalent is a mutant of them") {
  const fs::path root = ASSAY_SOURCE_DIR;
  const std::vector<kernel_recipe> recipes = read_recipes(fs::path(ASSAY_BINARY_DIR) / "mutants" / "kernels.txt");
  CHECK(recipes.size() == 4);
  const reach reached = reach_of(root, recipes);
  CHECK(reached.contains("kernels/split_kv/split_kv_kernel.hpp"));
  CHECK(reached.contains("kernels/host/check.cpp"));
  CHECK(reached.at("kernels/device/softmax.hpp").size() > 1);
  CHECK(reached.at("kernels/split_kv/combine.hip").size() == 1);
  for (const auto& [path, kernels] : reached) {
    INFO(path);
    CHECK((path.starts_with("kernels/") && !path.starts_with("kernels/platform/")));
    CHECK(path.find("contract") == std::string::npos);
  }
  mutation_options options;
  options.sources = root;
  const std::vector<mutant> all = all_mutants(options, reached);
  CHECK(all.size() > 1000);
  for (const equivalent& e : read_equivalents(root / "tests" / "mutants" / "equivalent.txt")) {
    INFO(e.path << ": " << e.after);
    CHECK(e.reason.size() > 10);
    CHECK(std::ranges::any_of(all, [&](const mutant& m) { return find({e}, m) != nullptr; }));
  }
}

TEST_CASE("the score leaves out what is equivalent or not built") {
  mutation_result r;
  CHECK(r.score() == 1);
  for (const fate f :
       {fate::killed, fate::killed, fate::killed, fate::survived, fate::equivalent, fate::not_built, fate::same_object})
    r.tried.push_back({{}, f, {}, {}, 0, 0});
  CHECK(r.score() == 0.75);
  r.tried[3].change = {"a.hpp", 3, "comparison", 0, 0, "<=", "a < b", "a <= b"};
  CHECK(mutation_text(r, {}).find("a.hpp:3: comparison") != std::string::npos);
  CHECK(mutation_json(r, {}, 0.9).find("\"verified\":false") != std::string::npos);
  CHECK(mutation_json(r, {}, 0.7).find("\"verified\":true") != std::string::npos);
  CHECK(mutation_json(r, {}, 0.7).find("mutant survived") != std::string::npos);
}

}  // namespace assay::mutants
