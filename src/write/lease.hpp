// SPDX-License-Identifier: Apache-2.0
// Lease: the right to write a dataset, held by one program at a time. It is the file `owner` of the
// folder, made by linking, so that it works on every file system and between hosts. A second writer
// is refused with the name of the first. A writer that was killed is followed by the next one: at
// once where a lock proves its death, else after some seconds without a heartbeat (holder.hpp).
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
#include "format/owner.hpp"
#include "write/holder.hpp"

namespace forebay::write {

/// What is known of the process that asks, with a new nonce.
format::Owner this_process();

/// Whether the folder, as this process sees it, is the one in which somebody has the lease of this
/// nonce. Blocks; where it does not seem so for `patience`, as file systems may tell other hosts
/// late what is new. kInvalidArgument if not; another Error if this process may not look there.
Status find_lease(const std::string& folder,
                  std::uint64_t nonce,
                  std::chrono::milliseconds patience);

/// Held until it ends, which removes the file. Any thread.
class Lease {
 public:
  /// Blocks; up to silence_ms_max while the death of the former holder is not proved.
  /// kPermission, with host, process, program and time, if a writer holds it; kLimit at the
  /// deadline, kCancelled if the clock of `options` ends a wait.
  /// Removes what attempts of long ago left behind that were killed.
  static Result<std::unique_ptr<Lease>> acquire(const std::string& folder,
                                                format::Owner who = this_process(),
                                                LeaseOptions options = {});
  ~Lease();
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;

  const format::Owner& owner() const noexcept { return owner_; }
  /// An Error if somebody has taken it meanwhile, as other hosts do if this process was stopped for
  /// longer than the silence that they bear. Reads the file; before what cannot be undone.
  Status check() const;

 private:
  Lease(std::string path, format::Owner owner, Descriptor file, LeaseOptions options);
  void beat();

  const std::string path_;
  const format::Owner owner_;
  const Descriptor file_;  ///< its own, whatever lies at the path
  const LeaseOptions options_;
  std::mutex mutex_;
  std::condition_variable ending_;
  bool ends_ = false;
  std::thread thread_;
};

}  // namespace forebay::write
