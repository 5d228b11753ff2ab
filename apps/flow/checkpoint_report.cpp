// SPDX-License-Identifier: Apache-2.0
#include "flow/checkpoint_report.hpp"

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace forebay::flow {

using command::Json;

namespace {

constexpr double kMegabyte = 1e6;

using Seconds = std::chrono::duration<double>;

/// A receipt as ranks tell it to each other; then of all of them: the slowest counts.
struct Kept {
  std::uint64_t step = 0;
  std::uint64_t bytes = 0;
  double begun_s = 0;
  double perceived_s = 0;
  double durable_s = 0;
};

std::vector<Kept> kept_by_rank(const PartStore& store, const CheckpointTimes& times) {
  std::vector<Kept> mine;
  for (const StepReceipt& receipt : store.receipts()) {
    mine.push_back({receipt.step, receipt.bytes, Seconds(receipt.begun - times.start).count(),
                    Seconds(receipt.perceived).count(), Seconds(receipt.durable).count()});
  }
  return mine;
}

/// All ranks have receipts for the same steps, as a step is kept by all or by none.
std::vector<Kept> kept_by_all(const std::vector<Kept>& mine, Team& team) {
  std::vector<Kept> gathered(mine.size() * team.size());
  team.gather_bytes(std::as_bytes(std::span(mine)),
                    std::vector<std::size_t>(team.size(), mine.size() * sizeof(Kept)),
                    std::as_writable_bytes(std::span(gathered)));
  std::vector<Kept> all(gathered.begin(), gathered.begin() + static_cast<long>(mine.size()));
  for (std::size_t i = mine.size(); i < gathered.size(); ++i) {
    Kept& one = all[i % mine.size()];
    one.bytes += gathered[i].bytes;
    one.begun_s = std::min(one.begun_s, gathered[i].begun_s);
    one.perceived_s = std::max(one.perceived_s, gathered[i].perceived_s);
    one.durable_s = std::max(one.durable_s, gathered[i].durable_s);
  }
  return all;
}

Json rate_of(std::uint64_t bytes, double seconds) {
  if (seconds <= 0) return {};
  return static_cast<double>(bytes) / kMegabyte / seconds;
}

}  // namespace

Json report_of_checkpoints(const PartStore& store, const CheckpointTimes& times, Team& team) {
  const std::vector<Kept> all = kept_by_all(kept_by_rank(store, times), team);
  Json steps = Json::array();
  Kept sum;
  for (const Kept& one : all) {
    steps.push_back({{"step", one.step},
                     {"bytes", one.bytes},
                     {"begun_s", one.begun_s},
                     {"perceived_s", one.perceived_s},
                     {"durable_s", one.durable_s}});
    sum.bytes += one.bytes;
    sum.perceived_s += one.perceived_s;
    sum.durable_s += one.durable_s;
  }
  CheckpointTimes slowest;
  for (const CheckpointTimes& one : team.gather(times)) {
    slowest.steps_s = std::max(slowest.steps_s, one.steps_s);
    slowest.blocked_s = std::max(slowest.blocked_s, one.blocked_s);
    slowest.drain_s = std::max(slowest.drain_s, one.drain_s);
  }
  return {{"store", store.description()},
          {"bytes", sum.bytes},
          {"perceived_s", sum.perceived_s},
          {"durable_s", sum.durable_s},
          {"perceived_mb_s", rate_of(sum.bytes, sum.perceived_s)},
          {"durable_mb_s", rate_of(sum.bytes, sum.durable_s)},
          {"steps_s", slowest.steps_s},
          {"blocked_s", slowest.blocked_s},
          {"drain_s", slowest.drain_s},
          {"overhead", slowest.steps_s > 0 ? slowest.blocked_s / slowest.steps_s : 0},
          {"steps", steps}};
}

}  // namespace forebay::flow
