#include "properties/generate/mutate.hpp"

#include <catch2/catch_test_macros.hpp>
#include <map>

#include "properties/case/fields.hpp"
#include "properties/generate/bytes.hpp"
#include "properties/generate/kernel_space.hpp"
#include "tests/properties/generate/arbitrary_case.hpp"

using namespace assay;

namespace {

const std::vector<std::string> all = kernels_of_the_space();

attention_case encodable(std::uint64_t i, const std::vector<std::string>& kernels = all) {
  return nearest_encodable(test::arbitrary(i, static_cast<int>(i % 100), kernels), kernels);
}

/// Calls visit(name, whether they differ) for each field, those of data and schedule one by one.
template <typename T, typename Visit>
void compare(const T& a, const T& b, const std::string& prefix, Visit&& visit) {
  fields::for_each<T>([&](const char* name, auto pointer) {
    using field = std::remove_cvref_t<decltype(a.*pointer)>;
    if constexpr (fields::is_struct<field> && !std::is_same_v<field, std::string>)
      compare(a.*pointer, b.*pointer, prefix + name + ".", visit);
    else
      visit(prefix + name, !(a.*pointer == b.*pointer));
  });
}

int differing(const attention_case& a, const attention_case& b) {
  int count = 0;
  compare(a, b, "", [&](const std::string&, bool differs) { count += differs ? 1 : 0; });
  return count;
}

}  // namespace

TEST_CASE("repeating a case's choices gives the case", "[mutate]") {
  for (std::uint64_t i = 0; i < 600; ++i) {
    const attention_case c = encodable(i);
    attention_case again = c;
    repeating_source repeat({}, nullptr);
    walk(again, repeat, byte_limits, all);
    INFO(to_json(c));
    REQUIRE(again == c);
    CHECK(repeat.choices() > 10);
  }
}

TEST_CASE("every mutant, child and drawn case is a valid case with a byte form, the same for the same seed",
          "[mutate]") {
  for (std::uint64_t i = 0; i < 1500; ++i) {
    const attention_case a = encodable(i), b = encodable(i + 7777);
    for (const attention_case& made : {mutate_case(a, i, all), cross_cases(a, b, i, all), draw_case(i, all)}) {
      INFO(to_json(a) << to_json(made));
      REQUIRE_NOTHROW(validate(made));
      REQUIRE(decode_case(encode_case(made)) == made);
    }
    CHECK(mutate_case(a, i, all) == mutate_case(a, i, all));
    CHECK(cross_cases(a, b, i, all) == cross_cases(a, b, i, all));
  }
}

TEST_CASE("a case from outside the space has mutants inside it", "[mutate]") {
  attention_case c = test::arbitrary(3, 50, {"split_kv"});
  c.why = "a reason";
  c.scale = 0.123F;
  c.data.overrides.push_back({"q", {0, 0, 0}, 1});
  for (std::uint64_t seed = 0; seed < 100; ++seed) CHECK_NOTHROW(encode_case(mutate_case(c, seed, all)));
}

TEST_CASE("most mutants are near, few are the same, and over many all fields of the space change", "[mutate]") {
  std::map<std::string, int> changed;
  int near = 0, same = 0, count = 0;
  for (std::uint64_t i = 0; i < 3000; ++i, ++count) {
    const attention_case c = encodable(i), mutant = mutate_case(c, i, all);
    const int fields = differing(c, mutant);
    near += fields <= 5 ? 1 : 0;  // a sequence less, say, is another pool and other pages
    same += fields == 0 ? 1 : 0;
    compare(c, mutant, "", [&](const std::string& name, bool differs) { changed[name] += differs ? 1 : 0; });
  }
  CHECK(near > count * 3 / 4);
  CHECK(same < count / 2);
  for (const char* never : {"version", "why", "workspace_budget_bytes", "data.overrides"}) {
    CHECK(changed.at(never) == 0);
    changed.erase(never);
  }
  for (const auto& [name, times] : changed) {
    INFO(name);
    CHECK(times > 0);
  }
}

TEST_CASE("a mutant of one kernel stays that kernel's", "[mutate]") {
  for (const std::string& kernel : all) {
    const std::vector<std::string> one{kernel};
    for (std::uint64_t i = 0; i < 100; ++i) CHECK(mutate_case(encodable(i, one), i, one).kernel == kernel);
  }
}

TEST_CASE("children have fields of both parents", "[mutate]") {
  const std::vector<std::string> one{"batch_prefill"};
  int mixed = 0;
  for (std::uint64_t i = 0; i < 300; ++i) {
    const attention_case a = encodable(i, one), b = encodable(i + 555, one), child = cross_cases(a, b, i, one);
    std::map<std::string, bool> told_apart, not_of_a, not_of_b;
    compare(a, b, "", [&](const std::string& name, bool differs) { told_apart[name] = differs; });
    compare(a, child, "", [&](const std::string& name, bool differs) { not_of_a[name] = differs; });
    compare(b, child, "", [&](const std::string& name, bool differs) { not_of_b[name] = differs; });
    int of_a = 0, of_b = 0;
    for (const auto& [name, differ] : told_apart) {
      of_a += differ && !not_of_a[name] ? 1 : 0;
      of_b += differ && !not_of_b[name] ? 1 : 0;
    }
    mixed += of_a > 0 && of_b > 0 ? 1 : 0;
  }
  CHECK(mixed > 200);
}

TEST_CASE("a case has a nearest one with a byte form, which is the case itself where that has one", "[mutate]") {
  int changed = 0;
  for (std::uint64_t i = 0; i < 500; ++i) {
    const attention_case c = test::arbitrary(i, static_cast<int>(i % 100));
    for (const std::vector<std::string>& kernels : {all, {"split_kv"}, {"batch_prefill"}, {"mqa_logits"}}) {
      const attention_case near = nearest_encodable(c, kernels);
      REQUIRE(decode_case(encode_case(near, kernels), kernels) == near);
      CHECK(nearest_encodable(near, kernels) == near);
    }
    changed += nearest_encodable(c) == c ? 0 : 1;
  }
  CHECK((changed > 0 && changed < 400));
}
