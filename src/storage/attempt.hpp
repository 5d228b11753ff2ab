// SPDX-License-Identifier: Apache-2.0
// One synchronous attempt of one operation: what the backends without a kernel queue do on a thread
// of theirs.
#pragma once

#include <cstdint>

#include "storage/backend.hpp"

namespace forebay::storage {

/// Makes one system call (on a file without a descriptor: one call of File) and returns bytes moved
/// or -errno. Blocks.
std::int64_t attempt(const Operation& operation);

}  // namespace forebay::storage
