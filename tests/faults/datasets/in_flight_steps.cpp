// SPDX-License-Identifier: Apache-2.0
#include "in_flight_steps.hpp"

#include <chrono>
#include <string>
#include <thread>
#include <utility>

#include "test_contents.hpp"

namespace forebay::faults {

namespace {

constexpr auto kReceiptMax = std::chrono::seconds(60);
constexpr std::uint64_t kDelayMaxUs = 3000;

}  // namespace

void InFlightSteps::add(std::uint64_t step, Future<Receipt> receipt) {
  pending_.push_back({step, std::move(receipt)});
}

StepResult InFlightSteps::wait_oldest() {
  PendingReceipt first = std::move(pending_.front());
  pending_.pop_front();
  if (first.receipt.wait_for(kReceiptMax)) return {first.step, first.receipt.wait()};
  return {first.step, failure({.kind = ErrorClass::kLimit,
                               .operation = "wait for step " + std::to_string(first.step),
                               .cause = "no receipt within a minute"})};
}

void delay_rank(std::uint64_t seed, std::uint64_t step, std::uint32_t rank) {
  const std::uint64_t chance = hash_mix(seed, step, rank);
  // Half of the steps have no delay: ranks meet again, and one overtakes the other.
  if (chance % 2 == 0) return;
  std::this_thread::sleep_for(std::chrono::microseconds(chance % kDelayMaxUs));
}

}  // namespace forebay::faults
