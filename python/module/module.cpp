/// The module assay._assay: what of the suite the package needs. The package is the interface; this is not.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <optional>
#include <sstream>
#include <string>
#include <tuple>
#include <vector>

#include <boost/json.hpp>

#include "properties/cli/program.hpp"
#include "properties/generate/fit.hpp"
#include "properties/generate/shrink.hpp"
#include "properties/generate/support_table.hpp"
#include "properties/run/verdict_json.hpp"
#include "properties/suite/suite.hpp"
#include "properties/system/worker.hpp"
#include "python/module/interpreter.hpp"
#include "python/module/python_array.hpp"
#include "python/module/python_case.hpp"
#include "python/module/python_contract.hpp"
#include "python/module/python_kernel.hpp"

namespace assay::python {
namespace {

namespace py = pybind11;

/// What `work` returns. Ctrl-C in it is Python's exception.
template <class Work>
auto uninterrupted(Work work) {
  try {
    return work();
  } catch (const interrupted&) {
    throw py::error_already_set();
  } catch (const case_error& e) {
    throw py::value_error(e.what());
  }
}

/// One command line: (exit status, what it printed, what it complained). `kernel` stands for the built-in ones.
std::tuple<int, std::string, std::string> program(const std::vector<std::string>& arguments, const python_kernel& k) {
  return uninterrupted([&] {
    std::ostringstream out, err;
    const command_table commands{{add_run, add_replay}, {}};
    const int status = run_command(commands, arguments, {out, err, library_of(k)});
    return std::tuple{status, out.str(), err.str()};
  });
}

const property& property_of(const std::string& name) {
  const auto found = std::ranges::find(properties(), name, &property::name);
  if (found == properties().end()) throw py::value_error("there is no property '" + name + "'");
  return *found;
}

/// The verdict of a property on a case, in this process: (outcome, origin, what, traceback).
std::tuple<std::string, std::string, std::string, std::string> check(const python_kernel& k, const std::string& json,
                                                                     const std::string& name) {
  return uninterrupted([&] {
    const verdict v = check_property(*library_of(k), property_of(name), from_json(json, "case"));
    return std::tuple{std::string(name_of(v.result)), v.origin, v.what, last_traceback()};
  });
}

/// Calls `work`, which returns a str, in a worker: (what it returned or None, how it ended, its last words).
std::tuple<std::optional<std::string>, std::string, std::string> isolate(const py::function& work, double limit) {
  return uninterrupted([&] {
    const auto serve = [&](const std::string&) { return work().cast<std::string>(); };
    const work_result said = isolated(serve, limit).ask("");
    return std::tuple{said.reply, said.death, said.last_words};
  });
}

assay_support support_in(const std::string& json) {
  return read_support(support_from_json(boost::json::parse(json).as_object()));
}

/// The first `count` cases that a run of output_enclosed with this seed has, as JSON.
std::vector<std::string> cases(const std::string& kernel, const std::string& supports, std::int64_t count,
                               std::uint64_t seed) {
  return uninterrupted([&] {
    suite_options options;
    options.kernels = {kernel};
    options.selected = {&enclosure_property()};
    options.supports[kernel] = support_in(supports);
    options.seed = seed;
    if (const std::string why = impossible_support(kernel, options.supports[kernel]); !why.empty())
      throw case_error("supports: " + why);
    std::vector<std::string> all;
    for (std::int64_t i = 0; i < count; ++i) all.push_back(to_json(suite_case(options, i)));
    return all;
  });
}

std::vector<std::string> simpler_cases(const std::string& json, const std::string& supports) {
  return uninterrupted([&] {
    std::vector<std::string> all;
    for (const attention_case& c : simpler(from_json(json, "case"), support_in(supports))) all.push_back(to_json(c));
    return all;
  });
}

/// What the case has and the kernel does not take; empty for a case within the support.
std::string beyond(const std::string& json, const std::string& supports) {
  return uninterrupted([&] { return unsupported_by(support_in(supports), from_json(json, "case")); });
}

py::dict type_numbers() {
  py::dict all;
  boost::mp11::mp_for_each<boost::describe::describe_enumerators<dtype>>(
      [&](auto type) { all[type.name] = static_cast<int>(type.value); });
  return all;
}

}  // namespace

PYBIND11_MODULE(_assay, m) {
  m.doc() = "The suite of Assay, for the package assay.";
  prepare_workers();
  bind_array(m);
  bind_kernel(m);
  bind_case(m);
  m.def("program", &program, py::arg("arguments"), py::arg("kernel"));
  m.def("check", &check, py::arg("kernel"), py::arg("case"), py::arg("property"));
  m.def("isolate", &isolate, py::arg("work"), py::arg("limit"));
  m.def("cases", &cases, py::arg("kernel"), py::arg("supports"), py::arg("count"), py::arg("seed"));
  m.def("simpler", &simpler_cases, py::arg("case"), py::arg("supports"));
  m.def("beyond", &beyond, py::arg("case"), py::arg("supports"));
  m.attr("kernels") = kernels_of_the_space();
  m.attr("types") = type_numbers();
  m.attr("support_fields") = support_field_names();
  m.attr("contract_fields") = contract_fields();
  m.attr("problem_fields") = py::list(dict_of(problem{}));
}

}  // namespace assay::python
