/// How fast the kernels of a library with device tensors are, beside the device's own copy.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "properties/case/case.hpp"
#include "properties/run/kernel_library.hpp"

namespace assay {

/// One shape, on data of no meaning. Times are by the device's events, of one launch each, in a queue of launches that
/// follow each other: the host's own time is in none of them, unless run() itself waits for the device.
struct device_speed {
  std::string shape;        ///< "decode 16 x 8k, pages of 64"
  std::string kernel;       ///< of the library
  std::string types;        ///< as types_of() names them
  std::string refusal;      ///< why it was not measured; else empty
  std::int64_t splits = 0;  ///< that the planner chose
  std::int64_t bytes = 0;   ///< keys and values that are read, once; of appended rows also what is written
  double operations = 0;    ///< multiplications and additions of what the mask leaves
  int launches = 0;
  double median_seconds = 0;
  double least_seconds = 0;
  double most_seconds = 0;
  double copy_seconds = 0;  ///< median of a copy that reads and writes `bytes`, half of them each; 0: not measured
  double bytes_per_second() const { return static_cast<double>(bytes) / median_seconds; }
  double operations_per_second() const { return operations / median_seconds; }
  /// 1: as fast as that copy, of which a launch's own time is a part, too.
  double of_copy_as_big() const { return copy_seconds / median_seconds; }
};

struct device_bench_result {
  std::string device;
  double copy_bytes_per_second = 0;  ///< bytes read plus bytes written, of a copy within the device in the same run
  std::vector<device_speed> speeds;
};

/// A shape to measure.
struct bench_shape {
  std::string name;
  attention_case stated;  ///< of its data nothing is used
};

/// The shapes of the kernels that the library has: decoding, prefill, logits and appended rows of large models.
std::vector<bench_shape> bench_shapes(const library& lib);

/// Whether the shape's name, kernel or types hold `text`.
bool mentions(const bench_shape& shape, std::string_view text);

/// Measures in this process, which must not fork afterwards. `launches` of each shape after a quarter as many. Throws
/// environment_error, device_error.
device_bench_result measure_device(const library& lib, const std::vector<bench_shape>& shapes, int launches);

std::string device_bench_text(const device_bench_result& result);
std::string device_bench_json(const device_bench_result& result);

}  // namespace assay
