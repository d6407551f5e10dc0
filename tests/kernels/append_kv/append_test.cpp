/// append_kv against its definition in binary64: what it writes, and what it must leave alone.
#include <catch2/catch_test_macros.hpp>
#include <string>

#include "tests/kernels/append_kv/append_setting.hpp"
#include "tests/kernels/platform/cpu/launching.hpp"

using namespace assay;
using append::setting;

namespace {

constexpr dtype row_types[] = {dtype::f16, dtype::bf16};
constexpr dtype code_types[] = {dtype::e4m3fn, dtype::e4m3fnuz};
constexpr rotary_kind all_rotary[] = {rotary_kind::none, rotary_kind::half, rotary_kind::interleaved};

/// Returns the bytes of all tensors, after a checked run without a defect.
std::vector<std::vector<std::uint8_t>> check(const setting& s, assay_launch launch) {
  INFO(append::text(s) << ", " << cpu::name(launch));
  append::trial t(s);
  std::vector<cpu::seen_defect> defects;
  launch.checked = 1, launch.context = &defects, launch.on_defect = &cpu::collect;
  const assay_status status = t.run(launch);
  INFO(status.message);
  INFO((defects.empty() ? "no defect" : defects[0].message));
  REQUIRE(status.code == ASSAY_OK);
  CHECK(defects.empty());
  const std::string fault = t.first_fault();
  if (!fault.empty()) FAIL_CHECK(fault);
  std::vector<std::vector<std::uint8_t>> all;
  all.reserve(t.tensors.size());
  for (const append::owned_tensor& tensor : t.tensors) all.push_back(tensor.bytes);
  return all;
}

void check_both_waves(const setting& s) {
  for (const int wave_size : {32, 64}) check(s, cpu::parameters(wave_size));
}

std::vector<std::int64_t> slots_of_page(std::int64_t page, std::int64_t page_size, std::int64_t first,
                                        std::int64_t count) {
  std::vector<std::int64_t> slots;
  slots.reserve(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) slots.push_back(page * page_size + first + i);
  return slots;
}

}  // namespace

TEST_CASE("append_kv copies rows bit by bit, whatever the strides, and skips negative slots", "[append]") {
  for (const dtype type : row_types)
    for (const bool heads_first : {false, true})
      for (const std::int64_t pool_margin : {0, 8})
        for (const std::int64_t row_margin : {0, 1, 4, 8})
          for (const auto& [dim_k, dim_v] : {std::pair(64, 64), std::pair(24, 40), std::pair(8, 136)})
            check_both_waves({.slots = {17, -1, 0, 63, 16, INT64_MIN, 40},
                              .q_type = type,
                              .cache = type,
                              .heads = 3,
                              .dim_k = dim_k,
                              .dim_v = dim_v,
                              .heads_first = heads_first,
                              .pool_margin = pool_margin,
                              .row_margin = row_margin});
}

TEST_CASE("append_kv takes every page size, one row or none, and rows of more than a block", "[append]") {
  for (const int page_size : {1, 3, 16, 100}) {
    for (const std::int64_t count : {0, 1, 40}) {
      std::vector<std::int64_t> slots;
      slots.reserve(static_cast<std::size_t>(count));
      for (std::int64_t i = 0; i < count; ++i) slots.push_back(i * 7 % (page_size * 41));
      check_both_waves({.slots = slots, .page_size = page_size, .num_pages = 41});
    }
    check_both_waves({.slots = {5, 2}, .heads = 9, .dim_k = 128, .dim_v = 128, .page_size = page_size, .num_pages = 6});
  }
  check_both_waves({.slots = {-1, -1}, .num_pages = 0});
}

TEST_CASE("append_kv rotates the keys, of both orders and every head dimension", "[append]") {
  for (const dtype type : row_types)
    for (const dtype cache : {type, dtype::e4m3fn})
      for (const rotary_kind rotary : {rotary_kind::half, rotary_kind::interleaved})
        for (const int dim : {8, 16, 24, 64, 72})
          for (const std::int64_t margin : {0, 1, 4, 8})
            check_both_waves({.slots = {3, -7, 20, 33},
                              .q_type = type,
                              .cache = cache,
                              .rotary = rotary,
                              .dim_k = dim,
                              .dim_v = 16,
                              .row_margin = margin,
                              .angle_margin = margin,
                              .k_scale = cache == type ? 1.0F : 0.013F});
}

TEST_CASE("append_kv quantises by the pool's scales, and saturates", "[append]") {
  for (const dtype type : row_types)
    for (const dtype cache : code_types)
      for (const float k_scale : {1.0F, 0.01F, 0.0001F, -0.37F, 1e-45F})
        check_both_waves({.slots = {30, 2, -1, 8, 9},
                          .q_type = type,
                          .cache = cache,
                          .heads_first = true,
                          .pool_margin = 8,
                          .row_margin = 5,
                          .k_scale = k_scale,
                          .v_scale = 0.7F * k_scale + 1.0F});
}

TEST_CASE("append_kv stores codes sixteen at a time where K's or V's rows are whole, else eight", "[append]") {
  std::vector<std::int64_t> slots(37);
  for (std::int64_t i = 0; i < std::ssize(slots); ++i)
    slots[static_cast<std::size_t>(i)] = i % 5 == 3 ? -1 : i * 11 % 96;
  for (const dtype cache : code_types)
    for (const auto& [dim_k, dim_v] : {std::pair(48, 16), std::pair(16, 24), std::pair(8, 128), std::pair(128, 136)})
      for (const std::int64_t pool_margin : {0, 8, 16})
        for (const std::int64_t row_margin : {0, 3})
          check_both_waves({.slots = slots,
                            .q_type = row_margin == 0 ? dtype::bf16 : dtype::f16,
                            .cache = cache,
                            .heads = 3,
                            .dim_k = dim_k,
                            .dim_v = dim_v,
                            .num_pages = 6,
                            .heads_first = pool_margin == 16,
                            .pool_margin = pool_margin,
                            .row_margin = row_margin,
                            .k_scale = 0.013F,
                            .v_scale = pool_margin == 8 ? -0.02F : 3.7F});
}

TEST_CASE("append_kv raises a page's descale and moves its other codes, or leaves both", "[append]") {
  for (const dtype type : row_types)
    for (const dtype cache : code_types)
      for (const rotary_kind rotary : all_rotary)
        for (const float descale : {1e-30F, 0.001F, 0.005F, 0.0F, 1000.0F})
          check_both_waves({.slots = {21, 40, -1, 23, 17, INT64_MIN, 41},
                            .q_type = type,
                            .cache = cache,
                            .descales = descale_kind::per_page,
                            .rotary = rotary,
                            .dim_v = 24,
                            .heads_first = type == dtype::f16,
                            .pool_margin = type == dtype::f16 ? 8 : 0,
                            .row_margin = 3,
                            .descale = descale});
}

TEST_CASE("append_kv takes a fresh page's descale from its rows alone, and leaves what it held", "[append]") {
  for (const dtype cache : code_types)
    for (const int page_size : {2, 16, 17})
      check_both_waves({.slots = {page_size + page_size / 2, -1, 0, 2 * page_size, page_size},
                        .cache = cache,
                        .descales = descale_kind::per_page,
                        .page_size = page_size,
                        .seed = 7});
}

TEST_CASE("append_kv gives a fresh page of zeros the least descale", "[append]") {
  append::trial t({.slots = {16, 18}, .cache = dtype::e4m3fn, .descales = descale_kind::per_page});
  for (const char* const name : {"k_new", "v_new"})
    for (std::uint8_t& byte : t.tensor(name).bytes) byte = 0;
  REQUIRE(t.run(cpu::parameters(64)).code == ASSAY_OK);
  for (const char* const name : {"k_descale", "v_descale"})
    CHECK(t.tensor(name).value(t.tensor(name).at(1, 0)) == 0x1p-64);
  CHECK(t.tensor("k").value(t.tensor("k").at(1, 0, 0, 5)) == 0.0);
}

TEST_CASE("append_kv takes pages of more slots than a tile, and more rows than are done head by head", "[append]") {
  for (const std::int64_t first : {0, 1}) {
    std::vector<std::int64_t> slots = slots_of_page(1, 2100, first, 3);
    for (const std::int64_t slot : {2099, 1024, 1023, 1500}) slots.push_back(2100 + slot);
    slots.push_back(2099);
    setting s{.slots = slots,
              .cache = dtype::e4m3fn,
              .descales = descale_kind::per_page,
              .dim_k = 8,
              .dim_v = 8,
              .page_size = 2100,
              .num_pages = 2,
              .descale = 0.001F};
    check_both_waves(s);
    s.slots = slots_of_page(0, 2100, first, 300);
    check_both_waves(s);
  }
  std::vector<std::int64_t> scattered;
  scattered.reserve(300);
  for (std::int64_t i = 0; i < 300; ++i) scattered.push_back(i % 9 == 8 ? -1 : i * 37 % 331);
  check_both_waves({.slots = scattered,
                    .cache = dtype::e4m3fnuz,
                    .descales = descale_kind::per_page,
                    .heads = 3,
                    .dim_k = 16,
                    .dim_v = 8,
                    .num_pages = 21,
                    .descale = 0.002F});
}

TEST_CASE("append_kv does a page once, however many rows lie between the first and the last that go to it",
          "[append]") {
  for (const std::size_t between : {126U, 1023U, 1024U, 2100U}) {
    std::vector<std::int64_t> slots(between + 2, -1);
    slots.front() = 18, slots.back() = 17;
    check(
        {
            .slots = slots,
            .cache = dtype::e4m3fn,
            .descales = descale_kind::per_page,
            .dim_k = 8,
            .dim_v = 8,
            .num_pages = 2,
            .descale = 0.001F,
        },
        cpu::parameters(64));
  }
}

TEST_CASE("append_kv gives the same bits under every schedule", "[append]") {
  for (const auto descales : {descale_kind::per_tensor, descale_kind::per_page}) {
    const setting s{.slots = {21, 40, -1, 23, 17, 41, 0, 3},
                    .cache = dtype::e4m3fn,
                    .descales = descales,
                    .rotary = rotary_kind::half,
                    .dim_k = 24,
                    .dim_v = 16,
                    .row_margin = 3,
                    .descale = 0.001F};
    const auto expected = check(s, cpu::parameters(32));
    for (assay_launch launch : cpu::all_launches())
      for (const int workers : {1, 3}) {
        launch.workers = workers;
        CHECK((check(s, launch) == expected));
      }
  }
}
