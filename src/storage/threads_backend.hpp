// SPDX-License-Identifier: Apache-2.0
// Backend for what the ring does poorly or not at all: buffered files, tmpfs, network file systems,
// extending writes, kernels and containers without io_uring. A few threads make the system calls;
// none polls.
#pragma once

#include <forebay/error.hpp>

#include <cstddef>
#include <memory>
#include <vector>

#include "storage/backend.hpp"

namespace forebay::storage {

struct ThreadsOptions {
  std::size_t queue_depth = 64;
  std::size_t worker_count = 4;
  /// The CPUs on which workers may run; empty: any. Best effort: missing CPUs are ignored.
  std::vector<int> worker_cpus = {};
};

/// Starts the workers. They block all signals. kLimit if the system has no more threads. The
/// destructor waits for system calls in progress, each of which may take as long as the file system
/// does; queued operations are dropped.
Result<std::unique_ptr<Backend>> make_threads_backend(const ThreadsOptions& options);

}  // namespace forebay::storage
