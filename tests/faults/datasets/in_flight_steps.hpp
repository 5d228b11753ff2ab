// SPDX-License-Identifier: Apache-2.0
// Steps in flight: a rank commits the next one before it has the receipts of earlier ones, as many
// as its plan allows. Ranks drift apart.
#pragma once

#include <forebay/dataset_writer.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>

namespace forebay::faults {

/// The outcome of a committed step, as one rank received it.
struct StepResult {
  std::uint64_t step = 0;
  Result<Receipt> receipt;
};

/// The pending receipts of one rank. For one thread.
class InFlightSteps {
 public:
  /// `max` is steps_in_flight of the plan.
  explicit InFlightSteps(std::size_t max) : max_(max) {}

  bool is_empty() const { return pending_.empty(); }
  /// Whether the oldest step must complete before another can begin.
  bool is_full() const { return pending_.size() >= max_; }
  void add(std::uint64_t step, Future<Receipt> receipt);
  /// Waits for the receipt of the oldest step. After a minute without it, returns an Error of class
  /// kLimit: something hangs. There must be a pending receipt.
  StepResult wait_oldest();

 private:
  struct PendingReceipt {
    std::uint64_t step;
    Future<Receipt> receipt;
  };
  const std::size_t max_;
  std::deque<PendingReceipt> pending_;
};

/// Delays a rank by up to some milliseconds, a function of seed, step and rank.
void delay_rank(std::uint64_t seed, std::uint64_t step, std::uint32_t rank);

}  // namespace forebay::faults
