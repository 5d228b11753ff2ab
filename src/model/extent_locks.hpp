// SPDX-License-Identifier: Apache-2.0
// ExtentLockTable: locks that grow, as in Lustre. Each server keeps the locks on its object, its
// bytes of a file. It grants a request the bytes around it that no other client holds or requests.
// A client that writes alone requests one lock; clients that write side by side call back each
// other's locks.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include "model/subrequests.hpp"

namespace forebay::model {

/// The bytes of one file on one server.
struct ObjectId {
  FileId file = 0;
  std::uint32_t server = 0;
};

/// Result of a call.
struct ExtentLockUpdate {
  /// These subrequests have their locks now, in this order.
  std::vector<SubrequestIndex> granted = {};
  /// These locks are being released by their holders: call complete_cancel() when that is done.
  std::vector<std::uint32_t> cancelling = {};
};

/// A lock that its holder has released.
struct CancelledLock {
  ObjectId object = {};
  /// Of the file, from the first to the last byte, including bytes between them on other servers.
  ByteRange range = {};
  ClientId previous_holder = 0;
  ClientId requester = 0;  ///< client that called it back
  ExtentLockUpdate update = {};
};

/// Uses `client`, `mode`, `range` and `lock_range` of subrequests, and sets their `lock`.
/// Subrequests of one client do not conflict. But if their client's lock was called back, they wait
/// like all others.
class ExtentLockTable {
 public:
  explicit ExtentLockTable(SubrequestPool& parts) : subrequests_(&parts) {}

  /// The subrequest requests a lock on its bytes of a file with this layout. It must be in no other
  /// queue until the lock is granted.
  ExtentLockUpdate take(ObjectId name, const Layout& layout, SubrequestIndex subrequest);
  /// A subrequest that had its lock is done. Its client keeps the lock, unless it was called back.
  ExtentLockUpdate release(ObjectId name, const Subrequest& subrequest);
  /// A `cancelling` lock is released.
  CancelledLock complete_cancel(std::uint32_t number);
  /// Releases the locks on this file that are neither in use nor requested.
  void cancel_unused(FileId file);

 private:
  struct Lock {
    ClientId client = 0;
    LockMode mode = LockMode::kShared;
    ByteRange range = {};
    std::uint64_t users = 0;
    std::optional<ClientId> requester = std::nullopt;  ///< client that called it back
  };
  struct Object {
    std::map<std::uint64_t, Lock> locks;   ///< by number, in the order of granting
    std::vector<SubrequestIndex> waiting;  ///< in the order of arrival
    Layout layout;
    std::uint32_t column = 0;  ///< the stripes `column`, `column` + stripe_count, …
  };
  struct PendingCancel {
    ObjectId object = {};
    std::uint64_t lock = 0;
  };

  Object& find(ObjectId name) { return files_[name.file][name.server]; }
  bool match_own_lock(Object& object, SubrequestIndex subrequest);
  bool is_conflicting(const Lock& lock, const Subrequest& subrequest) const;
  bool is_grantable(const Object& object, const Subrequest& subrequest, std::size_t place) const;
  void revoke_conflicting(ObjectId name,
                          Object& object,
                          const Subrequest& subrequest,
                          ExtentLockUpdate& update);
  void grant(Object& object, SubrequestIndex subrequest);
  bool try_grant(Object& object, SubrequestIndex subrequest, std::size_t place);
  ByteRange expanded_range(const Object& object, SubrequestIndex subrequest) const;
  std::uint32_t schedule_cancel(ObjectId name, std::uint64_t lock);
  void grant_waiting(ObjectId name, Object& object, ExtentLockUpdate& update);

  SubrequestPool* subrequests_;
  std::unordered_map<FileId, std::unordered_map<std::uint32_t, Object>> files_;
  std::unordered_map<std::uint32_t, PendingCancel> pending_cancels_;
  std::uint32_t cancel_count_ = 0;
  std::uint64_t locks_granted_ = 0;
};

}  // namespace forebay::model
