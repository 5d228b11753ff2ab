// SPDX-License-Identifier: Apache-2.0
#include "tools/emufs/program_locks.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

namespace forebay::emufs {

namespace {

bool overlap(const ProgramLock& one, const ProgramLock& other) {
  return one.begin < other.end && other.begin < one.end;
}

bool excludes(const ProgramLock& held, const ProgramLock& wanted) {
  if (held.family != wanted.family || held.owner == wanted.owner) return false;
  if (held.kind != LockKind::kExclusive && wanted.kind != LockKind::kExclusive) return false;
  return overlap(held, wanted);
}

bool is_of_owner(const ProgramLock& held, const ProgramLock& wanted) {
  return held.family == wanted.family && held.owner == wanted.owner;
}

/// Whether both are one lock: programs that lock byte after byte must not make a long list.
bool continues(const ProgramLock& held, const ProgramLock& wanted) {
  return is_of_owner(held, wanted) && held.kind == wanted.kind && held.handle == wanted.handle &&
         (held.end == wanted.begin || held.begin == wanted.end);
}

}  // namespace

const ProgramLock* ProgramLocks::excluder(const Held& held, const ProgramLock& wanted) {
  if (wanted.kind == LockKind::kNone) return nullptr;
  const auto found = std::ranges::find_if(
      held, [&wanted](const ProgramLock& one) { return excludes(one, wanted); });
  return found == held.end() ? nullptr : &*found;
}

/// What the owner held there gives way to what is wanted.
void ProgramLocks::put(Held& held, ProgramLock wanted) {
  Held left;
  for (const ProgramLock& one : held) {
    if (!is_of_owner(one, wanted)) {
      left.push_back(one);
      continue;
    }
    ProgramLock before = one;
    before.end = std::min(one.end, wanted.begin);
    if (before.begin < before.end) left.push_back(before);
    ProgramLock after = one;
    after.begin = std::max(one.begin, wanted.end);
    if (after.begin < after.end) left.push_back(after);
  }
  if (wanted.kind != LockKind::kNone) {
    for (const ProgramLock& one : left) {
      if (!continues(one, wanted)) continue;
      wanted.begin = std::min(wanted.begin, one.begin);
      wanted.end = std::max(wanted.end, one.end);
    }
    std::erase_if(left, [&wanted](const ProgramLock& one) {
      return is_of_owner(one, wanted) && overlap(one, wanted);
    });
    left.push_back(wanted);
  }
  held = std::move(left);
}

/// True if it has the lock now. A lock of a whole file that changes its kind is given up first:
/// that is how flock does it, and two who both want more would wait for each other for ever
/// otherwise.
bool ProgramLocks::take(model::FileId file, const ProgramLock& wanted) {
  Held& held = files_[file];
  if (wanted.family == LockFamily::kWhole) {
    std::erase_if(held, [&wanted](const ProgramLock& one) {
      return is_of_owner(one, wanted) && one.kind != wanted.kind;
    });
  }
  if (excluder(held, wanted) != nullptr) return false;
  put(held, wanted);
  return true;
}

bool ProgramLocks::grant_one(model::FileId file, Answers& answers) {
  const auto free = std::ranges::find_if(waiting_, [this, file](const Waiting& waiting) {
    return waiting.file == file && take(file, waiting.wanted);
  });
  if (free == waiting_.end()) return false;
  answers.push_back(std::move(free->waiter.answer));
  waiting_.erase(free);
  return true;
}

ProgramLocks::Answers ProgramLocks::grant(model::FileId file) {
  Answers answers;
  // One may give up what it held for what it gets, and let one in who came before.
  while (grant_one(file, answers)) {
  }
  if (files_[file].empty()) files_.erase(file);
  return answers;
}

void ProgramLocks::send(const Answers& answers) {
  for (const auto& answer : answers)
    answer->send();
}

int ProgramLocks::set(model::FileId file, const ProgramLock& wanted) {
  std::unique_lock lock(mutex_);
  const bool taken = take(file, wanted);
  const Answers others = grant(file);
  lock.unlock();
  send(others);
  return taken ? 0 : EAGAIN;
}

void ProgramLocks::wait(model::FileId file,
                        const ProgramLock& wanted,
                        Waiter waiter,
                        const std::function<bool()>& is_interrupted) {
  std::unique_lock lock(mutex_);
  const bool taken = take(file, wanted);
  // Asked while nobody can interrupt(): a signal comes before this, or finds who waits.
  const bool refused = !taken && is_interrupted();
  std::unique_ptr<Answer> own;
  if (taken || refused) {
    own = std::move(waiter.answer);
  } else {
    waiting_.push_back({file, wanted, std::move(waiter)});
  }
  const Answers others = grant(file);
  lock.unlock();
  if (refused) own->refuse(EINTR);
  if (taken) own->send();
  send(others);
}

void ProgramLocks::interrupt(Ticket ticket) {
  std::unique_lock lock(mutex_);
  const auto found = std::ranges::find_if(
      waiting_, [ticket](const Waiting& waiting) { return waiting.waiter.ticket == ticket; });
  if (found == waiting_.end()) return;
  const std::unique_ptr<Answer> answer = std::move(found->waiter.answer);
  waiting_.erase(found);
  lock.unlock();
  answer->refuse(EINTR);
}

std::optional<ProgramLock> ProgramLocks::in_the_way_of(model::FileId file,
                                                       const ProgramLock& wanted) const {
  const std::lock_guard lock(mutex_);
  const auto found = files_.find(file);
  if (found == files_.end()) return std::nullopt;
  const ProgramLock* other = excluder(found->second, wanted);
  if (other == nullptr) return std::nullopt;
  return *other;
}

ProgramLocks::Answers ProgramLocks::drop(model::FileId file,
                                         const std::function<bool(const ProgramLock&)>& gone) {
  const auto found = files_.find(file);
  if (found == files_.end() || std::erase_if(found->second, gone) == 0) return {};
  return grant(file);
}

void ProgramLocks::closed(model::FileId file, LockOwner process) {
  std::unique_lock lock(mutex_);
  const Answers answers = drop(file, [process](const ProgramLock& one) {
    return one.family == LockFamily::kRange && one.owner == process;
  });
  lock.unlock();
  send(answers);
}

void ProgramLocks::closed(model::FileId file, std::uint64_t handle) {
  std::unique_lock lock(mutex_);
  const Answers answers =
      drop(file, [handle](const ProgramLock& one) { return one.handle == handle; });
  lock.unlock();
  send(answers);
}

void ProgramLocks::ended(model::ClientId client) {
  std::unique_lock lock(mutex_);
  Answers refused;
  for (auto it = waiting_.begin(); it != waiting_.end();) {
    const bool of_client = it->wanted.owner.client == client;
    if (of_client) refused.push_back(std::move(it->waiter.answer));
    it = of_client ? waiting_.erase(it) : std::next(it);
  }
  std::vector<model::FileId> files;
  for (const auto& [file, held] : files_)
    files.push_back(file);
  Answers granted;
  for (const model::FileId file : files) {
    Answers some =
        drop(file, [client](const ProgramLock& one) { return one.owner.client == client; });
    std::ranges::move(some, std::back_inserter(granted));
  }
  lock.unlock();
  for (const auto& answer : refused)
    answer->refuse(ENOTCONN);
  send(granted);
}

}  // namespace forebay::emufs
