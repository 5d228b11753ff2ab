// SPDX-License-Identifier: Apache-2.0
// What one rank does in a measurement: sessions, and their peers.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "bench/read/rank_harness.hpp"

namespace forebay::bench::read {

/// What a kernel can use on a rank.
struct KernelContext {
  RuntimeTeam& team;
  comm::Communicator& ranks;    ///< those of the team
  std::span<std::byte> memory;  ///< buffers of its tasks, prefaulted, if the kernel needs them
  const Job& job;
};

/// Prepared work. The clock times run().
class PreparedRun {
 public:
  virtual ~PreparedRun() = default;
  virtual Status run() = 0;
  /// This rank's result, after run(); kernels that are only timed return 0.
  virtual double rank_result() const { return 0; }
};

/// Whether memory is measured: then no memory of earlier jobs may remain.
bool is_bare(Kernel kernel);

/// Whether each task has a buffer: KernelContext::memory.
bool has_task_buffers(Kernel kernel);

/// The bytes of this rank's tasks: consecutive slices, as in a block map of chares.
ByteRange share_of(const Job& job, const comm::Communicator& ranks);

/// Opens what the clock does not time. Collective, because opening is.
Result<std::unique_ptr<PreparedRun>> prepare_kernel(const KernelContext& context);

/// Requests one at a time, each of them a miss.
Result<std::unique_ptr<PreparedRun>> prepare_misses(const KernelContext& context, const File& file);

/// Open sessions without requests.
Result<std::unique_ptr<PreparedRun>> prepare_idle(const KernelContext& context, const File& file);

/// Reading the particles of a snapshot.
Result<std::unique_ptr<PreparedRun>> prepare_tipsy(const KernelContext& context);

/// The kernels of MPI-IO.
Result<std::unique_ptr<PreparedRun>> prepare_collective_file(const KernelContext& context);

/// Transferring a file over the network from the ranks of the first node (link_kernels.cpp).
Result<std::unique_ptr<PreparedRun>> prepare_link(const KernelContext& context);

/// Waits for a message without using a core.
Status wait_asleep(comm::MessageRequest message);

/// Clients that read an emulated file server (push_kernels.cpp).
Result<std::unique_ptr<PreparedRun>> prepare_push(const KernelContext& context);

/// Tasks of this rank: [first, last).
struct TaskRange {
  std::uint64_t first = 0;
  std::uint64_t last = 0;

  std::uint64_t count() const noexcept { return last - first; }
};
TaskRange tasks_of(const Job& job, const comm::Communicator& ranks);

}  // namespace forebay::bench::read
