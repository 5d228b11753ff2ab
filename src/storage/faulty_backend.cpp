// SPDX-License-Identifier: Apache-2.0
// Faults between the engine and any backend. Injected errors never reach the inner backend; short
// transfers are real transfers of fewer bytes; delayed completions are queued here.
#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/assert.hpp"
#include "storage/faulty.hpp"

namespace forebay::storage {

FaultyBackend::FaultyBackend(std::unique_ptr<Backend> inner, FaultPlan plan)
    : inner_(std::move(inner)), plan_(std::move(plan)), random_(plan_.seed) {
  inner_results_.resize(inner_->capacity());
}

FaultyBackend::~FaultyBackend() = default;

bool FaultyBackend::is_injected(double probability) {
  return std::uniform_real_distribution<double>(0, 1)(random_) < probability;
}

/// The injected error of this attempt, if any.
std::optional<int> FaultyBackend::injected_error(const Operation& operation) {
  const ByteRange touched{operation.offset_bytes, operation.memory.size()};
  const auto is_touched = [&](std::uint64_t offset) { return touched.contains({offset, 1}); };
  if (std::ranges::any_of(plan_.bad_offsets, is_touched)) return plan_.bad_error_number;
  if (is_injected(plan_.interrupted)) return EINTR;
  if (is_injected(plan_.try_again)) return EAGAIN;
  if (is_injected(plan_.io_error)) return EIO;
  return std::nullopt;
}

/// The same operation on a prefix of its memory.
Operation FaultyBackend::shorten(Operation operation) {
  const std::size_t unit = operation.file->alignment_bytes();
  const std::size_t units = operation.memory.size() / unit;
  if (units < 2 || !is_injected(plan_.short_transfer)) return operation;
  const std::size_t kept = std::uniform_int_distribution<std::size_t>(1, units - 1)(random_);
  operation.memory = operation.memory.first(kept * unit);
  return operation;
}

std::size_t FaultyBackend::submit(std::span<const Operation> operations) {
  std::size_t taken = 0;
  for (const Operation& operation : operations) {
    if (due_.size() + delayed_.size() + inner_in_flight_ == capacity()) break;
    if (const std::optional<int> error = injected_error(operation)) {
      due_.push_back({operation.tag, -*error});
    } else {
      const Operation attempt = shorten(operation);
      const std::size_t accepted = inner_->submit({&attempt, 1});
      FOREBAY_ASSERT(accepted == 1);
      ++inner_in_flight_;
    }
    ++taken;
  }
  return taken;
}

std::size_t FaultyBackend::wait(std::span<RawCompletion> completions, Deadline deadline) {
  release_delayed(inner_in_flight_ == 0 ? ReleaseFilter::kAll : ReleaseFilter::kExpired);
  for (;;) {
    const std::size_t arrived =
        inner_->wait(inner_results_, due_.empty() ? deadline : Deadline{kDoNotBlock});
    inner_in_flight_ -= arrived;
    for (std::size_t i = 0; i < arrived; ++i)
      queue_completion(inner_results_[i]);
    if (inner_in_flight_ == 0) release_delayed(ReleaseFilter::kAll);
    if (!due_.empty()) return deliver(completions);
    if (arrived == 0) return 0;
  }
}

/// Decides whether a completion is returned now or later.
void FaultyBackend::queue_completion(RawCompletion completion) {
  if (!is_injected(plan_.delayed)) {
    due_.push_back(completion);
    return;
  }
  const auto rounds = std::uniform_int_distribution<unsigned>(1, kDelayRoundsMax)(random_);
  delayed_.push_back({completion, rounds});
}

void FaultyBackend::release_delayed(ReleaseFilter age) {
  std::vector<DelayedCompletion> still_late;
  for (DelayedCompletion& delayed : delayed_) {
    if (delayed.rounds > 0) --delayed.rounds;
    if (age == ReleaseFilter::kAll || delayed.rounds == 0) {
      due_.push_back(delayed.completion);
    } else {
      still_late.push_back(delayed);
    }
  }
  delayed_ = std::move(still_late);
}

std::size_t FaultyBackend::deliver(std::span<RawCompletion> completions) {
  if (plan_.delayed > 0) std::shuffle(due_.begin(), due_.end(), random_);
  const std::size_t count = std::min(completions.size(), due_.size());
  for (RawCompletion& completion : completions.first(count)) {
    completion = due_.back();
    due_.pop_back();
  }
  return count;
}

}  // namespace forebay::storage
