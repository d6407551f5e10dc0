#include "properties/suite/comparison.hpp"

#include <bit>
#include <boost/json.hpp>
#include <catch2/catch_test_macros.hpp>
#include <limits>

#include "properties/data/bits.hpp"
#include "properties/data/difference.hpp"
#include "tests/properties/faulty_library.hpp"

namespace assay {
namespace {

using oracle::element_rule;
using testing::small_case;

/// A vector of f32 with an enclosure for each element.
struct output {
  std::vector<float> values;
  oracle::enclosed_tensor bounds;

  output(std::vector<float> values_, std::vector<oracle::interval> allowed) : values(std::move(values_)) {
    bounds = {.name = "lse", .type = dtype::f32, .shape = {std::ssize(values)}, .elements = std::move(allowed)};
  }
  tensor view() {
    tensor t{};
    t.data = values.data();
    t.type = dtype::f32;
    t.rank = 1;
    t.shape[0] = std::ssize(values);
    t.stride[0] = 1;
    return t;
  }
};

agreement_counts compared(output a, output b) {
  return compare_outputs(a.bounds, a.view(), b.bounds, b.view());
}

TEST_CASE("elements agree in bits, differ within both enclosures, or across them") {
  const agreement_counts n =
      compared({{1, 1, 1, 5}, {{1, 2}, {1, 2}, {1, 1}, {5, 5}}}, {{1, 2, 2, 7}, {{1, 2}, {1, 2}, {1, 2}, {6, 7}}});
  CHECK(n.elements == 4);
  CHECK(n.same_bits == 1);
  CHECK(n.within_both == 1);
  CHECK(n.across == 2);
  CHECK(n.apart == 1);
}

TEST_CASE("NaNs agree where both enclosures admit them, and bound nothing") {
  const float nan = std::bit_cast<float>(0x7FC00000U), other_nan = std::bit_cast<float>(0x7FFFFFFFU);
  output a{{nan, nan, 1}, {{0, 0}, {0, 0}, {0, 1}}}, b{{other_nan, other_nan, nan}, {{1, 1}, {0, 0}, {2, 3}}};
  const auto nan_rule = static_cast<std::uint8_t>(element_rule::nan);
  const auto or_nan_rule = static_cast<std::uint8_t>(element_rule::or_nan);
  a.bounds.kept = {nan_rule, 0, or_nan_rule};
  b.bounds.kept = {nan_rule, nan_rule, or_nan_rule};
  const agreement_counts n = compared(a, b);
  CHECK(n.same_bits == 1);
  CHECK(n.across == 2);
  CHECK(n.apart == 0);
}

TEST_CASE("outputs of other shapes are not compared") {
  CHECK_THROWS_AS(compared({{1}, {{1, 1}}}, {{1, 2}, {{1, 1}, {2, 2}}}), std::invalid_argument);
}

library_comparison on_small_case(const std::shared_ptr<library>& other) {
  bool asked = false;
  const auto next = [&]() -> std::optional<std::string> {
    if (std::exchange(asked, true)) return std::nullopt;
    return "0";
  };
  // A library in this process has no place for a second one of its kind.
  const auto first = std::make_shared<library>(assay_library_v1(), "built-in");
  return compare_libraries(
      {first, other}, 1, 60,
      {next, [](const std::string&) { return "small"; }, [](const std::string&) { return small_case(); }});
}

TEST_CASE("a library agrees with itself in all bits") {
  const library_comparison made = on_small_case(std::make_shared<library>(assay_library_v1(), "built-in"));
  CHECK(made.cases == 1);
  CHECK(made.findings.empty());
  const agreement_counts& o = made.table.at({"split_kv", "f16", "o"});
  CHECK(o.elements == 4 * 4 * 64);
  CHECK(o.same_bits == o.elements);
}

TEST_CASE("where one library passes and the other fails, the case is a finding") {
  const library_comparison made = on_small_case(testing::corrupting_library(
      [](testing::call& c) { set_bits(c.view("o"), 0, bits_at(c.view("o"), 0) ^ 0x4000U); }));
  REQUIRE(made.findings.size() == 1);
  CHECK(made.findings[0].what == "cpu: pass, cpu: fail");
  CHECK(made.findings[0].stored.why == "cpu: pass, cpu: fail; small");
  CHECK(made.table.at({"split_kv", "f16", "o"}).across == 1);
  CHECK(comparison_text(made).find("DIFFERENCE small: cpu: pass, cpu: fail\n") != std::string::npos);
  CHECK(comparison_json(made).at("findings").as_array().size() == 1);
}

/// The built-in kernel with LSE in base 2, as it declares: so its enclosures of it lie apart from the built-in ones.
assay_status run_in_base_2(const problem* p, const assay_tensor* tensors, std::int32_t count,
                           const assay_launch* launch) {
  const testing::call one(*p, *launch, {tensors, tensors + count});
  const assay_status status = one.run();
  const tensor lse = one.view("lse");  // that of partial results stays natural
  for_each_index(lse, [&](const std::vector<std::int64_t>& at) {
    static_cast<float*>(lse.data)[offset_of(lse, at)] *= 1.44269504F;
  });
  return status;
}

TEST_CASE("enclosures of another base of LSE are apart: that is counted, and no finding") {
  const auto declare = [](const problem* p, const assay_launch* launch, contract* k) {
    const assay_status status = library::built_in()->find("split_kv")->declare(p, launch, k);
    k->base_of_lse = lse_base::two;
    k->log_relative_error = 0x1p-21F;  // the factor and its product are rounded
    return status;
  };
  static const assay_kernel kernel{"split_kv", library::built_in()->find("split_kv")->plan, declare, run_in_base_2,
                                   nullptr};
  static const assay_library table = ASSAY_LIBRARY("cpu", &kernel, 1);
  const library_comparison made = on_small_case(std::make_shared<library>(&table, "base 2"));
  CAPTURE(comparison_text(made));
  CHECK(made.findings.empty());
  CHECK(made.table.at({"split_kv", "f16", "lse"}).apart > 0);
  CHECK(made.table.at({"split_kv", "f16", "o"}).apart == 0);
  CHECK(comparison_shortfall(made).empty());
}

TEST_CASE("elements that neither enclosure bounds are counted by themselves") {
  const double infinity = std::numeric_limits<double>::infinity();
  const oracle::interval everything{-infinity, infinity};
  const agreement_counts n = compared({{1, 1}, {everything, everything}}, {{1, 2}, {everything, everything}});
  CHECK(n.same_bits == 1);
  CHECK(n.unbounded == 1);
  CHECK(n.within_both == 0);
}

TEST_CASE("a library that ends the process loses the case, and a comparison of no case is none") {
  const library_comparison made = on_small_case(testing::corrupting_library([](testing::call&) { std::abort(); }));
  CHECK(made.cases == 0);
  CHECK(made.lost == 1);
  CHECK(comparison_text(made).find("LOST small: killed by signal 6") != std::string::npos);
  CHECK(comparison_text(made).find("NOT COMPARED: no case has outputs of both") != std::string::npos);
}

TEST_CASE("a comparison that lost more than a few cases says too little") {
  library_comparison made;
  made.cases = 94;
  made.uncompared = 2;
  made.lost = 4;
  CHECK(comparison_shortfall(made).empty());
  made.lost = 40;
  CHECK(comparison_shortfall(made) == "40 of 136 cases were lost, more than 5%");
}

}  // namespace
}  // namespace assay
