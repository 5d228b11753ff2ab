// SPDX-License-Identifier: Apache-2.0
// Locks that programs take with fcntl and flock, held between the clients of one storage: the
// kernel knows only those of one mount. They are advice, as everywhere, and have nothing to do with
// the locks of the machine file, by which clients keep their page caches alike.
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
#include "tools/emufs/answer.hpp"
#include "tools/emufs/timekeeper.hpp"

namespace forebay::emufs {

/// Locks of ranges (fcntl) and of whole files (flock) do not see each other, as on local disks.
enum class LockFamily : std::uint8_t { kRange, kWhole };

enum class LockKind : std::uint8_t { kNone, kShared, kExclusive };

/// A process or an opened file, by the number that the kernel of its client gives it.
struct LockOwner {
  model::ClientId client = 0;
  std::uint64_t number = 0;

  friend bool operator==(const LockOwner&, const LockOwner&) = default;
};

/// No byte of a file lies here or beyond.
inline constexpr std::uint64_t kFileEnd = std::uint64_t{1} << 63U;

struct ProgramLock {
  LockFamily family = LockFamily::kRange;
  LockKind kind = LockKind::kNone;  ///< kNone: to give up what is held there
  LockOwner owner;
  std::uint64_t handle = 0;  ///< of the opened file it is taken through, and ends with
  pid_t process = 0;
  std::uint64_t begin = 0;
  std::uint64_t end = kFileEnd;
};

/// Any thread. Answers are sent while nothing here is locked.
class ProgramLocks {
 public:
  /// Takes the lock or gives up what the owner holds there: 0, or EAGAIN if others hold it.
  int set(model::FileId file, const ProgramLock& wanted);

  /// A program that waits.
  struct Waiter {
    Ticket ticket = 0;
    std::unique_ptr<Answer> answer;
  };
  /// Takes the lock as soon as nobody excludes it, and answers then; first come, first served,
  /// except that who is not excluded goes on. Refused with EINTR if `is_interrupted` is true when
  /// it would begin to wait, or interrupt() comes.
  void wait(model::FileId file,
            const ProgramLock& wanted,
            Waiter waiter,
            const std::function<bool()>& is_interrupted);
  /// Who waits by this ticket, if anybody, is refused with EINTR.
  void interrupt(Ticket ticket);

  /// A lock that stands in the way of this one.
  std::optional<ProgramLock> in_the_way_of(model::FileId file, const ProgramLock& wanted) const;

  /// A process closed a file: its locks of ranges are gone, through whichever descriptor.
  void closed(model::FileId file, LockOwner process);
  /// Nobody has this opened file any more.
  void closed(model::FileId file, std::uint64_t handle);
  /// A client is gone, with all its programs: who waits there is refused.
  void ended(model::ClientId client);

 private:
  using Held = std::vector<ProgramLock>;
  using Answers = std::vector<std::unique_ptr<Answer>>;
  struct Waiting {
    model::FileId file = 0;
    ProgramLock wanted;
    Waiter waiter;
  };

  static const ProgramLock* excluder(const Held& held, const ProgramLock& wanted);
  static void put(Held& held, ProgramLock wanted);
  bool take(model::FileId file, const ProgramLock& wanted);
  bool grant_one(model::FileId file, Answers& answers);
  /// Those who wait for locks of this file take what they can have now.
  Answers grant(model::FileId file);
  Answers drop(model::FileId file, const std::function<bool(const ProgramLock&)>& gone);
  static void send(const Answers& answers);

  mutable std::mutex mutex_;
  std::unordered_map<model::FileId, Held> files_;
  std::list<Waiting> waiting_;  ///< in the order of coming
};

}  // namespace forebay::emufs
