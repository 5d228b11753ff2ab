// SPDX-License-Identifier: Apache-2.0
#include "model/reading.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "model/fewest.hpp"
#include "model/queueing.hpp"

namespace forebay::model {

namespace {

constexpr std::uint64_t kRequestBytesMin = 64_KiB;
/// Within this share of the best, a plan is as good.
constexpr double kAsGood = 1.02;
/// From an answer to the next request: a thread wakes up, looks what is wanted, and asks. On a node
/// that computes it waits for a core first.
constexpr double kTurnaroundUs = 2000;

/// What is written at a time, where nothing says how much: so much that its end does not count.
constexpr std::uint64_t kLongBytes = 4_GiB;

/// What is to be transferred, and with how much under way.
struct Task {
  RequestKind kind = RequestKind::kRead;
  Layout layout;
  std::uint64_t bytes = 1;
  std::uint64_t memory_bytes = 0;
};

/// One size of requests, with the fewest under way that come near the best it can do.
struct Candidate {
  TransferAdvice advice;
  double time_us = std::numeric_limits<double>::infinity();
};

/// The plans that are compared. Each server is given as many requests as any other: a session asks
/// by server, not in the order of the file (read/server_lanes.hpp).
class Search {
 public:
  Search(const Machine& machine, const Task& task)
      : machine_(machine), memory_bytes_(task.memory_bytes) {
    plan_.kind = task.kind;
    plan_.bytes = task.bytes;
    plan_.layout = task.layout;
    plan_.order = AskingOrder::kByServer;
    plan_.turnaround_us = kTurnaroundUs;
    const std::uint64_t stripes = (task.bytes - 1) / task.layout.stripe_bytes + 1;
    servers_ =
        static_cast<std::uint32_t>(std::min<std::uint64_t>(task.layout.stripe_count, stripes));
  }

  Candidate best_with(std::uint64_t request_bytes) {
    plan_.request_bytes = request_bytes;
    const auto room = static_cast<std::uint32_t>(
        std::clamp<std::uint64_t>(memory_bytes_ / request_bytes, 1, kRequestsMax));
    const std::uint32_t each = room / servers_;
    const std::uint32_t usable = each * 2 / 3;
    if (usable == 0) return {.advice = {request_bytes, room}, .time_us = time_us(room)};
    const std::uint32_t needed = fewest(usable);
    return {.advice = {request_bytes, (needed + spare_of(needed)) * servers_},
            .time_us = time_us(needed * servers_)};
  }

 private:
  static constexpr std::uint64_t kRequestsMax = 256;

  /// Answers come in bursts, and their readers are later than usual at times: with half as many
  /// more for each server as it needs, something lies there whenever a place is free. They cost
  /// memory only.
  static constexpr std::uint32_t spare_of(std::uint32_t needed) { return (needed + 1) / 2; }

  double time_us(std::uint32_t depth) {
    plan_.depth = depth;
    return transfer_time_us(machine_, plan_);
  }

  /// Under way at each server, of at most `most`. More never takes longer: the first number that is
  /// near enough to the best, by halving.
  std::uint32_t fewest(std::uint32_t most) {
    const double best = time_us(most * servers_);
    return static_cast<std::uint32_t>(model::fewest(most, [&](std::uint64_t each) {
      return time_us(static_cast<std::uint32_t>(each) * servers_) <= kAsGood * best;
    }));
  }

  const Machine& machine_;
  const std::uint64_t memory_bytes_;
  std::uint32_t servers_ = 1;
  TransferPlan plan_;
};

TransferAdvice advise(const Machine& machine, const Task& task) {
  if (task.memory_bytes < kRequestBytesMin) return {};
  Search search(machine, task);
  const std::uint64_t stripe =
      task.layout.stripe_count == 1 ? UINT64_MAX : task.layout.stripe_bytes;
  const std::uint64_t largest =
      std::bit_floor(std::min({stripe, machine.client.request_bytes_max, task.memory_bytes}));
  Candidate best = search.best_with(largest);
  // From large to small: a smaller one must be better by more than nothing.
  for (std::uint64_t request = largest / 2; request >= kRequestBytesMin; request /= 2) {
    const Candidate candidate = search.best_with(request);
    if (candidate.time_us * kAsGood < best.time_us) best = candidate;
  }
  return best.advice;
}

}  // namespace

TransferAdvice advise_reading(const Machine& machine,
                              const Layout& layout,
                              std::uint64_t bytes,
                              std::uint64_t memory_bytes) {
  return advise(machine, {.kind = RequestKind::kRead,
                          .layout = layout,
                          .bytes = std::max<std::uint64_t>(bytes, 1),
                          .memory_bytes = memory_bytes});
}

TransferAdvice advise_writing(const Machine& machine, std::uint64_t memory_bytes) {
  // Servers without a limit are never busy.
  if (std::isinf(storage_limit_mb_per_s(machine, RequestKind::kWrite))) return {};
  return advise(machine, {.kind = RequestKind::kWrite,
                          .layout = {.stripe_bytes = machine.layout.stripe_bytes,
                                     .stripe_count = machine.server_count()},
                          .bytes = kLongBytes,
                          .memory_bytes = memory_bytes});
}

}  // namespace forebay::model
