// SPDX-License-Identifier: Apache-2.0
// Several ranks with one file: the same for threads that play ranks and for those of an MPI job.
#include <cstdlib>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/testing.hpp"

namespace forebay {
namespace {

TEST_P(RanksSuite, each_reads_what_it_wants) {
  on_each_site([](Site& site) {
    Runtime& runtime = site.runtime;
    comm::Communicator& ranks = site.ranks;
    EXPECT_EQ(runtime.rank(), ranks.rank().number);
    EXPECT_EQ(runtime.rank_count(), ranks.size());
    const auto file = runtime.open(site.path());
    ASSERT_TRUE(file) << file.error().message();
    const auto session = file->read_session();
    ASSERT_TRUE(session) << session.error().message();
    const std::uint64_t share = kFileBytes / runtime.rank_count();
    EXPECT_TRUE(reads_words(*session, {runtime.rank() * share, share}));
    EXPECT_TRUE(reads_words(*session, {kFileBytes - 3, 3}));
  });
}

TEST_P(RanksSuite, a_file_that_one_rank_cannot_open_is_an_error_for_all) {
  on_each_site([](Site& site) {
    Runtime& runtime = site.runtime;
    const auto file =
        runtime.open(runtime.rank() == site.last() ? site.folder / "missing" : site.path());
    ASSERT_EQ(error_class(file), ErrorClass::kNotFound);
    EXPECT_EQ(file.error().path(), site.folder / "missing");
    if (runtime.rank_count() > 1) {
      EXPECT_TRUE(mentions(file.error(), "rank " + std::to_string(site.last())))
          << file.error().message();
    }
    EXPECT_TRUE(runtime.open(site.path()));  // nothing is out of step
  });
}

TEST_P(RanksSuite, files_of_different_sizes_are_refused_by_all) {
  on_each_site([](Site& site) {
    Runtime& runtime = site.runtime;
    if (runtime.rank_count() == 1) return;
    if (runtime.rank() == 0) write_words(site.folder / "longer", kFileBytes + 1);
    const auto file = runtime.open(runtime.rank() == 0 ? site.folder / "longer" : site.path());
    ASSERT_EQ(error_class(file), ErrorClass::kInvalidArgument);
    EXPECT_TRUE(mentions(file.error(), std::to_string(kFileBytes + 1)));
  });
}

TEST_P(RanksSuite, a_handle_means_the_same_session_everywhere) {
  on_each_site([](Site& site) {
    Runtime& runtime = site.runtime;
    comm::Communicator& ranks = site.ranks;
    const auto file = runtime.open(site.path());
    ASSERT_TRUE(file);
    const auto first = file->read_session({.offset = 0, .size = 5000});
    const auto second = file->read_session({.offset = 5000});
    ASSERT_TRUE(first && second);
    for (std::uint32_t from = 0; from < ranks.size(); ++from) {
      EXPECT_EQ(passed_on(ranks, first->handle(), from), first->handle());
      const auto moved = runtime.session(passed_on(ranks, second->handle(), from));
      ASSERT_TRUE(moved) << moved.error().message();
      EXPECT_TRUE(reads_words(*moved, {5000 + from, 1000}));
    }
  });
}

TEST_P(RanksSuite, a_session_that_failed_on_one_rank_shifts_nobody) {
  on_each_site([](Site& site) {
    Runtime& runtime = site.runtime;
    comm::Communicator& ranks = site.ranks;
    const auto file = runtime.open(site.path());
    ASSERT_TRUE(file);
    const ReadPlan plan{.splinter_bytes = runtime.rank() == 0 ? 1000ULL : 4096ULL, .reason = {}};
    EXPECT_EQ(file->read_session({}, plan).has_value(), runtime.rank() != 0);
    const auto session = file->read_session();
    ASSERT_TRUE(session);
    EXPECT_EQ(passed_on(ranks, session->handle(), 0), session->handle());
  });
}

TEST_P(RanksSuite, handles_of_what_is_not_there_are_refused_by_name) {
  on_each_site([](Site& site) {
    Runtime& runtime = site.runtime;
    const auto file = runtime.open(site.path());
    ASSERT_TRUE(file);
    SessionHandle ended;
    {
      const auto session = file->read_session();
      ASSERT_TRUE(session);
      ended = session->handle();
      EXPECT_TRUE(runtime.session(ended));
    }
    EXPECT_EQ(error_class(runtime.session(ended)), ErrorClass::kClosed);
    EXPECT_EQ(error_class(runtime.session({ended.runtime, ended.number + 1})),
              ErrorClass::kNotFound);
    EXPECT_EQ(error_class(runtime.session({ended.runtime + 1, ended.number})),
              ErrorClass::kInvalidArgument);
  });
}

TEST_P(RanksSuite, sessions_end_in_any_order_and_some_are_never_asked) {
  on_each_site([](Site& site) {
    Runtime& runtime = site.runtime;
    const auto file = runtime.open(site.path());
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

TEST_P(RanksSuite, nobody_waits_for_a_rank_that_comes_late_to_a_session) {
  on_each_site([](Site& site) {
    Runtime& runtime = site.runtime;
    const auto file = runtime.open(site.path());
    ASSERT_TRUE(file);
    std::uint32_t done = 1;
    const std::span<std::byte> word = std::as_writable_bytes(std::span(&done, 1));
    for (std::uint32_t other = 1; runtime.rank() == 0 && other <= site.last(); ++other)
      EXPECT_TRUE(site.ranks.receive(word, {other}, {7}).wait());
    const auto session = file->read_session();
    ASSERT_TRUE(session);
    EXPECT_TRUE(reads_words(*session, {0, kFileBytes}));
    if (runtime.rank() == 0) return;
    EXPECT_TRUE(site.ranks.send(word, {0}, {7}).wait());
  });
}

// Where the system refuses what sharing takes, tests/faults runs this with a variable that says so.
TEST_P(RanksSuite, ranks_share_a_session_or_a_warning_says_why_they_cannot) {
  on_all_ranks([](const Communicator& ranks) {
    Warnings log;
    Site site(ranks, {.log = &log});
    const bool can_share = ranks->size() > 1 && std::getenv("FOREBAY_TEST_UNSHARED") == nullptr;
    const auto file = site.runtime.open(site.path());
    for (int i = 0; i < 2; ++i) {
      const Session session = must_read(file, {.agents = Agents::kPerNode});
      EXPECT_EQ(*session.plan().agents, can_share ? Agents::kPerNode : Agents::kPerRank);
      EXPECT_TRUE(reads_words(session, {0, kFileBytes}));
    }
    site.meet();  // before the rank that has the agent ends
    const auto lines = log.lines();
    if (can_share || ranks->size() == 1) {
      EXPECT_TRUE(lines.empty()) << lines.front();
      return;
    }
    ASSERT_EQ(lines.size(), 1U);
    EXPECT_TRUE(lines.front().starts_with("each rank reads files for itself: ")) << lines.front();
  });
}

// Where the system refuses the memory of sessions, tests/faults runs this with a variable that says
// so.
TEST_P(RanksSuite, sessions_have_memory_or_an_error_that_says_what_to_allow) {
  const bool has_memory = std::getenv("FOREBAY_TEST_NO_MEMFD") == nullptr;
  on_each_reading([&](const auto& ranks, const Reading& reading) {
    Site site(ranks);
    const auto file = site.runtime.open(site.path());
    ASSERT_TRUE(file) << file.error().message();
    for (int i = 0; i < 2; ++i) {
      const auto session = file->read_session({}, reading.plan(8));
      ASSERT_EQ(session.has_value(), has_memory);
      if (has_memory) continue;
      const std::string said = session.error().message();
      EXPECT_TRUE(said.starts_with("create shared memory " + site.path())) << said;
      EXPECT_NE(said.find("memfd_create"), std::string::npos) << said;
      EXPECT_NE(said.find("allow it"), std::string::npos) << said;
      EXPECT_NE(session.error().error_number(), 0);
    }
  });
}

}  // namespace
}  // namespace forebay
