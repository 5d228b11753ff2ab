// SPDX-License-Identifier: Apache-2.0
#include "bench/checkpoint/cases.hpp"

#include <algorithm>

namespace forebay::bench::checkpoint {

namespace {

constexpr std::uint32_t kRanksOfGoals = 4;
/// As many as are under way at a time: later ones use the same memory.
constexpr std::uint32_t kMemorySteps = 2;
/// What fio's jobs share without a rest, whatever their requests: four of 4 MiB; in quick runs
/// less.
constexpr std::uint64_t kWholeBytes = 16ULL << 20U;
constexpr std::uint64_t kWholeBytesMin = 1ULL << 20U;

std::vector<Case> writing_cases(const std::string& prefix, Computing computing) {
  std::vector<Case> cases;
  for (const std::uint32_t ranks : {2U, 4U, 8U}) {
    for (const Sizes sizes : {Sizes::kEqual, Sizes::kExponential}) {
      const std::string id = prefix + std::to_string(ranks) + "." + std::string(name_of(sizes));
      cases.push_back(
          {.id = id, .writers = ranks, .sizes = sizes, .computing = computing, .steps = kSteps});
    }
  }
  return cases;
}

std::vector<Case> make_cases() {
  std::vector<Case> cases = writing_cases("ckpt.durable.", Computing::kNone);
  for (const Computing computing : {Computing::kProcessor, Computing::kMemory}) {
    const auto more =
        writing_cases("ckpt.computing." + std::string(name_of(computing)) + ".", computing);
    cases.insert(cases.end(), more.begin(), more.end());
  }
  cases.push_back({.id = std::string(kMemoryCase),
                   .writers = 8,
                   .sizes = Sizes::kExponential,
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

bool only_writes(const Case& in) {
  return in.readers == 0 && in.computing == Computing::kNone && in.scope == Scope::kEverywhere;
}

bool restarts(const Case& in) { return in.readers > 0; }

std::vector<GoalRow> make_goals() {
  const auto all = cases_where(only_writes);
  const auto of_four =
      cases_where([](const Case& in) { return only_writes(in) && in.writers == kRanksOfGoals; });
  const auto by_fio = cases_where([](const Case& in) { return only_writes(in) && has_fio(in); });
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

std::uint64_t step_bytes_of(const Case& in, std::uint64_t payload_bytes) {
  if (!restarts(in)) return payload_bytes / kSteps;
  const std::uint64_t bytes = payload_bytes / in.steps;
  const std::uint64_t whole_bytes = bytes < kWholeBytes ? kWholeBytesMin : kWholeBytes;
  return std::max(whole_bytes, bytes / whole_bytes * whole_bytes);
}

bool has_fio(const Case& in) {
  if (restarts(in)) return true;
  return only_writes(in) && in.writers == kRanksOfGoals && in.sizes == Sizes::kEqual;
}

}  // namespace forebay::bench::checkpoint
