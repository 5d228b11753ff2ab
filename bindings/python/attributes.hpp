// SPDX-License-Identifier: Apache-2.0
// Attributes as Python values: text is str, texts are a list of str, numbers are NumPy scalars and
// arrays.
#pragma once

#include <forebay/attribute.hpp>

#include <functional>
#include <span>
#include <string>

#include "bindings/python/failure.hpp"

namespace forebay::python {

/// A dict of names and values.
nb::dict attributes_of(std::span<const Attribute> attributes);

/// Calls `set` for each name and value of a mapping.
void set_attributes(
    const nb::dict& values,
    const std::function<Status(const std::string& name, const AttributeValue& value)>& set);

}  // namespace forebay::python
