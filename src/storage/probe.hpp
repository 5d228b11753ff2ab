// SPDX-License-Identifier: Apache-2.0
// Probes this machine's features, and creates the backend that follows from them. Containers and
// distributions disable io_uring by sysctl or seccomp, and memlock limits differ: a missing feature
// costs one log line, and is a failure only if it was requested by name.
#pragma once

#include <forebay/backend_choice.hpp>
#include <forebay/error.hpp>
#include <forebay/log.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "storage/backend.hpp"

namespace forebay::storage {

struct BackendOptions {
  BackendChoice choice = BackendChoice::kAuto;
  std::size_t queue_depth = 64;       ///< maximum of operations in flight
  std::size_t worker_count = 4;       ///< threads only
  std::vector<int> worker_cpus = {};  ///< threads only: the CPUs on which they may run; empty: any
  LogSink* log = nullptr;             ///< gets one line if the choice falls back; null: no logging
};

/// Creates a backend for the calling thread, which becomes its issuer.
Result<std::unique_ptr<Backend>> make_backend(const BackendOptions& options);

/// Results of the probe, for `doctor`.
struct BackendProbe {
  bool is_ring_available = false;
  std::string ring_reason;  ///< why it does not work, or the set-up flags with which it works
  std::optional<int> io_uring_disabled;  ///< sysctl kernel.io_uring_disabled (0: enabled), if any
  std::optional<std::uint64_t> memlock_limit_bytes;  ///< no value: unlimited
  bool can_register_buffers = false;  ///< a 2 MiB buffer could be registered with the ring
  std::string buffers_reason;         ///< why it could not
};

/// Tries each feature once, with a tiny ring. Takes about a millisecond. Any thread.
BackendProbe probe_backends();

}  // namespace forebay::storage
