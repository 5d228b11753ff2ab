// SPDX-License-Identifier: Apache-2.0
// Whether an I/O rank is worth its core: the time of a whole job with one I/O rank / the time with
// all ranks computing, on the same cores.
#include <algorithm>
#include <thread>

#include "bench/checkpoint/cases.hpp"
#include "bench/checkpoint/forebay_rows.hpp"
#include "bench/checkpoint/trial_harness.hpp"
#include "bench/frame/rounds.hpp"

namespace forebay::bench::checkpoint {

namespace {

constexpr const char* kJobId = "ckpt.dedicated.over_in_rank";
/// The time that storage needs for a step, as a fraction of the computation between two steps with
/// all ranks computing.
constexpr double kDrainOfJob = 0.3;

/// Bytes of all ranks together.
constexpr ByEffort<std::uint64_t> kJobBytes = {.quick = 4_MiB, .usual = 128_MiB, .full = 512_MiB};

std::uint32_t cores() { return std::max(1U, std::thread::hardware_concurrency()); }

TrialRequest job_trial(Context& context, std::uint32_t ranks) {
  TrialRequest trial;
  trial.kind = TrialKind::kJob;
  trial.writers = ranks;
  trial.steps = kSteps;
  trial.step_bytes = context.choose(kJobBytes);
  trial.set_directory(context.directory() / "job");
  return trial;
}

struct JobTimes {
  std::vector<double> in_rank_s;
  std::vector<double> dedicated_s;
  std::vector<double> total;    ///< until the application has ended, dedicated / in-rank
  std::vector<double> durable;  ///< until the last step is on storage
  double dedicated_ranks = 0;
};

/// The amount of work follows from the storage time of the measurement just before.
Status run_job_round(TrialRequest trial, std::size_t round, JobTimes& times) {
  const auto drain = trial_harness().run(trial);
  if (!drain) return failure(drain.error());
  const double seconds = drain->durable_s / static_cast<double>(kSteps) / kDrainOfJob;
  const std::uint32_t at_once = std::min(trial.writers, cores());
  trial.job.units = Computation(trial.job.compute_kind).units_in(seconds) * at_once;
  constexpr Placement kPlacements[] = {Placement::kInRank, Placement::kDedicated};
  TrialResult measured[2];
  for (const std::size_t index : order_of_round(round, 2)) {
    trial.job.placement = kPlacements[index];
    const auto one = trial_harness().run(trial);
    if (!one) return failure(one.error());
    measured[index] = *one;
  }
  times.in_rank_s.push_back(measured[0].total_s);
  times.dedicated_s.push_back(measured[1].total_s);
  times.total.push_back(measured[1].total_s / measured[0].total_s);
  times.durable.push_back(measured[1].durable_s / measured[0].durable_s);
  times.dedicated_ranks = measured[1].dedicated_ranks;
  return {};
}

Result<JobTimes> run_jobs(Context& context, std::uint32_t ranks) {
  const std::string what = std::string(kJobId) + ", " + std::to_string(ranks) + " ranks";
  JobTimes times;
  for (unsigned round = 0; round <= kForebayRounds; ++round) {
    if (round == 1) times = {};  // before was the warm-up
    if (auto done = run_job_round(job_trial(context, ranks), round, times); !done)
      return failure(done.error());
    context.report({round + 1, kForebayRounds + 1, "rounds", what});
  }
  return times;
}

void add_peers(ResultRow& row, const JobTimes& times, std::uint32_t ranks) {
  const std::string suffix = ", " + std::to_string(ranks) + " ranks";
  row.peers.push_back({"until durable" + suffix, "1", summarize(times.durable)});
  row.peers.push_back({"in-rank" + suffix, "s", summarize(times.in_rank_s)});
  row.peers.push_back({"dedicated" + suffix, "s", summarize(times.dedicated_s)});
  row.peers.push_back(
      {"share of dedicated ranks" + suffix, "1", summarize({times.dedicated_ranks / ranks})});
}

}  // namespace

Status bench_job(Context& context) {
  if (!context.is_selected(kJobId)) return {};
  if (trial_harness().size() < 2) {
    context.skip(kJobId, "two ranks are required");
    return {};
  }
  // Each job creates its own Runtime, and two would share cores.
  trial_harness().end_runtimes();
  const std::uint32_t all = trial_harness().size();
  const std::uint32_t one_a_core = std::clamp(cores(), 2U, all);
  const auto times = run_jobs(context, one_a_core);
  if (!times) return failure(times.error());
  ResultRow row{kJobId, "1", summarize(times->total), {}, {}};
  add_peers(row, *times, one_a_core);
  if (all > one_a_core) {
    const auto more = run_jobs(context, all);
    if (!more) return failure(more.error());
    row.peers.push_back(
        {"until it ends, " + std::to_string(all) + " ranks", "1", summarize(more->total)});
    add_peers(row, *more, all);
  }
  context.add(std::move(row));
  return {};
}

}  // namespace forebay::bench::checkpoint
