// SPDX-License-Identifier: Apache-2.0
// Several ranks with files that cannot be read, completely or in part, and with requests that
// cannot be served: each rank gets its own Error, and the others continue. The same for ranks as
// threads and for ranks of an MPI job, with each configuration of shared reading.
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

TEST_P(RanksSuite, direct_reads_of_test_files_work) {
  with_runtime([](RuntimeFixture& fixture) {
    if (!can_read_directly(fixture.path()))
      GTEST_SKIP() << "no direct access to " << fixture.path();
  });
}

// Files that cannot be opened.

/// Expects this Error on all ranks for opening `what`, and that collective calls match afterwards.
void expect_refused(RuntimeFixture& fixture, const std::string& what, ErrorClass kind) {
  const auto file = fixture.runtime.open_file(what);
  ASSERT_EQ(error_class(file), kind) << what;
  EXPECT_EQ(file.error().path(), what);
  if (fixture.last() > 0) {
    EXPECT_TRUE(message_contains(file.error(), "rank 0")) << file.error().message();
  }
  EXPECT_TRUE(
      reads_words(must_open_session(fixture.runtime.open_file(fixture.path()), {}), {5, 100}));
}

TEST_P(RanksSuite, missing_file_or_non_file_is_one_error_on_all_ranks) {
  with_runtime([](RuntimeFixture& fixture) {
    const std::string fifo = fixture.directory / "fifo";
    if (fixture.is_first()) {
      EXPECT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
    }
    fixture.barrier();
    expect_refused(fixture, fixture.directory / "missing", ErrorClass::kNotFound);
    expect_refused(fixture, fixture.directory / ".", ErrorClass::kInvalidArgument);
    expect_refused(fixture, fifo, ErrorClass::kInvalidArgument);
    EXPECT_FALSE(std::filesystem::exists(fixture.directory / "missing"));
  });
}

/// Root may open everything, so the current thread runs as user 65534 during this object's
/// lifetime. The C library would change all threads of the process, which may be other ranks here.
class UnprivilegedThread {
 public:
  UnprivilegedThread() : was_root_(::geteuid() == 0) { set_effective_user(65534); }
  ~UnprivilegedThread() { set_effective_user(0); }
  UnprivilegedThread(const UnprivilegedThread&) = delete;
  UnprivilegedThread& operator=(const UnprivilegedThread&) = delete;

 private:
  void set_effective_user(uid_t user) const {
    if (was_root_) {
      EXPECT_EQ(::syscall(SYS_setresuid, -1, user, -1), 0);
    }
  }
  const bool was_root_;
};

TEST_P(RanksSuite, file_that_one_rank_may_not_read_is_an_error_that_names_the_rank) {
  with_runtime([](RuntimeFixture& fixture) {
    const std::string secret = fixture.directory / "secret";
    if (fixture.is_first()) {
      write_words(secret, 100);
      EXPECT_EQ(::chmod(secret.c_str(), 0000), 0);
      EXPECT_EQ(::chmod((fixture.directory / ".").c_str(), 0755), 0);
    }
    fixture.barrier();
    const bool refused_here = fixture.runtime.rank() == fixture.last();
    const auto file = [&] {
      if (!refused_here)
        return fixture.runtime.open_file(::geteuid() == 0 ? secret : fixture.path());
      const UnprivilegedThread here;
      return fixture.runtime.open_file(secret);
    }();
    ASSERT_EQ(error_class(file), ErrorClass::kPermission);
    EXPECT_EQ(file.error().path(), secret);
    if (fixture.last() > 0) {
      EXPECT_TRUE(message_contains(file.error(), "rank " + std::to_string(fixture.last())));
    }
    EXPECT_TRUE(
        reads_words(must_open_session(fixture.runtime.open_file(fixture.path()), {}), {5, 100}));
  });
}

// Files that are shorter than expected.

template <class T>
void expect_short(const Result<T>& got, std::uint64_t missing_byte, const RuntimeFixture& fixture) {
  ASSERT_EQ(error_class(got), ErrorClass::kShortFile) << missing_byte;
  EXPECT_EQ(got.error().offset_bytes(), missing_byte);
  EXPECT_EQ(got.error().path(), fixture.path());
}

TEST_P(RanksSuite, truncated_file_fails_only_requests_for_missing_bytes) {
  for_each_read_config([](const Communicator& ranks, const ReadConfig& config) {
    constexpr std::uint64_t kLeft = 200'123;
    RuntimeFixture fixture(ranks);
    const Session session =
        must_open_session(fixture.runtime.open_file(fixture.path()), config.plan(16));
    const auto held = result_of(session.view({350'000, 100}));
    ASSERT_TRUE(held) << held.error().message();
    fixture.barrier();
    if (fixture.is_first()) {
      EXPECT_EQ(::truncate(fixture.path().c_str(), kLeft), 0);
    }
    fixture.barrier();
    for (int round = 0; round < 2; ++round) {
      EXPECT_TRUE(reads_words(session, {0, kLeft}));
      expect_short(read_at(session, {kLeft - 100, 1000}), kLeft, fixture);
      expect_short(result_of(session.view({kLeft, 1})), kLeft, fixture);
      const std::uint64_t beyond = 250'000 + fixture.runtime.rank() * 3 * kSplinterBytes;
      expect_short(result_of(session.view({beyond, 10})), beyond, fixture);
    }
    EXPECT_TRUE(is_words(held->bytes(), 350'000));
  });
}

TEST_P(RanksSuite, file_truncated_during_reads_gives_right_bytes_or_errors) {
  for_each_read_config([](const Communicator& ranks, const ReadConfig& config) {
    constexpr std::uint64_t kLeft = 150'001;
    constexpr std::uint64_t kPiece = 5'000;
    RuntimeFixture fixture(ranks);
    const Session session =
        must_open_session(fixture.runtime.open_file(fixture.path()), config.plan(16, 8));
    std::vector<Future<View>> views;
    for (std::uint64_t at = 0; at + kPiece <= kFileBytes; at += kPiece)
      views.push_back(session.view({at, kPiece}));
    if (fixture.is_first()) {
      EXPECT_EQ(::truncate(fixture.path().c_str(), kLeft), 0);
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
    fixture.barrier();
    EXPECT_TRUE(reads_words(session, {0, kLeft}));
    const auto whole = read_at(session, {0, kFileBytes});
    ASSERT_EQ(error_class(whole), ErrorClass::kShortFile);
    EXPECT_GE(*whole.error().offset_bytes(), kLeft);
    // A read in flight may have ended anywhere beyond the cut, and loaded bytes stay.
    EXPECT_LT(*whole.error().offset_bytes(), kFileBytes);
  });
}

TEST_P(RanksSuite, empty_file_has_empty_sessions) {
  for_each_read_config([](const Communicator& ranks, const ReadConfig& config) {
    RuntimeFixture fixture(ranks);
    if (fixture.is_first()) write_words(fixture.directory / "empty", 0);
    fixture.barrier();
    const Session session =
        must_open_session(fixture.runtime.open_file(fixture.directory / "empty"), config.plan(4));
    EXPECT_EQ(session.extent(), (ByteRange{0, 0}));
    EXPECT_TRUE(session.views().is_done());
    EXPECT_EQ(*read_at(session, {0, 0}), 0U);
    EXPECT_EQ(error_class(read_at(session, {0, 1})), ErrorClass::kOutOfRange);
  });
}

// Invalid requests.

TEST_P(RanksSuite, extents_past_the_end_are_rejected_without_shifting_sessions) {
  for_each_read_config([](const Communicator& ranks, const ReadConfig& config) {
    RuntimeFixture fixture(ranks);
    const auto file = fixture.runtime.open_file(fixture.path());
    for (const Extent extent : {Extent{0, kFileBytes + 1}, Extent{kFileBytes, 1},
                                Extent{kFileBytes + 1, kAll}, Extent{UINT64_MAX, 1}}) {
      const auto session = file->read_session(extent, config.plan(4));
      ASSERT_EQ(error_class(session), ErrorClass::kOutOfRange);
      EXPECT_EQ(session.error().path(), fixture.path());
      EXPECT_TRUE(message_contains(session.error(), std::to_string(kFileBytes)));
    }
    const Session session = must_open_session(file, config.plan(4), {100, 5000});
    EXPECT_EQ(broadcast_value(fixture.ranks, session.handle(), fixture.last()), session.handle());
    EXPECT_TRUE(reads_words(session, {100, 5000}));
    for (const ByteRange outside : {ByteRange{99, 1}, ByteRange{5100, 1}, ByteRange{5099, 2}})
      EXPECT_EQ(error_class(read_at(session, outside)), ErrorClass::kOutOfRange);
  });
}

TEST_P(RanksSuite, empty_requests_are_complete_at_any_offset) {
  for_each_read_config([](const Communicator& ranks, const ReadConfig& config) {
    RuntimeFixture fixture(ranks);
    const Session session =
        must_open_session(fixture.runtime.open_file(fixture.path()), config.plan(4));
    for (const std::uint64_t at :
         {std::uint64_t{0}, std::uint64_t{77}, kSplinterBytes, kFileBytes}) {
      EXPECT_EQ(*read_at(session, {at, 0}), 0U);
      const auto view = result_of(session.view({at, 0}));
      ASSERT_TRUE(view) << view.error().message();
      EXPECT_TRUE(view->bytes().empty());
    }
    EXPECT_EQ(*result_of(session.read(std::vector<ByteRange>(3), std::span<std::byte>())), 0U);
    EXPECT_EQ(session.report().bytes_served, 0U);
  });
}

TEST_P(RanksSuite, invalid_plans_are_rejected_by_name_on_each_rank) {
  for_each_read_config([](const Communicator& ranks, const ReadConfig& config) {
    RuntimeFixture fixture(ranks);
    const auto file = fixture.runtime.open_file(fixture.path());
    ReadPlan small_budget = config.plan(1);
    small_budget.budget_bytes = kSplinterBytes - 1;
    ReadPlan odd_splinter = config.plan(4);
    odd_splinter.tuning.splinter_bytes = 5000;
    const auto refused = file->read_session({}, small_budget);
    ASSERT_EQ(error_class(refused), ErrorClass::kInvalidArgument);
    EXPECT_TRUE(message_contains(refused.error(), "budget_bytes")) << refused.error().message();
    EXPECT_EQ(refused.error().path(), fixture.path());
    const auto odd = file->read_session({}, odd_splinter);
    ASSERT_EQ(error_class(odd), ErrorClass::kInvalidArgument);
    EXPECT_TRUE(message_contains(odd.error(), "splinter_bytes")) << odd.error().message();
    EXPECT_TRUE(reads_words(must_open_session(file, config.plan(1)), kWhole));
  });
}

/// Invalid plans, each for another reason.
std::vector<ReadPlan> bad_plans(const ReadConfig& config) {
  std::vector<ReadPlan> plans(3, config.plan(8));
  plans[0].tuning.splinter_bytes = 5000;
  plans[1].budget_bytes = kSplinterBytes - 1;
  plans[2].tuning.splinter_bytes = 64 * kSplinterBytes;  // more than its budget
  return plans;
}

// Before, if one agent read for a node, only the plan of the first rank was checked: whether a
// mistake was reported depended on the order of ranks.
TEST_P(RanksSuite, invalid_plan_is_rejected_although_others_have_the_session) {
  for_each_read_config([](const Communicator& ranks, const ReadConfig& config) {
    if (ranks->size() == 1) return;
    RuntimeFixture fixture(ranks);
    const auto file = fixture.runtime.open_file(fixture.path());
    const bool is_wrong = fixture.runtime.rank() == fixture.last();
    for (const ReadPlan& bad : bad_plans(config)) {
      std::optional<Session> session;
      if (!is_wrong) session = must_open_session(file, config.plan(8));
      fixture.barrier();
      if (is_wrong) {
        const auto refused = file->read_session({}, bad);
        ASSERT_EQ(error_class(refused), ErrorClass::kInvalidArgument);
        EXPECT_EQ(refused.error().path(), fixture.path());
        // The same rank alone, with the same mistake.
        Runtime other(test_options());
        const auto alone = other.open_file(fixture.path())->read_session({}, bad);
        EXPECT_EQ(refused.error().message(), alone.error().message());
      }
      fixture.barrier();
      if (session) {
        EXPECT_TRUE(reads_words(*session, kWhole));
      }
    }
    const Session after = must_open_session(file, config.plan(8));
    EXPECT_EQ(broadcast_value(fixture.ranks, after.handle(), 0), after.handle());
    EXPECT_TRUE(reads_words(after, kWhole));
  });
}

TEST_P(RanksSuite, first_plan_of_a_node_is_in_force_and_all_ranks_get_it) {
  for_each_read_config([](const Communicator& ranks, const ReadConfig& config) {
    RuntimeFixture fixture(ranks);
    const auto file = fixture.runtime.open_file(fixture.path());
    ReadPlan other = config.plan(8);
    other.tuning.splinter_bytes = 2 * kSplinterBytes;
    other.eviction = EvictionPolicy::kLru;
    std::optional<Session> session;
    if (fixture.is_first()) session = must_open_session(file, config.plan(16, 4));
    fixture.barrier();
    if (!session) session = must_open_session(file, other);
    const bool shares = session->plan().tuning.agent_scope == AgentScope::kPerNode;
    const bool has_its_own = !fixture.is_first() && !shares;
    EXPECT_EQ(session->plan().tuning.splinter_bytes,
              has_its_own ? 2 * kSplinterBytes : kSplinterBytes);
    EXPECT_EQ(session->plan().budget_bytes, (has_its_own ? 8 : 16) * kSplinterBytes);
    EXPECT_EQ(*session->plan().readahead_bytes, (has_its_own ? 0 : 4) * kSplinterBytes);
    EXPECT_EQ(session->plan().eviction,
              has_its_own ? EvictionPolicy::kLru : EvictionPolicy::kReadOnce);
    EXPECT_TRUE(reads_words(*session, kWhole));
    fixture.barrier();
  });
}

TEST_P(RanksSuite, used_up_budget_is_a_limit_and_is_returned) {
  for_each_read_config([](const Communicator& ranks, const ReadConfig& config) {
    constexpr int kSessions = 4;
    RuntimeFixture fixture(ranks, {.budget_bytes = kSessions * 16 * kSplinterBytes});
    const auto file = fixture.runtime.open_file(fixture.path());
    std::vector<Session> sessions;
    for (int i = 0; i < kSessions; ++i)
      sessions.push_back(must_open_session(file, config.plan(16)));
    const auto refused = file->read_session({}, config.plan(16));
    ASSERT_EQ(error_class(refused), ErrorClass::kLimit);
    EXPECT_TRUE(message_contains(refused.error(), "budget")) << refused.error().message();
    EXPECT_EQ(refused.error().path(), fixture.path());
    for (const Session& session : sessions)
      EXPECT_TRUE(reads_words(session, kWhole));
    fixture.barrier();
    sessions.pop_back();
    const auto again = open_on_all_ranks(fixture, *file, config.plan(16));
    ASSERT_TRUE(again);
    EXPECT_TRUE(reads_words(*again, kWhole));
  });
}

// Valid requests in difficult situations.

TEST_P(RanksSuite, sessions_on_one_file_are_independent) {
  for_each_read_config([](const Communicator& ranks, const ReadConfig& config) {
    RuntimeFixture fixture(ranks);
    const auto file = fixture.runtime.open_file(fixture.path());
    const Session all_of_it = must_open_session(file, config.plan(8));
    const Session same = must_open_session(file, config.plan(4, 4));
    const Session part =
        must_open_session(file, config.plan(2), {kSplinterBytes + 1, 7 * kSplinterBytes});
    std::vector<std::byte> into(kFileBytes);
    auto future = all_of_it.read(0, std::span(into));
    EXPECT_TRUE(reads_words(part, {kSplinterBytes + 1, 7 * kSplinterBytes}));
    EXPECT_TRUE(reads_words(same, kWhole));
    EXPECT_EQ(error_class(read_at(part, {0, 1})), ErrorClass::kOutOfRange);
    ASSERT_TRUE(result_of(future));
    EXPECT_TRUE(is_words(into, 0));
  });
}

TEST_P(RanksSuite, each_rank_reads_a_file_larger_than_the_window_in_its_own_order) {
  for_each_read_config([](const Communicator& ranks, const ReadConfig& config) {
    constexpr std::uint64_t kPieces = 61;
    constexpr std::uint64_t kPiece = kFileBytes / kPieces;
    RuntimeFixture fixture(ranks);
    const Session session =
        must_open_session(fixture.runtime.open_file(fixture.path()), config.plan(8, 2));
    const std::uint64_t step = 1 + fixture.runtime.rank() * 5 % (kPieces - 1);
    for (std::uint64_t i = 0; i < kPieces; ++i)
      EXPECT_TRUE(reads_words(session, {i * step % kPieces * kPiece, kPiece}));
    EXPECT_EQ(session.report().bytes_served, kPieces * kPiece);
    EXPECT_LE(session.report().window_bytes, 8 * kSplinterBytes);
  });
}

TEST_P(RanksSuite, held_views_do_not_block_other_ranks) {
  for_each_read_config([](const Communicator& ranks, const ReadConfig& config) {
    constexpr std::uint64_t kSlots = 4;
    RuntimeFixture fixture(ranks);
    const Session session =
        must_open_session(fixture.runtime.open_file(fixture.path()), config.plan(kSlots));
    std::vector<View> held;
    if (fixture.is_first()) {
      for (std::uint64_t i = 0; i < kSlots; ++i)
        held.push_back(result_of(session.view({i * kSplinterBytes, kSplinterBytes})).value());
    }
    fixture.barrier();
    EXPECT_TRUE(reads_words(session, kWhole));
    fixture.barrier();
    for (const View& view : held)
      EXPECT_TRUE(is_words(view.bytes(), view.range().offset));
    held.clear();
    EXPECT_TRUE(read::wait_until([&] {
      const auto view = result_of(session.view({20 * kSplinterBytes, kSplinterBytes}));
      return view && !view->is_copy();
    })) << "released memory is reused";
    fixture.barrier();
  });
}

TEST_P(RanksSuite, dropped_requests_do_not_touch_reused_memory) {
  for_each_read_config([](const Communicator& ranks, const ReadConfig& config) {
    constexpr std::uint64_t kPiece = 3 * kSplinterBytes + 5;
    constexpr std::byte kOther{0x5A};
    RuntimeFixture fixture(ranks);
    const Session session =
        must_open_session(fixture.runtime.open_file(fixture.path()), config.plan(8, 4));
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
