// SPDX-License-Identifier: Apache-2.0
#include "bench/checkpoint/trial_harness.hpp"

#include <algorithm>
#include <cstring>
#include <ctime>
#include <utility>

#include "base/assert.hpp"
#include "bench/checkpoint/content.hpp"
#include "bench/checkpoint/run_files.hpp"
#include "bench/checkpoint/runtimes.hpp"

namespace forebay::bench::checkpoint {

namespace {

TrialHarness* installed_harness = nullptr;

RankTeam team_of(MPI_Comm communicator) {
  int rank = 0;
  int size = 0;
  MPI_Comm_rank(communicator, &rank);
  MPI_Comm_size(communicator, &size);
  return {communicator, static_cast<std::uint32_t>(rank), static_cast<std::uint32_t>(size)};
}

/// Sends rank 0's request to all ranks, which sleep until it arrives.
void broadcast_request(TrialRequest& trial, const RankTeam& all) {
  constexpr timespec kPause{.tv_sec = 0, .tv_nsec = 2'000'000};
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Ibcast(&trial, sizeof trial, MPI_BYTE, 0, all.communicator, &request);
  for (int done = 0;;) {
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    if (done != 0) return;
    ::nanosleep(&kPause, nullptr);
  }
}

/// An application without checkpoints.
class NullWriter final : public Writer {
 public:
  Status write_step(std::uint32_t /*step*/, std::span<const std::byte> /*block*/) override {
    return {};
  }
  Status close() override { return {}; }
};

class NullCandidate final : public Candidate {
 public:
  std::string name() const override { return "none"; }
  Result<std::unique_ptr<Writer>> open(const RankTeam& /*team*/,
                                       const Checkpoint& /*checkpoint*/) const override {
    return std::make_unique<NullWriter>();
  }
};

const Candidate& candidate_of(const TrialRequest& trial) {
  static const NullCandidate null_candidate;
  if (trial.candidate == kNoCandidate) return null_candidate;
  FOREBAY_ASSERT(trial.candidate < all_candidates().size());
  return *all_candidates()[trial.candidate];
}

Status prepare_directory(const TrialRequest& trial, const std::filesystem::path& directory) {
  return trial.kind == TrialKind::kRestart ? drop_all(directory) : make_empty(directory);
}

}  // namespace

void TrialRequest::set_directory(const std::filesystem::path& path) {
  const std::string text = path.string();
  FOREBAY_ASSERT(text.size() < sizeof directory);
  std::memcpy(directory, text.c_str(), text.size() + 1);
}

TrialHarness::TrialHarness(const MetadataCounter& metadata_counter)
    : all_(team_of(MPI_COMM_WORLD)), metadata_counter_(metadata_counter) {}

TrialHarness::~TrialHarness() {
  checkpoint::end_runtimes();
  for (auto& [size, communicator] : teams_)
    MPI_Comm_free(&communicator);
}

RankTeam TrialHarness::team(std::uint32_t ranks) {
  const auto found = teams_.find(ranks);
  if (found != teams_.end()) return team_of(found->second);
  MPI_Group world_group = MPI_GROUP_NULL;
  MPI_Group first = MPI_GROUP_NULL;
  int range[1][3] = {{0, static_cast<int>(ranks) - 1, 1}};
  MPI_Comm_group(all_.communicator, &world_group);
  MPI_Group_range_incl(world_group, 1, range, &first);
  MPI_Comm communicator = MPI_COMM_NULL;
  MPI_Comm_create_group(all_.communicator, first, static_cast<int>(ranks), &communicator);
  MPI_Group_free(&first);
  MPI_Group_free(&world_group);
  teams_.emplace(ranks, communicator);
  return team_of(communicator);
}

Result<TrialResult> TrialHarness::run(TrialRequest what) {
  FOREBAY_ASSERT(std::max(what.writers, what.readers) <= size());
  broadcast_request(what, all_);
  return execute(what);
}

void TrialHarness::end_runtimes() {
  (void)run({.kind = TrialKind::kEndRuntimes, .writers = size()});
}

void TrialHarness::serve() {
  for (;;) {
    TrialRequest trial;
    broadcast_request(trial, all_);
    if (trial.kind == TrialKind::kStop) return;
    // Failures are reported by rank 0, which has the results of all ranks.
    if (rank() < std::max(trial.writers, trial.readers)) (void)execute(trial);
  }
}

Result<TrialResult> TrialHarness::execute(const TrialRequest& trial) {
  if (trial.kind == TrialKind::kStop) return TrialResult();
  if (trial.kind == TrialKind::kEndRuntimes) {
    checkpoint::end_runtimes();
    return TrialResult();
  }
  const Checkpoint checkpoint{
      .directory = trial.directory,
      .block_bytes = block_sizes(trial.sizes, trial.writers, trial.step_bytes),
      .steps = trial.steps};
  const RankTeam team = this->team(std::max(trial.writers, trial.readers));
  const Status made = rank() == 0 ? prepare_directory(trial, checkpoint.directory) : Status();
  if (auto all = agree(team, made); !all) return failure(all.error());
  if (trial.kind == TrialKind::kCall) return time_call(trial, checkpoint);
  if (trial.kind == TrialKind::kJob) return job(trial, checkpoint);
  return trial.kind == TrialKind::kWrite ? write(trial, checkpoint) : restart(trial, checkpoint);
}

Result<TrialResult> TrialHarness::job(const TrialRequest& trial, const Checkpoint& checkpoint) {
  const RankTeam ranks = team(trial.writers);
  const auto block = memory(ranks, job_memory_bytes(checkpoint, ranks.size));
  if (!block) return failure(block.error());
  return measure_job(ranks, checkpoint, trial.job, *block);
}

Result<TrialResult> TrialHarness::time_call(const TrialRequest& trial,
                                            const Checkpoint& checkpoint) {
  const RankTeam writers = team(trial.writers);
  const auto block = memory(writers, checkpoint.block_bytes[writers.rank]);
  if (!block) return failure(block.error());
  fill_content(*block, {0, checkpoint.offset_of(writers.rank)});
  return measure_call(writers, checkpoint, trial.call, *block);
}

Result<TrialResult> TrialHarness::write(const TrialRequest& trial, const Checkpoint& checkpoint) {
  if (rank() >= trial.writers) return TrialResult();
  const RankTeam writers = team(trial.writers);
  const std::uint64_t block_bytes = checkpoint.block_bytes[writers.rank];
  const auto own =
      memory(writers, std::max(block_bytes, read_buffer_bytes(checkpoint, writers.size)));
  if (!own) return failure(own.error());
  const Candidate& candidate = candidate_of(trial);
  auto measured = measure_write(candidate, writers, checkpoint, trial.application,
                                {own->first(block_bytes), metadata_counter_});
  if (!measured || trial.candidate == kNoCandidate) return measured;
  if (auto right = verify_written(candidate, writers, checkpoint, trial.check, *own); !right)
    return failure(right.error());
  return measured;
}

Result<TrialResult> TrialHarness::restart(const TrialRequest& trial, const Checkpoint& checkpoint) {
  if (rank() >= trial.readers) return TrialResult();
  const RankTeam readers = team(trial.readers);
  const auto buffer = memory(readers, read_buffer_bytes(checkpoint, trial.readers));
  if (!buffer) return failure(buffer.error());
  const auto seconds =
      measure_restart(candidate_of(trial), readers, checkpoint, trial.step, *buffer);
  if (!seconds) return failure(seconds.error());
  return TrialResult{.blocked_s = *seconds,
                     .payload_bytes = static_cast<double>(checkpoint.step_bytes())};
}

Result<std::span<std::byte>> TrialHarness::memory(const RankTeam& team, std::uint64_t size_bytes) {
  Status mine;
  if (!memory_ || memory_->bytes().size() < size_bytes) {
    memory_.reset();
    auto made = PrefaultedMemory::make(size_bytes);
    if (made) memory_ = std::move(*made);
    if (!made) mine = failure(made.error());
  }
  if (auto all = agree(team, mine); !all) return failure(all.error());
  return memory_->bytes().first(size_bytes);
}

TrialHarness& trial_harness() {
  FOREBAY_ASSERT(installed_harness != nullptr);
  return *installed_harness;
}

void set_trial_harness(TrialHarness* harness) { installed_harness = harness; }

}  // namespace forebay::bench::checkpoint
