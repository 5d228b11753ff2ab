// SPDX-License-Identifier: Apache-2.0
// How far a lock grows is the rule of Lustre's servers (lustre/ldlm/ldlm_extent.c of
// lustre-release, ldlm_extent_internal_policy_granted() and ..._waiting()): up to the locks that
// others hold and the bytes that others wait for, and less far where there are many of these.
#include "model/object_locks.hpp"

#include <algorithm>
#include <utility>

#include "base/assert.hpp"

namespace forebay::model {

namespace {

/// With more locks than this beside it that exclude it, a lock does not grow downwards any more.
constexpr std::uint64_t kBesideForDownwards = 4;
/// With more than this one that writes grows upwards by no more than kGrownMost (Lustre's
/// LDLM_MAX_GROWN_EXTENT).
constexpr std::uint64_t kBesideForUpwards = 32;
constexpr std::uint64_t kGrownMost = 32_MiB;

bool exclude(LockMode a, LockMode b) {
  return a == LockMode::kExclusive || b == LockMode::kExclusive;
}

bool overlap(const ByteRange& a, const ByteRange& b) { return !intersect(a, b).empty(); }

/// Begins with all bytes and shrinks towards those that a part wants.
class Growth {
 public:
  explicit Growth(const PartState& part) : wanted_(part.lock_range), mode_(part.mode) {}

  /// Something of others, or of the part's own client, that excludes it elsewhere.
  void meet(const ByteRange& other) {
    ++beside_;
    if (overlap(other, wanted_)) return;
    if (other.offset < wanted_.offset) {
      begin_ = std::max(begin_, other.end());
    } else {
      end_ = std::min(end_, other.offset);
    }
  }
  /// All locks, or all that waits, has been met.
  void limit() {
    if (beside_ > kBesideForDownwards) begin_ = wanted_.offset;
    if (beside_ > kBesideForUpwards && mode_ == LockMode::kExclusive)
      end_ = std::min(end_, std::max(wanted_.end(), wanted_.offset + kGrownMost));
    beside_ = 0;
  }
  ByteRange range() const { return {begin_, end_ == all ? all : end_ - begin_}; }

 private:
  ByteRange wanted_;
  LockMode mode_;
  std::uint64_t begin_ = 0;
  std::uint64_t end_ = all;
  std::uint64_t beside_ = 0;
};

}  // namespace

ObjectNews ObjectLocks::take(ObjectName name, const Layout& layout, PartIndex part) {
  ObjectNews news;
  Object& object = find(name);
  const PartState& state = (*parts_)[part];
  object.layout = layout;
  object.column =
      static_cast<std::uint32_t>(state.range.offset / layout.stripe_bytes % layout.stripe_count);
  if (get(object, part, object.waiting.size())) {
    news.granted.push_back(part);
  } else {
    call_back(name, object, state, news);
    object.waiting.push_back(part);
  }
  return news;
}

ObjectNews ObjectLocks::release(ObjectName name, const PartState& part) {
  ObjectNews news;
  Lock& lock = find(name).locks.at(part.lock);
  FOREBAY_ASSERT(lock.users > 0);
  --lock.users;
  if (lock.users == 0 && lock.taker) news.going.push_back(note_going(name, part.lock));
  return news;
}

GivenUp ObjectLocks::given_up(std::uint32_t number) {
  const Going going = going_.extract(number).mapped();
  Object& object = find(going.object);
  const Lock lock = object.locks.extract(going.lock).mapped();
  FOREBAY_ASSERT(lock.users == 0);
  GivenUp gone{.object = going.object,
               .range = file_range_of(object.layout, object.column, lock.range),
               .loser = lock.client,
               .taker = lock.taker.value()};
  settle(going.object, object, gone.news);
  return gone;
}

void ObjectLocks::forget_file(FileId file) {
  const auto found = files_.find(file);
  if (found == files_.end()) return;
  for (auto& [server, object] : found->second)
    std::erase_if(object.locks,
                  [](const auto& one) { return one.second.users == 0 && !one.second.taker; });
  std::erase_if(found->second, [](const auto& entry) {
    return entry.second.locks.empty() && entry.second.waiting.empty();
  });
  if (found->second.empty()) files_.erase(found);
}

/// A lock of the client's own that covers the bytes, if nobody has called it back.
bool ObjectLocks::use_own(Object& object, PartIndex part) {
  PartState& state = (*parts_)[part];
  for (auto& [number, lock] : object.locks) {
    if (lock.client != state.client || lock.taker || !lock.range.contains(state.lock_range))
      continue;
    if (state.mode == LockMode::kExclusive && lock.mode == LockMode::kShared) continue;
    ++lock.users;
    state.lock = number;
    return true;
  }
  return false;
}

bool ObjectLocks::is_in_the_way(const Lock& lock, const PartState& part) const {
  if (!overlap(lock.range, part.lock_range)) return false;
  if (lock.client == part.client) return lock.taker.has_value();
  return exclude(lock.mode, part.mode);
}

/// `place` is that of the part among those that wait: who came before it comes first.
bool ObjectLocks::is_free(const Object& object, const PartState& part, std::size_t place) const {
  const auto blocks = [&](const auto& one) { return is_in_the_way(one.second, part); };
  if (std::ranges::any_of(object.locks, blocks)) return false;
  const auto came_first = [&](PartIndex other) {
    const PartState& before = (*parts_)[other];
    return exclude(before.mode, part.mode) && overlap(before.lock_range, part.lock_range);
  };
  const auto end = object.waiting.begin() + static_cast<std::ptrdiff_t>(place);
  return std::none_of(object.waiting.begin(), end, came_first);
}

void ObjectLocks::call_back(ObjectName name,
                            Object& object,
                            const PartState& part,
                            ObjectNews& news) {
  for (auto& [number, lock] : object.locks) {
    if (lock.taker || !is_in_the_way(lock, part)) continue;
    lock.taker = part.client;
    if (lock.users == 0) news.going.push_back(note_going(name, number));
  }
}

void ObjectLocks::grant(Object& object, PartIndex part) {
  PartState& state = (*parts_)[part];
  // Before it is in the table: it must not meet itself.
  const ByteRange range = grown(object, part);
  state.lock = ++locks_granted_;
  object.locks[state.lock] = {
      .client = state.client, .mode = state.mode, .range = range, .users = 1};
}

ByteRange ObjectLocks::grown(const Object& object, PartIndex part) const {
  const PartState& state = (*parts_)[part];
  Growth growth(state);
  for (const auto& [number, lock] : object.locks) {
    if (exclude(lock.mode, state.mode)) growth.meet(lock.range);
  }
  growth.limit();
  for (const PartIndex other : object.waiting) {
    if (other == part) continue;
    const PartState& waits = (*parts_)[other];
    if (exclude(waits.mode, state.mode)) growth.meet(waits.lock_range);
  }
  growth.limit();
  return growth.range();
}

std::uint32_t ObjectLocks::note_going(ObjectName name, std::uint64_t lock) {
  const std::uint32_t number = ++goings_;
  going_[number] = {name, lock};
  return number;
}

/// `place` is that of the part among those that wait.
bool ObjectLocks::get(Object& object, PartIndex part, std::size_t place) {
  if (use_own(object, part)) return true;
  if (!is_free(object, (*parts_)[part], place)) return false;
  grant(object, part);
  return true;
}

void ObjectLocks::settle(ObjectName name, Object& object, ObjectNews& news) {
  for (std::size_t place = 0; place < object.waiting.size();) {
    const PartIndex part = object.waiting[place];
    if (!get(object, part, place)) {
      call_back(name, object, (*parts_)[part], news);
      ++place;
      continue;
    }
    object.waiting.erase(object.waiting.begin() + static_cast<std::ptrdiff_t>(place));
    news.granted.push_back(part);
  }
}

}  // namespace forebay::model
