#include "properties/run/contract_fault.hpp"

#include <catch2/catch_test_macros.hpp>
#include <cstddef>
#include <limits>
#include <utility>

#include "kernels/matrix_atoms.hpp"
#include "tests/properties/faulty_library.hpp"

namespace assay {
namespace {

std::string fault_of_built_in() {
  const attention_case c = testing::small_case();
  inputs in = fill(c);
  const execution ran = execute(*library::built_in(), c, in);
  return contract_fault(ran.declared, ran.planned);
}

TEST_CASE("the built-in kernels and the textbook's contract are taken as they are") {
  CHECK(fault_of_built_in().empty());
  CHECK(contract_fault(contract{}, problem{}).empty());
  contract hopper;  // FP8: 13 bits, accumulated over 32 products
  hopper.qk = hopper.pv = {32, 13, 33.0F, 0x1p-23F, 0x1p-126F};
  hopper.p_type = dtype::e4m3fn;
  CHECK(contract_fault(hopper, problem{}).empty());
}

TEST_CASE("a contract that nothing can leave is a failure, whatever the outputs are") {
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  void (*const edits[])(contract&) = {
      [](contract& c) { c.pv.alignment_terms = nan; },
      [](contract& c) { c.qk.alignment_terms = std::numeric_limits<float>::infinity(); },
      [](contract& c) { c.pv.alignment_bits = -100; },
      [](contract& c) { c.pv.result_roundoff = 1; },
      [](contract& c) { c.pv.flush = 1; },
      [](contract& c) { c.exp2_relative_error = 1; },
      [](contract& c) { c.exp2_relative_error = -1; },
      [](contract& c) { c.log_absolute_error = nan; },
      [](contract& c) { c.tanh_relative_error = 0.5F; },
      [](contract& c) { c.normalise_roundings = 1 << 20; },
      [](contract& c) { c.p_flush = 1; },
      [](contract& c) { c.tile_keys = 0; },
      [](contract& c) { c.p_type = dtype::i8; },
      [](contract& c) { c.p_shift = -2; },
      [](contract& c) { c.p_shift = 128; },
      [](contract& c) { c.fuses_logits = 2; },
      [](contract& c) { c.merge_roundings = -2; },
      [](contract& c) { c.merge_roundings = 1 << 20; },
  };
  for (const auto edit : edits) {
    const verdict v = run_case(*testing::declaring_library(edit), testing::small_case());
    CAPTURE(v.what);
    CHECK(v.result == outcome::fail);
    CHECK(v.what.starts_with("the declared contract cannot bound the outputs: "));
  }
}

TEST_CASE("a contract in which declare() set nothing, or left out fields, is a failure that names them") {
  CHECK(contract_fault(undeclared_contract(), problem{}) == "declare() set no field of the contract");
  const auto fault = [](auto edit) {
    const verdict v = run_case(*testing::declaring_library(edit), testing::small_case());
    CHECK(v.result == outcome::fail);
    return v.what;
  };
  CHECK(fault([](contract& c) { c = undeclared_contract(); }) ==
        "the declared contract cannot bound the outputs: declare() set no field of the contract");
  CHECK(fault([](contract& c) {
          const contract unset = undeclared_contract();
          c.pv.flush = unset.pv.flush, c.head_tree[5] = unset.head_tree[5], c.p_type = unset.p_type;
        }) == "the declared contract cannot bound the outputs: declare() did not set pv.flush, p_type, head_tree");
}

TEST_CASE("what a library of an older contract.hpp does not know is neutral, and what it knows it must set") {
  const contract older = undeclared_contract(offsetof(contract, order));
  CHECK(older.order == contract{}.order);
  CHECK(older.sum_epsilon == contract{}.sum_epsilon);
  CHECK(older.qk_atom == matrix_atom{});
  const contract without_atoms = undeclared_contract(offsetof(contract, qk_atom));
  CHECK(without_atoms.pv_atom.sum == atom_sum::undeclared);
  const std::string fault = contract_fault(older, problem{});
  CHECK(fault.starts_with("declare() did not set tile_keys, "));
  CHECK(fault.ends_with("quantise_roundings, rescale_roundings"));
}

TEST_CASE("states of a split are at most 64, and one with per-page descales", "[contract]") {
  problem p;
  const auto fault = [&](auto edit) {
    contract c;
    edit(c);
    return contract_fault(c, p);
  };
  CHECK(fault([](contract& c) { c.states = 64, c.state_roundings = c.sum_join_roundings = 8; }).empty());
  CHECK(fault([](contract& c) { c.states = 0; }).empty());  // as 1: of a C library that sets only what it needs
  CHECK(fault([](contract& c) { c.states = 65; }).starts_with("states is"));
  CHECK(fault([](contract& c) { c.state_roundings = -2; }).starts_with("state_roundings is"));
  CHECK(fault([](contract& c) { c.sum_join_roundings = -2; }).starts_with("sum_join_roundings is"));
  CHECK(fault([](contract& c) { c.order = tile_order::any, c.states = 2; }).empty());  // where it has no meaning
  p.kv_descale = descale_kind::per_page;
  CHECK(fault([](contract& c) { c.states = 2; }) == "states is 2, must be 1 with per-page descales");
  CHECK(undeclared_contract(offsetof(contract, states)).states == 1);
}

TEST_CASE("a library does not get by with what the struct's defaults or an earlier call left") {
  const auto silent = testing::silent_library();
  const verdict v = run_case(*silent, testing::small_case());
  CHECK(v.result == outcome::fail);
  CHECK(v.what == "the declared contract cannot bound the outputs: declare() set no field of the contract");
}

TEST_CASE("an exact atom that makes no sense is a failure that names its field") {
  const auto fault = [](auto edit) {
    contract c;
    problem p;
    p.q_type = p.k_type = dtype::f16;
    p.v_type = dtype::e4m3fnuz;
    c.qk_atom = hopper_atom(dtype::f16);
    c.pv_atom = cdna3_fp8_atom(dtype::e4m3fnuz);
    CHECK(contract_fault(c, p).empty());
    edit(c);
    return contract_fault(c, p);
  };
  CHECK(fault([](contract& c) { c.qk_atom.sum = static_cast<atom_sum>(4); }).starts_with("qk_atom.sum is"));
  CHECK(fault([](contract& c) { c.qk_atom.products = 65; }).starts_with("qk_atom.products is"));
  CHECK(fault([](contract& c) { c.qk_atom.group = 5; }).starts_with("qk_atom.group does"));
  CHECK(fault([](contract& c) { c.qk_atom.run = 0; }).starts_with("qk_atom.run does"));
  CHECK(fault([](contract& c) { c.qk_atom.least_exponent = 1; }).starts_with("qk_atom.least_exponent is"));
  CHECK(fault([](contract& c) { c.qk_atom.flushes_inputs = 2; }).starts_with("qk_atom.joins_c_later, flushes"));
  CHECK(fault([](contract& c) { c.qk_atom.parts = 2; }).starts_with("qk_atom.parts is"));
  CHECK(fault([](contract& c) { c.qk_atom.exponent = static_cast<product_exponent>(2); }).starts_with("qk_atom.exp"));
  CHECK(fault([](contract& c) { c.qk_atom.fraction_bits = 32; }).starts_with("qk_atom.fraction_bits is"));
  CHECK(fault([](contract& c) { c.qk_atom.alignment = cut::nearest_even; }).starts_with("qk_atom.alignment or"));
  CHECK(fault([](contract& c) { c.pv_atom.result_bits = 13; }).starts_with("pv_atom.result_bits is not 23"));
  CHECK(fault([](contract& c) { c.pv_atom.sum_bits = 32; }).starts_with("pv_atom.sum_bits is"));
  CHECK(fault([](contract& c) {
          c.qk_atom = cdna2_atom(dtype::f16);
          c.qk_atom.products = c.qk_atom.group = c.qk_atom.run = 12;
        }).starts_with("qk_atom.group is not a power"));
  // Fields without a meaning, too: a sum of fma has one part, whatever was left at 0.
  CHECK(fault([](contract& c) {
          c.qk_atom = ieee_atom(dtype::f16);
          c.qk_atom.parts = 0;
        }).starts_with("qk_atom.parts is"));
  CHECK(fault([](contract& c) {
          c.qk_atom = ieee_atom(dtype::f16);
          c.qk_atom.result_bits = -100;
        }).starts_with("qk_atom.fraction_bits is"));
}

TEST_CASE("an exact atom as coarse as none of hardware is a failure") {
  const auto fault = [](auto edit) {
    contract c;
    problem p;
    p.q_type = p.k_type = dtype::bf16;
    c.qk_atom = cdna3_atom(dtype::bf16);
    CHECK(contract_fault(c, p).empty());
    edit(c.qk_atom);
    return contract_fault(c, p);
  };
  CHECK(fault([](matrix_atom& a) { a.fraction_bits = 9; }).starts_with("qk_atom.fraction_bits is"));
  CHECK(fault([](matrix_atom& a) { a.result_bits = 9, a.result = cut::down; }).starts_with("qk_atom.fraction_bits is"));
  CHECK(fault([](matrix_atom& a) { a.sum_bits = 9; }).starts_with("qk_atom.sum_bits is"));
  CHECK(fault([](matrix_atom& a) { a.c_reach = 1; }).starts_with("qk_atom.c_reach is"));
  CHECK(
      fault([](matrix_atom& a) { a.least_exponent = -14; }).starts_with("qk_atom.least_exponent is not -126 to -126"));
  contract c;
  problem p;
  p.q_type = p.k_type = dtype::e4m3fn;
  c.qk_atom = hopper_fp8_atom(dtype::e4m3fn);
  CHECK(contract_fault(c, p).empty());
  c.qk_atom.flushes_inputs = 1;
  CHECK(contract_fault(c, p).starts_with("qk_atom.least_exponent is not -126 to -14"));
  c.qk = {16, -60, 0, 0x1p-24F, 0};  // it says that nothing is cut, and 2^60
  CHECK(contract_fault(c, p).starts_with("qk.alignment_bits is"));
}

TEST_CASE("P is not shifted beyond its type") {
  for (const auto& [type, most] : {std::pair{dtype::e4m3fn, 8}, {dtype::e4m3fnuz, 7}, {dtype::f16, 15}}) {
    contract c;
    c.p_type = type;
    c.p_shift = most;
    CHECK(contract_fault(c, problem{}).empty());
    c.p_shift = most + 1;
    CHECK(contract_fault(c, problem{}).starts_with("p_shift is "));
  }
}

TEST_CASE("logits are fused only where they are a product of a positive constant") {
  contract c;
  c.fuses_logits = 1;
  CHECK(contract_fault(c, problem{}).empty());
  void (*const edits[])(problem&) = {[](problem& p) { p.soft_cap = 2; }, [](problem& p) { p.bias_type = dtype::f32; },
                                     [](problem& p) { p.scale = 0; }, [](problem& p) { p.q_scale = -1; }};
  for (const auto edit : edits) {
    problem p;
    edit(p);
    CHECK(contract_fault(c, p).starts_with("fuses_logits needs "));
    c.fuses_logits = 0;
    CHECK(contract_fault(c, p).empty());
    c.fuses_logits = 1;
  }
}

TEST_CASE("logits are rounded beside maxima of at least 1, or beside none", "[contract]") {
  contract c;
  c.fuses_logits = 1;
  for (const float fits : {0.0F, 1.0F, 0x1p16F}) {
    c.least_rounded_maximum = fits;
    CHECK(contract_fault(c, problem{}).empty());
  }
  for (const float bad :
       {0.5F, -1.0F, std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    c.least_rounded_maximum = bad;
    CHECK(contract_fault(c, problem{}).starts_with("least_rounded_maximum is"));
  }
}

TEST_CASE("a stated order of heads joins every row once") {
  problem p;
  p.operation = operation_kind::mqa_logits;
  p.scale = 0;  // of no meaning there
  contract c;
  c.fuses_logits = 1;
  CHECK(contract_fault(c, p).empty());
  c.head_rows = 4;
  CHECK(contract_fault(c, p).starts_with("head_rows is 4 and head_tree 0, 0, "));
  c.head_tree[0] = 2;
  c.head_tree[1] = 1;
  CHECK(contract_fault(c, p).empty());
  c.head_rows = 8;
  CHECK(contract_fault(c, p).starts_with("head_rows is 8"));
  c.head_rows = 0;  // else the looser judgement without an order would apply unnoticed
  CHECK(contract_fault(c, p).starts_with("head_rows is 0"));
}

TEST_CASE("TF32 is what products are read as, where no order is declared") {
  const problem p;
  for (dtype contract::* const field : {&contract::p_type, &contract::query_type, &contract::cache_type}) {
    contract c;
    c.*field = dtype::tf32;
    CHECK_FALSE(contract_fault(c, p).empty());
    c.order = tile_order::any;
    CHECK(contract_fault(c, p).empty());
  }
  contract c;
  c.order = tile_order::any;
  c.product_type = dtype::tf32;
  CHECK(contract_fault(c, p) == "product_type is 9, must be f32, f16 or bf16");
}

TEST_CASE("FP8 is what a query may be rounded to, and a cache is not") {
  const problem p;
  for (const dtype fp8 : {dtype::e4m3fn, dtype::e4m3fnuz}) {
    contract c;
    c.query_type = fp8;
    CHECK_FALSE(contract_fault(c, p).empty());
    c.order = tile_order::any;
    CHECK(contract_fault(c, p).empty());
    c.cache_type = fp8;
    CHECK(contract_fault(c, p).starts_with("cache_type is "));
  }
}

TEST_CASE("with descales per page a contract says which tiles, each in one page, a block visits") {
  problem p;
  p.kv_descale = descale_kind::per_page;
  p.page_size = 128;
  p.num_splits = 1;
  contract c;
  CHECK(contract_fault(c, p) == "tile_rows is 0, must be at least 1 with per-page descales");
  c.tile_rows = 64;
  CHECK(contract_fault(c, p).empty());
  p.page_size = 96;
  CHECK(contract_fault(c, p).starts_with("tiles of 64 keys cross the ends of pages of 96"));
  p.page_size = 64;
  p.num_splits = 2;
  CHECK(contract_fault(c, p) == "per-page descales need num_splits 1");
  p.kv_descale = descale_kind::per_tensor;
  c.tile_rows = 0;
  CHECK(contract_fault(c, p).empty());
}

}  // namespace
}  // namespace assay
