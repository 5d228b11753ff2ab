// SPDX-License-Identifier: Apache-2.0
#include "tools/emufs/file_locks.hpp"

#include <cerrno>
#include <string>

#include <gtest/gtest.h>

namespace forebay::emufs {
namespace {

constexpr model::FileId kFile = 7;
constexpr LockOwner kFirstOwner{0, 1};
constexpr LockOwner kSecondOwner{1, 1};
constexpr LockOwner kThird{1, 2};

FileLock range(LockOwner owner, LockKind kind, std::uint64_t begin, std::uint64_t end) {
  return {.type = LockType::kPosix,
          .kind = kind,
          .owner = owner,
          .handle = 100 * std::uint64_t{owner.client} + owner.number,
          .process = static_cast<pid_t>(owner.number),
          .begin = begin,
          .end = end};
}

FileLock whole(LockOwner owner, LockKind kind) {
  FileLock lock = range(owner, kind, 0, kFileEnd);
  lock.type = LockType::kFlock;
  return lock;
}

class FileLockTableTest : public testing::Test {
 protected:
  int exclusive(LockOwner owner, std::uint64_t begin, std::uint64_t end) {
    return locks_.set(kFile, range(owner, LockKind::kExclusive, begin, end));
  }
  int shared(LockOwner owner, std::uint64_t begin, std::uint64_t end) {
    return locks_.set(kFile, range(owner, LockKind::kShared, begin, end));
  }
  int unlock(LockOwner owner, std::uint64_t begin, std::uint64_t end) {
    return locks_.set(kFile, range(owner, LockKind::kNone, begin, end));
  }
  /// Appends `name` to replies_ when the lock is granted, and the errno if it fails.
  void wait(const FileLock& wanted, Ticket ticket, bool interrupted = false) {
    const std::string name = std::to_string(ticket);
    auto reply = make_reply(
        [this, name] { replies_ += name + " "; },
        [this, name](int error) { replies_ += name + ":" + std::to_string(error) + " "; });
    locks_.wait(kFile, wanted, {.ticket = ticket, .reply = std::move(reply)},
                [interrupted] { return interrupted; });
  }
  static std::string interrupted(Ticket ticket) {
    return std::to_string(ticket) + ":" + std::to_string(EINTR) + " ";
  }

  FileLockTable locks_;
  std::string replies_;
};

TEST_F(FileLockTableTest, overlapping_ranges_of_two_clients_conflict) {
  EXPECT_EQ(exclusive(kFirstOwner, 10, 20), 0);
  EXPECT_EQ(exclusive(kSecondOwner, 19, 21), EAGAIN);
  EXPECT_EQ(shared(kSecondOwner, 0, 11), EAGAIN);
  EXPECT_EQ(exclusive(kSecondOwner, 20, 21), 0);
  EXPECT_EQ(exclusive(kSecondOwner, 0, 10), 0);
}

TEST_F(FileLockTableTest, shared_locks_do_not_conflict) {
  EXPECT_EQ(shared(kFirstOwner, 0, 10), 0);
  EXPECT_EQ(shared(kSecondOwner, 0, 10), 0);
  EXPECT_EQ(exclusive(kFirstOwner, 0, 10), EAGAIN);
  EXPECT_EQ(unlock(kSecondOwner, 0, 10), 0);
  EXPECT_EQ(exclusive(kFirstOwner, 0, 10), 0);
}

TEST_F(FileLockTableTest, unlocking_the_middle_keeps_both_ends) {
  EXPECT_EQ(exclusive(kFirstOwner, 0, 30), 0);
  EXPECT_EQ(unlock(kFirstOwner, 10, 20), 0);
  EXPECT_EQ(exclusive(kSecondOwner, 10, 20), 0);
  EXPECT_EQ(exclusive(kSecondOwner, 9, 10), EAGAIN);
  EXPECT_EQ(exclusive(kSecondOwner, 20, 21), EAGAIN);
}

TEST_F(FileLockTableTest, adjacent_locks_of_one_owner_are_merged) {
  for (std::uint64_t byte = 0; byte < 100; ++byte)
    EXPECT_EQ(exclusive(kFirstOwner, byte, byte + 1), 0);
  const auto other = locks_.find_conflict(kFile, range(kSecondOwner, LockKind::kShared, 50, 51));
  ASSERT_TRUE(other.has_value());
  EXPECT_EQ(other->begin, 0);
  EXPECT_EQ(other->end, 100);
  EXPECT_EQ(other->process, 1);
  EXPECT_FALSE(
      locks_.find_conflict(kFile, range(kFirstOwner, LockKind::kExclusive, 0, 9)).has_value());
  EXPECT_FALSE(
      locks_.find_conflict(8, range(kSecondOwner, LockKind::kExclusive, 0, 9)).has_value());
}

TEST_F(FileLockTableTest, part_of_a_range_changes_its_kind) {
  EXPECT_EQ(exclusive(kFirstOwner, 0, 30), 0);
  EXPECT_EQ(shared(kFirstOwner, 10, 20), 0);
  EXPECT_EQ(shared(kSecondOwner, 10, 20), 0);
  EXPECT_EQ(shared(kSecondOwner, 5, 6), EAGAIN);
  EXPECT_EQ(shared(kSecondOwner, 25, 26), EAGAIN);
}

TEST_F(FileLockTableTest, waiters_are_granted_in_order) {
  EXPECT_EQ(exclusive(kFirstOwner, 0, 10), 0);
  wait(range(kSecondOwner, LockKind::kExclusive, 5, 15), 1);
  wait(range(kThird, LockKind::kExclusive, 5, 6), 2);
  EXPECT_EQ(replies_, "");
  EXPECT_EQ(unlock(kFirstOwner, 0, kFileEnd), 0);
  EXPECT_EQ(replies_, "1 ");
  locks_.release_on_close(kFile, kSecondOwner);
  EXPECT_EQ(replies_, "1 2 ");
}

TEST_F(FileLockTableTest, free_lock_is_granted_at_once) {
  wait(range(kFirstOwner, LockKind::kExclusive, 0, 10), 1);
  EXPECT_EQ(replies_, "1 ");
}

TEST_F(FileLockTableTest, downgrade_of_a_part_grants_waiting_shared_lock) {
  EXPECT_EQ(exclusive(kFirstOwner, 0, 10), 0);
  wait(range(kSecondOwner, LockKind::kShared, 0, 5), 1);
  EXPECT_EQ(shared(kFirstOwner, 0, 5), 0);
  EXPECT_EQ(replies_, "1 ");
}

TEST_F(FileLockTableTest, interrupted_waiter_fails_with_eintr) {
  EXPECT_EQ(exclusive(kFirstOwner, 0, 10), 0);
  wait(range(kSecondOwner, LockKind::kExclusive, 0, 10), 1);
  locks_.interrupt(1);
  EXPECT_EQ(replies_, interrupted(1));
  EXPECT_EQ(unlock(kFirstOwner, 0, 10), 0);
  EXPECT_EQ(replies_, interrupted(1));
  EXPECT_EQ(exclusive(kThird, 0, 10), 0);
  locks_.interrupt(1);
  EXPECT_EQ(replies_, interrupted(1));
}

TEST_F(FileLockTableTest, signal_before_wait_fails_with_eintr) {
  EXPECT_EQ(exclusive(kFirstOwner, 0, 10), 0);
  wait(range(kSecondOwner, LockKind::kExclusive, 0, 10), 1, true);
  EXPECT_EQ(replies_, interrupted(1));
  wait(range(kSecondOwner, LockKind::kExclusive, 20, 30), 2, true);
  EXPECT_EQ(replies_, interrupted(1) + "2 ");
}

TEST_F(FileLockTableTest, flock_and_posix_locks_do_not_conflict) {
  EXPECT_EQ(locks_.set(kFile, whole(kFirstOwner, LockKind::kExclusive)), 0);
  EXPECT_EQ(exclusive(kSecondOwner, 0, kFileEnd), 0);
  EXPECT_EQ(locks_.set(kFile, whole(kSecondOwner, LockKind::kShared)), EAGAIN);
  locks_.release_on_close(kFile, kFirstOwner);
  EXPECT_EQ(locks_.set(kFile, whole(kSecondOwner, LockKind::kShared)), EAGAIN);
  locks_.release_on_close(kFile, whole(kFirstOwner, LockKind::kNone).handle);
  EXPECT_EQ(locks_.set(kFile, whole(kSecondOwner, LockKind::kShared)), 0);
}

TEST_F(FileLockTableTest, two_flock_upgrades_do_not_deadlock) {
  EXPECT_EQ(locks_.set(kFile, whole(kFirstOwner, LockKind::kShared)), 0);
  EXPECT_EQ(locks_.set(kFile, whole(kSecondOwner, LockKind::kShared)), 0);
  wait(whole(kFirstOwner, LockKind::kExclusive), 1);
  EXPECT_EQ(replies_, "");
  wait(whole(kSecondOwner, LockKind::kExclusive), 2);
  EXPECT_EQ(replies_, "2 ");
  EXPECT_EQ(locks_.set(kFile, whole(kSecondOwner, LockKind::kNone)), 0);
  EXPECT_EQ(replies_, "2 1 ");
}

TEST_F(FileLockTableTest, range_keeps_shared_lock_while_upgrade_waits) {
  EXPECT_EQ(shared(kFirstOwner, 0, 10), 0);
  EXPECT_EQ(shared(kSecondOwner, 0, 10), 0);
  wait(range(kFirstOwner, LockKind::kExclusive, 0, 10), 1);
  EXPECT_EQ(exclusive(kThird, 0, 10), EAGAIN);
  locks_.release_on_close(kFile, kSecondOwner);
  EXPECT_EQ(replies_, "1 ");
}

TEST_F(FileLockTableTest, release_client_frees_locks_and_fails_waiters) {
  EXPECT_EQ(exclusive(kSecondOwner, 0, 10), 0);
  EXPECT_EQ(locks_.set(8, whole(kThird, LockKind::kExclusive)), 0);
  EXPECT_EQ(exclusive(kFirstOwner, 20, 30), 0);
  wait(range(kSecondOwner, LockKind::kExclusive, 20, 30), 1);
  wait(range(kFirstOwner, LockKind::kExclusive, 0, 10), 2);
  locks_.release_client(1);
  EXPECT_EQ(replies_, "1:" + std::to_string(ENOTCONN) + " 2 ");
  EXPECT_EQ(locks_.set(8, whole(kFirstOwner, LockKind::kExclusive)), 0);
}

}  // namespace
}  // namespace forebay::emufs
