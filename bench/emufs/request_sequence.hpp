// SPDX-License-Identifier: Apache-2.0
// The requests of each client of a load, and when it begins: the same on a mount and on the model.
// They are deterministic. With random collisions, a microsecond decides which client waits, and two
// runs of one load differ by more than the deviation to be measured.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "bench/emufs/loads.hpp"
#include "model/layout.hpp"

namespace forebay::bench::emufs {

class RequestSequence {
 public:
  static constexpr std::uint64_t kFileBytes = 256_MiB;

  RequestSequence(const LoadSpec& load, const model::Machine& machine, std::uint32_t client)
      : load_(load), stripe_bytes_(machine.layout.stripe_bytes), client_(client) {}

  std::uint32_t file() const { return client_ % load_.files; }
  std::uint32_t node() const { return client_ % load_.nodes; }

  /// Offset of the client's request number `i`.
  std::uint64_t offset(std::uint32_t i) const {
    if (load_.pattern == AccessPattern::kBlocks) return block_offset();
    // First servers of files rotate, so clients are spread over servers at any time. Each client
    // starts in a different stripe.
    const std::uint64_t in_stripe = std::max<std::uint64_t>(1, stripe_bytes_ / load_.request_bytes);
    const std::uint64_t stripe = i / in_stripe + client_ / load_.files;
    return stripe % (kFileBytes / stripe_bytes_) * stripe_bytes_ +
           i % in_stripe * load_.request_bytes;
  }

  /// Clients start one after the other, so that queues have the same order everywhere.
  std::chrono::nanoseconds start_delay() const {
    constexpr std::chrono::microseconds kStagger{200};
    constexpr std::chrono::microseconds kLockStagger{1000};  // about as long as a lock takes to
                                                             // change its holder
    return client_ * (load_.pattern == AccessPattern::kBlocks ? kLockStagger : kStagger);
  }

 private:
  /// The middle block straddles two stripes, unless blocks fit stripes.
  std::uint64_t block_offset() const {
    const std::uint64_t bytes = load_.request_bytes;
    if (stripe_bytes_ % bytes == 0) return client_ * bytes;
    const std::uint64_t before = load_.clients / 2 * bytes + bytes / 2;
    const std::uint64_t middle = (before / stripe_bytes_ + 1) * stripe_bytes_;
    return middle - before + client_ * bytes;
  }

  const LoadSpec& load_;
  std::uint64_t stripe_bytes_;
  std::uint32_t client_;
};

}  // namespace forebay::bench::emufs
