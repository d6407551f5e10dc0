/// Rows, waves and LDS of split_kv's blocks, by the problem's head dimensions and the device's LDS.
#pragma once

#include <cstdint>

#include "kernels/problem.hpp"
#include "kernels/split_kv/split_kv_arguments.hpp"

namespace assay {

/// What a block's shape depends on.
struct split_kv_device {
  int lanes;               ///< of a wave
  int narrow_columns;      ///< of a matrix atom: the rows of a block, or half of them
  int most_waves;          ///< of a block, at most most_split_kv_waves
  int lds_of_block_bytes;  ///< the most that a block may have
  int lds_of_unit_bytes;   ///< that the blocks of a compute unit share
  bool has_ring;           ///< copies are asynchronous; else one group lies in LDS
};

/// The device that this file is compiled for.
split_kv_device split_kv_device_of(int lanes);

/// Rows of a block: 8 where the atom has 8 columns and no sequence has more rows, times the group's heads; else 16.
std::int32_t split_kv_rows(const problem& p, int narrow_columns);

/// As many waves as fit, and then groups in flight until they are enough. `p` has passed check_split_kv.
split_kv_shape split_kv_shape_of(const problem& p, const split_kv_device& device);

/// Blocks of that shape that a compute unit holds.
int split_kv_blocks_per_unit(const split_kv_shape& shape, const split_kv_device& device);

}  // namespace assay
