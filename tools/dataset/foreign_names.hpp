// SPDX-License-Identifier: Apache-2.0
// What fields and element types are called in Zarr, HDF5 and NumPy. All ways to export must agree,
// so the rules are here once.
#pragma once

#include <forebay/element_type.hpp>

#include <string>
#include <string_view>

namespace forebay::dataset_tool {

/// The name with "/", "\\" and "%" as %2F, %5C and %25, and a dot in front as %2E: one step of a
/// path, and no two names become one.
std::string node_name(std::string_view field);

/// "<f8", "|i1"; what has no type is "|u1".
std::string numpy_type(ElementType type, ByteOrder order);

}  // namespace forebay::dataset_tool
