// SPDX-License-Identifier: Apache-2.0
#include "bench/pfs/auto_plans.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>
#include <utility>

#include "base/assert.hpp"

namespace forebay::bench::pfs {

namespace {

constexpr std::array<std::uint64_t, 3> kSizes{256_KiB, 1_MiB, 4_MiB};
constexpr std::array<std::uint32_t, 3> kDepths{4, 16, 64};
constexpr std::uint64_t kWindowBytesMin = 16_MiB;

read::PlanOverrides with_window(read::PlanOverrides plan) {
  const std::uint64_t in_flight_bytes =
      std::max(plan.queue_depth * plan.request_bytes, plan.splinter_bytes);
  plan.window_bytes = std::max(2 * in_flight_bytes, kWindowBytesMin);
  return plan;
}

std::vector<std::optional<AgentScope>> agents_to_sweep(std::uint32_t ranks_on_node) {
  if (ranks_on_node == 1) return {std::nullopt};
  return {AgentScope::kPerRank, AgentScope::kPerNode};
}

}  // namespace

std::vector<read::PlanOverrides> plans_to_sweep(std::uint32_t ranks_on_node) {
  std::vector<read::PlanOverrides> plans;
  const auto add = [&plans](std::optional<AgentScope> agents, std::uint64_t splinter_bytes,
                            std::uint64_t request_bytes) {
    for (const std::uint32_t depth : kDepths) {
      plans.push_back(with_window({.agents = agents,
                                   .splinter_bytes = splinter_bytes,
                                   .request_bytes = request_bytes,
                                   .queue_depth = depth}));
    }
  };
  for (const auto agents : agents_to_sweep(ranks_on_node)) {
    for (const std::uint64_t splinter : kSizes) {
      for (const std::uint64_t request : kSizes)
        if (request <= splinter) add(agents, splinter, request);
    }
  }
  return plans;
}

std::string text_of_bytes(std::uint64_t bytes) {
  if (bytes >= 1_MiB) return std::to_string(bytes / 1_MiB) + " MiB";
  return std::to_string(bytes / 1_KiB) + " KiB";
}

std::string text_of(const read::PlanOverrides& plan) {
  const std::string agents = plan.agents ? std::string(name_of(*plan.agents)) + ", " : "";
  return agents + "splinters of " + text_of_bytes(plan.splinter_bytes) + ", " +
         std::to_string(plan.queue_depth) + " requests of " + text_of_bytes(plan.request_bytes);
}

std::vector<std::size_t> fastest(std::span<const double> seconds, std::size_t count) {
  std::vector<std::size_t> order(seconds.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [seconds](std::size_t one, std::size_t other) {
    return std::pair(seconds[one], one) < std::pair(seconds[other], other);
  });
  order.resize(std::min(count, order.size()));
  return order;
}

Summary over_fastest(std::span<const double> ours, const std::vector<std::vector<double>>& others) {
  FOREBAY_ASSERT(!others.empty());
  std::vector<double> best = others.front();
  for (const std::vector<double>& other : others) {
    FOREBAY_ASSERT(other.size() == ours.size());
    for (std::size_t round = 0; round < ours.size(); ++round)
      best[round] = std::min(best[round], other[round]);
  }
  return summarize(ratios(ours, best));
}

}  // namespace forebay::bench::pfs
