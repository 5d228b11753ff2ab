// SPDX-License-Identifier: Apache-2.0
#include "steps_under_way.hpp"

#include <chrono>
#include <string>
#include <thread>
#include <utility>

#include "cargo.hpp"

namespace forebay::faults {

namespace {

constexpr auto kReceiptMax = std::chrono::seconds(60);
constexpr std::uint64_t kDriftMaxUs = 3000;

}  // namespace

void StepsUnderWay::add(std::uint64_t step, Future<Receipt> receipt) {
  coming_.push_back({step, std::move(receipt)});
}

Outcome StepsUnderWay::oldest() {
  Coming first = std::move(coming_.front());
  coming_.pop_front();
  if (first.receipt.wait_for(kReceiptMax)) return {first.step, first.receipt.wait()};
  return {first.step, failure({.kind = ErrorClass::kLimit,
                               .operation = "wait for step " + std::to_string(first.step),
                               .cause = "no receipt within a minute"})};
}

void drift_apart(std::uint64_t seed, std::uint64_t step, std::uint32_t rank) {
  const std::uint64_t chance = mixed(seed, step, rank);
  // Every other time not at all: ranks come together again, and one overtakes the other.
  if (chance % 2 == 0) return;
  std::this_thread::sleep_for(std::chrono::microseconds(chance % kDriftMaxUs));
}

}  // namespace forebay::faults
