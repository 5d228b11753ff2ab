// SPDX-License-Identifier: Apache-2.0
// Lease: the exclusive right of one program to write a dataset. It is the file `owner` of the
// directory, created by link(), so that it works on every file system and between hosts. A second
// program is refused with an Error that names the first one. The lease of a killed holder is taken
// over: at once if a lock proves its death, else after seconds without a heartbeat
// (lease_holder.hpp).
#pragma once

#include <forebay/error.hpp>

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "base/descriptor.hpp"
#include "format/lease_holder.hpp"
#include "write/lease_holder.hpp"

namespace forebay::write {

/// Describes this process, with a new nonce.
format::LeaseHolder current_process();

/// Succeeds if `directory`, as this process sees it, is the one whose lease has this nonce. Blocks:
/// retries for `timeout`, because file systems may show new files to other hosts late.
/// kInvalidArgument if it is another directory; another Error if this process cannot read it.
Status verify_lease(const std::string& directory,
                    std::uint64_t nonce,
                    std::chrono::milliseconds timeout);

/// Held until its destruction, which removes the file. Any thread.
class Lease {
 public:
  /// Blocks, up to heartbeat_timeout_ms_max while the death of the former holder is not proved.
  /// kPermission, with host, process, program and time, if another program holds the lease. kLimit
  /// at the deadline. kCancelled if the clock of `options` ends a wait. Removes leftover files of
  /// attempts that were killed long ago.
  static Result<std::unique_ptr<Lease>> acquire(const std::string& directory,
                                                format::LeaseHolder holder = current_process(),
                                                LeaseOptions options = {});
  ~Lease();
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;

  const format::LeaseHolder& holder() const noexcept { return holder_; }
  /// Fails if another holder has taken the lease over. Other hosts do that if this process was
  /// stopped for longer than their heartbeat timeout. Reads the file. For use before actions that
  /// cannot be undone.
  Status check() const;

 private:
  Lease(std::string path, format::LeaseHolder holder, Descriptor file, LeaseOptions options);
  void send_heartbeats();

  const std::string path_;
  const format::LeaseHolder holder_;
  const Descriptor file_;  ///< of this lease, whatever file is at the path
  const LeaseOptions options_;
  std::mutex mutex_;
  std::condition_variable stop_requested_;
  bool is_stopping_ = false;
  std::thread thread_;
};

}  // namespace forebay::write
