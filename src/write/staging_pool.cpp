// SPDX-License-Identifier: Apache-2.0
// One thread at a time prefaults memory, without the lock. A caller of acquire() that finds no free
// segment prefaults, or waits for the thread that does. Neither depends on a release, and both take
// milliseconds, so they do not count as a wait. try_acquire() does not wait for another thread.
#include "write/staging_pool.hpp"

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

/// Bytes that are prefaulted at once: enough that the cost of a call is small, milliseconds at
/// most.
constexpr std::uint64_t kPrefaultBytes = std::uint64_t{16} << 20U;
/// Waits of at least this length have no deadline.
constexpr std::chrono::nanoseconds kUnlimitedWait = std::chrono::hours(24 * 365);

Status check_options(const StagingPoolOptions& options) {
  const auto wrong = [](std::string cause) -> Status {
    return failure({.kind = ErrorClass::kInvalidArgument,
                    .operation = "allocate staging memory",
                    .cause = std::move(cause)});
  };
  const std::uint64_t segment = options.segment_bytes;
  if (segment == 0 || segment % shm::kDirectAlignment != 0)
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
  if (wait_max >= kUnlimitedWait) return std::nullopt;
  return SteadyClock::shared().now() + wait_max;
}

}  // namespace

/// The memory may be larger than requested; the bound holds nevertheless.
StagingPool::StagingPool(shm::MemoryRegion region, const StagingPoolOptions& options)
    : source_(options.source),
      memory_(std::move(region.memory)),
      initial_prefaulted_bytes_(region.prefaulted_bytes),
      segment_bytes_(options.segment_bytes),
      segment_count_(checked_cast<std::uint32_t>(options.memory_bytes / segment_bytes_)),
      prefault_segments_(
          checked_cast<std::uint32_t>(std::max<std::uint64_t>(1, kPrefaultBytes / segment_bytes_))),
      log_(options.log),
      log_interval_(options.log_interval),
      is_in_use_(segment_count_, false) {
  free_.reserve(segment_count_);
  counts_.segments = segment_count_;
  counts_.prefaulted = checked_cast<std::uint32_t>(
      std::min<std::uint64_t>(region.prefaulted_bytes / segment_bytes_, segment_count_));
  free_.resize(counts_.prefaulted);
  std::iota(free_.rbegin(), free_.rend(), 0U);
}

Result<shm::MemoryRegion> StagingPool::allocate_memory(const StagingPoolOptions& options,
                                                       std::uint64_t size_bytes) {
  if (options.source) return options.source->acquire("forebay-staging", size_bytes);
  auto memory = shm::NodeMemory::create("forebay-staging", size_bytes);
  if (!memory) return failure(memory.error());
  return shm::MemoryRegion{.memory = std::move(*memory)};
}

Result<std::shared_ptr<StagingPool>> StagingPool::create(const StagingPoolOptions& options) {
  if (auto possible = check_options(options); !possible) return failure(possible.error());
  const std::uint64_t bytes = options.memory_bytes / options.segment_bytes * options.segment_bytes;
  auto region = allocate_memory(options, bytes);
  if (!region) return failure(region.error());
  const bool is_ready = region->prefaulted_bytes >= std::min(options.prefault_bytes, bytes);
  std::shared_ptr<StagingPool> staging(new StagingPool(std::move(*region), options));
  if (is_ready) return staging;
  auto thread = start_service_thread(
      "forebay-staging",
      [raw = staging.get(), ready = options.prefault_bytes] { raw->prefault(ready); });
  if (!thread) return failure(thread.error());
  staging->prefault_thread_ = std::move(*thread);
  return staging;
}

StagingPool::~StagingPool() {
  {
    const std::lock_guard lock(mutex_);
    is_ending_ = true;
  }
  freed_.notify_all();
  if (prefault_thread_.joinable()) prefault_thread_.join();
  if (!source_) return;
  // Another process may still read a segment that was not released, so the memory is not reused.
  const std::uint64_t ready_bytes =
      std::max(initial_prefaulted_bytes_, counts_.prefaulted * segment_bytes_);
  // A failed prefault may have allocated memory that `ready_bytes` does not count.
  const bool is_of_use = counts_.in_use == 0 && !memory_error_;
  source_->release({.memory = std::move(memory_), .prefaulted_bytes = is_of_use ? ready_bytes : 0});
}

/// Body of the prefault thread.
void StagingPool::prefault(std::uint64_t bytes) noexcept {
  const std::uint64_t wanted = std::min<std::uint64_t>(bytes / segment_bytes_, segment_count_);
  std::unique_lock lock(mutex_);
  while (!is_ending_ && !cancel_error_ && counts_.prefaulted < wanted) {
    if (is_prefaulting_) {
      freed_.wait(lock);
    } else if (!prefault_next(lock)) {
      return;
    }
    notify_starved(lock);
  }
}

/// Prefaults the next segments and adds them to the free ones. Returns false, with memory_error_
/// set, if the machine has no memory for them. Releases the lock meanwhile.
bool StagingPool::prefault_next(std::unique_lock<std::mutex>& lock) {
  const std::uint32_t first = counts_.prefaulted;
  const std::uint32_t count = std::min(prefault_segments_, segment_count_ - first);
  is_prefaulting_ = true;
  lock.unlock();
  const Status made = memory_.prefault({first * segment_bytes_, count * segment_bytes_});
  lock.lock();
  is_prefaulting_ = false;
  memory_error_.reset();
  if (made) {
    // Released segments are acquired first, because caches may have them. Then the new segments are
    // acquired in rising order.
    free_.insert(free_.begin(), count, 0);
    std::iota(free_.rend() - count, free_.rend(), first);
    counts_.prefaulted += count;
  } else {
    memory_error_ = made.error();
  }
  freed_.notify_all();
  return made.has_value();
}

/// The first of `count` adjacent free segments that begin at a multiple of `count`, so that runs of
/// equal length leave no gaps.
std::optional<std::uint32_t> StagingPool::find_free(std::uint32_t count) const noexcept {
  if (free_.size() < count) return std::nullopt;
  if (count == 1) return free_.back();
  for (std::uint32_t first = 0; first + count <= counts_.prefaulted; first += count) {
    const auto begin = is_in_use_.begin() + first;
    if (std::find(begin, begin + count, true) == begin + count) return first;
  }
  return std::nullopt;
}

std::uint32_t StagingPool::take(std::uint32_t first, std::uint32_t count) noexcept {
  if (count == 1)
    free_.pop_back();
  else
    std::erase_if(free_, [=](std::uint32_t one) { return one >= first && one < first + count; });
  std::fill_n(is_in_use_.begin() + first, count, true);
  counts_.in_use += count;
  counts_.in_use_max = std::max(counts_.in_use_max, counts_.in_use);
  return first;
}

std::optional<std::uint32_t> StagingPool::try_acquire(std::uint32_t count) noexcept {
  FOREBAY_ASSERT(count <= segment_count_);
  std::unique_lock lock(mutex_);
  while (!cancel_error_) {
    if (const auto first = find_free(count)) return take(*first, count);
    if (is_prefaulting_ || counts_.prefaulted == segment_count_ || !prefault_next(lock)) break;
  }
  has_failed_acquire_ = true;
  return std::nullopt;
}

/// Returns no value if the pool was canceled, or if only a release can help.
std::optional<std::uint32_t> StagingPool::wait_for_prefault(std::unique_lock<std::mutex>& lock,
                                                            std::uint32_t count) {
  while (!cancel_error_) {
    if (const auto first = find_free(count)) return first;
    if (is_prefaulting_)
      freed_.wait(lock);
    else if (counts_.prefaulted == segment_count_ || !prefault_next(lock))
      return std::nullopt;
  }
  return std::nullopt;
}

Result<std::uint32_t> StagingPool::acquire(std::chrono::nanoseconds wait_max, std::uint32_t count) {
  FOREBAY_ASSERT(count <= segment_count_);
  std::unique_lock lock(mutex_);
  const TimePoint began = SteadyClock::shared().now();
  const Deadline deadline = deadline_after(wait_max);
  TimePoint next_line = began + log_interval_;
  bool is_late = wait_max <= std::chrono::nanoseconds::zero();
  for (bool is_first = true;; is_first = false) {
    if (const auto first = wait_for_prefault(lock, count)) return take(*first, count);
    if (cancel_error_) return failure(*cancel_error_);
    if (counts_.in_use == 0 && memory_error_) return failure(*memory_error_);
    if (is_late) {
      has_failed_acquire_ = true;
      return failure(exhausted_error(wait_max));
    }
    if (is_first) ++counts_.waits;
    const TimePoint until = deadline ? std::min(*deadline, next_line) : next_line;
    if (freed_.wait_until(lock, until) == std::cv_status::no_timeout) continue;
    is_late = deadline == until;
    if (is_late) continue;
    next_line += log_interval_;
    log_wait(lock, SteadyClock::shared().now() - began);
  }
}

/// Requires the lock.
std::string StagingPool::usage_text() const {
  const bool are_all = counts_.in_use == segment_count_;
  return (are_all ? "all " : "") + std::to_string(counts_.in_use) + " segments, " +
         std::to_string(counts_.in_use * segment_bytes_) + " bytes, are in use";
}

/// Releases the lock meanwhile: a slow log sink must not block the agent, which releases segments.
void StagingPool::log_wait(std::unique_lock<std::mutex>& lock,
                           std::chrono::nanoseconds waited) const {
  if (log_ == nullptr) return;
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(waited).count();
  const std::string line = "put() has waited " + std::to_string(seconds) +
                           " s for staging memory: " + usage_text() +
                           "; storage is slower than put(), or it stalls";
  lock.unlock();
  log_->write(LogLevel::kWarning, line);
  lock.lock();
}

/// If the caller did not wait, the text does not suggest that storage is slow.
Error StagingPool::exhausted_error(std::chrono::nanoseconds waited) const {
  const auto wait_ms = std::chrono::duration_cast<std::chrono::milliseconds>(waited).count();
  const std::string why = waited <= std::chrono::nanoseconds::zero()
                              ? "and the plan does not wait for them: give it more memory_bytes, "
                                "or staging_full_policy = \"block\""
                              : "and none was released in " + std::to_string(wait_ms) +
                                    " ms: storage is slower than put(), or it stalls";
  return Error({.kind = ErrorClass::kLimit,
                .operation = "acquire staging memory",
                .cause = usage_text() + ", " + why +
                         (memory_error_ ? "; " + memory_error_->message() : std::string())});
}

void StagingPool::release(std::uint32_t segment, std::uint32_t count) noexcept {
  std::unique_lock lock(mutex_);
  FOREBAY_ASSERT(segment + count <= segment_count_);
  for (std::uint32_t one = segment; one < segment + count; ++one) {
    FOREBAY_ASSERT(is_in_use_[one]);
    is_in_use_[one] = false;
    free_.push_back(one);
  }
  counts_.in_use -= count;
  freed_.notify_one();
  notify_starved(lock);
}

/// Calls the callback if a call has found no segment since the last callback. Releases the lock
/// meanwhile.
void StagingPool::notify_starved(std::unique_lock<std::mutex>& lock) noexcept {
  if (!has_failed_acquire_ || !free_callback_) return;
  has_failed_acquire_ = false;
  const auto callback = free_callback_;
  lock.unlock();
  (*callback)();
  lock.lock();
}

std::span<std::byte> StagingPool::segment(std::uint32_t segment,
                                          std::uint32_t count) const noexcept {
  FOREBAY_ASSERT(segment + count <= segment_count_);
  return memory_.bytes().subspan(segment * segment_bytes_, count * segment_bytes_);
}

void StagingPool::cancel(Error why) noexcept {
  std::unique_lock lock(mutex_);
  if (cancel_error_) return;
  cancel_error_ = std::move(why);
  freed_.notify_all();
  has_failed_acquire_ = true;
  notify_starved(lock);
}

std::optional<Error> StagingPool::cancel_error() const {
  const std::lock_guard lock(mutex_);
  return cancel_error_;
}

void StagingPool::set_free_callback(std::function<void()> callback) {
  const std::lock_guard lock(mutex_);
  free_callback_ =
      callback ? std::make_shared<const std::function<void()>>(std::move(callback)) : nullptr;
}

StagingPoolCounts StagingPool::counts() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

}  // namespace forebay::write
