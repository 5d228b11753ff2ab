// SPDX-License-Identifier: Apache-2.0
// TemporaryFile: a new file that replaces another one atomically when it is complete. Readers of
// the name see the old content or the new one, never a mixture, even if several processes publish
// at the same time. The library and its programs publish all output through it.
#pragma once

#include <forebay/detail/export.hpp>
#include <forebay/detail/origin_process.hpp>
#include <forebay/error.hpp>

#include <string>

namespace forebay {

/// A file in the directory of its target, until publish() renames it. Not thread-safe.
///
/// Its name is that of the target with `.tmp-` and 16 random digits, created exclusively (O_EXCL).
/// A killed program leaves it behind; it may then be deleted at any time.
class FOREBAY_EXPORT TemporaryFile {
 public:
  /// Creates an empty file in the directory of `target`. Symbolic links at `target` are followed:
  /// publish() replaces the file that they lead to. Mode, owner and group of that file are kept
  /// where permitted, else with fewer rights. A new file has mode 0666 less the umask. Fails with
  /// kInvalidArgument if `target` is a directory, a device, a pipe or a socket.
  static Result<TemporaryFile> create_beside(const std::string& target);

  TemporaryFile(TemporaryFile&& other) noexcept;
  TemporaryFile& operator=(TemporaryFile&&) = delete;
  /// Removes the file unless it was published. Keeps it in a child of fork().
  ~TemporaryFile();

  /// Path of the bytes until publish().
  const std::string& path() const noexcept { return path_; }
  /// Open for reading and writing. Owned by this object.
  int descriptor() const noexcept { return descriptor_; }

  /// Syncs the file, renames it to its target, and syncs the directory. Blocks. A failure before
  /// the rename leaves the target unchanged. A failed sync is final, as the system reports lost
  /// bytes once. After a failed rename the call may be repeated.
  Status publish();
  bool is_published() const noexcept { return descriptor_ < 0; }

 private:
  TemporaryFile(std::string target, std::string path, int descriptor);

  std::string target_;  ///< with links resolved
  std::string path_;
  int descriptor_;
  int sync_errno_ = 0;
  detail::OriginProcess origin_;
};

}  // namespace forebay
