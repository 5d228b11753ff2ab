// SPDX-License-Identifier: Apache-2.0
#include "tools/emufs/program_locks.hpp"

#include <cerrno>
#include <string>

#include <gtest/gtest.h>

namespace forebay::emufs {
namespace {

constexpr model::FileId kFile = 7;
constexpr LockOwner kHere{0, 1};
constexpr LockOwner kThere{1, 1};
constexpr LockOwner kThird{1, 2};

ProgramLock range(LockOwner owner, LockKind kind, std::uint64_t begin, std::uint64_t end) {
  return {.family = LockFamily::kRange,
          .kind = kind,
          .owner = owner,
          .handle = 100 * std::uint64_t{owner.client} + owner.number,
          .process = static_cast<pid_t>(owner.number),
          .begin = begin,
          .end = end};
}

ProgramLock whole(LockOwner owner, LockKind kind) {
  ProgramLock lock = range(owner, kind, 0, kFileEnd);
  lock.family = LockFamily::kWhole;
  return lock;
}

class ProgramLocksTest : public testing::Test {
 protected:
  int exclusive(LockOwner owner, std::uint64_t begin, std::uint64_t end) {
    return locks_.set(kFile, range(owner, LockKind::kExclusive, begin, end));
  }
  int shared(LockOwner owner, std::uint64_t begin, std::uint64_t end) {
    return locks_.set(kFile, range(owner, LockKind::kShared, begin, end));
  }
  int give_up(LockOwner owner, std::uint64_t begin, std::uint64_t end) {
    return locks_.set(kFile, range(owner, LockKind::kNone, begin, end));
  }
  /// Writes `name` into told_ when the lock is there, and the error if it is refused.
  void wait(const ProgramLock& wanted, Ticket ticket, bool interrupted = false) {
    const std::string name = std::to_string(ticket);
    auto answer =
        make_answer([this, name] { told_ += name + " "; },
                    [this, name](int error) { told_ += name + ":" + std::to_string(error) + " "; });
    locks_.wait(kFile, wanted, {.ticket = ticket, .answer = std::move(answer)},
                [interrupted] { return interrupted; });
  }
  static std::string interrupted(Ticket ticket) {
    return std::to_string(ticket) + ":" + std::to_string(EINTR) + " ";
  }

  ProgramLocks locks_;
  std::string told_;
};

TEST_F(ProgramLocksTest, ranges_of_two_clients_exclude_each_other_where_they_meet) {
  EXPECT_EQ(exclusive(kHere, 10, 20), 0);
  EXPECT_EQ(exclusive(kThere, 19, 21), EAGAIN);
  EXPECT_EQ(shared(kThere, 0, 11), EAGAIN);
  EXPECT_EQ(exclusive(kThere, 20, 21), 0);
  EXPECT_EQ(exclusive(kThere, 0, 10), 0);
}

TEST_F(ProgramLocksTest, shared_locks_stand_beside_each_other) {
  EXPECT_EQ(shared(kHere, 0, 10), 0);
  EXPECT_EQ(shared(kThere, 0, 10), 0);
  EXPECT_EQ(exclusive(kHere, 0, 10), EAGAIN);
  EXPECT_EQ(give_up(kThere, 0, 10), 0);
  EXPECT_EQ(exclusive(kHere, 0, 10), 0);
}

TEST_F(ProgramLocksTest, giving_up_the_middle_keeps_both_ends) {
  EXPECT_EQ(exclusive(kHere, 0, 30), 0);
  EXPECT_EQ(give_up(kHere, 10, 20), 0);
  EXPECT_EQ(exclusive(kThere, 10, 20), 0);
  EXPECT_EQ(exclusive(kThere, 9, 10), EAGAIN);
  EXPECT_EQ(exclusive(kThere, 20, 21), EAGAIN);
}

TEST_F(ProgramLocksTest, neighbours_become_one_lock) {
  for (std::uint64_t byte = 0; byte < 100; ++byte)
    EXPECT_EQ(exclusive(kHere, byte, byte + 1), 0);
  const auto other = locks_.in_the_way_of(kFile, range(kThere, LockKind::kShared, 50, 51));
  ASSERT_TRUE(other.has_value());
  EXPECT_EQ(other->begin, 0);
  EXPECT_EQ(other->end, 100);
  EXPECT_EQ(other->process, 1);
  EXPECT_FALSE(locks_.in_the_way_of(kFile, range(kHere, LockKind::kExclusive, 0, 9)).has_value());
  EXPECT_FALSE(locks_.in_the_way_of(8, range(kThere, LockKind::kExclusive, 0, 9)).has_value());
}

TEST_F(ProgramLocksTest, a_part_changes_its_kind_alone) {
  EXPECT_EQ(exclusive(kHere, 0, 30), 0);
  EXPECT_EQ(shared(kHere, 10, 20), 0);
  EXPECT_EQ(shared(kThere, 10, 20), 0);
  EXPECT_EQ(shared(kThere, 5, 6), EAGAIN);
  EXPECT_EQ(shared(kThere, 25, 26), EAGAIN);
}

TEST_F(ProgramLocksTest, who_waits_gets_it_in_turn) {
  EXPECT_EQ(exclusive(kHere, 0, 10), 0);
  wait(range(kThere, LockKind::kExclusive, 5, 15), 1);
  wait(range(kThird, LockKind::kExclusive, 5, 6), 2);
  EXPECT_EQ(told_, "");
  EXPECT_EQ(give_up(kHere, 0, kFileEnd), 0);
  EXPECT_EQ(told_, "1 ");
  locks_.closed(kFile, kThere);
  EXPECT_EQ(told_, "1 2 ");
}

TEST_F(ProgramLocksTest, what_is_free_is_had_without_waiting) {
  wait(range(kHere, LockKind::kExclusive, 0, 10), 1);
  EXPECT_EQ(told_, "1 ");
}

TEST_F(ProgramLocksTest, giving_less_than_all_lets_in_who_asked_for_it) {
  EXPECT_EQ(exclusive(kHere, 0, 10), 0);
  wait(range(kThere, LockKind::kShared, 0, 5), 1);
  EXPECT_EQ(shared(kHere, 0, 5), 0);
  EXPECT_EQ(told_, "1 ");
}

TEST_F(ProgramLocksTest, an_interrupted_program_waits_no_longer) {
  EXPECT_EQ(exclusive(kHere, 0, 10), 0);
  wait(range(kThere, LockKind::kExclusive, 0, 10), 1);
  locks_.interrupt(1);
  EXPECT_EQ(told_, interrupted(1));
  EXPECT_EQ(give_up(kHere, 0, 10), 0);
  EXPECT_EQ(told_, interrupted(1));
  EXPECT_EQ(exclusive(kThird, 0, 10), 0);
  locks_.interrupt(1);
  EXPECT_EQ(told_, interrupted(1));
}

TEST_F(ProgramLocksTest, a_signal_that_came_first_is_not_lost) {
  EXPECT_EQ(exclusive(kHere, 0, 10), 0);
  wait(range(kThere, LockKind::kExclusive, 0, 10), 1, true);
  EXPECT_EQ(told_, interrupted(1));
  wait(range(kThere, LockKind::kExclusive, 20, 30), 2, true);
  EXPECT_EQ(told_, interrupted(1) + "2 ");
}

TEST_F(ProgramLocksTest, whole_files_and_ranges_do_not_see_each_other) {
  EXPECT_EQ(locks_.set(kFile, whole(kHere, LockKind::kExclusive)), 0);
  EXPECT_EQ(exclusive(kThere, 0, kFileEnd), 0);
  EXPECT_EQ(locks_.set(kFile, whole(kThere, LockKind::kShared)), EAGAIN);
  locks_.closed(kFile, kHere);
  EXPECT_EQ(locks_.set(kFile, whole(kThere, LockKind::kShared)), EAGAIN);
  locks_.closed(kFile, whole(kHere, LockKind::kNone).handle);
  EXPECT_EQ(locks_.set(kFile, whole(kThere, LockKind::kShared)), 0);
}

TEST_F(ProgramLocksTest, two_who_both_want_more_of_a_whole_file_do_not_hang) {
  EXPECT_EQ(locks_.set(kFile, whole(kHere, LockKind::kShared)), 0);
  EXPECT_EQ(locks_.set(kFile, whole(kThere, LockKind::kShared)), 0);
  wait(whole(kHere, LockKind::kExclusive), 1);
  EXPECT_EQ(told_, "");
  wait(whole(kThere, LockKind::kExclusive), 2);
  EXPECT_EQ(told_, "2 ");
  EXPECT_EQ(locks_.set(kFile, whole(kThere, LockKind::kNone)), 0);
  EXPECT_EQ(told_, "2 1 ");
}

TEST_F(ProgramLocksTest, a_range_keeps_its_kind_while_it_waits_for_more) {
  EXPECT_EQ(shared(kHere, 0, 10), 0);
  EXPECT_EQ(shared(kThere, 0, 10), 0);
  wait(range(kHere, LockKind::kExclusive, 0, 10), 1);
  EXPECT_EQ(exclusive(kThird, 0, 10), EAGAIN);
  locks_.closed(kFile, kThere);
  EXPECT_EQ(told_, "1 ");
}

TEST_F(ProgramLocksTest, a_client_that_goes_leaves_nothing) {
  EXPECT_EQ(exclusive(kThere, 0, 10), 0);
  EXPECT_EQ(locks_.set(8, whole(kThird, LockKind::kExclusive)), 0);
  EXPECT_EQ(exclusive(kHere, 20, 30), 0);
  wait(range(kThere, LockKind::kExclusive, 20, 30), 1);
  wait(range(kHere, LockKind::kExclusive, 0, 10), 2);
  locks_.ended(1);
  EXPECT_EQ(told_, "1:" + std::to_string(ENOTCONN) + " 2 ");
  EXPECT_EQ(locks_.set(8, whole(kHere, LockKind::kExclusive)), 0);
}

}  // namespace
}  // namespace forebay::emufs
