// SPDX-License-Identifier: Apache-2.0
// What the ranks of a kernel write in each step: the input of models and simulations.
#pragma once

#include <forebay/error.hpp>

#include <cstdint>
#include <vector>

#include "kernels/kernel.h"

namespace forebay::kernel {

/// Bytes by step and rank.
using StepBytes = std::vector<std::vector<std::uint64_t>>;

/// All writes of each step that writes, drawn by as many threads as there are processors. Fails
/// with kInvalidArgument if a call exceeds a limit of kernels.
Result<StepBytes> step_bytes(const fk_kernel& kernel);

}  // namespace forebay::kernel
