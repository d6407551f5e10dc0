#include "python/module/interpreter.hpp"

#include <pybind11/pybind11.h>

#include "properties/system/worker.hpp"

namespace assay::python {
namespace {

/// Lets other threads of Python run, and the handlers of signals.
void breathe() {
  {
    const pybind11::gil_scoped_release others;
  }
  if (PyErr_CheckSignals() != 0) throw interrupted{};
}

}  // namespace

void prepare_workers() {
  set_worker_hooks({PyOS_BeforeFork, PyOS_AfterFork_Parent, PyOS_AfterFork_Child, breathe});
}

}  // namespace assay::python
