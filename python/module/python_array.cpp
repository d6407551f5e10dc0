#include "python/module/python_array.hpp"

#include <dlpack/dlpack.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace assay::python {
namespace {

namespace py = pybind11;

struct element_form {
  std::string_view type;
  const char* format;  ///< as the struct module names it
  std::int64_t bytes;
  DLDataType dlpack;
};
constexpr std::array forms{
    element_form{"f64", "d", 8, {kDLFloat, 64, 1}},    element_form{"f32", "f", 4, {kDLFloat, 32, 1}},
    element_form{"f16", "e", 2, {kDLFloat, 16, 1}},    element_form{"bf16", "H", 2, {kDLBfloat, 16, 1}},
    element_form{"i64", "q", 8, {kDLInt, 64, 1}},      element_form{"i32", "i", 4, {kDLInt, 32, 1}},
    element_form{"i8", "b", 1, {kDLInt, 8, 1}},        element_form{"u8", "B", 1, {kDLUInt, 8, 1}},
    element_form{"e4m3fn", "B", 1, {kDLUInt, 8, 1}},   element_form{"e5m2", "B", 1, {kDLUInt, 8, 1}},
    element_form{"e4m3fnuz", "B", 1, {kDLUInt, 8, 1}}, element_form{"e5m2fnuz", "B", 1, {kDLUInt, 8, 1}},
};

const element_form& form_of(const python_array& a) {
  const auto* const form = std::ranges::find(forms, a.type, &element_form::type);
  if (form == forms.end()) throw py::type_error("no array has elements of type " + a.type);
  return *form;
}

py::buffer_info buffer_of(const python_array& a) {
  const element_form& form = form_of(a);
  std::vector<py::ssize_t> strides;
  strides.reserve(a.strides.size());
  for (const std::int64_t stride : a.strides) strides.push_back(stride * form.bytes);
  return {a.data,  form.bytes,         form.format,   static_cast<py::ssize_t>(a.shape.size()),
          a.shape, std::move(strides), a.is_read_only};
}

/// What a DLPack capsule owns.
struct managed_array {
  DLManagedTensor tensor;
  python_array array;
};

void end_of(DLManagedTensor* t) {
  delete static_cast<managed_array*>(t->manager_ctx);
}

/// A capsule whose name is still the first one was not taken.
void end_of_capsule(PyObject* capsule) {
  if (PyCapsule_IsValid(capsule, "dltensor") == 0) return;
  auto* const t = static_cast<DLManagedTensor*>(PyCapsule_GetPointer(capsule, "dltensor"));
  t->deleter(t);
}

py::capsule to_capsule(const python_array& a, const py::args&, const py::kwargs&) {
  auto made = std::make_unique<managed_array>();
  made->array = a;
  DLTensor& view = made->tensor.dl_tensor;
  view.data = a.data;
  view.device = {kDLCPU, 0};
  view.ndim = static_cast<std::int32_t>(a.shape.size());
  view.dtype = form_of(a).dlpack;
  view.shape = made->array.shape.data();
  view.strides = made->array.strides.data();
  view.byte_offset = 0;
  made->tensor.manager_ctx = made.get();
  made->tensor.deleter = end_of;
  py::capsule capsule(&made->tensor, "dltensor", end_of_capsule);
  static_cast<void>(made.release());
  return capsule;
}

}  // namespace

python_array array_of(const tensor& t, bool is_read_only, std::shared_ptr<const void> owner) {
  return {t.data,       name_of(t.type), {t.shape, t.shape + t.rank}, {t.stride, t.stride + t.rank},
          is_read_only, std::move(owner)};
}

python_array array_of(const assay_tensor& t) {
  const DLTensor& v = t.view;
  return {static_cast<std::byte*>(v.data) + v.byte_offset,
          name_of(static_cast<dtype>(t.type)),
          {v.shape, v.shape + v.ndim},
          {v.strides, v.strides + v.ndim},
          t.role == ASSAY_INPUT,
          nullptr};
}

void bind_array(py::module_& m) {
  py::class_<python_array>(m, "Array", py::buffer_protocol(),
                           "Memory of a tensor, by the buffer protocol and by DLPack. Strides count elements.")
      .def_buffer([](python_array& a) { return buffer_of(a); })
      .def_readonly("type", &python_array::type)
      .def_readonly("read_only", &python_array::is_read_only)
      .def_property_readonly("shape", [](const python_array& a) { return py::tuple(py::cast(a.shape)); })
      .def_property_readonly("strides", [](const python_array& a) { return py::tuple(py::cast(a.strides)); })
      .def("__dlpack__", to_capsule)
      .def("__dlpack_device__", [](const python_array&) { return py::make_tuple(static_cast<int>(kDLCPU), 0); });
}

}  // namespace assay::python
