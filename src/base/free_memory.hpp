// SPDX-License-Identifier: Apache-2.0
// free_memory_bytes(): memory that this process can allocate before the OOM killer acts.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace forebay {

/// MemAvailable, limited by the control groups (v1 and v2) of this process. Inactive file cache
/// counts as free. No value if the system reports neither. `root` replaces / in tests. Reads a few
/// small files.
std::optional<std::uint64_t> free_memory_bytes(const std::string& root = "");

}  // namespace forebay
