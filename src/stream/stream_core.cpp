// SPDX-License-Identifier: Apache-2.0
// Buffers: lent, handed over, given back; and the first error, which ends all waiting.
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
  // One block more than is lent: what does not suit its offset is moved within its buffer.
  auto pool = storage::BufferPool::create(
      {.buffer_bytes = setup.plan.buffer_bytes + kBlockBytes, .count = setup.plan.buffers});
  if (!pool) return failure(pool.error());
  return std::shared_ptr<StreamCore>(new StreamCore(std::move(setup), std::move(*pool)),
                                     detail::DeleteAtOrigin());
}

StreamCore::StreamCore(Setup setup, std::unique_ptr<storage::BufferPool> pool)
    : setup_(std::move(setup)),
      pool_(std::move(pool)),
      slots_(pool_->count()),
      completions_(setup_.plan.completions) {}

StreamCore::~StreamCore() { close(); }

tl::unexpected<Error> StreamCore::first_error() {
  const std::lock_guard lock(mutex_);
  FOREBAY_ASSERT(error_.has_value());
  error_was_told_ = true;
  return failure(*error_);
}

std::optional<OutputBuffer> StreamCore::take() {
  std::optional<storage::Buffer> buffer = pool_->try_acquire();
  if (!buffer) return std::nullopt;
  const std::uint32_t index = buffer->index();
  const std::span<std::byte> lent = buffer->bytes().first(setup_.plan.buffer_bytes);
  slots_[index].buffer.emplace(std::move(*buffer));
  return OutputBuffer(shared_from_this(), index, lent);
}

Result<OutputBuffer> StreamCore::acquire() {
  clock_.note_asked();
  std::optional<OutputBuffer> buffer;
  if (!gives_up()) buffer = take();
  if (!buffer && !gives_up()) buffer = wait_for_buffer();
  if (!buffer) return first_error();
  return std::move(*buffer);
}

/// No value if the stream gives up first.
std::optional<OutputBuffer> StreamCore::wait_for_buffer() {
  const TimePoint begun = SteadyClock::shared().now();
  std::optional<OutputBuffer> buffer;
  {
    std::unique_lock lock(mutex_);
    // Count ourselves first and look again then; who gives back does that first and counts then.
    waiters_.fetch_add(1);
    buffer_free_.wait(lock, [&] {
      if (gives_up()) return true;
      buffer = take();
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
  clock_.note_asked();
  if (gives_up()) return first_error();
  return take();
}

void StreamCore::release(std::uint32_t index) noexcept {
  // Out of its slot first: as soon as it is back in the pool, the slot is somebody else's.
  std::optional<storage::Buffer> buffer = std::exchange(slots_[index].buffer, std::nullopt);
  buffer.reset();
  tell_of_free_buffer();
}

void StreamCore::tell_of_free_buffer() noexcept {
  if (waiters_.load() == 0) return;
  const std::lock_guard lock(mutex_);
  buffer_free_.notify_one();
  signal_all();
}

/// Whoever is armed looks again. Under the lock.
void StreamCore::signal_all() noexcept {
  waiters_.fetch_sub(checked_cast<std::uint32_t>(armed_.size()));
  for (detail::Waiter* const waiter : armed_)
    waiter->signal();
  armed_.clear();
}

Status StreamCore::check_own(const OutputFile& file) const {
  if (Status here = check_process("write"); !here) return here;
  if (file.core_.get() == this) return {};
  return bad_submission(ErrorClass::kInvalidArgument, file.file_.get(), std::nullopt,
                        "the file belongs to another stream");
}

Status StreamCore::check_own(const OutputFile& file, const OutputBuffer& buffer) const {
  if (buffer.core_.get() == this) return check_own(file);
  return bad_submission(ErrorClass::kInvalidArgument, file.file_.get(), std::nullopt,
                        buffer.core_ ? "the buffer belongs to another stream"
                                     : "the buffer was submitted or released before");
}

Status StreamCore::submit(OutputBuffer buffer, FileCore& file, ByteRange range) {
  if (range.size == all) range.size = buffer.bytes_.size();
  if (range.size > buffer.bytes_.size() || range.end() > kOffsetMax) {
    return bad_submission(ErrorClass::kOutOfRange, &file, range.offset,
                          std::to_string(range.size) + " bytes are to be written, and the buffer " +
                              "has " + std::to_string(buffer.bytes_.size()));
  }
  if (gives_up()) return first_error();
  if (!completions_.reserve()) {
    return bad_submission(
        ErrorClass::kLimit, &file, range.offset,
        std::to_string(CompletionList::kEntriesMax) + " entries wait to be taken by written()");
  }
  Slot& slot = slots_[buffer.index_];
  Parcel& parcel = slot.parcel;
  parcel.account = &file.lane().account;
  parcel.target = &file.target();
  parcel.range = range;
  parcel.data = buffer.bytes_.data();
  parcel.room = slot.buffer->bytes().data();
  parcel.slot = buffer.index_;
  parcel.file = file.number();
  parcel.number = submissions_.fetch_add(1);
  parcel.submitted_at = clock_.note_submitted();
  const std::shared_ptr<StreamCore> disowned = std::move(buffer.core_);
  file.lane().queue->push(parcel);
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
  return gives_up() ? Status(first_error()) : Status();
}

Result<std::size_t> StreamCore::written(std::span<Written> into) {
  const std::size_t count = completions_.take(into);
  if (count == 0 && gives_up()) return first_error();
  return count;
}

void StreamCore::fail(const Error& error) noexcept {
  const std::lock_guard lock(mutex_);
  if (!error_) error_ = error;
  failed_.store(true, std::memory_order_release);
  buffer_free_.notify_all();
  barrier_reached_.notify_all();
  signal_all();
  for (const auto& lane : lanes_)
    lane->queue->ring();
}

void StreamCore::cancel() noexcept {
  fail(Error(
      {.kind = ErrorClass::kCancelled, .operation = "write", .cause = "the stream was cancelled"}));
  {
    const std::lock_guard lock(mutex_);
    cancelled_.store(true);  // after the error: who sees it takes that
  }
  barrier_reached_.notify_all();
}

void StreamCore::abandon() noexcept {
  fail(
      Error({.kind = ErrorClass::kClosed, .operation = "write", .cause = "the Runtime has ended"}));
}

void StreamCore::give_back(Parcel& parcel) noexcept {
  const std::uint32_t index = parcel.slot;
  if (parcel.is_written) {
    clock_.note_written(parcel.range.size);
    completions_.add({.submission = parcel.number,
                      .file = parcel.file,
                      .offset_bytes = parcel.range.offset,
                      .size_bytes = parcel.range.size});
  } else {
    completions_.forget();
  }
  release(index);
}

}  // namespace forebay::stream
