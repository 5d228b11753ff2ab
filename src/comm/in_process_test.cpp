// SPDX-License-Identifier: Apache-2.0
// The suites on ranks without MPI, and what only those promise: nobody waits for who has left.
#include "comm/in_process.hpp"

#include <atomic>
#include <stdexcept>

#include "comm/post_office_testing.hpp"
#include "comm/testing.hpp"

namespace forebay::comm {
namespace {

Make solo_make() {
  return {"solo", [](const RankTest& test) -> Status {
            test(solo());
            return {};
          }};
}

std::vector<Make> makes() {
  std::vector<Make> all{solo_make()};
  for (const std::uint32_t count : {1, 2, 3, 4, 7})
    all.push_back(threads_make({.count = count, .per_node = 2}));
  return all;
}

INSTANTIATE_TEST_SUITE_P(InProcess, CommunicatorSuite, testing::ValuesIn(makes()), make_name);
INSTANTIATE_TEST_SUITE_P(InProcess, MessageSuite, testing::ValuesIn(makes()), make_name);
INSTANTIATE_TEST_SUITE_P(InProcess, CollectiveFileSuite, testing::ValuesIn(makes()), make_name);
INSTANTIATE_TEST_SUITE_P(InProcess, PostOfficeSuite, testing::ValuesIn(makes()), make_name);

TEST(Solo, is_one_rank_on_one_node) {
  const Ranks ranks = solo();
  EXPECT_EQ(ranks->size(), 1U);
  EXPECT_EQ(ranks->name(), "solo");
  EXPECT_EQ(ranks->nodes().count(), 1U);
  EXPECT_EQ(ranks->thread_support(), ThreadSupport::kMultiple);
}

TEST(RunRanks, puts_ranks_on_nodes) {
  const Status ran = run_ranks({.count = 5, .per_node = 2}, [](const Ranks& ranks) {
    EXPECT_EQ(ranks->nodes().count(), 3U);
    EXPECT_EQ(ranks->nodes().node_of(ranks->rank()), Node{ranks->rank().number / 2});
    return Status();
  });
  EXPECT_TRUE(ran);
}

/// Rank 1 leaves as `leave` says; the others do `stay` and return what it gives.
Status with_a_deserter(const std::function<Status()>& leave, const RankCode& stay) {
  return run_ranks({.count = 3}, [&](const Ranks& ranks) {
    return ranks->rank() == Rank{1} ? leave() : stay(ranks);
  });
}

TEST(RunRanks, a_rank_that_fails_ends_the_waits_of_the_others) {
  std::atomic<int> told = 0;
  const Status ran = with_a_deserter(
      [] { return Status(failure({.kind = ErrorClass::kNoSpace, .operation = "write"})); },
      [&told](const Ranks& ranks) {
        const Status met = ranks->barrier();
        EXPECT_FALSE(met);
        if (!met && met.error().kind() == ErrorClass::kClosed) ++told;
        return met;
      });
  EXPECT_EQ(told, 2);
  ASSERT_FALSE(ran);
  EXPECT_EQ(ran.error().message(), "rank 1: write: no-space");
}

TEST(RunRanks, a_rank_that_throws_ends_the_waits_of_the_others) {
  const Status ran = with_a_deserter([]() -> Status { throw std::runtime_error("no more"); },
                                     [](const Ranks& ranks) {
                                       Bytes bytes(1);
                                       return ranks->receive(bytes, Rank{1}, {}).wait();
                                     });
  ASSERT_FALSE(ran);
  EXPECT_EQ(ran.error().kind(), ErrorClass::kException);
  EXPECT_EQ(ran.error().message(), "rank 1: run a rank: no more");
}

TEST(RunRanks, a_rank_that_leaves_in_peace_is_not_waited_for) {
  const Status ran =
      with_a_deserter([] { return Status(); }, [](const Ranks& ranks) { return ranks->barrier(); });
  ASSERT_FALSE(ran);
  EXPECT_EQ(ran.error().kind(), ErrorClass::kClosed);
  EXPECT_NE(ran.error().message().find("rank 1 has left"), std::string::npos);
}

TEST(RunRanks, a_send_to_a_rank_that_has_left_fails) {
  const Status ran = with_a_deserter([] { return Status(); },
                                     [](const Ranks& ranks) {
                                       const Bytes bytes(1);
                                       return ranks->send(bytes, Rank{1}, {}).wait();
                                     });
  ASSERT_FALSE(ran);
  EXPECT_EQ(ran.error().kind(), ErrorClass::kClosed);
}

TEST(RunRanks, a_rank_that_has_left_is_missed_in_duplicates_too) {
  const Status ran = run_ranks({.count = 3}, [](const Ranks& ranks) -> Status {
    const auto other = must(ranks->duplicate(), "duplicate");
    if (ranks->rank() == Rank{2}) return {};
    return other->barrier();
  });
  ASSERT_FALSE(ran);
  EXPECT_EQ(ran.error().kind(), ErrorClass::kClosed);
}

TEST(RunRanks, calls_among_those_who_are_left_go_on) {
  const Status ran = run_ranks({.count = 3}, [](const Ranks& ranks) -> Status {
    const std::uint32_t colour = ranks->rank() == Rank{2} ? 1 : 0;
    const auto part = must(ranks->split({.color = colour}), "split");
    if (colour == 1) return {};
    return part->barrier();
  });
  EXPECT_TRUE(ran);
}

}  // namespace
}  // namespace forebay::comm
