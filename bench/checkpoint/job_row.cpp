// SPDX-License-Identifier: Apache-2.0
// Whether a rank that does nothing but I/O is worth its core: the time that a whole job takes where
// one of the ranks is given to I/O, over that where all of them compute, on the same cores.
#include <algorithm>
#include <thread>

#include "bench/checkpoint/cases.hpp"
#include "bench/checkpoint/everybody.hpp"
#include "bench/checkpoint/own_rows.hpp"
#include "bench/frame/rounds.hpp"

namespace forebay::bench::checkpoint {

namespace {

constexpr const char* kJobId = "ckpt.dedicated.over_in_rank";
/// What storage needs for a step, of the computation between two where all ranks compute.
constexpr double kDrainOfJob = 0.3;

/// Of all ranks together.
constexpr ByEffort<std::uint64_t> kJobBytes = {.quick = 4_MiB, .usual = 128_MiB, .full = 512_MiB};

std::uint32_t cores() { return std::max(1U, std::thread::hardware_concurrency()); }

Order job_order(Context& context, std::uint32_t ranks) {
  Order order;
  order.task = Task::kJob;
  order.writers = ranks;
  order.steps = kSteps;
  order.step_bytes = context.choose(kJobBytes);
  order.set_folder(context.folder() / "job");
  return order;
}

struct JobTimes {
  std::vector<double> in_rank_s;
  std::vector<double> dedicated_s;
  std::vector<double> total;    ///< until the application has ended, dedicated over in-rank
  std::vector<double> durable;  ///< until the last step is on storage
  double given_up = 0;
};

/// The amount of work follows from what storage needed a moment ago.
Status run_job_round(Order order, std::size_t round, JobTimes& times) {
  const auto drain = everybody().order(order);
  if (!drain) return failure(drain.error());
  const double seconds = drain->durable_s / static_cast<double>(kSteps) / kDrainOfJob;
  const std::uint32_t at_once = std::min(order.writers, cores());
  order.job.units = Computation(order.job.computing).units_in(seconds) * at_once;
  constexpr Placement kPlacements[] = {Placement::kInRank, Placement::kDedicated};
  Measured measured[2];
  for (const std::size_t which : order_of_round(round, 2)) {
    order.job.placement = kPlacements[which];
    const auto one = everybody().order(order);
    if (!one) return failure(one.error());
    measured[which] = *one;
  }
  times.in_rank_s.push_back(measured[0].total_s);
  times.dedicated_s.push_back(measured[1].total_s);
  times.total.push_back(measured[1].total_s / measured[0].total_s);
  times.durable.push_back(measured[1].durable_s / measured[0].durable_s);
  times.given_up = measured[1].ranks_given_up;
  return {};
}

Result<JobTimes> run_jobs(Context& context, std::uint32_t ranks) {
  const std::string what = std::string(kJobId) + ", " + std::to_string(ranks) + " ranks";
  JobTimes times;
  for (unsigned round = 0; round <= kOwnRounds; ++round) {
    if (round == 1) times = {};  // what was before was the warm-up
    if (auto done = run_job_round(job_order(context, ranks), round, times); !done)
      return failure(done.error());
    context.report({round + 1, kOwnRounds + 1, "rounds", what});
  }
  return times;
}

void add_peers(ResultRow& row, const JobTimes& times, std::uint32_t ranks) {
  const std::string in = ", " + std::to_string(ranks) + " ranks";
  row.peers.push_back({"until durable" + in, "1", summarise(times.durable)});
  row.peers.push_back({"in-rank" + in, "s", summarise(times.in_rank_s)});
  row.peers.push_back({"dedicated" + in, "s", summarise(times.dedicated_s)});
  row.peers.push_back({"share of ranks given up" + in, "1", summarise({times.given_up / ranks})});
}

}  // namespace

Status bench_job(Context& context) {
  if (!context.wants(kJobId)) return {};
  if (everybody().size() < 2) {
    context.leave_out(kJobId, "there is one rank only");
    return {};
  }
  // Each makes its own, and two would share cores.
  everybody().end_runtimes();
  const std::uint32_t all = everybody().size();
  const std::uint32_t one_a_core = std::clamp(cores(), 2U, all);
  const auto times = run_jobs(context, one_a_core);
  if (!times) return failure(times.error());
  ResultRow row{kJobId, "1", summarise(times->total), {}, {}};
  add_peers(row, *times, one_a_core);
  if (all > one_a_core) {
    const auto more = run_jobs(context, all);
    if (!more) return failure(more.error());
    row.peers.push_back(
        {"until it ends, " + std::to_string(all) + " ranks", "1", summarise(more->total)});
    add_peers(row, *more, all);
  }
  context.add(std::move(row));
  return {};
}

}  // namespace forebay::bench::checkpoint
