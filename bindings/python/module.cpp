// SPDX-License-Identifier: Apache-2.0
// The extension _forebay: the C++ interface for Python. The package forebay re-exports it.
#include "bindings/python/module.hpp"

#include "bindings/python/memory.hpp"
#include "bindings/python/request.hpp"

NB_MODULE(_forebay, module) {
  namespace py = forebay::python;
  // At the exit of Python, objects of its modules are not all destroyed.
  nb::set_leak_warnings(false);
  module.doc() = "The C++ interface of Forebay; import forebay instead.";
  py::GilRelease::initialize();
  py::register_failures();
  py::bind_memory(module);
  py::bind_requests(module);
  py::bind_sessions(module);
  py::bind_writers(module);
  py::bind_readers(module);
  py::bind_streams(module);
  py::bind_models(module);
  py::bind_runtime(module);
}
