/// Whether a run without a defect verified enough to say so.
#pragma once

#include <string>
#include <vector>

#include "properties/suite/suite.hpp"

namespace assay {

/// Share of cases that may be discarded before the run counts as failed.
constexpr double max_discard_share = 0.05;

/// Share of cases that may be undecided before the run counts as failed: of all, of each property, of each combination
/// of types, and of the cases with each reachable thing. Overflow leaves a few undecided; a contract that says nothing
/// about sinks leaves all cases with sinks undecided.
constexpr double max_undecided_share = 0.05;

/// Places at which each standard fault must have been asked for, of each kernel; and places of one combination of types
/// from which on its share counts alone. With fewer a share says nothing.
constexpr std::int64_t least_asked = 8;
constexpr std::int64_t least_asked_of_types = 16;

/// Share of a fault's places at which the judge must see it. The built-in kernels' contracts show each fault at 91% of
/// its places or more, most of them at 97%; the loosest contracts that are accepted show most of them at 0% to 50%.
constexpr double least_seen_share = 0.5;

/// Why a run verified too little, in one line; empty if it verified enough. The first that holds: no case ran or
/// passed; too many were discarded or undecided; and, unless `options.accept_blunt`, what missing_reach(),
/// rarely_asked() and missing_teeth() say.
std::string shortfall(const suite_options& options, const suite_result& result);

/// The shortfall of counts alone, for runs of stored cases.
std::string shortfall(const suite_result& result);

/// What no case that passed reached, in up to three lines for each kernel: properties, types, and what the kernels'
/// spaces declare. Runs of one shard, or of some properties, are not asked for the latter.
std::vector<std::string> missing_reach(const suite_options& options, const suite_result& result);

/// Standard faults that the run would miss, a line for each kernel: the judge saw them at fewer than least_seen_share
/// of their places, of all types or of one combination.
std::vector<std::string> missing_teeth(const suite_options& options, const suite_result& result);

/// Whether all cases of the kernel that passed had a contract that leaves the order open. Then missing_teeth() leaves
/// out the faults that need an order.
bool is_order_free(const suite_result& result, const std::string& kernel);

/// Of each kernel with such cases, which faults the run would have seen, and which not: "split_kv without an order:
/// would have seen key_dropped, ...; would miss p_truncated".
std::vector<std::string> order_free_teeth(const suite_options& options, const suite_result& result);

/// Standard faults that were asked for at fewer than least_asked places, a line for each kernel. Of a run of some
/// properties only those count that need no feature: one case is too little, however narrow the run.
std::vector<std::string> rarely_asked(const suite_options& options, const suite_result& result);

/// 0 verified, 1 a defect was found or there is a shortfall.
int exit_status(const suite_options& options, const suite_result& result);
int exit_status(const suite_result& result);

}  // namespace assay
