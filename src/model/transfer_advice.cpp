// SPDX-License-Identifier: Apache-2.0
#include "model/transfer_advice.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "model/min_satisfying.hpp"
#include "model/queueing.hpp"

namespace forebay::model {

namespace {

constexpr std::uint64_t kRequestBytesMin = 64_KiB;
/// A plan within this factor of the best time counts as equally good.
constexpr double kTransferNearBestFactor = 1.02;
/// From a completion to the next request: a thread wakes up, selects a request and sends it. On a
/// node that computes it first waits for a core.
constexpr double kThinkTimeUs = 2000;

/// Length of a write if unknown: long enough that its end does not count.
constexpr std::uint64_t kLongBytes = 4_GiB;

/// The transfer, and the memory for bytes in flight.
struct TransferGoal {
  RequestKind kind = RequestKind::kRead;
  Layout layout;
  std::uint64_t bytes = 1;
  std::uint64_t memory_bytes = 0;
};

/// One request size, with the fewest requests in flight that come near its best time.
struct Candidate {
  TransferAdvice advice;
  double time_us = std::numeric_limits<double>::infinity();
};

/// The plans that are compared. All servers get equal numbers of requests: a session requests by
/// server, not in file order (read/server_load_limiter.hpp).
class PlanSearch {
 public:
  PlanSearch(const Machine& machine, const TransferGoal& goal)
      : machine_(machine), memory_bytes_(goal.memory_bytes) {
    plan_.kind = goal.kind;
    plan_.bytes = goal.bytes;
    plan_.layout = goal.layout;
    plan_.order = RequestOrder::kByServer;
    plan_.think_time_us = kThinkTimeUs;
    const std::uint64_t stripes = (goal.bytes - 1) / goal.layout.stripe_bytes + 1;
    servers_ =
        static_cast<std::uint32_t>(std::min<std::uint64_t>(goal.layout.stripe_count, stripes));
  }

  Candidate best_for(std::uint64_t request_bytes) {
    plan_.request_bytes = request_bytes;
    const auto room = static_cast<std::uint32_t>(
        std::clamp<std::uint64_t>(memory_bytes_ / request_bytes, 1, kRequestsMax));
    const std::uint32_t each = room / servers_;
    const std::uint32_t usable = each * 2 / 3;
    if (usable == 0) return {.advice = {request_bytes, room}, .time_us = time_us(room)};
    const std::uint32_t needed = min_in_flight(usable);
    return {.advice = {request_bytes, (needed + spare_requests(needed)) * servers_},
            .time_us = time_us(needed * servers_)};
  }

 private:
  static constexpr std::uint64_t kRequestsMax = 256;

  /// Completions come in bursts, and their readers are late at times. With half as many more
  /// requests at each server than it needs, one waits whenever a slot becomes free. They cost only
  /// memory.
  static constexpr std::uint32_t spare_requests(std::uint32_t needed) { return (needed + 1) / 2; }

  double time_us(std::uint32_t depth) {
    plan_.depth = depth;
    return transfer_time_us(machine_, plan_);
  }

  /// The smallest number in flight at each server, at most `most`, that comes near the best time.
  /// Larger numbers never take longer, so it is found by bisection.
  std::uint32_t min_in_flight(std::uint32_t most) {
    const double best = time_us(most * servers_);
    return static_cast<std::uint32_t>(model::min_satisfying(most, [&](std::uint64_t each) {
      return time_us(static_cast<std::uint32_t>(each) * servers_) <= kTransferNearBestFactor * best;
    }));
  }

  const Machine& machine_;
  const std::uint64_t memory_bytes_;
  std::uint32_t servers_ = 1;
  TransferPlan plan_;
};

TransferAdvice advise(const Machine& machine, const TransferGoal& goal) {
  if (goal.memory_bytes < kRequestBytesMin) return {};
  PlanSearch search(machine, goal);
  const std::uint64_t stripe =
      goal.layout.stripe_count == 1 ? UINT64_MAX : goal.layout.stripe_bytes;
  const std::uint64_t largest =
      std::bit_floor(std::min({stripe, machine.client.request_bytes_max, goal.memory_bytes}));
  Candidate best = search.best_for(largest);
  // From large to small: a smaller size must be better by the factor.
  for (std::uint64_t request = largest / 2; request >= kRequestBytesMin; request /= 2) {
    const Candidate candidate = search.best_for(request);
    if (candidate.time_us * kTransferNearBestFactor < best.time_us) best = candidate;
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
