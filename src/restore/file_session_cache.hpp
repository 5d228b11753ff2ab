// SPDX-License-Identifier: Apache-2.0
// FileSessionCache: the read sessions of a stored dataset, one for each data file in use, opened
// with the first request. A few idle sessions are kept, as the next request is mostly for the same
// file. Older ones are closed, so that others can use their windows.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "comm/concurrency_limiter.hpp"
#include "format/catalog.hpp"
#include "read/session_core.hpp"
#include "restore/open_file_tracker.hpp"

namespace forebay::restore {

/// Memory class of a session.
enum class WindowSize : std::uint8_t {
  kSmall,  ///< for small requests, which may alternate between files
  kLarge,  ///< for requests that keep a device busy
};

/// Opens a session of this rank alone on `extent` of an open file. Values that the user's `plan`
/// leaves open follow from the window size.
using FileSessionOpener = std::function<Result<std::shared_ptr<read::SessionCore>>(
    const std::shared_ptr<storage::File>& file,
    ByteRange extent,
    const ReadPlan& plan,
    WindowSize window_size)>;

/// A session, and the number of bytes that requests have in flight on it. The destructor closes it.
class FileSession {
 public:
  FileSession(std::string path, std::shared_ptr<read::SessionCore> core, WindowSize window_size);
  ~FileSession() {
    if (!core_->is_from_parent()) core_->close();
  }
  FileSession(const FileSession&) = delete;
  FileSession& operator=(const FileSession&) = delete;

  const std::shared_ptr<read::SessionCore>& core() const noexcept { return core_; }
  WindowSize window_size() const noexcept { return window_size_; }
  /// True if this is a session on `file` with at least this window size.
  bool can_serve(const format::StepFile& file, WindowSize window_size) const noexcept;

  /// Reserves `bytes` more for a request that has other loads to wait for. False if the
  /// reservations of all requests would then exceed their share of the window.
  bool try_reserve(std::uint64_t bytes) noexcept;
  /// Reserves without a limit, for a request that has no other load to wait for.
  void reserve(std::uint64_t bytes) noexcept { reserved_bytes_ += bytes; }
  void release(std::uint64_t bytes) noexcept { reserved_bytes_ -= bytes; }

 private:
  const std::string path_;  // of the file, which is unique in a dataset
  const std::shared_ptr<read::SessionCore> core_;
  const WindowSize window_size_;
  const std::uint64_t reserved_bytes_max_;
  std::atomic<std::uint64_t> reserved_bytes_{0};
};

/// Thread-safe.
class FileSessionCache {
 public:
  /// Coroutines that wait for requests resume on `executor`.
  FileSessionCache(FileSessionOpener open,
                   ReadPlan plan,
                   Executor& executor,
                   std::shared_ptr<comm::ConcurrencyLimiter> limiter)
      : open_session_(std::move(open)),
        plan_(std::move(plan)),
        executor_(executor),
        limiter_(std::move(limiter)) {}

  Executor& executor() const noexcept { return executor_; }
  /// The limiter whose permit a request needs to read. Null: none.
  const std::shared_ptr<comm::ConcurrencyLimiter>& limiter() const noexcept { return limiter_; }

  /// The session on the data of a file that has an index. Opening it does not wait for storage. If
  /// memory is exhausted (kLimit), idle sessions are closed first.
  Result<std::shared_ptr<FileSession>> acquire(const format::StepFile& file,
                                               WindowSize window_size);
  /// Opens a file for a read without a session. The caller must hold no other such file. Blocks.
  Result<std::shared_ptr<storage::File>> open_without_session(const format::StepFile& file);

 private:
  Result<std::shared_ptr<FileSession>> open(const format::StepFile& file, WindowSize window_size);
  void cache(const std::shared_ptr<FileSession>& session);
  bool evict_idle();

  const FileSessionOpener open_session_;
  const ReadPlan plan_;
  Executor& executor_;
  const std::shared_ptr<comm::ConcurrencyLimiter> limiter_;
  OpenFileTracker files_;
  std::mutex mutex_;
  std::vector<std::weak_ptr<FileSession>> open_sessions_;
  std::vector<std::shared_ptr<FileSession>> cached_;  // most recently used last
};

}  // namespace forebay::restore
