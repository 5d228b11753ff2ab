// SPDX-License-Identifier: Apache-2.0
// Ranks that are late, make no request, fail alone or leave early, and tasks that migrate: no rank
// blocks another or makes it fail. The same for ranks as threads and for ranks of an MPI job, with
// each configuration of shared reading.
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "comm/ranks_access.hpp"
#include "runtime/testing.hpp"

namespace forebay {
namespace {

/// The rank with the node's agent, and one without it.
std::vector<std::uint32_t> first_and_last(const comm::Communicator& ranks) {
  if (ranks.size() == 1) return {0};
  return {0, ranks.size() - 1};
}

// Opening.

TEST_P(RanksSuite, ranks_without_requests_do_not_block_readers) {
  for_each_read_config([](const Communicator& ranks, const ReadConfig& config) {
    for (const std::uint32_t only : first_and_last(*ranks)) {
      RuntimeFixture fixture(ranks);
      const auto file = fixture.runtime.open_file(fixture.path());
      if (fixture.runtime.rank() == only) {
        EXPECT_TRUE(reads_words(must_open_session(file, config.plan(8)), kWhole));
      }
      fixture.barrier();  // the others have opened no session
      const Session session = must_open_session(file, config.plan(8));
      if (fixture.runtime.rank() == only) {
        EXPECT_TRUE(reads_words(session, kWhole));
      }
      fixture.barrier();  // nor read from this one
      EXPECT_EQ(session.report().bytes_served > 0, fixture.runtime.rank() == only);
    }
  });
}

TEST_P(RanksSuite, late_rank_does_not_block_others_wherever_the_agent_is) {
  for_each_read_config([](const Communicator& ranks, const ReadConfig& config) {
    for (const std::uint32_t late : first_and_last(*ranks)) {
      RuntimeFixture fixture(ranks);
      const auto file = fixture.runtime.open_file(fixture.path());
      std::optional<Session> session;
      if (fixture.runtime.rank() != late) {
        session = must_open_session(file, config.plan(8));
        EXPECT_TRUE(reads_words(*session, kWhole));
      }
      fixture.barrier();
      if (!session) session = must_open_session(file, config.plan(8));
      EXPECT_TRUE(reads_words(*session, kWhole));
      EXPECT_EQ(broadcast_value(fixture.ranks, session->handle(), late), session->handle());
    }
  });
}

TEST_P(RanksSuite, session_closed_by_all_others_is_available_to_a_late_rank) {
  for_each_read_config([](const Communicator& ranks, const ReadConfig& config) {
    RuntimeFixture fixture(ranks);
    const auto file = fixture.runtime.open_file(fixture.path());
    const auto read_once = [&] {
      EXPECT_TRUE(reads_words(must_open_session(file, config.plan(8)), kWhole));
    };
    if (!fixture.is_first()) read_once();
    fixture.barrier();
    if (fixture.is_first()) read_once();
    fixture.barrier();
  });
}

// Failures on one rank.

TEST_P(RanksSuite, session_that_one_rank_cannot_open_works_on_the_others) {
  for_each_read_config([](const Communicator& ranks, const ReadConfig& config) {
    for (const std::uint32_t refused : first_and_last(*ranks)) {
      RuntimeFixture fixture(ranks);
      const auto file = fixture.runtime.open_file(fixture.path());
      // This rank requests an extent past the end, which must not affect others.
      const bool is_refused = fixture.runtime.rank() == refused;
      const Extent extent{is_refused ? kFileBytes : 0, kFileBytes};
      const auto session = file->read_session(extent, config.plan(8));
      ASSERT_EQ(session.has_value(), !is_refused);
      if (session) {
        EXPECT_TRUE(reads_words(*session, kWhole));
      }
      const Session next = must_open_session(file, config.plan(8));
      SessionHandle before = next.handle();
      --before.number;
      const auto found = fixture.runtime.find_session(before);
      EXPECT_EQ(error_class(found), is_refused ? std::optional(ErrorClass::kClosed) : std::nullopt);
      EXPECT_EQ(broadcast_value(fixture.ranks, next.handle(), refused), next.handle());
      EXPECT_TRUE(reads_words(next, kWhole));
    }
  });
}

// A rank that joins a session of its node gets it as it is: only the plan of the first rank applies
// there.
TEST_P(RanksSuite, invalid_plan_of_one_rank_does_not_affect_others) {
  for_each_read_config([](const Communicator& ranks, const ReadConfig& config) {
    for (const std::uint32_t odd : first_and_last(*ranks)) {
      RuntimeFixture fixture(ranks);
      const auto file = fixture.runtime.open_file(fixture.path());
      ReadPlan plan = config.plan(8);
      if (fixture.runtime.rank() == odd) plan.tuning.splinter_bytes = 5000;
      const auto session = file->read_session({}, plan);
      if (fixture.runtime.rank() != odd || session) {
        ASSERT_TRUE(session) << session.error().message();
        EXPECT_TRUE(reads_words(*session, kWhole));
      } else {
        EXPECT_EQ(session.error().kind(), ErrorClass::kInvalidArgument);
        EXPECT_TRUE(message_contains(session.error(), "splinter_bytes"))
            << session.error().message();
      }
      if (config.agents == AgentScope::kPerRank) {
        EXPECT_EQ(session.has_value(), fixture.runtime.rank() != odd);
      }
      EXPECT_TRUE(reads_words(must_open_session(file, config.plan(8)), kWhole));
    }
  });
}

TEST_P(RanksSuite, failed_files_and_sessions_leak_no_descriptors) {
  for_each_read_config([](const Communicator& ranks, const ReadConfig& config) {
    RuntimeFixture fixture(ranks);
    const bool fails = fixture.runtime.rank() == fixture.last();
    const auto live_once = [&] {
      EXPECT_FALSE(
          fixture.runtime.open_file(fails ? fixture.directory / "missing" : fixture.path()));
      const auto file = fixture.runtime.open_file(fixture.path());
      const Extent extent{0, fails ? kFileBytes + 1 : kFileBytes};
      const auto session = file->read_session(extent, config.plan(8));
      if (session) {
        EXPECT_TRUE(reads_words(*session, {5, 50'000}));
      }
      static_cast<void>(must_open_session(file, config.plan(8)));  // never read
    };
    const auto settled = [&] {
      fixture.barrier();
      const std::size_t now = open_descriptor_count();
      fixture.barrier();
      return now;
    };
    for (int i = 0; i < 3; ++i)
      live_once();
    // Closed sessions end a little later. Memory that is kept for later sessions stays.
    const std::size_t before = settled() + 4UL * fixture.ranks.size();
    for (int i = 0; i < 20; ++i)
      live_once();
    EXPECT_TRUE(
        read::wait_until([&] { return fixture.is_true_on_all_ranks(settled() <= before); }));
  });
}

// Closing.

TEST_P(RanksSuite, sessions_are_closed_in_a_different_order_on_each_rank) {
  for_each_read_config([](const Communicator& ranks, const ReadConfig& config) {
    constexpr std::uint64_t kSessions = 5;
    RuntimeFixture fixture(ranks);
    const auto file = fixture.runtime.open_file(fixture.path());
    std::vector<Session> sessions;
    for (std::uint64_t i = 0; i < kSessions; ++i)
      sessions.push_back(must_open_session(file, config.plan(4, 2), {i * 100, 200'000}));
    std::vector<std::byte> into(100'000);
    for (std::uint64_t i = 0; i < kSessions; ++i) {
      const std::uint64_t mine = (i + fixture.runtime.rank()) % kSessions;
      const Session& session = sessions[mine];
      if (i % 2 == 0) {
        EXPECT_TRUE(reads_words(session, session.extent()));
      }
      auto outstanding = session.read(mine * 100, std::span(into));
      session.close();
      const auto got = result_of(outstanding);
      EXPECT_TRUE(got ? is_words(into, mine * 100)
                      : testing::AssertionResult(error_class(got) == ErrorClass::kClosed));
      EXPECT_EQ(error_class(result_of(session.view({mine * 100, 1}))), ErrorClass::kClosed);
    }
    EXPECT_TRUE(reads_words(must_open_session(file, config.plan(4)), kWhole));
  });
}

/// A Runtime that a rank can end before the others do.
struct OwnRuntime {
  OwnRuntime(const Communicator& ranks, const std::string& path)
      : runtime(std::in_place, comm::make_ranks(ranks), test_options()) {
    auto opened = runtime->open_file(path);
    EXPECT_TRUE(opened) << opened.error().message();
    file = std::move(opened.value());
  }
  void end() {
    file.reset();
    runtime.reset();
  }
  std::optional<Runtime> runtime;
  std::optional<File> file;
};

TEST_P(RanksSuite, rank_that_ends_early_does_not_stop_the_others) {
  for_each_read_config([](const Communicator& ranks, const ReadConfig& config) {
    for (const std::uint32_t early : first_and_last(*ranks)) {
      const SharedFileFixture fixture(ranks);
      OwnRuntime own(ranks, fixture.path());
      const Session session = must_open_session(*own.file, config.plan(8, 2));
      auto held = result_of(session.view({50 * kSplinterBytes, kSplinterBytes}));
      ASSERT_TRUE(held) << held.error().message();
      fixture.barrier();
      std::vector<std::byte> into(kFileBytes);
      auto outstanding = session.read(0, std::span(into));
      if (ranks->rank().number == early) {
        own.end();
        EXPECT_EQ(error_class(result_of(session.view({0, 8}))), ErrorClass::kClosed);
      } else {
        ASSERT_TRUE(result_of(outstanding));
        EXPECT_TRUE(is_words(into, 0));
        EXPECT_TRUE(reads_words(session, kWhole));
      }
      EXPECT_TRUE(is_words(held->bytes(), 50 * kSplinterBytes));
      fixture.barrier();
      // Sessions opened now read as well as those opened before.
      if (own.runtime) {
        EXPECT_TRUE(reads_words(must_open_session(*own.file, config.plan(8)), kWhole));
      }
      held->release();
      fixture.barrier();
    }
  });
}

// Before, an agent that received a request for a session while its Runtime ended waited for that
// end, which waited for the agent.
TEST_P(RanksSuite, rank_may_end_while_others_open_sessions) {
  constexpr int kRounds = 10;
  for_each_read_config([](const Communicator& ranks, const ReadConfig& config) {
    const SharedFileFixture fixture(ranks);
    for (int round = 0; round < kRounds; ++round) {
      OwnRuntime own(ranks, fixture.path());
      if (ranks->rank().number == static_cast<std::uint32_t>(round) % ranks->size()) {
        own.end();
      } else {
        for (int i = 0; i < 3; ++i)
          EXPECT_TRUE(
              reads_words(must_open_session(*own.file, config.plan(8)), {7, 3 * kSplinterBytes}));
      }
      fixture.barrier();
    }
  });
}

TEST_P(RanksSuite, ending_runtimes_close_their_open_sessions) {
  for_each_read_config([](const Communicator& ranks, const ReadConfig& config) {
    constexpr std::uint64_t kPiece = 50'000;
    const SharedFileFixture fixture(ranks);
    for (int round = 0; round < 3; ++round) {
      OwnRuntime own(ranks, fixture.path());
      const Session session = must_open_session(*own.file, config.plan(8, 4));
      const Session never_read = must_open_session(*own.file, config.plan(4));
      std::vector<std::byte> memory(kFileBytes);
      std::vector<Future<ByteCount>> reads;
      for (std::uint64_t at = 0; at + kPiece <= kFileBytes; at += kPiece)
        reads.push_back(session.read(at, std::span(memory).subspan(at, kPiece)));
      if ((ranks->rank().number + static_cast<std::uint32_t>(round)) % 2 == 0) fixture.barrier();
      own.end();
      if ((ranks->rank().number + static_cast<std::uint32_t>(round)) % 2 == 1) fixture.barrier();
      for (std::uint64_t at = 0; Future<ByteCount> & read : reads) {
        const auto got = result_of(read);
        EXPECT_TRUE(got ? is_words(std::span(memory).subspan(at, kPiece), at)
                        : testing::AssertionResult(error_class(got) == ErrorClass::kClosed));
        at += kPiece;
      }
      EXPECT_EQ(error_class(result_of(never_read.view({0, 10}))), ErrorClass::kClosed);
    }
  });
}

// Migration.

TEST_P(RanksSuite, migrated_task_reads_on_while_its_request_stays) {
  for_each_read_config([](const Communicator& ranks, const ReadConfig& config) {
    RuntimeFixture fixture(ranks);
    const Session session =
        must_open_session(fixture.runtime.open_file(fixture.path()), config.plan(8, 2));
    for (std::uint32_t from = 0; from < ranks->size(); ++from) {
      const std::uint32_t to = (from + 1) % ranks->size();
      const ByteRange range{1000 + from * 11, 200'000};
      std::vector<std::byte> into(range.size);
      std::optional<Future<ByteCount>> stays;
      if (fixture.runtime.rank() == from) stays = session.read(range.offset, std::span(into));
      const SessionHandle sent = broadcast_value(fixture.ranks, session.handle(), from);
      if (fixture.runtime.rank() == to) {
        const auto moved = fixture.runtime.find_session(sent);
        ASSERT_TRUE(moved) << moved.error().message();
        EXPECT_TRUE(reads_words(*moved, range));
      }
      fixture.barrier();  // the task is done on the other rank, and its request is still here
      if (fixture.runtime.rank() == from) {
        const auto got = result_of(*stays);
        ASSERT_TRUE(got) << got.error().message();
        EXPECT_EQ(*got, range.size);
        EXPECT_TRUE(is_words(into, range.offset));
      }
    }
  });
}

TEST_P(RanksSuite, migrated_task_without_open_session_gets_the_reason) {
  for_each_read_config([](const Communicator& ranks, const ReadConfig& config) {
    RuntimeFixture fixture(ranks);
    const auto file = fixture.runtime.open_file(fixture.path());
    std::optional<Session> session;
    if (fixture.is_first()) session = must_open_session(file, config.plan(8));
    const SessionHandle sent =
        broadcast_value(fixture.ranks, session ? session->handle() : SessionHandle{}, 0);
    if (!session) {
      const auto early = fixture.runtime.find_session(sent);
      ASSERT_EQ(error_class(early), ErrorClass::kNotFound);
      EXPECT_TRUE(message_contains(early.error(), "not open on this rank yet"));
      session = must_open_session(file, config.plan(8));
    }
    EXPECT_TRUE(reads_words(fixture.runtime.find_session(sent).value(), kWhole));
    session->close();
    const auto late = fixture.runtime.find_session(sent);
    ASSERT_EQ(error_class(late), ErrorClass::kClosed);
    EXPECT_TRUE(message_contains(late.error(), "session " + std::to_string(sent.number)));
  });
}

}  // namespace
}  // namespace forebay
