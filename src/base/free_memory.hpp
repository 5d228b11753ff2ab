// SPDX-License-Identifier: Apache-2.0
// How much memory this process can take before the system ends somebody for it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace forebay {

/// What the machine can give without swapping, and what the control groups of this process (v1 and
/// v2) leave of it; caches of files that could be dropped count as free. No value where the system
/// does not say. `root` is where /proc and /sys are looked for. Reads a few small files.
std::optional<std::uint64_t> free_memory_bytes(const std::string& root = "");

}  // namespace forebay
