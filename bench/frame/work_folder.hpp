// SPDX-License-Identifier: Apache-2.0
// A folder for the files of one run, which leaves nothing behind: not at the normal end, not after
// an error, not when the user presses Ctrl-C. A run that was killed cannot clean up: the next one
// does.
#pragma once

#include <forebay/error.hpp>

#include <filesystem>
#include <optional>
#include <utility>

#include "base/descriptor.hpp"

namespace forebay::bench {

/// A lock on a folder that ends with its process, however that ends. It lives as long as this.
class FolderLock {
 public:
  enum class Patience : std::uint8_t { kNone, kWait };

  /// No value if another process has it, or if the file system has no locks.
  static std::optional<FolderLock> take(const std::filesystem::path& folder, Patience patience);

 private:
  explicit FolderLock(Descriptor folder) noexcept : folder_(std::move(folder)) {}
  Descriptor folder_;
};

/// Exists from make() to its destruction, with everything in it, and what is mounted there.
class WorkFolder {
 public:
  /// Makes a folder with a name nobody else has in `parent`, which must exist and be writable, and
  /// removes there what killed runs of this user have left.
  static Result<WorkFolder> make(const std::filesystem::path& parent);
  ~WorkFolder();
  WorkFolder(WorkFolder&& other) noexcept;
  WorkFolder& operator=(WorkFolder&&) = delete;

  const std::filesystem::path& path() const noexcept { return path_; }

 private:
  explicit WorkFolder(std::filesystem::path path);
  std::filesystem::path path_;
  std::optional<FolderLock> lock_;  // says that the folder is in use
};

/// Removes from `parent` what killed runs of this user have left, and waits a few seconds for those
/// that are just being killed.
void remove_what_is_left(const std::filesystem::path& parent);

/// Makes SIGINT, SIGTERM and SIGHUP remove `folder` and end the process with 128 + signal. To be
/// called before any other thread is made: the signals are blocked in all threads and taken by one
/// of our own, so that removing files needs no care for what a signal handler may do.
void remove_on_signals(const std::filesystem::path& folder);

}  // namespace forebay::bench
