// SPDX-License-Identifier: Apache-2.0
// Sessions of a loop that all ranks open and that try plans: the same for ranks as threads and for
// ranks of an MPI job, on one node and on several.
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <set>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/testing.hpp"

namespace forebay {
namespace {

using ::testing::HasSubstr;

ReadPlan tuned_plan() { return {.tune = true}; }
/// More than the trials of a search.
constexpr int kSearchSessions = 24;

using TunedValues = std::array<std::uint64_t, 6>;

TunedValues tuned_values(const Session& session) {
  const ReadTuning& tuning = session.plan().tuning;
  return {tuning.request_bytes,      tuning.queue_depth,
          tuning.splinter_bytes,     static_cast<std::uint64_t>(*tuning.agent_scope),
          tuning.agent_nodes.size(), tuning.agent_stripe_bytes};
}

bool can_share(const comm::Communicator& ranks) {
  return ranks.size() > 1 && std::getenv("FOREBAY_TEST_UNSHARED") == nullptr;
}

TEST_P(TunedSessionsSuite, ranks_have_the_same_plan_and_agents_change) {
  with_runtime([](RuntimeFixture& fixture) {
    const auto file = fixture.runtime.open_file(fixture.path());
    std::set<std::uint64_t> scopes;
    std::set<std::uint64_t> node_counts;
    for (int i = 0; i < kSearchSessions; ++i) {
      const Session session = must_open_session(file, tuned_plan());
      const TunedValues values = tuned_values(session);
      scopes.insert(values[3]);
      node_counts.insert(values[4]);
      if (can_share(fixture.ranks)) {
        EXPECT_EQ(broadcast_value(fixture.ranks, values, 0), values) << session.plan().reason;
      }
      // With several nodes, another node's agent may have opened it here.
      if (fixture.ranks.nodes().count() == 1) {
        EXPECT_THAT(session.plan().reason, HasSubstr("tuned: "));
      }
      EXPECT_TRUE(reads_words(session, kWhole));
    }
    fixture.barrier();  // rank 0 does not wait for others, and has their agent
    if (!can_share(fixture.ranks)) return;
    EXPECT_EQ(scopes.size(), 2U);
    EXPECT_EQ(node_counts.size() > 1, fixture.ranks.nodes().count() > 1);
  });
}

TEST_P(TunedSessionsSuite, fastest_agents_stay_after_the_search) {
  with_runtime([](RuntimeFixture& fixture) {
    const auto file = fixture.runtime.open_file(fixture.path());
    for (int i = 0; i < kSearchSessions + 4; ++i) {
      const Session session = must_open_session(file, tuned_plan());
      EXPECT_TRUE(reads_words(session, kWhole));
      const bool is_fast = session.plan().tuning.agent_scope == AgentScope::kPerRank;
      EXPECT_TRUE(is_fast || i < kSearchSessions) << session.plan().reason;
      // Rank 0 measures.
      if (fixture.is_first())
        std::this_thread::sleep_for(std::chrono::milliseconds(is_fast ? 10 : 40));
    }
  });
}

TEST_P(TunedSessionsSuite, values_of_the_program_stay) {
  with_runtime([](RuntimeFixture& fixture) {
    const auto file = fixture.runtime.open_file(fixture.path());
    ReadPlan plan = tuned_plan();
    plan.tuning.request_bytes = 16_KiB;
    plan.tuning.agent_scope = AgentScope::kPerNode;
    const bool has_one_node = can_share(fixture.ranks) && fixture.ranks.nodes().count() == 1;
    for (int i = 0; i < kSearchSessions; ++i) {
      const Session session = must_open_session(file, plan);
      EXPECT_EQ(session.plan().tuning.request_bytes, 16_KiB);
      if (has_one_node) {
        EXPECT_EQ(session.plan().tuning.agent_scope, AgentScope::kPerNode);
      }
      EXPECT_TRUE(reads_words(session, kWhole));
    }
    fixture.barrier();  // as above
  });
}

TEST_P(TunedSessionsSuite, rank_with_an_agent_of_its_own_does_not_wait_for_others) {
  with_runtime([](RuntimeFixture& fixture) {
    const auto file = fixture.runtime.open_file(fixture.path());
    ReadPlan plan = tuned_plan();
    plan.tuning.agent_scope = AgentScope::kPerRank;
    if (fixture.runtime.rank() == fixture.last()) {
      for (int i = 0; i < 3; ++i)
        EXPECT_TRUE(reads_words(must_open_session(file, plan), kWhole));
    }
    fixture.barrier();
  });
}

TEST_P(TunedSessionsSuite, session_that_one_rank_cannot_open_works_on_the_others) {
  with_runtime([](RuntimeFixture& fixture) {
    const auto file = fixture.runtime.open_file(fixture.path());
    ASSERT_TRUE(file);
    for (int i = 0; i < 4; ++i) {
      const bool is_refused = fixture.runtime.rank() == (i % 2 == 0 ? fixture.last() : 0);
      const std::uint64_t offset = is_refused ? kFileBytes + 1 : 0;
      const auto session = file->read_session({.offset = offset}, tuned_plan());
      ASSERT_EQ(session.has_value(), !is_refused);
      if (session) {
        EXPECT_TRUE(reads_words(*session, kWhole));
      }
    }
  });
}

}  // namespace
}  // namespace forebay
