#include "properties/relations/refusal.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>

#include "oracle/float_environment.hpp"
#include "properties/case/tensor_plan.hpp"
#include "properties/data/edit.hpp"
#include "properties/run/fault_watch.hpp"
#include "properties/run/kernel_call.hpp"
#include "properties/run/on_device.hpp"

namespace assay::relations {
namespace {

/// Whether outputs hold the bytes of others of the same layout.
bool same_bytes(const outputs& now, const outputs& before) {
  return std::ranges::equal(now.buffers, before.buffers, [](const buffer& a, const buffer& b) {
    return std::ranges::all_of(a.accessible(), [&](const index_range& r) {
      return std::memcmp(a.bytes(r).data(), b.bytes(r).data(), a.bytes(r).size()) == 0;
    });
  });
}

/// Whether a status refuses the call and gives a reason.
bool refused(const assay_status& status) {
  return (status.code == ASSAY_REJECTED || status.code == ASSAY_UNSUPPORTED) && status.message[0] != '\0';
}

}  // namespace

refusal_check::refusal_check(const library& lib, const attention_case& c, inputs given, const problem& planned,
                             std::int64_t workspace_bytes, device_look look)
    : lib_(lib),
      kernel_(*lib.find(c.kernel)),
      case_(c),
      given_(std::move(given)),
      planned_(planned),
      described_(plan_tensors(c)),
      out_(make_outputs(planned, layout_of(c), given_, outputs_left_out(lib.support_of(c.kernel)))),
      workspace_(make_workspace(lib.knows_workspace() ? workspace_bytes : 0)),
      look_(lib.tensors_on() == kDLCPU ? device_look::after_each_call : look),
      unwritten_(clone(out_)) {
  for (planned_tensor& t : plan_outputs(planned, layout_of(c))) described_.push_back(std::move(t));
  stage();
}

/// Copies the good tensors to the library's device, if it has one.
void refusal_check::stage() {
  if (lib_.tensors_on() == kDLCPU) return;
  abi_tensors good(given_, out_);
  staged_.emplace(device_driver::of(lib_.tensors_on()), given_.buffers, out_.buffers, good.list(), workspace_);
  on_device_ = good.list();
}

abi_tensors refusal_check::tensors() const {
  abi_tensors good(given_, out_);
  for (std::size_t i = 0; i < on_device_.size(); ++i) {
    good.list()[i].view.data = on_device_[i].view.data;
    good.list()[i].view.device = on_device_[i].view.device;
  }
  return good;
}

/// Whether the last run() wrote. Then the outputs are made anew for the calls that follow. An error of the device,
/// which is reported behind `before`, counts: without a launch there is none.
bool refusal_check::has_written(const std::string& before) {
  const bool is_device_fault = staged_ && !on_device([&] { return staged_->finish(); }, before).empty();
  std::int64_t at = 0;
  const bool is_beside = std::ranges::any_of(workspace_, [&](const buffer& b) { return !b.guards_intact(&at); });
  if (!is_device_fault && !is_beside && same_bytes(out_, unwritten_)) return false;
  workspace_ = make_workspace(workspace_.empty() ? 0 : workspace_.front().size_bytes());
  out_ = clone(unwritten_);
  stage();
  return true;
}

/// Whether the last run() failed on the device: without a launch it cannot.
bool refusal_check::has_failed(const std::string& before) const {
  const auto wait = [&] {
    device_driver::of(lib_.tensors_on()).finish();
    return std::string();
  };
  return !on_device(wait, before).empty();
}

std::optional<std::string> refusal_check::ended() {
  if (look_ == device_look::after_each_call || !has_written({})) return std::nullopt;
  return noted("run() launched in spite of a broken call that it refused");
}

const planned_tensor& refusal_check::described(const std::string& name) const {
  return *std::ranges::find(described_, name, &planned_tensor::name);
}

std::optional<std::string> refusal_check::plan(const problem& broken, const std::string& name) {
  assay_plan plan{};
  const oracle::kept_arithmetic kept;
  const assay_status status = kernel_.plan(&broken, case_.workspace_budget_bytes, &plan);
  if (refused(status)) return std::nullopt;
  return noted(fmt::format("plan() accepted {}: status {} '{}'", name, status.code, status.message));
}

std::string refusal_check::noted(std::string wrong) {
  if (std::ranges::find(found_, wrong) == found_.end()) found_.push_back(wrong);
  return wrong;
}

std::optional<std::string> refusal_check::run(const problem& broken, const std::vector<assay_tensor>& tensors,
                                              const std::string& name, broken_part part) {
  launch_report report;
  assay_launch launch = make_launch(case_, lib_.checks, 1, &report);
  set_workspace(launch, workspace_);
  if (staged_) {
    launch.stream = device_driver::of(lib_.tensors_on()).stream();
    launch.workspace = staged_->workspace();
  }
  const oracle::kept_arithmetic kept;
  // Kernels may look at what is wrong before they refuse it.
  const std::shared_ptr<void> announced =
      lib_.announce({sizeof(assay_call), &launch, tensors.data(), static_cast<std::int32_t>(tensors.size()), nullptr});
  const std::string before =
      fmt::format("{}{}run() did not refuse {}: ", fmt::join(found_, "; "), found_.empty() ? "" : "; ", name);
  const fault_watch watch(given_.buffers, out_.buffers, before, workspace_);
  const assay_status status =
      part == broken_part::data
          ? run_to_outcome(kernel_, broken, tensors, launch)
          : kernel_.run(&broken, tensors.data(), static_cast<std::int32_t>(tensors.size()), &launch);
  const bool is_looked_at = look_ == device_look::after_each_call || !refused(status);
  const bool launched = (is_looked_at ? has_written(before) : has_failed(before)) || !report.defects.empty();
  has_launched_ = has_launched_ || launched;
  if (!refused(status))
    return noted(fmt::format("run() accepted {}: status {} '{}'", name, status.code, status.message));
  message_ = status.message;
  if (launched) return noted(fmt::format("run() launched in spite of {}", name));
  return std::nullopt;
}

}  // namespace assay::relations
