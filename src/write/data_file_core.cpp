// SPDX-License-Identifier: Apache-2.0
#include "write/data_file_core.hpp"

#include <algorithm>
#include <utility>

namespace forebay::write {

namespace {

Error queue_closed_error() {
  return Error(
      {.kind = ErrorClass::kClosed, .operation = "write", .cause = "the Runtime has ended"});
}

}  // namespace

std::optional<Error> OpenFileTable::add(const std::shared_ptr<DataFileCore>& core) {
  const std::lock_guard lock(mutex_);
  open_.push_back(core);
  return cancel_reason_;
}

void OpenFileTable::mark_closed(const DataFileCore& core) {
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::find(open_, &core, &std::shared_ptr<DataFileCore>::get);
  closed_.push_back(std::move(*found));
  open_.erase(found);
  file_closed_.notify_all();
}

void OpenFileTable::release_closed() {
  std::vector<std::shared_ptr<DataFileCore>> leaving;  // destroyed after the lock is released
  const std::lock_guard lock(mutex_);
  leaving.swap(closed_);
}

void OpenFileTable::cancel(const Error& why) {
  std::vector<std::shared_ptr<DataFileCore>> open;
  {
    const std::lock_guard lock(mutex_);
    if (!cancel_reason_) cancel_reason_ = why;
    open = open_;
  }
  for (const auto& core : open) {
    core->cancel(why);
    core->close();
  }
}

void OpenFileTable::wait_until_closed() {
  std::unique_lock lock(mutex_);
  file_closed_.wait(lock, [this] { return open_.empty(); });
}

DataFileCore::DataFileCore(Setup setup)
    : setup_(std::move(setup)), client_state_(*this, {}, setup_.limits) {}

/// False if the file has left the queue, or is about to.
bool DataFileCore::acquire_reference() noexcept {
  std::uint64_t held = references_.load();
  while (held > 0) {
    if (references_.compare_exchange_weak(held, held + 1)) return true;
  }
  return false;
}

/// The last reference submits the final barrier, which the queue completes when it does not use the
/// file any more.
void DataFileCore::release_reference() noexcept {
  if (references_.fetch_sub(1) != 1) return;
  final_barrier_.kind = stream::SubmissionKind::kBarrier;
  final_barrier_.client_state = &client_state_;
  final_barrier_.is_last = true;
  setup_.queue->push(final_barrier_);
}

void DataFileCore::close() noexcept {
  if (!is_closed_.exchange(true)) release_reference();
}

void DataFileCore::write(std::uint64_t offset_bytes, std::span<const std::byte> data, Done done) {
  if (!acquire_reference()) return complete_later(std::move(done));
  auto submission = std::make_unique<PendingWrite>();
  submission->client_state = &client_state_;
  submission->file_state = setup_.file_state.get();
  submission->range = {offset_bytes, data.size()};
  // The const_cast is safe: the queue changes data only within buffers of streams, and this
  // submission has none.
  submission->data = const_cast<std::byte*>(data.data());
  submission->submitted_at = SteadyClock::shared().now();
  submission->done = std::move(done);
  setup_.queue->push(*submission.release());
}

void DataFileCore::add_barrier(stream::Durability durability, Done done) {
  if (!acquire_reference()) return complete_later(std::move(done));
  auto barrier = std::make_unique<PendingBarrier>();
  barrier->kind = stream::SubmissionKind::kBarrier;
  barrier->client_state = &client_state_;
  barrier->file_state = setup_.file_state.get();
  barrier->durability = durability;
  barrier->done = std::move(done);
  setup_.queue->push(*barrier.release());
}

void DataFileCore::seal(std::uint64_t end_bytes, Done done) {
  if (!acquire_reference()) return complete_later(std::move(done));
  add_barrier(stream::Durability::kWritten, [this, end_bytes,
                                             done = std::move(done)](const Status& status) {
    const auto task = [this, end_bytes, status, done](const std::optional<Error>& cancel_reason) {
      finish_seal(cancel_reason ? Status(tl::unexpect, *cancel_reason) : status, end_bytes, done);
    };
    setup_.blocking_executor->add(task);
  });
}

void DataFileCore::finish_seal(const Status& written, std::uint64_t end_bytes, const Done& done) {
  if (written) {
    truncate_and_sync(end_bytes, done);
  } else {
    fail(written.error());
    done(outcome());
  }
  release_reference();
}

Status DataFileCore::truncate_if_longer(std::uint64_t end_bytes) {
  const auto size = file().size();
  if (!size) return failure(size.error());
  return *size > end_bytes ? file().truncate(end_bytes) : Status();
}

Status DataFileCore::punch_hole(ByteRange range) { return file().punch_hole(range); }

/// Blocks.
void DataFileCore::truncate_and_sync(std::uint64_t end_bytes, const Done& done) {
  if (const Status truncated = truncate_if_longer(end_bytes); !truncated) return done(truncated);
  sync(done);
}

/// Reports on the executor's thread that the queue can no longer be used.
void DataFileCore::complete_later(Done done) {
  Status status = outcome();
  if (status) status = failure(queue_closed_error());
  setup_.blocking_executor->add([status = std::move(status), done = std::move(done)](
                                    const auto& /*refused*/) { done(status); });
}

Status DataFileCore::outcome() const {
  const std::lock_guard lock(mutex_);
  return error_ ? Status(failure(*error_)) : Status();
}

void DataFileCore::fail(const Error& error) noexcept {
  {
    const std::lock_guard lock(mutex_);
    if (!error_) error_ = with_location(error, file().path());
    has_failed_.store(true, std::memory_order_release);
  }
  setup_.queue->wake();
}

void DataFileCore::fail_submission(stream::Submission& submission, const Error& error) noexcept {
  auto& write = static_cast<PendingWrite&>(submission);
  if (!write.error) write.error = error;
}

void DataFileCore::complete_submission(stream::Submission& submission) noexcept {
  {
    const std::unique_ptr<PendingWrite> write(static_cast<PendingWrite*>(&submission));
    Status status;
    if (!write->is_written) status = outcome();
    if (write->error) status = failure(*write->error);
    if (!write->is_written && status) status = failure(queue_closed_error());
    write->done(status);
  }
  release_reference();
}

void DataFileCore::complete_barrier(stream::Barrier& barrier) noexcept {
  if (&barrier == &final_barrier_) {
    const auto blocking_executor =
        setup_.blocking_executor;  // `this` may be destroyed in mark_closed()
    const auto files = setup_.files;
    files->mark_closed(*this);
    blocking_executor->add([files](const std::optional<Error>& cancel_reason) {
      if (!cancel_reason) files->release_closed();
    });
    return;
  }
  {
    const std::unique_ptr<PendingBarrier> wait(static_cast<PendingBarrier*>(&barrier));
    Status status = outcome();
    if (status && !wait->is_written) status = failure(queue_closed_error());
    wait->done(status);
  }
  release_reference();
}

}  // namespace forebay::write
