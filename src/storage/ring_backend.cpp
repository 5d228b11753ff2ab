// SPDX-License-Identifier: Apache-2.0
// io_uring through liburing. No kernel polling thread (SQPOLL) and no completion polling (IOPOLL):
// on shared cores the first was 14 times slower than none, and most devices refuse the second.
#include "storage/ring_backend.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <utility>
#include <vector>

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/assert.hpp"
#include "base/checked_cast.hpp"
#include "base/descriptor.hpp"
#include "base/sleep_until_ready.hpp"
#include "storage/issuer_wakeup.hpp"
#include "storage/ring.hpp"

namespace forebay::storage {

namespace {

/// Tags of internal entries; those of operations are below.
constexpr std::uint64_t kWakeTag = UINT64_MAX - 1;
constexpr std::uint64_t kCancelTag = UINT64_MAX - 2;
constexpr std::uint64_t kWatchTag = UINT64_MAX - 3;
constexpr std::uint64_t kOperationTagLimit = std::uint64_t{1} << 63U;

/// The wake-up read, the poll of the watched descriptor and cancellations, besides operations.
constexpr unsigned kInternalEntries = 6;
constexpr std::size_t kQueueDepthMax = 16384;
constexpr std::size_t kRegisteredBytesMax = std::size_t{1} << 30U;  ///< the kernel's limit
constexpr unsigned kRegisteredCountMax = 256;
/// Failures of io_uring_enter in a row after which the ring counts as unusable. Each takes a pause,
/// in which operations already at the kernel may still complete.
constexpr unsigned kEnterFailuresMax = 1000;
/// Failures further apart than this are not in a row: signals sometimes interrupt long waits.
constexpr std::chrono::milliseconds kEnterFailureGap{100};

class RingBackend final : public Backend {
 public:
  RingBackend(std::size_t queue_depth, LogSink& log) : queue_depth_(queue_depth), log_(log) {
    in_flight_.reserve(queue_depth_);
  }
  ~RingBackend() override;
  RingBackend(const RingBackend&) = delete;
  RingBackend& operator=(const RingBackend&) = delete;

  Status start();

  std::string_view name() const noexcept override { return "io_uring"; }
  std::size_t capacity() const noexcept override { return queue_depth_; }
  bool can_submit(const File& file) const noexcept override { return file.descriptor() >= 0; }
  std::size_t submit(std::span<const Operation> operations) override;
  std::size_t enqueue(std::span<const Operation> operations) override;
  std::size_t wait(std::span<RawCompletion> completions, Deadline deadline) override;
  void wake() noexcept override;
  Status watch(int descriptor) override;
  bool consume_watch_event() noexcept override {
    return std::exchange(is_watched_readable_, false);
  }
  Status register_buffers(std::span<std::byte> arena) override;
  void unregister_buffers(std::span<const std::byte> arena) noexcept override;

 private:
  io_uring_sqe& next_entry();
  void arm_wake();
  void arm_watch();
  void handle_internal_completion(const io_uring_cqe& entry);
  void prepare(const Operation& operation);
  void prepare_transfer(io_uring_sqe& entry, const Operation& operation);
  int registered_index(std::span<const std::byte> memory) const noexcept;
  int make_buffer_table();
  int set_buffer(std::size_t index, std::span<std::byte> memory);
  void flush();
  std::size_t collect(std::span<RawCompletion> completions);
  void enter(Deadline deadline, unsigned sleeps);
  void handle_enter_result(int result);
  std::size_t fail_in_flight(std::span<RawCompletion> completions);
  void cancel_all();

  const std::size_t queue_depth_;
  LogSink& log_;
  Ring ring_;
  Descriptor wake_descriptor_;
  std::uint64_t wake_count_ = 0;  ///< destination of the eventfd counter
  bool is_wake_armed_ = false;
  bool is_woken_ = false;
  std::atomic<bool> has_missed_wake_{false};  ///< the write of a wake() failed; not seen yet
  std::atomic<bool> has_wake_failed_{false};  ///< the last wake() failed: sleeps are short
  int watched_ = -1;
  bool is_watch_armed_ = false;
  bool is_watched_readable_ = false;      ///< seen readable, not reported yet
  bool is_closing_ = false;               ///< do not start another wake-up read
  std::vector<std::uint64_t> in_flight_;  ///< tags
  unsigned enter_failures_ = 0;           ///< of io_uring_enter in a row
  TimePoint last_enter_failure_;
  int fatal_errno_ = 0;           ///< the errno that made the ring unusable
  bool has_unsubmitted_ = false;  ///< the queue may hold operations that are not at the kernel yet
  std::vector<std::span<std::byte>> registered_buffers_;  ///< by index in the kernel's table
  bool is_registration_failure_logged_ = false;
};

Status RingBackend::start() {
  if (Status opened = ring_.open(checked_cast<unsigned>(queue_depth_) + kInternalEntries);
      !opened) {
    return opened;
  }
  wake_descriptor_ = Descriptor(::eventfd(0, EFD_CLOEXEC));
  if (!wake_descriptor_) {
    return failure(system_error({.operation = "create an event descriptor"}, errno));
  }
  arm_wake();
  const int result = ::io_uring_submit(&ring_.get());
  if (result >= 0) return {};
  wake_descriptor_ = Descriptor();  // the kernel has no operation to cancel
  return failure(ring_error("use io_uring", -result, ring_error_hint(-result)));
}

RingBackend::~RingBackend() {
  if (wake_descriptor_) cancel_all();
}

/// The kernel writes into the memory of operations, and into wake_count_, until their completions
/// are available.
void RingBackend::cancel_all() {
  if (fatal_errno_ != 0) return;  // closing the ring is the only step left
  is_closing_ = true;
  if (!in_flight_.empty()) {
    io_uring_sqe& entry = next_entry();
    ::io_uring_prep_cancel64(&entry, 0, IORING_ASYNC_CANCEL_ANY);  // an error before 5.19: wait
    entry.user_data = kCancelTag;
  }
  io_uring_sqe& entry = next_entry();
  ::io_uring_prep_cancel64(&entry, kWakeTag, 0);
  entry.user_data = kCancelTag;
  if (is_watch_armed_) {
    io_uring_sqe& watch_entry = next_entry();
    ::io_uring_prep_cancel64(&watch_entry, kWatchTag, 0);
    watch_entry.user_data = kCancelTag;
  }
  std::array<RawCompletion, 64> dropped{};
  for (;;) {
    collect(dropped);
    if (fatal_errno_ != 0 || (in_flight_.empty() && !is_wake_armed_ && !is_watch_armed_)) return;
    enter(std::nullopt, 0);
  }
}

/// A free entry of the submission queue. One is always free: at most queue_depth_ operations and
/// the internal entries are in flight or prepared.
io_uring_sqe& RingBackend::next_entry() {
  io_uring_sqe* const entry = ::io_uring_get_sqe(&ring_.get());
  FOREBAY_ASSERT(entry != nullptr);
  return *entry;
}

void RingBackend::arm_wake() {
  io_uring_sqe& entry = next_entry();
  ::io_uring_prep_read(&entry, wake_descriptor_.get(), &wake_count_, sizeof wake_count_, 0);
  entry.user_data = kWakeTag;
  is_wake_armed_ = true;
}

/// One poll, which lasts until the descriptor is readable. Each wait() starts the next one. If it
/// started right after the previous one, it would end at once, before the owner could handle the
/// event.
void RingBackend::arm_watch() {
  io_uring_sqe& entry = next_entry();
  ::io_uring_prep_poll_add(&entry, watched_, POLLIN);
  entry.user_data = kWatchTag;
  is_watch_armed_ = true;
}

Status RingBackend::watch(int descriptor) {
  FOREBAY_ASSERT(watched_ < 0);
  if (Status checked = check_watchable(descriptor); !checked) return checked;
  watched_ = descriptor;
  return {};
}

std::size_t RingBackend::submit(std::span<const Operation> operations) {
  const std::size_t taken = enqueue(operations);
  flush();
  return taken;
}

std::size_t RingBackend::enqueue(std::span<const Operation> operations) {
  const std::size_t taken = std::min(operations.size(), queue_depth_ - in_flight_.size());
  for (const Operation& operation : operations.first(taken)) {
    if (fatal_errno_ == 0) prepare(operation);
    in_flight_.push_back(operation.tag);
  }
  has_unsubmitted_ = true;
  return taken;
}

void RingBackend::prepare(const Operation& operation) {
  FOREBAY_ASSERT(operation.tag < kOperationTagLimit);
  io_uring_sqe& entry = next_entry();
  const int descriptor = operation.file->descriptor();
  switch (operation.kind) {
    case OperationKind::kRead:
    case OperationKind::kWrite:
      prepare_transfer(entry, operation);
      break;
    case OperationKind::kSync:
      ::io_uring_prep_fsync(&entry, descriptor, IORING_FSYNC_DATASYNC);
      break;
    case OperationKind::kAllocate:
      ::io_uring_prep_fallocate(&entry, descriptor, 0, static_cast<off_t>(operation.offset_bytes),
                                static_cast<off_t>(operation.length_bytes));
      break;
  }
  entry.user_data = operation.tag;
}

void RingBackend::prepare_transfer(io_uring_sqe& entry, const Operation& operation) {
  FOREBAY_ASSERT(operation.memory.size() <= kTransferBytesMax);
  const int descriptor = operation.file->descriptor();
  const auto bytes = static_cast<unsigned>(operation.memory.size());
  std::byte* const data = operation.memory.data();
  const std::uint64_t offset = operation.offset_bytes;
  const int buffer = registered_index(operation.memory);
  if (operation.kind == OperationKind::kRead) {
    if (buffer >= 0) {
      ::io_uring_prep_read_fixed(&entry, descriptor, data, bytes, offset, buffer);
    } else {
      ::io_uring_prep_read(&entry, descriptor, data, bytes, offset);
    }
  } else if (buffer >= 0) {
    ::io_uring_prep_write_fixed(&entry, descriptor, data, bytes, offset, buffer);
  } else {
    ::io_uring_prep_write(&entry, descriptor, data, bytes, offset);
  }
}

/// Index of the registered buffer that contains all of `memory`; -1 if none does.
int RingBackend::registered_index(std::span<const std::byte> memory) const noexcept {
  for (std::size_t i = 0; i < registered_buffers_.size(); ++i) {
    const std::span<std::byte> buffer = registered_buffers_[i];
    const std::byte* const end = buffer.data() + buffer.size();
    if (!buffer.empty() && memory.data() >= buffer.data() && memory.data() + memory.size() <= end) {
      return static_cast<int>(i);
    }
  }
  return -1;
}

/// Submits prepared entries to the kernel. Entries that it cannot accept now (no memory) are
/// submitted by the next enter().
void RingBackend::flush() {
  has_unsubmitted_ = false;
  while (fatal_errno_ == 0 && ::io_uring_sq_ready(&ring_.get()) > 0) {
    const int result = ::io_uring_submit(&ring_.get());
    if (result < 0) return handle_enter_result(result);
  }
}

std::size_t RingBackend::wait(std::span<RawCompletion> completions, Deadline deadline) {
  // Reaches the kernel with the next submitted operations, or when this sleeps.
  if (watched_ >= 0 && !is_watch_armed_ && fatal_errno_ == 0) arm_watch();
  bool is_last_pass = false;
  for (unsigned sleeps = 0;; ++sleeps) {
    std::size_t count = collect(completions);
    if (fatal_errno_ != 0 && count == 0) count = fail_in_flight(completions);
    // Load first, as an exchange takes the cache line in each round.
    if (has_missed_wake_.load() && has_missed_wake_.exchange(false)) is_woken_ = true;
    if (count > 0 || is_woken_ || is_watched_readable_ || is_last_pass) {
      is_woken_ = false;
      if (has_unsubmitted_) flush();
      return count;
    }
    is_last_pass = fatal_errno_ != 0 || (deadline && SteadyClock::shared().now() >= *deadline);
    enter(deadline, sleeps);
    // An unusable ring reports neither wake() nor the descriptor: after a pause the owner checks.
    is_watched_readable_ = is_watched_readable_ || (fatal_errno_ != 0 && watched_ >= 0);
  }
}

/// Takes completions out of the queue, as many as fit, without a system call.
std::size_t RingBackend::collect(std::span<RawCompletion> completions) {
  std::size_t count = 0;
  unsigned seen = 0;
  unsigned head = 0;
  io_uring_cqe* entry = nullptr;
  io_uring_for_each_cqe(&ring_.get(), head, entry) {
    if (entry->user_data < kOperationTagLimit) {
      if (count == completions.size()) break;
      completions[count++] = {entry->user_data, entry->res};
      const auto position = std::ranges::find(in_flight_, entry->user_data);
      FOREBAY_ASSERT(position != in_flight_.end());
      *position = in_flight_.back();
      in_flight_.pop_back();
    } else {
      handle_internal_completion(*entry);
    }
    ++seen;
  }
  ::io_uring_cq_advance(&ring_.get(), seen);
  if (!is_wake_armed_ && !is_closing_ && fatal_errno_ == 0)
    arm_wake();  // submitted with the next submit or wait
  return count;
}

/// A completion of an internal entry.
void RingBackend::handle_internal_completion(const io_uring_cqe& entry) {
  if (entry.user_data == kWakeTag) {
    is_wake_armed_ = false;
    is_woken_ = true;
    has_wake_failed_.store(false);
  } else if (entry.user_data == kWatchTag) {
    FOREBAY_ASSERT(entry.res != -EBADF);  // closed while it was watched
    is_watch_armed_ = false;
    is_watched_readable_ = true;  // also if the poll failed (no memory): the owner checks
  }
}

/// The only place where the issuer sleeps. Submits prepared entries. Returns with at least one
/// completion in the queue, at the deadline, or without a reason. With a deadline in the past it
/// only collects finished operations. Every sleep is limited, as the system may refuse the write of
/// wake(); `sleeps` counts those of this wait.
void RingBackend::enter(Deadline deadline, unsigned sleeps) {
  has_unsubmitted_ = false;
  io_uring* const ring = &ring_.get();
  int result = 0;
  const TimePoint now = SteadyClock::shared().now();
  TimePoint until =
      now + (has_wake_failed_.load() ? kIssuerSleepAfterFailure : issuer_sleep_limit(sleeps));
  if (deadline) until = std::min(until, *deadline);
  const std::chrono::nanoseconds left = until - now;
  if (fatal_errno_ != 0) {
    sleep_after_failure();
  } else if (left.count() <= 0) {
    result = ::io_uring_submit_and_get_events(ring);
  } else {
    const auto seconds = std::chrono::floor<std::chrono::seconds>(left);
    __kernel_timespec limit{.tv_sec = seconds.count(), .tv_nsec = (left - seconds).count()};
    io_uring_cqe* first = nullptr;
    result = ::io_uring_submit_and_wait_timeout(ring, &first, 1, &limit, nullptr);
    // An earlier ETIME is a failure.
    if (result == -ETIME && SteadyClock::shared().now() >= until) result = 0;
  }
  handle_enter_result(result);
}

/// If io_uring_enter fails many times in a row, due to a system call filter or missing memory,
/// later calls fail as well. Then operations end with that error.
void RingBackend::handle_enter_result(int result) {
  if (result >= 0) {
    enter_failures_ = 0;
    return;
  }
  const TimePoint now = SteadyClock::shared().now();
  if (now - std::exchange(last_enter_failure_, now) > kEnterFailureGap) enter_failures_ = 0;
  sleep_after_failure();
  if (++enter_failures_ < kEnterFailuresMax) return;
  fatal_errno_ = -result;
  log_.write(LogLevel::kWarning,
             ring_error("use io_uring", fatal_errno_, "operations fail from now on").message());
}

std::size_t RingBackend::fail_in_flight(std::span<RawCompletion> completions) {
  const std::size_t count = std::min(completions.size(), in_flight_.size());
  for (RawCompletion& completion : completions.first(count)) {
    completion = {in_flight_.back(), -fatal_errno_};
    in_flight_.pop_back();
  }
  return count;
}

void RingBackend::wake() noexcept {
  const std::uint64_t one = 1;
  if (::write(wake_descriptor_.get(), &one, sizeof one) == sizeof one) return;
  has_wake_failed_.store(true);
  has_missed_wake_.store(true);  // the last access: the woken issuer may destroy the backend
}

/// A sparse table, so that buffers can be registered and unregistered while others are in use.
int RingBackend::make_buffer_table() {
  if (!registered_buffers_.empty()) return 0;
  const int result = ::io_uring_register_buffers_sparse(&ring_.get(), kRegisteredCountMax);
  if (result == 0) registered_buffers_.resize(kRegisteredCountMax);
  return result;
}

/// Empty memory clears the entry.
int RingBackend::set_buffer(std::size_t index, std::span<std::byte> memory) {
  const iovec vector{memory.data(), memory.size()};
  const __u64 tag = 0;
  const int result = ::io_uring_register_buffers_update_tag(
      &ring_.get(), checked_cast<unsigned>(index), &vector, &tag, 1);
  if (result < 0) return result;
  registered_buffers_[index] = memory;
  return 0;
}

Status RingBackend::register_buffers(std::span<std::byte> arena) {
  int result = make_buffer_table();
  std::size_t index = 0;
  for (std::span<std::byte> rest = arena; !rest.empty() && result == 0;) {
    while (index < registered_buffers_.size() && !registered_buffers_[index].empty())
      ++index;
    const std::span<std::byte> piece = rest.first(std::min(rest.size(), kRegisteredBytesMax));
    result = index == registered_buffers_.size() ? -ENOSPC : set_buffer(index, piece);
    rest = rest.subspan(piece.size());
  }
  if (result == 0) return {};
  unregister_buffers(arena);
  const Error error =
      ring_error("register buffers with io_uring", -result, ring_error_hint(-result));
  if (!std::exchange(is_registration_failure_logged_, true))
    log_.write(LogLevel::kInfo, error.message() + "; transfers continue without");
  return failure(error);
}

void RingBackend::unregister_buffers(std::span<const std::byte> arena) noexcept {
  const std::byte* const end = arena.data() + arena.size();
  for (std::size_t i = 0; i < registered_buffers_.size(); ++i) {
    const std::byte* const first = registered_buffers_[i].data();
    if (registered_buffers_[i].empty() || first < arena.data() || first >= end) continue;
    set_buffer(i, {});
    // If the kernel refuses, its table keeps the old pages, and other memory may get the address.
    registered_buffers_[i] = {};
  }
}

}  // namespace

Result<std::unique_ptr<Backend>> make_ring_backend(std::size_t queue_depth, LogSink& log) {
  FOREBAY_ASSERT(queue_depth > 0);
  auto backend = std::make_unique<RingBackend>(std::min(queue_depth, kQueueDepthMax), log);
  if (const Status started = backend->start(); !started) {
    return failure(started.error());
  }
  return backend;
}

}  // namespace forebay::storage
