#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <limits>

#include "properties/relations/broken_calls.hpp"

// Each break is tried on every tensor of a call. It says false where problem.hpp and the ABI allow what it makes.
namespace assay::relations {
namespace {

constexpr std::int64_t pool_step = 8;  // problem.hpp: strides and start of K and V are multiples of it

bool is_kv_pool(const described_call& call) {
  return call.planned.content == tensor_content::keys || call.planned.content == tensor_content::values;
}

bool is_written(const described_call& call) {
  return call.planned.role != tensor_role::input;
}

/// Without elements no address and no stride is wrong.
bool is_empty(const DLTensor& view) {
  return std::find(view.shape, view.shape + view.ndim, 0) != view.shape + view.ndim;
}

/// Whether the tensor's dimension has a stride that means something.
bool has_stride(const DLTensor& view, int dim) {
  return dim < view.ndim && view.shape[dim] > 1 && !is_empty(view);
}

/// Whether the problem leaves the extent to the caller: a table may be wider than it must be.
bool has_free_extent(const described_call& call, int dim) {
  return (call.planned.has_free_rows && dim == 0) || (call.planned.content == tensor_content::block_table && dim == 1);
}

bool leave_out(const described_call& call, std::size_t at) {
  if (call.planned.is_optional) return false;
  call.tensors.erase(call.tensors.begin() + static_cast<std::ptrdiff_t>(at));
  return true;
}

bool give_twice(const described_call& call, std::size_t at) {
  call.tensors.push_back(assay_tensor(call.tensors[at]));
  return true;
}

bool retype(const described_call& call, std::size_t at) {
  assay_tensor& t = call.tensors[at];
  t.type = static_cast<std::int32_t>(t.type == static_cast<std::int32_t>(dtype::i8) ? dtype::f32 : dtype::i8);
  t.view.dtype = {static_cast<std::uint8_t>(kDLInt), 8, 1};
  return true;
}

template <std::int32_t Type>
bool set_type(const described_call& call, std::size_t at) {
  call.tensors[at].type = Type;
  return true;
}

bool widen_elements(const described_call& call, std::size_t at) {
  DLDataType& type = call.tensors[at].view.dtype;
  type.bits = static_cast<std::uint8_t>(2 * type.bits);
  return true;
}

bool pair_elements(const described_call& call, std::size_t at) {
  call.tensors[at].view.dtype.lanes = 2;
  return true;
}

bool move_device(const described_call& call, std::size_t at) {
  call.tensors[at].view.device.device_type = kDLExtDev;
  return true;
}

/// A role under which the library may not do with the tensor what it has to.
template <assay_tensor_role Role>
bool set_role(const described_call& call, std::size_t at) {
  const bool is_input = Role == ASSAY_INPUT;
  if (is_input ? !is_written(call) : call.planned.role == tensor_role::output) return false;
  call.tensors[at].role = Role;
  return true;
}

bool unknown_role(const described_call& call, std::size_t at) {
  call.tensors[at].role = 7;
  return true;
}

bool flatten(const described_call& call, std::size_t at) {
  --call.tensors[at].view.ndim;
  return true;
}

bool no_dimensions(const described_call& call, std::size_t at) {
  call.tensors[at].view.ndim = 0;
  return true;
}

bool negative_dimensions(const described_call& call, std::size_t at) {
  call.tensors[at].view.ndim = -1;
  return true;
}

bool add_dimension(const described_call& call, std::size_t at) {
  DLTensor& view = call.tensors[at].view;
  if (view.ndim == max_rank) return false;
  view.shape[view.ndim] = view.strides[view.ndim] = 1;
  ++view.ndim;
  return true;
}

bool lose_shape(const described_call& call, std::size_t at) {
  call.tensors[at].view.shape = nullptr;
  return true;
}

bool lose_strides(const described_call& call, std::size_t at) {
  call.tensors[at].view.strides = nullptr;
  return true;
}

bool lose_data(const described_call& call, std::size_t at) {
  DLTensor& view = call.tensors[at].view;
  if (is_empty(view)) return false;
  view.data = nullptr;
  return true;
}

bool misalign(const described_call& call, std::size_t at) {
  DLTensor& view = call.tensors[at].view;
  if (view.dtype.bits < 16 || is_empty(view)) return false;
  view.data = static_cast<std::byte*>(view.data) + 1;
  return true;
}

bool misalign_offset(const described_call& call, std::size_t at) {
  DLTensor& view = call.tensors[at].view;
  if (view.dtype.bits < 16 || is_empty(view)) return false;
  view.byte_offset = 1;
  return true;
}

bool misalign_vectors(const described_call& call, std::size_t at) {
  DLTensor& view = call.tensors[at].view;
  if (!is_kv_pool(call) || is_empty(view)) return false;
  view.byte_offset = static_cast<std::uint64_t>(view.dtype.bits / 8 * (pool_step / 2));
  return true;
}

template <int Dim>
bool lengthen(const described_call& call, std::size_t at) {
  const DLTensor& view = call.tensors[at].view;
  if (Dim >= view.ndim || has_free_extent(call, Dim)) return false;
  ++view.shape[Dim];
  return true;
}

template <int Dim>
bool shorten(const described_call& call, std::size_t at) {
  const DLTensor& view = call.tensors[at].view;
  if (Dim >= view.ndim || has_free_extent(call, Dim)) return false;
  --view.shape[Dim];
  return true;
}

template <int Dim>
bool negate_extent(const described_call& call, std::size_t at) {
  const DLTensor& view = call.tensors[at].view;
  if (Dim >= view.ndim) return false;
  view.shape[Dim] = view.shape[Dim] == 0 ? -1 : -view.shape[Dim];
  return true;
}

bool narrow_table(const described_call& call, std::size_t at) {
  const problem& p = call.stated;
  if (call.planned.content != tensor_content::block_table || p.num_seqs == 0 || p.max_k == 0) return false;
  call.tensors[at].view.shape[1] = (std::int64_t{p.max_k} - 1) / p.page_size;
  return true;
}

template <int Stride>
bool set_last_stride(const described_call& call, std::size_t at) {
  const DLTensor& view = call.tensors[at].view;
  if (call.planned.has_any_strides || !has_stride(view, view.ndim - 1)) return false;
  view.strides[view.ndim - 1] = Stride;
  return true;
}

/// A tensor of any strides spans more than 2^63 bytes with this one.
template <int Dim>
bool stride_past_memory(const described_call& call, std::size_t at) {
  const DLTensor& view = call.tensors[at].view;
  if (!has_stride(view, Dim)) return false;
  view.strides[Dim] = std::numeric_limits<std::int64_t>::max() / pool_step * pool_step;
  return true;
}

template <int Dim>
bool odd_stride(const described_call& call, std::size_t at) {
  const DLTensor& view = call.tensors[at].view;
  if (!is_kv_pool(call) || Dim + 1 >= view.ndim || !has_stride(view, Dim)) return false;
  view.strides[Dim] += pool_step / 2;
  return true;
}

/// Preshuffled keys are dense.
template <int Dim>
bool lay_apart(const described_call& call, std::size_t at) {
  const DLTensor& view = call.tensors[at].view;
  const bool is_dense = call.stated.k_order == key_order::preshuffled && call.planned.content == tensor_content::keys;
  if (!is_dense || Dim + 1 >= view.ndim || !has_stride(view, Dim)) return false;
  view.strides[Dim] += pool_step;
  return true;
}

template <int Dim>
bool repeat(const described_call& call, std::size_t at) {
  const DLTensor& view = call.tensors[at].view;
  if (!is_written(call) || !has_stride(view, Dim)) return false;
  view.strides[Dim] = 0;
  return true;
}

/// Gives a dimension the largest stride at which its indices overlap.
template <int Dim>
bool overlap(const described_call& call, std::size_t at) {
  const DLTensor& view = call.tensors[at].view;
  if (!is_written(call) || !has_stride(view, Dim)) return false;
  std::int64_t span = 1;  // of what lies within an index
  for (int d = 0; d < view.ndim; ++d)
    if (view.strides[d] < view.strides[Dim]) span += (view.shape[d] - 1) * view.strides[d];
  const std::int64_t step = is_kv_pool(call) ? pool_step : 1, stride = (span - 1) / step * step;
  if (stride == 0) return false;
  view.strides[Dim] = stride;
  return true;
}

#define ASSAY_OF_EACH_DIMENSION(text, function)                                                       \
  {"{} with " text " in dimension 0", function<0>}, {"{} with " text " in dimension 1", function<1>}, \
      {"{} with " text " in dimension 2", function<2>}, {                                             \
    "{} with " text " in dimension 3", function<3>                                                    \
  }

const broken_tensor tensor_breaks[] = {
    {"a call without {}", leave_out},
    {"a call with {} given twice", give_twice},
    {"{} with a wrong type", retype},
    {"{} with type 99", set_type<99>},
    {"{} with type -1", set_type<-1>},
    {"{} with elements of twice the bits", widen_elements},
    {"{} with elements of two lanes", pair_elements},
    {"{} on a device of another kind", move_device},
    {"{} as an input that must not be written", set_role<ASSAY_INPUT>},
    {"{} as an output that holds nothing", set_role<ASSAY_OUTPUT>},
    {"{} with role 7", unknown_role},
    {"{} with a dimension missing", flatten},
    {"{} with a dimension too many", add_dimension},
    {"{} with 0 dimensions", no_dimensions},
    {"{} with -1 dimensions", negative_dimensions},
    {"{} without a shape", lose_shape},
    {"{} without strides", lose_strides},
    {"{} without data", lose_data},
    {"{} at an address that is misaligned for its type", misalign},
    {"{} with an offset that is misaligned for its type", misalign_offset},
    {"{} with an offset of four elements, not eight", misalign_vectors},
    ASSAY_OF_EACH_DIMENSION("an extent that is too long by 1", lengthen),
    ASSAY_OF_EACH_DIMENSION("an extent that is too short by 1", shorten),
    ASSAY_OF_EACH_DIMENSION("a negative extent", negate_extent),
    {"{} with a column too few for the longest sequence", narrow_table},
    {"{} with a last stride of 2", set_last_stride<2>},
    {"{} with a last stride of 0", set_last_stride<0>},
    {"{} with a last stride of -1", set_last_stride<-1>},
    ASSAY_OF_EACH_DIMENSION("a stride of nearly 2^63", stride_past_memory),
    ASSAY_OF_EACH_DIMENSION("a stride that is not a multiple of 8", odd_stride),
    ASSAY_OF_EACH_DIMENSION("a stride that is not that of dense keys", lay_apart),
    ASSAY_OF_EACH_DIMENSION("a stride of 0", repeat),
    ASSAY_OF_EACH_DIMENSION("a stride at which elements overlap", overlap),
};
#undef ASSAY_OF_EACH_DIMENSION

}  // namespace

std::span<const broken_tensor> broken_tensors() {
  return tensor_breaks;
}

}  // namespace assay::relations
