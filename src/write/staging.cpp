// SPDX-License-Identifier: Apache-2.0
// Memory is made ready by one at a time, outside of the lock; whoever finds none free does it, or
// waits for who is at it. That depends on nobody else and takes milliseconds, so it is no wait in
// the sense of take().
#include "write/staging.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <string>
#include <utility>

#include "base/assert.hpp"
#include "base/checked_cast.hpp"
#include "base/clock.hpp"
#include "base/service_thread.hpp"

namespace forebay::write {

namespace {

/// Made ready in one go: enough for the cost of a call to be small, milliseconds at most.
constexpr std::uint64_t kChunkBytes = std::uint64_t{16} << 20U;
/// A wait of this length has no end that anybody would see.
constexpr std::chrono::nanoseconds kForEver = std::chrono::hours(24 * 365);

Status check_options(const StagingOptions& options) {
  const auto wrong = [](std::string cause) -> Status {
    return failure({.kind = ErrorClass::kInvalidArgument,
                    .operation = "make staging memory",
                    .cause = std::move(cause)});
  };
  const std::uint64_t segment = options.segment_bytes;
  if (segment == 0 || segment % shm::kDirectBytes != 0)
    return wrong("segments of " + std::to_string(segment) + " bytes are no multiple of 4096");
  if (options.memory_bytes < segment) {
    return wrong("memory of " + std::to_string(options.memory_bytes) +
                 " bytes does not hold one segment, which has " + std::to_string(segment));
  }
  if (options.memory_bytes / segment > std::numeric_limits<std::uint32_t>::max() - 1)
    return wrong("segments of " + std::to_string(segment) + " bytes are too many");
  return {};
}

Deadline deadline_after(std::chrono::nanoseconds wait_max) {
  if (wait_max >= kForEver) return std::nullopt;
  return SteadyClock::shared().now() + wait_max;
}

}  // namespace

/// The memory may be larger than asked for; the bound holds all the same.
Staging::Staging(shm::MemoryLoan loan, const StagingOptions& options)
    : source_(options.source),
      memory_(std::move(loan.memory)),
      ready_before_bytes_(loan.ready_bytes),
      segment_bytes_(options.segment_bytes),
      segment_count_(checked_cast<std::uint32_t>(options.memory_bytes / segment_bytes_)),
      chunk_segments_(
          checked_cast<std::uint32_t>(std::max<std::uint64_t>(1, kChunkBytes / segment_bytes_))),
      log_(options.log),
      quiet_wait_(options.quiet_wait),
      is_taken_(segment_count_, false) {
  free_.reserve(segment_count_);
  counts_.segments = segment_count_;
  counts_.ready = checked_cast<std::uint32_t>(
      std::min<std::uint64_t>(loan.ready_bytes / segment_bytes_, segment_count_));
  free_.resize(counts_.ready);
  std::iota(free_.rbegin(), free_.rend(), 0U);
}

Result<shm::MemoryLoan> Staging::take_memory(const StagingOptions& options,
                                             std::uint64_t size_bytes) {
  if (options.source) return options.source->borrow("forebay-staging", size_bytes);
  auto memory = shm::NodeMemory::create("forebay-staging", size_bytes);
  if (!memory) return failure(memory.error());
  return shm::MemoryLoan{.memory = std::move(*memory)};
}

Result<std::shared_ptr<Staging>> Staging::make(const StagingOptions& options) {
  if (auto possible = check_options(options); !possible) return failure(possible.error());
  const std::uint64_t bytes = options.memory_bytes / options.segment_bytes * options.segment_bytes;
  auto loan = take_memory(options, bytes);
  if (!loan) return failure(loan.error());
  const bool is_ready = loan->ready_bytes >= std::min(options.ready_bytes, bytes);
  std::shared_ptr<Staging> staging(new Staging(std::move(*loan), options));
  if (is_ready) return staging;
  auto thread = start_service_thread(
      "forebay-staging",
      [raw = staging.get(), ready = options.ready_bytes] { raw->make_ready(ready); });
  if (!thread) return failure(thread.error());
  staging->preparer_ = std::move(*thread);
  return staging;
}

Staging::~Staging() {
  {
    const std::lock_guard lock(mutex_);
    is_ending_ = true;
  }
  freed_.notify_all();
  if (preparer_.joinable()) preparer_.join();
  if (!source_) return;
  // What somebody has not given back may still be read by another process: nobody gets it again.
  const std::uint64_t ready_bytes = std::max(ready_before_bytes_, counts_.ready * segment_bytes_);
  // A chunk that failed may hold memory that `ready_bytes` does not count.
  const bool is_of_use = counts_.taken == 0 && !no_memory_;
  source_->give_back({.memory = std::move(memory_), .ready_bytes = is_of_use ? ready_bytes : 0});
}

/// The preparer's work.
void Staging::make_ready(std::uint64_t bytes) noexcept {
  const std::uint64_t wanted = std::min<std::uint64_t>(bytes / segment_bytes_, segment_count_);
  std::unique_lock lock(mutex_);
  while (!is_ending_ && !cancelled_ && counts_.ready < wanted) {
    if (is_making_) {
      freed_.wait(lock);
    } else if (!make_chunk(lock)) {
      return;
    }
    tell_starved(lock);
  }
}

/// Adds to the free segments; false, and no_memory_ says why, if the machine has no memory for
/// them. Lets go of the lock meanwhile.
bool Staging::make_chunk(std::unique_lock<std::mutex>& lock) {
  const std::uint32_t first = counts_.ready;
  const std::uint32_t count = std::min(chunk_segments_, segment_count_ - first);
  is_making_ = true;
  lock.unlock();
  const Status made = memory_.prefault({first * segment_bytes_, count * segment_bytes_});
  lock.lock();
  is_making_ = false;
  no_memory_.reset();
  if (made) {
    // Below those that were used: these are cold. The lowest is the next of them.
    free_.insert(free_.begin(), count, 0);
    std::iota(free_.rend() - count, free_.rend(), first);
    counts_.ready += count;
  } else {
    no_memory_ = made.error();
  }
  freed_.notify_all();
  return made.has_value();
}

std::uint32_t Staging::hand_out() noexcept {
  const std::uint32_t segment = free_.back();
  free_.pop_back();
  is_taken_[segment] = true;
  counts_.taken_max = std::max(counts_.taken_max, ++counts_.taken);
  return segment;
}

std::optional<std::uint32_t> Staging::try_take() noexcept {
  std::unique_lock lock(mutex_);
  const bool may_make = !cancelled_ && free_.empty() && !is_making_;
  if (may_make && counts_.ready < segment_count_) make_chunk(lock);
  if (!cancelled_ && !free_.empty()) return hand_out();
  is_starved_ = true;
  return std::nullopt;
}

/// True if there is a free segment, or there is no point in waiting: it was cancelled.
bool Staging::find_free(std::unique_lock<std::mutex>& lock) {
  while (!cancelled_ && free_.empty()) {
    if (is_making_) {
      freed_.wait(lock);
    } else if (counts_.ready == segment_count_ || !make_chunk(lock)) {
      return false;
    }
  }
  return true;
}

Result<std::uint32_t> Staging::take(std::chrono::nanoseconds wait_max) {
  std::unique_lock lock(mutex_);
  const TimePoint began = SteadyClock::shared().now();
  const Deadline deadline = deadline_after(wait_max);
  TimePoint next_line = began + quiet_wait_;
  bool is_late = wait_max <= std::chrono::nanoseconds::zero();
  for (bool is_first = true; !find_free(lock); is_first = false) {
    if (counts_.taken == 0 && no_memory_) return failure(*no_memory_);
    if (is_late) {
      is_starved_ = true;
      return failure(exhausted(wait_max));
    }
    if (is_first) ++counts_.waits;
    const TimePoint until = deadline ? std::min(*deadline, next_line) : next_line;
    if (freed_.wait_until(lock, until) == std::cv_status::no_timeout) continue;
    is_late = deadline == until;
    if (is_late) continue;
    next_line += quiet_wait_;
    log_wait(SteadyClock::shared().now() - began);
  }
  if (cancelled_) return failure(*cancelled_);
  return hand_out();
}

/// Under the lock.
std::string Staging::usage() const {
  return "all " + std::to_string(counts_.taken) + " segments, " +
         std::to_string(counts_.taken * segment_bytes_) + " bytes, are in use";
}

/// Under the lock, which others need only after this wait.
void Staging::log_wait(std::chrono::nanoseconds waited) const {
  if (log_ == nullptr) return;
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(waited).count();
  log_->write(LogLevel::kWarning, "put() has waited " + std::to_string(seconds) +
                                      " s for staging memory: " + usage() +
                                      "; storage is slower than what is put, or it stalls");
}

/// A caller that did not wait has learned nothing about storage.
Error Staging::exhausted(std::chrono::nanoseconds waited) const {
  const auto wait_ms = std::chrono::duration_cast<std::chrono::milliseconds>(waited).count();
  const std::string why = waited <= std::chrono::nanoseconds::zero()
                              ? "and the plan has nobody wait for them: give it more memory_bytes, "
                                "or when_full = \"wait\""
                              : "and none came back in " + std::to_string(wait_ms) +
                                    " ms: storage is slower than what is put, or it stalls";
  return Error({.kind = ErrorClass::kLimit,
                .operation = "take staging memory",
                .cause = usage() + ", " + why +
                         (no_memory_ ? "; " + no_memory_->message() : std::string())});
}

void Staging::give_back(std::uint32_t segment) noexcept {
  std::unique_lock lock(mutex_);
  FOREBAY_ASSERT(segment < segment_count_);
  FOREBAY_ASSERT(is_taken_[segment]);
  is_taken_[segment] = false;
  --counts_.taken;
  free_.push_back(segment);
  freed_.notify_one();
  tell_starved(lock);
}

/// Those who found nothing may look again. Lets go of the lock meanwhile.
void Staging::tell_starved(std::unique_lock<std::mutex>& lock) noexcept {
  if (!is_starved_ || !tell_) return;
  is_starved_ = false;
  const auto tell = tell_;
  lock.unlock();
  (*tell)();
  lock.lock();
}

std::span<std::byte> Staging::segment(std::uint32_t segment) const noexcept {
  FOREBAY_ASSERT(segment < segment_count_);
  return memory_.bytes().subspan(segment * segment_bytes_, segment_bytes_);
}

void Staging::cancel(Error why) noexcept {
  std::unique_lock lock(mutex_);
  if (cancelled_) return;
  cancelled_ = std::move(why);
  freed_.notify_all();
  is_starved_ = true;
  tell_starved(lock);
}

std::optional<Error> Staging::cancelled() const {
  const std::lock_guard lock(mutex_);
  return cancelled_;
}

void Staging::on_free(std::function<void()> tell) {
  const std::lock_guard lock(mutex_);
  tell_ = tell ? std::make_shared<const std::function<void()>>(std::move(tell)) : nullptr;
}

StagingCounts Staging::counts() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

}  // namespace forebay::write
