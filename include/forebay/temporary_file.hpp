// SPDX-License-Identifier: Apache-2.0
// A new file that takes the name of another when it is complete. Readers of the name see the old
// content or the new one, never a mixture, whatever other processes publish at the same time. Every
// output of the library and of its programs is published through it.
#pragma once

#include <forebay/error.hpp>
#include <forebay/origin_process.hpp>

#include <string>

namespace forebay {

/// A file beside its target, until publish() renames it. Not thread-safe.
///
/// Its name is the target's with `.tmp-` and 16 random digits, created exclusively (O_EXCL). A
/// program that is killed leaves it behind; it may be deleted at any time then.
class TemporaryFile {
 public:
  /// Creates an empty file beside `target`. Symbolic links at `target` are followed: the file that
  /// they lead to is the one that publish() replaces, and its mode, owner and
  /// group are kept where that is permitted, else with fewer rights. A new file has mode 0666 less
  /// the umask. Fails with kInvalidArgument if `target` is a directory, a device, a pipe or a
  /// socket.
  static Result<TemporaryFile> create_beside(const std::string& target);

  TemporaryFile(TemporaryFile&& other) noexcept;
  TemporaryFile& operator=(TemporaryFile&&) = delete;
  /// Removes the file, unless it was published; keeps it in a child of fork().
  ~TemporaryFile();

  /// Where the bytes go until publish().
  const std::string& path() const noexcept { return path_; }
  /// Open for reading and writing; owned by this object.
  int descriptor() const noexcept { return descriptor_; }

  /// Syncs the file, renames it to its target, and syncs the folder. Blocks. If it fails before the
  /// rename, the target is untouched. A failed sync is final, as the system reports lost bytes
  /// once; after a failed rename the call may be repeated.
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
