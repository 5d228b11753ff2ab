// SPDX-License-Identifier: Apache-2.0
// The coordinator alone: what it is told in which order, and whom it tells what.
#include "write/coordinator.hpp"

#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/testing.hpp"
#include "comm/error_bytes.hpp"
#include "write/contested_blocks.hpp"
#include "write/fence.hpp"
#include "write/role_testing.hpp"

namespace forebay::write {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;
using ::testing::HasSubstr;
using ::testing::Not;
using Steps = std::vector<std::uint64_t>;

constexpr milliseconds kDeadline{5000};

/// Each step is alone in its group.
/// Each rank writes a file of its own.
WritePlan plan(std::uint32_t keep = 0) {
  WritePlan plan{.strategy = Strategy::kFilePerProcess};
  plan.steps_in_flight = 4;
  plan.steps_per_group = 1;
  plan.keep = keep;
  plan.deadline = kDeadline;
  return plan;
}

std::vector<format::FieldDefinition> fields(ElementType type = ElementType::kFloat64) {
  return {{.name = "density", .type = type}};
}

/// What all ranks were told of a step.
struct Outcome {
  std::uint64_t step = 0;
  StepFate fate = StepFate::kFailed;
  std::set<std::uint32_t> told;
  std::string failure;  ///< empty: published
};

class CoordinatorAlone : public ::testing::Test {
 protected:
  void start(std::uint32_t ranks, const WritePlan& wanted = plan()) {
    context_ = std::make_unique<TestContext>(crew_of(ranks), wanted, 0);
    auto publisher = Publisher::open(folder_.path());
    ASSERT_TRUE(publisher) << publisher.error().message();
    publisher_ = std::move(*publisher);
    auto lease = Lease::acquire(folder_.path());
    ASSERT_TRUE(lease) << lease.error().message();
    lease_ = std::move(*lease);
    coordinator_ = std::make_unique<Coordinator>(*context_, publisher_, *lease_, first_group_);
  }
  void announce(std::uint32_t rank, std::uint64_t number) {
    coordinator_->announced({rank}, step(number), fields());
  }
  void seal(std::uint32_t rank, std::uint64_t number) {
    const SealedLetter letter{.step = step(number),
                              .file = rank,
                              .parts = 1,
                              .index = {.offset = 4096, .bytes = 200, .checksum = number}};
    coordinator_->sealed({rank}, letter);
  }
  /// Its file has two parts from this one on; the letter comes in pieces.
  void claim(std::uint32_t rank, std::uint64_t number, std::uint64_t first_part) {
    const RankStep record = rank_step_of(number, first_part, 2);
    const comm::Bytes claims = to_bytes(claims_of({&record, 1}, {&rank, 1}));
    const auto piece = std::span(claims);
    EXPECT_TRUE(coordinator_->claimed(step(number), rank, piece.first(20), piece.size()));
    EXPECT_TRUE(coordinator_->claimed(step(number), rank, piece.subspan(20), piece.size()));
  }
  void complete(std::uint64_t number) {
    for (std::uint32_t rank = 0; rank < context_->rank_count(); ++rank) {
      announce(rank, number);
      seal(rank, number);
    }
  }
  /// The folder is synced, and what follows from that is done.
  bool sync_folder(const Status& status = {}) {
    return context_->answer(LaneCall::kSyncFolder, status);
  }

  std::vector<Outcome> outcomes() {
    std::vector<Outcome> found;
    for (const Sent& letter : context_->take(LetterKind::kResolved)) {
      const auto fate = static_cast<StepFate>(letter.words[2]);
      const bool is_new = found.empty() || found.back().step != letter.words[0];
      if (is_new) found.push_back({.step = letter.words[0], .told = {}, .failure = {}});
      found.back().told.insert(letter.to);
      found.back().fate = fate;
      if (fate != StepFate::kPublished)
        found.back().failure = comm::error_from(letter.payload).value().message();
    }
    return found;
  }
  /// The only one, of which all ranks were told.
  Outcome outcome() {
    const auto found = outcomes();
    EXPECT_EQ(found.size(), 1U);
    if (found.empty()) return {};
    EXPECT_EQ(found.front().told.size(), context_->rank_count());
    return found.front();
  }
  Steps published() const {
    Steps steps;
    for (const format::StepEntry& entry : publisher_->steps())
      steps.push_back(entry.step);
    return steps;
  }

  const TemporaryFolder folder_;
  std::unique_ptr<TestContext> context_;
  std::shared_ptr<Publisher> publisher_;
  std::unique_ptr<Lease> lease_;
  std::uint64_t first_group_ = 0;
  std::unique_ptr<Coordinator> coordinator_;
};

TEST_F(CoordinatorAlone, claims_beyond_their_announced_size_or_after_the_seal_are_refused) {
  start(3);
  const comm::Bytes piece(100);
  EXPECT_TRUE(coordinator_->claimed(step(1), 1, piece, 100));
  EXPECT_FALSE(coordinator_->claimed(step(1), 1, piece, 100));
  EXPECT_FALSE(coordinator_->claimed(step(1), 1, piece, 300));
  seal(2, 1);
  EXPECT_FALSE(coordinator_->claimed(step(1), 2, piece, 100));
}

TEST_F(CoordinatorAlone, publishes_a_step_in_whatever_order_letters_come) {
  start(3);
  std::vector<std::uint32_t> order{0, 1, 2, 3, 4, 5};  // 3, 4, 5: the files of 0, 1, 2
  std::uint64_t number = 0;
  do {
    ++number;
    for (const std::uint32_t letter : order) {
      ASSERT_FALSE(sync_folder()) << "before all letters of step " << number;
      if (letter < 3) announce(letter, number);
      if (letter >= 3) seal(letter - 3, number);
    }
    ASSERT_TRUE(sync_folder());
    const Outcome told = outcome();
    ASSERT_EQ(told.step, number);
    ASSERT_EQ(told.failure, "");
  } while (std::ranges::next_permutation(order).found);
  EXPECT_EQ(number, 720U);
  EXPECT_EQ(published().size(), 720U);
}

TEST_F(CoordinatorAlone, a_part_in_two_files_fails_the_step_and_names_both_ranks) {
  start(3);
  complete(1);
  ASSERT_TRUE(sync_folder());
  EXPECT_EQ(outcome().failure, "");
  for (const std::uint64_t number : {2U, 3U}) {
    for (std::uint32_t rank = 0; rank < 3; ++rank)
      claim(rank, number, number == 2 && rank == 2 ? 1 : 10 * rank);
    complete(number);
    ASSERT_TRUE(sync_folder());
    const Outcome told = outcome();
    EXPECT_EQ(told.failure, number == 3 ? ""
                                        : "rank 2: write step 2 run.fb: part 1 of field density "
                                          "was put by ranks 0 and 2");
    EXPECT_EQ(told.fate, number == 3 ? StepFate::kPublished : StepFate::kFailed);
  }
  EXPECT_EQ(published(), (Steps{1, 3}));
}

TEST_F(CoordinatorAlone, publishes_after_the_folder_is_durable_and_not_before) {
  start(2);
  complete(1);
  context_->settle();
  EXPECT_EQ(published(), Steps{});
  EXPECT_TRUE(outcomes().empty());
  EXPECT_TRUE(sync_folder());
  EXPECT_EQ(published(), Steps{1});
  EXPECT_EQ(outcome().failure, "");
}

TEST_F(CoordinatorAlone, a_folder_that_is_not_durable_fails_the_step_and_the_next_one_goes_on) {
  start(2);
  complete(1);
  EXPECT_TRUE(sync_folder(failed("the disk is gone")));
  EXPECT_THAT(outcome().failure, HasSubstr("the disk is gone"));
  complete(2);
  EXPECT_TRUE(sync_folder());
  EXPECT_EQ(outcome().step, 2U);
  EXPECT_EQ(published(), Steps{2});
}

TEST_F(CoordinatorAlone, one_failure_skips_the_step_for_all_with_rank_and_cause) {
  start(3);
  announce(0, 1);
  seal(0, 1);
  coordinator_->failed({2}, step(1), broken("a bad place"));
  const Outcome told = outcome();
  EXPECT_EQ(told.step, 1U);
  EXPECT_THAT(told.failure, HasSubstr("a bad place"));
  EXPECT_THAT(told.failure, HasSubstr("rank 2"));
  // What comes too late changes nothing, and is told to nobody.
  complete(1);
  coordinator_->failed({1}, step(1), broken("another"));
  EXPECT_FALSE(sync_folder());
  EXPECT_TRUE(outcomes().empty());
  complete(2);
  EXPECT_TRUE(sync_folder());
  EXPECT_EQ(published(), Steps{2});
}

TEST_F(CoordinatorAlone, a_failure_that_is_told_after_a_step_was_published_changes_nothing) {
  start(2);
  complete(1);
  EXPECT_TRUE(sync_folder());
  EXPECT_EQ(outcome().failure, "");
  coordinator_->failed({1}, step(1), broken("a rank has left"));
  EXPECT_TRUE(outcomes().empty());
  EXPECT_EQ(coordinator_->due(), std::nullopt);
  EXPECT_EQ(published(), Steps{1});
}

TEST_F(CoordinatorAlone, a_failure_while_a_step_is_published_is_too_late) {
  start(2);
  complete(1);
  coordinator_->failed({1}, step(1), broken("too late"));
  EXPECT_TRUE(outcomes().empty());
  EXPECT_TRUE(sync_folder());
  EXPECT_EQ(outcome().failure, "");
}

TEST_F(CoordinatorAlone, a_field_of_another_type_is_told_with_both_ranks) {
  start(3);
  announce(1, 1);
  coordinator_->announced({2}, step(1), fields(ElementType::kFloat32));
  const Outcome told = outcome();
  EXPECT_THAT(told.failure, HasSubstr("rank 2"));
  EXPECT_THAT(told.failure, HasSubstr("float64"));
  EXPECT_THAT(told.failure, HasSubstr("on rank 1"));
}

TEST_F(CoordinatorAlone, the_deadline_begins_with_the_first_letter_and_names_who_is_missing) {
  start(3);
  EXPECT_EQ(coordinator_->due(), std::nullopt);
  const auto before = steady_clock::now();
  announce(0, 1);
  seal(0, 1);
  announce(2, 1);
  const auto due = coordinator_->due();
  ASSERT_TRUE(due.has_value());
  EXPECT_GE(*due, before + kDeadline);
  EXPECT_LE(*due, steady_clock::now() + kDeadline);
  coordinator_->tick(*due - milliseconds(1));
  EXPECT_TRUE(outcomes().empty());
  coordinator_->tick(*due);
  EXPECT_THAT(outcome().failure, HasSubstr("ranks that have not committed it: 1"));
  EXPECT_EQ(coordinator_->due(), std::nullopt);
}

TEST_F(CoordinatorAlone, the_deadline_names_the_owners_whose_files_are_not_durable) {
  start(3);
  for (std::uint32_t rank = 0; rank < 3; ++rank)
    announce(rank, 1);
  seal(1, 1);
  coordinator_->tick(steady_clock::now() + 2 * kDeadline);
  EXPECT_THAT(outcome().failure, HasSubstr("not durable yet of ranks 0, 2"));
}

TEST_F(CoordinatorAlone, owners_of_late_files_are_asked_whose_bytes_they_miss) {
  start(3);
  announce(0, 1);
  announce(1, 1);
  seal(1, 1);
  const auto deadline = coordinator_->due();
  announce(2, 1);
  const auto asking = coordinator_->due();
  ASSERT_TRUE(deadline && asking);
  EXPECT_EQ(*deadline - *asking, kDeadline / 4);
  coordinator_->tick(*asking - milliseconds(1));
  EXPECT_TRUE(context_->take(LetterKind::kAskMissing).empty());
  coordinator_->tick(*asking);
  const auto asked = context_->take(LetterKind::kAskMissing);
  ASSERT_EQ(asked.size(), 2U);
  EXPECT_EQ(asked[0].to, 0U);
  EXPECT_EQ(asked[1].to, 2U);
  EXPECT_EQ(coordinator_->due(), deadline) << "once is enough";
  coordinator_->missing(step(1), 2, {1, 2});
  coordinator_->missing(step(1), 2, {2});  // the bytes of 1 have come since
  coordinator_->missing(step(1), 0, {0});
  coordinator_->missing(step(1), 1, {1});  // and its file was sealed before
  coordinator_->missing(step(7), 0, {1});  // nobody knows of such a step
  coordinator_->tick(*deadline);
  const std::string why = outcome().failure;
  EXPECT_THAT(why, HasSubstr("not durable yet of ranks 0, 2"));
  EXPECT_THAT(why, HasSubstr("not written and hashed yet are of ranks 0, 2"));
}

TEST_F(CoordinatorAlone, the_index_is_late_when_owners_have_all_bytes) {
  start(2);
  announce(0, 1);
  announce(1, 1);
  coordinator_->tick(*coordinator_->due());
  coordinator_->missing(step(1), 0, {});
  coordinator_->missing(step(1), 1, {});
  coordinator_->tick(*coordinator_->due());
  EXPECT_THAT(outcome().failure, HasSubstr("what is late is their index or its sync"));
}

TEST_F(CoordinatorAlone, an_owner_that_does_not_answer_is_no_proof_that_all_bytes_are_there) {
  start(2);
  announce(0, 1);
  announce(1, 1);
  coordinator_->tick(*coordinator_->due());
  coordinator_->missing(step(1), 0, {});
  coordinator_->tick(*coordinator_->due());
  EXPECT_THAT(outcome().failure, Not(HasSubstr("sync")));
}

TEST_F(CoordinatorAlone, a_step_that_is_being_published_has_no_deadline) {
  start(2);
  complete(1);
  EXPECT_EQ(coordinator_->due(), std::nullopt);
  coordinator_->tick(steady_clock::now() + 2 * kDeadline);
  EXPECT_TRUE(outcomes().empty());
  EXPECT_TRUE(sync_folder());
  EXPECT_EQ(outcome().failure, "");
}

TEST_F(CoordinatorAlone, a_younger_step_that_is_done_first_waits_for_the_older_one) {
  start(2);
  announce(0, 1);
  complete(2);
  EXPECT_FALSE(sync_folder());
  seal(0, 1);
  announce(1, 1);
  seal(1, 1);
  EXPECT_TRUE(sync_folder());
  EXPECT_EQ(published(), Steps{1});
  EXPECT_TRUE(sync_folder()) << "step 2 follows at once";
  EXPECT_EQ(published(), (Steps{1, 2}));
  const auto told = outcomes();
  ASSERT_EQ(told.size(), 2U);
  EXPECT_EQ(told[0].step, 1U);
  EXPECT_EQ(told[1].step, 2U);
}

TEST_F(CoordinatorAlone, a_younger_step_is_published_when_the_older_one_is_given_up) {
  start(2);
  announce(0, 1);
  complete(2);
  coordinator_->tick(*coordinator_->due());
  EXPECT_NE(outcome().failure, "");
  EXPECT_TRUE(sync_folder());
  EXPECT_EQ(published(), Steps{2});
  EXPECT_EQ(outcome().failure, "");
}

TEST_F(CoordinatorAlone, drops_old_steps_only_after_the_new_one_is_published) {
  start(2, plan(1));
  complete(1);
  EXPECT_TRUE(sync_folder());
  complete(2);
  context_->settle();
  EXPECT_EQ(published(), Steps{1});
  EXPECT_TRUE(context_->take(LetterKind::kPruned).empty());
  EXPECT_TRUE(sync_folder());
  EXPECT_EQ(published(), Steps{2});
  const auto pruned = context_->take(LetterKind::kPruned);
  ASSERT_EQ(pruned.size(), 2U);
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    EXPECT_EQ(pruned[rank].to, rank);
    EXPECT_EQ(pruned[rank].words[0], 1U) << "the group";
    EXPECT_EQ(pruned[rank].words[1], rank) << "the file";
  }
}

TEST_F(CoordinatorAlone, keeps_old_steps_when_the_new_one_could_not_be_published) {
  start(2, plan(1));
  complete(1);
  EXPECT_TRUE(sync_folder());
  complete(2);
  EXPECT_TRUE(sync_folder(failed("the disk is gone")));
  EXPECT_EQ(published(), Steps{1});
  EXPECT_TRUE(context_->take(LetterKind::kPruned).empty());
}

TEST_F(CoordinatorAlone, keeps_all_old_steps_when_the_slot_could_not_be_written) {
  start(2, plan(1));
  for (const std::uint64_t old : {10U, 11U, 12U})
    ASSERT_TRUE(publisher_->publish({.step = old, .group = old, .files = {{.file = 0}}}));
  complete(5);  // does not rise, so the publisher refuses it
  EXPECT_TRUE(sync_folder());
  EXPECT_EQ(published(), (Steps{10, 11, 12}));
}

TEST_F(CoordinatorAlone, publishes_nothing_more_when_somebody_else_has_the_lease) {
  start(2, plan(1));
  complete(1);
  EXPECT_TRUE(sync_folder());
  EXPECT_EQ(outcome().failure, "");
  std::filesystem::remove(folder_ / "owner");
  auto thief = Lease::acquire(folder_.path());
  ASSERT_TRUE(thief) << thief.error().message();
  complete(2);
  EXPECT_TRUE(sync_folder());
  EXPECT_NE(outcome().failure, "");
  EXPECT_EQ(published(), Steps{1});
  EXPECT_TRUE(context_->take(LetterKind::kPruned).empty());
}

// It was stopped after it had looked for its lease, and woke when somebody else had all in hand.
TEST_F(CoordinatorAlone, a_step_that_a_follower_may_have_found_is_told_as_that) {
  start(2, plan(1));
  complete(1);
  EXPECT_TRUE(sync_folder());
  EXPECT_EQ(outcome().fate, StepFate::kPublished);
  ASSERT_TRUE(fence_commits(folder_.path()));
  complete(2);
  EXPECT_TRUE(sync_folder());
  const Outcome told = outcome();
  EXPECT_EQ(told.fate, StepFate::kUnknown);
  EXPECT_THAT(told.failure, HasSubstr("somebody else writes the dataset now"));
  EXPECT_TRUE(context_->take(LetterKind::kPruned).empty());
}

TEST_F(CoordinatorAlone, tells_who_has_the_lease_where_files_have_gone) {
  start(2, plan(1));
  coordinator_->failed({1}, step(1), broken("no such file", ENOENT));
  context_->settle();
  EXPECT_THAT(outcome().failure, HasSubstr("no such file"));
  std::filesystem::remove(folder_ / "owner");
  auto thief = Lease::acquire(folder_.path());
  ASSERT_TRUE(thief) << thief.error().message();
  coordinator_->failed({1}, step(2), broken("no such file", ENOENT));
  context_->settle();
  EXPECT_THAT(outcome().failure, HasSubstr("owner"));
}

TEST_F(CoordinatorAlone, files_of_more_writers_than_there_are_now_are_removed) {
  start(2, plan(1));
  format::StepEntry entry{.step = 1, .group = 1};
  for (std::uint32_t file = 0; file < 3; ++file)
    entry.files.push_back({file, {.offset = 4096, .bytes = 200, .checksum = 1}});
  ASSERT_TRUE(publisher_->publish(entry));
  complete(2);
  EXPECT_TRUE(sync_folder());
  EXPECT_EQ(context_->take(LetterKind::kPruned).size(), 2U);
  const auto removed = context_->asked(LaneCall::kRemove);
  ASSERT_EQ(removed.size(), 1U);
  EXPECT_EQ(removed[0].name, (format::DataFileName{1, 2}));
}

// Who was taken for dead and goes on wrote into the file of a later step, and cut it.
TEST_F(CoordinatorAlone, files_of_a_former_writer_are_removed_and_serve_nobody) {
  first_group_ = 2;
  start(2, plan(1));
  format::StepEntry entry{.step = 1, .group = 1};
  entry.files.push_back({0, {.offset = 4096, .bytes = 200, .checksum = 1}});
  ASSERT_TRUE(publisher_->publish(entry));
  complete(2);
  EXPECT_TRUE(sync_folder());
  EXPECT_TRUE(context_->take(LetterKind::kPruned).empty());
  const auto removed = context_->asked(LaneCall::kRemove);
  ASSERT_EQ(removed.size(), 1U);
  EXPECT_EQ(removed[0].name, (format::DataFileName{1, 0}));
}

TEST_F(CoordinatorAlone, a_rank_that_has_left_fails_the_steps_that_it_did_not_commit) {
  start(3);
  complete(1);
  announce(0, 2);
  coordinator_->leave({2});
  const Outcome told = outcome();
  EXPECT_EQ(told.step, 2U);
  EXPECT_THAT(told.failure, HasSubstr("has closed the dataset before this step"));
  EXPECT_THAT(told.failure, HasSubstr("rank 2"));
  EXPECT_TRUE(sync_folder());
  EXPECT_EQ(published(), Steps{1}) << "which it had committed";
  outcomes();
  announce(0, 3);
  EXPECT_EQ(outcome().step, 3U) << "at once";
}

TEST_F(CoordinatorAlone, says_that_all_have_left_once_and_after_the_last_step) {
  start(2);
  complete(1);
  coordinator_->leave({0});
  coordinator_->leave({1});
  EXPECT_TRUE(context_->take(LetterKind::kAllLeft).empty());
  EXPECT_TRUE(sync_folder());
  coordinator_->leave({1});
  const auto told = context_->take(LetterKind::kAllLeft);
  ASSERT_EQ(told.size(), 2U);
  EXPECT_EQ(told[0].to, 0U);
  EXPECT_EQ(told[1].to, 1U);
}

TEST_F(CoordinatorAlone, a_lost_rank_fails_what_needs_it_and_what_it_was_done_with_stays) {
  start(3);
  announce(1, 1);
  seal(1, 1);
  announce(1, 2);  // its file is not durable
  announce(0, 3);  // not committed by it
  coordinator_->lost({1}, broken("the connection has ended"));
  const auto gone = context_->take(LetterKind::kGone);
  ASSERT_EQ(gone.size(), 2U);
  EXPECT_EQ(gone[0].to, 0U);
  EXPECT_EQ(gone[1].to, 2U);
  EXPECT_EQ(gone[0].words[0], 1U);
  const auto told = outcomes();
  ASSERT_EQ(told.size(), 2U);
  for (const Outcome& one : told) {
    EXPECT_THAT(one.failure, HasSubstr("the connection has ended"));
    EXPECT_EQ(one.told, (std::set<std::uint32_t>{0, 2})) << "nobody writes to who is lost";
  }
  EXPECT_EQ(told[0].step, 2U);
  EXPECT_EQ(told[1].step, 3U);
  for (const std::uint32_t rank : {0U, 2U}) {
    announce(rank, 1);
    seal(rank, 1);
  }
  EXPECT_TRUE(sync_folder());
  EXPECT_EQ(published(), Steps{1});
}

TEST_F(CoordinatorAlone, later_steps_fail_at_once_when_a_rank_is_lost) {
  start(2);
  coordinator_->lost({1}, broken("killed"));
  context_->take(LetterKind::kGone);
  announce(0, 1);
  const auto told = outcomes();
  ASSERT_EQ(told.size(), 1U);
  EXPECT_THAT(told[0].failure, HasSubstr("killed"));
  coordinator_->leave({0});
  EXPECT_EQ(context_->take_one(LetterKind::kAllLeft).to, 0U);
}

}  // namespace
}  // namespace forebay::write
