// SPDX-License-Identifier: Apache-2.0
#include "bench/checkpoint/job.hpp"

#include <forebay/mpi.hpp>
#include <forebay/runtime.hpp>

#include <algorithm>
#include <array>
#include <vector>

#include "bench/checkpoint/content.hpp"
#include "bench/frame/clock.hpp"

namespace forebay::bench::checkpoint {

namespace {

constexpr const char* kFieldOfJob = "block";

/// The part of one rank that computes.
class Worker {
 public:
  Worker(Runtime& runtime,
         const Checkpoint& checkpoint,
         const JobSettings& settings,
         std::span<std::byte> memory)
      : runtime_(runtime),
        checkpoint_(checkpoint),
        share_(share_of(checkpoint, runtime.rank(), runtime.rank_count())),
        block_(memory.first(share_.size)),
        computation_(settings.computing),
        units_(settings.units * (runtime.rank() + 1) / runtime.rank_count() -
               settings.units * runtime.rank() / runtime.rank_count()) {
    fill(block_, {checkpoint.steps, share_.offset});
  }

  /// Returns the first failure. Those of writing steps are told when the job has ended, so that no
  /// rank leaves before the others.
  Status work(const Team& computing) {
    MPI_Barrier(computing.communicator);
    const Stopwatch watch;
    auto dataset = runtime_.dataset(checkpoint_.folder / "job.fb");
    if (!dataset) return failure(dataset.error());
    blocked_s_ += watch.seconds();
    Status outcome;
    for (std::uint32_t number = 0; number < checkpoint_.steps; ++number) {
      computing_s_ += computation_.run(units_);
      stamp(block_, {number, share_.offset});
      const Stopwatch blocked;
      if (const Status written = write(*dataset, number); !written && outcome) outcome = written;
      blocked_s_ += blocked.seconds();
    }
    computing_s_ += computation_.run(units_);
    total_s_ = watch.seconds();
    const Status closed = dataset->close();  // waits until all is durable
    durable_s_ = watch.seconds();
    return outcome ? closed : outcome;
  }

  Measured measured() const {
    return {.blocked_s = blocked_s_,
            .computing_s = computing_s_,
            .total_s = total_s_,
            .durable_s = durable_s_};
  }

 private:
  Status write(Dataset& dataset, std::uint64_t number) {
    auto step = dataset.begin_step(number);
    if (!step) return failure(step.error());
    const Status put =
        step->put(kFieldOfJob, Part{runtime_.rank()}, std::span<const std::byte>(block_));
    if (put) (void)step->commit();  // close() tells of what failed
    return put;
  }

  Runtime& runtime_;
  const Checkpoint& checkpoint_;
  const ByteRange share_;
  const std::span<std::byte> block_;
  Computation computation_;
  const std::uint64_t units_;
  double blocked_s_ = 0;
  double computing_s_ = 0;
  double total_s_ = 0;
  double durable_s_ = 0;
};

/// Of the slowest rank each.
void reduce(const Team& team, Measured& all) {
  std::array<double, 5> values{all.blocked_s, all.computing_s, all.total_s, all.durable_s,
                               all.ranks_given_up};
  MPI_Allreduce(MPI_IN_PLACE, values.data(), static_cast<int>(values.size()), MPI_DOUBLE, MPI_MAX,
                team.communicator);
  all.blocked_s = values[0];
  all.computing_s = values[1];
  all.total_s = values[2];
  all.durable_s = values[3];
  all.ranks_given_up = values[4];
}

}  // namespace

std::uint64_t job_memory_bytes(const Checkpoint& checkpoint, std::uint32_t ranks) {
  return room_bytes(checkpoint, std::max(2U, ranks) - 1);
}

Result<Measured> measure_job(const Team& team,
                             const Checkpoint& checkpoint,
                             const JobSettings& settings,
                             std::span<std::byte> memory) {
  Measured found;
  Status outcome;
  {
    Runtime runtime(team.communicator, {.placement = settings.placement});
    if (runtime.role() == Role::kAgent) {
      outcome = runtime.serve();
    } else {
      const Ranks ranks = runtime.compute();
      Worker worker(runtime, checkpoint, settings, memory);
      outcome = worker.work({communicator_of(ranks), runtime.rank(), runtime.rank_count()});
      found = worker.measured();
      found.ranks_given_up = team.size - runtime.rank_count();
    }
  }
  if (auto all = agree(team, outcome); !all) return failure(all.error());
  reduce(team, found);
  found.payload_bytes = static_cast<double>(checkpoint.step_bytes() * checkpoint.steps);
  return found;
}

}  // namespace forebay::bench::checkpoint
