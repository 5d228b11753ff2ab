// SPDX-License-Identifier: Apache-2.0
#include "bindings/python/failure.hpp"

#include <optional>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

namespace forebay::python {

void refuse(const char* operation, std::string cause) {
  throw Failure(Error(
      {.kind = ErrorClass::kInvalidArgument, .operation = operation, .cause = std::move(cause)}));
}

namespace {

/// The classes by kind. Never destroyed: modules end before their objects.
nb::dict& exception_classes() {
  static auto* const classes = new nb::dict(
      nb::borrow<nb::dict>(nb::module_::import_("forebay.exceptions").attr("BY_KIND")));
  return *classes;
}

}  // namespace

// Runs no code of Python: there, a daemon thread may end at the exit of the interpreter, through
// frames of C++.
nb::object to_python(const Error& error) {
  const nb::object type = exception_classes()[name_of(error.kind()).data()];
  nb::object made = type(error.message());
  made.attr("operation") = error.operation();
  made.attr("path") = error.path();
  made.attr("offset") = error.offset_bytes();
  made.attr("errno") = error.error_number();
  made.attr("cause") = error.cause();
  made.attr("rank") = error.rank();
  return made;
}

void set_python_error(const Error& error) noexcept {
  try {
    const nb::object made = to_python(error);
    PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(made.ptr())), made.ptr());
  } catch (nb::python_error& raised) {
    raised.restore();
  }
}

void register_failures() {
  exception_classes();  // imported while imports are possible
  nb::register_exception_translator([](const std::exception_ptr& thrown, void* /*payload*/) {
    try {
      std::rethrow_exception(thrown);
    } catch (const Failure& failure) {
      set_python_error(failure.error);
    }
  });
}

}  // namespace forebay::python
