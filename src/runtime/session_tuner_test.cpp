// SPDX-License-Identifier: Apache-2.0
// Sessions of loops that try plans: plans and measurements without storage, and a Runtime.
#include "runtime/session_tuner.hpp"

#include <forebay/runtime.hpp>

#include <chrono>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "read/testing.hpp"
#include "storage/testing.hpp"

namespace forebay {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

class ManualClock final : public Clock {
 public:
  TimePoint now() const noexcept override { return now_; }
  void advance(std::chrono::nanoseconds time) { now_ += time; }

 private:
  TimePoint now_ = {};
};

ReadFacts facts_of(std::uint64_t bytes) {
  return {.extent = {0, bytes},
          .access = Access::kDirect,
          .alignment_bytes = 4096,
          .available_bytes = 1_GiB,
          .total_bytes = 1_GiB,
          .request_bytes = 1_MiB,
          .queue_depth = 16};
}

std::uint64_t request_of(const SessionTuner::Trial& trial) {
  return trial.candidate->request_bytes;
}

TEST(SessionTuner, first_session_has_the_default_plan) {
  SessionTuner tuner;
  const auto trial = tuner.next(facts_of(64_MiB), {.tune = true});
  EXPECT_EQ(trial.candidate, read_candidates(facts_of(64_MiB), {.tune = true}).front());
  EXPECT_FALSE(trial.explanation.empty());
}

TEST(SessionTuner, loop_tries_other_plans_and_then_uses_the_fastest) {
  ManualClock clock;
  SessionTuner tuner(clock);
  std::set<std::uint64_t> requests;
  SessionTuner::Trial last;
  for (int i = 0; i < 40; ++i) {
    last = tuner.next(facts_of(64_MiB), {.tune = true});
    requests.insert(request_of(last));
    clock.advance(std::chrono::milliseconds(request_of(last) == 256_KiB ? 7 : 8));
    last.end(64_MiB);
  }
  EXPECT_GT(requests.size(), 1U);
  EXPECT_EQ(request_of(last), 256_KiB) << last.explanation;
}

TEST(SessionTuner, loop_of_ranks_finds_the_fastest_agents) {
  ManualClock clock;
  SessionTuner tuner(clock);
  ReadFacts facts = facts_of(64_MiB);
  facts.ranks_on_node = 4;
  SessionTuner::Trial last;
  for (int i = 0; i < 40; ++i) {
    last = tuner.next(facts, {.tune = true}, 4);
    const bool is_fast = last.candidate->agent_scope == AgentScope::kPerRank;
    clock.advance(std::chrono::milliseconds(is_fast ? 5 : 8));
    last.end(16_MiB);  // an equal share
  }
  EXPECT_EQ(last.candidate->agent_scope, AgentScope::kPerRank) << last.explanation;
}

TEST(SessionTuner, candidate_that_does_not_work_is_not_proposed_again) {
  ManualClock clock;
  SessionTuner tuner(clock);
  ReadFacts facts = facts_of(64_MiB);
  facts.ranks_on_node = 4;
  std::vector<ReadCandidate> failed;
  for (int i = 0; i < 15; ++i) {
    auto trial = tuner.next(facts, {.tune = true});
    EXPECT_THAT(failed, Not(Contains(*trial.candidate)));
    clock.advance(std::chrono::milliseconds(8));
    if (i == 2) {
      failed.push_back(*trial.candidate);
      trial.end(std::nullopt);
    } else {
      trial.end(64_MiB);
    }
  }
}

TEST(SessionTuner, session_that_delivers_little_is_no_measurement) {
  SessionTuner tuner;
  auto first = tuner.next(facts_of(64_MiB), {.tune = true});
  first.end(1_MiB);
  first.end = nullptr;
  const auto second = tuner.next(facts_of(64_MiB), {.tune = true});
  EXPECT_EQ(second.candidate, first.candidate) << "still the default";
}

TEST(SessionTuner, sessions_of_other_sizes_or_plans_are_other_loops) {
  SessionTuner tuner;
  const auto default_for = [&](std::uint64_t bytes, const ReadPlan& plan) {
    EXPECT_EQ(tuner.next(facts_of(bytes), plan).candidate,
              read_candidates(facts_of(bytes), plan).front());
  };
  const auto large = tuner.next(facts_of(64_MiB), {.tune = true});
  default_for(1_MiB, {.tune = true});
  default_for(64_MiB, {.budget_bytes = 8_MiB, .tune = true});
  const auto same = tuner.next(facts_of(64_MiB), {.tune = true, .reason = "of a session"});
  EXPECT_NE(same.candidate, large.candidate) << "the default is still measured";
}

TEST(SessionTuner, plan_of_a_session_that_does_not_open_is_tried_again) {
  SessionTuner tuner;
  const auto first = tuner.next(facts_of(64_MiB), {.tune = true}).candidate;
  // Destroyed without a call: the default is still to be measured.
  EXPECT_EQ(tuner.next(facts_of(64_MiB), {.tune = true}).candidate, first);
}

TEST(SessionTuner, session_may_be_closed_after_the_tuner) {
  auto tuner = std::make_unique<SessionTuner>();
  const auto trial = tuner->next(facts_of(64_MiB), {.tune = true});
  tuner.reset();
  trial.end(64_MiB);
}

TEST(SessionTuner, plan_that_cannot_work_is_not_tuned) {
  SessionTuner tuner;
  ReadFacts facts = facts_of(64_MiB);
  facts.available_bytes = facts.total_bytes = 1024;
  EXPECT_FALSE(tuner.next(facts, {.tune = true}).candidate);
}

TEST(SessionTuner, little_memory_opens_the_plan_of_the_program) {
  constexpr std::uint64_t kFileBytes = 4_MiB;
  const storage::TemporaryDirectory directory;
  read::write_words(directory / "words", kFileBytes);
  Runtime runtime({.budget_bytes = 1_MiB});
  const auto file = runtime.open_file(directory / "words");
  ASSERT_TRUE(file);
  ASSERT_TRUE(file->read_session({}, {.tune = true}));
  ReadPlan large{.budget_bytes = 768_KiB};
  large.tuning.window_bytes = 768_KiB;
  const auto other = file->read_session({}, large);
  ASSERT_TRUE(other);
  for (int i = 0; i < 12; ++i) {
    const auto session = file->read_session({}, {.tune = true});
    ASSERT_TRUE(session) << session.error().message();
    EXPECT_TRUE(read::reads_words(*session, {0, kFileBytes}));
  }
}

TEST(SessionTuner, tuned_sessions_of_a_runtime_deliver_the_bytes_of_the_file) {
  constexpr std::uint64_t kFileBytes = 4_MiB;
  const storage::TemporaryDirectory directory;
  read::write_words(directory / "words", kFileBytes);
  Runtime runtime;
  const auto file = runtime.open_file(directory / "words");
  ASSERT_TRUE(file);
  for (int i = 0; i < 20; ++i) {
    auto session = file->read_session({}, {.tune = true});
    ASSERT_TRUE(session) << session.error().message();
    EXPECT_TRUE(read::reads_words(*session, {0, kFileBytes})) << session->plan().reason;
    EXPECT_THAT(session->plan().reason, HasSubstr("tuned: "));
  }
}

}  // namespace
}  // namespace forebay
