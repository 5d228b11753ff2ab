// SPDX-License-Identifier: Apache-2.0
// What one rank does in a measurement: Forebay's way, and those of its peers.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "bench/read/crew.hpp"

namespace forebay::bench::read {

/// What a rank has to work with.
struct WorkSite {
  Team& team;
  comm::Communicator& ranks;    ///< those of the team
  std::span<std::byte> memory;  ///< its tasks' buffers, touched before, where works need them
  const Job& job;
};

/// Work that is ready to start. run() is what the clock times.
class Performance {
 public:
  virtual ~Performance() = default;
  virtual Status run() = 0;
  /// What this rank found by itself, after run(); works that only take time find nothing.
  virtual double found() const { return 0; }
  /// How the session of kSession read, after run(); nothing is chosen in that of other works.
  virtual ReadPlan plan() const { return {}; }
};

/// Whether memory is measured: then nothing of earlier works may be left.
bool is_bare(Work work);

/// Whether tasks have buffers of their own: WorkSite::memory.
bool reads_into_buffers(Work work);

/// The bytes of this rank's tasks: neighbours, as a block map of chares gives them.
ByteRange share_of(const Job& job, const comm::Communicator& ranks);

/// Opens what the clock does not time. Collective: opening is.
Result<std::unique_ptr<Performance>> prepare_work(const WorkSite& site);

/// Requests one at a time, each of them a miss.
Result<std::unique_ptr<Performance>> prepare_misses(const WorkSite& site, const File& file);

/// Open sessions, and nobody who wants anything.
Result<std::unique_ptr<Performance>> prepare_idling(const WorkSite& site, const File& file);

/// Reading the particles of a snapshot.
Result<std::unique_ptr<Performance>> prepare_tipsy(const WorkSite& site);

/// The ways of MPI-IO.
Result<std::unique_ptr<Performance>> prepare_collective_file(const WorkSite& site);

/// Taking a file over the network from the ranks of the first node (link_works.cpp).
Result<std::unique_ptr<Performance>> prepare_over_link(const WorkSite& site);

/// Tasks of this rank: [first, last).
struct TaskRange {
  std::uint64_t first = 0;
  std::uint64_t last = 0;

  std::uint64_t count() const noexcept { return last - first; }
};
TaskRange tasks_of(const Job& job, const comm::Communicator& ranks);

}  // namespace forebay::bench::read
