#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chrono>

#include "properties/execute.hpp"

namespace assay {

verdict passed() {
  return {};
}

verdict failed(std::string origin, std::string what) {
  verdict v;
  v.result = outcome::fail;
  v.origin = std::move(origin);
  v.what = std::move(what);
  return v;
}

verdict discarded(std::string reason) {
  verdict v;
  v.result = outcome::discard;
  v.origin = "discard";
  v.what = std::move(reason);
  return v;
}

std::optional<verdict> verdict_of(const execution& ran) {
  std::optional<verdict> v;
  // Defects and faults come before the status: a library may well notice its own defect and say that it failed.
  if (!ran.defects.empty())
    v = failed("platform defect", ran.defects.front().message);
  else if (!ran.memory_fault.empty())
    v = failed("memory", ran.memory_fault);
  else if (ran.status.code == ASSAY_REJECTED)
    v = discarded(fmt::format("rejected: {}", ran.status.message));
  else if (ran.status.code == ASSAY_UNSUPPORTED)
    v = discarded(fmt::format("unsupported: {}", ran.status.message));
  else if (ran.status.code != ASSAY_OK)
    v = failed("launch", ran.status.message);
  if (v) v->kernel_seconds = ran.seconds;
  return v;
}

std::string describe(const oracle::judgement& j) {
  if (j.outside > 0 && j.worst_had_to_stay)
    return fmt::format(
        "{}[{}] was written: it holds {} (0x{:08x}) and had to keep what it held; {} of {} elements are "
        "wrong, {} of them written so",
        j.tensor, fmt::join(j.worst_index, ", "), j.worst_value, j.worst_bits, j.outside, j.elements, j.overwritten);
  if (j.worst_had_to_stay)
    return fmt::format("{}[{}], which was not to be written, kept its bits", j.tensor, fmt::join(j.worst_index, ", "));
  const std::string where = fmt::format("{}[{}] = {}", j.tensor, fmt::join(j.worst_index, ", "), j.worst_value);
  const std::string bounds = fmt::format("[{}, {}]", j.worst_enclosure.lo, j.worst_enclosure.hi);
  if (j.outside > 0)
    return fmt::format("{} lies outside {} by factor {:.4g}; {} of {} elements do", where, bounds, j.worst_factor,
                       j.outside, j.elements);
  return fmt::format("{}, which {} before rounding allows, at {:.4g} of its radius", where, bounds, j.worst_factor);
}

verdict judge_execution(const inputs& in, const execution& ran, oracle::enclosure* bounds) {
  const auto start = std::chrono::steady_clock::now();
  oracle::enclosure enclosure = oracle::enclose(ran.planned, in.tensors(), ran.declared);
  verdict v;
  v.judgements = oracle::judge(enclosure, ran.written.tensors());
  v.oracle_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  v.kernel_seconds = ran.seconds;
  if (bounds != nullptr) *bounds = std::move(enclosure);

  const oracle::judgement* worst = nullptr;
  std::int64_t unbounded = 0;
  for (const oracle::judgement& j : v.judgements) {
    unbounded += j.unbounded;
    if (j.tensor == "o" || j.tensor == "logits") {
      v.outputs_judged += j.uncertain + j.unbounded;
      v.outputs_sharp += j.sharp;
    }
    if (j.outside > 0 && (worst == nullptr || !(j.worst_factor <= worst->worst_factor))) worst = &j;
  }
  if (worst != nullptr) {
    v.result = outcome::fail;
    v.origin = "enclosure";
    v.what = describe(*worst);
  } else if (unbounded > 0) {
    v.result = outcome::undecided;
    v.origin = "enclosure";
    v.what = fmt::format("nothing can be said about {} elements", unbounded);
  }
  return v;
}

detailed_run run_in_detail(const library& lib, const attention_case& c) {
  detailed_run run{fill(c), {}, {}, {}};
  run.ran = execute(lib, c, run.given);
  if (auto decided = verdict_of(run.ran))
    run.result = std::move(*decided);
  else
    run.result = judge_execution(run.given, run.ran, &run.bounds);
  return run;
}

verdict run_case(const library& lib, const attention_case& c) {
  return run_in_detail(lib, c).result;
}

}  // namespace assay
