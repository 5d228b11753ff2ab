// SPDX-License-Identifier: Apache-2.0
// The suites on ranks without MPI, and a further guarantee: no rank waits for one that has left.
#include "comm/in_process.hpp"

#include <atomic>
#include <stdexcept>

#include "comm/message_transport_testing.hpp"
#include "comm/testing.hpp"

namespace forebay::comm {
namespace {

CommunicatorFactory self_factory() {
  return {"solo", [](const RankTest& test) -> Status {
            test(self_communicator());
            return {};
          }};
}

std::vector<CommunicatorFactory> factories() {
  std::vector<CommunicatorFactory> all{self_factory()};
  for (const std::uint32_t count : {1, 2, 3, 4, 7})
    all.push_back(thread_factory({.count = count, .per_node = 2}));
  return all;
}

INSTANTIATE_TEST_SUITE_P(InProcess,
                         CommunicatorSuite,
                         testing::ValuesIn(factories()),
                         factory_name);
INSTANTIATE_TEST_SUITE_P(InProcess, MessageSuite, testing::ValuesIn(factories()), factory_name);
INSTANTIATE_TEST_SUITE_P(InProcess,
                         CollectiveFileSuite,
                         testing::ValuesIn(factories()),
                         factory_name);
INSTANTIATE_TEST_SUITE_P(InProcess,
                         MessageTransportSuite,
                         testing::ValuesIn(factories()),
                         factory_name);

TEST(SelfCommunicator, is_one_rank_on_one_node) {
  const CommunicatorPtr ranks = self_communicator();
  EXPECT_EQ(ranks->size(), 1U);
  EXPECT_EQ(ranks->name(), "solo");
  EXPECT_EQ(ranks->nodes().count(), 1U);
  EXPECT_EQ(ranks->thread_support(), ThreadSupport::kMultiple);
}

TEST(RunRanks, places_ranks_on_nodes) {
  const Status ran = run_ranks({.count = 5, .per_node = 2}, [](const CommunicatorPtr& ranks) {
    EXPECT_EQ(ranks->nodes().count(), 3U);
    EXPECT_EQ(ranks->nodes().node_of(ranks->rank()), Node{ranks->rank().number / 2});
    return Status();
  });
  EXPECT_TRUE(ran);
}

/// Rank 1 leaves as `leave` does; the others run `stay` and return its outcome.
Status run_with_early_exit(const std::function<Status()>& leave, const RankFunction& stay) {
  return run_ranks({.count = 3}, [&](const CommunicatorPtr& ranks) {
    return ranks->rank() == Rank{1} ? leave() : stay(ranks);
  });
}

TEST(RunRanks, a_rank_that_fails_ends_the_waits_of_the_others) {
  std::atomic<int> closed_count = 0;
  const Status ran = run_with_early_exit(
      [] { return Status(failure({.kind = ErrorClass::kNoSpace, .operation = "write"})); },
      [&closed_count](const CommunicatorPtr& ranks) {
        const Status barrier_status = ranks->barrier();
        EXPECT_FALSE(barrier_status);
        if (!barrier_status && barrier_status.error().kind() == ErrorClass::kClosed) ++closed_count;
        return barrier_status;
      });
  EXPECT_EQ(closed_count, 2);
  ASSERT_FALSE(ran);
  EXPECT_EQ(ran.error().message(), "rank 1: write: no-space");
}

TEST(RunRanks, a_rank_that_throws_ends_the_waits_of_the_others) {
  const Status ran = run_with_early_exit([]() -> Status { throw std::runtime_error("no more"); },
                                         [](const CommunicatorPtr& ranks) {
                                           Bytes bytes(1);
                                           return ranks->receive(bytes, Rank{1}, {}).wait();
                                         });
  ASSERT_FALSE(ran);
  EXPECT_EQ(ran.error().kind(), ErrorClass::kException);
  EXPECT_EQ(ran.error().message(), "rank 1: run a rank: no more");
}

TEST(RunRanks, successful_early_exit_ends_the_waits_of_the_others) {
  const Status ran = run_with_early_exit(
      [] { return Status(); }, [](const CommunicatorPtr& ranks) { return ranks->barrier(); });
  ASSERT_FALSE(ran);
  EXPECT_EQ(ran.error().kind(), ErrorClass::kClosed);
  EXPECT_NE(ran.error().message().find("rank 1 has left"), std::string::npos);
}

TEST(RunRanks, a_send_to_a_rank_that_has_left_fails) {
  const Status ran = run_with_early_exit([] { return Status(); },
                                         [](const CommunicatorPtr& ranks) {
                                           const Bytes bytes(1);
                                           return ranks->send(bytes, Rank{1}, {}).wait();
                                         });
  ASSERT_FALSE(ran);
  EXPECT_EQ(ran.error().kind(), ErrorClass::kClosed);
}

TEST(RunRanks, departed_rank_fails_calls_of_duplicates) {
  const Status ran = run_ranks({.count = 3}, [](const CommunicatorPtr& ranks) -> Status {
    const auto other = value_or_throw(ranks->duplicate(), "duplicate");
    if (ranks->rank() == Rank{2}) return {};
    return other->barrier();
  });
  ASSERT_FALSE(ran);
  EXPECT_EQ(ran.error().kind(), ErrorClass::kClosed);
}

TEST(RunRanks, calls_of_remaining_ranks_continue) {
  const Status ran = run_ranks({.count = 3}, [](const CommunicatorPtr& ranks) -> Status {
    const std::uint32_t color = ranks->rank() == Rank{2} ? 1 : 0;
    const auto part = value_or_throw(ranks->split({.color = color}), "split");
    if (color == 1) return {};
    return part->barrier();
  });
  EXPECT_TRUE(ran);
}

}  // namespace
}  // namespace forebay::comm
