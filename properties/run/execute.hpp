/// The single steps of an execution: relations run edited inputs, and `explain` needs the intermediate results.
#pragma once

#include <functional>
#include <optional>
#include <string_view>

#include "oracle/code_counts.hpp"
#include "properties/case/case.hpp"
#include "properties/data/inputs.hpp"
#include "properties/run/execution.hpp"
#include "properties/run/kernel_library.hpp"
#include "properties/run/plan_problem.hpp"
#include "properties/run/verdict.hpp"

namespace assay {

/// Tensors as they cross the C ABI. Shapes and strides point into this object: it must outlive the call.
class abi_tensors {
 public:
  abi_tensors(const inputs& in, const outputs& out);
  abi_tensors(abi_tensors&&) = default;
  std::vector<assay_tensor>& list() { return list_; }

 private:
  std::vector<named_tensor> views_;
  std::vector<assay_tensor> list_;
};

/// The DLPack form of a type; FP8 crosses as 1-byte unsigned elements.
DLDataType to_dlpack(dtype type);

/// What a launch says back.
struct launch_report {
  std::vector<platform_defect> defects;  ///< in the order of their blocks
  accepted_defects* accepted = nullptr;  ///< those that it asks for, if any
};
/// The launch that a case asks for. It writes to `report`, which may be null and must outlive it.
assay_launch make_launch(const attention_case& c, const execution_checks& checks, int workers, launch_report* report);

/// Edits the description of a call's tensors before run() gets it.
using redescription = std::function<void(std::vector<assay_tensor>&)>;

/// Runs a planned problem into existing outputs with any contents, with all memory checks. `workspace_bytes` is what
/// plan_problem() said of it.
execution execute_planned(const library& lib, const attention_case& c, inputs& in, const problem& planned,
                          std::int64_t workspace_bytes, outputs written, const run_manner& manner = {},
                          const redescription& redescribe = {});

/// Why the library's predicate says that it does not support the call (assay_supports_case_v1); empty where it supports
/// it, or has no predicate. Of a case: of its planned problem. A case that plan() refuses is not the predicate's.
std::string refused_by_predicate(const library& lib, const std::string& kernel, const problem& planned,
                                 const inputs& in, const outputs& out);
std::string refused_by_predicate(const library& lib, const attention_case& c);

/// The verdict that an execution reaches by itself: an unsupported problem is a discard; a rejected problem, a failed
/// launch, a platform defect and a memory fault are failures, for cases are valid. Without a verdict, its outputs can
/// be judged.
std::optional<verdict> verdict_of(const execution& ran);

/// The origin of a verdict that such a defect decides. Each kind of wrong access has its own origin ("data race"), so
/// shrinking cannot turn one kind into another. All other defects have the origin "platform defect".
const char* origin_of(assay_defect_kind kind);

/// The origin of a fault of memory, or of what a GPU's driver says of a run (device_driver.hpp): "device", unless that
/// is a wrong address, which is a fault of memory ("memory") as on the host.
const char* origin_of_fault(std::string_view words);

verdict passed();
/// What these say may hold a library's words: it becomes printable.
verdict failed(std::string origin, const std::string& what);
verdict discarded(const std::string& reason);
verdict undecided(std::string origin, const std::string& why);

/// The origin of what a refusal decides: a discard for ASSAY_UNSUPPORTED, a failure for ASSAY_REJECTED.
inline constexpr const char* refusal_origin = "refusal";
verdict unsupported(const std::string& message);

/// All intermediate results of one case.
struct detailed_run {
  inputs given;
  execution ran;
  oracle::enclosure bounds;  ///< empty when the execution already decided
  verdict result;
  oracle::code_counts codes;  ///< of P, counted while `bounds` was computed
};

/// run_case, but keeps the intermediate results.
detailed_run run_in_detail(const library& lib, const attention_case& c);

/// Judges the outputs that a kernel writes; the enclosure may have more.
std::vector<oracle::judgement> judge_written(const oracle::enclosure& bounds, const outputs& written);

/// Judges an execution's outputs against its contract's enclosure. `bounds` and `codes`, where not null, receive the
/// enclosure and the counts.
verdict judge_execution(const inputs& in, const execution& ran, oracle::enclosure* bounds = nullptr,
                        oracle::code_counts* codes = nullptr);

/// Judges the run of a case: as above, and what the case reached and, where the library measures them, the teeth of
/// the verdict. `bounds` and `codes` as above.
verdict judge_case(const library& lib, const attention_case& c, const inputs& in, const execution& ran,
                   oracle::enclosure* bounds = nullptr, oracle::code_counts* codes = nullptr);

/// One line on the worst element: "o[0, 3, 17] = 0.25 lies outside [0.5, 0.75] by factor 3.1; 7 of 64 elements do".
std::string describe(const oracle::judgement& j);

}  // namespace assay
