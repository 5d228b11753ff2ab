// SPDX-License-Identifier: Apache-2.0
// Growth follows the rule of Lustre's servers (lustre/ldlm/ldlm_extent.c of lustre-release,
// ldlm_extent_internal_policy_granted() and ..._waiting()). A lock grows up to the locks of other
// clients and the bytes that others wait for, and less if there are many of these.
#include "model/extent_locks.hpp"

#include <algorithm>
#include <utility>

#include "base/assert.hpp"

namespace forebay::model {

namespace {

/// With more conflicting locks than this on the object, a lock does not grow downward.
constexpr std::uint64_t kConflictsNoDownwardGrowth = 4;
/// With more than this, a write lock grows upward by at most kGrownExtentMax (Lustre's
/// LDLM_MAX_GROWN_EXTENT).
constexpr std::uint64_t kConflictsLimitedGrowth = 32;
constexpr std::uint64_t kGrownExtentMax = 32_MiB;

bool is_incompatible(LockMode a, LockMode b) {
  return a == LockMode::kExclusive || b == LockMode::kExclusive;
}

bool has_overlap(const ByteRange& a, const ByteRange& b) { return !intersect(a, b).empty(); }

/// Starts with all bytes and shrinks toward those that a subrequest requests.
class ExtentExpansion {
 public:
  explicit ExtentExpansion(const Subrequest& subrequest)
      : requested_(subrequest.lock_range), mode_(subrequest.mode) {}

  /// Excludes a conflicting range of another client, or of the subrequest's own client.
  void exclude_range(const ByteRange& other) {
    ++conflicts_;
    if (has_overlap(other, requested_)) return;
    if (other.offset < requested_.offset) {
      begin_ = std::max(begin_, other.end());
    } else {
      end_ = std::min(end_, other.offset);
    }
  }
  /// Called when all locks, or all waiting subrequests, have been excluded.
  void apply_limits() {
    if (conflicts_ > kConflictsNoDownwardGrowth) begin_ = requested_.offset;
    if (conflicts_ > kConflictsLimitedGrowth && mode_ == LockMode::kExclusive)
      end_ = std::min(end_, std::max(requested_.end(), requested_.offset + kGrownExtentMax));
    conflicts_ = 0;
  }
  ByteRange range() const { return {begin_, end_ == kAll ? kAll : end_ - begin_}; }

 private:
  ByteRange requested_;
  LockMode mode_;
  std::uint64_t begin_ = 0;
  std::uint64_t end_ = kAll;
  std::uint64_t conflicts_ = 0;
};

}  // namespace

ExtentLockUpdate ExtentLockTable::take(ObjectId name,
                                       const Layout& layout,
                                       SubrequestIndex subrequest) {
  ExtentLockUpdate update;
  Object& object = find(name);
  const Subrequest& state = (*subrequests_)[subrequest];
  object.layout = layout;
  object.column =
      static_cast<std::uint32_t>(state.range.offset / layout.stripe_bytes % layout.stripe_count);
  if (try_grant(object, subrequest, object.waiting.size())) {
    update.granted.push_back(subrequest);
  } else {
    revoke_conflicting(name, object, state, update);
    object.waiting.push_back(subrequest);
  }
  return update;
}

ExtentLockUpdate ExtentLockTable::release(ObjectId name, const Subrequest& subrequest) {
  ExtentLockUpdate update;
  Lock& lock = find(name).locks.at(subrequest.lock);
  FOREBAY_ASSERT(lock.users > 0);
  --lock.users;
  if (lock.users == 0 && lock.requester)
    update.cancelling.push_back(schedule_cancel(name, subrequest.lock));
  return update;
}

CancelledLock ExtentLockTable::complete_cancel(std::uint32_t number) {
  const PendingCancel pending = pending_cancels_.extract(number).mapped();
  Object& object = find(pending.object);
  const Lock lock = object.locks.extract(pending.lock).mapped();
  FOREBAY_ASSERT(lock.users == 0);
  CancelledLock cancelled{.object = pending.object,
                          .range = file_range_of(object.layout, object.column, lock.range),
                          .previous_holder = lock.client,
                          .requester = lock.requester.value()};
  grant_waiting(pending.object, object, cancelled.update);
  return cancelled;
}

void ExtentLockTable::cancel_unused(FileId file) {
  const auto found = files_.find(file);
  if (found == files_.end()) return;
  for (auto& [server, object] : found->second)
    std::erase_if(object.locks,
                  [](const auto& one) { return one.second.users == 0 && !one.second.requester; });
  std::erase_if(found->second, [](const auto& entry) {
    return entry.second.locks.empty() && entry.second.waiting.empty();
  });
  if (found->second.empty()) files_.erase(found);
}

/// Uses a lock of the subrequest's client that covers the bytes, unless it was called back.
bool ExtentLockTable::match_own_lock(Object& object, SubrequestIndex subrequest) {
  Subrequest& state = (*subrequests_)[subrequest];
  for (auto& [number, lock] : object.locks) {
    if (lock.client != state.client || lock.requester || !lock.range.contains(state.lock_range))
      continue;
    if (state.mode == LockMode::kExclusive && lock.mode == LockMode::kShared) continue;
    ++lock.users;
    state.lock = number;
    return true;
  }
  return false;
}

bool ExtentLockTable::is_conflicting(const Lock& lock, const Subrequest& subrequest) const {
  if (!has_overlap(lock.range, subrequest.lock_range)) return false;
  if (lock.client == subrequest.client) return lock.requester.has_value();
  return is_incompatible(lock.mode, subrequest.mode);
}

/// `place` is the position among waiting subrequests: earlier ones come first.
bool ExtentLockTable::is_grantable(const Object& object,
                                   const Subrequest& subrequest,
                                   std::size_t place) const {
  const auto blocks = [&](const auto& one) { return is_conflicting(one.second, subrequest); };
  if (std::ranges::any_of(object.locks, blocks)) return false;
  const auto precedes = [&](SubrequestIndex other) {
    const Subrequest& before = (*subrequests_)[other];
    return is_incompatible(before.mode, subrequest.mode) &&
           has_overlap(before.lock_range, subrequest.lock_range);
  };
  const auto end = object.waiting.begin() + static_cast<std::ptrdiff_t>(place);
  return std::none_of(object.waiting.begin(), end, precedes);
}

void ExtentLockTable::revoke_conflicting(ObjectId name,
                                         Object& object,
                                         const Subrequest& subrequest,
                                         ExtentLockUpdate& update) {
  for (auto& [number, lock] : object.locks) {
    if (lock.requester || !is_conflicting(lock, subrequest)) continue;
    lock.requester = subrequest.client;
    if (lock.users == 0) update.cancelling.push_back(schedule_cancel(name, number));
  }
}

void ExtentLockTable::grant(Object& object, SubrequestIndex subrequest) {
  Subrequest& state = (*subrequests_)[subrequest];
  // Before the lock is in the table: it must not exclude its own range.
  const ByteRange range = expanded_range(object, subrequest);
  state.lock = ++locks_granted_;
  object.locks[state.lock] = {
      .client = state.client, .mode = state.mode, .range = range, .users = 1};
}

ByteRange ExtentLockTable::expanded_range(const Object& object, SubrequestIndex subrequest) const {
  const Subrequest& state = (*subrequests_)[subrequest];
  ExtentExpansion growth(state);
  for (const auto& [number, lock] : object.locks) {
    if (is_incompatible(lock.mode, state.mode)) growth.exclude_range(lock.range);
  }
  growth.apply_limits();
  for (const SubrequestIndex other : object.waiting) {
    if (other == subrequest) continue;
    const Subrequest& waiter = (*subrequests_)[other];
    if (is_incompatible(waiter.mode, state.mode)) growth.exclude_range(waiter.lock_range);
  }
  growth.apply_limits();
  return growth.range();
}

std::uint32_t ExtentLockTable::schedule_cancel(ObjectId name, std::uint64_t lock) {
  const std::uint32_t number = ++cancel_count_;
  pending_cancels_[number] = {name, lock};
  return number;
}

/// `place` is the position among waiting subrequests.
bool ExtentLockTable::try_grant(Object& object, SubrequestIndex subrequest, std::size_t place) {
  if (match_own_lock(object, subrequest)) return true;
  if (!is_grantable(object, (*subrequests_)[subrequest], place)) return false;
  grant(object, subrequest);
  return true;
}

void ExtentLockTable::grant_waiting(ObjectId name, Object& object, ExtentLockUpdate& update) {
  for (std::size_t place = 0; place < object.waiting.size();) {
    const SubrequestIndex subrequest = object.waiting[place];
    if (!try_grant(object, subrequest, place)) {
      revoke_conflicting(name, object, (*subrequests_)[subrequest], update);
      ++place;
      continue;
    }
    object.waiting.erase(object.waiting.begin() + static_cast<std::ptrdiff_t>(place));
    update.granted.push_back(subrequest);
  }
}

}  // namespace forebay::model
