// SPDX-License-Identifier: Apache-2.0
// Who holds which lock: one lock for each unit of each file, shared by those who read or owned by
// one who writes, kept by a client until another wants it, and given in the order of asking.
#pragma once

#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

#include "model/parts.hpp"

namespace forebay::model {

struct LockName {
  FileId file = 0;
  std::uint64_t unit = 0;
};

/// What follows from a call.
struct LockNews {
  /// These parts have the lock now, in this order.
  std::vector<PartIndex> granted = {};
  /// This part takes the lock from others: changed() is to be called when that is done.
  PartIndex changing = kNoPart;
  /// These clients do not have the lock any more.
  std::vector<ClientId> losers = {};
};

/// Looks at `client`, `mode` and `came` of parts. Parts of one client do not exclude each other.
class LockTable {
 public:
  explicit LockTable(Parts& parts) : parts_(&parts) {}

  /// The part wants the lock; it may stand in no other queue until it is granted.
  LockNews take(LockName name, PartIndex part);
  /// The part that was `changing` has the lock.
  LockNews changed(LockName name);
  /// A part that was granted the lock is done. Its client keeps the lock.
  LockNews release(LockName name, ClientId client);
  /// Locks on this file that nobody uses or wants are held by nobody.
  void forget_file(FileId file);

 private:
  struct Lock {
    LockMode mode = LockMode::kShared;
    std::map<ClientId, std::uint32_t> users_of;  ///< of each holder; 0 while it only keeps the lock
    std::uint64_t users = 0;
    PartQueue waiting;
    PartIndex changer = kNoPart;
  };

  bool is_excluded(const Lock& lock, const PartState& part) const;
  void grant(Lock& lock, PartIndex part, LockNews& news);
  /// Gives the lock to those who wait, as far as that goes now.
  void settle(Lock& lock, LockNews& news);
  Lock& find(LockName name) { return files_[name.file][name.unit]; }

  Parts* parts_;
  std::unordered_map<FileId, std::unordered_map<std::uint64_t, Lock>> files_;
};

}  // namespace forebay::model
