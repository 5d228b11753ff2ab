// SPDX-License-Identifier: Apache-2.0
#include "hdf5/open_files.hpp"

#include <pthread.h>

#include "hdf5/driver_file.hpp"

namespace forebay::hdf5 {

// Never destroyed: HDF5 closes files at the end of the process, after static objects are gone.
OpenFiles& OpenFiles::instance() {
  static auto* const files = new OpenFiles();
  return *files;
}

OpenFiles::OpenFiles() {
  ::pthread_atfork(prepare_fork, finish_fork_in_parent, finish_fork_in_child);
}

Result<Runtime*> OpenFiles::runtime() {
  const std::lock_guard lock(runtime_mutex_);
  if (runtime_ == nullptr) {
    Result<RuntimeOptions> options = options_from_environment();
    if (!options) return failure(options.error());
    runtime_ = std::make_unique<Runtime>(std::move(*options));
  }
  return runtime_.get();
}

void OpenFiles::release_runtime() noexcept {
  const std::lock_guard lock(mutex_);
  if (!files_.empty()) return;
  const std::lock_guard runtime_lock(runtime_mutex_);
  runtime_.reset();
}

void OpenFiles::add(DriverFile& file) {
  const std::lock_guard lock(mutex_);
  files_.insert(&file);
}

void OpenFiles::remove(DriverFile& file) noexcept {
  const std::lock_guard lock(mutex_);
  files_.erase(&file);
}

void OpenFiles::prepare_fork() noexcept {
  instance().mutex_.lock();
  for (DriverFile* file : instance().files_) {
    file->mutex_.lock();
    static_cast<void>(file->drain());  // an error is kept for the next call
  }
  instance().runtime_mutex_.lock();
}

void OpenFiles::finish_fork_in_parent() noexcept {
  instance().runtime_mutex_.unlock();
  for (DriverFile* file : instance().files_)
    file->mutex_.unlock();
  instance().mutex_.unlock();
}

void OpenFiles::finish_fork_in_child() noexcept {
  // Not destroyed: its threads are those of the parent.
  // NOLINTNEXTLINE(bugprone-unused-return-value)
  static_cast<void>(instance().runtime_.release());
  instance().runtime_mutex_.unlock();
  for (DriverFile* file : instance().files_) {
    file->is_plain_ = true;
    file->session_.reset();
    // NOLINTNEXTLINE(bugprone-unused-return-value)
    static_cast<void>(file->write_behind_.release());
    file->mutex_.unlock();
  }
  instance().mutex_.unlock();
}

}  // namespace forebay::hdf5
