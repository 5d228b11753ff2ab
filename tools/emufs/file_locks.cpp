// SPDX-License-Identifier: Apache-2.0
#include "tools/emufs/file_locks.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

namespace forebay::emufs {

namespace {

bool overlap(const FileLock& one, const FileLock& other) {
  return one.begin < other.end && other.begin < one.end;
}

bool is_conflict(const FileLock& held, const FileLock& wanted) {
  if (held.type != wanted.type || held.owner == wanted.owner) return false;
  if (held.kind != LockKind::kExclusive && wanted.kind != LockKind::kExclusive) return false;
  return overlap(held, wanted);
}

bool has_same_owner(const FileLock& held, const FileLock& wanted) {
  return held.type == wanted.type && held.owner == wanted.owner;
}

/// Whether both are one lock. Merging keeps the list short for programs that lock byte after byte.
bool is_adjacent(const FileLock& held, const FileLock& wanted) {
  return has_same_owner(held, wanted) && held.kind == wanted.kind && held.handle == wanted.handle &&
         (held.end == wanted.begin || held.begin == wanted.end);
}

}  // namespace

const FileLock* FileLockTable::conflicting_lock(const Held& held, const FileLock& wanted) {
  if (wanted.kind == LockKind::kNone) return nullptr;
  const auto found = std::ranges::find_if(
      held, [&wanted](const FileLock& one) { return is_conflict(one, wanted); });
  return found == held.end() ? nullptr : &*found;
}

/// Replaces what the owner holds in the range of `wanted`.
void FileLockTable::replace_range(Held& held, FileLock wanted) {
  Held left;
  for (const FileLock& one : held) {
    if (!has_same_owner(one, wanted)) {
      left.push_back(one);
      continue;
    }
    FileLock before = one;
    before.end = std::min(one.end, wanted.begin);
    if (before.begin < before.end) left.push_back(before);
    FileLock after = one;
    after.begin = std::max(one.begin, wanted.end);
    if (after.begin < after.end) left.push_back(after);
  }
  if (wanted.kind != LockKind::kNone) {
    for (const FileLock& one : left) {
      if (!is_adjacent(one, wanted)) continue;
      wanted.begin = std::min(wanted.begin, one.begin);
      wanted.end = std::max(wanted.end, one.end);
    }
    std::erase_if(left, [&wanted](const FileLock& one) {
      return has_same_owner(one, wanted) && overlap(one, wanted);
    });
    left.push_back(wanted);
  }
  held = std::move(left);
}

/// True if the owner holds the lock now. A lock of a whole file that changes its kind is released
/// first, as flock does. Otherwise two holders that both request an exclusive lock would deadlock.
bool FileLockTable::try_acquire(model::FileId file, const FileLock& wanted) {
  Held& held = files_[file];
  if (wanted.type == LockType::kFlock) {
    std::erase_if(held, [&wanted](const FileLock& one) {
      return has_same_owner(one, wanted) && one.kind != wanted.kind;
    });
  }
  if (conflicting_lock(held, wanted) != nullptr) return false;
  replace_range(held, wanted);
  return true;
}

bool FileLockTable::grant_one(model::FileId file, Replies& replies) {
  const auto free = std::ranges::find_if(waiting_, [this, file](const PendingLock& waiting) {
    return waiting.file == file && try_acquire(file, waiting.wanted);
  });
  if (free == waiting_.end()) return false;
  replies.push_back(std::move(free->waiter.reply));
  waiting_.erase(free);
  return true;
}

FileLockTable::Replies FileLockTable::grant(model::FileId file) {
  Replies replies;
  // An owner may release a lock for the one that it gets, which admits an earlier waiter.
  while (grant_one(file, replies)) {
  }
  if (files_[file].empty()) files_.erase(file);
  return replies;
}

void FileLockTable::send(const Replies& replies) {
  for (const auto& reply : replies)
    reply->send();
}

int FileLockTable::set(model::FileId file, const FileLock& wanted) {
  std::unique_lock lock(mutex_);
  const bool taken = try_acquire(file, wanted);
  const Replies others = grant(file);
  lock.unlock();
  send(others);
  return taken ? 0 : EAGAIN;
}

void FileLockTable::wait(model::FileId file,
                         const FileLock& wanted,
                         Waiter waiter,
                         const std::function<bool()>& is_interrupted) {
  std::unique_lock lock(mutex_);
  const bool taken = try_acquire(file, wanted);
  // Called under the mutex, which interrupt() takes: a signal comes before this, or finds the
  // waiter.
  const bool refused = !taken && is_interrupted();
  std::unique_ptr<Reply> own;
  if (taken || refused) {
    own = std::move(waiter.reply);
  } else {
    waiting_.push_back({file, wanted, std::move(waiter)});
  }
  const Replies others = grant(file);
  lock.unlock();
  if (refused) own->send_error(EINTR);
  if (taken) own->send();
  send(others);
}

void FileLockTable::interrupt(Ticket ticket) {
  std::unique_lock lock(mutex_);
  const auto found = std::ranges::find_if(
      waiting_, [ticket](const PendingLock& waiting) { return waiting.waiter.ticket == ticket; });
  if (found == waiting_.end()) return;
  const std::unique_ptr<Reply> reply = std::move(found->waiter.reply);
  waiting_.erase(found);
  lock.unlock();
  reply->send_error(EINTR);
}

std::optional<FileLock> FileLockTable::find_conflict(model::FileId file,
                                                     const FileLock& wanted) const {
  const std::lock_guard lock(mutex_);
  const auto found = files_.find(file);
  if (found == files_.end()) return std::nullopt;
  const FileLock* other = conflicting_lock(found->second, wanted);
  if (other == nullptr) return std::nullopt;
  return *other;
}

FileLockTable::Replies FileLockTable::release(
    model::FileId file, const std::function<bool(const FileLock&)>& should_release) {
  const auto found = files_.find(file);
  if (found == files_.end() || std::erase_if(found->second, should_release) == 0) return {};
  return grant(file);
}

void FileLockTable::release_on_close(model::FileId file, LockOwner process) {
  std::unique_lock lock(mutex_);
  const Replies replies = release(file, [process](const FileLock& one) {
    return one.type == LockType::kPosix && one.owner == process;
  });
  lock.unlock();
  send(replies);
}

void FileLockTable::release_on_close(model::FileId file, std::uint64_t handle) {
  std::unique_lock lock(mutex_);
  const Replies replies =
      release(file, [handle](const FileLock& one) { return one.handle == handle; });
  lock.unlock();
  send(replies);
}

void FileLockTable::release_client(model::ClientId client) {
  std::unique_lock lock(mutex_);
  Replies refused;
  for (auto it = waiting_.begin(); it != waiting_.end();) {
    const bool of_client = it->wanted.owner.client == client;
    if (of_client) refused.push_back(std::move(it->waiter.reply));
    it = of_client ? waiting_.erase(it) : std::next(it);
  }
  std::vector<model::FileId> files;
  for (const auto& [file, held] : files_)
    files.push_back(file);
  Replies granted;
  for (const model::FileId file : files) {
    Replies some =
        release(file, [client](const FileLock& one) { return one.owner.client == client; });
    std::ranges::move(some, std::back_inserter(granted));
  }
  lock.unlock();
  for (const auto& reply : refused)
    reply->send_error(ENOTCONN);
  send(granted);
}

}  // namespace forebay::emufs
