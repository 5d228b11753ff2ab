// SPDX-License-Identifier: Apache-2.0
// One synchronous attempt of one operation, on a thread of a backend without a kernel queue.
#pragma once

#include <cstdint>

#include "storage/backend.hpp"

namespace forebay::storage {

/// Makes one system call (for a file without a descriptor, one call of File) and returns the bytes
/// moved or -errno. Blocks.
std::int64_t attempt(const Operation& operation);

}  // namespace forebay::storage
