// SPDX-License-Identifier: Apache-2.0
// The backend on io_uring: many direct transfers under way from one thread, one system call for a
// batch. liburing is known to ring_backend.cpp alone.
#pragma once

#include <forebay/error.hpp>
#include <forebay/log.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "storage/backend.hpp"

namespace forebay::storage {

/// Set-up flags are asked for in this order until the kernel knows them: single issuer with
/// deferred task work (6.1), cooperative task work (5.19), none (5.11). Older kernels, and those
/// that refuse io_uring, give kUnsupported. `log` gets one line if add_buffers() fails; it must
/// outlive the backend.
Result<std::unique_ptr<Backend>> make_ring_backend(std::size_t queue_depth, LogSink& log);

/// Syncs and allocations that all rings of this process were given since its start: who counts the
/// calls of a process does not see these. Any thread.
std::uint64_t ring_syncs_and_allocations() noexcept;

/// Which set-up flags a ring has here ("single issuer, deferred task work"), or why there is none.
Result<std::string> probe_ring();

}  // namespace forebay::storage
