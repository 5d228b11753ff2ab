// SPDX-License-Identifier: Apache-2.0
// Synthetic machines for tests of tuners: time of a step by strategy, writers, files and unit.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "model/candidate_tuner.hpp"

namespace forebay::model {

/// Constants of a machine, and the step that it writes.
struct SyntheticMachine {
  double ranks = 0;
  double step_mb = 0;
  double peak_mb_per_s = 0;
  double writer_mb_per_s = 0;
  double shared_file_mb_per_s = 0;
  double link_mb_per_s = 0;
  double create_s = 0;
  double request_s = 0;

  /// The same machine with constants that are wrong by a factor, log-normal with this deviation.
  SyntheticMachine with_wrong_constants(double deviation, std::uint64_t seed) const {
    SyntheticMachine wrong = *this;
    std::mt19937_64 random(seed);
    std::lognormal_distribution<double> factor(0, deviation);
    for (double* constant :
         {&wrong.peak_mb_per_s, &wrong.writer_mb_per_s, &wrong.shared_file_mb_per_s,
          &wrong.link_mb_per_s, &wrong.create_s, &wrong.request_s})
      *constant *= factor(random);
    return wrong;
  }
};

enum class SyntheticStrategy : std::uint8_t { kFilePerProcess, kBaton, kCollective, kReduced };

struct SyntheticPlan {
  SyntheticStrategy strategy;
  double writers;
  double files;
  double unit_mb;
};

inline double step_s(const SyntheticMachine& machine, const SyntheticPlan& plan) {
  const bool is_baton = plan.strategy == SyntheticStrategy::kBaton;
  const bool is_reduced = plan.strategy == SyntheticStrategy::kReduced;
  const double active = is_baton ? plan.files : plan.writers;
  const double request_s = plan.unit_mb / machine.writer_mb_per_s + machine.request_s;
  const double by_writers = active * plan.unit_mb / request_s;
  const bool is_shared = plan.files < plan.writers && !is_baton;
  const double by_files = is_shared ? plan.files * machine.shared_file_mb_per_s : 1e12;
  const double inverse =
      std::pow(by_writers, -1.5) + std::pow(by_files, -1.5) + std::pow(machine.peak_mb_per_s, -1.5);
  double seconds = machine.step_mb * std::pow(inverse, 1 / 1.5);
  if (is_reduced) seconds += machine.step_mb / plan.writers / machine.link_mb_per_s;
  if (plan.strategy == SyntheticStrategy::kCollective)
    seconds += machine.request_s * machine.step_mb / plan.writers / plan.unit_mb * 4;
  if (is_baton) seconds += plan.writers / plan.files * machine.request_s;
  return seconds + plan.files * machine.create_s;
}

/// The first one is file per process, which is a bad default for many ranks.
inline std::vector<SyntheticPlan> synthetic_plans(const SyntheticMachine& machine) {
  std::vector<SyntheticPlan> plans;
  for (double unit_mb = 0.5; unit_mb <= 16; unit_mb *= 4) {
    plans.push_back({SyntheticStrategy::kFilePerProcess, machine.ranks, machine.ranks, unit_mb});
    for (double files = 1; files <= std::min(1024.0, machine.ranks); files *= 2) {
      plans.push_back({SyntheticStrategy::kBaton, machine.ranks, files, unit_mb});
      plans.push_back({SyntheticStrategy::kCollective, machine.ranks, files, unit_mb});
      for (double writers = std::max(4.0, files); writers <= std::min(1024.0, machine.ranks);
           writers *= 2)
        plans.push_back({SyntheticStrategy::kReduced, writers, files, unit_mb});
    }
  }
  return plans;
}

inline std::vector<TunerCandidate> synthetic_candidates(const std::vector<SyntheticPlan>& plans) {
  std::vector<TunerCandidate> candidates;
  for (const SyntheticPlan& plan : plans) {
    const auto is = [&](SyntheticStrategy strategy) { return plan.strategy == strategy ? 1.0 : 0; };
    candidates.push_back({{std::log2(plan.writers), std::log2(plan.files), std::log2(plan.unit_mb),
                           is(SyntheticStrategy::kFilePerProcess), is(SyntheticStrategy::kBaton),
                           is(SyntheticStrategy::kCollective)}});
  }
  return candidates;
}

inline constexpr SyntheticMachine kSyntheticBgp{32768, 60'000, 17'000, 50, 900, 380, 0.004, 0.02};
inline constexpr SyntheticMachine kSyntheticLustre{8192, 800'000, 60'000, 400,
                                                   2500, 1500,    0.001,  0.004};
inline constexpr SyntheticMachine kSyntheticSmall{256, 8000, 2000, 300, 900, 1200, 0.003, 0.002};

}  // namespace forebay::model
