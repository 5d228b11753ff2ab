// SPDX-License-Identifier: Apache-2.0
// All ranks with which the program was started. Rank 0 runs the frame and requests trials. The
// ranks that a trial needs execute it with rank 0; the others sleep, because a spinning rank would
// take a core from the measured ones.
#pragma once

#include <forebay/error.hpp>

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>

#include "bench/checkpoint/job.hpp"
#include "bench/checkpoint/size_distribution.hpp"
#include "bench/checkpoint/timed_call.hpp"
#include "bench/checkpoint/trial.hpp"
#include "bench/checkpoint/verify_written.hpp"
#include "bench/frame/file_partition.hpp"

namespace forebay::bench::checkpoint {

enum class TrialKind : std::uint32_t { kStop, kWrite, kRestart, kCall, kJob, kEndRuntimes };

/// No candidate: the application without any checkpoint.
inline constexpr std::uint32_t kNoCandidate = UINT32_MAX;

/// The next trial, for the first ranks of all.
struct TrialRequest {
  TrialKind kind = TrialKind::kStop;
  std::uint32_t candidate = kNoCandidate;  ///< index in all_candidates()
  std::uint32_t writers = 1;
  std::uint32_t readers = 0;  ///< of a restart
  std::uint32_t step = 0;     ///< that a restart reads
  std::uint32_t steps = 4;
  SizeDistribution sizes = SizeDistribution::kEqual;
  Application application;
  CallSettings call;                      ///< of kCall, which has no candidate
  JobSettings job;                        ///< of kJob, which has no candidate
  CheckLevel check = CheckLevel::kSizes;  ///< of kWrite, after the run
  std::uint64_t step_bytes = 0;
  char directory[4096] = {};  ///< emptied first, unless its steps are read

  void set_directory(const std::filesystem::path& path);
};

/// On each rank. It must be destroyed before MPI ends.
class TrialHarness {
 public:
  explicit TrialHarness(const MetadataCounter& metadata_counter);
  ~TrialHarness();
  TrialHarness(const TrialHarness&) = delete;
  TrialHarness& operator=(const TrialHarness&) = delete;

  std::uint32_t rank() const noexcept { return all_.rank; }
  std::uint32_t size() const noexcept { return all_.size; }

  /// On rank 0: executes a trial. Written files are checked, and wrong ones fail with kDamage. A
  /// restart reads the files that the same request with kWrite left in the directory, after they
  /// were dropped from the page cache. Its result has its seconds as blocked_s and one step as
  /// payload.
  Result<TrialResult> run(TrialRequest what);

  /// On rank 0: ends the Runtimes of all ranks, and closes all their files.
  void end_runtimes();

  /// On the other ranks: executes requests of rank 0 until kStop.
  void serve();

 private:
  RankTeam team(std::uint32_t ranks);
  Result<TrialResult> execute(const TrialRequest& trial);
  Result<TrialResult> write(const TrialRequest& trial, const Checkpoint& checkpoint);
  Result<TrialResult> job(const TrialRequest& trial, const Checkpoint& checkpoint);
  Result<TrialResult> time_call(const TrialRequest& trial, const Checkpoint& checkpoint);
  Result<TrialResult> restart(const TrialRequest& trial, const Checkpoint& checkpoint);
  /// The application's memory on this rank. Collective: succeeds on all ranks of a team or on none.
  Result<std::span<std::byte>> memory(const RankTeam& team, std::uint64_t size_bytes);

  RankTeam all_;
  MetadataCounter metadata_counter_;
  std::map<std::uint32_t, MPI_Comm> teams_;  // by size
  std::optional<PrefaultedMemory> memory_;   // the application's
};

/// The harness for the body of the benchmark. On rank 0.
TrialHarness& trial_harness();
void set_trial_harness(TrialHarness* harness);

}  // namespace forebay::bench::checkpoint
