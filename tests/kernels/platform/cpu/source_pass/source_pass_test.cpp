#include "kernels/platform/cpu/source_pass/source_pass.hpp"

#include <algorithm>
#include <array>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <numeric>
#include <string>
#include <vector>

#include "tests/kernels/platform/cpu/checking.hpp"
#include "tests/kernels/platform/cpu/source_pass/launched.hpp"
#include "tests/source_place.hpp"

using assay::source_pass::rewritten;
using namespace assay::cpu;

namespace {

std::string launched_line(std::string_view text) {
  return assay::testing::place_of(ASSAY_SOURCE_DIR "/tests/kernels/platform/cpu/source_pass/launched.hip", text);
}

}  // namespace

TEST_CASE("A launch becomes a call, with what it leaves out", "[source_pass]") {
  CHECK(rewritten("void f() { k<<<g, b>>>(x, y); }") ==
        "void f() { ::assay::cpu::launch_kernel(\"k\", k, g, b, 0, nullptr, x, y); }");
  CHECK(rewritten("k<<<g, b, n>>>();") == "::assay::cpu::launch_kernel(\"k\", k, g, b, n, nullptr);");
  CHECK(rewritten("k<<<dim3(1, 2), {3, 4}, n, s>>>(x);") ==
        "::assay::cpu::launch_kernel(\"k\", k, dim3(1, 2), {3, 4}, n, s, x);");
  CHECK(rewritten("a::b<c, (d > 2)>::k<e<f>><<<g, b>>>(x);") ==
        "::assay::cpu::launch_kernel(\"a::b<c,(d>2)>::k<e<f>>\", a::b<c, (d > 2)>::k<e<f>>, g, b, 0, nullptr, x);");
  CHECK(rewritten("(*table[i])<<<g, b>>>(x);") ==
        "::assay::cpu::launch_kernel(\"(*table[i])\", (*table[i]), g, b, 0, nullptr, x);");
  CHECK(rewritten("if (c) ::k<<<g, b>>>(x);") ==
        "if (c) ::assay::cpu::launch_kernel(\"::k\", ::k, g, b, 0, nullptr, x);");
  CHECK(rewritten("s.k<<<g, b>>>([] { j<<<1, 1>>>(); });") ==
        "::assay::cpu::launch_kernel(\"s.k\", s.k, g, b, 0, nullptr, "
        "[] { ::assay::cpu::launch_kernel(\"j\", j, 1, 1, 0, nullptr); });");
  // Where a call must deduce template arguments, the kernel is called by name.
  const std::string of_two =
      "template <class A, class B, int N = (2 > 1)> __attribute__((global)) void k(A a, B* b);\n";
  CHECK(rewritten(of_two + "void f() { ns::k<int><<<g, b>>>(x, y); }") ==
        of_two +
            "void f() { ::assay::cpu::launch_call(\"ns::k<int>\", [&](const auto&... given) { "
            "ns::k<int>(given...); }, g, b, 0, nullptr, x, y); }");
  CHECK(rewritten(of_two + "void f() { k<<<g, b>>>(); }") ==
        of_two +
            "void f() { ::assay::cpu::launch_call(\"k\", [&](const auto&... given) { k(given...); }, g, b, 0, "
            "nullptr); }");
  CHECK(rewritten(of_two + "void f() { k<int, s<int, 2>><<<g, b>>>(); }") ==
        of_two + "void f() { ::assay::cpu::launch_kernel(\"k<int,s<int,2>>\", k<int, s<int, 2>>, g, b, 0, nullptr); }");
  const std::string of_pack = "template <int N, class... T> void k(T... t);\n";
  CHECK(rewritten(of_pack + "void f() { k<3><<<g, b>>>(x); }") ==
        of_pack +
            "void f() { ::assay::cpu::launch_call(\"k<3>\", [&](const auto&... given) { k<3>(given...); }, g, b, "
            "0, nullptr, x); }");
  // Line markers stay at the start of a line.
  CHECK(rewritten("k<<<g,\n# 7 \"f.h\" 2\nb>>>(x);") ==
        "::assay::cpu::launch_kernel(\"k\", k, g,\n# 7 \"f.h\" 2\nb, 0, nullptr, x);");
}

TEST_CASE("Shared variables become thread-local, each behind a guard, and dynamic ones a pointer", "[source_pass]") {
  const std::string lds = R"(__attribute__((used, section("assay_lds"))) static thread_local )";
  const std::string guard = lds + "char assay_shared_guard_";
  CHECK(rewritten("{ __shared__ int a[4]; }") == "{ " + guard + "0[256]; " + lds + "int a[4]; }");
  CHECK(rewritten("{ static __shared__ int a; __shared__ int b; }") ==
        "{ " + guard + "0[256];  " + lds + "int a; " + guard + "1[256]; " + lds + "int b; }");
  CHECK(rewritten("{ alignas(16) __shared__ int a[4]; }") ==
        "{ " + guard + "0[256]; alignas(16) " + lds + "int a[4]; }");
  const std::string pointer = "unsigned char* const a = reinterpret_cast<unsigned char*>(::assay::cpu::dynamic_lds());";
  for (const std::string declared :
       {"extern __shared__ unsigned char a[];", "extern __shared__ __attribute__((aligned(16))) unsigned char a[];",
        "extern __shared__ alignas(16) unsigned char a[];", "extern __attribute__((shared)) unsigned char a[];",
        "__shared__ extern unsigned char a[ ];"})
    CHECK(rewritten("void f() { if (x) { " + declared + " } }") == "void f() { if (x) { " + pointer + " } }");
  CHECK(rewritten("namespace n { extern __shared__ float a[]; }") ==
        "namespace n { [[maybe_unused]] static constexpr ::assay::cpu::dynamic_lds_of<float> a{}; }");
}

TEST_CASE("The address of what may be a vector's element, only where an address is taken", "[source_pass]") {
  const auto address = [](const std::string& object, int index, const char* name) {
    return "[](auto& object) { if constexpr (::assay::cpu::is_vector<decltype(object)>) return "
           "::assay::cpu::component_of<" +
           std::to_string(index) + ">(object); else return &object." + name + "; }(" + object + ")";
  };
  const auto in_function = [](const std::string& text) { return "void f() { " + text + " }"; };
  CHECK(rewritten(in_function("p = &v.x;")) == in_function("p = " + address("v", 0, "x") + ";"));
  CHECK(rewritten(in_function("f((int*)&a[i].w, 1);")) == in_function("f((int*)" + address("a[i]", 3, "w") + ", 1);"));
  CHECK(rewritten(in_function("return &p->y;")) == in_function("return " + address("*(p)", 1, "y") + ";"));
  CHECK(rewritten(in_function("f(&n::a.b(1)->c.z);")) == in_function("f(" + address("n::a.b(1)->c", 2, "z") + ");"));
  CHECK(rewritten(in_function("*(T*)&(p->x) = 1;")) == in_function("*(T*)" + address("*(p)", 0, "x") + " = 1;"));
  CHECK(rewritten(in_function("p = &v.hi;")).find("half_of<1>(object)") != std::string::npos);
  for (const std::string same : {"p = &(v.x)[1];", "a = b &v.x;", "a = (b) & c.x;", "a = b && c.x;", "p = &v.x.y[0];",
                                 "p = &v.x();", "p = &v.data;", "p = &x;", "p = &this->x;", "auto& r = v.x;"})
    CHECK(rewritten(in_function(same)) == in_function(same));
}

TEST_CASE("A launch by addresses keeps the kernel's type", "[source_pass]") {
  const std::string call = "::assay::cpu::launch_with_addresses(\"k<int>\", k<int>, g, b, a, 0, s);";
  for (const std::string kernel : {"(void*)k<int>", "(const void*)k<int>", "reinterpret_cast<void*>(k<int>)",
                                   "reinterpret_cast<const void*>(k<int>)"}) {
    const bool is_cast = kernel.starts_with('r');
    CHECK(rewritten("hipLaunchKernel(" + kernel + ", g, b, a, 0, s);") ==
          (is_cast ? "::assay::cpu::launch_with_addresses(\"(k<int>)\", (k<int>), g, b, a, 0, s);" : call));
  }
  CHECK(rewritten("hipLaunchKernel(k, g, b, a);") == "hipLaunchKernel(k, g, b, a);");
}

TEST_CASE("A template of a class that depends on others is said to be one", "[source_pass]") {
  CHECK(rewritten("void f() { a<T, S>::g<n>(x); }") == "void f() { a<T, S>::template g<n>(x); }");
  CHECK(rewritten("void f() { return a<T>::g<b<n>, c::d>(x); }") ==
        "void f() { return a<T>::template g<b<n>, c::d>(x); }");
  for (const std::string same :
       {"void f() { a<T>::template g<n>(x); }", "void f() { return a<T>::value < n; }", "void f() { a<T>::g(x); }",
        "template <> void a<T>::g<3>(int);", "void f() { return x > ::g<3>(y); }", "void f() { a::g<3>(y); }",
        "void f() { typename a<T>::b<n> x; }", "\n# 1 \"s.h\" 1 3\nvoid f() { a<T>::g<n>(x); }"})
    CHECK(rewritten(same) == same);
}

TEST_CASE("Labels of LLVM's intrinsics become the platform's", "[source_pass]") {
  CHECK(rewritten("int f(int) __asm(\"llvm.amdgcn.raw.buffer.load.i32\");") ==
        "int f(int) __asm(\"assay.amdgcn.raw.buffer.load.i32\");");
  CHECK(rewritten("g(\"llvm.amdgcn.x\"); int f() asm(\"other\");") == "g(\"llvm.amdgcn.x\"); int f() asm(\"other\");");
}

TEST_CASE("Inline assembly becomes a call with its operands", "[source_pass]") {
  const auto in_function = [](const std::string& text) { return "void f() { " + text + " }"; };
  const auto call = [&](const std::string& text, const std::string& operands) {
    return in_function("::assay::cpu::run_assembly(" + text + ", ::std::source_location::current(), {" + operands +
                       "});");
  };
  CHECK(rewritten(in_function("asm volatile(\"s_barrier\");")) == call("\"s_barrier\"", ""));
  CHECK(rewritten(in_function("asm volatile(\"a\" \"b\" :: \"r\"(x), \"n\"((int)4) : \"memory\");")) ==
        call("\"a\" \"b\"", "::assay::cpu::assembly_input(x), ::assay::cpu::assembly_input((int)4)"));
  CHECK(rewritten(in_function("asm(\"a\" : \"=f\"(c[0]), \"+r\"(d) : \"l\"(p));")) ==
        call("\"a\"",
             "::assay::cpu::assembly_output(c[0]), ::assay::cpu::assembly_output(d), "
             "::assay::cpu::assembly_input(p)"));
  CHECK(rewritten(in_function("asm(\"a %[to], %[of], %[to], %2\" : [to] \"=v\"(x) : [of] \"v\"(y), \"v\"(z));")) ==
        call("\"a %0, %1, %0, %2\"",
             "::assay::cpu::assembly_output(x), ::assay::cpu::assembly_input(y), ::assay::cpu::assembly_input(z)"));
  CHECK(rewritten(in_function("asm(\"a %[r], %1, %[given]\" : [r] \"=v\"(x) : \"v\"(y), [given] \"v\"(z[0]));")) ==
        call("\"a %0, %1, %2\"",
             "::assay::cpu::assembly_output(x), ::assay::cpu::assembly_input(y), ::assay::cpu::assembly_input(z[0])"));
  const std::string of_element = rewritten(in_function("__asm__ __volatile__(\"a\" : \"=r\"(v.y));"));
  CHECK(of_element.find("assembly_output(*[](auto& object)") != std::string::npos);
  // Not in system headers, and no label of a declaration.
  for (const std::string same : {"# 1 \"/usr/include/x.h\" 1 3\nvoid f() { asm volatile(\"pause\"); }",
                                 "void f() { int g(int) __asm__(\"h\"); }", "asm(\".globl x\");"})
    CHECK(rewritten(same) == same);
}

TEST_CASE("A function of the host is left out beside its twin for the device, and nothing else", "[source_pass]") {
  const std::string host = "__attribute__((assay_host)) ";
  CHECK(rewritten("struct s { public: static " + host +
                  "int f(int a) { return a; } static int f(int a) { return 1; } };") ==
        "struct s { public:  static int f(int a) { return 1; } };");
  CHECK(rewritten("inline int f()\n{ return 1; }\n" + host + "int f()\n{\n return 2; }\nint g();") ==
        "inline int f()\n{ return 1; }\n\n\n\nint g();");
  // Specialisations of templates, each by its arguments.
  CHECK(rewritten("template <> " + host + "int f<a::b>(int c) { return c; } template <> " + host +
                  "int f<d>(int c) { return c; } template <> int f<a::b>(int c) { return 1; }") ==
        " template <>  int f<d>(int c) { return c; } template <> int f<a::b>(int c) { return 1; }");
  // Constructors, which may differ in how they begin; operators; and members that are declared alone.
  CHECK(rewritten("struct s { s(int a) : x(a) {} " + host + "s(int a) : x{a}, y(1) { y = 2; } int x, y; };") ==
        "struct s { s(int a) : x(a) {}  int x, y; };");
  CHECK(rewritten("struct s { " + host + "int operator()(int a) const; int operator()(int a) const { return 1; } };") ==
        "struct s {  int operator()(int a) const { return 1; } };");
  CHECK(rewritten("template <> int f::operator()<int>() { return 1; } template <> " + host +
                  "int f::operator()<int>() { return 2; }") == "template <> int f::operator()<int>() { return 1; } ");
  CHECK(rewritten("int f() const { return 1; } " + host + "int f() { return 2; }") ==
        "int f() const { return 1; }  int f() { return 2; }");
  for (const std::string rest : {"int f() { return 1; } int f(int) { return 2; }",               // other parameters
                                 "int f() { return 1; } namespace n { int f() { return 2; } }",  // another scope
                                 "int f(); int f() { return 1; }",                               // declared and defined
                                 "int a = f(1);", "auto l = [](int i) { return i; };"})
    CHECK(rewritten(host + rest) == " " + rest);
  CHECK(rewritten(host + "int f() { return 1; } " + host + "int f() { return 2; }") ==
        " int f() { return 1; }  int f() { return 2; }");  // wrong in HIP, too: the compiler says so
}

TEST_CASE("What looks like it stays as it is", "[source_pass]") {
  for (const std::string same :
       {"x = a << b < c; y = a >> b > c;", "f(\"k<<<g, b>>>(x); __shared__\");",
        "f(R\"x(k<<<1, 1>>>() \" )x\", '\"', '\\'');", "friend ostream& operator<<<char>(ostream&, s<char>);",
        "x = 1'000'000 << 1.5e-3 < 0xe-1;", "# 3 \"__shared__\" k<<<1, 1>>>()\nint a;", "auto s = u8\"__shared__\";"})
    CHECK(rewritten(same) == same);
}

TEST_CASE("What cannot be rewritten is refused with its place", "[source_pass]") {
  const auto refuses = [](const std::string& text, const std::string& message) {
    INFO(text);
    CHECK_THROWS_MATCHES(rewritten(text), assay::source_pass::unclear_source, Catch::Matchers::Message(message));
  };
  refuses("# 12 \"a.hip\"\n\nvoid f() { <<<1, 1>>>(); }", "a.hip:13: '<<<' without a kernel before it");
  refuses("k<<<1>>>();", "the source:1: '<<<' takes two to four arguments");
  refuses("k<<<1, 1, 1, 1, 1>>>();", "the source:1: '<<<' takes two to four arguments");
  refuses("k<<<1, 1;", "the source:1: '<<<' without '>>>('");
  refuses("k<<<(1, 1;", "the source:1: '(' is not closed");
  refuses("a > <<<1, 1>>>();", "the source:1: a kernel's template arguments have no '<'");
  refuses("\nextern __shared__ int a[4];",
          "the source:2: an extern __shared__ array with an extent is not known to HIP");
  refuses("extern __shared__ int;",
          "the source:1: an extern __shared__ declaration that is not 'extern __shared__ TYPE NAME[];'");
}

TEST_CASE("Static LDS of a source with HIP's own syntax starts as poison, too", "[source_pass]") {
  std::array<int, 8> words{};
  for (const assay_launch& l : all_launches()) {
    const launch_scope scope(l);
    words.fill(0);
    launched::run_first_words(words.data());
    for (const int word : words) REQUIRE(word == -1);
  }
}

TEST_CASE("A source with HIP's own syntax runs, and is checked at its lines", "[source_pass]") {
  std::array<int, 128> in{}, out{};
  std::iota(in.begin(), in.end(), 0);
  toy_tensor given("in", in.data(), {128}, {1}, ASSAY_INPUT), result("out", out.data(), {128}, {1}, ASSAY_OUTPUT);
  const std::array tensors{given.get(), result.get()};
  std::array<long, 64> wide{};
  toy_tensor long_result("wide", wide.data(), {64}, {1}, ASSAY_OUTPUT);
  const std::array scaled{given.get(), long_result.get()};
#if ASSAY_TSAN
  SKIP("ThreadSanitizer takes the calls that the checker needs");
#endif
  for (const assay_launch& l : all_checked_launches()) {
    CHECK(checked_defects(l, tensors, [&] { launched::run_reverse(out.data(), in.data(), false); }).empty());
    CHECK(out[0] == 63);
    CHECK(out[127] == 64);
    CHECK(checked_defects(l, tensors, [&] { launched::run_sum(out.data()); }).empty());
    CHECK(out[0] == 2 * 63 * 32);
    CHECK(checked_defects(l, scaled, [&] { launched::run_scale(wide.data(), in.data()); }).empty());
    CHECK(wide[0] == 1);
    CHECK(wide[63] == 3 * 63 + 5);
    if (l.wave_size == 64) {
      CHECK(checked_defects(l, tensors, [&] { launched::run_ones(out.data()); }).empty());
      CHECK(out[63] == 64 * 24);
    }
    const auto raced = checked_defects(l, tensors, [&] { launched::run_reverse(out.data(), in.data(), true); });
    REQUIRE(!raced.empty());
    CHECK(raced[0].kernel == "reverse<int,(2>1?0:1)>");
    for (const seen_defect& d : raced) {
      CHECK((d.kind == ASSAY_DATA_RACE || d.kind == ASSAY_UNWRITTEN_READ));
      CHECK((mentions(d, launched_line("part[threadIdx.x] = in[")) || mentions(d, launched_line("] = part["))));
    }
#if !ASSAY_ASAN  // which keeps the static arrays for itself: they have no names then
    const auto over = checked_defects(l, tensors, [&] { launched::run_overrun(out.data()); });
    REQUIRE(!over.empty());
    CHECK(std::any_of(over.begin(), over.end(), [](const seen_defect& d) {
      return d.kind == ASSAY_OUT_OF_BOUNDS && mentions(d, launched_line("at[threadIdx.x + 1]")) && mentions(d, "first");
    }));
#endif
  }
}
