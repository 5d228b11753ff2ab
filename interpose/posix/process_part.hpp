// SPDX-License-Identifier: Apache-2.0
// The part of this process in the memory of its job, and the rings of its threads.
#pragma once

#include <atomic>
#include <cstdint>

#include "trace/run_memory.hpp"

namespace forebay::interpose {

/// Grows with each fork(): what was announced before belongs to the parent. Not before
/// start_recording().
std::uint32_t current_generation() noexcept;
/// Not a child of fork().
inline constexpr std::uint32_t kFirstGeneration = 1;

/// False in a child of vfork(), which uses the memory of its parent and has its own descriptors.
bool has_own_memory() noexcept;

/// The memory, if this process has a part of it. Attaches in the first call.
trace::RunMemory* attached() noexcept;
/// The same without attaching; also in a child of vfork().
trace::RunMemory* joined_memory() noexcept;
/// While attached().
std::uint32_t own_part_number() noexcept;

/// Adds a record to the ring of this thread, and wakes the agent.
void push(trace::RunMemory& shared, const trace::TraceRecord& record) noexcept;

/// Ends the sleep of the agent.
void wake_agent(trace::RunMemory& shared) noexcept;

/// Raises `maximum` to `value`. Any thread.
void raise_to(std::atomic<std::uint32_t>& maximum, std::uint32_t value) noexcept;

}  // namespace forebay::interpose
