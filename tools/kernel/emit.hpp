// SPDX-License-Identifier: Apache-2.0
// Writes a kernel as constants in C, for `forebay kernel emit`.
#pragma once

#include <forebay/error.hpp>

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "kernels/kernel.h"

namespace forebay::kernel {

/// Writes kernel_data.c in an existing directory: the kernel and the list of backends, for the
/// sources in kernels/. Returns {"file"}. Blocks.
Result<nlohmann::json> emit(const fk_kernel& kernel,
                            const std::vector<std::string>& backends,
                            const std::string& directory);

}  // namespace forebay::kernel
