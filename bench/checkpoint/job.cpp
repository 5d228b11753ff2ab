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

/// One computing rank.
class ComputeRank {
 public:
  ComputeRank(Runtime& runtime,
              const Checkpoint& checkpoint,
              const JobSettings& settings,
              std::span<std::byte> memory)
      : runtime_(runtime),
        checkpoint_(checkpoint),
        share_(share_of(checkpoint, runtime.rank(), runtime.rank_count())),
        block_(memory.first(share_.size)),
        computation_(settings.compute_kind),
        units_(settings.units * (runtime.rank() + 1) / runtime.rank_count() -
               settings.units * runtime.rank() / runtime.rank_count()) {
    fill_content(block_, {checkpoint.steps, share_.offset});
  }

  /// Returns the first failure. Failures of writes are returned at the end of the job, so that no
  /// rank leaves before the others.
  Status run(const RankTeam& compute_team) {
    MPI_Barrier(compute_team.communicator);
    const Stopwatch watch;
    auto dataset = runtime_.create_dataset(checkpoint_.directory / "job.fb");
    if (!dataset) return failure(dataset.error());
    blocked_s_ += watch.seconds();
    Status outcome;
    for (std::uint32_t number = 0; number < checkpoint_.steps; ++number) {
      computing_s_ += computation_.run(units_);
      restamp(block_, {number, share_.offset});
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

  TrialResult measured() const {
    return {.blocked_s = blocked_s_,
            .computing_s = computing_s_,
            .total_s = total_s_,
            .durable_s = durable_s_};
  }

 private:
  Status write(DatasetWriter& dataset, std::uint64_t number) {
    auto step = dataset.begin_step(number);
    if (!step) return failure(step.error());
    const Status put =
        step->put(kFieldOfJob, Part{runtime_.rank()}, std::span<const std::byte>(block_));
    if (put) (void)step->commit();  // close() reports failures
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

/// Each value of the slowest rank.
void reduce(const RankTeam& team, TrialResult& all) {
  std::array<double, 5> values{all.blocked_s, all.computing_s, all.total_s, all.durable_s,
                               all.dedicated_ranks};
  MPI_Allreduce(MPI_IN_PLACE, values.data(), static_cast<int>(values.size()), MPI_DOUBLE, MPI_MAX,
                team.communicator);
  all.blocked_s = values[0];
  all.computing_s = values[1];
  all.total_s = values[2];
  all.durable_s = values[3];
  all.dedicated_ranks = values[4];
}

}  // namespace

std::uint64_t job_memory_bytes(const Checkpoint& checkpoint, std::uint32_t ranks) {
  return read_buffer_bytes(checkpoint, std::max(2U, ranks) - 1);
}

Result<TrialResult> measure_job(const RankTeam& team,
                                const Checkpoint& checkpoint,
                                const JobSettings& settings,
                                std::span<std::byte> memory) {
  TrialResult found;
  Status outcome;
  {
    Runtime runtime(team.communicator, {.placement = settings.placement});
    if (runtime.role() == Role::kIo) {
      outcome = runtime.serve();
    } else {
      const Ranks ranks = runtime.compute_ranks();
      ComputeRank compute_rank(runtime, checkpoint, settings, memory);
      outcome = compute_rank.run({communicator_of(ranks), runtime.rank(), runtime.rank_count()});
      found = compute_rank.measured();
      found.dedicated_ranks = team.size - runtime.rank_count();
    }
  }
  if (auto all = agree(team, outcome); !all) return failure(all.error());
  reduce(team, found);
  found.payload_bytes = static_cast<double>(checkpoint.step_bytes() * checkpoint.steps);
  return found;
}

}  // namespace forebay::bench::checkpoint
