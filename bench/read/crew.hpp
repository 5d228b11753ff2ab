// SPDX-License-Identifier: Apache-2.0
// The ranks of a benchmark. Rank 0 runs the frame and says what is measured next; the others wait
// for its word and do the same thing at the same time, so that bodies read as they do for a single
// process.
#pragma once

#include <forebay/plan.hpp>
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

#include "bench/frame/slices.hpp"
#include "comm/communicator.hpp"

namespace forebay::bench::read {

/// What all ranks do in one measurement. Names of variants are those of the results' peers.
enum class Work : std::uint32_t {
  kLeave,             ///< there is nothing more to do
  kNaive,             ///< each task opens the file, preads its slice and closes it
  kNaiveDescriptor,   ///< the same with one descriptor for each rank
  kSession,           ///< each task awaits a view of its slice
  kFetch,             ///< the same as plain calls, one after the other
  kHits,              ///< views of what is in the window already; several passes
  kMpiIndependent,    ///< MPI-IO: each task reads its slice
  kMpiCollective,     ///< MPI-IO: each rank reads its share in one collective call
  kMisses,            ///< views of what is not in the window, one after the other (single.cpp)
  kMissesPlainly,     ///< the same pieces by pread
  kForget,            ///< nothing, once all ranks have given back what earlier jobs needed
  kBareSession,       ///< as kSession, with a Runtime of its own and nothing else in memory
  kBareNaive,         ///< as kNaiveDescriptor through one buffer, with nothing else in memory
  kStart,             ///< a Runtime is made and reads its first bytes
  kIdle,              ///< nothing, with open sessions (idle.cpp)
  kComputing,         ///< nothing but a computation, for pause_ms
  kNaiveComputing,    ///< as kNaive, with a computation in the background (computing.hpp)
  kSessionComputing,  ///< as kSession, with the same
  kTipsySession,      ///< each task awaits a view of its particles and decodes them
  kTipsyChanga,       ///< the same particles as ChaNGa reads them (tipsy_works.cpp)
  kLinkSession,       ///< ranks of other nodes read all through the first one's agent
  kLinkAsPlanned,     ///< the same, but for the agent everything as Forebay chooses
  kLinkComputing,     ///< as kLinkSession, while those that read compute (link_works.cpp)
  kLinkMpiIo,         ///< the same bytes by MPI-IO
  kLinkSend,          ///< and by messages of MPI
};

/// MPI-IO's users tune it by hints; these are what they try first.
enum class Hints : std::uint32_t {
  kDefault,
  kNoAggregation,  ///< romio_cb_read and romio_ds_read off
  kAggregateAll,   ///< romio_cb_read on, an aggregator for each rank
};

/// Who does a job.
enum class Reach : std::uint32_t {
  kCrew,
  kEverybody,  ///< those, too, that sleep while the crew works
};

/// What a row gives of a session's plan; the rest is Forebay's choice, as in ReadPlan.
struct GivenPlan {
  std::optional<Agents> agents = std::nullopt;
  std::uint64_t splinter_bytes = 0;
  std::uint64_t request_bytes = 0;
  std::uint32_t queue_depth = 0;
  std::uint64_t window_bytes = 0;

  ReadPlan as_plan() const;
};

/// Plain bytes, told before each measurement.
struct Job {
  Work work = Work::kLeave;
  Hints hints = Hints::kDefault;
  Reach reach = Reach::kCrew;
  GivenPlan given = {};  ///< of kSession
  std::uint64_t file_bytes = 0;
  std::uint64_t task_count = 0;
  std::uint64_t pause_ms = 0;  ///< of works that read nothing
  std::array<char, 4096> path{};

  static Job of(Work work, const Cut& cut, Hints hints = Hints::kDefault);
  Cut cut() const { return {std::filesystem::path(path.data()), file_bytes, task_count}; }
};

/// Ranks that work together.
class Team {
 public:
  explicit Team(std::shared_ptr<comm::Communicator> ranks) : ranks_(std::move(ranks)) {}

  comm::Communicator& ranks() const noexcept { return *ranks_; }
  Ranks as_ranks() const { return Ranks(ranks_); }
  /// Their Runtime, made when it is first asked for. Collective.
  Runtime& runtime() {
    if (!runtime_) runtime_.emplace(as_ranks());
    return *runtime_;
  }
  /// Ends it and gives back its memory. Collective.
  void end_runtime() { runtime_.reset(); }

 private:
  std::shared_ptr<comm::Communicator> ranks_;
  std::optional<Runtime> runtime_;
};

/// What a job gave.
struct Measured {
  double seconds = 0;         ///< from the first start of a rank to the last end; on the first rank
  std::vector<double> found;  ///< by each rank itself (Performance::found)
  std::vector<double> received_bytes;  ///< by network on each rank's host meanwhile
  ReadPlan plan;                       ///< of kSession: how this rank's session read
};

/// One rank's side. Not thread-safe.
class Crew {
 public:
  /// The first `size` of all ranks (1 to their number); the others sleep, in no call of MPI's, but
  /// for jobs that reach everybody. Collective over all.
  static Result<std::unique_ptr<Crew>> muster(const std::shared_ptr<comm::Communicator>& everybody,
                                              std::uint32_t size);
  /// On rank 0 of all, the others are told to leave.
  ~Crew();
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;

  comm::Communicator& ranks(Reach reach = Reach::kCrew) noexcept { return team_of(reach).ranks(); }
  /// Whether this rank says what is done; serve() is for the others.
  bool leads() const noexcept { return everybody_.ranks().rank().number == 0; }

  /// Those of the crew that share a node with this rank, itself among them.
  const std::vector<pid_t>& processes_of_node() const noexcept { return processes_of_node_; }

  /// On rank 0. What has to be there before (an open file, memory) is made outside the clock.
  Result<Measured> measure(const Job& job);

  /// The seconds alone.
  Result<double> time(const Job& job);

  /// On all others: does what rank 0 says until it leaves.
  Status serve();

 private:
  Crew(const std::shared_ptr<comm::Communicator>& everybody,
       std::shared_ptr<comm::Communicator> chosen,
       std::uint32_t size);
  Team& team_of(Reach reach) noexcept { return reach == Reach::kCrew ? team_ : everybody_; }
  bool is_chosen() const noexcept { return everybody_.ranks().rank().number < size_; }
  Status tell(const Job& job);
  Result<Job> hear();
  Status provide_memory(const Job& job);
  Result<Measured> take_part(const Job& job);
  Result<std::vector<double>> collect(const Job& job, double mine);

  std::uint32_t size_;
  Team everybody_;
  Team team_;
  std::vector<pid_t> processes_of_node_;
  std::optional<TouchedMemory> memory_;  // of this rank's tasks
  std::uint64_t memory_bytes_ = 0;
};

}  // namespace forebay::bench::read
