// SPDX-License-Identifier: Apache-2.0
// When a lock changes its holder, the former holders lose it, even if they could have continued to
// share it. This is what cancelling a lock means on the modeled storage.
#include "model/lock_table.hpp"

#include <utility>

#include "base/assert.hpp"

namespace forebay::model {

std::uint64_t lock_unit_bytes(const Locks& locks, const Layout& layout) {
  if (locks.unit == LockUnit::kStripe) return layout.stripe_bytes;
  return locks.unit == LockUnit::kBytes ? locks.unit_bytes : kAll;
}

LockUpdate LockTable::enqueue(LockId name, SubrequestIndex subrequest) {
  LockUpdate update;
  Lock& lock = find(name);
  lock.waiting.push(*subrequests_, subrequest);
  grant_waiting(lock, update);
  return update;
}

LockUpdate LockTable::complete_transfer(LockId name) {
  LockUpdate update;
  Lock& lock = find(name);
  FOREBAY_ASSERT(lock.pending_holder != kNoSubrequest);
  const SubrequestIndex subrequest = std::exchange(lock.pending_holder, kNoSubrequest);
  const ClientId requester = (*subrequests_)[subrequest].client;
  for (auto holder = lock.use_counts.begin(); holder != lock.use_counts.end();) {
    if (holder->first == requester) {
      ++holder;
      continue;
    }
    FOREBAY_ASSERT(holder->second == 0);
    update.revoked_clients.push_back(holder->first);
    holder = lock.use_counts.erase(holder);
  }
  grant(lock, subrequest, update);
  grant_waiting(lock, update);
  return update;
}

LockUpdate LockTable::release(LockId name, ClientId client) {
  LockUpdate update;
  Lock& lock = find(name);
  std::uint32_t& users = lock.use_counts.at(client);
  FOREBAY_ASSERT(users > 0);
  --users;
  --lock.users;
  grant_waiting(lock, update);
  return update;
}

void LockTable::cancel_unused(FileId file) {
  const auto found = files_.find(file);
  if (found == files_.end()) return;
  std::erase_if(found->second, [](const auto& entry) {
    const Lock& lock = entry.second;
    return lock.users == 0 && lock.waiting.empty() && lock.pending_holder == kNoSubrequest;
  });
  if (found->second.empty()) files_.erase(found);
}

bool LockTable::is_blocked(const Lock& lock, const Subrequest& subrequest) const {
  const bool has_others = lock.use_counts.size() > lock.use_counts.count(subrequest.client);
  if (!has_others) return false;
  return lock.mode == LockMode::kExclusive || subrequest.mode == LockMode::kExclusive;
}

void LockTable::grant(Lock& lock, SubrequestIndex subrequest, LockUpdate& update) {
  const Subrequest& state = (*subrequests_)[subrequest];
  const bool is_first = lock.use_counts.empty();
  if (is_first || state.mode == LockMode::kExclusive) lock.mode = state.mode;
  ++lock.use_counts[state.client];
  ++lock.users;
  update.granted.push_back(subrequest);
}

void LockTable::grant_waiting(Lock& lock, LockUpdate& update) {
  while (lock.pending_holder == kNoSubrequest && !lock.waiting.empty()) {
    const Subrequest& next = (*subrequests_)[lock.waiting.first()];
    if (!is_blocked(lock, next)) {
      grant(lock, lock.waiting.pop(*subrequests_), update);
      continue;
    }
    const auto own = lock.use_counts.find(next.client);
    const std::uint64_t own_users = own == lock.use_counts.end() ? 0 : own->second;
    if (lock.users > own_users) return;
    lock.pending_holder = lock.waiting.pop(*subrequests_);
    update.transferring = lock.pending_holder;
  }
}

}  // namespace forebay::model
