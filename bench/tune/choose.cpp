// SPDX-License-Identifier: Apache-2.0
// The cost of choosing a plan when a dataset is opened on a storage that is known.
#include <array>

#include "bench/frame/benchmark.hpp"
#include "bench/frame/clock.hpp"
#include "write/plan.hpp"

namespace forebay::bench::tune {

namespace {

constexpr const char* kId = "auto.choose_us";
constexpr unsigned kRounds = 9;
constexpr double kMicroseconds = 1e6;
constexpr std::uint32_t kRanksOfNode = 32;
constexpr std::array<std::uint32_t, 3> kRanks{64, 1024, 16'384};

Result<double> time_choice(const write::WriteFacts& facts, std::uint32_t count) {
  const Stopwatch watch;
  for (std::uint32_t i = 0; i < count; ++i) {
    const auto plan = plan_write(facts);
    if (!plan) return failure(plan.error());
  }
  return watch.seconds() * kMicroseconds / count;
}

}  // namespace

FOREBAY_BENCHMARK(tune, "plans that are chosen by formulas, and found by measuring") {
  if (!context.is_selected(kId)) return {};
  const auto machine = model::load_machine("gpfs-small", model::machine_directories({}));
  if (!machine) return failure(machine.error());
  const auto count = context.choose<std::uint32_t>(200, 20);
  std::array<write::WriteFacts, kRanks.size()> jobs;
  std::vector<Variant> variants;
  for (std::size_t i = 0; i < kRanks.size(); ++i) {
    jobs[i].machine = &*machine;
    jobs[i].step_bytes = {4_MiB};
    for (std::uint32_t rank = 0; rank < kRanks[i]; ++rank)
      jobs[i].rank_layout.node_of_compute_rank.push_back(rank / kRanksOfNode);
    variants.push_back({std::to_string(kRanks[i]) + " ranks", {}, [&jobs, i, count] {
                          return time_choice(jobs[i], count);
                        }});
  }
  const auto rounds = context.run(kId, kRounds, variants);
  if (!rounds) return failure(rounds.error());
  ResultRow row{kId, "us", {}, Goal{200}, {}};
  for (const Variant& variant : variants) {
    const Summary found = rounds->summary(variant.name);
    if (found.median > row.measured.median) row.measured = found;
    row.peers.push_back({variant.name, "us", found});
  }
  context.add(std::move(row));
  return {};
}

}  // namespace forebay::bench::tune
