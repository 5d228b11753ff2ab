// SPDX-License-Identifier: Apache-2.0
// The slowdown of an application with checkpoints, if storage needs a given fraction of its
// computing time: 2 ranks, no free core.
#include <algorithm>

#include "bench/checkpoint/cases.hpp"
#include "bench/checkpoint/forebay_rows.hpp"
#include "bench/checkpoint/trial_harness.hpp"
#include "bench/frame/rounds.hpp"

namespace forebay::bench::checkpoint {

namespace {

constexpr std::uint32_t kOverlapRanks = 2;
constexpr const char* kChosen = "forebay:chosen";
constexpr const char* kAdopted = "forebay:file-per-process,adopt";

/// Bytes of all ranks together.
constexpr ByEffort<std::uint64_t> kStepBytes = {.quick = 4_MiB, .usual = 128_MiB, .full = 512_MiB};

struct OverlapLoad {
  const char* id;
  double drain_share;  ///< storage time of a step / computing time between two steps
  double goal;
};

constexpr OverlapLoad kLoads[] = {{"ckpt.overlap", 0.3, 1.10}, {"ckpt.overlap.heavy", 0.9, 1.25}};

/// An application: its computation and its candidate.
struct OverlapKind {
  const char* name;
  ComputeKind compute_kind;
  const char* candidate;
};

constexpr OverlapKind kKinds[] = {{"cpu", ComputeKind::kCpu, kChosen},
                                  {"cpu, buffers given away", ComputeKind::kCpu, kAdopted},
                                  {"memory", ComputeKind::kMemory, kChosen}};

std::uint32_t index_of(const std::string& name) {
  const auto& all = all_candidates();
  const auto results =
      std::find_if(all.begin(), all.end(), [&](const auto& one) { return one->name() == name; });
  return results == all.end() ? kNoCandidate : static_cast<std::uint32_t>(results - all.begin());
}

TrialRequest trial_of(Context& context) {
  TrialRequest trial;
  trial.kind = TrialKind::kWrite;
  trial.candidate = index_of(kChosen);
  trial.writers = kOverlapRanks;
  trial.steps = kSteps;
  trial.step_bytes = context.choose(kStepBytes);
  trial.set_directory(context.directory() / "overlap");
  return trial;
}

/// The time that storage needs for a step without computation.
Result<double> drain_seconds(const TrialRequest& trial) {
  return trial_harness().run(trial).map(
      [](const TrialResult& one) { return one.durable_s / static_cast<double>(kSteps); });
}

struct Ratios {
  std::vector<double> total;    ///< until the application has ended / computing alone
  std::vector<double> durable;  ///< until the last step is on storage
};

/// Runs with and without checkpoints, one after the other.
Status run_pair(const TrialRequest& with, std::size_t round, Ratios& ratios) {
  TrialRequest alone = with;
  alone.candidate = kNoCandidate;
  const TrialRequest* const trials[] = {&with, &alone};
  TrialResult measured[2];
  for (const std::size_t index : order_of_round(round, 2)) {
    const auto one = trial_harness().run(*trials[index]);
    if (!one) return failure(one.error());
    measured[index] = *one;
  }
  ratios.total.push_back(measured[0].total_s / measured[1].total_s);
  ratios.durable.push_back(measured[0].durable_s / measured[1].total_s);
  return {};
}

struct LoadResults {
  Ratios ratios[std::size(kKinds)];
  std::vector<double> drain_s;
};

/// The amount of work follows from the storage time of the measurement just before.
Status run_round(const OverlapLoad& load,
                 const TrialRequest& trial,
                 std::size_t round,
                 LoadResults& results) {
  const auto drain_s = drain_seconds(trial);
  if (!drain_s) return failure(drain_s.error());
  results.drain_s.push_back(*drain_s);
  for (std::size_t kind = 0; kind < std::size(kKinds); ++kind) {
    TrialRequest mine = trial;
    mine.candidate = index_of(kKinds[kind].candidate);
    mine.application.compute_kind = kKinds[kind].compute_kind;
    mine.application.units =
        Computation(kKinds[kind].compute_kind).units_in(*drain_s / load.drain_share);
    if (auto done = run_pair(mine, round, results.ratios[kind]); !done) return done;
  }
  return {};
}

Status bench_load(Context& context, const OverlapLoad& load) {
  if (!context.is_selected(load.id)) return {};
  if (trial_harness().size() < kOverlapRanks) {
    context.skip(load.id, "two ranks are required");
    return {};
  }
  const TrialRequest trial = trial_of(context);
  LoadResults results;
  for (std::size_t round = 0; round <= kForebayRounds; ++round) {
    if (round == 1) results = LoadResults();  // before was the warm-up
    if (auto done = run_round(load, trial, round, results); !done) return done;
    context.report({round + 1, kForebayRounds + 1, "rounds", load.id});
  }
  ResultRow row{load.id, "1", summarize(results.ratios[0].total), Goal{load.goal}, {}};
  row.peers.push_back({"until durable", "1", summarize(results.ratios[0].durable)});
  for (std::size_t kind = 1; kind < std::size(kKinds); ++kind)
    row.peers.push_back({kKinds[kind].name, "1", summarize(results.ratios[kind].total)});
  row.peers.push_back({"drain of a step", "s", summarize(results.drain_s)});
  context.add(std::move(row));
  return {};
}

}  // namespace

Status bench_overlap(Context& context) {
  for (const OverlapLoad& load : kLoads)
    if (auto done = bench_load(context, load); !done) return done;
  return {};
}

}  // namespace forebay::bench::checkpoint
