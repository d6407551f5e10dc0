// Cases of the peers' kind, plain attention, and the table of what each judge sees.
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <sstream>

#include "oracle/decode.hpp"
#include "properties/cli/program.hpp"
#include "properties/data/difference.hpp"
#include "properties/generate/kernel_space.hpp"
#include "properties/nightly/peer_cases.hpp"
#include "properties/nightly/peer_judges.hpp"
#include "properties/nightly/peer_rules.hpp"
#include "properties/nightly/plain_attention.hpp"
#include "properties/run/execute.hpp"
#include "tests/properties/faulty_library.hpp"
#include "tests/properties/scratch.hpp"

namespace assay {
namespace {

/// Largest |plain attention - exact|, and the largest |exact|.
std::pair<double, double> plain_error(const attention_case& c) {
  inputs in = fill(c);
  const execution ran = execute(*library::built_in(), c, in);
  REQUIRE(ran.status.code == ASSAY_OK);
  const compared_outputs compared = compare_outputs(in, ran);
  REQUIRE(compared.results.size() == 1);
  const compared_tensor& o = compared.results.front();
  REQUIRE(o.same_precision.size() == o.reference.size());
  double error = 0, magnitude = 0;
  for (std::size_t i = 0; i < o.reference.size(); ++i) {
    error = std::max(error, std::fabs(o.same_precision[i] - o.reference[i]));
    magnitude = std::max(magnitude, std::fabs(o.reference[i]));
  }
  return {error, magnitude};
}

attention_case small_f16() {
  attention_case c = testing::small_case();
  c.scale = 0.125F;
  return c;
}

const judge_row& row_of(const peer_table& table, const std::string& name) {
  for (const judge_row& row : table.rows)
    if (row.name == name) return row;
  throw std::out_of_range(name);
}

fault planted(const std::string& name) {
  return {.name = name, .summary = "", .caught_by = {"enclosure"}, .checker = "", .line = ""};
}

}  // namespace

TEST_CASE("plain attention is near the exact one, with every feature, and not equal to it") {
  attention_case c = small_f16();
  for (const char* feature : {"", "soft cap", "bias", "sinks", "window", "prefix", "bf16"}) {
    INFO(feature);
    const std::string f = feature;
    if (f == "soft cap") c.soft_cap = 8;
    if (f == "bias") c.bias_type = dtype::f16;
    if (f == "sinks") c.sinks = true;
    if (f == "window") c.window = 3;
    if (f == "prefix")
      for (sequence& s : c.sequences) s.prefix_offset = 5;
    if (f == "bf16") c.q_type = c.kv_type = c.o_type = dtype::bf16;
    const auto [error, magnitude] = plain_error(c);
    CHECK(magnitude > 0.1);
    CHECK(error > 0);
    // A few roundings of at most half an ulp (2^-11 and 2^-8) of logits and values below 8.
    CHECK(error < (c.q_type == dtype::bf16 ? 8 * 0x1p-6 : 8 * 0x1p-9));
  }
}

TEST_CASE("plain attention descales FP8 inputs, per page as well") {
  attention_case c = peer_case("batch_prefill", "e4m3fn:bf16", 1, 0);
  for (const descale_kind kind : {descale_kind::per_tensor, descale_kind::per_page}) {
    c.kv_descale = kind;
    c.page_size = 64;
    c.data.descale_ratio = kind == descale_kind::per_page ? 2.0F : 1.0F;
    c.pool_pages = 0;
    for (sequence& s : c.sequences) {
      s.pages.clear();
      for (std::int64_t page = 0; page * 64 < s.k; ++page) s.pages.push_back(c.pool_pages++);
    }
    const auto [error, magnitude] = plain_error(c);
    CHECK(error > 0);
    CHECK(error < 0.25 * magnitude);  // P has 4 bits
  }
}

TEST_CASE("cases of the peers' kind are valid, seeded, and as plain as theirs") {
  for (const kernel_space* space : kernel_spaces())
    for (const std::string& types : types_of_the_space(*space))
      for (std::int64_t index = 0; index < 20; ++index) {
        const attention_case c = peer_case(space->name, types, 3, index);  // it validates
        CHECK(c == peer_case(space->name, types, 3, index));
        CHECK(c.data.descale_ratio == 1.0F);
        CHECK((c.window == 0 && c.soft_cap == 0 && !c.sinks && c.bias_type == dtype::none));
        std::int64_t next = 0;
        for (const sequence& s : c.sequences)
          for (const std::int64_t page : s.pages) CHECK(page == next++);
      }
  CHECK_FALSE(peer_case("split_kv", "f16", 3, 0) == peer_case("split_kv", "f16", 4, 0));
  CHECK_THROWS_AS(peer_case("split_kv", "f64", 3, 0), case_error);
  CHECK_THROWS_AS(peer_case("none", "f16", 3, 0), case_error);
  const attention_case prefill = peer_case("batch_prefill", "e4m3fn:bf16", 3, 0);
  inputs in = peer_inputs(prefill);
  const tensor v = find_buffer(in.buffers, "v")->view();
  for_each_index(v, [&](const std::vector<std::int64_t>& index) { REQUIRE(value_at(v, offset_of(v, index)) >= 0); });
}

TEST_CASE("everyone sees a NaN, only we see the last bit, and no one is blamed for the clean kernels' cases",
          "[long]") {
  const peer_options few{.cases = 4, .seed = 1, .jobs = 2};
  const std::vector<fault> faults{planted("spoiled"), planted("last_bit")};
  const auto open = [](const fault& f) -> std::shared_ptr<library> {
    if (f.name == "spoiled")
      return testing::corrupting_library([](testing::call& c) {
        if (const tensor o = c.view("o"); o.size() > 0) set_bits(o, 0, 0x7E00);  // NaN in f16
      });
    return testing::corrupting_library([](testing::call& c) {
      const tensor o = c.view("o");
      for_each_index(o, [&](const std::vector<std::int64_t>& index) {
        const std::int64_t at = offset_of(o, index);
        const std::uint32_t magnitude = bits_at(o, at) & 0x7FFFU;
        const bool is_normal = magnitude > 0x400U && magnitude < 0x7C00U;  // of an infinity it would make a NaN
        if (is_normal) set_bits(o, at, bits_at(o, at) ^ 2U);               // two units of the last place
      });
    });
  };
  const peer_table table = compare_with_peers(faults, open, few, [](const std::string&) {});
  REQUIRE(table.rows.size() == peer_rules().size() + 2);
  for (const judge_row& row : table.rows) {
    INFO(row.name);
    for (const judge_counts& counts : row.of) {
      CHECK(counts.faults_judged == 2);
      CHECK(counts.faults_seen >= 1);
      CHECK(counts.wrong_runs >= 4);  // all with an output, but those of which no element is large enough
      CHECK(counts.wrong_seen >= 2);
      CHECK(counts.clean_cases > 0);
    }
    CHECK(row.seen.front() == "spoiled");
  }
  CHECK(accepts_clean(table));
  for (const judge_counts& counts : row_of(table, "Assay, outputs only").of)
    CHECK(counts.wrong_seen == counts.wrong_runs);
  CHECK(row_of(table, "ggml").of[1].wrong_seen == row_of(table, "ggml").of[1].wrong_runs / 2);
  CHECK(row_of(table, "Assay, outputs only").seen == std::vector<std::string>{"spoiled", "last_bit"});
  for (const char* blind : {"ggml", "DeepGEMM", "rocMLIR", "oneDNN"})
    CHECK(row_of(table, blind).seen == std::vector<std::string>{"spoiled"});
  const std::string text = peer_table_text(table);
  CHECK(text.find("4 cases of each kind") != std::string::npos);
  CHECK(text.find("\033") == std::string::npos);
  CHECK(peer_table_markdown(table).find("| ggml | ") != std::string::npos);
  CHECK(peer_table_json(table).find("\"seen\":[\"spoiled\",\"last_bit\"]") != std::string::npos);
  const peer_table again = compare_with_peers(faults, open, {.cases = 4, .seed = 1, .jobs = 1}, [](const auto&) {});
  CHECK(peer_table_text(again) == text);
}

TEST_CASE("a run that ends at a guard page leaves no output for the rules; a launch that fails is seen by all") {
  bool stopped = false;
  const auto crashing = testing::faulty_library([](testing::call& c) -> assay_status {
    const tensor o = c.view("o");
    std::memset(static_cast<std::byte*>(o.data) + (std::int64_t{1} << 40), 0, 1);
    return {};
  });
  const auto letters = judge_cases(*crashing, "split_kv", "f16", case_kind::peers, {.cases = 2}, stopped);
  CHECK(stopped);
  CHECK(letters == std::vector<judged_case>(2, stopped_run()));
  CHECK(stopped_run().letters.back() == flags);
  const auto failing = testing::faulty_library([](testing::call&) { return assay_status{ASSAY_FAILED, {}}; });
  CHECK(judge_case(*failing, peer_case("split_kv", "f16", 1, 0), case_kind::peers).letters ==
        std::string(judges().size(), flags));
  const auto refusing = testing::refusing_library(ASSAY_UNSUPPORTED);
  CHECK(judge_case(*refusing, peer_case("split_kv", "f16", 1, 0), case_kind::peers).letters.empty());
}

TEST_CASE("the number of cases needs --peers, and a library that is not built is named before any work") {
  const testing::scratch here;
  const auto status = [](const std::vector<std::string>& arguments, std::string& err) {
    std::ostringstream out, errors;
    const int code = run_program(arguments, {out, errors, nullptr});
    err = errors.str();
    return code;
  };
  std::string err;
  CHECK(status({"faults", "--cases", "3"}, err) == exit_usage);
  CHECK(err.find("--peers") != std::string::npos);
  CHECK(status({"faults", "--peers", "missing_barrier", "--libraries", here.file("none")}, err) == exit_environment);
  CHECK(err.find("fault_missing_barrier.so: the faulty library is not built") != std::string::npos);
}

}  // namespace assay
