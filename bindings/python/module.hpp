// SPDX-License-Identifier: Apache-2.0
// The parts of the extension _forebay.
#pragma once

#include <string>

#include "bindings/python/runtime_state.hpp"

namespace forebay::python {

/// A path of Python: str, bytes or os.PathLike.
std::string path_of(const nb::object& path);

/// The function __enter__ of all classes.
inline nb::object identity(nb::object value) { return value; }

// The calls of the Python class Runtime that make objects of other files.
nb::object open_session(RuntimeState& state, const nb::object& path, const nb::kwargs& options);
nb::object create_dataset(RuntimeState& state, const nb::object& path, const nb::kwargs& options);
nb::object open_dataset(RuntimeState& state, const nb::object& path, const nb::kwargs& options);
nb::object create_output_stream(RuntimeState& state, const nb::kwargs& options);
nb::object allocate(RuntimeState& state,
                    const nb::object& shape,
                    const nb::object& dtype,
                    const nb::kwargs& options);

void bind_sessions(nb::module_& module);
void bind_writers(nb::module_& module);
void bind_readers(nb::module_& module);
void bind_streams(nb::module_& module);
void bind_models(nb::module_& module);

}  // namespace forebay::python
