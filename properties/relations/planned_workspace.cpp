#include <fmt/format.h>

#include <array>
#include <iterator>
#include <limits>
#include <span>

#include "properties/generate/kernel_space.hpp"
#include "properties/relations/relation.hpp"
#include "properties/relations/relations.hpp"
#include "properties/run/declared_contract.hpp"

namespace assay::relations {
namespace {

constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
constexpr std::array<std::int32_t, 7> split_counts{0, 1, 2, 3, 7, 64, 128};

/// Around the limits of grids, of 32 bits and of what kernels keep free below 2^31 for tiles behind the last one.
constexpr std::int64_t values[] = {1,
                                   3,
                                   100,
                                   4096,
                                   (1 << 16) - 1,
                                   1 << 16,
                                   (1 << 16) + 1,
                                   (1 << 24) + 1,
                                   1 << 28,
                                   (1 << 30) + 1,
                                   most - 1024,
                                   most - 600,
                                   most - 128,
                                   most - 15,
                                   most};

/// What a problem can have many of. No tensor is made, so that each may be as large as its type allows.
struct extents {
  std::int64_t sequences = 1;
  std::int64_t rows = 1;  ///< of each sequence
  std::int64_t keys = 1;  ///< of the longest one
  std::int64_t page_keys = 1;
  std::int64_t heads = 1;  ///< kv heads
};
constexpr std::int64_t extents::* fields[] = {&extents::sequences, &extents::rows, &extents::keys, &extents::page_keys,
                                              &extents::heads};

/// The case's problem with other extents; false where an extent would leave 32 bits.
bool enlarge(problem& p, extents e) {
  const std::int64_t group = p.heads_q / p.heads_kv;
  const bool has_units = p.kv_descale == descale_kind::per_page || p.k_order == key_order::preshuffled;
  const std::int64_t unit = has_units ? p.page_size : 1;
  if ((describe(p.operation).capabilities & has_columns) != 0) e.heads = 1;
  e.page_keys = e.page_keys < unit ? unit : e.page_keys / unit * unit;
  if (e.sequences * e.rows > most || e.heads * group > most) return false;
  p.num_seqs = static_cast<std::int32_t>(e.sequences);
  p.max_q = static_cast<std::int32_t>(e.rows);
  p.total_q = static_cast<std::int32_t>(e.sequences * e.rows);
  p.max_k = static_cast<std::int32_t>(e.keys);
  p.max_model_len = p.max_model_len > 0 ? p.max_k : 0;
  p.page_size = static_cast<std::int32_t>(e.page_keys);
  p.num_pages = most;
  p.heads_kv = static_cast<std::int32_t>(e.heads);
  p.heads_q = static_cast<std::int32_t>(e.heads * group);
  return true;
}

/// A library takes the workspace that it asks for as the budget, and keeps to a smaller one, or says that it cannot.
std::string fault_of_budget(const assay_kernel& kernel, const problem& stated, const assay_support& takes) {
  assay_plan plan{};
  if (kernel.plan(&stated, std::numeric_limits<std::int64_t>::max(), &plan).code != ASSAY_OK) return {};
  const std::int64_t asked = plan.workspace_bytes;
  if (asked < 2 || takes.no_workspace_budget != 0) return {};  // a budget of 0 is the library's own
  problem planned;
  const assay_status own = plan_problem(kernel, stated, asked, &planned, takes);
  if (own.code != ASSAY_OK)
    return fmt::format("plan() asks for {} bytes, but with them as the budget it says {}", asked, own.message);
  const assay_status less = plan_problem(kernel, stated, asked - 1, &planned, takes);
  if (less.code == ASSAY_OK || less.code == ASSAY_UNSUPPORTED) return {};
  return fmt::format("plan() asks for {} bytes, and with a byte less as the budget it says {}", asked, less.message);
}

/// What is wrong with the plan of a valid problem, or with the contract of a planned one; empty if nothing is, or if
/// the problem is too large for the library.
std::string fault_of_plan(const assay_kernel& kernel, const problem& stated, const assay_launch& launch,
                          const assay_support& takes, std::int32_t known_bytes) {
  problem planned;
  assay_status status = plan_problem(kernel, stated, std::numeric_limits<std::int64_t>::max(), &planned, takes);
  if (status.code == ASSAY_UNSUPPORTED) return {};
  std::string what = fmt::format("plan() says {}", status.message);
  if (status.code == ASSAY_OK) {
    contract declared;
    status = declared_contract(kernel, planned, launch, contract_use::declared, &declared, known_bytes);
    what = status.code == ASSAY_OK       ? ""
           : status.code == ASSAY_FAILED ? status.message  // a contract that cannot bound the outputs
                                         : fmt::format("planned, but declare() says {}", status.message);
    if (what.empty()) what = fault_of_budget(kernel, stated, takes);
    if (what.empty()) return {};
  }
  return fmt::format("{} sequences with {} rows and up to {} keys, pages of {} keys, {} heads, {} splits: {}",
                     stated.num_seqs, stated.max_q, stated.max_k, stated.page_size, stated.heads_q, stated.num_splits,
                     what);
}

/// All pairs of extents at all values: products of two are the first that leave 32 bits.
verdict check(const library& lib, const attention_case& c) {
  relation r(planned_workspace, lib, c);
  const assay_launch launch = make_launch(c, {}, 1, nullptr);
  const assay_support& takes = r.takes();
  const bool splits_keys = (capabilities_of(c.kernel) & has_splits) != 0 && takes.no_split_count == 0;
  const std::size_t counts = splits_keys ? split_counts.size() : 1;
  for (auto one = std::begin(fields); one != std::end(fields); ++one)
    for (auto other = one + 1; other != std::end(fields); ++other)
      for (const std::int64_t many : values)
        for (const std::int64_t more : values)
          for (const std::int32_t splits : std::span(split_counts).first(counts)) {
            if (r.decided()) return r.conclude();
            problem stated = r.given().stated;
            extents e;
            e.** one = many, e.** other = more;
            stated.num_splits = splits;
            if (!enlarge(stated, e)) continue;
            if (const std::string fault =
                    fault_of_plan(*lib.find(c.kernel), stated, launch, takes, lib.contract_bytes());
                !fault.empty())
              r.fail(fault);
          }
  return r.conclude();
}

}  // namespace

const property planned_workspace{
    "planned_workspace",
    "a valid problem of any size is planned, with room for the partials of its splits, and has a contract, or is said "
    "to be unsupported",
    check, nullptr};

}  // namespace assay::relations
