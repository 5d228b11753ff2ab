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

/// A receipt, first of one rank, then combined over all ranks: bytes are summed, times are those of
/// the slowest rank.
struct CheckpointRecord {
  std::uint64_t step = 0;
  std::uint64_t bytes = 0;
  double begun_s = 0;
  double perceived_s = 0;
  double durable_s = 0;
};

std::vector<CheckpointRecord> local_records(const PartStore& store, const CheckpointTimes& times) {
  std::vector<CheckpointRecord> local;
  for (const StepReceipt& receipt : store.receipts()) {
    local.push_back({receipt.step, receipt.bytes, Seconds(receipt.begin_time - times.start).count(),
                     Seconds(receipt.perceived).count(), Seconds(receipt.durable).count()});
  }
  return local;
}

/// All ranks have receipts of the same steps: a step is published on all ranks or on none.
std::vector<CheckpointRecord> reduce_records(const std::vector<CheckpointRecord>& local,
                                             SolverComm& comm) {
  std::vector<CheckpointRecord> gathered(local.size() * comm.size());
  comm.allgatherv(std::as_bytes(std::span(local)),
                  std::vector<std::size_t>(comm.size(), local.size() * sizeof(CheckpointRecord)),
                  std::as_writable_bytes(std::span(gathered)));
  std::vector<CheckpointRecord> combined(gathered.begin(),
                                         gathered.begin() + static_cast<long>(local.size()));
  for (std::size_t i = local.size(); i < gathered.size(); ++i) {
    CheckpointRecord& one = combined[i % local.size()];
    one.bytes += gathered[i].bytes;
    one.begun_s = std::min(one.begun_s, gathered[i].begun_s);
    one.perceived_s = std::max(one.perceived_s, gathered[i].perceived_s);
    one.durable_s = std::max(one.durable_s, gathered[i].durable_s);
  }
  return combined;
}

Json rate_of(std::uint64_t bytes, double seconds) {
  if (seconds <= 0) return {};
  return static_cast<double>(bytes) / kMegabyte / seconds;
}

}  // namespace

Json checkpoint_report(const PartStore& store, const CheckpointTimes& times, SolverComm& comm) {
  const std::vector<CheckpointRecord> records = reduce_records(local_records(store, times), comm);
  Json steps = Json::array();
  CheckpointRecord sum;
  for (const CheckpointRecord& one : records) {
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
  for (const CheckpointTimes& one : comm.allgather(times)) {
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
