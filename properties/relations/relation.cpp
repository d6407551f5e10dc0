#include "properties/relations/relation.hpp"

#include <fmt/format.h>

#include <tuple>
#include <utility>

#include "properties/data/difference.hpp"
#include "properties/run/residual_check.hpp"

namespace assay::relations {
namespace {

/// All that a planner could look at.
bool have_same_extents(const problem& a, const problem& b) {
  return std::tie(a.num_seqs, a.total_q, a.max_q, a.max_k, a.heads_q, a.heads_kv, a.head_dim_qk, a.head_dim_v,
                  a.page_size, a.num_pages, a.batching, a.max_model_len) ==
         std::tie(b.num_seqs, b.total_q, b.max_q, b.max_k, b.heads_q, b.heads_kv, b.head_dim_qk, b.head_dim_v,
                  b.page_size, b.num_pages, b.batching, b.max_model_len);
}

}  // namespace

relation::relation(const property& p, const library& lib, const attention_case& c, other_runs others)
    : property_(p),
      lib_(lib),
      checks_others_(others == other_runs::checked),
      case_(c),
      left_out_(outputs_left_out(lib.support_of(c.kernel))),
      given_(fill(c)),
      base_(execute(lib, c, given_)) {
  if (auto v = verdict_of(base_)) result_ = std::move(*v);
  // What may be special in the base may be a number in another run, and the other way round.
  if (!decided() && (c.data.specials != special_kind::none || !c.data.overrides.empty()))
    set_rules(base_.written, oracle::enclose(base_.planned, given_.tensors(), base_.declared));
  result_.kernel_seconds = base_.seconds;
  result_.accesses_checked = base_.accesses_checked;
}

std::optional<execution> relation::run(inputs& edited, const attention_case& how, const std::string& change,
                                       run_manner manner) {
  if (decided()) return std::nullopt;
  // A kernel that takes no number plans anew, and may choose another one where the extents changed.
  edited.stated.num_splits = takes().no_split_count != 0 ? 0 : base_.planned.num_splits;
  manner.checks_accesses &= checks_others_;
  return taken(execute(lib_, how, edited, manner), edited, change);
}

std::optional<execution> relation::run_into(outputs written, inputs& edited, const attention_case& how,
                                            const std::string& change, const redescription& redescribe) {
  if (decided()) return std::nullopt;
  return taken(execute_planned(lib_, how, edited, base_.planned, base_.workspace_bytes, std::move(written),
                               {1, checks_others_}, redescribe),
               edited, change);
}

std::optional<execution> relation::taken(execution ran, const inputs& given, const std::string& change) {
  result_.kernel_seconds += ran.seconds;
  result_.accesses_checked += ran.accesses_checked;
  // What the predicate does not take, the library has promised nothing of.
  if (lib_.has_predicate()) {
    const outputs none =
        ran.written.buffers.empty() ? make_outputs(ran.planned, layout_of(case_), given, left_out_) : outputs{};
    const std::string why =
        refused_by_predicate(lib_, case_.kernel, ran.planned, given, ran.written.buffers.empty() ? none : ran.written);
    if (!why.empty()) {
      discard("after " + change + " the library does not support the problem: " + why);
      return std::nullopt;
    }
  }
  if (auto v = verdict_of(ran)) {
    const bool is_unsupported = v->result == outcome::discard;
    if (is_unsupported || v->origin == refusal_origin) {
      fail("after " + change + " the library says: " + v->what);
    } else {
      v->what = "after " + change + ": " + v->what;
      become(std::move(*v));
    }
    return std::nullopt;
  }
  if (ran.planned.num_splits != base_.planned.num_splits && have_same_extents(ran.planned, base_.planned)) {
    fail(fmt::format("after {} plan() chose {} splits, before {} for the same problem", change, ran.planned.num_splits,
                     base_.planned.num_splits));
    return std::nullopt;
  }
  has_other_bits_ = takes().no_same_bits != 0 || ran.planned.num_splits != base_.planned.num_splits;
  if (has_other_bits_) {  // compare() then says nothing
    verdict judged = judge_execution(given, ran);
    judge_residuals(judged, case_, given, ran);
    if (judged.result != outcome::pass) {
      judged.what = "after " + change + ": " + judged.what;
      become(std::move(judged));
      return std::nullopt;
    }
  }
  return ran;
}

void relation::expect_same_bits(inputs& edited, const attention_case& how, const std::string& change,
                                const run_manner& manner) {
  if (const auto ran = run(edited, how, change, manner)) compare(base_.written, ran->written, change);
}

void relation::compare(const outputs& before, const outputs& after, const std::string& change) {
  if (decided() || has_other_bits_) return;
  if (const auto difference = first_difference(before, after)) fail("after " + change + " " + *difference);
}

verdict relation::conclude() const {
  if (decided()) return result_;
  verdict judged = judge_case(lib_, case_, given_, base_);
  judged.kernel_seconds = result_.kernel_seconds;
  judged.accesses_checked = result_.accesses_checked;
  return judged;
}

void relation::become(verdict decided) {
  decided.kernel_seconds = result_.kernel_seconds;
  decided.accesses_checked = result_.accesses_checked;
  result_ = std::move(decided);
}

void relation::fail(const std::string& what) {
  if (decided()) return;
  become(failed(property_.name, what));
}

void relation::discard(const std::string& reason) {
  if (decided()) return;
  become(discarded(reason));
}

}  // namespace assay::relations
