// SPDX-License-Identifier: Apache-2.0
#include "bench/checkpoint/trial.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include <malloc.h>

#include "bench/checkpoint/collective_sync.hpp"
#include "bench/checkpoint/content.hpp"
#include "bench/checkpoint/resident.hpp"
#include "bench/checkpoint/run_files.hpp"
#include "bench/frame/clock.hpp"

namespace forebay::bench::checkpoint {

namespace {

constexpr std::uint64_t kWordBytes = 8;
constexpr std::uint64_t kReadPaddingBytes = 8192;

Status first_failure(const Status& first, const Status& second) { return first ? second : first; }

double reduce_max(const RankTeam& team, double mine) {
  double all = 0;
  MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_MAX, team.communicator);
  return all;
}

double reduce_sum(const RankTeam& team, double mine) {
  double all = 0;
  MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, team.communicator);
  return all;
}

/// Adds the seconds of a call to a sum.
template <class Call>
auto timed(double& seconds, Call call) {
  const Stopwatch watch;
  auto result = call();
  seconds += watch.seconds();
  return result;
}

/// The application on one rank: makes a block, writes it, computes.
class WriteTrial {
 public:
  WriteTrial(const RankTeam& team, const Checkpoint& checkpoint, const Application& application)
      : team_(team),
        checkpoint_(checkpoint),
        application_(application),
        computation_(application.compute_kind) {}

  /// Fills memory in which blocks will be made, like memory of a running application: writing all
  /// of it is not part of the run.
  void add_memory(std::span<std::byte> memory) {
    fill_content(memory, {checkpoint_.steps, checkpoint_.offset_of(team_.rank)});
    filled_.push_back(memory.data());
  }

  /// Returns the first failure; all calls are made even after a failure.
  Status write(const Candidate& candidate, std::span<std::byte> block) {
    auto opened = timed(blocked_s_, [&] { return candidate.open(team_, checkpoint_); });
    // Opening must fail on all ranks or on none: otherwise the steps below would wait for ranks
    // that have left.
    const Status all_opened = agree(team_, opened ? Status() : to_status(opened.error()));
    if (!all_opened) return all_opened;
    writer_ = std::move(*opened);
    Status outcome;
    for (std::uint32_t step = 0; step < checkpoint_.steps; ++step) {
      compute();
      const auto memory = timed(blocked_s_, [&] { return writer_->block_memory(step, block); });
      fill_block(step, memory);
      outcome = first_failure(outcome,
                              timed(blocked_s_, [&] { return writer_->write_step(step, memory); }));
    }
    outcome = first_failure(outcome, timed(blocked_s_, [&] { return writer_->close(); }));
    compute();
    return outcome;
  }

  Status make_durable() { return writer_ ? writer_->make_durable() : Status(); }
  SelfReport self_report() const { return writer_ ? writer_->self_report() : SelfReport(); }
  double blocked_s() const noexcept { return blocked_s_; }
  double computing_s() const noexcept { return computing_s_; }
  /// The part of computing_s() for making blocks.
  double fill_s() const noexcept { return fill_s_; }

 private:
  static Status to_status(const Error& error) { return failure(error); }

  void compute() { computing_s_ += computation_.run(application_.units); }

  /// The work of an application for its checkpoint, in any memory: the same for all candidates,
  /// except in lent memory that was not computed in before.
  void fill_block(std::uint32_t step, std::span<std::byte> memory) {
    const Stopwatch watch;
    const ContentPosition position{step, checkpoint_.offset_of(team_.rank)};
    const bool is_filled =
        std::find(filled_.begin(), filled_.end(), memory.data()) != filled_.end();
    if (is_filled) {
      restamp(memory, position);
    } else {
      fill_content(memory, position);
      filled_.push_back(memory.data());
    }
    const double seconds = watch.seconds();
    fill_s_ += seconds;
    computing_s_ += seconds;
  }

  const RankTeam& team_;
  const Checkpoint& checkpoint_;
  const Application& application_;
  Computation computation_;
  std::unique_ptr<Writer> writer_;
  std::vector<const std::byte*> filled_;  // memory that holds a block
  double blocked_s_ = 0;
  double computing_s_ = 0;
  double fill_s_ = 0;
};

std::uint64_t count_metadata_calls(const TrialResources& resources) {
  return resources.metadata_counter ? resources.metadata_counter() : 0;
}

/// The outcome of a run, and its costs on this rank, without those of the harness's sync.
struct DrainResult {
  Status status;
  std::uint64_t calls = 0;
  std::uint64_t growth_bytes = 0;
};

/// Waits until all is on storage; ranks sync what the candidate did not. Costs are recorded before
/// that sync: background work of the candidate counts as its own. Nothing here spins, as
/// MPI_Allreduce would.
DrainResult drain(const RankTeam& team,
                  const Checkpoint& checkpoint,
                  WriteTrial& run,
                  const TrialResources& resources,
                  const ResidentPeak& resident) {
  const Status mine = run.make_durable();
  sleeping_barrier(team);
  DrainResult drained{.calls = count_metadata_calls(resources),
                      .growth_bytes = resident.growth_bytes()};
  drained.status = first_failure(mine, sync_collective(team, checkpoint.directory));
  return drained;
}

/// Combines the results of all ranks: maximum or sum.
TrialResult reduce_over_team(const RankTeam& team,
                             const WriteTrial& run,
                             const DrainResult& drained) {
  const SelfReport report = run.self_report();
  // Memory that is kept from an earlier run does not grow again, but counts as used.
  const auto grown = static_cast<double>(std::max(drained.growth_bytes, report.staging_bytes));
  const auto staging = static_cast<double>(report.staging_bytes);
  const auto planned = static_cast<double>(std::max<std::uint64_t>(1, report.planned_bytes));
  TrialResult result;
  result.blocked_s = reduce_max(team, run.blocked_s());
  result.computing_s = reduce_max(team, run.computing_s());
  result.fill_s = reduce_max(team, run.fill_s());
  result.memory_max_bytes = reduce_max(team, grown);
  result.memory_sum_bytes = reduce_sum(team, grown);
  result.staging_bytes = reduce_sum(team, staging);
  result.staging_over_plan = reduce_max(team, report.planned_bytes > 0 ? staging / planned : 0);
  result.metadata_calls = reduce_sum(team, static_cast<double>(drained.calls));
  result.dedicated_ranks = reduce_max(team, report.dedicated_ranks);
  return result;
}

}  // namespace

Status agree(const RankTeam& team, const Status& mine) {
  const int not_failed = static_cast<int>(team.size);
  int first = mine ? not_failed : static_cast<int>(team.rank);
  MPI_Allreduce(MPI_IN_PLACE, &first, 1, MPI_INT, MPI_MIN, team.communicator);
  if (first == not_failed) return {};
  std::array<char, 512> text{};
  int kind = 0;
  if (first == static_cast<int>(team.rank)) {
    const std::string message = mine.error().message();
    std::memcpy(text.data(), message.data(), std::min(message.size(), text.size() - 1));
    kind = static_cast<int>(mine.error().kind());
  }
  MPI_Bcast(text.data(), static_cast<int>(text.size()), MPI_CHAR, first, team.communicator);
  MPI_Bcast(&kind, 1, MPI_INT, first, team.communicator);
  return failure({.kind = static_cast<ErrorClass>(kind),
                  .operation = "checkpoint",
                  .cause = text.data(),
                  .rank = static_cast<std::uint32_t>(first)});
}

namespace {

/// Collective: fails on all ranks or on none.
Result<MemorySpans> prepare(const Candidate& candidate,
                            const RankTeam& team,
                            const Checkpoint& checkpoint) {
  auto memories = candidate.prepare(team, checkpoint);
  const Status mine = memories ? Status() : Status(failure(memories.error()));
  if (auto all = agree(team, mine); !all) return failure(all.error());
  return memories;
}

}  // namespace

Result<TrialResult> measure_write(const Candidate& candidate,
                                  const RankTeam& team,
                                  const Checkpoint& checkpoint,
                                  const Application& application,
                                  const TrialResources& resources) {
  const auto memories = prepare(candidate, team, checkpoint);
  if (!memories) return failure(memories.error());
  WriteTrial run(team, checkpoint, application);
  run.add_memory(resources.block);
  for (const auto& memory : *memories)
    run.add_memory(memory);
  ::malloc_trim(0);
  ResidentPeak resident;
  const std::uint64_t calls_before = count_metadata_calls(resources);
  MPI_Barrier(team.communicator);
  const Stopwatch watch;
  const Status written = run.write(candidate, resources.block);
  const double total_s = watch.seconds();
  DrainResult drained = drain(team, checkpoint, run, resources, resident);
  const double durable_s = watch.seconds();
  drained.calls -= calls_before;
  if (auto all = agree(team, first_failure(written, drained.status)); !all)
    return failure(all.error());
  TrialResult result = reduce_over_team(team, run, drained);
  result.total_s = reduce_max(team, total_s);
  result.durable_s = std::max(reduce_max(team, durable_s), result.total_s);
  const std::uint64_t files = team.rank == 0 ? count_files(checkpoint.directory) : 0;
  result.files = reduce_max(team, static_cast<double>(files));
  result.payload_bytes = static_cast<double>(checkpoint.step_bytes() * checkpoint.steps);
  return result;
}

ByteRange share_of(const Checkpoint& checkpoint, std::uint32_t reader, std::uint32_t readers) {
  const std::uint64_t words = checkpoint.step_bytes() / kWordBytes;
  const std::uint64_t begin = words * reader / readers;
  const std::uint64_t end = words * (reader + 1) / readers;
  return {begin * kWordBytes, (end - begin) * kWordBytes};
}

std::uint64_t read_buffer_bytes(const Checkpoint& checkpoint, std::uint32_t readers) {
  return (checkpoint.step_bytes() / readers / kWordBytes + 1) * kWordBytes + kReadPaddingBytes;
}

Result<double> measure_restart(const Candidate& candidate,
                               const RankTeam& team,
                               const Checkpoint& checkpoint,
                               std::uint32_t step,
                               std::span<std::byte> buffer) {
  const ByteRange range = share_of(checkpoint, team.rank, team.size);
  if (auto ready = prepare(candidate, team, checkpoint); !ready) return failure(ready.error());
  MPI_Barrier(team.communicator);
  const Stopwatch watch;
  const auto reader = candidate.open_to_read(team, checkpoint);
  const Status opened = reader ? Status() : Status(failure(reader.error()));
  if (auto all = agree(team, opened); !all) return failure(all.error());
  const auto bytes = (*reader)->read(step, range, buffer);
  const Status closed = (*reader)->close();
  const double seconds = watch.seconds();
  Status outcome = bytes ? closed : Status(failure(bytes.error()));
  if (outcome) {
    const auto wrong = first_mismatch(*bytes, {step, range.offset});
    if (wrong || bytes->size() != range.size) {
      outcome = failure({.kind = ErrorClass::kDamage,
                         .operation = "verify the bytes read by " + candidate.name(),
                         .offset_bytes = range.offset + wrong.value_or(bytes->size())});
    }
  }
  if (auto all = agree(team, outcome); !all) return failure(all.error());
  return reduce_max(team, seconds);
}

}  // namespace forebay::bench::checkpoint
