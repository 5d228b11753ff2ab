// SPDX-License-Identifier: Apache-2.0
// Buffers: acquired, submitted, released; and the first error, which ends all waits.
#include "stream/stream_core.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "base/assert.hpp"
#include "base/checked_cast.hpp"

namespace forebay::stream {

namespace {

/// Offsets of files are signed in the system's interface.
constexpr std::uint64_t kOffsetMax = std::numeric_limits<std::int64_t>::max();

tl::unexpected<Error> bad_submission(ErrorClass kind,
                                     const FileCore* file,
                                     std::optional<std::uint64_t> offset_bytes,
                                     std::string cause) {
  return failure({.kind = kind,
                  .operation = "submit a buffer for",
                  .path = file != nullptr ? file->path() : "a file that was moved from",
                  .offset_bytes = offset_bytes,
                  .cause = std::move(cause)});
}

}  // namespace

Result<std::shared_ptr<StreamCore>> StreamCore::make(Setup setup) {
  // One block more than the program sees: a buffer is moved inside it to align it with its offset.
  auto pool = storage::BufferPool::create(
      {.buffer_bytes = setup.plan.buffer_bytes + kBlockBytes, .count = setup.plan.buffers});
  if (!pool) return failure(pool.error());
  return std::shared_ptr<StreamCore>(new StreamCore(std::move(setup), std::move(*pool)),
                                     detail::OriginDeleter());
}

StreamCore::StreamCore(Setup setup, std::unique_ptr<storage::BufferPool> pool)
    : setup_(std::move(setup)),
      pool_(std::move(pool)),
      slots_(pool_->count()),
      completions_(setup_.plan.completion_order) {}

StreamCore::~StreamCore() { close(); }

tl::unexpected<Error> StreamCore::first_error() {
  const std::lock_guard lock(mutex_);
  FOREBAY_ASSERT(error_.has_value());
  is_error_reported_ = true;
  return failure(*error_);
}

std::optional<OutputBuffer> StreamCore::try_take_buffer() {
  std::optional<storage::Buffer> buffer = pool_->try_acquire();
  if (!buffer) return std::nullopt;
  const std::uint32_t index = buffer->index();
  const std::span<std::byte> lent = buffer->bytes().first(setup_.plan.buffer_bytes);
  slots_[index].buffer.emplace(std::move(*buffer));
  return OutputBuffer(shared_from_this(), index, lent);
}

Result<OutputBuffer> StreamCore::acquire() {
  clock_.note_acquire();
  std::optional<OutputBuffer> buffer;
  if (!is_stopped()) buffer = try_take_buffer();
  if (!buffer && !is_stopped()) buffer = wait_for_buffer();
  if (!buffer) return first_error();
  return std::move(*buffer);
}

/// No value if the stream stops first.
std::optional<OutputBuffer> StreamCore::wait_for_buffer() {
  const TimePoint begun = SteadyClock::shared().now();
  std::optional<OutputBuffer> buffer;
  {
    std::unique_lock lock(mutex_);
    // This increments the count first and checks again; a release returns first and reads the count
    // then.
    waiters_.fetch_add(1);
    buffer_free_.wait(lock, [&] {
      if (is_stopped()) return true;
      buffer = try_take_buffer();
      return buffer.has_value();
    });
    waiters_.fetch_sub(1);
  }
  clock_.note_wait(SteadyClock::shared().now() - begun);
  return buffer;
}

Result<OutputBuffer> StreamCore::acquire_at(const FileCore& file, std::uint64_t offset_bytes) {
  auto buffer = acquire();
  if (!buffer || file.plan().access == Access::kBuffered) return buffer;
  std::byte* const room = buffer->bytes_.data();
  buffer->bytes_ = {room + offset_bytes % kBlockBytes, buffer->bytes_.size()};
  return buffer;
}

Result<std::optional<OutputBuffer>> StreamCore::try_acquire() {
  clock_.note_acquire();
  if (is_stopped()) return first_error();
  return try_take_buffer();
}

void StreamCore::release_buffer(std::uint32_t index) noexcept {
  // Clear the slot first: once the buffer is back in the pool, another thread may use the slot.
  std::optional<storage::Buffer> buffer = std::exchange(slots_[index].buffer, std::nullopt);
  buffer.reset();
  notify_free_buffer();
}

void StreamCore::notify_free_buffer() noexcept {
  if (waiters_.load() == 0) return;
  const std::lock_guard lock(mutex_);
  buffer_free_.notify_one();
  signal_all();
}

/// Wakes all armed waiters. Under the lock.
void StreamCore::signal_all() noexcept {
  waiters_.fetch_sub(checked_cast<std::uint32_t>(armed_waiters_.size()));
  for (detail::Waiter* const waiter : armed_waiters_)
    waiter->signal();
  armed_waiters_.clear();
}

Status StreamCore::check_ownership(const OutputFile& file) const {
  if (Status here = check_process("write"); !here) return here;
  if (file.core_.get() == this) return {};
  return bad_submission(ErrorClass::kInvalidArgument, file.file_.get(), std::nullopt,
                        "the file belongs to another stream");
}

Status StreamCore::check_ownership(const OutputFile& file, const OutputBuffer& buffer) const {
  if (buffer.core_.get() == this) return check_ownership(file);
  return bad_submission(ErrorClass::kInvalidArgument, file.file_.get(), std::nullopt,
                        buffer.core_ ? "the buffer belongs to another stream"
                                     : "the buffer was submitted or released before");
}

Status StreamCore::submit(OutputBuffer buffer, FileCore& file, ByteRange range) {
  if (range.size == kAll) range.size = buffer.bytes_.size();
  if (range.size > buffer.bytes_.size() || range.end() > kOffsetMax) {
    return bad_submission(ErrorClass::kOutOfRange, &file, range.offset,
                          std::to_string(range.size) + " bytes to write, but the buffer " + "has " +
                              std::to_string(buffer.bytes_.size()));
  }
  if (is_stopped()) return first_error();
  if (!completions_.reserve()) {
    return bad_submission(ErrorClass::kLimit, &file, range.offset,
                          std::to_string(CompletionList::kEntriesMax) +
                              " completions are not fetched; call poll_completions()");
  }
  Slot& slot = slots_[buffer.index_];
  Submission& submission = slot.submission;
  submission.client_state = &file.device().client_state;
  submission.file_state = &file.file_state();
  submission.range = range;
  submission.data = buffer.bytes_.data();
  submission.buffer = slot.buffer->bytes().data();
  submission.slot = buffer.index_;
  submission.file_number = file.number();
  submission.submission_number = submissions_.fetch_add(1);
  submission.submitted_at = clock_.note_submitted();
  const std::shared_ptr<StreamCore> core = std::move(buffer.core_);
  file.device().queue->push(submission);
  return {};
}

Status StreamCore::write(FileCore& file,
                         std::uint64_t offset_bytes,
                         std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    auto buffer = acquire_at(file, offset_bytes);
    if (!buffer) return failure(buffer.error());
    const std::size_t size = std::min(bytes.size(), buffer->bytes_.size());
    std::memcpy(buffer->bytes_.data(), bytes.data(), size);
    if (const Status taken = submit(std::move(*buffer), file, {offset_bytes, size}); !taken)
      return taken;
    bytes = bytes.subspan(size);
    offset_bytes += size;
  }
  return is_stopped() ? Status(first_error()) : Status();
}

Result<std::size_t> StreamCore::written(std::span<WriteCompletion> into) {
  const std::size_t count = completions_.take(into);
  if (count == 0 && is_stopped()) return first_error();
  return count;
}

void StreamCore::fail(const Error& error) noexcept {
  const std::lock_guard lock(mutex_);
  if (!error_) error_ = error;
  has_failed_.store(true, std::memory_order_release);
  buffer_free_.notify_all();
  barrier_reached_.notify_all();
  signal_all();
  for (const auto& device : devices_)
    device->queue->wake();
}

void StreamCore::cancel() noexcept {
  fail(Error(
      {.kind = ErrorClass::kCancelled, .operation = "write", .cause = "the stream was canceled"}));
  {
    const std::lock_guard lock(mutex_);
    is_cancelled_.store(true);  // set after the error: a thread that reads it returns that error
  }
  barrier_reached_.notify_all();
}

void StreamCore::abandon() noexcept {
  fail(
      Error({.kind = ErrorClass::kClosed, .operation = "write", .cause = "the Runtime has ended"}));
}

void StreamCore::complete_submission(Submission& submission) noexcept {
  const std::uint32_t index = submission.slot;
  if (submission.is_written) {
    clock_.note_written(submission.range.size);
    completions_.add({.submission = submission.submission_number,
                      .file = submission.file_number,
                      .offset_bytes = submission.range.offset,
                      .size_bytes = submission.range.size});
  } else {
    completions_.cancel_reservation();
  }
  release_buffer(index);
}

}  // namespace forebay::stream
