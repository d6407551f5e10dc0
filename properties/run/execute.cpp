#include "properties/run/execute.hpp"

#include <fmt/format.h>

#include <chrono>
#include <cstring>
#include <exception>

#include "oracle/float_environment.hpp"
#include "properties/run/declared_contract.hpp"
#include "properties/run/fault_watch.hpp"
#include "properties/run/input_snapshot.hpp"
#include "properties/run/kernel_call.hpp"
#include "properties/run/on_device.hpp"
#include "properties/run/plan_problem.hpp"
#include "properties/run/row_gaps.hpp"
#include "properties/run/staged_call.hpp"

namespace assay {
namespace {

void collect(void* context, const assay_defect* defect) {
  auto& defects = static_cast<launch_report*>(context)->defects;
  constexpr std::size_t enough = 64;  // every block reports a broken barrier; the first reports are enough
  if (defects.size() >= enough) return;
  defects.push_back({static_cast<assay_defect_kind>(defect->kind),
                     fmt::format("{}: {} (block {},{},{} wave {} lane {})", defect->kernel, defect->message,
                                 defect->block[0], defect->block[1], defect->block[2], defect->wave, defect->lane)});
}

std::int32_t is_accepted(void* context, const assay_defect* defect) {
  return static_cast<launch_report*>(context)->accepted->accepts(*defect) ? 1 : 0;
}

std::string guard_fault(const std::vector<buffer>& buffers) {
  for (const buffer& b : buffers) {
    std::int64_t at = 0;
    if (b.guards_intact(&at)) continue;
    return fmt::format("{} was written outside its memory, at byte {} of {}", b.name(), at, b.size_bytes());
  }
  return {};
}

}  // namespace

DLDataType to_dlpack(dtype type) {
  switch (type) {
    case dtype::f32: return {kDLFloat, 32, 1};
    case dtype::f16: return {kDLFloat, 16, 1};
    case dtype::bf16: return {kDLBfloat, 16, 1};
    case dtype::i32: return {kDLInt, 32, 1};
    case dtype::i64: return {kDLInt, 64, 1};
    case dtype::i8: return {kDLInt, 8, 1};
    case dtype::e4m3fn:
    case dtype::e4m3fnuz:
    case dtype::e5m2:
    case dtype::e5m2fnuz:
    case dtype::tf32:
    case dtype::none: break;
  }
  return {kDLUInt, 8, 1};
}

abi_tensors::abi_tensors(const inputs& in, const outputs& out) {
  std::vector<assay_tensor_role> roles;
  for (const buffer& b : in.buffers)
    if (b.role() == tensor_role::input) {  // of in-out tensors the kernel gets the copies among the outputs
      views_.push_back({b.name().c_str(), b.view()});
      roles.push_back(ASSAY_INPUT);
    }
  for (const buffer& b : out.buffers) {
    views_.push_back({b.name().c_str(), b.view()});
    roles.push_back(b.role() == tensor_role::in_out ? ASSAY_IN_OUT : ASSAY_OUTPUT);
  }
  for (named_tensor& t : views_) {
    DLTensor view{};
    view.data = t.view.data;
    view.device = {kDLCPU, 0};
    view.ndim = t.view.rank;
    view.dtype = to_dlpack(t.view.type);
    view.shape = t.view.shape;
    view.strides = t.view.stride;
    list_.push_back({t.name, static_cast<std::int32_t>(t.view.type), view, roles[list_.size()]});
  }
}

assay_launch make_launch(const attention_case& c, const execution_checks& checks, int workers, launch_report* report) {
  assay_launch launch{};
  launch.wave_size = c.schedule.wave_size;
  launch.schedule = static_cast<std::int32_t>(c.schedule.kind);
  launch.seed = c.schedule.seed;
  launch.depth = c.schedule.depth;
  launch.workers = workers;
  if (report != nullptr) {
    report->accepted = checks.accepted.get();
    launch.context = report;
    launch.on_defect = collect;
    launch.accepts = report->accepted == nullptr ? nullptr : is_accepted;
  }
  launch.checked = checks.accesses ? 1 : 0;
  launch.lockstep_waves = checks.lockstep_waves ? 1 : 0;
  return launch;
}

namespace {

/// What a call says. Host code that throws since a launch failed has said why in a defect: that is its status. Else the
/// exception goes on, once `settle` has returned: the device is done with the call's memory then.
template <class Settle>
assay_status status_of_call(const assay_kernel& kernel, const problem& planned, std::span<const assay_tensor> tensors,
                            const assay_launch& launch, const launch_report& said, Settle settle) {
  const auto throw_unless_explained = [&] {
    if (!said.defects.empty()) return;
    settle();
    throw;
  };
  try {
    return run_to_outcome(kernel, planned, tensors, launch);
  } catch (const std::exception& e) {
    throw_unless_explained();
    return failed_status(e.what());
  } catch (...) {  // of a type of its own
    throw_unless_explained();
    return {ASSAY_FAILED, "the host code throws"};
  }
}

}  // namespace

execution execute_planned(const library& lib, const attention_case& c, inputs& in, const problem& planned,
                          std::int64_t workspace_bytes, outputs written, const run_manner& manner,
                          const redescription& redescribe) {
  execution ran;
  ran.planned = planned;
  ran.workspace_bytes = workspace_bytes;
  ran.written = std::move(written);
  execution_checks checks = lib.checks;
  checks.accesses = (checks.accesses && manner.checks_accesses) || manner.watch != nullptr;
  const library& used = checks.accesses || !lib.unchecked_twin ? lib : *lib.unchecked_twin;
  const assay_kernel* kernel = used.find(c.kernel);
  if (kernel == nullptr) {
    ran.status = {ASSAY_UNSUPPORTED, "the library has no such kernel"};
    return ran;
  }
  launch_report said;
  assay_launch launch = make_launch(c, checks, manner.workers, &said);
  launch.accesses_checked = &ran.accesses_checked;
  std::vector<buffer> workspace = make_workspace(used.knows_workspace() ? workspace_bytes : 0);
  set_workspace(launch, workspace);
  const oracle::kept_arithmetic kept;  // what the library changes in it must not reach the next case
  ran.status = declared_contract(*kernel, ran.planned, launch, lib.judged_by, &ran.declared, used.contract_bytes());
  if (ran.status.code != ASSAY_OK) return ran;

  const input_snapshot before(in.buffers);
  const row_gaps between(ran.written.buffers);
  abi_tensors tensors(in, ran.written);
  std::optional<staged_call> staged;
  if (const DLDeviceType where = used.tensors_on(); where != kDLCPU) {
    device_driver& device = device_driver::of(where);
    ran.memory_fault = on_device([&] {
      staged.emplace(device, in.buffers, ran.written.buffers, tensors.list(), workspace);
      return std::string();
    });
    if (!ran.memory_fault.empty()) return ran;
    launch.stream = device.stream();
    launch.workspace = staged->workspace();
  }
  if (redescribe) redescribe(tensors.list());
  std::optional<fault_watch> watch(std::in_place, in.buffers, ran.written.buffers, std::string_view(), workspace);
  const auto start = std::chrono::steady_clock::now();
  std::shared_ptr<void> announced = used.announce({sizeof(assay_call), &launch, tensors.list().data(),
                                                   static_cast<std::int32_t>(tensors.list().size()), manner.watch});
  const auto finish = [&] { return staged ? on_device([&] { return staged->finish(); }) : std::string{}; };
  ran.status = status_of_call(*kernel, ran.planned, tensors.list(), launch, said, finish);
  const std::string device_fault = finish();
  ran.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();

  announced.reset();
  watch.reset();
  ran.defects = std::move(said.defects);
  ran.memory_fault = device_fault;
  if (ran.memory_fault.empty()) ran.memory_fault = before.first_change();
  if (ran.memory_fault.empty()) ran.memory_fault = guard_fault(in.buffers);
  if (ran.memory_fault.empty()) ran.memory_fault = guard_fault(ran.written.buffers);
  if (ran.memory_fault.empty()) ran.memory_fault = guard_fault(workspace);
  if (ran.memory_fault.empty()) ran.memory_fault = between.first_change();
  return ran;
}

std::string refused_by_predicate(const library& lib, const std::string& kernel, const problem& planned,
                                 const inputs& in, const outputs& out) {
  if (!lib.has_predicate()) return {};
  abi_tensors tensors(in, out);
  const oracle::kept_arithmetic kept;
  const assay_status said = lib.supports_case(kernel, planned, tensors.list());
  if (said.code == ASSAY_OK) return {};
  const std::string why(said.message, strnlen(said.message, sizeof said.message));
  return why.empty() ? "it gives no reason" : why;
}

std::string refused_by_predicate(const library& lib, const attention_case& c) {
  const assay_kernel* kernel = lib.has_predicate() ? lib.find(c.kernel) : nullptr;
  if (kernel == nullptr) return {};
  const inputs in = fill(c);
  const assay_support& takes = lib.support_of(c.kernel);
  problem planned;
  if (plan_problem(*kernel, in.stated, c.workspace_budget_bytes, &planned, takes).code != ASSAY_OK) return {};
  return refused_by_predicate(lib, c.kernel, planned, in,
                              make_outputs(planned, layout_of(c), in, outputs_left_out(takes)));
}

execution execute(const library& lib, const attention_case& c, inputs& in, const run_manner& manner) {
  execution ran;
  ran.planned = in.stated;
  const assay_kernel* kernel = lib.find(c.kernel);
  if (kernel == nullptr) {
    ran.status = {ASSAY_UNSUPPORTED, "the library has no such kernel"};
    return ran;
  }
  const assay_support& takes = lib.support_of(c.kernel);
  std::int64_t workspace_bytes = 0;
  ran.status = plan_problem(*kernel, in.stated, c.workspace_budget_bytes, &ran.planned, takes, &workspace_bytes);
  if (ran.status.code == ASSAY_OK && workspace_bytes > largest_workspace_bytes && lib.knows_workspace())
    ran.status =
        failed_status(fmt::format("plan() asks for a workspace of {} bytes beside the partials: a call gets {}",
                                  workspace_bytes, largest_workspace_bytes));
  if (ran.status.code != ASSAY_OK) return ran;
  outputs unwritten = make_outputs(ran.planned, layout_of(c), in, outputs_left_out(takes));
  return execute_planned(lib, c, in, ran.planned, workspace_bytes, std::move(unwritten), manner);
}

}  // namespace assay
