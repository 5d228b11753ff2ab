// SPDX-License-Identifier: Apache-2.0
// Counts how often a process opens, changes or syncs names: the most expensive operations on a
// parallel file system, which candidates do not report. In a program that links metadata_calls.cpp,
// calls of all its libraries count too, because the linker finds these functions first.
#pragma once

#include <cstdint>

namespace forebay::bench::checkpoint {

/// Calls of open, creat, mkdir, link, unlink, rename, truncate, fallocate and sync since the start,
/// including fallocate and sync that Forebay submits to io_uring.
std::uint64_t metadata_calls() noexcept;

}  // namespace forebay::bench::checkpoint
