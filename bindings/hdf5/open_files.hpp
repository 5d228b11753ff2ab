// SPDX-License-Identifier: Apache-2.0
// OpenFiles: the files of this process, and the Runtime that reads and writes them.
#pragma once

#include <forebay/runtime.hpp>

#include <memory>
#include <mutex>
#include <set>

namespace forebay::hdf5 {

class DriverFile;

/// One for each process. Before fork(), all pending bytes are written, so that the child reads
/// them. In the child, files are plain and the Runtime is replaced.
class OpenFiles {
 public:
  static OpenFiles& instance();

  /// The Runtime, created from FOREBAY_... variables by the first call.
  Result<Runtime*> runtime();
  /// Ends the Runtime if no file is open.
  void release_runtime() noexcept;
  void add(DriverFile& file);
  void remove(DriverFile& file) noexcept;

 private:
  OpenFiles();
  static void prepare_fork() noexcept;
  static void finish_fork_in_parent() noexcept;
  static void finish_fork_in_child() noexcept;

  // Locked in this order: mutex_, that of a file, runtime_mutex_. A file that reads or writes needs
  // the Runtime.
  std::mutex mutex_;
  std::set<DriverFile*> files_;
  std::mutex runtime_mutex_;
  std::unique_ptr<Runtime> runtime_;
};

}  // namespace forebay::hdf5
