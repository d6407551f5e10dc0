#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>

#include "properties/fault_watch.hpp"
#include "properties/relations/mutations.hpp"
#include "properties/relations/relation.hpp"
#include "properties/relations/relations.hpp"

namespace assay::relations {
namespace {

/// Refused means: a status that says so, with a reason.
bool refused(const assay_status& status) {
  return (status.code == ASSAY_REJECTED || status.code == ASSAY_UNSUPPORTED) && status.message[0] != '\0';
}

class refusal_check {
 public:
  refusal_check(const library& lib, const attention_case& c, relation& r)
      : kernel_(*lib.find(c.kernel)),
        case_(c),
        relation_(r),
        given_(clone(r.given())),
        out_(make_outputs(r.base().planned, c.row_margin)),
        unwritten_(clone(out_)) {}

  void plan(const problem_mutation& m) {
    problem broken = given_.stated;
    if (!m.mutate(broken)) return;
    assay_plan plan{};
    const assay_status status = kernel_.plan(&broken, case_.workspace_budget_bytes, &plan);
    if (!refused(status))
      relation_.fail(fmt::format("plan() accepted {}: status {} '{}'", m.name, status.code, status.message));
  }

  void run(const problem_mutation& m) {
    problem broken = relation_.base().planned;
    abi_tensors tensors(given_, out_);
    if (m.mutate(broken)) run(broken, tensors.list(), m.name);
  }

  void run(const tensor_mutation& m) {
    abi_tensors all(given_, out_);
    for (std::size_t i = 0; i < all.list().size() && !relation_.decided(); ++i) {
      abi_tensors tensors(given_, out_);
      if (m.mutate(tensors.list(), i))
        run(relation_.base().planned, tensors.list(), fmt::format(fmt::runtime(m.name), all.list()[i].name));
    }
  }

 private:
  void run(const problem& p, const std::vector<assay_tensor>& tensors, const std::string& name) {
    std::vector<platform_defect> defects;
    const assay_launch launch = make_launch(case_, 1, &defects);
    const fault_watch watch(given_.buffers, out_.buffers);
    const assay_status status = kernel_.run(&p, tensors.data(), static_cast<std::int32_t>(tensors.size()), &launch);
    if (!refused(status))
      relation_.fail(fmt::format("run() accepted {}: status {} '{}'", name, status.code, status.message));
    if (!defects.empty() || !untouched()) relation_.fail(fmt::format("run() launched in spite of {}", name));
  }

  bool untouched() const {
    return std::ranges::equal(out_.buffers, unwritten_.buffers, [](const buffer& now, const buffer& before) {
      return std::ranges::equal(now.bytes(), before.bytes());
    });
  }

  const assay_kernel& kernel_;
  const attention_case& case_;
  relation& relation_;
  inputs given_;
  outputs out_;
  outputs unwritten_;
};

verdict check(const library& lib, const attention_case& c) {
  relation r(bad_problem_rejected, lib, c);
  if (r.decided()) return r.result();
  refusal_check checked(lib, c, r);
  for (const problem_mutation& m : problem_mutations()) {
    if (!r.decided() && m.in_plan) checked.plan(m);
    if (!r.decided()) checked.run(m);
  }
  for (const tensor_mutation& m : tensor_mutations())
    if (!r.decided()) checked.run(m);
  return r.result();
}

}  // namespace

const property bad_problem_rejected{
    "bad_problem_rejected",
    "a bad problem is rejected on the host with a reason, and nothing is launched",
    check,
    nullptr,
};

}  // namespace assay::relations
