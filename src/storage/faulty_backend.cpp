// SPDX-License-Identifier: Apache-2.0
// Faults between the engine and any backend. Errors are made up here and never reach the inner
// backend; short transfers are real transfers of less; late completions wait here.
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

bool FaultyBackend::happens(double probability) {
  return std::uniform_real_distribution<double>(0, 1)(random_) < probability;
}

/// The error this attempt fails with, if it fails.
std::optional<int> FaultyBackend::error_for(const Operation& operation) {
  const ByteRange touched{operation.offset_bytes, operation.memory.size()};
  const auto is_touched = [&](std::uint64_t offset) { return touched.contains({offset, 1}); };
  if (std::ranges::any_of(plan_.bad_offsets, is_touched)) return plan_.bad_error_number;
  if (happens(plan_.interrupted)) return EINTR;
  if (happens(plan_.try_again)) return EAGAIN;
  if (happens(plan_.io_error)) return EIO;
  return std::nullopt;
}

/// The same operation on a part of its memory, from the front.
Operation FaultyBackend::shorten(Operation operation) {
  const std::size_t unit = operation.file->alignment_bytes();
  const std::size_t units = operation.memory.size() / unit;
  if (units < 2 || !happens(plan_.short_transfer)) return operation;
  const std::size_t kept = std::uniform_int_distribution<std::size_t>(1, units - 1)(random_);
  operation.memory = operation.memory.first(kept * unit);
  return operation;
}

std::size_t FaultyBackend::submit(std::span<const Operation> operations) {
  std::size_t taken = 0;
  for (const Operation& operation : operations) {
    if (due_.size() + late_.size() + inner_in_flight_ == capacity()) break;
    if (const std::optional<int> error = error_for(operation)) {
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
  release_late(inner_in_flight_ == 0 ? LateAge::kAny : LateAge::kOld);
  for (;;) {
    const std::size_t arrived =
        inner_->wait(inner_results_, due_.empty() ? deadline : Deadline{kDoNotBlock});
    inner_in_flight_ -= arrived;
    for (std::size_t i = 0; i < arrived; ++i)
      sort_in(inner_results_[i]);
    if (inner_in_flight_ == 0) release_late(LateAge::kAny);
    if (!due_.empty()) return give_out(completions);
    if (arrived == 0) return 0;
  }
}

/// Decides whether a completion is given out now or later.
void FaultyBackend::sort_in(RawCompletion completion) {
  if (!happens(plan_.late)) {
    due_.push_back(completion);
    return;
  }
  const auto rounds = std::uniform_int_distribution<unsigned>(1, kLateRoundsMax)(random_);
  late_.push_back({completion, rounds});
}

void FaultyBackend::release_late(LateAge age) {
  std::vector<Late> still_late;
  for (Late& late : late_) {
    if (late.rounds > 0) --late.rounds;
    if (age == LateAge::kAny || late.rounds == 0) {
      due_.push_back(late.completion);
    } else {
      still_late.push_back(late);
    }
  }
  late_ = std::move(still_late);
}

std::size_t FaultyBackend::give_out(std::span<RawCompletion> completions) {
  if (plan_.late > 0) std::shuffle(due_.begin(), due_.end(), random_);
  const std::size_t count = std::min(completions.size(), due_.size());
  for (RawCompletion& completion : completions.first(count)) {
    completion = due_.back();
    due_.pop_back();
  }
  return count;
}

}  // namespace forebay::storage
