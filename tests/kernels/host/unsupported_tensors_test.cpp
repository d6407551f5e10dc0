// What tensors show and a kernel does not take.
#include "kernels/host/unsupported_tensors.hpp"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <initializer_list>
#include <string>

using namespace assay;

namespace {

int memory = 0;

tensor shaped(std::initializer_list<std::int64_t> shape, std::initializer_list<std::int64_t> stride) {
  tensor t{&memory, dtype::f16, static_cast<std::int32_t>(shape.size()), {}, {}};
  std::copy(shape.begin(), shape.end(), t.shape);
  std::copy(stride.begin(), stride.end(), t.stride);
  return t;
}

/// Five pages of 16 keys, 2 heads of 64; 3 rows of 4 heads. All dense, in the order NHD.
attention_tensors dense() {
  attention_tensors t;
  t.q = t.o = shaped({3, 4, 64}, {256, 64, 1});
  t.k = t.v = shaped({5, 16, 2, 64}, {2048, 128, 64, 1});
  t.lse = shaped({3, 4}, {4, 1});
  return t;
}

std::string words(std::initializer_list<std::int32_t assay_support::*> lacks, void (*change)(attention_tensors&)) {
  assay_support s{};
  attention_tensors t = dense();
  change(t);
  REQUIRE(unsupported(s, t) == nullptr);
  for (const auto f : lacks) s.*f = 1;
  REQUIRE(unsupported(s, dense()) == nullptr);
  const char* const what = unsupported(s, t);
  return what == nullptr ? "" : what;
}

using s_ = assay_support;

}  // namespace

TEST_CASE("a kernel refuses tensors that it does not take", "[host]") {
  CHECK(words({&s_::no_sinks}, [](auto& t) { t.sinks = shaped({4}, {1}); }) == "sinks");
  CHECK(words({&s_::no_prefix_offset}, [](auto& t) { t.prefix_offset = shaped({1}, {1}); }) == "a prefix offset");
  CHECK(words({&s_::no_hnd}, [](auto& t) { t.k = t.v = shaped({5, 16, 2, 64}, {2048, 64, 1024, 1}); }) == "HND pools");
  CHECK(words({&s_::no_unequal_layouts}, [](auto& t) { t.v = shaped({5, 16, 2, 64}, {2048, 64, 1024, 1}); }) ==
        "unequal layouts of K and V");
  CHECK(words({&s_::no_input_margins}, [](auto& t) { t.k = shaped({5, 16, 2, 64}, {2560, 160, 80, 1}); }) ==
        "gaps between the rows of K and V");
  CHECK(words({&s_::no_input_margins, &s_::no_packing}, [](auto& t) {
          t.k = t.v = shaped({5, 16, 2, 64}, {4096, 128, 64, 1});
        }) == "gaps between the rows of K and V");
  CHECK(words({&s_::no_q_transposed}, [](auto& t) { t.q = shaped({3, 4, 64}, {4, 1, 12}); }) == "a transposed Q");
  CHECK(words({&s_::no_q_heads_outermost}, [](auto& t) { t.q = shaped({3, 4, 64}, {64, 192, 1}); }) == "Q by heads");
  CHECK(words({&s_::no_input_margins}, [](auto& t) { t.q = shaped({3, 4, 64}, {288, 72, 1}); }) ==
        "gaps between the rows of Q");
  CHECK(words({&s_::no_output_margins}, [](auto& t) { t.o = shaped({3, 4, 64}, {264, 64, 1}); }) ==
        "gaps between the rows of O");
  CHECK(words({&s_::no_output_margins}, [](auto& t) { t.lse = shaped({3, 4}, {5, 1}); }) ==
        "gaps between the rows of O");
  CHECK(words({&s_::no_shared_bias}, [](auto& t) { t.bias = shaped({4, 3, 9}, {0, 9, 1}); }) ==
        "a bias that heads or rows share");
}

TEST_CASE("strides of dimensions of one element do not count", "[host]") {
  CHECK(words({&s_::no_hnd, &s_::no_input_margins}, [](auto& t) {
          t.k = t.v = shaped({5, 16, 1, 64}, {1024, 64, 7, 1});
        }).empty());
  CHECK(words({&s_::no_input_margins}, [](auto& t) {
          t.k = t.v = shaped({5, 16, 2, 64}, {4096, 128, 64, 1});  // packed, which it takes
        }).empty());
}
