// SPDX-License-Identifier: Apache-2.0
// The class of the driver, as each version of HDF5 expects it.
#pragma once

#include "hdf5/hdf5_abi.hpp"

namespace forebay::hdf5 {

inline constexpr const char* kDriverName = "forebay";

/// H5FD_class_t for this version of HDF5; null if it is not supported.
const void* driver_class(unsigned major, unsigned minor) noexcept;

}  // namespace forebay::hdf5
