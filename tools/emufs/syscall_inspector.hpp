// SPDX-License-Identifier: Apache-2.0
// Finds the system call of a program for which the kernel requested attributes. The kernel sends
// the same request for a program's stat and for its own permission checks on a path. Only the first
// has a cost.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include <sys/types.h>

namespace forebay::emufs {

/// The system call in the text of /proc/THREAD/syscall; none if the thread is in none, or runs.
std::optional<long> parse_system_call(std::string_view text);

/// Whether it is a system call by which programs request attributes.
bool is_stat_call(long system_call);

enum class SyscallPurpose : std::uint8_t { kAttributes, kOther, kUnknown };

/// Why a blocked thread's kernel sent the request. Takes a few microseconds; at most 50 if the
/// thread is not asleep yet.
SyscallPurpose purpose_of(pid_t thread);

/// Whether a signal is pending for this thread that ends its program: in the text of
/// /proc/THREAD/status, one that is neither blocked nor ignored nor caught.
bool has_fatal_signal(std::string_view status);

/// The same for a blocked thread; false if unknown.
bool has_pending_fatal_signal(pid_t thread);

}  // namespace forebay::emufs
