#include "python/module/python_kernel.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>
#include <cstdio>
#include <stdexcept>

#include "properties/run/plan_problem.hpp"
#include "python/module/python_array.hpp"
#include "python/module/python_contract.hpp"

namespace assay::python {
namespace {

namespace py = pybind11;

/// Of this process; leaked, so that nothing of Python's is released after the interpreter has ended.
python_kernel& current() {
  static auto* const only = new python_kernel();
  return *only;
}

std::string& traceback() {
  static std::string text;
  return text;
}

assay_status status_of(int code, const std::string& message) {
  assay_status status = failed_status(message);
  status.code = code;
  return status;
}

/// Asks for one split where the caller does not say how many.
assay_status plan(const assay_problem* p, std::int64_t budget_bytes, assay_plan* chosen) {
  chosen->num_splits = std::max(1, p->num_splits);
  problem planned = *p;
  planned.num_splits = chosen->num_splits;
  chosen->workspace_bytes = current().takes.no_partials != 0 ? 0 : split_workspace_bytes(planned);
  if (budget_bytes > 0 && chosen->workspace_bytes > budget_bytes)
    return status_of(ASSAY_UNSUPPORTED, fmt::format("the partials of {} splits exceed the budget", planned.num_splits));
  return {};
}

assay_status declare(const assay_problem* p, const assay_launch*, assay_contract* declared) {
  try {
    *declared = contract_of(current().declare(dict_of(*p)).cast<py::dict>(), *p);
    return {};
  } catch (const std::exception& e) {  // of Python, too
    return failed_status(fmt::format("declares: {}", e.what()));
  }
}

assay_status run(const assay_problem* p, const assay_tensor* tensors, std::int32_t num_tensors,
                 const assay_launch* launch) {
  py::dict views;
  for (std::int32_t i = 0; i < num_tensors; ++i) views[tensors[i].name] = py::cast(array_of(tensors[i]));
  const py::object said = current().run(dict_of(*p), views);
  if (launch->accesses_checked != nullptr)  // of kernels under an interpreter that checks (assay.triton)
    *launch->accesses_checked += py::getattr(current().run, "accesses", py::int_(0)).cast<std::int64_t>();
  if (said.is_none()) return {};
  const auto [code, message, trace] = said.cast<std::tuple<int, std::string, std::string>>();
  traceback() = trace;
  if (code < 0) throw std::runtime_error(message);
  return status_of(code, message);
}

/// What a library points to.
struct tables {
  std::string name;
  assay_kernel kernel;
  assay_library all;
};

assay_support support_in(const std::string& json) {
  const boost::json::value read = boost::json::parse(json);
  return read_support(support_from_json(read.as_object()));
}

}  // namespace

std::shared_ptr<library> library_of(const python_kernel& k) {
  current() = k;
  const auto made = std::make_shared<tables>();
  made->name = k.name;
  made->kernel = {made->name.c_str(), plan, k.declare.is_none() ? nullptr : declare, run, nullptr};
  made->all = ASSAY_LIBRARY("python", &made->kernel, 1);
  auto* const lib = new library(&made->all, k.label);
  lib->supports[k.name] = k.takes;
  lib->checks.accesses = false;  // nothing of Python calls back
  return {lib, [made](const library* l) { delete l; }};
}

const std::string& last_traceback() {
  return traceback();
}

void bind_kernel(py::module_& m) {
  py::class_<python_kernel>(m, "Kernel", "A kernel in Python: what the suite calls, and what it takes and declares.")
      .def(py::init([](const std::string& name, const std::string& label, const py::object& run,
                       const py::object& declares, const std::string& supports) {
             try {
               return python_kernel{name, label, run, declares, support_in(supports)};
             } catch (const case_error& e) {
               throw py::value_error(std::string("supports: ") + e.what());
             }
           }),
           py::arg("name"), py::arg("label"), py::arg("run"), py::arg("declare"), py::arg("supports"));
}

}  // namespace assay::python
