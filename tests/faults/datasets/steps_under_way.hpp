// SPDX-License-Identifier: Apache-2.0
// Steps that overlap: a rank commits the next one before it has the receipt of those before, as
// many as its plan allows, and ranks drift apart.
#pragma once

#include <forebay/dataset.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>

namespace forebay::faults {

/// What a rank was told of a step that it has committed.
struct Outcome {
  std::uint64_t step = 0;
  Result<Receipt> receipt;
};

/// The receipts that are to come on one rank. One thread.
class StepsUnderWay {
 public:
  /// `max` is what the plan has as steps_in_flight.
  explicit StepsUnderWay(std::size_t max) : max_(max) {}

  bool is_empty() const { return coming_.empty(); }
  /// Another one could not begin before the oldest one is over.
  bool is_full() const { return coming_.size() >= max_; }
  void add(std::uint64_t step, Future<Receipt> receipt);
  /// Waits for that of the oldest step. One that does not come in a minute is an Error of class
  /// kLimit: something hangs. There must be one.
  Outcome oldest();

 private:
  struct Coming {
    std::uint64_t step;
    Future<Receipt> receipt;
  };
  const std::size_t max_;
  std::deque<Coming> coming_;
};

/// Keeps a rank for a moment, up to some milliseconds, that the seed, the step and the rank decide.
void drift_apart(std::uint64_t seed, std::uint64_t step, std::uint32_t rank);

}  // namespace forebay::faults
