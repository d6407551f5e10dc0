#include "properties/suite/device_bench.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <numeric>
#include <random>

#include "kernels/library_call.hpp"
#include "oracle/decode.hpp"
#include "properties/case/operation.hpp"
#include "properties/case/tensor_plan.hpp"
#include "properties/case/types.hpp"
#include "properties/run/execute.hpp"
#include "properties/system/device_driver.hpp"

namespace assay {
namespace {

constexpr std::int64_t pattern_bytes = std::int64_t{64} << 20;

/// Device memory that ends with this object.
class device_block {
 public:
  device_block(device_driver& on, std::int64_t bytes) : on_(on), at_(on.allocate(std::max<std::int64_t>(bytes, 1))) {}
  ~device_block() { on_.free(at_); }
  device_block(const device_block&) = delete;
  device_block& operator=(const device_block&) = delete;
  std::byte* at() const { return at_; }

 private:
  device_driver& on_;
  std::byte* at_;
};

/// Random numbers of a type, about 1 where it has a fraction: what they are matters to no kernel's time.
std::vector<std::byte> pattern_of(dtype type, std::int64_t bytes) {
  std::mt19937 random(1);
  const auto draw = [&] { return static_cast<std::uint32_t>(random()); };
  std::vector<std::byte> all(static_cast<std::size_t>(bytes));
  const std::int64_t size = size_bytes(type);
  for (std::int64_t at = 0; at + size <= bytes; at += size) {
    const std::uint32_t drawn = draw();
    std::uint32_t bits = drawn & 0xFFU;  // of i8
    if (type == dtype::f32) bits = 0x3F000000U | (drawn & 0x807FFFFFU);
    if (type == dtype::f16) bits = 0x3800U | (drawn & 0x83FFU);
    if (type == dtype::bf16) bits = 0x3F00U | (drawn & 0x807FU);
    if (is_fp8(type)) bits = 0x30U | (drawn & 0x8FU);
    std::memcpy(all.data() + at, &bits, static_cast<std::size_t>(size));
  }
  return all;
}

/// The numbers of a table of a case.
std::vector<std::int64_t> numbers_of(const attention_case& c, const planned_tensor& t) {
  std::vector<std::int64_t> all;
  const auto sums_of = [&](auto count) {
    std::int64_t sum = 0;
    all.push_back(0);
    for (const sequence& s : c.sequences) all.push_back(sum += static_cast<std::int64_t>(count(s)));
  };
  if (t.content == tensor_content::row_sums) sums_of([](const sequence& s) { return s.q; });
  if (t.content == tensor_content::page_sums) sums_of([](const sequence& s) { return s.pages.size(); });
  for (const sequence& s : c.sequences) {
    if (t.content == tensor_content::key_counts) all.push_back(s.k);
    if (t.content == tensor_content::block_table || t.content == tensor_content::page_list)
      all.insert(all.end(), s.pages.begin(), s.pages.end());
    if (t.content == tensor_content::row_indices)
      for (std::int64_t row = 0; row < s.q; ++row) all.push_back(t.row_index(c, s, row, std::ssize(all)).value_or(0));
  }
  return all;
}

/// The same in the table's type, i32 or i64.
std::vector<std::byte> table_of(const attention_case& c, const planned_tensor& t) {
  const std::vector<std::int64_t> numbers = numbers_of(c, t);
  const auto size = static_cast<std::size_t>(size_bytes(t.type));
  std::vector<std::byte> bytes(numbers.size() * size);
  for (std::size_t i = 0; i < numbers.size(); ++i) std::memcpy(bytes.data() + i * size, &numbers[i], size);
  return bytes;
}

/// The tensors of a call in device memory.
class device_tensors {
 public:
  device_tensors(device_driver& on, const attention_case& c, const problem& planned) : on_(on), case_(c) {
    std::vector<planned_tensor> all = plan_tensors(c);
    for (planned_tensor& t : plan_outputs(planned, {})) all.push_back(std::move(t));
    views_.reserve(all.size());
    for (const planned_tensor& t : all) add(t);
    on_.finish();
  }
  std::span<const assay_tensor> list() const { return list_; }

 private:
  struct shape_of_tensor {
    std::string name;
    std::vector<std::int64_t> shape, stride;
  };

  void add(const planned_tensor& t) {
    std::vector<std::int64_t> stride(t.shape.size(), 1);
    std::vector<int> order = t.order;
    if (order.empty()) order.resize(t.shape.size()), std::iota(order.begin(), order.end(), 0);
    std::int64_t elements = 1;
    for (std::size_t i = order.size(); i-- > 0;) {
      stride[static_cast<std::size_t>(order[i])] = elements;
      elements *= t.shape[static_cast<std::size_t>(order[i])];
    }
    const std::int64_t bytes = elements * size_bytes(t.type);
    blocks_.push_back(std::make_unique<device_block>(on_, bytes));
    std::byte* const at = blocks_.back()->at();
    if (is_index(t.content))
      copy_table(at, table_of(case_, t));
    else if (t.role != tensor_role::output)
      copy_pattern(at, t.type, bytes);
    views_.push_back({t.name, t.shape, stride});
    shape_of_tensor& v = views_.back();
    DLTensor view{};
    view.data = at;
    view.device = on_.device();
    view.ndim = static_cast<int>(v.shape.size());
    view.dtype = to_dlpack(t.type);
    view.shape = v.shape.data();
    view.strides = v.stride.data();
    const auto role = t.role == tensor_role::input    ? ASSAY_INPUT
                      : t.role == tensor_role::output ? ASSAY_OUTPUT
                                                      : ASSAY_IN_OUT;
    list_.push_back({v.name.c_str(), static_cast<std::int32_t>(t.type), view, role});
  }

  void copy_table(std::byte* to, const std::vector<std::byte>& table) {
    on_.copy_in(to, table.data(), std::ssize(table));
    on_.finish();
  }

  void copy_pattern(std::byte* to, dtype type, std::int64_t bytes) {
    const std::vector<std::byte> pattern = pattern_of(type, std::min(bytes, pattern_bytes));
    on_.copy_in(to, pattern.data(), std::ssize(pattern));
    on_.finish();
    for (std::int64_t at = std::ssize(pattern); at < bytes; at += pattern_bytes)
      on_.copy_across(to + at, to, std::min(pattern_bytes, bytes - at));
  }

  device_driver& on_;
  const attention_case& case_;
  std::vector<std::unique_ptr<device_block>> blocks_;
  std::vector<shape_of_tensor> views_;
  std::vector<assay_tensor> list_;
};

struct spread {
  double least, median, most;
};

/// Seconds of one work, by the device's events. Works are enqueued behind fills that take longer than the host does to
/// enqueue the first ones, so that no time holds what the host does between two of them.
spread timed(device_driver& on, int times, const std::function<void()>& enqueue) {
  enqueue();  // what a first launch prepares
  on.finish();
  constexpr std::int64_t fill_bytes = std::int64_t{256} << 20;
  for (int i = 0; i < 8; ++i) on.fill(on.scratch(fill_bytes), std::byte{0}, fill_bytes);  // half a ms at 4 TB/s
  for (int i = 1; i < std::max(1, times / 4); ++i) enqueue();
  std::vector<double> seconds = on.seconds_of_each(times, enqueue);
  std::ranges::sort(seconds);
  return {seconds.front(), seconds[seconds.size() / 2], seconds.back()};
}

/// Median seconds of a copy of so many bytes, which reads and writes twice as many.
double copy_seconds(device_driver& on, std::int64_t bytes, int times) {
  const device_block from(on, bytes), to(on, bytes);
  on.fill(from.at(), std::byte{1}, bytes);
  return timed(on, times, [&] { on.copy_across(to.at(), from.at(), bytes); }).median;
}

double copy_speed(device_driver& on, int times) {
  constexpr std::int64_t bytes = std::int64_t{1} << 30;  // far more than any cache
  return 2 * static_cast<double>(bytes) / copy_seconds(on, bytes, times);
}

/// Keys that the rows of a sequence see, summed.
std::int64_t pairs_of(const attention_case& c, const sequence& s) {
  if (!c.causal && !describe(c).is_causal) return std::int64_t{s.q} * s.k;
  std::int64_t pairs = 0;
  for (std::int64_t row = 0; row < s.q; ++row) pairs += std::int64_t{s.k} - s.q + row + 1;
  return pairs;
}

/// Keys and values that are read, once; of appended rows what is read and what is written.
std::int64_t moved_bytes(const attention_case& c) {
  const bool appends = describe(c).kind == operation_kind::append_kv;
  const std::int64_t of_keys = c.head_dim_qk * size_bytes(c.kv_type);
  const std::int64_t of_values =
      describe(c).kind == operation_kind::mqa_logits ? 0 : c.head_dim_v * size_bytes(v_type(c));
  const std::int64_t of_rows = (c.head_dim_qk + c.head_dim_v) * size_bytes(c.q_type);
  std::int64_t bytes = 0;
  for (const sequence& s : c.sequences)
    bytes += c.heads_kv * (appends ? s.q * (of_rows + of_keys + of_values) : s.k * (of_keys + of_values));
  return bytes;
}

/// No products are formed of appended rows.
double operations_of(const attention_case& c) {
  if (describe(c).kind == operation_kind::append_kv) return 0;
  double operations = 0;
  for (const sequence& s : c.sequences)
    operations += 2 * static_cast<double>(pairs_of(c, s)) * static_cast<double>(describe(c).pair_cost(c));
  return operations;
}

void measure_shape(device_driver& on, const library& lib, const bench_shape& shape, int launches, device_speed& to) {
  const attention_case& c = shape.stated;
  const assay_kernel* const kernel = lib.find(c.kernel);
  const problem stated = to_problem(c);
  problem planned;
  std::int64_t workspace_bytes = 0;
  const assay_status plan = plan_problem(*kernel, stated, 0, &planned, lib.support_of(c.kernel), &workspace_bytes);
  if (plan.code != ASSAY_OK) {
    to.refusal = plan.message;
    return;
  }
  to.splits = planned.num_splits;
  const device_tensors tensors(on, c, planned);
  assay_launch launch = make_launch(c, {.accesses = false}, 1, nullptr);
  launch.stream = on.stream();
  if (!lib.knows_workspace()) workspace_bytes = 0;
  const device_block workspace(on, workspace_bytes);
  if (workspace_bytes > 0) launch.workspace = workspace.at(), launch.workspace_bytes = workspace_bytes;
  const auto num_tensors = static_cast<std::int32_t>(tensors.list().size());
  assay_status status{};
  const auto run = [&] {
    const assay_status said = kernel->run(&planned, tensors.list().data(), num_tensors, &launch);
    if (said.code != ASSAY_OK) status = said;
  };
  const spread s = timed(on, launches, run);
  // Of the last launch alone: outcome() waits.
  if (status.code == ASSAY_OK && kernel->outcome != nullptr)
    status = kernel->outcome(&planned, tensors.list().data(), num_tensors, &launch);
  if (status.code != ASSAY_OK) to.refusal = status.message;
  to.launches = launches;
  to.least_seconds = s.least, to.median_seconds = s.median, to.most_seconds = s.most;
}

}  // namespace

device_bench_result measure_device(const library& lib, const std::vector<bench_shape>& shapes, int launches) {
  device_driver& on = device_driver::of(lib.tensors_on());
  device_bench_result result;
  result.device = on.name();
  result.copy_bytes_per_second = copy_speed(on, launches);
  for (const bench_shape& shape : shapes) {
    const attention_case& c = shape.stated;
    device_speed speed;
    speed.shape = shape.name, speed.kernel = c.kernel, speed.types = types_of(c);
    speed.bytes = moved_bytes(c), speed.operations = operations_of(c);
    measure_shape(on, lib, shape, launches, speed);
    if (speed.refusal.empty()) speed.copy_seconds = copy_seconds(on, speed.bytes / 2, launches);
    result.speeds.push_back(std::move(speed));
  }
  return result;
}

}  // namespace assay
