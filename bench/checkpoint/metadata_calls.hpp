// SPDX-License-Identifier: Apache-2.0
// How often a process changes or opens names, and syncs: what costs most on a parallel file system,
// and what no contender tells. The program that links metadata_calls.cpp counts the calls of all
// its libraries too, as the linker finds our functions first.
#pragma once

#include <cstdint>

namespace forebay::bench::checkpoint {

/// Calls of open, creat, mkdir, link, unlink, rename, truncate, fallocate and sync since the start,
/// and what Forebay gives to io_uring of the last two.
std::uint64_t metadata_calls() noexcept;

}  // namespace forebay::bench::checkpoint
