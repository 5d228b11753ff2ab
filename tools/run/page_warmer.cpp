// SPDX-License-Identifier: Apache-2.0
#include "tools/run/page_warmer.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

#include <sys/stat.h>
#include <unistd.h>

#include "base/service_thread.hpp"

namespace forebay::run {

namespace {

/// Reads that took longer came from storage.
constexpr std::chrono::microseconds kStorageMin{100};
constexpr unsigned kFewInProgress = 4;
/// Ranges that wait, also if no thread can be started.
constexpr std::size_t kRangesMax = 65'536;

}  // namespace

void PageWarmer::add(const WarmRange& range) {
  std::size_t new_threads = 0;
  {
    const std::lock_guard lock(mutex_);
    if (is_stopping_) return;
    std::size_t parts = 0;
    for (std::uint64_t done = 0; done < range.size; done += kPartBytes, ++parts) {
      if (ranges_.size() >= kRangesMax) break;
      ranges_.push_back(range);
      ranges_.back().offset += done;
      ranges_.back().size = std::min(kPartBytes, range.size - done);
      added_.notify_one();
    }
    const std::size_t busy = threads_.size() - std::min<std::size_t>(idle_, threads_.size());
    new_threads = std::min(busy + parts, std::size_t{limit_.value()});
  }
  // Without the lock: the other threads begin meanwhile.
  while (threads_.size() < new_threads) {
    auto started = start_service_thread("forebay-warm", [this] { work(); });
    if (!started) return;
    threads_.push_back(std::move(*started));
  }
}

void PageWarmer::cancel(std::uint64_t stream) {
  const std::lock_guard lock(mutex_);
  std::erase_if(ranges_, [&](const WarmRange& one) { return one.stream == stream; });
}

void PageWarmer::stop() {
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
    ranges_.clear();
  }
  added_.notify_all();
  for (std::thread& thread : std::exchange(threads_, {}))
    thread.join();
}

unsigned PageWarmer::concurrency() const {
  const std::lock_guard lock(mutex_);
  return limit_.value();
}

std::uint64_t PageWarmer::bytes_read() const {
  const std::lock_guard lock(mutex_);
  return bytes_read_;
}

void PageWarmer::work() {
  std::vector<std::byte> into(kPartBytes);
  std::unique_lock lock(mutex_);
  while (true) {
    if (std::chrono::steady_clock::now() >= next_close_) close_idle(lock);
    ++idle_;
    if (used_files_.empty())
      added_.wait(lock, [this] { return has_work(); });
    else
      added_.wait_for(lock, idle_max_, [this] { return has_work(); });
    --idle_;
    if (is_stopping_) return;
    if (!has_work()) continue;
    const WarmRange range = std::move(ranges_.front());
    ranges_.pop_front();
    used_files_.insert(range.file);
    const bool is_low = ++in_progress_ <= kFewInProgress;
    lock.unlock();
    read(range, into, is_low ? Load::kLow : Load::kAny);
    lock.lock();
    --in_progress_;
  }
}

/// Without the lock: closing may wait for a server.
void PageWarmer::close_idle(std::unique_lock<std::mutex>& lock) {
  const TimePoint now = std::chrono::steady_clock::now();
  next_close_ = now + idle_max_;
  auto files = std::exchange(used_files_, {});
  lock.unlock();
  std::erase_if(files, [&](const std::weak_ptr<LazyFile>& one) {
    const auto file = one.lock();
    return !file || file->close_idle(now - idle_max_);
  });
  lock.lock();
  used_files_.merge(files);
}

/// A file that has become shorter, or cannot be read, is only not read ahead.
void PageWarmer::read(const WarmRange& range, std::vector<std::byte>& into, Load load) {
  const auto file = range.file->open();
  if (!file || range.file->is_cached(*file, range.offset, range.size)) return;
  const TimePoint begin = std::chrono::steady_clock::now();
  const ssize_t got =
      ::pread(file->get(), into.data(), range.size, static_cast<off_t>(range.offset));
  const TimePoint end = std::chrono::steady_clock::now();
  // A read makes the attributes that a FUSE client has cached stale (time of access), and programs
  // ask for them when they open a file.
  struct stat refreshed{};
  if (range.offset == 0) static_cast<void>(::fstat(file->get(), &refreshed));
  const std::lock_guard lock(mutex_);
  const std::uint64_t bytes = got > 0 ? static_cast<std::uint64_t>(got) : 0;
  bytes_read_ += bytes;
  range.file->add_loaded({bytes > 0 && end - begin > kStorageMin ? 1U : 0U, bytes});
  if (end - begin <= kStorageMin) return;
  latency_.record_end(begin);
  if (load == Load::kLow) unloaded_latency_.record_end(begin);
  limit_.record(range.size, end, in_progress_);
}

}  // namespace forebay::run
