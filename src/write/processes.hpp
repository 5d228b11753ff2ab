// SPDX-License-Identifier: Apache-2.0
// Processes as a lease needs them: the identity of this process, and whether another process of
// this host still runs.
#pragma once

#include <cstdint>
#include <string>

namespace forebay::write {

enum class ProcessState : std::uint8_t {
  kRunning,
  kEnded,
  kUnknown,  ///< a process of this number runs, but its start time is hidden or was not recorded
};
/// The state of the process that has number `process_id` in the caller's PID namespace and started
/// at `start` (clock ticks since boot; 0: unknown). A process lives until its last thread has
/// ended.
ProcessState process_state(std::uint64_t process_id, std::uint64_t start);

/// The kernel's identifier of the current boot.
std::string boot_id();

/// For error texts: "2026-01-31 12:00:00 UTC".
std::string format_utc_time(std::uint64_t since_1970_ns);

}  // namespace forebay::write
