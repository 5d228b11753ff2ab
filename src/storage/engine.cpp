// SPDX-License-Identifier: Apache-2.0
// How attempts become completions. Every operation in flight has a slot, whose index is the tag of
// its attempts. It is in exactly one place: at the backend, in ready_, or in retrying_.
#include "storage/engine.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/assert.hpp"
#include "base/checked_cast.hpp"

namespace forebay::storage {

namespace {

/// The kernel refuses to allocate zero bytes; here it succeeds.
bool is_empty_allocation(const Operation& operation) noexcept {
  return operation.kind == OperationKind::kAllocate && operation.length_bytes == 0;
}

bool is_transfer(const Operation& operation) noexcept {
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

Engine::~Engine() = default;  // the backend's destructor waits for operations in flight

std::size_t Engine::submit(std::span<const Operation> operations) {
  const std::size_t taken = allocate_slots(operations);
  submit_attempts(SubmitMode::kImmediate);
  return taken;
}

std::size_t Engine::enqueue(std::span<const Operation> operations) {
  const std::size_t taken = allocate_slots(operations);
  submit_attempts(SubmitMode::kDeferred);
  return taken;
}

/// Fills slots with the first operations, as many as fit.
std::size_t Engine::allocate_slots(std::span<const Operation> operations) {
  const std::size_t taken = std::min(operations.size(), free_.size());
  for (const Operation& operation : operations.first(taken)) {
    FOREBAY_ASSERT(backend_->can_submit(*operation.file));
    const std::uint32_t index = free_.back();
    free_.pop_back();
    Slot& slot = slots_[index];
    slot.operation = operation;
    slot.progress = {operation.memory.size(), operation.file->alignment_bytes()};
    slot.backoff_us = {};
    slot.attempt_bytes_max = 0;
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
    submit_attempts(SubmitMode::kDeferred);
    const std::span<RawCompletion> raw(raw_.data(), raw_count);
    const std::size_t arrived = backend_->wait(raw, earliest_deadline(deadline));
    const bool is_watched_ready = backend_->consume_watch_event();
    is_watched_readable_ = is_watched_readable_ || is_watched_ready;
    if (const std::size_t count = handle_completions(raw.first(arrived), completions); count > 0) {
      submit_attempts(SubmitMode::kImmediate);
      return count;
    }
    if (is_watched_ready) return 0;
    // The backend may have consumed a wake() together with an unfinished transfer.
    if (is_woken_.exchange(false)) return 0;
    if (arrived > 0) continue;
    // The backend returned no completion: the deadline passed, or a retry is due.
    if (deadline && clock_.now() >= *deadline) return 0;
  }
}

void Engine::wake() noexcept {
  is_woken_.store(true);
  backend_->wake();
}

/// The part of the operation that its next attempt covers.
Operation Engine::next_attempt(std::uint32_t index) const noexcept {
  const Slot& slot = slots_[index];
  Operation attempt = slot.operation;
  attempt.tag = index;
  if (is_transfer(attempt)) {
    const std::uint64_t first = slot.progress.resume_offset();
    attempt.offset_bytes += first;
    const std::uint64_t left = slot.progress.attempt_bytes();
    const std::uint64_t size =
        slot.attempt_bytes_max == 0 ? left : std::min(left, slot.attempt_bytes_max);
    attempt.memory = attempt.memory.subspan(first, size);
  }
  return attempt;
}

/// Submits all of ready_ to the backend, in one call. Operations that it does not accept stay in
/// ready_.
void Engine::submit_attempts(SubmitMode start) {
  if (ready_.empty()) return;
  batch_.clear();
  for (const std::uint32_t index : ready_)
    batch_.push_back(next_attempt(index));
  const std::size_t taken =
      start == SubmitMode::kImmediate ? backend_->submit(batch_) : backend_->enqueue(batch_);
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

/// After stop_retries(): completes operations that wait for a retry.
std::size_t Engine::fail_retries(std::span<Completion> completions) {
  if (!are_retries_stopped_) return 0;
  const std::size_t count = std::min(completions.size(), retrying_.size());
  for (Completion& completion : completions.first(count)) {
    const std::uint32_t index = retrying_.back();
    retrying_.pop_back();
    completion = finish(index, failure(error_of(slots_[index], EAGAIN)));
  }
  return count;
}

std::size_t Engine::handle_completions(std::span<const RawCompletion> raw,
                                       std::span<Completion> completions) {
  std::size_t count = 0;
  for (const RawCompletion& arrived : raw) {
    if (std::optional<Completion> completion = handle_completion(arrived)) {
      completions[count++] = std::move(*completion);
    }
  }
  return count;
}

/// The operation's completion, or no value if it continues.
std::optional<Completion> Engine::handle_completion(const RawCompletion& raw) {
  FOREBAY_ASSERT(raw.tag < slots_.size());
  const auto index = static_cast<std::uint32_t>(raw.tag);
  if (raw.result < 0) return handle_error(index, checked_cast<int>(-raw.result));
  if (!is_transfer(slots_[index].operation)) return finish(index, 0);
  return handle_transfer(index, static_cast<std::uint64_t>(raw.result));
}

std::optional<Completion> Engine::handle_transfer(std::uint32_t index, std::uint64_t moved_bytes) {
  Slot& slot = slots_[index];
  FOREBAY_ASSERT(moved_bytes <= slot.progress.attempt_bytes());
  slot.backoff_us = {};
  const bool advanced = slot.progress.advance(moved_bytes);
  if (slot.progress.is_complete()) return finish(index, slot.progress.transferred_bytes());
  if (advanced) {
    ready_.push_back(index);
    return std::nullopt;
  }
  if (slot.operation.kind == OperationKind::kRead) {  // the end of the file
    return finish(index, slot.progress.transferred_bytes());
  }
  return finish(index, failure(error_of(slot, 0)));
}

std::optional<Completion> Engine::handle_error(std::uint32_t index, int error_number) {
  Slot& slot = slots_[index];
  if (error_number == EINVAL && is_empty_allocation(slot.operation)) return finish(index, 0);
  const bool may_pass = error_number == EAGAIN || error_number == EINTR;
  if (may_pass && retry_later(index)) return std::nullopt;
  if (error_number == EIO && retry_smaller(index)) return std::nullopt;
  return finish(index, failure(error_of(slot, error_number)));
}

/// If a FUSE file system writes only a part of a direct write, as on a full disk or quota, the
/// kernel returns EIO. So half of it is written, then half of that, until a single block returns
/// the cause. False if smaller attempts would not help.
bool Engine::retry_smaller(std::uint32_t index) {
  Slot& slot = slots_[index];
  const File& file = *slot.operation.file;
  const bool may_be_in_part = slot.operation.kind == OperationKind::kWrite &&
                              file.file_system() == FileSystem::kFuse &&
                              file.access() == Access::kDirect;
  const std::uint64_t block = file.alignment_bytes();
  const std::uint64_t tried = next_attempt(index).memory.size();
  if (!may_be_in_part || tried <= block) return false;
  slot.attempt_bytes_max = std::max(block, tried / 2 & ~(block - 1));
  ready_.push_back(index);
  return true;
}

/// Schedules a retry of the operation; false once the total limit has passed.
bool Engine::retry_later(std::uint32_t index) {
  if (are_retries_stopped_) return false;
  Slot& slot = slots_[index];
  const TimePoint now = clock_.now();
  if (slot.backoff_us.count() == 0) {
    slot.first_eagain = now;
    slot.backoff_us = options_.retry_first_us;
  } else {
    slot.backoff_us *= 2;
  }
  slot.retry_at = now + slot.backoff_us;
  if (slot.retry_at - slot.first_eagain > options_.retry_total_us_max) return false;
  retrying_.push_back(index);
  return true;
}

Completion Engine::finish(std::uint32_t index, Result<std::uint64_t> bytes) {
  free_.push_back(index);
  return {slots_[index].operation.tag, std::move(bytes)};
}

/// `error_number` 0: a write without progress.
Error Engine::error_of(const Slot& slot, int error_number) const {
  const Operation& operation = slot.operation;
  ErrorDetails details{.operation = std::string(name_of(operation.kind)),
                       .path = operation.file->path()};
  if (operation.kind != OperationKind::kSync) {
    details.offset_bytes = operation.offset_bytes + slot.progress.resume_offset();
  }
  if (error_number == 0) {
    details.cause = "the file system accepted no more bytes and returned no error";
    return Error(std::move(details));
  }
  const bool is_reservation = operation.kind == OperationKind::kAllocate;
  const std::uint64_t wanted =
      is_reservation ? operation.length_bytes : slot.progress.attempt_bytes();
  details.cause = no_space_cause(*operation.file, wanted, error_number);
  if (error_number == EAGAIN || error_number == EINTR)
    details.cause = "retries exceeded the time limit";
  if (error_number == EINVAL &&
      !is_aligned(*operation.file, operation.offset_bytes, operation.memory)) {
    details.cause = "direct access needs offset, length and address in multiples of " +
                    std::to_string(operation.file->alignment_bytes());
  }
  return system_error(std::move(details), error_number);
}

Deadline Engine::earliest_deadline(Deadline deadline) const noexcept {
  for (const std::uint32_t index : retrying_) {
    const TimePoint retry_at = slots_[index].retry_at;
    if (!deadline || retry_at < *deadline) deadline = retry_at;
  }
  return deadline;
}

}  // namespace forebay::storage
