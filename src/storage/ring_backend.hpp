// SPDX-License-Identifier: Apache-2.0
// Backend on io_uring: many direct transfers in flight from one thread, one system call for a
// batch.
#pragma once

#include <forebay/error.hpp>
#include <forebay/log.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "storage/backend.hpp"

namespace forebay::storage {

/// Requests set-up flags in this order until the kernel accepts them: single issuer with deferred
/// task work (6.1), cooperative task work (5.19), none (5.11). Older kernels, and those that refuse
/// io_uring, give kUnsupported. `log` gets one line if register_buffers() fails; it must outlive
/// the backend.
Result<std::unique_ptr<Backend>> make_ring_backend(std::size_t queue_depth, LogSink& log);

/// The set-up flags of a ring here ("single issuer, deferred task work"), or why it fails.
Result<std::string> probe_ring();

}  // namespace forebay::storage
