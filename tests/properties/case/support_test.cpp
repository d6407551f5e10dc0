#include "properties/case/support.hpp"

#include <algorithm>
#include <boost/json.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cstddef>
#include <cstring>

namespace assay {
namespace {

assay_support sized() {
  assay_support s{};
  s.size_bytes = sizeof s;
  return s;
}

std::string refusal_of(const assay_support& s) {
  try {
    read_support(s);
    return "none";
  } catch (const case_error& e) {
    return e.what();
  }
}

TEST_CASE("a support of zeros restricts nothing") {
  const assay_support s = read_support(sized());
  CHECK(types_in(s).empty());
  CHECK_FALSE(is_restricted(s.head_dims));
  CHECK(holds(s.page_sizes, 1));
  CHECK(holds(s.page_sizes, 65536));
  CHECK(outputs_left_out(s).empty());
  CHECK(support_to_json(s).empty());
}

TEST_CASE("of an older library the fields behind its size count as 0") {
  assay_support s = sized();
  s.most_rows = 1;
  s.no_rotary_interleaved = 1;
  s.size_bytes = offsetof(assay_support, no_causal);
  const assay_support read = read_support(s);
  CHECK(read.most_rows == 1);
  CHECK(read.no_rotary_interleaved == 0);
  CHECK(read.size_bytes == sizeof read);
}

TEST_CASE("a newer library is taken if what this program does not know is 0, and refused if not") {
  struct newer {
    assay_support known{};
    std::int64_t added = 0;
  } s;
  s.known.size_bytes = sizeof s;
  CHECK(refusal_of(s.known) == "none");
  s.added = 1;
  CHECK(refusal_of(s.known).find("newer support.h") != std::string::npos);
}

TEST_CASE("what the header does not allow is refused, and named") {
  const auto refusal = [](auto&& change) {
    assay_support s = sized();
    change(s);
    return refusal_of(s);
  };
  CHECK(refusal([](auto& s) { s.size_bytes = 0; }).starts_with("size_bytes: 0 "));
  CHECK(refusal([](auto& s) { s.size_bytes = -8; }).starts_with("size_bytes: -8 "));
  CHECK(refusal([](auto& s) { s.no_window = 2; }) == "no_window: 2 is not 0 or 1");
  CHECK(refusal([](auto& s) { s.no_lse = -1; }) == "no_lse: -1 is not 0 or 1");
  CHECK(refusal([](auto& s) { s.most_keys = -1; }) == "most_keys: -1 is negative");
  CHECK(refusal([](auto& s) { s.input_alignment = 3; }).starts_with("input_alignment: 3 "));
  CHECK(refusal([](auto& s) { s.output_alignment = 32; }).starts_with("output_alignment: 32 "));
  CHECK(refusal([](auto& s) { s.page_sizes.values[1] = -16; }) == "page_sizes: -16 is negative");
  CHECK(refusal([](auto& s) { s.head_dims.least = 128, s.head_dims.most = 64; }) ==
        "head_dims: least 128 is above most 64");
  CHECK(refusal([](auto& s) { s.types[0] = {99, 2, 2}; }) == "types: 99 is not the number of a type");
  CHECK(refusal([](auto& s) { s.types[0] = {2, 0, 2}; }) == "types: 0 is not the number of a type");
}

TEST_CASE("sizes are a list or a range, and the nearest of them is found") {
  const assay_sizes list{{128, 64, 192}, 0, 0, 0};
  CHECK(holds(list, 64));
  CHECK_FALSE(holds(list, 96));
  CHECK_FALSE(holds(list, 0));
  CHECK(nearest_of(list, 96, 1, 1024) == 64);  // of two the smaller
  CHECK(nearest_of(list, 97, 1, 1024) == 128);
  CHECK(nearest_of(list, 500, 1, 1024) == 192);
  CHECK(nearest_of(list, 500, 1, 100) == 64);
  CHECK(nearest_of(list, 500, 1, 60) == -1);
  CHECK(nearest_of(list, 64, 1, 1024, 128) == 128);
  const assay_sizes range{{}, 20, 100, 8};
  CHECK(holds(range, 24));
  CHECK_FALSE(holds(range, 20));
  CHECK_FALSE(holds(range, 104));
  CHECK(nearest_of(range, 1, 1, 1024) == 24);
  CHECK(nearest_of(range, 1000, 1, 1024) == 96);
  CHECK(nearest_of(range, 37, 1, 1024) == 40);
  CHECK(nearest_of(range, 37, 1, 1024, 16) == 32);
  CHECK(nearest_of({{}, 20, 23, 8}, 1, 1, 1024) == -1);
  CHECK(nearest_of({}, 37, 1, 1024) == 37);
}

TEST_CASE("the JSON form holds every field") {
  // Each 4 bytes behind the types differ: so that a field which is forgotten shows.
  assay_support s = sized();
  s.types[0] = {2, 4, 2};
  s.types[1] = {3, 3, 3};
  for (assay_sizes* sizes : {&s.head_dims, &s.head_dims_v, &s.page_sizes, &s.group_sizes})
    *sizes = {{8, 16, 24}, 1, 2048, 8};
  auto* bytes = reinterpret_cast<std::byte*>(&s);
  std::int64_t next = 1;
  for (std::size_t at = offsetof(assay_support, most_sequences); at < offsetof(assay_support, input_alignment); at += 8)
    std::memcpy(bytes + at, &++next, sizeof next);
  s.input_alignment = 8;
  s.output_alignment = 4;
  const std::int32_t one = 1;
  for (std::size_t at = offsetof(assay_support, no_causal); at <= offsetof(assay_support, no_dead_nan); at += 4)
    std::memcpy(bytes + at, &one, sizeof one);
  const assay_support back = support_from_json(support_to_json(read_support(s)));
  // To the last field: what lies behind it is padding.
  constexpr std::size_t size = offsetof(assay_support, no_dead_nan) + sizeof s.no_dead_nan;
  CHECK(std::equal(bytes, bytes + size, reinterpret_cast<const std::byte*>(&back)));
  std::vector<std::string> names;
  for (const auto& field : support_to_json(read_support(s))) names.emplace_back(field.key());
  CHECK(support_field_names() == names);
  CHECK_THROWS_AS(support_from_json({{"no_lse", 7}}), case_error);
  CHECK_THROWS_AS(support_from_json({{"no_lse", "yes"}}), case_error);
}

}  // namespace
}  // namespace assay
