// SPDX-License-Identifier: Apache-2.0
// The lock table. A lock that changes hands leaves the old holders with nothing, even if they could
// have gone on sharing it: that is what cancelling a lock means on the storage this imitates.
#include "model/locks.hpp"

#include <utility>

#include "base/assert.hpp"

namespace forebay::model {

LockNews LockTable::take(LockName name, PartIndex part) {
  LockNews news;
  Lock& lock = find(name);
  lock.waiting.push(*parts_, part);
  settle(lock, news);
  return news;
}

LockNews LockTable::changed(LockName name) {
  LockNews news;
  Lock& lock = find(name);
  FOREBAY_ASSERT(lock.changer != kNoPart);
  const PartIndex part = std::exchange(lock.changer, kNoPart);
  const ClientId taker = (*parts_)[part].client;
  for (auto holder = lock.users_of.begin(); holder != lock.users_of.end();) {
    if (holder->first == taker) {
      ++holder;
      continue;
    }
    FOREBAY_ASSERT(holder->second == 0);
    news.losers.push_back(holder->first);
    holder = lock.users_of.erase(holder);
  }
  grant(lock, part, news);
  settle(lock, news);
  return news;
}

LockNews LockTable::release(LockName name, ClientId client) {
  LockNews news;
  Lock& lock = find(name);
  std::uint32_t& users = lock.users_of.at(client);
  FOREBAY_ASSERT(users > 0);
  --users;
  --lock.users;
  settle(lock, news);
  return news;
}

void LockTable::forget_file(FileId file) {
  const auto found = files_.find(file);
  if (found == files_.end()) return;
  std::erase_if(found->second, [](const auto& entry) {
    const Lock& lock = entry.second;
    return lock.users == 0 && lock.waiting.empty() && lock.changer == kNoPart;
  });
  if (found->second.empty()) files_.erase(found);
}

bool LockTable::is_excluded(const Lock& lock, const PartState& part) const {
  const bool has_others = lock.users_of.size() > lock.users_of.count(part.client);
  if (!has_others) return false;
  return lock.mode == LockMode::kExclusive || part.mode == LockMode::kExclusive;
}

void LockTable::grant(Lock& lock, PartIndex part, LockNews& news) {
  const PartState& state = (*parts_)[part];
  const bool is_first = lock.users_of.empty();
  if (is_first || state.mode == LockMode::kExclusive) lock.mode = state.mode;
  ++lock.users_of[state.client];
  ++lock.users;
  news.granted.push_back(part);
}

void LockTable::settle(Lock& lock, LockNews& news) {
  while (lock.changer == kNoPart && !lock.waiting.empty()) {
    const PartState& next = (*parts_)[lock.waiting.first()];
    if (!is_excluded(lock, next)) {
      grant(lock, lock.waiting.pop(*parts_), news);
      continue;
    }
    const auto own = lock.users_of.find(next.client);
    const std::uint64_t own_users = own == lock.users_of.end() ? 0 : own->second;
    if (lock.users > own_users) return;
    lock.changer = lock.waiting.pop(*parts_);
    news.changing = lock.changer;
  }
}

}  // namespace forebay::model
