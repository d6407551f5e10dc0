#include "tests/kernels/append_kv/append_setting.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <span>
#include <sstream>
#include <stdexcept>

#include "kernels/device/convert.hpp"

namespace assay::append {
namespace {

constexpr std::int64_t positions_known = 50;

std::size_t index(std::int64_t i) {
  return static_cast<std::size_t>(i);
}

}  // namespace

std::int64_t owned_tensor::at(std::int64_t i0, std::int64_t i1, std::int64_t i2, std::int64_t i3) const {
  const std::int64_t i[] = {i0, i1, i2, i3};
  std::int64_t sum = start;
  for (std::size_t d = 0; d < shape.size(); ++d) sum += i[d] * stride[d];
  return sum;
}
std::uint64_t owned_tensor::bits(std::int64_t element) const {
  std::uint64_t to = 0;
  const std::int64_t width = size_bytes(type);
  std::memcpy(&to, bytes.data() + element * width, index(width));
  return to;
}
void owned_tensor::set(std::int64_t element, std::uint64_t bits) {
  const std::int64_t width = size_bytes(type);
  std::memcpy(bytes.data() + element * width, &bits, index(width));
}
double owned_tensor::value(std::int64_t element) const {
  const std::uint64_t b = bits(element);
  switch (type) {
    case dtype::f16: return static_cast<double>(to_float(device::f16{static_cast<std::uint16_t>(b)}));
    case dtype::bf16: return static_cast<double>(to_float(device::bf16{static_cast<std::uint16_t>(b)}));
    case dtype::e4m3fn: return static_cast<double>(to_float(device::e4m3fn{static_cast<std::uint8_t>(b)}));
    case dtype::e4m3fnuz: return static_cast<double>(to_float(device::e4m3fnuz{static_cast<std::uint8_t>(b)}));
    default: return static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(b)));
  }
}
double owned_tensor::rounded(double x) const {
  const auto narrow = static_cast<float>(x);
  switch (type) {
    case dtype::f16: return static_cast<double>(to_float(device::from_float<device::f16>(narrow)));
    case dtype::bf16: return static_cast<double>(to_float(device::from_float<device::bf16>(narrow)));
    case dtype::e4m3fn: return static_cast<double>(to_float(device::from_float<device::e4m3fn>(narrow)));
    default: return static_cast<double>(to_float(device::from_float<device::e4m3fnuz>(narrow)));
  }
}
assay_tensor owned_tensor::given() {
  assay_tensor t{};
  t.name = name.c_str();
  t.type = static_cast<std::int32_t>(type);
  t.role = role;
  t.view.data = bytes.data() + start * size_bytes(type);
  t.view.device = {kDLCPU, 0};
  t.view.ndim = static_cast<std::int32_t>(shape.size());
  t.view.dtype = {kDLUInt, static_cast<std::uint8_t>(8 * size_bytes(type)), 1};
  t.view.shape = shape.data();
  t.view.strides = stride.data();
  return t;
}

std::string text(const setting& s) {
  std::ostringstream out;
  out << name_of(s.q_type) << " to " << name_of(s.cache) << ", descales " << static_cast<int>(s.descales) << ", rotary "
      << static_cast<int>(s.rotary) << ", heads " << s.heads << ", dims " << s.dim_k << " and " << s.dim_v << ", page "
      << s.page_size << ", heads first " << s.heads_first << ", margins " << s.pool_margin << " " << s.row_margin << " "
      << s.angle_margin << ", " << s.slots.size() << " slots";
  return out.str();
}

const assay_kernel& kernel() {
  for (const assay_kernel& k : std::span(assay_library_v1()->kernels, index(assay_library_v1()->num_kernels)))
    if (std::strcmp(k.name, "append_kv") == 0) return k;
  throw std::runtime_error("no kernel append_kv");
}

trial::trial(const setting& s) : setting_(s) {
  problem& p = scalars;
  p.operation = operation_kind::append_kv;
  p.q_type = s.q_type, p.k_type = p.v_type = s.cache;
  p.kv_descale = s.descales, p.rotary = s.rotary;
  p.total_q = static_cast<std::int32_t>(s.slots.size());
  p.heads_q = p.heads_kv = s.heads;
  p.head_dim_qk = s.dim_k, p.head_dim_v = s.dim_v;
  p.page_size = s.page_size, p.num_pages = s.num_pages;
  p.num_splits = 1;
  p.k_scale = s.k_scale, p.v_scale = s.v_scale;

  const std::int64_t rows = p.total_q;
  for (const auto& [name, dim] : {std::pair("k_new", s.dim_k), std::pair("v_new", s.dim_v)}) {
    const std::int64_t head = dim + s.row_margin;
    add(name, s.q_type, ASSAY_INPUT, {rows, s.heads, dim}, {s.heads * head + s.row_margin, head, 1}, s.row_margin);
  }
  add("slots", dtype::i64, ASSAY_INPUT, {rows}, {1}, 0);
  add_pool("k", s.dim_k);
  add_pool("v", s.dim_v);
  if (s.rotary != rotary_kind::none) {
    add("positions", dtype::i32, ASSAY_INPUT, {rows}, {1}, 0);
    for (const char* const name : {"rope_cos", "rope_sin"})
      add(name, dtype::f32, ASSAY_INPUT, {positions_known, s.dim_k / 2}, {s.dim_k / 2 + s.angle_margin, 1},
          s.angle_margin);
  }
  if (s.descales == descale_kind::per_page)
    for (const char* const name : {"k_descale", "v_descale"})
      add(name, dtype::f32, ASSAY_IN_OUT, {s.num_pages, s.heads}, {2 * s.heads + 3, 2}, 1);
  fill();
  before_ = tensors;
}

void trial::add(const std::string& name, dtype type, std::int32_t role, std::vector<std::int64_t> shape,
                std::vector<std::int64_t> stride, std::int64_t start) {
  owned_tensor t{name, type, role, std::move(shape), std::move(stride), start, {}};
  std::int64_t end = start + 1;
  for (std::size_t d = 0; d < t.shape.size(); ++d) end += std::max<std::int64_t>(0, t.shape[d] - 1) * t.stride[d];
  t.bytes.assign(index((end + 16) * size_bytes(type)), 0xFF);  // NaN, or -1
  tensors.push_back(std::move(t));
}

void trial::add_pool(const std::string& name, std::int32_t dim) {
  const setting& s = setting_;
  const std::int64_t row = dim + s.pool_margin;
  const std::int64_t slot = s.heads_first ? row : s.heads * row, head = s.heads_first ? s.page_size * row : row;
  add(name, s.cache, ASSAY_IN_OUT, {s.num_pages, s.page_size, s.heads, dim},
      {s.heads * s.page_size * row + s.pool_margin, slot, head, 1}, 0);
}

/// Rows of normal numbers, NaN in those that are skipped; pools of any bits, NaN codes too.
void trial::fill() {
  const setting& s = setting_;
  std::mt19937_64 random(s.seed);
  std::normal_distribution<float> normal;
  for (const auto& [name, dim] : {std::pair("k_new", s.dim_k), std::pair("v_new", s.dim_v)}) {
    owned_tensor& t = tensor(name);
    for (std::int64_t row = 0; row < scalars.total_q; ++row)
      for (std::int64_t head = 0; s.slots[index(row)] >= 0 && head < s.heads; ++head)
        for (std::int64_t d = 0; d < dim; ++d) {
          const float x = normal(random);
          t.set(t.at(row, head, d), s.q_type == dtype::f16 ? device::from_float<device::f16>(x).bits
                                                           : device::from_float<device::bf16>(x).bits);
        }
  }
  for (std::int64_t row = 0; row < scalars.total_q; ++row) {
    tensor("slots").set(row, static_cast<std::uint64_t>(s.slots[index(row)]));
    if (s.rotary != rotary_kind::none && s.slots[index(row)] >= 0)
      tensor("positions").set(row, random() % index(positions_known));
  }
  for (const char* const name : {"k", "v"}) {
    owned_tensor& t = tensor(name);
    for (std::uint8_t& byte : t.bytes) byte = static_cast<std::uint8_t>(random());
  }
  if (s.rotary != rotary_kind::none)
    for (std::int64_t i = 0; i < positions_known; ++i)
      for (std::int64_t j = 0; j < s.dim_k / 2; ++j) {
        const double angle = static_cast<double>(i) / std::pow(100.0, 2.0 * static_cast<double>(j) / s.dim_k);
        for (const auto& [name, x] : {std::pair("rope_cos", std::cos(angle)), std::pair("rope_sin", std::sin(angle))})
          tensor(name).set(tensor(name).at(i, j), std::bit_cast<std::uint32_t>(static_cast<float>(x)));
      }
  if (s.descales == descale_kind::per_page)
    for (const char* const name : {"k_descale", "v_descale"})
      for (std::int64_t page = 0; page < s.num_pages; ++page)
        for (std::int64_t head = 0; head < s.heads; ++head) {
          owned_tensor& t = tensor(name);
          const float usual = std::exp2(static_cast<float>(random() % 256U) / 64.0F - 8.0F);
          const float held = is_fresh(page) ? std::numeric_limits<float>::quiet_NaN() : s.descale;
          t.set(t.at(page, head), std::bit_cast<std::uint32_t>(held == 0.0F ? usual : held));
        }
}

owned_tensor& trial::tensor(const std::string& name) {
  return const_cast<owned_tensor&>(after(name));
}
const owned_tensor& trial::after(const std::string& name) const {
  for (const owned_tensor& t : tensors)
    if (t.name == name) return t;
  throw std::runtime_error("no tensor " + name);
}
const owned_tensor& trial::before(const std::string& name) const {
  return before_[index(&after(name) - tensors.data())];
}

assay_status trial::run(const assay_launch& launch, const std::function<void(std::vector<assay_tensor>&)>& change) {
  std::vector<assay_tensor> given;
  given.reserve(tensors.size());
  for (owned_tensor& t : tensors) given.push_back(t.given());
  if (change) change(given);
  assay_plan plan{};
  if (kernel().plan(&scalars, 0, &plan).code != ASSAY_OK) plan = {1, 0};
  constexpr std::int64_t canaries = 256;
  constexpr std::uint8_t canary = 0xA7;
  std::vector<std::uint8_t> memory(index(plan.workspace_bytes + 3 * canaries), canary);
  const auto address = reinterpret_cast<std::uintptr_t>(memory.data()) + index(canaries);
  std::uint8_t* const workspace = memory.data() + canaries + (index(canaries) - address % index(canaries));
  std::fill_n(workspace, plan.workspace_bytes, std::uint8_t{0x5A});
  assay_launch how = launch;
  how.workspace = plan.workspace_bytes > 0 ? workspace : nullptr;
  how.workspace_bytes = plan.workspace_bytes;
  if (change_launch) change_launch(how);
  const auto count = static_cast<std::int32_t>(given.size());
  assay_status status = kernel().run(&scalars, given.data(), count, &how);
  if (status.code == ASSAY_OK) status = kernel().outcome(&scalars, given.data(), count, &how);
  const auto is_canary = [](std::uint8_t byte) { return byte == canary; };
  is_workspace_overrun_ = !std::all_of(memory.data(), workspace, is_canary) ||
                          !std::all_of(workspace + plan.workspace_bytes, memory.data() + memory.size(), is_canary);
  return status;
}

bool trial::is_unchanged() const {
  return !is_workspace_overrun_ &&
         std::equal(tensors.begin(), tensors.end(), before_.begin(),
                    [](const owned_tensor& a, const owned_tensor& b) { return a.bytes == b.bytes; });
}

}  // namespace assay::append
