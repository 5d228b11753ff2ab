// SPDX-License-Identifier: Apache-2.0
// LockTable: one lock for each unit of each file, shared by readers or owned by one writer. A
// client keeps a lock until another client requests it. Locks are granted in the order of requests.
#pragma once

#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

#include "model/subrequests.hpp"

namespace forebay::model {

struct LockId {
  FileId file = 0;
  std::uint64_t unit = 0;
};

/// Bytes of a unit of `locks` in a file of this layout; kAll for the whole file. Not for
/// LockUnit::kNone and kObject.
std::uint64_t lock_unit_bytes(const Locks& locks, const Layout& layout);

/// Result of a call.
struct LockUpdate {
  /// These subrequests have the lock now, in this order.
  std::vector<SubrequestIndex> granted = {};
  /// This subrequest takes the lock from other clients: call complete_transfer() when that is done.
  SubrequestIndex transferring = kNoSubrequest;
  /// These clients have lost the lock.
  std::vector<ClientId> revoked_clients = {};
};

/// Uses `client`, `mode` and `queued_at` of subrequests. Subrequests of one client do not conflict.
class LockTable {
 public:
  explicit LockTable(SubrequestPool& parts) : subrequests_(&parts) {}

  /// The subrequest requests the lock; it must be in no other queue until it is granted.
  LockUpdate enqueue(LockId name, SubrequestIndex subrequest);
  /// The `transferring` subrequest has the lock.
  LockUpdate complete_transfer(LockId name);
  /// A subrequest that was granted the lock is done. Its client keeps the lock.
  LockUpdate release(LockId name, ClientId client);
  /// Releases the locks on this file that are neither in use nor requested.
  void cancel_unused(FileId file);

 private:
  struct Lock {
    LockMode mode = LockMode::kShared;
    std::map<ClientId, std::uint32_t>
        use_counts;  ///< of each holder; 0 while it only keeps the lock
    std::uint64_t users = 0;
    SubrequestQueue waiting;
    SubrequestIndex pending_holder = kNoSubrequest;
  };

  bool is_blocked(const Lock& lock, const Subrequest& subrequest) const;
  void grant(Lock& lock, SubrequestIndex subrequest, LockUpdate& update);
  /// Grants the lock to waiting subrequests, as far as possible now.
  void grant_waiting(Lock& lock, LockUpdate& update);
  Lock& find(LockId name) { return files_[name.file][name.unit]; }

  SubrequestPool* subrequests_;
  std::unordered_map<FileId, std::unordered_map<std::uint64_t, Lock>> files_;
};

}  // namespace forebay::model
