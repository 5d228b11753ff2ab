// SPDX-License-Identifier: Apache-2.0
// Lease: the right to write a dataset, held by one program at a time. It is the file `owner` of the
// folder, made by linking, so that it works on every file system and between hosts. A second writer
// is refused with the name of the first; one that was killed, or whose host was started anew, is
// followed by the next: at once where that can be known, after a silence where it cannot.
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

namespace forebay::write {

/// What is known of the process that asks, with a new nonce.
format::Owner this_process();

struct LeaseOptions {
  /// How often a holder touches its file, so that other hosts see that it lives.
  std::chrono::milliseconds beat_ms{2000};
  /// A holder on another host, in another container, or whom /proc hides, and whose file was not
  /// touched for so long, as the asking host's clock counts, is gone.
  std::chrono::milliseconds silence_ms_max{15'000};
};

/// Whether the folder, as this process sees it, is the one in which somebody has the lease of this
/// nonce. Blocks; where it does not seem so for `patience`, as file systems may tell other hosts
/// late what is new. kInvalidArgument if not; another Error if this process may not look there.
Status find_lease(const std::string& folder,
                  std::uint64_t nonce,
                  std::chrono::milliseconds patience);

/// Held until it ends, which removes the file. Any thread.
class Lease {
 public:
  /// Blocks; up to silence_ms_max if the holder cannot be seen from here, and is silent.
  /// kPermission, with host, process, program and time, if somebody holds it.
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
