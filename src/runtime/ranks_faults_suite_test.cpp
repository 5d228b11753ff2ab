// SPDX-License-Identifier: Apache-2.0
// Several ranks with files that cannot be read, in whole or in part, and requests that cannot be
// met: each rank gets the Error that is its own, and the others go on. The same for threads that
// play ranks and for those of an MPI job, for each way in which they can share a file.
#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/testing.hpp"

namespace forebay {
namespace {

Result<ByteCount> read_at(const Session& session, ByteRange range) {
  std::vector<std::byte> into(range.size);
  return result_of(session.read(range.offset, std::span(into)));
}

TEST_P(RanksSuite, files_of_tests_can_be_read_directly) {
  on_each_site([](Site& site) {
    if (!reads_directly(site.path())) GTEST_SKIP() << "no direct access to " << site.path();
  });
}

// What cannot be opened.

/// `what` on all ranks is an Error of this kind, and no rank is out of step afterwards.
void expect_refused(Site& site, const std::string& what, ErrorClass kind) {
  const auto file = site.runtime.open(what);
  ASSERT_EQ(error_class(file), kind) << what;
  EXPECT_EQ(file.error().path(), what);
  if (site.last() > 0) {
    EXPECT_TRUE(mentions(file.error(), "rank 0")) << file.error().message();
  }
  EXPECT_TRUE(reads_words(must_read(site.runtime.open(site.path()), {}), {5, 100}));
}

TEST_P(RanksSuite, what_is_missing_or_no_file_is_one_error_for_all_and_nothing_is_made) {
  on_each_site([](Site& site) {
    const std::string fifo = site.folder / "fifo";
    if (site.is_first()) {
      EXPECT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
    }
    site.meet();
    expect_refused(site, site.folder / "missing", ErrorClass::kNotFound);
    expect_refused(site, site.folder / ".", ErrorClass::kInvalidArgument);
    expect_refused(site, fifo, ErrorClass::kInvalidArgument);
    EXPECT_FALSE(std::filesystem::exists(site.folder / "missing"));
  });
}

/// Root may open everything: until the end of this, the thread that made it is nobody. The C
/// library would change all threads of the process, which here may be other ranks.
class WithoutRights {
 public:
  WithoutRights() : was_root_(::geteuid() == 0) { become(65534); }
  ~WithoutRights() { become(0); }
  WithoutRights(const WithoutRights&) = delete;
  WithoutRights& operator=(const WithoutRights&) = delete;

 private:
  void become(uid_t user) const {
    if (was_root_) {
      EXPECT_EQ(::syscall(SYS_setresuid, -1, user, -1), 0);
    }
  }
  const bool was_root_;
};

TEST_P(RanksSuite, a_file_that_one_rank_may_not_read_is_an_error_for_all_that_names_it) {
  on_each_site([](Site& site) {
    const std::string secret = site.folder / "secret";
    if (site.is_first()) {
      write_words(secret, 100);
      EXPECT_EQ(::chmod(secret.c_str(), 0000), 0);
      EXPECT_EQ(::chmod((site.folder / ".").c_str(), 0755), 0);
    }
    site.meet();
    const bool refused_here = site.runtime.rank() == site.last();
    const auto file = [&] {
      if (!refused_here) return site.runtime.open(::geteuid() == 0 ? secret : site.path());
      const WithoutRights here;
      return site.runtime.open(secret);
    }();
    ASSERT_EQ(error_class(file), ErrorClass::kPermission);
    EXPECT_EQ(file.error().path(), secret);
    if (site.last() > 0) {
      EXPECT_TRUE(mentions(file.error(), "rank " + std::to_string(site.last())));
    }
    EXPECT_TRUE(reads_words(must_read(site.runtime.open(site.path()), {}), {5, 100}));
  });
}

// What is there, and not as long as was thought.

template <class T>
void expect_short(const Result<T>& got, std::uint64_t missing_byte, const Site& site) {
  ASSERT_EQ(error_class(got), ErrorClass::kShortFile) << missing_byte;
  EXPECT_EQ(got.error().offset_bytes(), missing_byte);
  EXPECT_EQ(got.error().path(), site.path());
}

TEST_P(RanksSuite, who_needs_bytes_of_a_file_that_was_cut_is_told_and_others_go_on) {
  on_each_reading([](const Communicator& ranks, const Reading& reading) {
    constexpr std::uint64_t kLeft = 200'123;
    Site site(ranks);
    const Session session = must_read(site.runtime.open(site.path()), reading.plan(16));
    const auto held = result_of(session.view({350'000, 100}));
    ASSERT_TRUE(held) << held.error().message();
    site.meet();
    if (site.is_first()) {
      EXPECT_EQ(::truncate(site.path().c_str(), kLeft), 0);
    }
    site.meet();
    for (int round = 0; round < 2; ++round) {
      EXPECT_TRUE(reads_words(session, {0, kLeft}));
      expect_short(read_at(session, {kLeft - 100, 1000}), kLeft, site);
      expect_short(result_of(session.view({kLeft, 1})), kLeft, site);
      const std::uint64_t beyond = 250'000 + site.runtime.rank() * 3 * kUnit;
      expect_short(result_of(session.view({beyond, 10})), beyond, site);
    }
    EXPECT_TRUE(is_words(held->bytes(), 350'000));
  });
}

TEST_P(RanksSuite, a_file_that_is_cut_in_the_midst_of_reading_gives_words_or_errors) {
  on_each_reading([](const Communicator& ranks, const Reading& reading) {
    constexpr std::uint64_t kLeft = 150'001;
    constexpr std::uint64_t kPiece = 5'000;
    Site site(ranks);
    const Session session = must_read(site.runtime.open(site.path()), reading.plan(16, 8));
    std::vector<Future<View>> views;
    for (std::uint64_t at = 0; at + kPiece <= kFileBytes; at += kPiece)
      views.push_back(session.view({at, kPiece}));
    if (site.is_first()) {
      EXPECT_EQ(::truncate(site.path().c_str(), kLeft), 0);
    }
    for (std::uint64_t at = 0; Future<View> & one : views) {
      const auto view = result_of(one);
      if (view) {
        EXPECT_TRUE(is_words(view->bytes(), at));
      } else {
        ASSERT_EQ(error_class(view), ErrorClass::kShortFile) << at;
        EXPECT_GE(*view.error().offset_bytes(), std::max(kLeft, at));
        EXPECT_GT(at + kPiece, kLeft);
      }
      at += kPiece;
    }
    site.meet();
    EXPECT_TRUE(reads_words(session, {0, kLeft}));
    const auto all = read_at(session, {0, kFileBytes});
    ASSERT_EQ(error_class(all), ErrorClass::kShortFile);
    EXPECT_GE(*all.error().offset_bytes(), kLeft);
    // A read that was under way may have got any way beyond the cut, and what was read stays.
    EXPECT_LT(*all.error().offset_bytes(), kFileBytes);
  });
}

TEST_P(RanksSuite, a_file_without_bytes_has_sessions_of_nothing) {
  on_each_reading([](const Communicator& ranks, const Reading& reading) {
    Site site(ranks);
    if (site.is_first()) write_words(site.folder / "empty", 0);
    site.meet();
    const Session session = must_read(site.runtime.open(site.folder / "empty"), reading.plan(4));
    EXPECT_EQ(session.extent(), (ByteRange{0, 0}));
    EXPECT_TRUE(session.views().done());
    EXPECT_EQ(*read_at(session, {0, 0}), 0U);
    EXPECT_EQ(error_class(read_at(session, {0, 1})), ErrorClass::kOutOfRange);
  });
}

// What is asked for in vain.

TEST_P(RanksSuite, extents_past_the_end_are_refused_on_each_rank_and_shift_no_session) {
  on_each_reading([](const Communicator& ranks, const Reading& reading) {
    Site site(ranks);
    const auto file = site.runtime.open(site.path());
    for (const Extent extent : {Extent{0, kFileBytes + 1}, Extent{kFileBytes, 1},
                                Extent{kFileBytes + 1, all}, Extent{UINT64_MAX, 1}}) {
      const auto session = file->read_session(extent, reading.plan(4));
      ASSERT_EQ(error_class(session), ErrorClass::kOutOfRange);
      EXPECT_EQ(session.error().path(), site.path());
      EXPECT_TRUE(mentions(session.error(), std::to_string(kFileBytes)));
    }
    const Session session = must_read(file, reading.plan(4), {100, 5000});
    EXPECT_EQ(passed_on(site.ranks, session.handle(), site.last()), session.handle());
    EXPECT_TRUE(reads_words(session, {100, 5000}));
    for (const ByteRange outside : {ByteRange{99, 1}, ByteRange{5100, 1}, ByteRange{5099, 2}})
      EXPECT_EQ(error_class(read_at(session, outside)), ErrorClass::kOutOfRange);
  });
}

TEST_P(RanksSuite, requests_of_no_bytes_are_met_wherever_they_lie) {
  on_each_reading([](const Communicator& ranks, const Reading& reading) {
    Site site(ranks);
    const Session session = must_read(site.runtime.open(site.path()), reading.plan(4));
    for (const std::uint64_t at : {std::uint64_t{0}, std::uint64_t{77}, kUnit, kFileBytes}) {
      EXPECT_EQ(*read_at(session, {at, 0}), 0U);
      const auto view = result_of(session.view({at, 0}));
      ASSERT_TRUE(view) << view.error().message();
      EXPECT_TRUE(view->bytes().empty());
    }
    EXPECT_EQ(*result_of(session.read(std::vector<ByteRange>(3), std::span<std::byte>())), 0U);
    EXPECT_EQ(session.report().bytes_served, 0U);
  });
}

TEST_P(RanksSuite, plans_that_cannot_work_are_refused_by_name_on_each_rank) {
  on_each_reading([](const Communicator& ranks, const Reading& reading) {
    Site site(ranks);
    const auto file = site.runtime.open(site.path());
    ReadPlan small_budget = reading.plan(1);
    small_budget.budget_bytes = kUnit - 1;
    ReadPlan odd_splinter = reading.plan(4);
    odd_splinter.splinter_bytes = 5000;
    const auto refused = file->read_session({}, small_budget);
    ASSERT_EQ(error_class(refused), ErrorClass::kInvalidArgument);
    EXPECT_TRUE(mentions(refused.error(), "budget_bytes")) << refused.error().message();
    EXPECT_EQ(refused.error().path(), site.path());
    const auto odd = file->read_session({}, odd_splinter);
    ASSERT_EQ(error_class(odd), ErrorClass::kInvalidArgument);
    EXPECT_TRUE(mentions(odd.error(), "splinter_bytes")) << odd.error().message();
    EXPECT_TRUE(reads_words(must_read(file, reading.plan(1)), kWhole));
  });
}

/// None of them can work, each for another reason.
std::vector<ReadPlan> bad_plans(const Reading& reading) {
  std::vector<ReadPlan> plans(3, reading.plan(8));
  plans[0].splinter_bytes = 5000;
  plans[1].budget_bytes = kUnit - 1;
  plans[2].splinter_bytes = 64 * kUnit;  // more than its budget
  return plans;
}

// Where one agent reads for a node, only the plan of the first rank was ever looked at: whether a
// mistake was told depended on who was faster.
TEST_P(RanksSuite, a_plan_that_cannot_work_is_refused_also_where_others_have_the_session) {
  on_each_reading([](const Communicator& ranks, const Reading& reading) {
    if (ranks->size() == 1) return;
    Site site(ranks);
    const auto file = site.runtime.open(site.path());
    const bool is_wrong = site.runtime.rank() == site.last();
    for (const ReadPlan& bad : bad_plans(reading)) {
      std::optional<Session> session;
      if (!is_wrong) session = must_read(file, reading.plan(8));
      site.meet();
      if (is_wrong) {
        const auto refused = file->read_session({}, bad);
        ASSERT_EQ(error_class(refused), ErrorClass::kInvalidArgument);
        EXPECT_EQ(refused.error().path(), site.path());
        // The same rank, alone with the same mistake.
        Runtime other(tested());
        const auto alone = other.open(site.path())->read_session({}, bad);
        EXPECT_EQ(refused.error().message(), alone.error().message());
      }
      site.meet();
      if (session) {
        EXPECT_TRUE(reads_words(*session, kWhole));
      }
    }
    const Session after = must_read(file, reading.plan(8));
    EXPECT_EQ(passed_on(site.ranks, after.handle(), 0), after.handle());
    EXPECT_TRUE(reads_words(after, kWhole));
  });
}

TEST_P(RanksSuite, of_plans_that_differ_the_first_of_a_node_is_in_force_and_all_are_told_it) {
  on_each_reading([](const Communicator& ranks, const Reading& reading) {
    Site site(ranks);
    const auto file = site.runtime.open(site.path());
    ReadPlan other = reading.plan(8);
    other.splinter_bytes = 2 * kUnit;
    other.retirement = Retirement::kCache;
    std::optional<Session> session;
    if (site.is_first()) session = must_read(file, reading.plan(16, 4));
    site.meet();
    if (!session) session = must_read(file, other);
    const bool shares = session->plan().agents == Agents::kPerNode;
    const bool has_its_own = !site.is_first() && !shares;
    EXPECT_EQ(session->plan().splinter_bytes, has_its_own ? 2 * kUnit : kUnit);
    EXPECT_EQ(session->plan().budget_bytes, (has_its_own ? 8 : 16) * kUnit);
    EXPECT_EQ(*session->plan().eager_bytes, (has_its_own ? 0 : 4) * kUnit);
    EXPECT_EQ(session->plan().retirement, has_its_own ? Retirement::kCache : Retirement::kOnce);
    EXPECT_TRUE(reads_words(*session, kWhole));
    site.meet();
  });
}

TEST_P(RanksSuite, memory_that_is_used_up_is_a_limit_and_comes_back) {
  on_each_reading([](const Communicator& ranks, const Reading& reading) {
    constexpr int kSessions = 4;
    Site site(ranks, {.budget_bytes = kSessions * 16 * kUnit});
    const auto file = site.runtime.open(site.path());
    std::vector<Session> sessions;
    for (int i = 0; i < kSessions; ++i)
      sessions.push_back(must_read(file, reading.plan(16)));
    const auto refused = file->read_session({}, reading.plan(16));
    ASSERT_EQ(error_class(refused), ErrorClass::kLimit);
    EXPECT_TRUE(mentions(refused.error(), "budget")) << refused.error().message();
    EXPECT_EQ(refused.error().path(), site.path());
    for (const Session& session : sessions)
      EXPECT_TRUE(reads_words(session, kWhole));
    site.meet();
    sessions.pop_back();
    const auto again = open_together(site, *file, reading.plan(16));
    ASSERT_TRUE(again);
    EXPECT_TRUE(reads_words(*again, kWhole));
  });
}

// What is there, and not easy to come by.

TEST_P(RanksSuite, several_sessions_on_one_file_do_not_meet) {
  on_each_reading([](const Communicator& ranks, const Reading& reading) {
    Site site(ranks);
    const auto file = site.runtime.open(site.path());
    const Session all_of_it = must_read(file, reading.plan(8));
    const Session same = must_read(file, reading.plan(4, 4));
    const Session part = must_read(file, reading.plan(2), {kUnit + 1, 7 * kUnit});
    std::vector<std::byte> into(kFileBytes);
    auto future = all_of_it.read(0, std::span(into));
    EXPECT_TRUE(reads_words(part, {kUnit + 1, 7 * kUnit}));
    EXPECT_TRUE(reads_words(same, kWhole));
    EXPECT_EQ(error_class(read_at(part, {0, 1})), ErrorClass::kOutOfRange);
    ASSERT_TRUE(result_of(future));
    EXPECT_TRUE(is_words(into, 0));
  });
}

TEST_P(RanksSuite, each_reads_all_of_a_file_larger_than_the_window_in_an_order_of_its_own) {
  on_each_reading([](const Communicator& ranks, const Reading& reading) {
    constexpr std::uint64_t kPieces = 61;
    constexpr std::uint64_t kPiece = kFileBytes / kPieces;
    Site site(ranks);
    const Session session = must_read(site.runtime.open(site.path()), reading.plan(8, 2));
    const std::uint64_t step = 1 + site.runtime.rank() * 5 % (kPieces - 1);
    for (std::uint64_t i = 0; i < kPieces; ++i)
      EXPECT_TRUE(reads_words(session, {i * step % kPieces * kPiece, kPiece}));
    EXPECT_EQ(session.report().bytes_served, kPieces * kPiece);
    EXPECT_LE(session.report().window_bytes, 8 * kUnit);
  });
}

TEST_P(RanksSuite, views_that_some_hold_make_no_other_wait) {
  on_each_reading([](const Communicator& ranks, const Reading& reading) {
    constexpr std::uint64_t kSlots = 4;
    Site site(ranks);
    const Session session = must_read(site.runtime.open(site.path()), reading.plan(kSlots));
    std::vector<View> held;
    if (site.is_first()) {
      for (std::uint64_t i = 0; i < kSlots; ++i)
        held.push_back(result_of(session.view({i * kUnit, kUnit})).value());
    }
    site.meet();
    EXPECT_TRUE(reads_words(session, kWhole));
    site.meet();
    for (const View& view : held)
      EXPECT_TRUE(is_words(view.bytes(), view.range().offset));
    held.clear();
    EXPECT_TRUE(read::eventually([&] {
      const auto view = result_of(session.view({20 * kUnit, kUnit}));
      return view && !view->is_copy();
    })) << "memory that was given back is used again";
    site.meet();
  });
}

TEST_P(RanksSuite, requests_that_are_dropped_touch_no_memory_that_is_used_again) {
  on_each_reading([](const Communicator& ranks, const Reading& reading) {
    constexpr std::uint64_t kPiece = 3 * kUnit + 5;
    constexpr std::byte kOther{0x5A};
    Site site(ranks);
    const Session session = must_read(site.runtime.open(site.path()), reading.plan(8, 4));
    std::vector<std::byte> memory(kPiece);
    for (std::uint64_t at = 0; at + 2 * kPiece <= kFileBytes; at += 2 * kPiece) {
      {
        auto dropped = session.read(at, std::span(memory));
      }
      {
        auto dropped = session.view({at + kPiece, kPiece});
      }
      std::fill(memory.begin(), memory.end(), kOther);
      EXPECT_TRUE(reads_words(session, {at + kPiece / 2, kPiece}));
      EXPECT_EQ(std::count(memory.begin(), memory.end(), kOther), kPiece);
      ASSERT_TRUE(result_of(session.read(at + kPiece, std::span(memory))));
      EXPECT_TRUE(is_words(memory, at + kPiece));
    }
  });
}

}  // namespace
}  // namespace forebay
