// SPDX-License-Identifier: Apache-2.0
#include "model/reading.hpp"

#include <algorithm>
#include <bit>
#include <limits>

#include "model/queueing.hpp"

namespace forebay::model {

namespace {

constexpr std::uint64_t kRequestBytesMin = 64_KiB;
/// Within this share of the best, a plan is as good.
constexpr double kAsGood = 1.01;

/// One size of requests, with the fewest under way that come near the best it can do.
struct Candidate {
  ReadingAdvice advice;
  double time_us = std::numeric_limits<double>::infinity();
};

/// The plans that are compared.
class Search {
 public:
  Search(const Machine& machine, const Layout& layout, std::uint64_t bytes, std::uint64_t memory)
      : machine_(machine), memory_bytes_(memory) {
    plan_.bytes = bytes;
    plan_.layout = layout;
  }

  Candidate best_with(std::uint64_t request_bytes) {
    plan_.request_bytes = request_bytes;
    const auto most = static_cast<std::uint32_t>(
        std::clamp<std::uint64_t>(memory_bytes_ / request_bytes, 1, kRequestsMax));
    const double best = time_us(most);
    // More under way never takes longer: the first that is near enough, by halving.
    std::uint32_t low = 1;
    std::uint32_t high = most;
    while (low < high) {
      const std::uint32_t middle = low + (high - low) / 2;
      if (time_us(middle) <= kAsGood * best) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    return {.advice = {request_bytes, spare(low, most)}, .time_us = best};
  }

 private:
  static constexpr std::uint64_t kRequestsMax = 256;

  double time_us(std::uint32_t depth) {
    plan_.depth = depth;
    return transfer_time_us(machine_, plan_);
  }

  /// An answer takes a moment to become the next request: one more for each server hides that.
  std::uint32_t spare(std::uint32_t needed, std::uint32_t most) const {
    const std::uint64_t stripes =
        std::max<std::uint64_t>(plan_.bytes / plan_.layout.stripe_bytes, 1);
    const std::uint64_t servers = std::min<std::uint64_t>(plan_.layout.stripe_count, stripes);
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(needed + servers, most));
  }

  const Machine& machine_;
  const std::uint64_t memory_bytes_;
  TransferPlan plan_;
};

}  // namespace

ReadingAdvice advise_reading(const Machine& machine,
                             const Layout& layout,
                             std::uint64_t bytes,
                             std::uint64_t memory_bytes) {
  Search search(machine, layout, std::max<std::uint64_t>(bytes, 1), memory_bytes);
  const std::uint64_t stripe = layout.stripe_count == 1 ? UINT64_MAX : layout.stripe_bytes;
  const std::uint64_t largest =
      std::bit_floor(std::min({stripe, machine.client.request_bytes_max, memory_bytes}));
  Candidate best = search.best_with(largest);
  // From large to small: a smaller one must be better by more than nothing.
  for (std::uint64_t request = largest / 2; request >= kRequestBytesMin; request /= 2) {
    const Candidate candidate = search.best_with(request);
    if (candidate.time_us * kAsGood < best.time_us) best = candidate;
  }
  return best.advice;
}

}  // namespace forebay::model
