// SPDX-License-Identifier: Apache-2.0
// How attempts become completions. Every operation in flight has a slot, its index is the tag of
// its attempts, and it is in exactly one place: with the backend, in ready_, or in retrying_.
#include "storage/engine.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/assert.hpp"
#include "base/checked_cast.hpp"

namespace forebay::storage {

namespace {

/// The kernel refuses to allocate nothing; for us it is done.
bool allocates_nothing(const Operation& operation) noexcept {
  return operation.kind == OperationKind::kAllocate && operation.length_bytes == 0;
}

bool moves_bytes(const Operation& operation) noexcept {
  return operation.kind == OperationKind::kRead || operation.kind == OperationKind::kWrite;
}

}  // namespace

Engine::Engine(std::unique_ptr<Backend> backend, EngineOptions options)
    : backend_(std::move(backend)),
      options_(options),
      clock_(options.clock != nullptr ? *options.clock : SteadyClock::shared()) {
  FOREBAY_ASSERT(backend_ != nullptr);
  FOREBAY_ASSERT(options.queue_depth > 0);
  const std::size_t capacity = std::min(options.queue_depth, backend_->capacity());
  slots_.resize(capacity);
  free_.reserve(capacity);
  ready_.reserve(capacity);
  retrying_.reserve(capacity);
  batch_.reserve(capacity);
  raw_.resize(capacity);
  for (std::size_t i = capacity; i > 0; --i)
    free_.push_back(checked_cast<std::uint32_t>(i - 1));
}

Engine::~Engine() = default;  // the backend's destructor waits for what is under way

std::size_t Engine::submit(std::span<const Operation> operations) {
  const std::size_t taken = take(operations);
  start_attempts(Start::kNow);
  return taken;
}

std::size_t Engine::enqueue(std::span<const Operation> operations) {
  const std::size_t taken = take(operations);
  start_attempts(Start::kWithWait);
  return taken;
}

/// Makes slots of the first operations, as many as there is room for.
std::size_t Engine::take(std::span<const Operation> operations) {
  const std::size_t taken = std::min(operations.size(), free_.size());
  for (const Operation& operation : operations.first(taken)) {
    FOREBAY_ASSERT(backend_->accepts(*operation.file));
    const std::uint32_t index = free_.back();
    free_.pop_back();
    Slot& slot = slots_[index];
    slot.operation = operation;
    slot.progress = {operation.memory.size(), operation.file->alignment_bytes()};
    slot.backoff_us = {};
    slot.piece_bytes = 0;
    ready_.push_back(index);
  }
  return taken;
}

std::size_t Engine::wait(std::span<Completion> completions, Deadline deadline) {
  FOREBAY_ASSERT(!completions.empty());
  const std::size_t raw_count = std::min(completions.size(), raw_.size());
  for (;;) {
    requeue_due_retries();
    if (const std::size_t failed = fail_retries(completions); failed > 0) return failed;
    start_attempts(Start::kWithWait);
    const std::span<RawCompletion> raw(raw_.data(), raw_count);
    const std::size_t arrived = backend_->wait(raw, until_next_retry(deadline));
    const bool is_called = backend_->take_watched();
    watched_fired_ = watched_fired_ || is_called;
    if (const std::size_t count = settle_all(raw.first(arrived), completions); count > 0) {
      start_attempts(Start::kNow);
      return count;
    }
    if (is_called) return 0;
    // The backend may have taken somebody's wake() together with a transfer that goes on.
    if (woken_.exchange(false)) return 0;
    if (arrived > 0) continue;
    // The backend came back with nothing: the deadline passed, or a retry is due.
    if (deadline && clock_.now() >= *deadline) return 0;
  }
}

void Engine::wake() noexcept {
  woken_.store(true);
  backend_->wake();
}

/// The part of the operation that its next attempt covers.
Operation Engine::next_attempt(std::uint32_t index) const noexcept {
  const Slot& slot = slots_[index];
  Operation attempt = slot.operation;
  attempt.tag = index;
  if (moves_bytes(attempt)) {
    const std::uint64_t first = slot.progress.restart_bytes();
    attempt.offset_bytes += first;
    const std::uint64_t left = slot.progress.attempt_bytes();
    const std::uint64_t size = slot.piece_bytes == 0 ? left : std::min(left, slot.piece_bytes);
    attempt.memory = attempt.memory.subspan(first, size);
  }
  return attempt;
}

/// Hands everything in ready_ to the backend, in one call. What it does not take stays for the next
/// time.
void Engine::start_attempts(Start start) {
  if (ready_.empty()) return;
  batch_.clear();
  for (const std::uint32_t index : ready_)
    batch_.push_back(next_attempt(index));
  const std::size_t taken =
      start == Start::kNow ? backend_->submit(batch_) : backend_->enqueue(batch_);
  ready_.erase(ready_.begin(), ready_.begin() + static_cast<std::ptrdiff_t>(taken));
}

void Engine::requeue_due_retries() {
  if (retrying_.empty()) return;
  const TimePoint now = clock_.now();
  const auto waits = [&](std::uint32_t index) { return slots_[index].retry_at > now; };
  const auto due = std::partition(retrying_.begin(), retrying_.end(), waits);
  ready_.insert(ready_.end(), due, retrying_.end());
  retrying_.erase(due, retrying_.end());
}

/// After end_retries(): gives out operations that wait for another try.
std::size_t Engine::fail_retries(std::span<Completion> completions) {
  if (!retries_ended_) return 0;
  const std::size_t count = std::min(completions.size(), retrying_.size());
  for (Completion& completion : completions.first(count)) {
    const std::uint32_t index = retrying_.back();
    retrying_.pop_back();
    completion = finish(index, failure(error_of(slots_[index], EAGAIN)));
  }
  return count;
}

std::size_t Engine::settle_all(std::span<const RawCompletion> raw,
                               std::span<Completion> completions) {
  std::size_t count = 0;
  for (const RawCompletion& arrived : raw) {
    if (std::optional<Completion> completion = settle(arrived)) {
      completions[count++] = std::move(*completion);
    }
  }
  return count;
}

/// The operation's completion, or nothing if it goes on.
std::optional<Completion> Engine::settle(const RawCompletion& raw) {
  FOREBAY_ASSERT(raw.tag < slots_.size());
  const auto index = static_cast<std::uint32_t>(raw.tag);
  if (raw.result < 0) return settle_error(index, checked_cast<int>(-raw.result));
  if (!moves_bytes(slots_[index].operation)) return finish(index, 0);
  return settle_transfer(index, static_cast<std::uint64_t>(raw.result));
}

std::optional<Completion> Engine::settle_transfer(std::uint32_t index, std::uint64_t moved_bytes) {
  Slot& slot = slots_[index];
  FOREBAY_ASSERT(moved_bytes <= slot.progress.attempt_bytes());
  slot.backoff_us = {};
  const bool advanced = slot.progress.advance(moved_bytes);
  if (slot.progress.complete()) return finish(index, slot.progress.reached_bytes());
  if (advanced) {
    ready_.push_back(index);
    return std::nullopt;
  }
  if (slot.operation.kind == OperationKind::kRead) {  // the end of the file
    return finish(index, slot.progress.reached_bytes());
  }
  return finish(index, failure(error_of(slot, 0)));
}

std::optional<Completion> Engine::settle_error(std::uint32_t index, int error_number) {
  Slot& slot = slots_[index];
  if (error_number == EINVAL && allocates_nothing(slot.operation)) return finish(index, 0);
  const bool may_pass = error_number == EAGAIN || error_number == EINTR;
  if (may_pass && retry_later(index)) return std::nullopt;
  if (error_number == EIO && try_less(index)) return std::nullopt;
  return finish(index, failure(error_of(slot, error_number)));
}

/// Of a direct write that a FUSE file system carried out in part, as where a disk or a quota is
/// full, the kernel makes EIO. Half of it is written then, and half of that, until a single block
/// says what is wrong. False where nothing is to be learnt so.
bool Engine::try_less(std::uint32_t index) {
  Slot& slot = slots_[index];
  const File& file = *slot.operation.file;
  const bool may_be_in_part = slot.operation.kind == OperationKind::kWrite &&
                              file.file_system() == FileSystem::kFuse &&
                              file.access() == Access::kDirect;
  const std::uint64_t block = file.alignment_bytes();
  const std::uint64_t tried = next_attempt(index).memory.size();
  if (!may_be_in_part || tried <= block) return false;
  slot.piece_bytes = std::max(block, tried / 2 & ~(block - 1));
  ready_.push_back(index);
  return true;
}

/// Puts the operation off; false if it was put off for long enough.
bool Engine::retry_later(std::uint32_t index) {
  if (retries_ended_) return false;
  Slot& slot = slots_[index];
  const TimePoint now = clock_.now();
  if (slot.backoff_us.count() == 0) {
    slot.first_refusal = now;
    slot.backoff_us = options_.retry_first_us;
  } else {
    slot.backoff_us *= 2;
  }
  slot.retry_at = now + slot.backoff_us;
  if (slot.retry_at - slot.first_refusal > options_.retry_total_us_max) return false;
  retrying_.push_back(index);
  return true;
}

Completion Engine::finish(std::uint32_t index, Result<std::uint64_t> bytes) {
  free_.push_back(index);
  return {slots_[index].operation.tag, std::move(bytes)};
}

/// `error_number` 0: a write that the file system does not go on with.
Error Engine::error_of(const Slot& slot, int error_number) const {
  const Operation& operation = slot.operation;
  ErrorDetails details{.operation = std::string(name_of(operation.kind)),
                       .path = operation.file->path()};
  if (operation.kind != OperationKind::kSync) {
    details.offset_bytes = operation.offset_bytes + slot.progress.restart_bytes();
  }
  if (error_number == 0) {
    details.cause = "the file system took no more bytes and gave no reason";
    return Error(std::move(details));
  }
  const bool is_reservation = operation.kind == OperationKind::kAllocate;
  const std::uint64_t wanted =
      is_reservation ? operation.length_bytes : slot.progress.attempt_bytes();
  details.cause = cause_of_no_space(*operation.file, wanted, error_number);
  if (error_number == EAGAIN || error_number == EINTR)
    details.cause = "it was tried again for as long as allowed";
  if (error_number == EINVAL &&
      !is_aligned(*operation.file, operation.offset_bytes, operation.memory)) {
    details.cause = "direct access needs offset, length and address in multiples of " +
                    std::to_string(operation.file->alignment_bytes());
  }
  return system_error(std::move(details), error_number);
}

Deadline Engine::until_next_retry(Deadline deadline) const noexcept {
  for (const std::uint32_t index : retrying_) {
    const TimePoint retry_at = slots_[index].retry_at;
    if (!deadline || retry_at < *deadline) deadline = retry_at;
  }
  return deadline;
}

}  // namespace forebay::storage
