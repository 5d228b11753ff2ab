// SPDX-License-Identifier: Apache-2.0
// What this machine can do, found out by trying, and the backend that follows from it. Containers
// and distributions switch io_uring off by sysctl or seccomp, and memlock limits differ: a missing
// feature costs one log line, never a failure.
#pragma once

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

enum class BackendChoice : std::uint8_t {
  kAuto,     ///< the ring where it works, else threads and one log line
  kRing,     ///< io_uring, or an error
  kThreads,  ///< a small pool of threads
  kAio,      ///< POSIX AIO; never chosen automatically
};

struct BackendOptions {
  BackendChoice choice = BackendChoice::kAuto;
  std::size_t queue_depth = 64;       ///< operations in flight at most
  std::size_t worker_count = 4;       ///< threads only
  std::vector<int> worker_cpus = {};  ///< threads only: the CPUs they may run on; empty: anywhere
  LogSink* log = nullptr;             ///< gets one line if the choice falls back; null: nobody does
};

/// Makes a backend for the calling thread, which becomes its issuer.
Result<std::unique_ptr<Backend>> make_backend(const BackendOptions& options);

/// What was found, for `doctor`.
struct BackendProbe {
  bool ring_works = false;
  std::string ring_reason;  ///< why it does not work, or which set-up flags it works with
  std::optional<int>
      io_uring_disabled;  ///< the sysctl kernel.io_uring_disabled (0 is on), if there is one
  std::optional<std::uint64_t> memlock_limit_bytes;  ///< no value: unlimited
  bool buffers_register = false;  ///< a 2 MiB buffer could be registered with the ring
  std::string buffers_reason;     ///< why it could not
};

/// Tries each feature once, with a tiny ring. Takes about a millisecond. Any thread.
BackendProbe probe_backends();

}  // namespace forebay::storage
