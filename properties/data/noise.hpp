/// The noise that data is drawn from: a value for each place, the same on every machine.
#pragma once

#include <cstdint>

namespace assay {

/// What a recipe draws independently.
enum noise_stream : std::uint64_t {
  q_stream = 1,
  k_stream,
  v_stream,
  bias_stream,
  sink_stream,
  dim_stream,
  star_stream,
  k_descale_stream,
  v_descale_stream,
  weight_stream,
  key_scale_stream,
  tail_stream,
  far_stream,
  stream_count
};

/// SplitMix64's finalizer (Steele, Lea, Flood 2014).
inline std::uint64_t mix(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15U;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9U;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBU;
  return x ^ (x >> 31);
}

/// The noise of the elements of a row, by dim: what does not depend on the dim is mixed once.
struct row_noise {
  std::uint64_t key;
  std::uint64_t operator()(std::int64_t dim) const { return mix(key ^ static_cast<std::uint64_t>(dim)); }
};

/// [0, 1)
inline double uniform_of(std::uint64_t noise) {
  return static_cast<double>(noise >> 40) * 0x1p-24;
}

/// Irwin-Hall: 8 uniforms on [0, 65535] have variance 8 * (2^32 - 1) / 12, so sqrt(12 / 8) / 2^16 makes it one.
inline double normal_of(std::uint64_t noise) {
  // Two sums at a time, in halves of a word: the sums of 4 have 18 bits.
  constexpr std::uint64_t lower_16_of_32 = 0x0000FFFF0000FFFFU;
  const std::uint64_t more = mix(noise);
  const std::uint64_t sums = (noise & lower_16_of_32) + ((noise >> 16) & lower_16_of_32) + (more & lower_16_of_32) +
                             ((more >> 16) & lower_16_of_32);
  const auto sum = static_cast<std::int64_t>((sums & 0xFFFFFFFFU) + (sums >> 32));
  return static_cast<double>(2 * sum - 8 * 65535) * (1.2247448713915890 / 131072);
}

inline double signed_by(std::uint64_t noise, double value) {
  return (noise & 1) != 0 ? value : -value;
}

}  // namespace assay
