// SPDX-License-Identifier: Apache-2.0
#include "bench/checkpoint/cases.hpp"

#include <algorithm>

namespace forebay::bench::checkpoint {

namespace {

constexpr std::uint32_t kRanksOfGoals = 4;
/// The maximum of steps in progress: later steps reuse the same memory.
constexpr std::uint32_t kMemorySteps = 2;
/// fio's jobs divide this without remainder, for any request size: four requests of 4 MiB; less in
/// quick runs.
constexpr std::uint64_t kWholeBytes = 16ULL << 20U;
constexpr std::uint64_t kWholeBytesMin = 1ULL << 20U;

std::vector<Case> writing_cases(const std::string& prefix, ComputeKind compute_kind) {
  std::vector<Case> cases;
  for (const std::uint32_t ranks : {2U, 4U, 8U}) {
    for (const SizeDistribution sizes :
         {SizeDistribution::kEqual, SizeDistribution::kExponential}) {
      const std::string id = prefix + std::to_string(ranks) + "." + std::string(name_of(sizes));
      cases.push_back({.id = id,
                       .writers = ranks,
                       .sizes = sizes,
                       .compute_kind = compute_kind,
                       .steps = kSteps});
    }
  }
  return cases;
}

std::vector<Case> make_cases() {
  std::vector<Case> cases = writing_cases("ckpt.durable.", ComputeKind::kNone);
  for (const ComputeKind compute_kind : {ComputeKind::kCpu, ComputeKind::kMemory}) {
    const auto more =
        writing_cases("ckpt.computing." + std::string(name_of(compute_kind)) + ".", compute_kind);
    cases.insert(cases.end(), more.begin(), more.end());
  }
  cases.push_back({.id = std::string(kMemoryCase),
                   .writers = 8,
                   .sizes = SizeDistribution::kExponential,
                   .steps = kMemorySteps,
                   .scope = Scope::kMemory});
  cases.push_back({.id = "ckpt.restart.4to4", .writers = 4, .readers = 4, .steps = kRestartSteps});
  cases.push_back({.id = "ckpt.restart.8to3", .writers = 8, .readers = 3, .steps = kRestartSteps});
  return cases;
}

template <class Predicate>
std::vector<Case> cases_where(Predicate predicate) {
  std::vector<Case> found;
  std::copy_if(all_cases().begin(), all_cases().end(), std::back_inserter(found), predicate);
  return found;
}

bool only_writes(const Case& bench_case) {
  return bench_case.readers == 0 && bench_case.compute_kind == ComputeKind::kNone &&
         bench_case.scope == Scope::kEverywhere;
}

bool restarts(const Case& bench_case) { return bench_case.readers > 0; }

std::vector<GoalRow> make_goals() {
  const auto all = cases_where(only_writes);
  const auto of_four = cases_where([](const Case& bench_case) {
    return only_writes(bench_case) && bench_case.writers == kRanksOfGoals;
  });
  const auto by_fio = cases_where(
      [](const Case& bench_case) { return only_writes(bench_case) && has_fio(bench_case); });
  const auto read = cases_where(restarts);
  return {{"ckpt.durable.over_fpp", "fpp", 1.0, all},
          {"ckpt.durable.over_fio", "fio", 0.8, by_fio},
          {"ckpt.durable.over_hdf5", "hdf5", 1.5, of_four},
          {"ckpt.durable.over_pnetcdf", "pnetcdf", 1.5, of_four},
          {"ckpt.durable.over_adios1", "adios1", 1.5, of_four},
          {"ckpt.restart.over_fio", "fio", 0.8, read},
          {"ckpt.restart.over_hdf5", "hdf5", 1.3, read},
          {"ckpt.restart.over_pnetcdf", "pnetcdf", 1.3, read}};
}

}  // namespace

const std::vector<Case>& all_cases() {
  static const std::vector<Case> cases = make_cases();
  return cases;
}

const std::vector<GoalRow>& all_goals() {
  static const std::vector<GoalRow> goals = make_goals();
  return goals;
}

std::uint64_t step_bytes_of(const Case& bench_case, std::uint64_t payload_bytes) {
  if (!restarts(bench_case)) return payload_bytes / kSteps;
  const std::uint64_t bytes = payload_bytes / bench_case.steps;
  const std::uint64_t whole_bytes = bytes < kWholeBytes ? kWholeBytesMin : kWholeBytes;
  return std::max(whole_bytes, bytes / whole_bytes * whole_bytes);
}

bool has_fio(const Case& bench_case) {
  if (restarts(bench_case)) return true;
  return only_writes(bench_case) && bench_case.writers == kRanksOfGoals &&
         bench_case.sizes == SizeDistribution::kEqual;
}

}  // namespace forebay::bench::checkpoint
