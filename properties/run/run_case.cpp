#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "oracle/enclose.hpp"
#include "properties/case/operation.hpp"
#include "properties/run/execute.hpp"
#include "properties/run/kept_parts.hpp"
#include "properties/run/residual_check.hpp"
#include "properties/system/device_driver.hpp"
#include "properties/system/printable.hpp"

namespace assay {

verdict passed() {
  return {};
}

verdict failed(std::string origin, const std::string& what) {
  verdict v;
  v.result = outcome::fail;
  v.origin = std::move(origin);
  v.what = printable(what);
  return v;
}

verdict undecided(std::string origin, const std::string& why) {
  verdict v;
  v.result = outcome::undecided;
  v.origin = std::move(origin);
  v.what = printable(why);
  return v;
}

verdict discarded(const std::string& reason) {
  verdict v;
  v.result = outcome::discard;
  v.origin = "discard";
  v.what = printable(reason);
  return v;
}

verdict unsupported(const std::string& message) {
  verdict v = discarded("unsupported: " + message);
  v.origin = refusal_origin;
  return v;
}

const char* origin_of_fault(std::string_view words) {
  const auto names = [&](const char* part) { return words.find(part) != std::string_view::npos; };
  return words.starts_with(device_error_prefix) && !names("ADDRESS") && !names("Address") ? "device" : "memory";
}

const char* origin_of(assay_defect_kind kind) {
  switch (kind) {
    case ASSAY_OUT_OF_BOUNDS: return "out of bounds";
    case ASSAY_WILD_ACCESS: return "wild access";
    case ASSAY_UNWRITTEN_READ: return "unwritten read";
    case ASSAY_DATA_RACE: return "data race";
    case ASSAY_INPUT_STORE: return "input store";
    case ASSAY_MISALIGNED: return "misaligned access";
    case ASSAY_DIVERGENT_BARRIER:
    case ASSAY_DIVERGENT_COLLECTIVE:
    case ASSAY_EXITED_LANE:
    case ASSAY_DEADLOCK:
    case ASSAY_LDS_OVERRUN: break;
  }
  return "platform defect";
}

namespace {

/// The first defect. If that is an unwritten read, a data race comes first: a race can also cause unwritten reads.
const platform_defect& telling(const std::vector<platform_defect>& defects) {
  const auto race = std::ranges::find(defects, ASSAY_DATA_RACE, &platform_defect::kind);
  const bool outranks = defects.front().kind == ASSAY_UNWRITTEN_READ && race != defects.end();
  return outranks ? *race : defects.front();
}

}  // namespace

std::optional<verdict> verdict_of(const execution& ran) {
  std::optional<verdict> v;
  // Defects and faults come before the status: a library may notice its own defect and return ASSAY_FAILED.
  if (!ran.defects.empty()) {
    const platform_defect& defect = telling(ran.defects);
    v = failed(origin_of(defect.kind), defect.message);
  } else if (!ran.memory_fault.empty())
    v = failed(origin_of_fault(ran.memory_fault), ran.memory_fault);
  else if (ran.status.code == ASSAY_REJECTED)
    v = failed(refusal_origin, fmt::format("rejected: {}", ran.status.message));
  else if (ran.status.code == ASSAY_UNSUPPORTED)
    v = unsupported(ran.status.message);
  else if (ran.status.code != ASSAY_OK)
    v = failed("launch", ran.status.message);
  if (v) v->kernel_seconds = ran.seconds, v->accesses_checked = ran.accesses_checked;
  return v;
}

std::string describe(const oracle::judgement& j) {
  if (j.outside > 0 && j.worst_had_to_stay)
    return fmt::format(
        "{}[{}] was written: it holds {} (0x{:08x}) and had to keep its bits; {} of {} elements are wrong, {} of them "
        "had to keep their bits",
        j.tensor, fmt::join(j.worst_index, ", "), j.worst_value, j.worst_bits, j.outside, j.elements, j.overwritten);
  if (j.worst_had_to_stay)
    return fmt::format("{}[{}] must not be written and kept its bits", j.tensor, fmt::join(j.worst_index, ", "));
  const std::string where = fmt::format("{}[{}] = {}", j.tensor, fmt::join(j.worst_index, ", "), j.worst_value);
  if (j.outside > 0 && j.worst_rule == oracle::element_rule::nan)
    return fmt::format("{} where NaN is due; {} of {} elements are wrong",
                       std::isnan(j.worst_value) ? where + " (not written)" : where, j.outside, j.elements);
  if (j.worst_is_wrong_zero) {
    const bool is_negative = std::signbit(j.worst_value);
    return fmt::format("{}[{}] is {} where {} is due; {} of {} elements are wrong", j.tensor,
                       fmt::join(j.worst_index, ", "), is_negative ? "-0" : "+0", is_negative ? "+0" : "-0", j.outside,
                       j.elements);
  }
  const std::string bounds = fmt::format("[{}, {}]", j.worst_enclosure.lo, j.worst_enclosure.hi);
  if (j.outside > 0)
    return fmt::format("{} lies outside {} by factor {:.4g}; {} of {} elements do", where, bounds, j.worst_factor,
                       j.outside, j.elements);
  return fmt::format("{} lies inside {} (before rounding), at {:.4g} of its radius", where, bounds, j.worst_factor);
}

std::vector<oracle::judgement> judge_written(const oracle::enclosure& bounds, const outputs& written) {
  if (written.left_out.empty()) return oracle::judge(bounds, written.tensors());
  oracle::enclosure part;
  for (const oracle::enclosed_tensor& t : bounds.tensors)
    if (std::ranges::find(written.left_out, t.name) == written.left_out.end()) part.tensors.push_back(t);
  return oracle::judge(part, written.tensors());
}

verdict judge_execution(const inputs& in, const execution& ran, oracle::enclosure* bounds, oracle::code_counts* codes) {
  const auto start = std::chrono::steady_clock::now();
  oracle::code_counts counted;
  oracle::enclosure enclosure = oracle::enclose(ran.planned, in.tensors(), ran.declared, counted);
  if (codes != nullptr) *codes = counted;
  verdict v;
  v.judgements = judge_written(enclosure, ran.written);
  v.oracle_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  v.kernel_seconds = ran.seconds;
  v.accesses_checked = ran.accesses_checked;
  const oracle::judgement* worst = nullptr;
  std::int64_t unbounded = 0;
  for (const oracle::judgement& j : v.judgements) {
    unbounded += j.unbounded;
    if (is_result(describe(ran.planned.operation), j.tensor)) {
      v.outputs_judged += j.uncertain + j.unbounded;
      v.outputs_sharp += j.sharp;
    }
    if (j.outside > 0 && (worst == nullptr || !(j.worst_factor <= worst->worst_factor))) worst = &j;
  }
  const std::string kept_change = first_kept_change(in, ran.written, enclosure);
  if (!kept_change.empty()) {
    v.result = outcome::fail;
    v.origin = "memory";
    v.what = kept_change;
  } else if (worst != nullptr) {
    v.result = outcome::fail;
    v.origin = "enclosure";
    v.what = describe(*worst);
  } else if (unbounded > 0) {
    v.result = outcome::undecided;
    v.origin = "enclosure";
    v.what = fmt::format("the contract does not bound {} elements", unbounded);
  }
  if (bounds != nullptr) *bounds = std::move(enclosure);
  return v;
}

verdict judge_case(const library& lib, const attention_case& c, const inputs& in, const execution& ran,
                   oracle::enclosure* bounds, oracle::code_counts* codes) {
  oracle::enclosure own;
  oracle::enclosure& judged_by = bounds != nullptr ? *bounds : own;
  verdict v = judge_execution(in, ran, &judged_by, codes);
  judge_residuals(v, c, in, ran);
  v.reached = reached_by(c, ran);
  if (lib.measures_teeth && v.result == outcome::pass) {
    const auto start = std::chrono::steady_clock::now();
    v.teeth = measure_teeth(in, ran, judged_by, c.data.seed, v.rows_regressed > 0);
    v.oracle_seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }
  return v;
}

detailed_run run_in_detail(const library& lib, const attention_case& c) {
  detailed_run run{fill(c), {}, {}, {}, {}};
  run.ran = execute(lib, c, run.given);
  if (auto decided = verdict_of(run.ran))
    run.result = std::move(*decided);
  else
    run.result = judge_case(lib, c, run.given, run.ran, &run.bounds, &run.codes);
  return run;
}

verdict run_case(const library& lib, const attention_case& c) {
  return run_in_detail(lib, c).result;
}

}  // namespace assay
