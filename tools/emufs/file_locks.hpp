// SPDX-License-Identifier: Apache-2.0
// Locks that programs acquire with fcntl and flock, held between the clients of one storage: the
// kernel handles only those of one mount. They are advisory, as elsewhere, and independent of the
// machine file's locks, which keep the page caches of clients coherent.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

#include <sys/types.h>

#include "model/storage_model.hpp"
#include "tools/emufs/reply.hpp"
#include "tools/emufs/reply_scheduler.hpp"

namespace forebay::emufs {

/// Locks of ranges (fcntl) and of whole files (flock) do not conflict with each other, as on local
/// disks.
enum class LockType : std::uint8_t { kPosix, kFlock };

enum class LockKind : std::uint8_t { kNone, kShared, kExclusive };

/// A process or an open file, by the number that the kernel of its client assigned.
struct LockOwner {
  model::ClientId client = 0;
  std::uint64_t number = 0;

  friend bool operator==(const LockOwner&, const LockOwner&) = default;
};

/// Offsets of files are below this.
inline constexpr std::uint64_t kFileEnd = std::uint64_t{1} << 63U;

struct FileLock {
  LockType type = LockType::kPosix;
  LockKind kind = LockKind::kNone;  ///< kNone: release what the owner holds there
  LockOwner owner;
  std::uint64_t handle = 0;  ///< of the open file description through which it is acquired, and
                             ///< with which it ends
  pid_t process = 0;
  std::uint64_t begin = 0;
  std::uint64_t end = kFileEnd;
};

/// Thread-safe. Replies are sent without holding the mutex.
class FileLockTable {
 public:
  /// Acquires the lock, or releases what the owner holds there. Returns 0, or EAGAIN if a
  /// conflicting lock is held.
  int set(model::FileId file, const FileLock& wanted);

  /// A waiting program.
  struct Waiter {
    Ticket ticket = 0;
    std::unique_ptr<Reply> reply;
  };
  /// Acquires the lock as soon as no lock conflicts with it, and replies then. Waiters are served
  /// in order of arrival; a waiter without a conflict may overtake. Fails with EINTR if
  /// `is_interrupted` returns true when the wait would begin, or when interrupt() is called.
  void wait(model::FileId file,
            const FileLock& wanted,
            Waiter waiter,
            const std::function<bool()>& is_interrupted);
  /// If a waiter has this ticket, it fails with EINTR.
  void interrupt(Ticket ticket);

  /// A lock that conflicts with this one.
  std::optional<FileLock> find_conflict(model::FileId file, const FileLock& wanted) const;

  /// A process has closed a file: releases its locks of ranges, through whichever descriptor they
  /// were acquired.
  void release_on_close(model::FileId file, LockOwner process);
  /// An open file description is closed: releases the locks acquired through it.
  void release_on_close(model::FileId file, std::uint64_t handle);
  /// A client has ended, with all its programs: its locks are released, and its waiters fail.
  void release_client(model::ClientId client);

 private:
  using Held = std::vector<FileLock>;
  using Replies = std::vector<std::unique_ptr<Reply>>;
  struct PendingLock {
    model::FileId file = 0;
    FileLock wanted;
    Waiter waiter;
  };

  static const FileLock* conflicting_lock(const Held& held, const FileLock& wanted);
  static void replace_range(Held& held, FileLock wanted);
  bool try_acquire(model::FileId file, const FileLock& wanted);
  bool grant_one(model::FileId file, Replies& replies);
  /// Waiters for locks of this file acquire what has no conflict now.
  Replies grant(model::FileId file);
  Replies release(model::FileId file, const std::function<bool(const FileLock&)>& should_release);
  static void send(const Replies& replies);

  mutable std::mutex mutex_;
  std::unordered_map<model::FileId, Held> files_;
  std::list<PendingLock> waiting_;  ///< in order of arrival
};

}  // namespace forebay::emufs
