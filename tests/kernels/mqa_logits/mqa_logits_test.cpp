/// mqa_logits against its definition in binary64, and what it must leave alone.
#include <catch2/catch_test_macros.hpp>
#include <string>

#include "tests/kernels/mqa_logits/mqa_setting.hpp"
#include "tests/kernels/platform/cpu/launching.hpp"

using namespace assay;
using mqa::setting;

namespace {

constexpr context_split both_splits[] = {context_split::fixed, context_split::variable};

/// Returns the bits of logits, with everything around the rows.
std::vector<std::uint32_t> check(const setting& s, const assay_launch& launch) {
  INFO(mqa::text(s) << ", " << cpu::name(launch));
  mqa::trial t(s);
  const assay_status status = t.run(launch);
  INFO(status.message);
  REQUIRE(status.code == ASSAY_OK);
  const std::string fault = t.first_fault();
  if (!fault.empty()) FAIL_CHECK(fault);
  return t.logits;
}

void check_both_waves(const setting& s) {
  for (const int wave_size : {32, 64}) check(s, cpu::parameters(wave_size));
}

}  // namespace

TEST_CASE("mqa_logits takes contexts around pages, stages and chunks, up to max_model_len", "[mqa]") {
  for (const auto split_contexts : both_splits)
    for (const int page_size : {1, 16, 64})
      for (const int length : {1, 16, 100, 120, 128, 129, 200, 250, 256, 257, 300, 380, 384, 500, 640})
        for (const int splits : {1, 3})
          for (const bool fills : {false, true})
            check_both_waves({.contexts = {length, 0, length - 1, length / 2},
                              .max_model_len = length,
                              .next_n = length % 4 + 1,
                              .heads = 17,
                              .head_dim = 32,
                              .page_size = page_size,
                              .split_contexts = split_contexts,
                              .num_splits = splits,
                              .fills_hidden = fills,
                              .row_margin = page_size == 1 ? 0 : 160});
}

TEST_CASE("mqa_logits takes plain and preshuffled keys, both FP8 types, and both page tables", "[mqa]") {
  for (const auto split_contexts : both_splits)
    for (const auto order : {key_order::plain, key_order::preshuffled})
      for (const dtype type : {dtype::e4m3fn, dtype::e4m3fnuz})
        for (const auto table : {page_table_kind::block_table, page_table_kind::page_list})
          for (const int page_size : {16, 48, 64, 256})
            check_both_waves({.contexts = {700, 3, 129, 400},
                              .max_model_len = 800,
                              .next_n = 2,
                              .type = type,
                              .heads = 16,
                              .head_dim = 64,
                              .page_size = page_size,
                              .order = order,
                              .page_table = table,
                              .split_contexts = split_contexts,
                              .num_splits = 3});
}

TEST_CASE("mqa_logits takes every number of heads up to 64, and head dimensions of whole atoms", "[mqa]") {
  for (const int heads : {1, 15, 16, 32, 33, 64})
    for (const int head_dim : {32, 64, 96, 128})
      for (const auto order : {key_order::plain, key_order::preshuffled})
        check_both_waves({.contexts = {150, 77},
                          .max_model_len = 150,
                          .heads = heads,
                          .head_dim = head_dim,
                          .order = order,
                          .num_splits = 1});
}

TEST_CASE("mqa_logits gives rows no key where the context is shorter than next_n", "[mqa]") {
  for (const auto split_contexts : both_splits)
    for (const bool fills : {false, true})
      check_both_waves({.contexts = {0, 1, 2, 3, 4},
                        .max_model_len = 10,
                        .next_n = 4,
                        .split_contexts = split_contexts,
                        .num_splits = 128,
                        .fills_hidden = fills,
                        .row_margin = 1});
}

TEST_CASE("mqa_logits gives the same bits for every cut of the contexts", "[mqa]") {
  const auto bits = [](int splits, context_split how) {
    return check({.contexts = {1000, 130, 512},
                  .max_model_len = 1003,
                  .heads = 20,
                  .head_dim = 32,
                  .split_contexts = how,
                  .num_splits = splits},
                 cpu::parameters(64));
  };
  const std::vector<std::uint32_t> expected = bits(1, context_split::fixed);
  for (const int splits : {1, 2, 3, 4, 7, 128})
    for (const auto how : both_splits) CHECK((bits(splits, how) == expected));
}

TEST_CASE("mqa_logits gives the same bits under every schedule", "[mqa]") {
  for (const auto split_contexts : both_splits) {
    const setting s{.contexts = {500, 90},
                    .max_model_len = 512,
                    .next_n = 2,
                    .heads = 64,
                    .head_dim = 64,
                    .page_size = 64,
                    .order = key_order::preshuffled,
                    .split_contexts = split_contexts,
                    .num_splits = 2};
    for (const int wave_size : {32, 64}) {
      const std::vector<std::uint32_t> expected = check(s, cpu::parameters(wave_size));
      for (const assay_launch& launch : cpu::all_launches())
        if (launch.wave_size == wave_size) CHECK((check(s, launch) == expected));
    }
  }
}

TEST_CASE("mqa_logits never writes behind max_model_len, however long a context claims to be", "[mqa]") {
  for (const auto split_contexts : both_splits) {
    const setting honest{.contexts = {300, 300},
                         .max_model_len = 300,
                         .split_contexts = split_contexts,
                         .num_splits = 2,
                         .row_margin = 4};
    mqa::trial t(honest);
    REQUIRE(t.run(cpu::parameters(64)).code == ASSAY_OK);
    const std::vector<std::uint32_t> expected = t.logits;
    t.claim_contexts(0x7FFFFFFF);
    REQUIRE(t.run(cpu::parameters(64)).code == ASSAY_OK);
    CHECK((t.logits == expected));
  }
}

TEST_CASE("mqa_logits takes the configuration of aiter 2866", "[mqa]") {
  for (const auto split_contexts : both_splits)
    check({.contexts = {2048},
           .max_model_len = 2048,
           .next_n = 2,
           .heads = 64,
           .page_size = 64,
           .order = key_order::preshuffled,
           .split_contexts = split_contexts,
           .num_splits = 4},
          cpu::parameters(64));
}
