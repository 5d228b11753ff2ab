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

using ::testing::HasSubstr;

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

TEST(SessionTuner, first_session_has_the_default_plan) {
  SessionTuner tuner;
  const ReadPlan requested{.tune = true};
  const auto trial = tuner.next(facts_of(64_MiB), requested);
  ASSERT_TRUE(trial);
  const auto usual = plan_read(facts_of(64_MiB), requested);
  EXPECT_EQ(trial->plan.tuning, usual->tuning);
  EXPECT_THAT(trial->plan.reason, HasSubstr("tuned: "));
}

TEST(SessionTuner, loop_tries_other_plans_and_then_uses_the_fastest) {
  ManualClock clock;
  SessionTuner tuner(clock);
  std::set<std::uint64_t> requests;
  ReadPlan last;
  for (int i = 0; i < 40; ++i) {
    auto trial = tuner.next(facts_of(64_MiB), {.tune = true});
    ASSERT_TRUE(trial);
    requests.insert(trial->plan.tuning.request_bytes);
    const bool is_fast = trial->plan.tuning.request_bytes == 256_KiB;
    clock.advance(std::chrono::milliseconds(is_fast ? 7 : 8));
    trial->on_closed(64_MiB);
    last = trial->plan;
  }
  EXPECT_GT(requests.size(), 1U);
  EXPECT_EQ(last.tuning.request_bytes, 256_KiB) << last.reason;
}

TEST(SessionTuner, values_that_the_program_sets_do_not_change) {
  SessionTuner tuner;
  ReadPlan requested{.tune = true};
  requested.tuning.request_bytes = 512_KiB;
  for (int i = 0; i < 12; ++i) {
    auto trial = tuner.next(facts_of(64_MiB), requested);
    ASSERT_TRUE(trial);
    EXPECT_EQ(trial->plan.tuning.request_bytes, 512_KiB);
    trial->on_closed(64_MiB);
  }
}

TEST(SessionTuner, session_that_delivers_little_is_no_measurement) {
  SessionTuner tuner;
  auto first = tuner.next(facts_of(64_MiB), {.tune = true});
  first->on_closed(1_MiB);
  first->on_closed = nullptr;
  const auto second = tuner.next(facts_of(64_MiB), {.tune = true});
  EXPECT_EQ(second->plan.tuning, first->plan.tuning) << "still the default";
}

TEST(SessionTuner, sessions_of_other_sizes_are_another_loop) {
  SessionTuner tuner;
  const auto large = tuner.next(facts_of(64_MiB), {.tune = true});
  const auto small = tuner.next(facts_of(1_MiB), {.tune = true});
  EXPECT_EQ(small->plan.tuning, plan_read(facts_of(1_MiB), {.tune = true})->tuning);
  large->on_closed(64_MiB);
  small->on_closed(1_MiB);
}

TEST(SessionTuner, plan_of_a_session_that_does_not_open_is_tried_again) {
  SessionTuner tuner;
  std::set<std::uint64_t> first;
  for (int i = 0; i < 3; ++i) {
    const auto trial = tuner.next(facts_of(64_MiB), {.tune = true});  // destroyed without a call
    first.insert(trial->plan.tuning.request_bytes * 1000 + trial->plan.tuning.queue_depth);
  }
  EXPECT_EQ(first.size(), 1U) << "the default, which is still to be measured";
}

TEST(SessionTuner, little_memory_gives_the_plan_for_it) {
  SessionTuner tuner;
  tuner.next(facts_of(64_MiB), {.tune = true})->on_closed(64_MiB);
  ReadFacts facts = facts_of(64_MiB);
  facts.available_bytes = 512_KiB;
  for (int i = 0; i < 8; ++i) {
    auto trial = tuner.next(facts, {.tune = true});
    ASSERT_TRUE(trial);
    EXPECT_LE(trial->plan.tuning.window_bytes, 512_KiB);
    if (trial->on_closed) trial->on_closed(64_MiB);
  }
}

TEST(SessionTuner, session_may_be_closed_after_the_tuner) {
  auto tuner = std::make_unique<SessionTuner>();
  const auto trial = tuner->next(facts_of(64_MiB), {.tune = true});
  tuner.reset();
  trial->on_closed(64_MiB);
}

TEST(SessionTuner, memory_that_is_too_small_is_an_error) {
  SessionTuner tuner;
  ReadFacts facts = facts_of(64_MiB);
  facts.available_bytes = facts.total_bytes = 1024;
  EXPECT_FALSE(tuner.next(facts, {.tune = true}));
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
