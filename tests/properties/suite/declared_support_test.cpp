// Libraries that declare what they take: the built-in kernels behind a narrower door.
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <cstring>
#include <memory>
#include <sstream>
#include <vector>

#include "kernels/unsupported.hpp"
#include "properties/cli/program.hpp"
#include "properties/data/difference.hpp"
#include "properties/generate/support_table.hpp"
#include "properties/generate/support_text.hpp"
#include "properties/relations/relations.hpp"
#include "properties/suite/report.hpp"
#include "properties/suite/scope.hpp"
#include "properties/suite/sufficiency.hpp"
#include "tests/properties/faulty_library.hpp"

namespace assay {
namespace {

/// Decoding in f16 with a head dim of 128, pages of 16 keys and a causal mask; no LSE, and workspaces of its own.
assay_support narrow() {
  assay_support s{};
  s.size_bytes = sizeof s;
  s.types[0] = {ASSAY_TYPE_F16, ASSAY_TYPE_F16, ASSAY_TYPE_F16};
  s.head_dims.values[0] = 128;
  s.page_sizes.values[0] = 16;
  s.group_sizes.most = 8;
  s.most_rows = 1;
  s.most_heads_kv = 8;
  s.input_alignment = s.output_alignment = 8;
  s.no_noncausal = s.no_window = s.no_prefix_offset = s.no_sinks = s.no_soft_cap = 1;
  s.no_bias_f32 = s.no_bias_f16 = s.no_bias_bf16 = 1;
  s.no_page_list = s.no_split_count = s.no_workspace_budget = s.no_lse = s.no_partials = 1;
  s.no_batch = s.no_hnd = s.no_unequal_layouts = s.no_q_heads_outermost = s.no_q_transposed = 1;
  s.no_live_nan = s.no_live_infinity = s.no_padding_rows = 1;
  return s;
}

/// A dense f32 tensor of the kernel's own.
struct own_tensor {
  own_tensor(const char* name, std::vector<std::int64_t> extents) : shape(std::move(extents)), stride(shape.size(), 1) {
    for (std::size_t d = shape.size() - 1; d-- > 0;) stride[d] = stride[d + 1] * shape[d + 1];
    data.resize(static_cast<std::size_t>(stride[0] * shape[0]) + 1);
    tensor.name = name;
    tensor.type = static_cast<std::int32_t>(dtype::f32);
    tensor.role = ASSAY_OUTPUT;
    tensor.view.data = data.data();
    tensor.view.device = {kDLCPU, 0};
    tensor.view.ndim = static_cast<int>(shape.size());
    tensor.view.dtype = {kDLFloat, 32, 1};
    tensor.view.shape = shape.data();
    tensor.view.strides = stride.data();
  }
  own_tensor(const own_tensor&) = delete;
  std::vector<std::int64_t> shape, stride;
  std::vector<float> data;
  assay_tensor tensor{};
};

assay_status refuse(const char* what) {
  assay_status status{ASSAY_UNSUPPORTED, {}};
  std::snprintf(status.message, sizeof status.message, "%s", what);
  return status;
}

/// Whether the call is a good one of what the kernel takes, before it adds what the built-in kernel wants beside it.
const char* refusal_of(const testing::call& one) {
  const auto is_multiple = [](const assay_tensor& t) {
    for (int d = 0; t.view.strides != nullptr && d + 1 < t.view.ndim; ++d)
      if (t.view.shape != nullptr && t.view.shape[d] > 1 && t.view.strides[d] % 8 != 0) return false;
    return true;
  };
  for (const char* name : {"q", "o"})
    if (one.has(name) && !is_multiple(const_cast<testing::call&>(one).at(name))) return "rows that are not aligned";
  for (const char* name : {"sinks", "prefix_offset", "bias", "lse", "o_partial", "page_indices"})
    if (one.has(name)) return name;
  problem stated = one.stated;
  if (stated.num_splits < 1) return "num_splits 0";
  stated.num_splits = 0;
  return unsupported(narrow(), stated);
}

/// Runs the built-in kernel with memory for the outputs that the narrow one leaves out.
assay_status run_with_own_outputs(testing::call& one) {
  const problem& p = one.stated;
  if (p.total_q < 0 || p.heads_q < 1 || p.head_dim_v < 1 || p.heads_q > 4096 || p.num_splits > 128)
    return refuse("extents");
  const own_tensor lse("lse", {p.total_q, p.heads_q});
  const own_tensor o_partial("o_partial", {p.num_splits, p.total_q, p.heads_q, p.head_dim_v});
  const own_tensor lse_partial("lse_partial", {p.num_splits, p.total_q, p.heads_q});
  one.tensors.push_back(lse.tensor);
  if (p.num_splits > 1) one.tensors.insert(one.tensors.end(), {o_partial.tensor, lse_partial.tensor});
  return one.run();
}

assay_status run_narrow(testing::call& one) {
  const char* const what = refusal_of(one);
  return what != nullptr ? refuse(what) : run_with_own_outputs(one);
}

/// Whether a slot of a page in use holds NaN or an infinity as a value.
bool has_special_value(const testing::call& one) {
  const tensor v = one.view("v");
  for (std::int64_t s = 0; s < one.stated.num_seqs; ++s)
    for (std::int64_t i = 0; i * v.shape[1] < one.i32("seqlens_k", s); ++i)
      for (std::int64_t slot = 0; slot < v.shape[1]; ++slot)
        for (std::int64_t h = 0; h < v.shape[2]; ++h)
          if ((bits_at(v, v.offset(one.i32("block_table", s, i), slot, h)) & 0x7C00U) == 0x7C00U) return true;
  return false;
}

std::shared_ptr<library> narrow_library(std::function<assay_status(testing::call&)> run = run_narrow) {
  auto lib = testing::faulty_library(std::move(run));
  lib->supports["split_kv"] = read_support(narrow());
  lib->checks.accesses = false;
  return lib;
}

suite_options options_for(const library& lib, std::int64_t cases) {
  suite_options options;
  options.kernels = {"split_kv"};
  options.supports = lib.supports;
  options.has_predicate = lib.has_predicate();
  for (const property& p : properties()) {
    if (can_be_checked(p, options)) options.selected.push_back(&p);
    options.left_out.push_back(&p);
  }
  options.cases = cases;
  options.jobs = 2;
  options.budget = {.seconds = 10, .tries = 300};
  return options;
}

suite_result run_with_teeth(library& lib, const suite_options& options) {
  lib.measures_teeth = true;
  suite_result result = run_suite(lib, options);
  lib.measures_teeth = false;
  return result;
}

TEST_CASE("a kernel with few features is verified for them, without a discard", "[long]") {
  const auto lib = narrow_library();
  const suite_options options = options_for(*lib, 500);
  const suite_result result = run_with_teeth(*lib, options);
  const std::string text = report_text(options, result);
  INFO(text);
  CHECK(result.total.fail == 0);
  CHECK(result.total.discard == 0);
  CHECK(exit_status(options, result) == 0);
  CHECK(text.find("left out: split_kv: split_count (the kernel takes no number of splits)\n") != std::string::npos);
  CHECK(text.find("left out: split_kv: combine_partials (") != std::string::npos);
  for (const char* fault : {"lse_in_base_2", "lse_without_scale", "hidden_key_seen"})
    CHECK_FALSE(result.teeth.contains({"split_kv", "f16", fault}));
  CHECK(text.find("verified for: split_kv: f16, head dim 128, pages of 16, group up to 8, up to 8 kv heads, "
                  "1 row of a sequence, input rows at multiples of 8, output rows at multiples of 8, causal, ") !=
        std::string::npos);
  CHECK(report_json("x.so", "cpu", options, result).find("\"verified_for\":[\"split_kv: f16, head dim 128, ") !=
        std::string::npos);
  CHECK(report_junit(options, result).find("verified for split_kv: f16, head dim 128, ") != std::string::npos);
}

TEST_CASE("a run in waves of one size says so, and is refused where the kernel takes no such waves", "[long]") {
  const auto lib = narrow_library();
  lib->supports.at("split_kv").no_wave_32 = 1;
  suite_options options = options_for(*lib, 20);
  options.accept_blunt = true;
  options.waves = 64;
  const suite_result result = run_suite(*lib, options);
  REQUIRE(verified_for(options, result).size() == 1);
  CHECK(verified_for(options, result).front().ends_with(", in waves of 64"));
  std::ostringstream out, err;
  CHECK(run_program({"run", "--waves", "32", "--cases", "4"}, {out, err, lib}) == exit_usage);
  CHECK(err.str() == "assay: --waves 32: split_kv takes no such waves\n");
  CHECK(out.str().empty());
}

TEST_CASE("without its support, the same kernel refuses nearly all cases, and is not verified") {
  const auto lib = narrow_library();
  lib->supports.clear();
  suite_options options = options_for(*lib, 60);
  options.selected = {&enclosure_property()};
  const suite_result result = run_suite(*lib, options);
  CHECK(result.total.discard + result.total.fail == 60);
  CHECK(exit_status(options, result) == 1);
  CHECK(verified_for(options, result).empty());
}

TEST_CASE("a library that refuses what it declares to support fails, and says so", "[long]") {
  const auto lib = narrow_library([](testing::call& one) {
    if (one.stated.num_seqs == 2) return refuse("two sequences");
    return run_narrow(one);
  });
  const suite_options options = options_for(*lib, 80);
  const suite_result result = run_suite(*lib, options);
  INFO(report_text(options, result));
  REQUIRE(result.total.fail > 0);
  const auto at = std::ranges::find(result.findings, std::string("refusal"), &finding::origin);
  REQUIRE(at != result.findings.end());
  CHECK(at->shrunk.result.what == "the library refuses what it declares to support: unsupported: two sequences");
  CHECK(unsupported_by(narrow(), at->shrunk.smallest).empty());
  CHECK(verified_for(options, result).empty());
}

TEST_CASE("a bug in a kernel with few features is found, and shrunk within them", "[long]") {
  const auto lib = narrow_library([](testing::call& one) {
    const assay_status status = run_narrow(one);
    const tensor o = one.view("o");
    if (status.code == ASSAY_OK && one.stated.max_k > 100 && one.stated.heads_q > 1 && o.size() > 0)
      set_bits(o, o.offset(0, 1, 3), bits_at(o, o.offset(0, 1, 3)) ^ 0x40U);
    return status;
  });
  const suite_options options = options_for(*lib, 150);
  const suite_result result = run_suite(*lib, options);
  INFO(report_text(options, result));
  REQUIRE(result.total.fail > 0);
  for (const finding& f : result.findings) CHECK(unsupported_by(narrow(), f.shrunk.smallest).empty());
}

TEST_CASE("a kernel that multiplies dead values by 0 is verified with numbers in dead memory", "[long]") {
  const auto lib = narrow_library([](testing::call& one) {
    testing::call without_window = one;  // which this kernel takes, and else no more than the narrow one
    without_window.stated.window = 0;
    if (const char* const what = refusal_of(without_window)) return refuse(what);
    return has_special_value(one) ? refuse("NaN or infinity in V") : run_with_own_outputs(one);
  });
  assay_support takes = narrow();
  takes.no_window = 0;
  takes.no_dead_nan = takes.no_rows_without_keys = 1;
  lib->supports["split_kv"] = read_support(takes);
  suite_options options = options_for(*lib, 40);
  options.selected = {&enclosure_property(), &relations::dead_memory, &relations::hidden_keys};
  const suite_result result = run_suite(*lib, options);
  INFO(report_text(options, result));
  CHECK(result.total.fail == 0);
  CHECK(result.total.pass >= 30);
}

/// Refuses every case of three sequences or more, and all of them where `of_all`.
bool refuses_all = false;
assay_status supports_case(const char* kernel, const problem* planned, const assay_tensor* tensors,
                           std::int32_t count) {
  CHECK(std::string(kernel) == "split_kv");
  bool has_q = false;
  for (std::int32_t i = 0; i < count; ++i) has_q = has_q || std::strcmp(tensors[i].name, "q") == 0;
  CHECK(has_q);
  CHECK(planned->num_splits >= 1);
  return refuses_all || planned->num_seqs > 2 ? refuse("more than two sequences") : assay_status{};
}

TEST_CASE("what a predicate refuses is drawn anew, and discarded only where it refuses all draws", "[long]") {
  const auto lib =
      narrow_library([](testing::call& one) { return one.stated.num_seqs > 2 ? refuse("too many") : run_narrow(one); });
  lib->predicate = supports_case;
  refuses_all = false;
  suite_options options = options_for(*lib, 40);
  CHECK(options.has_predicate);
  options.selected = {&enclosure_property(), &relations::dead_memory};
  const suite_result result = run_suite(*lib, options);
  INFO(report_text(options, result));
  CHECK(result.total.fail == 0);
  CHECK(result.total.discard <= 1);  // a large case has many sequences in each draw
  CHECK(result.total.pass >= 39);
  refuses_all = true;
  options.cases = 6;
  const suite_result none = run_suite(*lib, options);
  refuses_all = false;
  CHECK(none.total.discard == 6);
  CHECK(none.discards.begin()->first == "the library supports none of N draws: more than two sequences");
}

TEST_CASE("each property that a kernel cannot show is left out with its reason, and discards replayed cases") {
  const auto why = [](const property& p, auto&& change, const char* kernel = "split_kv") {
    assay_support s{};
    CHECK(left_out(p, kernel, s).empty());
    change(s);
    return left_out(p, kernel, s);
  };
  using namespace relations;
  using support = assay_support;
  const std::string no_count = "the kernel takes no number of splits";
  CHECK(why(split_count, [](support& s) { s.no_split_count = 1; }) == no_count);
  CHECK(why(split_count, [](support& s) { s.most_splits = 1; }) == no_count);
  CHECK(why(combine_partials, [](support& s) { s.no_split_count = 1; }) == no_count);
  CHECK(why(context_splits, [](support& s) { s.no_split_count = 1; }, "mqa_logits") == no_count);
  CHECK(why(combine_partials, [](support& s) { s.no_partials = 1; }) == "the kernel keeps its partials to itself");
  CHECK(why(page_sharing, [](support& s) { s.most_sequences = 1; }) == "the kernel takes one sequence");
  CHECK(why(other_sequences, [](support& s) { s.most_sequences = 1; }) == "the kernel takes one sequence");
  CHECK(why(pool_shift, [](support& s) { s.most_pool_bytes = INT32_MAX; }) ==
        "the kernel takes no pool beyond 2^31 bytes");
  CHECK(why(table_tail, [](support& s) { s.no_spare_table_entries = 1; }) ==
        "the kernel takes no table entries behind the last page");
  const std::string no_mask = "the kernel takes no mask that hides a key";
  CHECK(why(hidden_keys, [](support& s) { s.no_causal = s.no_window = 1; }) == no_mask);
  CHECK(why(hidden_keys, [](support& s) { s.most_rows = s.no_prefix_offset = s.no_window = 1; }) == no_mask);
  CHECK(why(hidden_keys, [](support& s) { s.most_rows = 1; }).empty());
  CHECK(why(hidden_keys, [](support& s) { s.most_rows = 1; }, "mqa_logits") == no_mask);
  CHECK(why(other_rows, [](support& s) { s.most_rows = s.most_sequences = 1; }) == "the kernel takes one query row");
  CHECK(why(other_rows, [](support& s) { s.most_rows = 1; }).empty());
  CHECK(why(head_permutation, [](support& s) { s.most_heads_q = 1; }) == "the kernel takes one head");
  CHECK(why(head_permutation, [](support& s) { s.most_heads_kv = s.group_sizes.most = 1; }) ==
        "the kernel takes one head");
  CHECK(why(head_permutation, [](support& s) { s.most_heads_kv = 1; }).empty());
  const std::string no_descales = "the kernel takes no descales per page";
  for (const property* p : {&equal_descales, &descale_exchange})
    CHECK(why(*p, [](support& s) { s.no_page_descales = 1; }, "batch_prefill") == no_descales);
  CHECK(why(
            equal_descales, [](support& s) { s.no_v_scale = 1; }, "batch_prefill") ==
        "the kernel takes no descales per tensor");
  CHECK(why(far_rows, [](support& s) { s.no_far_strides = 1; }) == "the kernel takes no rows that lie far apart");
  for (const property* p : {&slot_order, &slot_twice, &append_again})
    CHECK(why(*p, [](support& s) { s.most_rows = 1; }, "append_kv") == "the kernel takes one new row of a sequence");
  CHECK(left_out(append_then_attend, "append_kv", {}, {.has_attention = false}) ==
        "the library has no kernel of attention");
  CHECK(left_out(append_then_attend, "append_kv", {}, {}).empty());
  CHECK(left_out(wave_schedule, "split_kv", {}, {.has_schedules = false}) == "only the cpu platform has schedules");
  CHECK(left_out(wave_schedule, "split_kv", {}).empty());

  const auto lib = narrow_library();
  const verdict v = check_property(*lib, split_count, testing::small_case());
  CHECK(v.result == outcome::discard);
  CHECK(v.what == "split_count is left out: the kernel takes no number of splits");
}

TEST_CASE("row_strides keeps to the declared alignment", "[long]") {
  std::int64_t calls = 0;
  const auto lib = narrow_library([&calls](testing::call& one) {
    for (const char* name : {"q", "o"}) {
      const DLTensor& t = one.at(name).view;
      CHECK((reinterpret_cast<std::uintptr_t>(t.data) + t.byte_offset) % 16 == 0);
      for (int d = 0; d + 1 < t.ndim; ++d)
        if (t.shape[d] > 1) CHECK(t.strides[d] % 8 == 0);
    }
    ++calls;
    return run_narrow(one);
  });
  suite_options options = options_for(*lib, 1);
  options.selected = {&relations::row_strides};
  for (std::int64_t i = 0; i < 6; ++i) {
    const verdict v = relations::row_strides.check(*lib, suite_case(options, i));
    CAPTURE(v.what);
    CHECK(v.result == outcome::pass);
  }
  CHECK(calls >= 18);
}

TEST_CASE("all missing refusals of a library are in one message") {
  const auto lib = narrow_library([](testing::call& one) {
    if (std::isnan(one.stated.scale) || std::isnan(one.stated.v_scale) || one.stated.num_seqs < 0)
      return assay_status{ASSAY_OK, {}};
    return run_narrow(one);
  });
  suite_options options = options_for(*lib, 1);
  options.selected = {&relations::bad_problem_rejected};
  const verdict v = relations::bad_problem_rejected.check(*lib, suite_case(options, 3));
  CAPTURE(v.what);
  CHECK(v.result == outcome::fail);
  CHECK(v.what.starts_with("3 refusals are missing: "));
  for (const char* name : {"run() accepted num_seqs -1", "run() accepted scale NaN", "run() accepted v_scale NaN"})
    CHECK(v.what.find(name) != std::string::npos);
}

TEST_CASE("limits of the built-in kernels are demanded of no library that declares what it takes") {
  const attention_case c = testing::small_case();
  // The built-in kernel, whose plan() takes any head dim and any number of splits.
  const assay_kernel any_dims{
      "split_kv",
      [](const problem* p, std::int64_t budget, assay_plan* out) {
        problem known = *p;
        if (known.head_dim_qk == 68 || known.head_dim_qk == 1 << 30) known.head_dim_qk = 64;
        if (known.head_dim_v == 68 || known.head_dim_v == 1 << 30) known.head_dim_v = 64;
        if (known.num_splits == 129) known.num_splits = 128;
        const assay_status status = library::built_in()->find("split_kv")->plan(&known, budget, out);
        if (p->num_splits > 0) out->num_splits = p->num_splits;
        return status;
      },
      [](const problem* p, const assay_launch* launch, contract* out) {
        return library::built_in()->find("split_kv")->declare(p, launch, out);
      },
      [](const problem* p, const assay_tensor* tensors, std::int32_t count, const assay_launch* launch) {
        return library::built_in()->find("split_kv")->run(p, tensors, count, launch);
      },
      nullptr};
  const assay_library table = ASSAY_LIBRARY("cpu", &any_dims, 1);
  library wide(&table, "wide");
  const verdict undeclared = relations::bad_problem_rejected.check(wide, c);
  CAPTURE(undeclared.what);
  CHECK(undeclared.result == outcome::fail);
  CHECK(undeclared.what.find("plan() accepted head_dim_qk 68") != std::string::npos);
  CHECK(undeclared.what.find("plan() accepted num_splits 129") != std::string::npos);
  assay_support any{};
  any.size_bytes = sizeof any;
  wide.supports["split_kv"] = any;
  const verdict declared = relations::bad_problem_rejected.check(wide, c);
  CAPTURE(declared.what);
  CHECK(declared.result == outcome::pass);
}

TEST_CASE("the scope says that no NaN was in dead memory, however much else is lacking") {
  assay_support s = narrow();
  CHECK(support_line("split_kv", s, {"f16"}).find("NaN in dead memory") == std::string::npos);
  s.no_dead_nan = 1;
  CHECK(support_line("split_kv", s, {"f16"}).ends_with("no NaN in dead memory"));
  assay_support few{};
  few.size_bytes = sizeof few;
  few.no_dead_nan = 1;
  CHECK(support_line("split_kv", few, {"f16"}).find("all features but dead NaN") != std::string::npos);
}

TEST_CASE("unequal head dims that are not taken are named, where the dims could differ") {
  assay_support s{};
  s.size_bytes = sizeof s;
  s.head_dims.values[0] = 64;
  s.head_dims.values[1] = 128;
  s.no_unequal_head_dims = 1;
  CHECK(support_line("split_kv", s, {"f16"}).find("unequal head dims") != std::string::npos);
  s.head_dims.values[1] = 0;  // one dim alone
  CHECK(support_line("split_kv", s, {"f16"}).find("unequal head dims") == std::string::npos);
}

TEST_CASE("a library that takes one number of splits alone must say so") {
  const auto only_two = testing::faulty_library([](testing::call& one) {
    return one.stated.num_splits == 2 ? one.run() : refuse("another number of splits than two");
  });
  attention_case c = testing::small_case();
  c.num_splits = 2;
  CHECK(check_property(*only_two, enclosure_property(), c).result == outcome::pass);
  CHECK(check_property(*only_two, relations::combine_partials, c).result == outcome::discard);
  assay_support all{};
  all.size_bytes = sizeof all;
  only_two->supports["split_kv"] = all;
  for (const property* p : {&relations::combine_partials, &relations::split_count}) {
    const verdict v = check_property(*only_two, *p, c);
    INFO(p->name << ": " << v.what);
    CHECK(v.result == outcome::fail);
    CHECK(v.origin == "refusal");
  }
}

}  // namespace
}  // namespace assay
