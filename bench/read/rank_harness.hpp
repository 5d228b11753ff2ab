// SPDX-License-Identifier: Apache-2.0
// The ranks of a benchmark. Rank 0 runs the frame and decides what is measured next. The others
// wait for its jobs and run them at the same time, so that bodies are written as for a single
// process.
#pragma once

#include <forebay/runtime.hpp>

#include <array>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <sys/types.h>

#include "bench/frame/file_partition.hpp"
#include "comm/communicator.hpp"
#include "comm/ranks_access.hpp"

namespace forebay::bench::read {

/// What all ranks do in one measurement. Names of variants are those of the results' peers.
enum class Kernel : std::uint32_t {
  kStop,             ///< end of the job loop
  kNaive,            ///< each task opens the file, preads its slice and closes it
  kNaiveDescriptor,  ///< the same with one descriptor for each rank
  kSession,          ///< each task awaits a view of its slice
  kFetch,            ///< the same as plain calls, one at a time
  kHits,             ///< views of resident bytes; several passes
  kMpiIndependent,   ///< MPI-IO: each task reads its slice
  kMpiCollective,    ///< MPI-IO: each rank reads its share in one collective call
  kMisses,           ///< views of bytes not in the window, one at a time (misses.cpp)
  kMissesPread,      ///< the same pieces by pread
  kRelease,          ///< nothing, after all ranks have released memory and Runtimes of earlier jobs
  kBareSession,      ///< as kSession, with a separate Runtime and no other memory
  kBareNaive,        ///< as kNaiveDescriptor through one buffer, with no other memory
  kStart,            ///< creates a Runtime and reads its first bytes
  kIdle,             ///< nothing, with open sessions (idle.cpp)
  kComputing,        ///< only a computation, for pause_ms
  kNaiveComputing,   ///< as kNaive, with a computation in the background
                     ///< (background_computation.hpp)
  kSessionComputing,  ///< as kSession, with the same computation
  kTipsySession,      ///< each task awaits a view of its particles and decodes them
  kTipsyChanga,       ///< the same particles by ChaNGa's scheme (tipsy_kernels.cpp)
  kLinkSession,       ///< ranks of other nodes read all through the first node's agent
  kLinkAutoPlan,      ///< the same, with an automatic plan except for the agent
  kLinkComputing,     ///< as kLinkSession, while receivers compute (link_kernels.cpp)
  kLinkMpiIo,         ///< the same bytes by MPI-IO
  kLinkSend,          ///< the same bytes by messages of MPI
  kPushSession,       ///< clients read wide strides through the first node's agent
  kPushAgentEnds,     ///< the same, and the agent ends after a quarter
  kPushPlain,         ///< the same reads by pread
  kChainSession,      ///< the last rank reads a chain, which its node's agent pre-executes
  kChainPlain,        ///< the same reads by pread
};

/// MPI-IO is tuned by hints; these are common first choices.
enum class Hints : std::uint32_t {
  kDefault,
  kNoAggregation,  ///< romio_cb_read and romio_ds_read off
  kAggregateAll,   ///< romio_cb_read on, an aggregator for each rank
};

/// The ranks that execute a job.
enum class RankSet : std::uint32_t {
  kActive,
  kAll,  ///< also those that otherwise sleep
};

/// A job. Trivially copyable, sent before each measurement.
struct Job {
  Kernel kernel = Kernel::kStop;
  Hints hints = Hints::kDefault;
  RankSet rank_set = RankSet::kActive;
  std::uint64_t file_bytes = 0;
  std::uint64_t task_count = 0;
  std::uint64_t pause_ms = 0;  ///< of kernels that read nothing
  std::array<char, 4096> path{};

  static Job make(Kernel kernel, const FilePartition& partition, Hints hints = Hints::kDefault);
  FilePartition partition() const {
    return {std::filesystem::path(path.data()), file_bytes, task_count};
  }
};

/// Ranks that share a Runtime.
class RuntimeTeam {
 public:
  explicit RuntimeTeam(std::shared_ptr<comm::Communicator> ranks) : ranks_(std::move(ranks)) {}

  comm::Communicator& ranks() const noexcept { return *ranks_; }
  Ranks to_ranks() const { return comm::make_ranks(ranks_); }
  /// Their Runtime, created at the first call. Collective.
  Runtime& runtime() {
    if (!runtime_) runtime_.emplace(to_ranks());
    return *runtime_;
  }
  /// Ends the Runtime and frees its memory. Collective.
  void end_runtime() { runtime_.reset(); }

 private:
  std::shared_ptr<comm::Communicator> ranks_;
  std::optional<Runtime> runtime_;
};

/// The result of a job.
struct JobResult {
  double seconds = 0;  ///< from the first start of a rank to the last end; on the first rank
  std::vector<double> rank_results;    ///< by rank (PreparedRun::rank_result())
  std::vector<double> received_bytes;  ///< by network on each rank's host meanwhile
};

/// One rank's side. Not thread-safe.
class RankHarness {
 public:
  /// Activates the first `size` ranks (1 to the number of ranks). The others sleep, without calls
  /// of MPI, except for jobs of all ranks. Collective over all.
  static Result<std::unique_ptr<RankHarness>> create(
      const std::shared_ptr<comm::Communicator>& world, std::uint32_t size);
  /// On rank 0 of all, ends serve() on the others.
  ~RankHarness();
  RankHarness(const RankHarness&) = delete;
  RankHarness& operator=(const RankHarness&) = delete;

  comm::Communicator& ranks(RankSet rank_set = RankSet::kActive) noexcept {
    return team_of(rank_set).ranks();
  }
  /// Whether this rank decides what is measured; the others call serve().
  bool is_root() const noexcept { return world_team_.ranks().rank().number == 0; }

  /// Processes of the active ranks on this rank's node, including this one.
  const std::vector<pid_t>& processes_of_node() const noexcept { return processes_of_node_; }

  /// On rank 0. Preparations (an open file, memory) are not timed.
  Result<JobResult> measure(const Job& job);

  /// The seconds alone.
  Result<double> time(const Job& job);

  /// On all other ranks: executes jobs of rank 0 until it ends.
  Status serve();

 private:
  RankHarness(const std::shared_ptr<comm::Communicator>& world,
              std::shared_ptr<comm::Communicator> active,
              std::uint32_t size);
  RuntimeTeam& team_of(RankSet rank_set) noexcept {
    return rank_set == RankSet::kActive ? active_team_ : world_team_;
  }
  bool is_active() const noexcept { return world_team_.ranks().rank().number < size_; }
  Status send_job(const Job& job);
  Result<Job> receive_job();
  Status prepare_memory(const Job& job);
  Result<JobResult> run_job(const Job& job);
  Result<std::vector<double>> gather_values(const Job& job, double mine);

  std::uint32_t size_;
  RuntimeTeam world_team_;
  RuntimeTeam active_team_;
  std::vector<pid_t> processes_of_node_;
  std::optional<PrefaultedMemory> memory_;  // of this rank's tasks
  std::uint64_t memory_bytes_ = 0;
};

}  // namespace forebay::bench::read
