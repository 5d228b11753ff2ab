// SPDX-License-Identifier: Apache-2.0
// LazyFile: a file of a program, which the agent opens when it first reads ahead from it. Opening
// waits for storage, so threads of the PageWarmer do it. An open file hinders others: it cannot be
// unmounted, and removing it leaves a file in its directory on NFS. So it is closed while idle.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "base/clock.hpp"
#include "base/descriptor.hpp"
#include "push/hint_file.hpp"

namespace forebay::run {

/// The file that is meant; zeros: unknown.
struct FileIds {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  push::FileVersion version = {};
};

/// What was read ahead of a file.
struct LoadedPages {
  std::uint64_t waits = 0;  ///< reads that storage has served
  std::uint64_t bytes = 0;  ///< that were not in the page cache before
};

/// Any thread.
class LazyFile {
 public:
  LazyFile(std::string path, FileIds ids) : path_(std::move(path)), ids_(ids) {}

  const std::string& path() const noexcept { return path_; }
  /// A descriptor for reading, open while it is held; opens the file if it is closed. Null: it
  /// cannot be opened, or is another file than that of the program. Retried after a second.
  std::shared_ptr<const Descriptor> open();
  /// Closes the file if open() was not called since this time. False if it stays open.
  bool close_idle(TimePoint since);
  /// Whether all pages of a range are in the page cache. False if that is unknown.
  bool is_cached(const Descriptor& file, std::uint64_t offset, std::uint64_t size);
  /// Ranges in a row, up to now, that were found in the page cache.
  std::uint32_t cached_in_a_row() const noexcept {
    return cached_in_a_row_.load(std::memory_order_relaxed);
  }
  /// A read has waited for storage, so the file is not in the page cache as a whole.
  void reset_cached_in_a_row() noexcept { cached_in_a_row_.store(0, std::memory_order_relaxed); }
  void add_loaded(const LoadedPages& loaded) noexcept {
    loaded_waits_.fetch_add(loaded.waits, std::memory_order_relaxed);
    loaded_bytes_.fetch_add(loaded.bytes, std::memory_order_relaxed);
  }
  /// All waits, and the bytes since the last call.
  LoadedPages take_loaded() noexcept {
    return {loaded_waits_.load(std::memory_order_relaxed),
            loaded_bytes_.exchange(0, std::memory_order_relaxed)};
  }

 private:
  Descriptor open_checked() const;

  const std::string path_;
  const FileIds ids_;
  std::mutex mutex_;  ///< guards the members below
  std::shared_ptr<const Descriptor> file_;
  TimePoint last_use_ = {};
  TimePoint last_refusal_ = {};
  std::atomic<std::uint32_t> cached_in_a_row_{0};
  std::atomic<std::uint64_t> loaded_waits_{0};
  std::atomic<std::uint64_t> loaded_bytes_{0};
};

}  // namespace forebay::run
