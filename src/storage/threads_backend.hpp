// SPDX-License-Identifier: Apache-2.0
// The backend for what the ring does not do well or at all: buffered files, tmpfs, network file
// systems, extending writes, kernels and containers without io_uring. A few threads make the system
// calls; nobody polls.
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
  /// The CPUs the workers may run on; empty: anywhere. A wish: CPUs that do not exist are left out.
  std::vector<int> worker_cpus = {};
};

/// Starts the workers. They take no signals. kLimit if the system has no more threads. The
/// destructor waits for the system calls under way, each of which may take as long as the file
/// system takes; queued operations are dropped.
Result<std::unique_ptr<Backend>> make_threads_backend(const ThreadsOptions& options);

}  // namespace forebay::storage
