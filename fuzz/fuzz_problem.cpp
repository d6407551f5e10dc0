/// A case, arbitrary edits of its problem and tensors, and one mutation that makes any problem bad. The host must
/// refuse it with a reason, launch no kernel and write no output. The first bytes choose the edits; the rest encode the
/// case.
#include "fuzz/check_case.hpp"
#include "fuzz/counters.hpp"
#include "fuzz/edits.hpp"
#include "fuzz/input_form.hpp"
#include "fuzz/report_failure.hpp"
#include "properties/generate/choice.hpp"
#include "properties/generate/kernel_space.hpp"
#include "properties/relations/broken_calls.hpp"
#include "properties/relations/refusal.hpp"

using namespace assay;

const fuzz::input_form fuzz::form{kernels_of_the_space(), 32};

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span<const std::uint8_t> head(data, std::min(size, fuzz::form.head_bytes));
  byte_source choices(head);
  const library& lib = fuzz::under_test();
  const attention_case c = fuzz::supported_case({data + head.size(), size - head.size()}, fuzz::form.kernels);
  fuzz::announce(to_json(c));
  inputs given = fill(c);
  problem good;
  const assay_kernel* kernel = lib.find(c.kernel);
  std::int64_t workspace_bytes = 0;
  if (kernel == nullptr ||
      plan_problem(*kernel, given.stated, c.workspace_budget_bytes, &good, lib.support_of(c.kernel), &workspace_bytes)
              .code != ASSAY_OK) {
    fuzz::count_run(outcome::discard);
    return 0;
  }
  relations::refusal_check checked(lib, c, std::move(given), good, workspace_bytes);
  const auto wrong = fuzz::break_and_check(checked, choices);
  fuzz::count_run(wrong ? outcome::fail : outcome::pass);
  if (wrong) fuzz::report("bad_problem_rejected", *wrong);
  return 0;
}
