// NaN, infinities and masks of -inf, -1e38 and finfo.min among the live data: the clean kernels lie in their
// enclosures, which say something of nearly every element.
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <random>

#include "oracle/decode.hpp"
#include "properties/case/case.hpp"
#include "properties/data/difference.hpp"
#include "properties/data/inputs.hpp"
#include "properties/run/execute.hpp"
#include "tests/properties/generate/arbitrary_case.hpp"

namespace assay {
namespace {

std::uint32_t special_bits(dtype type, std::uint64_t choice) {
  switch (type) {
    case dtype::f16: return choice == 0 ? 0x7E00U : choice == 1 ? 0x7C00U : choice == 2 ? 0xFC00U : 0x8000U;
    case dtype::bf16: return choice == 0 ? 0x7FC0U : choice == 1 ? 0x7F80U : choice == 2 ? 0xFF80U : 0xFF7FU;
    case dtype::f32:
      return choice == 0 ? 0x7FC00000U : choice == 1 ? 0x7F800000U : choice == 2 ? 0xFF800000U : 0xFF7FFFFFU;
    case dtype::e4m3fn: return choice % 2 == 0 ? 0x7FU : 0xFFU;
    default: return 0x80U;  // e4m3fnuz; -128 in int8
  }
}

/// Puts specials at random places of one tensor, if it is there.
void scatter(inputs& in, const char* name, std::uint64_t count, std::mt19937_64& random) {
  buffer* const b = find_buffer(in.buffers, name);
  if (b == nullptr || b->is_sparse() || b->view().size() == 0) return;
  const std::uint64_t choice = random() % 4;
  for (std::uint64_t n = 0; n < count; ++n) {
    std::vector<std::int64_t> index;
    index.reserve(static_cast<std::size_t>(b->view().rank));
    for (int d = 0; d < b->view().rank; ++d)
      index.push_back(static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(b->view().shape[d])));
    set_bits(b->view(), offset_of(b->view(), index), special_bits(b->view().type, choice));
  }
}

/// Masks the first keys of every row, as left padding does.
void pad_left(inputs& in, std::mt19937_64& random) {
  const buffer* const b = find_buffer(in.buffers, "bias");
  if (b == nullptr) return;
  const std::uint64_t which = random() % 3;
  const dtype type = b->view().type;
  const std::uint32_t minus_infinity = special_bits(type, 2);
  const std::uint32_t lowest = type == dtype::f16 ? 0xFBFFU : special_bits(type, 3);  // finfo.min
  const auto masked = static_cast<std::int64_t>(random() % 150);
  for_each_index(b->view(), [&](const std::vector<std::int64_t>& index) {
    if (index[2] < masked) set_bits(b->view(), offset_of(b->view(), index), which == 0 ? minus_infinity : lowest);
  });
}

void set_sinks(inputs& in, std::mt19937_64& random) {
  const buffer* const b = find_buffer(in.buffers, "sinks");
  if (b == nullptr) return;
  constexpr float sinks[] = {3e38F, -3e38F, 1e38F, -1e38F, -2.3e38F, 2.4e38F, -2.36e38F};
  for (std::int64_t h = 0; h < b->view().shape[0]; ++h)
    set_bits(b->view(), h * b->view().stride[0], std::bit_cast<std::uint32_t>(sinks[random() % std::size(sinks)]));
}

struct counts {
  std::int64_t outside = 0, elements = 0, unbounded = 0, due = 0;
};

/// Runs the built-in kernel on edited data and judges it.
void run_and_judge(const attention_case& c, inputs& in, counts& all) {
  const library& lib = *library::built_in();
  const execution ran = execute(lib, c, in);
  if (const auto v = verdict_of(ran)) {
    CHECK(v->result == outcome::discard);
    return;
  }
  oracle::enclosure bounds;
  const verdict v = judge_execution(in, ran, &bounds);
  CAPTURE(v.what);
  CHECK(v.result != outcome::fail);
  for (const oracle::judgement& j : v.judgements)
    all.outside += j.outside, all.elements += j.elements, all.unbounded += j.unbounded;
  for (const oracle::enclosed_tensor& t : bounds.tensors)
    for (std::size_t i = 0; i < t.elements.size(); ++i)
      all.due += t.rule(static_cast<std::int64_t>(i)) == oracle::element_rule::nan ? 1 : 0;
}

template <class Edit>
counts over_cases(int count, Edit edit) {
  counts all;
  for (int i = 0; i < count; ++i) {
    attention_case c = test::arbitrary(static_cast<std::uint64_t>(i), 10 + i % 50, {"split_kv", "batch_prefill"});
    INFO("case " << i);
    constexpr dtype bias_types[] = {dtype::f16, dtype::bf16, dtype::f32};
    if (c.kernel == "split_kv" && i % 2 == 0) c.bias_type = bias_types[i / 2 % 3], c.sinks = i % 3 == 0;
    c.data.specials = special_kind::none;  // beside those of the test
    validate(c);
    inputs in = fill(c);
    std::mt19937_64 random(static_cast<std::uint64_t>(i));
    edit(in, random);
    run_and_judge(c, in, all);
  }
  return all;
}

}  // namespace

TEST_CASE("NaN and infinities in live data make what the definition says of the clean kernels, and nothing else",
          "[long]") {
  const counts all = over_cases(150, [](inputs& in, std::mt19937_64& random) {
    constexpr const char* names[] = {"q", "k", "v", "bias"};
    scatter(in, names[random() % 4], 1 + random() % 12, random);
    if (random() % 3 == 0) scatter(in, names[random() % 4], 1 + random() % 4, random);
  });
  CHECK(all.outside == 0);
  CHECK(all.due > 1000);
  CHECK(all.unbounded * 50 < all.elements);
}

TEST_CASE("masks of -inf and finfo.min over whole tiles, and huge sinks, are decided for the clean kernels", "[long]") {
  const counts all = over_cases(150, [](inputs& in, std::mt19937_64& random) {
    pad_left(in, random);
    if (random() % 2 == 0) set_sinks(in, random);
  });
  CHECK(all.outside == 0);
  CHECK(all.due == 0);
  CHECK(all.unbounded == 0);
}

}  // namespace assay
