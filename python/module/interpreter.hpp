/// Workers of a process that is a Python interpreter.
#pragma once

namespace assay::python {

/// Thrown through the suite when a signal handler of Python's raised: the interpreter's error is set. Not a
/// std::exception, for those are findings.
struct interrupted {};

/// From now on, forks of workers keep the interpreter's locks right, and Ctrl-C ends the wait for workers. All of it
/// happens with the GIL held.
void prepare_workers();

}  // namespace assay::python
