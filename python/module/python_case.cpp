#include "python/module/python_case.hpp"

#include <algorithm>
#include <memory>
#include <string>

#include "kernels/contract_recipes.hpp"
#include "properties/case/case.hpp"
#include "properties/run/contract_fault.hpp"
#include "properties/run/given_outputs.hpp"
#include "properties/run/verdict_json.hpp"
#include "python/module/python_array.hpp"
#include "python/module/python_contract.hpp"

namespace assay::python {
namespace {

namespace py = pybind11;

/// A case and its inputs, which are made when they are first asked for.
struct bound_case {
  attention_case stated;
  std::shared_ptr<inputs> given;

  inputs& filled() {
    if (!given) given = std::make_shared<inputs>(fill(stated));
    return *given;
  }
};

contract judged_by(const py::object& declares, const problem& planned) {
  const contract c = declares.is_none() ? of_types(planned) : contract_of(declares.cast<py::dict>(), planned);
  if (const std::string fault = contract_fault(c, planned); !fault.empty())
    throw py::value_error("declares: the contract cannot bound the outputs: " + fault);
  return c;
}

py::dict arrays_of(std::vector<buffer>& buffers, bool is_read_only, const std::shared_ptr<const void>& owner) {
  py::dict all;
  for (buffer& b : buffers) all[b.name().c_str()] = py::cast(array_of(b.view(), is_read_only, owner));
  return all;
}

/// Outputs of a case that somebody else writes.
struct written_outputs {
  execution ran;
};

py::object index_array(const oracle::enclosed_tensor& t) {
  if (!t.indices) return py::none();
  return py::cast(*t.indices);
}

/// By tensor: (ends as [..., 2] f64, rules as u8 or None, covered indices along the first axis or None).
py::dict dict_of(oracle::enclosure&& bounds) {
  py::dict all;
  for (oracle::enclosed_tensor& moved : bounds.tensors) {
    const auto t = std::make_shared<oracle::enclosed_tensor>(std::move(moved));
    python_array rules{t->kept.data(), "u8", t->shape, {}, true, t};
    if (t->indices && !rules.shape.empty()) rules.shape[0] = std::ssize(*t->indices);
    std::int64_t stride = 1;
    for (std::size_t d = rules.shape.size(); d-- > 0; stride *= std::max<std::int64_t>(1, rules.shape[d]))
      rules.strides.insert(rules.strides.begin(), stride);
    python_array ends = rules;
    static_assert(sizeof(oracle::interval) == 2 * sizeof(double));
    ends.data = t->elements.data();
    ends.type = "f64";
    for (std::int64_t& s : ends.strides) s *= 2;
    ends.shape.push_back(2), ends.strides.push_back(1);
    all[t->name.c_str()] =
        py::make_tuple(ends, t->kept.empty() ? py::object(py::none()) : py::cast(rules), index_array(*t));
  }
  return all;
}

py::tuple judge(bound_case& c, written_outputs& outputs, const py::object& declares) {
  const verdict v = judge_given(c.stated, c.filled(), outputs.ran, judged_by(declares, outputs.ran.planned));
  return py::make_tuple(name_of(v.result), v.origin, v.what);
}

std::shared_ptr<written_outputs> outputs_of(bound_case& c, const std::vector<std::string>& left_out) {
  auto made = std::make_shared<written_outputs>();
  made->ran = unwritten_execution(c.stated, c.filled(), left_out);
  return made;
}

bound_case parsed(const std::string& json, const std::string& origin) {
  try {
    return {from_json(json, origin), nullptr};
  } catch (const case_error& e) {
    throw py::value_error(e.what());
  }
}

}  // namespace

void bind_case(py::module_& m) {
  py::class_<written_outputs, std::shared_ptr<written_outputs>>(m, "Outputs")
      .def("arrays",
           [](const std::shared_ptr<written_outputs>& o) { return arrays_of(o->ran.written.buffers, false, o); });
  py::class_<bound_case>(m, "Case")
      .def(py::init(&parsed), py::arg("json"), py::arg("origin"))
      .def("json", [](const bound_case& c) { return to_json(c.stated); })
      .def("problem", [](const bound_case& c) { return python::dict_of(with_splits(c.stated)); })
      .def("inputs", [](bound_case& c) { return c.filled(), arrays_of(c.given->buffers, true, c.given); })
      .def("outputs", &outputs_of, py::arg("left_out"))
      .def("judge", &judge, py::arg("outputs"), py::arg("declares"))
      .def("enclosure",
           [](bound_case& c, const py::object& declares) {
             const problem planned = with_splits(c.stated);
             return dict_of(oracle::enclose(planned, c.filled().tensors(), judged_by(declares, planned)));
           })
      .def("exact", [](bound_case& c) {
        return dict_of(oracle::evaluate_exactly(with_splits(c.stated), c.filled().tensors()));
      });
}

}  // namespace assay::python
