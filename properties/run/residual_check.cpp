#include "properties/run/residual_check.hpp"

#include <fmt/format.h>

#include <chrono>
#include <cmath>

#include "properties/case/operation.hpp"
#include "properties/run/execute.hpp"

namespace assay {
namespace {

using oracle::group_kind;

/// "sequence 0", "kv head 1", "row 3 of sequence 0, head 5": where all of it lies.
std::string scope_of(const oracle::residual_finding& f) {
  if (f.row >= 0) return fmt::format("row {} of sequence {}, head {}", f.row, f.sequence, f.head);
  std::string scope = f.sequence >= 0 ? fmt::format("sequence {}", f.sequence) : "all sequences";
  if (f.head_kv >= 0) scope += fmt::format(", kv head {}", f.head_kv);
  return scope;
}

std::string keys_of(const oracle::residual_finding& f) {
  return f.end == f.begin + 1 ? fmt::format("key {}", f.begin) : fmt::format("keys {} to {}", f.begin, f.end - 1);
}

/// What contributes, as the subject of a sentence.
std::string subject_of(const oracle::residual_finding& f) {
  const std::string scope = scope_of(f);
  switch (f.kind) {
    case group_kind::page: return fmt::format("page {} ({} of {})", f.page, keys_of(f), scope);
    case group_kind::split:
      if (f.begin == f.end) return fmt::format("split {} ({})", f.index, scope);
      return fmt::format("the split of {} ({})", keys_of(f), scope);
    case group_kind::tile: return fmt::format("the tile of {} ({})", keys_of(f), scope);
    case group_kind::key: return fmt::format("key {} ({})", f.begin, scope);
    case group_kind::prefix: return fmt::format("what lies before key {} ({})", f.end, scope);
    case group_kind::share: {
      const std::string unit = f.unit == 1 ? "key" : fmt::format("(key / {})", f.unit);
      return fmt::format("the share of keys with {} mod {} = {} ({})", unit, f.ways, f.index, scope);
    }
    case group_kind::first_key: return fmt::format("the first visible key ({})", scope);
    case group_kind::last_key: return fmt::format("the last visible key ({})", scope);
    case group_kind::key_before: return fmt::format("the hidden key before the first visible one ({})", scope);
    case group_kind::key_behind: return fmt::format("the hidden key behind the last visible one ({})", scope);
    default: return fmt::format("the sum of all keys ({})", scope);
  }
}

std::string percent(double share) {
  const double percents = 100 * std::fabs(share);
  return percents < 10 ? fmt::format("{:.2g}%", percents) : fmt::format("{:.0f}%", percents);
}

}  // namespace

bool suits_residuals(const attention_case& c) {
  const fill_kind fill = c.data.fill;
  return (describe(c).capabilities & has_softmax) != 0 && c.data.specials == special_kind::none &&
         (fill == fill_kind::normal || fill == fill_kind::uniform || fill == fill_kind::even_weights);
}

std::string describe(const oracle::residual_finding& found) {
  if (found.kind == group_kind::not_finite)
    return fmt::format("o is not finite in {}, where its exact value is", scope_of(found));
  const bool is_hidden = found.kind == group_kind::key_before || found.kind == group_kind::key_behind;
  const std::string amount =
      is_hidden ? fmt::format("{}{} of its weight", found.excess < 0 ? "minus " : "", percent(found.excess))
                : fmt::format("{} too {}", percent(found.excess), found.excess > 0 ? "much" : "little");
  const char* const verb = found.is_of_lse ? "counts" : "contributes";
  return fmt::format("{}{} {} {}{}: {:.0f} sigma, by {} row{}", found.is_of_lse ? "LSE: " : "", subject_of(found), verb,
                     amount, found.is_of_lse ? "" : " to o", found.sigmas, found.rows, found.rows == 1 ? "" : "s");
}

void judge_residuals(verdict& v, const attention_case& c, const inputs& in, const execution& ran) {
  if (v.result == outcome::fail || !suits_residuals(c)) return;
  const auto start = std::chrono::steady_clock::now();
  const oracle::residual_result tested =
      oracle::test_residuals(ran.planned, in.tensors(), ran.written.tensors(), ran.declared);
  v.oracle_seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  v.rows_regressed = tested.rows;
  v.lse_regressed = tested.lse_rows;
  if (!tested.finding) return;
  v.result = outcome::fail;
  v.origin = residual_origin;
  v.what = describe(*tested.finding);
}

}  // namespace assay
