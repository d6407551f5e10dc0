/// Which keys a row sees, and where they lie.
#include "oracle/paging.hpp"

#include <catch2/catch_test_macros.hpp>

#include <stdexcept>
#include <string_view>
#include <vector>

#include "tests/oracle/mqa_setting.hpp"

namespace assay::oracle {
namespace {

key_range seen(const testing::options& o, std::int64_t row) {
  const testing::setting s = testing::make_setting(o);
  const auto inputs = s.tensors();
  return problem_view(s.stated, inputs).visible(0, row);
}

}  // namespace

TEST_CASE("visible keys are one range, as the problem's two conditions say, wherever the position lies", "[oracle]") {
  for (std::int32_t keys = 0; keys < 6; ++keys)
    for (std::int32_t prefix = -4; prefix < 9; ++prefix)
      for (std::int32_t window = 0; window < 5; ++window)
        for (const bool causal : {false, true}) {
          testing::options o;
          o.sequences = {{3, keys, prefix}};
          o.causal = causal;
          o.window = window;
          for (std::int32_t row = 0; row < 3; ++row) {
            const key_range range = seen(o, row);
            const std::int32_t position = prefix + row;
            for (std::int32_t j = 0; j < keys; ++j)
              CHECK((j >= range.begin && j < range.end) ==
                    ((!causal || j <= position) && (window == 0 || j > position - window)));
            CHECK((range.empty() || (range.begin >= 0 && range.end <= keys)));
          }
        }
}

TEST_CASE("without a prefix the last row is aligned with the last key", "[oracle]") {
  testing::options o;
  o.sequences = {{2, 5}};
  o.causal = true;
  CHECK(seen(o, 0).end == 4);
  CHECK(seen(o, 1).end == 5);
  o.sequences = {{4, 1}};
  CHECK(seen(o, 2).empty());
  CHECK(seen(o, 3).end == 1);
}

TEST_CASE("a key is the same numbers in either order of its page", "[oracle][mqa]") {
  testing::mqa_options o;
  o.contexts = {70, 33};
  o.dim = 48;
  o.page_size = 32;
  o.max_model_len = 70;
  const testing::setting plain = testing::make_mqa_setting(o);
  o.order = key_order::preshuffled;
  const testing::setting shuffled = testing::make_mqa_setting(o);
  const auto by_rows = plain.tensors(), by_tiles = shuffled.tensors();
  const problem_view a(plain.stated, by_rows), b(shuffled.stated, by_tiles);
  CHECK(*plain["k"].bytes != *shuffled["k"].bytes);
  std::vector<double> x(48), y(48);
  for (std::int64_t seq = 0; seq < 2; ++seq)
    for (std::int64_t key = 0; key < a.key_count(seq); ++key) {
      a.load_key(a.place(seq, key), 0, x.data());
      b.load_key(b.place(seq, key), 0, y.data());
      CHECK(x == y);
      CHECK(x[17] == testing::mqa_reader(plain).k(testing::mqa_reader(plain).pool_row(seq, key), 17));
      CHECK(b.key_scale(b.place(seq, key)) ==
            testing::mqa_reader(shuffled).scale(testing::mqa_reader(shuffled).pool_row(seq, key)));
    }
}

TEST_CASE("the rows of mqa_logits see one key more each, and the last of them the whole context", "[oracle][mqa]") {
  for (std::int32_t next_n = 1; next_n <= 4; ++next_n)
    for (std::int32_t context = 0; context < 6; ++context) {
      testing::mqa_options o;
      o.contexts = {context};
      o.next_n = next_n;
      const testing::setting s = testing::make_mqa_setting(o);
      const auto inputs = s.tensors();
      const problem_view view(s.stated, inputs);
      for (std::int32_t i = 0; i < next_n; ++i)
        for (std::int32_t j = 0; j < 6; ++j) CHECK((j < view.visible(0, i).end) == (j <= context - next_n + i));
    }
}

TEST_CASE("block tables and page lists lead to the same keys, and nowhere beyond the last page", "[oracle]") {
  testing::options o;
  o.sequences = {{1, 6}, {1, 9}};
  const testing::setting table = testing::make_setting(o);
  o.page_list = true;
  const testing::setting list = testing::make_setting(o);
  const auto by_table = table.tensors(), by_list = list.tensors();
  const problem_view a(table.stated, by_table), b(list.stated, by_list);
  for (std::int64_t key = 0; key < 9; ++key) {
    CHECK(a.place(1, key).page == b.place(1, key).page);
    CHECK(a.place(1, key).slot == key % 4);
  }
  CHECK_THROWS_AS(a.place(1, 12), std::invalid_argument);
  CHECK_THROWS_AS(b.place(1, 12), std::invalid_argument);
}

TEST_CASE("in batch mode the rows of all sequences are as many, and no cu_seqlens_q is read", "[oracle]") {
  testing::options o;
  o.sequences = {{3, 6}, {3, 0}, {3, 2}};
  o.batch = true;
  testing::setting s = testing::make_setting(o);
  const auto inputs = s.tensors();
  const problem_view view(s.stated, inputs);
  CHECK(view.first_row(2) == 6);
  CHECK(view.row_count(1) == 3);
  CHECK(view.sequence_of(5) == 1);
  s.stated.max_q = 2;
  CHECK_THROWS_AS(problem_view(s.stated, inputs), std::invalid_argument);
}

TEST_CASE("descales are those of page and kv head, 1 where there are none, and held to their shape", "[oracle]") {
  testing::options o;
  o.sequences = {{1, 9}};
  o.heads_q = o.heads_kv = 2;
  o.descale = [](char which, std::int64_t nth, std::int64_t head) {
    return (which == 'k' ? 1 : 100) + 10 * static_cast<double>(nth) + static_cast<double>(head);
  };
  testing::setting s = testing::make_setting(o);
  const auto inputs = s.tensors();
  const problem_view view(s.stated, inputs);
  CHECK(view.k_descale(view.place(0, 8).page, 1) == 22);
  CHECK(view.v_descale(view.place(0, 3).page, 0) == 100);
  for (const char* name : {"k_descale", "v_descale"}) {
    auto fewer = inputs;
    std::erase_if(fewer, [&](const named_tensor& t) { return std::string_view(t.name) == name; });
    CHECK_THROWS_AS(problem_view(s.stated, fewer), std::invalid_argument);
    auto other = inputs;
    for (named_tensor& t : other)
      if (std::string_view(t.name) == name) t.view.type = dtype::i32;
    CHECK_THROWS_AS(problem_view(s.stated, other), std::invalid_argument);
    other = inputs;
    for (named_tensor& t : other)
      if (std::string_view(t.name) == name) t.view.shape[1] = 1;
    CHECK_THROWS_AS(problem_view(s.stated, other), std::invalid_argument);
  }
  s.stated.kv_descale = descale_kind::per_tensor;
  const problem_view plain(s.stated, inputs);
  CHECK(plain.k_descale(0, 0) == 1);
  CHECK(!plain.has_page_descales());
}

}  // namespace assay::oracle
