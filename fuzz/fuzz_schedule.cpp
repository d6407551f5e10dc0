/// The bytes choose a schedule of a fixed case. No order of waves changes a bit of its outputs or causes a defect.
#include "fuzz/counters.hpp"
#include "fuzz/input_form.hpp"
#include "fuzz/report_failure.hpp"
#include "fuzz/schedules.hpp"
#include "properties/generate/choice.hpp"

using namespace assay;

const fuzz::input_form fuzz::form{};

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  byte_source choices({data, size});
  const attention_case c = fuzz::choose_schedule(choices);
  fuzz::announce(to_json(c));
  const verdict v = fuzz::check_schedule(fuzz::under_test(), c);
  fuzz::count_run(v.result);
  fuzz::expect_no_failure(v);
  return 0;
}
