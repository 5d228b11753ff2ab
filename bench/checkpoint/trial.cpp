// SPDX-License-Identifier: Apache-2.0
#include "bench/checkpoint/trial.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include <malloc.h>

#include "bench/checkpoint/content.hpp"
#include "bench/checkpoint/resident.hpp"
#include "bench/checkpoint/stored.hpp"
#include "bench/checkpoint/together.hpp"
#include "bench/frame/clock.hpp"

namespace forebay::bench::checkpoint {

namespace {

constexpr std::uint64_t kWordBytes = 8;
constexpr std::uint64_t kRoomBeyond = 8192;

Status first_of(const Status& first, const Status& second) { return first ? second : first; }

double largest(const Team& team, double mine) {
  double all = 0;
  MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_MAX, team.communicator);
  return all;
}

double sum(const Team& team, double mine) {
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

/// The application on one rank: it makes a block, hands it over, computes.
class Run {
 public:
  Run(const Team& team, const Checkpoint& checkpoint, const Application& application)
      : team_(team),
        checkpoint_(checkpoint),
        application_(application),
        computation_(application.computing) {}

  /// Fills memory in which blocks will be made: any block has been in it, and making all of it new
  /// is no part of the run.
  void use(std::span<std::byte> memory) {
    fill(memory, {checkpoint_.steps, checkpoint_.offset_of(team_.rank)});
    filled_.push_back(memory.data());
  }

  /// Returns the first failure; all calls are made whatever fails.
  Status write(const Contender& contender, std::span<std::byte> block) {
    auto opened = timed(blocked_s_, [&] { return contender.open(team_, checkpoint_); });
    // Opening fails on all ranks or on none, or the steps below would wait for those who left.
    const Status all_opened = agree(team_, opened ? Status() : failed_as(opened.error()));
    if (!all_opened) return all_opened;
    writer_ = std::move(*opened);
    Status outcome;
    for (std::uint32_t step = 0; step < checkpoint_.steps; ++step) {
      compute();
      const auto memory = timed(blocked_s_, [&] { return writer_->memory_for(step, block); });
      make_block(step, memory);
      outcome =
          first_of(outcome, timed(blocked_s_, [&] { return writer_->write_step(step, memory); }));
    }
    outcome = first_of(outcome, timed(blocked_s_, [&] { return writer_->close(); }));
    compute();
    return outcome;
  }

  Status make_durable() { return writer_ ? writer_->make_durable() : Status(); }
  Told told() const { return writer_ ? writer_->told() : Told(); }
  double blocked_s() const noexcept { return blocked_s_; }
  double computing_s() const noexcept { return computing_s_; }
  /// What making blocks took, of computing_s().
  double making_s() const noexcept { return making_s_; }

 private:
  static Status failed_as(const Error& error) { return failure(error); }

  void compute() { computing_s_ += computation_.run(application_.units); }

  /// What an application computes for its checkpoint, wherever that is: the same work for all but
  /// where memory is lent that nobody has computed in yet.
  void make_block(std::uint32_t step, std::span<std::byte> memory) {
    const Stopwatch watch;
    const Place place{step, checkpoint_.offset_of(team_.rank)};
    const bool knows_it = std::find(filled_.begin(), filled_.end(), memory.data()) != filled_.end();
    if (knows_it) {
      stamp(memory, place);
    } else {
      fill(memory, place);
      filled_.push_back(memory.data());
    }
    const double seconds = watch.seconds();
    making_s_ += seconds;
    computing_s_ += seconds;
  }

  const Team& team_;
  const Checkpoint& checkpoint_;
  const Application& application_;
  Computation computation_;
  std::unique_ptr<Writer> writer_;
  std::vector<const std::byte*> filled_;  // memory that holds a block
  double blocked_s_ = 0;
  double computing_s_ = 0;
  double making_s_ = 0;
};

std::uint64_t count(const Means& means) { return means.count_calls ? means.count_calls() : 0; }

/// How a run ended, and what it took of this rank: without the harness's own sync behind it.
struct Settled {
  Status status;
  std::uint64_t calls = 0;
  std::uint64_t grown_bytes = 0;
};

/// Until all of it is on storage; ranks sync what the contender did not. It is looked at in
/// between: whatever the contender does behind the application is its own work. Nothing here spins,
/// as an MPI_Allreduce would.
Settled settle(const Team& team,
               const Checkpoint& checkpoint,
               Run& run,
               const Means& means,
               const ResidentPeak& resident) {
  const Status mine = run.make_durable();
  quiet_barrier(team);
  Settled settled{.calls = count(means), .grown_bytes = resident.grown_bytes()};
  settled.status = first_of(mine, sync_together(team, checkpoint.folder));
  return settled;
}

/// What each rank has seen, of the slowest or of all.
Measured over_team(const Team& team, const Run& run, const Settled& settled) {
  const Told told = run.told();
  // Memory that is kept from an earlier run does not grow again, and is used all the same.
  const auto grown = static_cast<double>(std::max(settled.grown_bytes, told.staging_bytes));
  const auto staging = static_cast<double>(told.staging_bytes);
  const auto planned = static_cast<double>(std::max<std::uint64_t>(1, told.planned_bytes));
  Measured result;
  result.blocked_s = largest(team, run.blocked_s());
  result.computing_s = largest(team, run.computing_s());
  result.making_s = largest(team, run.making_s());
  result.memory_max_bytes = largest(team, grown);
  result.memory_sum_bytes = sum(team, grown);
  result.staging_bytes = sum(team, staging);
  result.staging_over_plan = largest(team, told.planned_bytes > 0 ? staging / planned : 0);
  result.metadata_calls = sum(team, static_cast<double>(settled.calls));
  result.ranks_given_up = largest(team, told.ranks_given_up);
  return result;
}

}  // namespace

Status agree(const Team& team, const Status& mine) {
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
Result<Memories> prepare(const Contender& contender,
                         const Team& team,
                         const Checkpoint& checkpoint) {
  auto memories = contender.prepare(team, checkpoint);
  const Status mine = memories ? Status() : Status(failure(memories.error()));
  if (auto all = agree(team, mine); !all) return failure(all.error());
  return memories;
}

}  // namespace

Result<Measured> measure_writing(const Contender& contender,
                                 const Team& team,
                                 const Checkpoint& checkpoint,
                                 const Application& application,
                                 const Means& means) {
  const auto memories = prepare(contender, team, checkpoint);
  if (!memories) return failure(memories.error());
  Run run(team, checkpoint, application);
  run.use(means.block);
  for (const auto& memory : *memories)
    run.use(memory);
  ::malloc_trim(0);
  ResidentPeak resident;
  const std::uint64_t calls_before = count(means);
  MPI_Barrier(team.communicator);
  const Stopwatch watch;
  const Status written = run.write(contender, means.block);
  const double total_s = watch.seconds();
  Settled settled = settle(team, checkpoint, run, means, resident);
  const double durable_s = watch.seconds();
  settled.calls -= calls_before;
  if (auto all = agree(team, first_of(written, settled.status)); !all) return failure(all.error());
  Measured result = over_team(team, run, settled);
  result.total_s = largest(team, total_s);
  result.durable_s = std::max(largest(team, durable_s), result.total_s);
  const std::uint64_t files = team.rank == 0 ? count_files(checkpoint.folder) : 0;
  result.files = largest(team, static_cast<double>(files));
  result.payload_bytes = static_cast<double>(checkpoint.step_bytes() * checkpoint.steps);
  return result;
}

ByteRange share_of(const Checkpoint& checkpoint, std::uint32_t reader, std::uint32_t readers) {
  const std::uint64_t words = checkpoint.step_bytes() / kWordBytes;
  const std::uint64_t begin = words * reader / readers;
  const std::uint64_t end = words * (reader + 1) / readers;
  return {begin * kWordBytes, (end - begin) * kWordBytes};
}

std::uint64_t room_bytes(const Checkpoint& checkpoint, std::uint32_t readers) {
  return (checkpoint.step_bytes() / readers / kWordBytes + 1) * kWordBytes + kRoomBeyond;
}

Result<double> measure_restart(const Contender& contender,
                               const Team& team,
                               const Checkpoint& checkpoint,
                               std::uint32_t step,
                               std::span<std::byte> room) {
  const ByteRange range = share_of(checkpoint, team.rank, team.size);
  if (auto ready = prepare(contender, team, checkpoint); !ready) return failure(ready.error());
  MPI_Barrier(team.communicator);
  const Stopwatch watch;
  const auto reader = contender.open_to_read(team, checkpoint);
  const Status opened = reader ? Status() : Status(failure(reader.error()));
  if (auto all = agree(team, opened); !all) return failure(all.error());
  const auto bytes = (*reader)->read(step, range, room);
  const Status closed = (*reader)->close();
  const double seconds = watch.seconds();
  Status outcome = bytes ? closed : Status(failure(bytes.error()));
  if (outcome) {
    const auto wrong = first_wrong(*bytes, {step, range.offset});
    if (wrong || bytes->size() != range.size) {
      outcome = failure({.kind = ErrorClass::kDamage,
                         .operation = "compare what was read by " + contender.name(),
                         .offset_bytes = range.offset + wrong.value_or(bytes->size())});
    }
  }
  if (auto all = agree(team, outcome); !all) return failure(all.error());
  return largest(team, seconds);
}

}  // namespace forebay::bench::checkpoint
