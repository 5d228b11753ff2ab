// SPDX-License-Identifier: Apache-2.0
// What each client of a load asks for, and when it begins: the same on a mount and on the model.
// No chance is in it. Where clients meet at random, a microsecond decides who waits for whom, and
// two runs of one load differ by more than what is to be measured.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "bench/emufs/loads.hpp"
#include "model/layout.hpp"

namespace forebay::bench::emufs {

class Sequence {
 public:
  static constexpr std::uint64_t kFileBytes = 256_MiB;

  Sequence(const LoadSpec& load, const model::Machine& machine, std::uint32_t client)
      : load_(load), stripe_bytes_(machine.layout.stripe_bytes), client_(client) {}

  std::uint32_t file() const { return client_ % load_.files; }
  std::uint32_t node() const { return client_ % load_.nodes; }

  /// Of the client's request number `i`.
  std::uint64_t offset(std::uint32_t i) const {
    if (load_.pattern == Pattern::kBlocks) return own_block();
    // Files begin on servers in turns, so that clients are spread over servers at any time; each
    // reads on from a stripe of its own.
    const std::uint64_t in_stripe = std::max<std::uint64_t>(1, stripe_bytes_ / load_.request_bytes);
    const std::uint64_t stripe = i / in_stripe + client_ / load_.files;
    return stripe % (kFileBytes / stripe_bytes_) * stripe_bytes_ +
           i % in_stripe * load_.request_bytes;
  }

  /// Clients come one after the other, so that those who wait stand in the same order everywhere.
  std::chrono::nanoseconds begins_after() const {
    constexpr std::chrono::microseconds kApart{200};
    constexpr std::chrono::microseconds kApartForLocks{1000};  // about as long as one changes hands
    return client_ * (load_.pattern == Pattern::kBlocks ? kApartForLocks : kApart);
  }

 private:
  /// The one in the middle lies half on one stripe and half on the next, unless blocks fit stripes.
  std::uint64_t own_block() const {
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
