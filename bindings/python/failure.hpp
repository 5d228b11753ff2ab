// SPDX-License-Identifier: Apache-2.0
// Failure: a forebay::Error on its way to Python, where it becomes an exception of
// forebay.exceptions.
#pragma once

#include <forebay/error.hpp>

#include <exception>
#include <string>
#include <utility>

#include <nanobind/nanobind.h>

namespace nb = nanobind;

namespace forebay::python {

struct Failure final : std::exception {
  explicit Failure(Error reason) : error(std::move(reason)) {}
  const char* what() const noexcept override { return "forebay.Error"; }
  const Error error;
};

/// Throws kInvalidArgument with this cause.
[[noreturn]] void refuse(const char* operation, std::string cause);

/// The value, or throws Failure.
template <class T>
T value_of(Result<T> result) {
  if (!result) throw Failure(result.error());
  return std::move(*result);
}
inline void check(const Status& status) {
  if (!status) throw Failure(status.error());
}

/// The value of `body`, or the Error that it throws: for ranks that agree on it before one fails.
template <class Body>
auto result_of(Body body) -> Result<decltype(body())> {
  try {
    return body();
  } catch (const Failure& refused) {
    return failure(refused.error);
  }
}

/// The exception object for `error`: an instance of a subclass of forebay.Error. Needs the GIL.
nb::object to_python(const Error& error);

/// Sets it as the exception of this thread, as a function of the C interface of Python does.
void set_python_error(const Error& error) noexcept;

/// Makes functions of extensions raise it for each Failure. Call once in each extension.
void register_failures();

}  // namespace forebay::python
