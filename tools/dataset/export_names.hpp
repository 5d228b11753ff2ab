// SPDX-License-Identifier: Apache-2.0
// Names of fields and element types in Zarr, HDF5 and NumPy. Shared, as all exports must use the
// same.
#pragma once

#include <forebay/element_type.hpp>

#include <string>
#include <string_view>

namespace forebay::dataset_tool {

/// The name with "/", "\\" and "%" as %2F, %5C and %25, and a leading dot as %2E: one component of
/// a path. Different fields have different names.
std::string node_name(std::string_view field);

/// For example "<f8", "|i1"; the type `bytes` is "|u1".
std::string numpy_type(ElementType type, ByteOrder order);

}  // namespace forebay::dataset_tool
