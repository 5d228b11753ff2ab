// SPDX-License-Identifier: Apache-2.0
// Ranks that come late, ask nothing, fail alone or leave early, and tasks that move between them:
// what one does makes no other wait or fail. The same for threads that play ranks and for those of
// an MPI job, for each way in which they can share a file.
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/testing.hpp"

namespace forebay {
namespace {

/// The rank that the node's agent lives with, and one that it does not live with.
std::vector<std::uint32_t> first_and_last(const comm::Communicator& ranks) {
  if (ranks.size() == 1) return {0};
  return {0, ranks.size() - 1};
}

// Coming.

TEST_P(RanksSuite, ranks_that_ask_nothing_keep_nobody_from_reading) {
  on_each_reading([](const Communicator& ranks, const Reading& reading) {
    for (const std::uint32_t only : first_and_last(*ranks)) {
      Site site(ranks);
      const auto file = site.runtime.open(site.path());
      if (site.runtime.rank() == only) {
        EXPECT_TRUE(reads_words(must_read(file, reading.plan(8)), kWhole));
      }
      site.meet();  // the others have opened no session at all
      const Session session = must_read(file, reading.plan(8));
      if (site.runtime.rank() == only) {
        EXPECT_TRUE(reads_words(session, kWhole));
      }
      site.meet();  // nor read from this one
      EXPECT_EQ(session.report().bytes_served > 0, site.runtime.rank() == only);
    }
  });
}

TEST_P(RanksSuite, nobody_waits_for_a_rank_that_is_late_wherever_the_agent_is) {
  on_each_reading([](const Communicator& ranks, const Reading& reading) {
    for (const std::uint32_t late : first_and_last(*ranks)) {
      Site site(ranks);
      const auto file = site.runtime.open(site.path());
      std::optional<Session> session;
      if (site.runtime.rank() != late) {
        session = must_read(file, reading.plan(8));
        EXPECT_TRUE(reads_words(*session, kWhole));
      }
      site.meet();
      if (!session) session = must_read(file, reading.plan(8));
      EXPECT_TRUE(reads_words(*session, kWhole));
      EXPECT_EQ(passed_on(site.ranks, session->handle(), late), session->handle());
    }
  });
}

TEST_P(RanksSuite, a_session_that_all_others_have_closed_is_there_for_one_that_is_late) {
  on_each_reading([](const Communicator& ranks, const Reading& reading) {
    Site site(ranks);
    const auto file = site.runtime.open(site.path());
    const auto read_once = [&] {
      EXPECT_TRUE(reads_words(must_read(file, reading.plan(8)), kWhole));
    };
    if (!site.is_first()) read_once();
    site.meet();
    if (site.is_first()) read_once();
    site.meet();
  });
}

// Failing alone.

TEST_P(RanksSuite, a_session_that_one_rank_cannot_open_is_used_by_the_others) {
  on_each_reading([](const Communicator& ranks, const Reading& reading) {
    for (const std::uint32_t refused : first_and_last(*ranks)) {
      Site site(ranks);
      const auto file = site.runtime.open(site.path());
      // What this rank asks for is past the end, which is nobody else's affair.
      const bool is_refused = site.runtime.rank() == refused;
      const Extent extent{is_refused ? kFileBytes : 0, kFileBytes};
      const auto session = file->read_session(extent, reading.plan(8));
      ASSERT_EQ(session.has_value(), !is_refused);
      if (session) {
        EXPECT_TRUE(reads_words(*session, kWhole));
      }
      const Session next = must_read(file, reading.plan(8));
      SessionHandle before = next.handle();
      --before.number;
      const auto found = site.runtime.session(before);
      EXPECT_EQ(error_class(found), is_refused ? std::optional(ErrorClass::kClosed) : std::nullopt);
      EXPECT_EQ(passed_on(site.ranks, next.handle(), refused), next.handle());
      EXPECT_TRUE(reads_words(next, kWhole));
    }
  });
}

// Who joins a session of its node gets it as it is: there only the first one's plan counts.
TEST_P(RanksSuite, a_plan_of_one_rank_that_cannot_work_harms_no_other) {
  on_each_reading([](const Communicator& ranks, const Reading& reading) {
    for (const std::uint32_t odd : first_and_last(*ranks)) {
      Site site(ranks);
      const auto file = site.runtime.open(site.path());
      ReadPlan plan = reading.plan(8);
      if (site.runtime.rank() == odd) plan.splinter_bytes = 5000;
      const auto session = file->read_session({}, plan);
      if (site.runtime.rank() != odd || session) {
        ASSERT_TRUE(session) << session.error().message();
        EXPECT_TRUE(reads_words(*session, kWhole));
      } else {
        EXPECT_EQ(session.error().kind(), ErrorClass::kInvalidArgument);
        EXPECT_TRUE(mentions(session.error(), "splinter_bytes")) << session.error().message();
      }
      if (reading.agents == Agents::kPerRank) {
        EXPECT_EQ(session.has_value(), site.runtime.rank() != odd);
      }
      EXPECT_TRUE(reads_words(must_read(file, reading.plan(8)), kWhole));
    }
  });
}

TEST_P(RanksSuite, files_and_sessions_that_fail_leave_nothing_behind) {
  on_each_reading([](const Communicator& ranks, const Reading& reading) {
    Site site(ranks);
    const bool fails = site.runtime.rank() == site.last();
    const auto live_once = [&] {
      EXPECT_FALSE(site.runtime.open(fails ? site.folder / "missing" : site.path()));
      const auto file = site.runtime.open(site.path());
      const Extent extent{0, fails ? kFileBytes + 1 : kFileBytes};
      const auto session = file->read_session(extent, reading.plan(8));
      if (session) {
        EXPECT_TRUE(reads_words(*session, {5, 50'000}));
      }
      static_cast<void>(must_read(file, reading.plan(8)));  // and is never read
    };
    const auto settled = [&] {
      site.meet();
      const std::size_t now = open_descriptors();
      site.meet();
      return now;
    };
    for (int i = 0; i < 3; ++i)
      live_once();
    // Sessions that are closed end a little later; memory that is kept for the next one stays.
    const std::size_t before = settled() + 4UL * site.ranks.size();
    for (int i = 0; i < 20; ++i)
      live_once();
    EXPECT_TRUE(read::eventually([&] { return site.everywhere(settled() <= before); }));
  });
}

// Leaving.

TEST_P(RanksSuite, sessions_are_closed_in_another_order_on_each_rank) {
  on_each_reading([](const Communicator& ranks, const Reading& reading) {
    constexpr std::uint64_t kSessions = 5;
    Site site(ranks);
    const auto file = site.runtime.open(site.path());
    std::vector<Session> sessions;
    for (std::uint64_t i = 0; i < kSessions; ++i)
      sessions.push_back(must_read(file, reading.plan(4, 2), {i * 100, 200'000}));
    std::vector<std::byte> into(100'000);
    for (std::uint64_t i = 0; i < kSessions; ++i) {
      const std::uint64_t mine = (i + site.runtime.rank()) % kSessions;
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
    EXPECT_TRUE(reads_words(must_read(file, reading.plan(4)), kWhole));
  });
}

/// A Runtime that a rank can end before the others do.
struct OwnRuntime {
  OwnRuntime(const Communicator& ranks, const std::string& path)
      : runtime(std::in_place, Ranks(ranks), tested()) {
    auto opened = runtime->open(path);
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

TEST_P(RanksSuite, a_rank_that_ends_early_leaves_the_others_reading) {
  on_each_reading([](const Communicator& ranks, const Reading& reading) {
    for (const std::uint32_t early : first_and_last(*ranks)) {
      const Place place(ranks);
      OwnRuntime own(ranks, place.path());
      const Session session = must_read(*own.file, reading.plan(8, 2));
      auto held = result_of(session.view({50 * kUnit, kUnit}));
      ASSERT_TRUE(held) << held.error().message();
      place.meet();
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
      EXPECT_TRUE(is_words(held->bytes(), 50 * kUnit));
      place.meet();
      // What is opened now is read as well as what was open.
      if (own.runtime) {
        EXPECT_TRUE(reads_words(must_read(*own.file, reading.plan(8)), kWhole));
      }
      held->release();
      place.meet();
    }
  });
}

// An agent that was asked for a session while its Runtime ended waited for that end, which waited
// for the agent.
TEST_P(RanksSuite, a_rank_may_end_while_others_open_sessions) {
  constexpr int kRounds = 10;
  on_each_reading([](const Communicator& ranks, const Reading& reading) {
    const Place place(ranks);
    for (int round = 0; round < kRounds; ++round) {
      OwnRuntime own(ranks, place.path());
      if (ranks->rank().number == static_cast<std::uint32_t>(round) % ranks->size()) {
        own.end();
      } else {
        for (int i = 0; i < 3; ++i)
          EXPECT_TRUE(reads_words(must_read(*own.file, reading.plan(8)), {7, 3 * kUnit}));
      }
      place.meet();
    }
  });
}

TEST_P(RanksSuite, runtimes_that_end_with_sessions_open_close_them) {
  on_each_reading([](const Communicator& ranks, const Reading& reading) {
    constexpr std::uint64_t kPiece = 50'000;
    const Place place(ranks);
    for (int round = 0; round < 3; ++round) {
      OwnRuntime own(ranks, place.path());
      const Session session = must_read(*own.file, reading.plan(8, 4));
      const Session never_read = must_read(*own.file, reading.plan(4));
      std::vector<std::byte> memory(kFileBytes);
      std::vector<Future<ByteCount>> reads;
      for (std::uint64_t at = 0; at + kPiece <= kFileBytes; at += kPiece)
        reads.push_back(session.read(at, std::span(memory).subspan(at, kPiece)));
      if ((ranks->rank().number + static_cast<std::uint32_t>(round)) % 2 == 0) place.meet();
      own.end();
      if ((ranks->rank().number + static_cast<std::uint32_t>(round)) % 2 == 1) place.meet();
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

// Moving.

TEST_P(RanksSuite, a_task_that_moves_reads_on_elsewhere_and_its_request_stays) {
  on_each_reading([](const Communicator& ranks, const Reading& reading) {
    Site site(ranks);
    const Session session = must_read(site.runtime.open(site.path()), reading.plan(8, 2));
    for (std::uint32_t from = 0; from < ranks->size(); ++from) {
      const std::uint32_t to = (from + 1) % ranks->size();
      const ByteRange range{1000 + from * 11, 200'000};
      std::vector<std::byte> into(range.size);
      std::optional<Future<ByteCount>> stays;
      if (site.runtime.rank() == from) stays = session.read(range.offset, std::span(into));
      const SessionHandle sent = passed_on(site.ranks, session.handle(), from);
      if (site.runtime.rank() == to) {
        const auto moved = site.runtime.session(sent);
        ASSERT_TRUE(moved) << moved.error().message();
        EXPECT_TRUE(reads_words(*moved, range));
      }
      site.meet();  // the task is done where it went, and what it had asked for is still here
      if (site.runtime.rank() == from) {
        const auto got = result_of(*stays);
        ASSERT_TRUE(got) << got.error().message();
        EXPECT_EQ(*got, range.size);
        EXPECT_TRUE(is_words(into, range.offset));
      }
    }
  });
}

TEST_P(RanksSuite, a_task_that_moves_where_its_session_is_not_open_is_told_why) {
  on_each_reading([](const Communicator& ranks, const Reading& reading) {
    Site site(ranks);
    const auto file = site.runtime.open(site.path());
    std::optional<Session> session;
    if (site.is_first()) session = must_read(file, reading.plan(8));
    const SessionHandle sent =
        passed_on(site.ranks, session ? session->handle() : SessionHandle{}, 0);
    if (!session) {
      const auto early = site.runtime.session(sent);
      ASSERT_EQ(error_class(early), ErrorClass::kNotFound);
      EXPECT_TRUE(mentions(early.error(), "not open on this rank yet"));
      session = must_read(file, reading.plan(8));
    }
    EXPECT_TRUE(reads_words(site.runtime.session(sent).value(), kWhole));
    session->close();
    const auto late = site.runtime.session(sent);
    ASSERT_EQ(error_class(late), ErrorClass::kClosed);
    EXPECT_TRUE(mentions(late.error(), "session " + std::to_string(sent.number)));
  });
}

}  // namespace
}  // namespace forebay
