// SPDX-License-Identifier: Apache-2.0
// Several ranks with one file: the same for ranks as threads and for ranks of an MPI job.
#include <cstdlib>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/testing.hpp"

namespace forebay {
namespace {

TEST_P(RanksSuite, each_rank_reads_its_own_range) {
  with_runtime([](RuntimeFixture& fixture) {
    Runtime& runtime = fixture.runtime;
    comm::Communicator& ranks = fixture.ranks;
    EXPECT_EQ(runtime.rank(), ranks.rank().number);
    EXPECT_EQ(runtime.rank_count(), ranks.size());
    const auto file = runtime.open_file(fixture.path());
    ASSERT_TRUE(file) << file.error().message();
    const auto session = file->read_session();
    ASSERT_TRUE(session) << session.error().message();
    const std::uint64_t share = kFileBytes / runtime.rank_count();
    EXPECT_TRUE(reads_words(*session, {runtime.rank() * share, share}));
    EXPECT_TRUE(reads_words(*session, {kFileBytes - 3, 3}));
  });
}

TEST_P(RanksSuite, file_that_one_rank_cannot_open_is_an_error_on_all) {
  with_runtime([](RuntimeFixture& fixture) {
    Runtime& runtime = fixture.runtime;
    const auto file = runtime.open_file(
        runtime.rank() == fixture.last() ? fixture.directory / "missing" : fixture.path());
    ASSERT_EQ(error_class(file), ErrorClass::kNotFound);
    EXPECT_EQ(file.error().path(), fixture.directory / "missing");
    if (runtime.rank_count() > 1) {
      EXPECT_TRUE(message_contains(file.error(), "rank " + std::to_string(fixture.last())))
          << file.error().message();
    }
    EXPECT_TRUE(runtime.open_file(fixture.path()));  // collective calls still match
  });
}

TEST_P(RanksSuite, files_of_different_sizes_are_rejected_on_all_ranks) {
  with_runtime([](RuntimeFixture& fixture) {
    Runtime& runtime = fixture.runtime;
    if (runtime.rank_count() == 1) return;
    if (runtime.rank() == 0) write_words(fixture.directory / "longer", kFileBytes + 1);
    const auto file =
        runtime.open_file(runtime.rank() == 0 ? fixture.directory / "longer" : fixture.path());
    ASSERT_EQ(error_class(file), ErrorClass::kInvalidArgument);
    EXPECT_TRUE(message_contains(file.error(), std::to_string(kFileBytes + 1)));
  });
}

TEST_P(RanksSuite, handle_identifies_the_same_session_on_all_ranks) {
  with_runtime([](RuntimeFixture& fixture) {
    Runtime& runtime = fixture.runtime;
    comm::Communicator& ranks = fixture.ranks;
    const auto file = runtime.open_file(fixture.path());
    ASSERT_TRUE(file);
    const auto first = file->read_session({.offset = 0, .size = 5000});
    const auto second = file->read_session({.offset = 5000});
    ASSERT_TRUE(first && second);
    for (std::uint32_t from = 0; from < ranks.size(); ++from) {
      EXPECT_EQ(broadcast_value(ranks, first->handle(), from), first->handle());
      const auto moved = runtime.find_session(broadcast_value(ranks, second->handle(), from));
      ASSERT_TRUE(moved) << moved.error().message();
      EXPECT_TRUE(reads_words(*moved, {5000 + from, 1000}));
    }
  });
}

TEST_P(RanksSuite, failed_session_on_one_rank_does_not_shift_numbers) {
  with_runtime([](RuntimeFixture& fixture) {
    Runtime& runtime = fixture.runtime;
    comm::Communicator& ranks = fixture.ranks;
    const auto file = runtime.open_file(fixture.path());
    ASSERT_TRUE(file);
    const ReadPlan plan{.tuning = {.splinter_bytes = runtime.rank() == 0 ? 1000ULL : 4096ULL}};
    EXPECT_EQ(file->read_session({}, plan).has_value(), runtime.rank() != 0);
    const auto session = file->read_session();
    ASSERT_TRUE(session);
    EXPECT_EQ(broadcast_value(ranks, session->handle(), 0), session->handle());
  });
}

TEST_P(RanksSuite, unknown_handles_are_rejected_by_name) {
  with_runtime([](RuntimeFixture& fixture) {
    Runtime& runtime = fixture.runtime;
    const auto file = runtime.open_file(fixture.path());
    ASSERT_TRUE(file);
    SessionHandle ended;
    {
      const auto session = file->read_session();
      ASSERT_TRUE(session);
      ended = session->handle();
      EXPECT_TRUE(runtime.find_session(ended));
    }
    EXPECT_EQ(error_class(runtime.find_session(ended)), ErrorClass::kClosed);
    EXPECT_EQ(error_class(runtime.find_session({ended.runtime, ended.number + 1})),
              ErrorClass::kNotFound);
    EXPECT_EQ(error_class(runtime.find_session({ended.runtime + 1, ended.number})),
              ErrorClass::kInvalidArgument);
  });
}

TEST_P(RanksSuite, sessions_end_in_any_order_and_may_be_unused) {
  with_runtime([](RuntimeFixture& fixture) {
    Runtime& runtime = fixture.runtime;
    const auto file = runtime.open_file(fixture.path());
    ASSERT_TRUE(file);
    std::vector<Session> sessions;
    for (int i = 0; i < 3; ++i)
      sessions.push_back(*file->read_session());
    if (runtime.rank() % 2 == 1) std::swap(sessions.front(), sessions.back());
    while (sessions.size() > 1)
      sessions.pop_back();
    if (runtime.rank() % 3 == 2) return;
    EXPECT_TRUE(reads_words(sessions.front(), {10, 1000}));
  });
}

TEST_P(RanksSuite, late_rank_does_not_block_the_session_of_others) {
  with_runtime([](RuntimeFixture& fixture) {
    Runtime& runtime = fixture.runtime;
    const auto file = runtime.open_file(fixture.path());
    ASSERT_TRUE(file);
    std::uint32_t done = 1;
    const std::span<std::byte> word = std::as_writable_bytes(std::span(&done, 1));
    for (std::uint32_t other = 1; runtime.rank() == 0 && other <= fixture.last(); ++other)
      EXPECT_TRUE(fixture.ranks.receive(word, {other}, {7}).wait());
    const auto session = file->read_session();
    ASSERT_TRUE(session);
    EXPECT_TRUE(reads_words(*session, {0, kFileBytes}));
    if (runtime.rank() == 0) return;
    EXPECT_TRUE(fixture.ranks.send(word, {0}, {7}).wait());
  });
}

// tests/faults runs this where the system refuses shared memory or sockets, and sets a variable.
TEST_P(RanksSuite, ranks_share_a_session_or_log_why_they_cannot) {
  run_on_all_ranks([](const Communicator& ranks) {
    WarningLog log;
    RuntimeFixture fixture(ranks, {.log = &log});
    const bool can_share = ranks->size() > 1 && std::getenv("FOREBAY_TEST_UNSHARED") == nullptr;
    const auto file = fixture.runtime.open_file(fixture.path());
    for (int i = 0; i < 2; ++i) {
      const Session session =
          must_open_session(file, {.tuning = {.agent_scope = AgentScope::kPerNode}});
      EXPECT_EQ(*session.plan().tuning.agent_scope,
                can_share ? AgentScope::kPerNode : AgentScope::kPerRank);
      EXPECT_TRUE(reads_words(session, {0, kFileBytes}));
    }
    fixture.barrier();  // before the rank with the agent ends
    const auto lines = log.lines();
    if (can_share || ranks->size() == 1) {
      EXPECT_TRUE(lines.empty()) << lines.front();
      return;
    }
    ASSERT_EQ(lines.size(), 1U);
    EXPECT_TRUE(lines.front().starts_with("each rank reads files for itself: ")) << lines.front();
  });
}

// tests/faults runs this where the system refuses memory of sessions, and sets a variable.
TEST_P(RanksSuite, sessions_have_memory_or_an_error_that_names_the_remedy) {
  const bool has_memory = std::getenv("FOREBAY_TEST_NO_MEMFD") == nullptr;
  for_each_read_config([&](const auto& ranks, const ReadConfig& config) {
    RuntimeFixture fixture(ranks);
    const auto file = fixture.runtime.open_file(fixture.path());
    ASSERT_TRUE(file) << file.error().message();
    for (int i = 0; i < 2; ++i) {
      const auto session = file->read_session({}, config.plan(8));
      ASSERT_EQ(session.has_value(), has_memory);
      if (has_memory) continue;
      const std::string message = session.error().message();
      EXPECT_TRUE(message.starts_with("create shared memory " + fixture.path())) << message;
      EXPECT_NE(message.find("memfd_create"), std::string::npos) << message;
      EXPECT_NE(message.find("allow it"), std::string::npos) << message;
      EXPECT_NE(session.error().error_number(), 0);
    }
  });
}

}  // namespace
}  // namespace forebay
