/// Replays one query row of one split, tile by tile, as the contract states it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/contract.hpp"
#include "oracle/code_counts.hpp"
#include "oracle/enclosure.hpp"
#include "oracle/logits.hpp"
#include "oracle/specials.hpp"

namespace assay::oracle {

/// A tile's keys and values of one kv head, decoded once for all rows that see them. Rows of padding are zeros. Values
/// that are not finite stand in `specials`, and are zeros in `values`.
struct decoded_tile {
  decoded_tile(std::int64_t tile_keys, std::int64_t dim_qk, std::int64_t dim_v, const contract& declared);
  std::int64_t lanes;                ///< tile_keys padded
  std::int64_t dim;                  ///< head_dim_qk padded to whole atoms
  std::int64_t columns;              ///< head_dim_v padded
  std::vector<double> keys;          ///< [dim][lanes]
  std::vector<double> key_bounds;    ///< [lanes] max |k|
  std::vector<double> values;        ///< [tile_keys][columns]
  std::vector<double> value_bounds;  ///< [tile_keys] max |v|
  std::vector<special_value> specials;
  std::vector<char> is_negative;  ///< [columns] a value that some row sees has a sign bit
  /// The smallest normal numbers of the types: products of smaller elements are aligned as if they were these.
  double least_query = 0, least_key = 0, least_value = 0;
  double key_descale = 1;  ///< of the tile's page; 1 with per-tensor descales
  double value_descale = 1;
};

/// What a row carries from tile to tile. O is held in units of `value_descale`. The running maximum is w (1 + theta) +
/// e, |e| <= error (logits.hpp).
struct row_state {
  bool has_maximum = false;
  bool is_lost = false;    ///< the state has no bound any more
  bool is_nan = false;     ///< a visible logit is NaN, so all that follows is
  bool has_value = false;  ///< a key that is not void was added; before, O is exactly 0
  /// The sink times log2(e) overflows, or may: it then counts as +-infinity. 0, or the sign of the sink.
  int overflowing_sink = 0;
  double w = 0;
  double error = 0;
  interval sum{0, 0};        ///< l
  double least_sum = 1;      ///< once a maximum is there, l is not below it; infinite before
  double value_descale = 0;  ///< vd of the last tile that the row's block visited; 0 before the first
  std::vector<double> mid;   ///< O, padded columns
  std::vector<double> radius;
  column_states columns;

  explicit row_state(std::int64_t padded)
      : mid(static_cast<std::size_t>(padded)), radius(static_cast<std::size_t>(padded)), columns(padded) {}
  void reset();
  /// Starts a split from the sink: m = sink * log2(e), l = 1; nothing for -inf. With a shift the contract does not say
  /// what l is: lost.
  void start_from_sink(double sink, const logit_scale& scale, const contract& declared);
};

/// Space for one tile's logits and probabilities.
struct tile_scratch {
  explicit tile_scratch(std::int64_t lanes);
  std::vector<double> w, e, p, p_radius, p_least, p_most, bias;
  std::vector<char> is_void;  ///< keys whose logit is -inf: weight 0
};

/// A tile of which the row sees no key, but another row of the sequence and kv head does: its NaN and infinities may
/// reach the row as 0 * NaN, where a matrix unit takes both rows at once.
void pass_tile(const decoded_tile& tile, row_state& row);

/// A tile that the row's block visits but of which the row sees no key: only the unit of O changes.
void visit_tile(const decoded_tile& tile, const contract& declared, row_state& row);

/// The steps of a tile for a row that sees its keys [begin, end) (positions within the tile). `query` is padded to
/// tile.dim; `bias` points at the bias of key `begin`, or is null. `counts` may be null.
void replay_tile(const decoded_tile& tile, const contract& declared, const logit_scale& scale, bool is_integer,
                 const double* query, std::int64_t begin, std::int64_t end, const double* bias, row_state& row,
                 tile_scratch& scratch, code_counts* counts);

/// O / l * v_scale * value_descale of the first out.size() columns, and their element_rules.
void finish_output(const row_state& row, const contract& declared, double v_scale, std::span<interval> out,
                   std::span<std::uint8_t> rules);

/// base * ln2 + log(l), base = f32(m - p_shift); or the point -inf. Of a NaN row (is_nan) everything.
interval finish_lse(const row_state& row, const contract& declared, const logit_scale& scale);

}  // namespace assay::oracle
