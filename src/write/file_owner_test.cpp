// SPDX-License-Identifier: Apache-2.0
// The owner of a file alone: places, turns, and the index that closes a step.
#include "write/file_owner.hpp"

#include <algorithm>
#include <chrono>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/testing.hpp"
#include "comm/error_bytes.hpp"
#include "format/box.hpp"
#include "write/contested_blocks.hpp"
#include "write/letter_bytes.hpp"
#include "write/role_testing.hpp"

namespace forebay::write {
namespace {

using format::kPageBytes;
using std::chrono::milliseconds;
using std::chrono::steady_clock;
using ::testing::HasSubstr;

constexpr std::uint64_t kAlignmentBytes = 64_KiB;
constexpr format::DatasetId kOwnedDataset{std::byte{3}};

StepName step_of_group(std::uint64_t number, std::uint64_t group) { return {number, group}; }

/// Three writers of one file, at any time.
WritePlan shared_file(std::uint32_t steps_per_group = 1) {
  WritePlan plan{.strategy = Strategy::kReducedBlocking, .writers = 3, .files = 1};
  plan.alignment_bytes = kAlignmentBytes;
  plan.steps_in_flight = 2;
  plan.steps_per_group = steps_per_group;
  return plan;
}

/// The same, one after the other.
WritePlan baton() {
  WritePlan plan{.strategy = Strategy::kBaton, .writers = 3, .files = 1};
  plan.steps_in_flight = 2;
  plan.steps_per_group = 1;
  return plan;
}

/// A place that was given: to whom, for which question, where.
struct Given {
  std::uint32_t to = 0;
  std::uint64_t question = 0;
  std::uint64_t offset = 0;

  friend bool operator==(const Given&, const Given&) = default;
};
using Places = std::vector<Given>;

/// A rank's part of step 1: a block of a global array of 16 x 8, which lies where no other one with
/// another first row does.
RankStep rank_block_of(const format::Place& start, const format::Place& count) {
  const std::uint64_t bytes = count[0] * count[1] * sizeof(double);
  RankStep record{.step = 1, .regions = bytes > 0 ? 1U : 0U, .raw_bytes = bytes};
  record.fields.push_back({.name = "pressure",
                           .type = ElementType::kFloat64,
                           .kind = format::FieldKind::kGlobal,
                           .dimensions = 2,
                           .shape = {16, 8}});
  record.blocks.push_back({.offset = kPageBytes * (1 + start[0]),
                           .raw_bytes = bytes,
                           .stored_bytes = bytes,
                           .region = bytes > 0 ? 0U : kNoRegion});
  record.extents = {start[0], start[1], count[0], count[1]};
  record.piece_checksums.resize(format::piece_count(bytes));
  return record;
}

class FileOwnerAlone : public ::testing::Test {
 protected:
  void start(const WritePlan& plan) {
    context_ = std::make_unique<TestContext>(crew_of(3), plan, 0);
    owner_ = std::make_unique<FileOwner>(*context_, FileOwner::Setup{kOwnedDataset, 1, 0});
    owner_->start();
  }
  void start_with_file(const WritePlan& plan) {
    start(plan);
    context_->answer_all(LaneCall::kCreate);
  }
  Places given() {
    Places places;
    for (const Sent& letter : context_->take(LetterKind::kPlace))
      places.push_back({letter.to, letter.words[0], letter.words[1]});
    return places;
  }
  /// With room before it for all that they have.
  void tell_parts(const StepName& name) {
    owner_->asked({0}, name, 0, 1_MiB);
    for (std::uint32_t rank = 0; rank < 3; ++rank)
      tell_part(rank, name, rank_step_of(name.step, rank * 10, 2));
    context_->settle();
  }
  void tell_part(std::uint32_t rank, const StepName& name, const RankStep& part) {
    const comm::Bytes bytes = to_bytes(part);
    owner_->part_came({rank}, name, bytes, bytes.size());
  }
  void publish(const StepName& name) { owner_->resolved(name, StepFate::kPublished, {}); }
  void fail(const StepName& name, const std::string& cause, int error_number = EIO) {
    owner_->resolved(name, StepFate::kFailed, failed(cause, error_number));
  }
  std::string failure() {
    const Sent letter = context_->take_one(LetterKind::kFailed);
    EXPECT_EQ(letter.to, Routes::coordinator());
    return letter.payload.empty() ? "" : comm::error_from(letter.payload).value().message();
  }
  /// Of the files that are removed.
  std::vector<std::uint64_t> removed_groups() const {
    std::vector<std::uint64_t> groups;
    for (const LaneRequest& request : context_->asked(LaneCall::kRemove))
      groups.push_back(request.name.group);
    return groups;
  }

  std::vector<LaneRequest> cut() const { return context_->asked(LaneCall::kCut); }

  std::unique_ptr<TestContext> context_;
  std::unique_ptr<FileOwner> owner_;
};

TEST_F(FileOwnerAlone, has_files_made_ahead_of_the_steps_that_need_them) {
  start(shared_file());
  const auto made = context_->asked(LaneCall::kCreate);
  ASSERT_EQ(made.size(), 2U);
  EXPECT_EQ(made[0].name, (format::DataFileName{1, 0}));
  EXPECT_EQ(made[1].name, (format::DataFileName{2, 0}));
  owner_->asked({1}, step_of_group(5, 2), 0, 100);
  EXPECT_EQ(context_->asked(LaneCall::kCreate).back().name, (format::DataFileName{3, 0}));
}

TEST_F(FileOwnerAlone, gives_places_in_the_order_of_arrival_at_multiples_of_the_alignment) {
  start_with_file(shared_file());
  owner_->asked({2}, step_of_group(1, 1), 7, 100);
  owner_->asked({0}, step_of_group(1, 1), 1, kAlignmentBytes);
  owner_->asked({1}, step_of_group(1, 1), 4, kAlignmentBytes + 1);
  owner_->asked({2}, step_of_group(1, 1), 8, 1);
  EXPECT_EQ(given(), (Places{{2, 7, kAlignmentBytes},
                             {0, 1, kAlignmentBytes + kAlignmentBytes},
                             {1, 4, kAlignmentBytes + 2 * kAlignmentBytes},
                             {2, 8, kAlignmentBytes + 4 * kAlignmentBytes}}));
}

TEST_F(FileOwnerAlone, questions_wait_for_the_file_and_keep_their_order) {
  start(shared_file());
  owner_->asked({2}, step_of_group(1, 1), 7, 100);
  owner_->asked({0}, step_of_group(1, 1), 1, 100);
  EXPECT_EQ(given(), Places{});
  context_->answer(LaneCall::kCreate);
  EXPECT_EQ(given(), (Places{{2, 7, kAlignmentBytes}, {0, 1, kAlignmentBytes + kAlignmentBytes}}));
}

TEST_F(FileOwnerAlone, steps_of_two_groups_have_files_of_their_own) {
  start_with_file(shared_file());
  owner_->asked({1}, step_of_group(1, 1), 0, 100);
  owner_->asked({1}, step_of_group(2, 2), 1, 100);
  EXPECT_EQ(given(), (Places{{1, 0, kAlignmentBytes}, {1, 1, kAlignmentBytes}}));
}

TEST_F(FileOwnerAlone, room_that_was_too_much_comes_back_unless_something_lies_behind_it) {
  start_with_file(shared_file());
  const std::uint64_t large = 4 * kAlignmentBytes;
  owner_->asked({0}, step_of_group(1, 1), 0, large);
  owner_->trim(1, {kAlignmentBytes, large}, 100);
  owner_->asked({1}, step_of_group(1, 1), 1, large);
  owner_->asked({2}, step_of_group(1, 1), 2, 100);
  owner_->trim(1, {kAlignmentBytes + kAlignmentBytes, large}, 100);
  owner_->asked({0}, step_of_group(1, 1), 3, 100);
  EXPECT_EQ(given(), (Places{{0, 0, kAlignmentBytes},
                             {1, 1, kAlignmentBytes + kAlignmentBytes},
                             {2, 2, kAlignmentBytes + 5 * kAlignmentBytes},
                             {0, 3, kAlignmentBytes + 6 * kAlignmentBytes}}));
}

TEST_F(FileOwnerAlone, a_file_that_cannot_be_made_fails_its_steps_and_no_other) {
  start(shared_file());
  owner_->asked({1}, step_of_group(1, 1), 0, 100);
  context_->answer(LaneCall::kCreate, failed("no room", ENOSPC));
  EXPECT_THAT(failure(), HasSubstr("no room"));
  EXPECT_EQ(given(), Places{});
  context_->answer(LaneCall::kCreate);
  owner_->asked({1}, step_of_group(2, 2), 1, 100);
  EXPECT_EQ(given().size(), 1U);
  EXPECT_TRUE(context_->take(LetterKind::kFailed).empty());
}

TEST_F(FileOwnerAlone, a_file_that_could_not_be_made_ahead_is_made_when_its_step_begins) {
  start(shared_file());
  context_->answer(LaneCall::kCreate);
  context_->answer(LaneCall::kCreate, failed("no room", ENOSPC));  // of the step before, too
  owner_->asked({1}, step_of_group(2, 2), 1, 100);
  EXPECT_TRUE(context_->take(LetterKind::kFailed).empty());
  EXPECT_TRUE(context_->answer(LaneCall::kCreate));
  EXPECT_EQ(given().size(), 1U);
}

TEST_F(FileOwnerAlone, regions_behind_an_index_are_aligned_too) {
  start_with_file(shared_file(2));
  tell_parts(step_of_group(1, 1));
  given();
  context_->answer(LaneCall::kWrite);
  owner_->asked({1}, step_of_group(2, 1), 5, 100);
  const Places places = given();
  ASSERT_EQ(places.size(), 1U);
  EXPECT_EQ(places[0].offset % kAlignmentBytes, 0U);
}

TEST_F(FileOwnerAlone, ranks_that_begin_different_steps_are_told_so) {
  start_with_file(shared_file());
  owner_->asked({0}, step_of_group(1, 1), 0, 100);
  owner_->asked({1}, step_of_group(2, 1), 0, 100);
  EXPECT_THAT(failure(), HasSubstr("ranks have begun different steps"));
  EXPECT_EQ(given().size(), 1U);
}

TEST_F(FileOwnerAlone, a_turn_of_the_baton_ends_before_the_next_one_begins) {
  start_with_file(baton());
  owner_->asked({1}, step_of_group(1, 1), 0, 100);
  owner_->asked({2}, step_of_group(1, 1), 0, 100);
  owner_->asked({0}, step_of_group(1, 1), 0, 100);
  owner_->asked({1}, step_of_group(1, 1), 1, 100);  // its turn: at once
  EXPECT_EQ(given(), (Places{{1, 0, kPageBytes}, {1, 1, 2 * kPageBytes}}));
  owner_->turn_over({2});  // it is not its turn
  EXPECT_EQ(given(), Places{});
  owner_->turn_over({1});
  EXPECT_EQ(given(), (Places{{2, 0, 3 * kPageBytes}}));
  owner_->turn_over({2});
  EXPECT_EQ(given(), (Places{{0, 0, 4 * kPageBytes}}));
}

TEST_F(FileOwnerAlone, who_comes_to_its_turn_gets_all_that_it_has_asked_for) {
  start_with_file(baton());
  owner_->asked({1}, step_of_group(1, 1), 0, 100);
  owner_->asked({2}, step_of_group(1, 1), 0, 100);
  owner_->asked({0}, step_of_group(1, 1), 0, 100);
  owner_->asked({2}, step_of_group(1, 1), 1, 100);
  given();
  owner_->turn_over({1});
  EXPECT_EQ(given(), (Places{{2, 0, 2 * kPageBytes}, {2, 1, 3 * kPageBytes}}));
}

TEST_F(FileOwnerAlone, a_silent_holder_loses_its_turn_when_its_lease_is_over) {
  start_with_file(baton());
  owner_->asked({1}, step_of_group(1, 1), 0, 100);
  EXPECT_EQ(owner_->due(), std::nullopt) << "nobody waits";
  owner_->asked({2}, step_of_group(1, 1), 0, 100);
  given();
  const auto due = owner_->due();
  ASSERT_TRUE(due.has_value());
  EXPECT_LE(*due, steady_clock::now() + kTurnLease);
  owner_->tick(*due - milliseconds(1));
  EXPECT_EQ(given(), Places{});
  owner_->tick(*due);
  EXPECT_EQ(given(), (Places{{2, 0, 2 * kPageBytes}}));
  owner_->turn_over({1});  // wakes up: it is the other one's turn
  owner_->asked({0}, step_of_group(1, 1), 0, 100);
  EXPECT_EQ(given(), Places{});
}

TEST_F(FileOwnerAlone, a_holder_that_gets_on_keeps_its_turn) {
  start_with_file(baton());
  owner_->asked({1}, step_of_group(1, 1), 0, 100);
  owner_->asked({2}, step_of_group(1, 1), 0, 100);
  given();
  const auto due = owner_->due();
  ASSERT_TRUE(due.has_value());
  while (steady_clock::now() <= *due - kTurnLease) {
  }
  owner_->still_writing({2});  // it is not its turn
  EXPECT_EQ(owner_->due(), due);
  owner_->still_writing({1});
  owner_->tick(*due);
  EXPECT_EQ(given(), Places{});
  EXPECT_GT(owner_->due(), due);
}

TEST_F(FileOwnerAlone, a_lost_holder_loses_its_turn_and_fails_its_step) {
  start_with_file(baton());
  owner_->asked({1}, step_of_group(1, 1), 0, 100);
  owner_->asked({2}, step_of_group(1, 1), 0, 100);
  given();
  owner_->gone({1}, broken("killed"));
  EXPECT_EQ(given(), (Places{{2, 0, 2 * kPageBytes}}));
  EXPECT_THAT(failure(), HasSubstr("killed"));
}

TEST_F(FileOwnerAlone, questions_of_a_failed_step_hold_up_no_turn) {
  start_with_file(baton());
  owner_->asked({1}, step_of_group(1, 1), 0, 100);
  owner_->asked({2}, step_of_group(1, 1), 0, 100);
  owner_->asked({0}, step_of_group(2, 2), 0, 100);
  given();
  fail(step_of_group(1, 1), "skipped");
  owner_->turn_over({1});
  EXPECT_EQ(given(), (Places{{0, 0, kPageBytes}}));
}

TEST_F(FileOwnerAlone, the_index_is_written_when_all_have_told_behind_everything_else) {
  start_with_file(shared_file());
  for (std::uint32_t rank = 0; rank < 3; ++rank)
    owner_->asked({rank}, step_of_group(1, 1), 0, 1600);
  for (std::uint32_t rank = 0; rank < 2; ++rank)
    tell_part(rank, step_of_group(1, 1), rank_step_of(1, rank * 10, 2));
  tell_part(1, step_of_group(1, 1), rank_step_of(1, 10, 2));  // told twice
  context_->settle();
  EXPECT_TRUE(context_->asked(LaneCall::kWrite).empty());
  tell_part(2, step_of_group(1, 1), rank_step_of(1, 20, 2));
  context_->settle();
  const auto written = context_->asked(LaneCall::kWrite);
  ASSERT_EQ(written.size(), 1U);
  EXPECT_EQ(written[0].offset, kAlignmentBytes + 3 * kAlignmentBytes);
  EXPECT_TRUE(context_->asked(LaneCall::kSeal).empty()) << "before the index is there";
  context_->answer(LaneCall::kWrite);
  EXPECT_TRUE(context_->take(LetterKind::kSealed).empty()) << "before it is durable";
  ASSERT_EQ(context_->asked(LaneCall::kSeal).size(), 1U);
  EXPECT_EQ(context_->asked(LaneCall::kSeal)[0].offset,
            written[0].offset + written[0].bytes.size());
  context_->answer(LaneCall::kSeal);
  const Sent sealed = context_->take_one(LetterKind::kSealed);
  const auto letter = sealed_from(sealed.payload).value();
  EXPECT_EQ(letter.step, step_of_group(1, 1));
  EXPECT_EQ(letter.parts, 3U);
  EXPECT_EQ(letter.index.offset, written[0].offset);
  EXPECT_EQ(letter.raw_bytes, 6U * 800);
}

TEST_F(FileOwnerAlone, claims_are_sent_before_a_file_is_sealed_if_the_step_has_several_files) {
  WritePlan plan = shared_file();
  for (const std::uint32_t files : {1U, 3U}) {
    plan.files = files;
    start_with_file(plan);
    owner_->asked({0}, step_of_group(1, 1), 0, 1600);
    for (std::uint32_t rank = 0; rank < 4 - files; ++rank)
      tell_part(rank, step_of_group(1, 1), rank_step_of(1, rank * 10, 2));
    context_->settle();
    const auto letters = context_->take(LetterKind::kClaims);
    ASSERT_EQ(letters.size(), files == 1 ? 0U : 1U);
    if (files == 1) continue;
    EXPECT_TRUE(context_->take(LetterKind::kSealed).empty());
    EXPECT_EQ(letters[0].to, Routes::coordinator());
    EXPECT_EQ(letters[0].words, (AgentContext::Words{1, 1, 0, letters[0].payload.size()}));
    const StepClaims claims = claims_from(letters[0].payload).value();
    ASSERT_EQ(claims.size(), 1U);
    EXPECT_EQ(claims[0].name, "density");
    ASSERT_EQ(claims[0].parts.size(), 1U);
    EXPECT_EQ(claims[0].parts[0].count, 2U);
  }
}

TEST_F(FileOwnerAlone, each_file_that_is_made_is_handed_to_the_writer_of_its_rank) {
  std::vector<std::uint64_t> groups;
  context_ = std::make_unique<TestContext>(crew_of(3), shared_file(), 0);
  const auto made = [&groups](std::uint64_t group, const std::shared_ptr<DataFile>& file) {
    EXPECT_NE(file, nullptr);
    groups.push_back(group);
  };
  owner_ = std::make_unique<FileOwner>(*context_, FileOwner::Setup{kOwnedDataset, 1, 0, made});
  owner_->start();
  context_->answer(LaneCall::kCreate);
  EXPECT_EQ(groups, std::vector<std::uint64_t>{1});
  context_->answer(LaneCall::kCreate, failed("no room", ENOSPC));
  EXPECT_EQ(groups, std::vector<std::uint64_t>{1});
}

TEST_F(FileOwnerAlone, a_part_that_comes_in_pieces_is_put_together) {
  start_with_file(shared_file());
  const StepName name = step_of_group(1, 1);
  owner_->asked({0}, name, 0, 1_MiB);
  tell_part(0, name, rank_step_of(1, 0, 2));
  tell_part(2, name, rank_step_of(1, 20, 2));
  const comm::Bytes bytes = to_bytes(rank_step_of(1, 10, 2));
  for (std::size_t at = 0; at < bytes.size(); at += 100) {
    context_->settle();
    EXPECT_TRUE(context_->asked(LaneCall::kWrite).empty());
    const std::size_t size = std::min<std::size_t>(100, bytes.size() - at);
    owner_->part_came({1}, name, std::span(bytes).subspan(at, size), bytes.size());
  }
  context_->settle();
  EXPECT_EQ(context_->asked(LaneCall::kWrite).size(), 1U);
}

TEST_F(FileOwnerAlone, whose_part_is_missing_is_told_when_asked_and_again_when_one_has_come) {
  start_with_file(shared_file());
  const StepName name = step_of_group(1, 1);
  const auto told = [this] {
    const Sent letter = context_->take_one(LetterKind::kMissing);
    EXPECT_EQ(letter.to, Routes::coordinator());
    EXPECT_EQ(letter.words[2], 0U) << "the file";
    return comm::list_from<std::uint32_t>("missing", letter.payload).value();
  };
  using Ranks = std::vector<std::uint32_t>;
  owner_->asked({0}, name, 0, 1_MiB);
  tell_part(1, name, rank_step_of(1, 10, 2));
  EXPECT_TRUE(context_->take(LetterKind::kMissing).empty()) << "nobody has asked";
  owner_->tell_missing(name);
  EXPECT_EQ(told(), (Ranks{0, 2}));
  tell_part(2, name, rank_step_of(1, 20, 2));
  EXPECT_EQ(told(), Ranks{0});
  tell_part(0, name, rank_step_of(1, 0, 2));
  EXPECT_EQ(told(), Ranks{});
  owner_->tell_missing(step_of_group(2, 2));
  EXPECT_EQ(told(), (Ranks{0, 1, 2})) << "of a step that nobody has begun";
  fail(step_of_group(2, 2), "skipped");
  owner_->tell_missing(step_of_group(2, 2));
  EXPECT_TRUE(context_->take(LetterKind::kMissing).empty());
}

TEST_F(FileOwnerAlone, parts_that_come_before_the_file_is_there_are_kept) {
  start(shared_file());
  for (std::uint32_t rank = 0; rank < 3; ++rank)
    tell_part(rank, step_of_group(1, 1), rank_step_of(1, rank * 10, 0));
  context_->settle();
  EXPECT_TRUE(context_->asked(LaneCall::kWrite).empty());
  context_->answer(LaneCall::kCreate);
  EXPECT_EQ(context_->asked(LaneCall::kWrite).size(), 1U);
}

TEST_F(FileOwnerAlone, a_file_of_several_steps_is_cut_to_its_length_with_the_last) {
  start_with_file(shared_file(2));
  tell_parts(step_of_group(1, 1));
  context_->answer(LaneCall::kWrite);
  EXPECT_TRUE(context_->asked(LaneCall::kSeal).empty());
  EXPECT_TRUE(context_->answer(LaneCall::kSync));
  context_->take_one(LetterKind::kSealed);
  publish(step_of_group(1, 1));
  tell_parts(step_of_group(2, 1));
  context_->answer(LaneCall::kWrite);
  EXPECT_TRUE(context_->asked(LaneCall::kSync).empty());
  EXPECT_TRUE(context_->answer(LaneCall::kSeal));
  context_->take_one(LetterKind::kSealed);
}

TEST_F(FileOwnerAlone, an_index_that_cannot_be_written_fails_the_step_and_is_not_synced) {
  start_with_file(shared_file());
  tell_parts(step_of_group(1, 1));
  context_->answer(LaneCall::kWrite, failed("a bad place"));
  EXPECT_THAT(failure(), HasSubstr("a bad place"));
  EXPECT_TRUE(context_->asked(LaneCall::kSeal).empty());
  EXPECT_TRUE(context_->take(LetterKind::kSealed).empty());
}

TEST_F(FileOwnerAlone, a_sync_that_fails_fails_the_step_and_its_file_goes) {
  start_with_file(shared_file());
  tell_parts(step_of_group(1, 1));
  context_->answer(LaneCall::kWrite);
  context_->answer(LaneCall::kSeal, failed("lost bytes"));
  EXPECT_THAT(failure(), HasSubstr("lost bytes"));
  EXPECT_TRUE(context_->take(LetterKind::kSealed).empty());
  fail(step_of_group(1, 1), "lost bytes");
  EXPECT_EQ(removed_groups(), std::vector<std::uint64_t>{1});
}

TEST_F(FileOwnerAlone, two_ranks_with_the_same_part_are_told_and_nothing_is_written) {
  start_with_file(shared_file());
  owner_->asked({0}, step_of_group(1, 1), 0, 1_MiB);
  for (std::uint32_t rank = 0; rank < 3; ++rank)
    tell_part(rank, step_of_group(1, 1), rank_step_of(1, rank == 2 ? 10 : rank * 10, 1));
  context_->settle();
  if (context_->answer(LaneCall::kWrite)) FAIL() << "an index with a part twice";
  EXPECT_EQ(failure(),
            "rank 2: write step 1 run.fb: part 10 of field density was put by ranks 1 and 2");
}

TEST_F(FileOwnerAlone, a_rank_that_put_a_part_twice_is_told) {
  start_with_file(shared_file());
  owner_->asked({0}, step_of_group(1, 1), 0, 1_MiB);
  RankStep part = rank_step_of(1, 10, 2);
  part.blocks[1].part = 10;
  tell_part(0, step_of_group(1, 1), rank_step_of(1, 0, 1));
  tell_part(1, step_of_group(1, 1), part);
  tell_part(2, step_of_group(1, 1), rank_step_of(1, 20, 1));
  context_->settle();
  EXPECT_EQ(failure(),
            "rank 1: write step 1 run.fb: part 10 of field density was put twice by rank 1");
}

TEST_F(FileOwnerAlone, blocks_of_a_global_array_that_overlap_fail_the_step_and_name_both_ranks) {
  start_with_file(shared_file());
  owner_->asked({0}, step_of_group(1, 1), 0, 1_MiB);
  tell_part(0, step_of_group(1, 1), rank_block_of({0, 0}, {4, 8}));
  tell_part(1, step_of_group(1, 1), rank_block_of({4, 0}, {4, 8}));
  tell_part(2, step_of_group(1, 1), rank_block_of({7, 2}, {2, 4}));
  context_->settle();
  if (context_->answer(LaneCall::kWrite)) FAIL() << "an index with elements twice";
  EXPECT_EQ(failure(),
            "rank 2: write step 1 run.fb: blocks of field pressure overlap: rank 1 put 4 x 8 "
            "elements from 4, 0 on, and rank 2 put 2 x 4 elements from 7, 2 on");
}

TEST_F(FileOwnerAlone, blocks_of_a_global_array_that_only_touch_are_written) {
  start_with_file(shared_file());
  owner_->asked({0}, step_of_group(1, 1), 0, 1_MiB);
  tell_part(0, step_of_group(1, 1), rank_block_of({0, 0}, {4, 8}));
  tell_part(1, step_of_group(1, 1), rank_block_of({4, 0}, {4, 8}));
  tell_part(2, step_of_group(1, 1), rank_block_of({5, 0}, {0, 8}));
  EXPECT_TRUE(context_->answer(LaneCall::kWrite));
  EXPECT_TRUE(context_->take(LetterKind::kFailed).empty());
}

TEST_F(FileOwnerAlone, a_rank_with_more_fields_than_an_index_can_have_is_told) {
  start_with_file(shared_file());
  for (std::uint32_t rank = 0; rank < 3; ++rank) {
    RankStep part{.step = 1};
    for (std::uint32_t field = 0; rank == 1 && field <= format::kFieldsMax; ++field)
      part.fields.push_back({.name = std::to_string(field), .type = ElementType::kFloat64});
    tell_part(rank, step_of_group(1, 1), part);
  }
  context_->settle();
  EXPECT_EQ(failure(),
            "rank 1: write step 1 run.fb: define field 65536: a step has at most 65536 fields in a "
            "file");
}

TEST_F(FileOwnerAlone, what_comes_of_a_step_that_was_given_up_is_not_answered) {
  start_with_file(shared_file());
  owner_->asked({0}, step_of_group(1, 1), 0, 100);
  given();
  fail(step_of_group(1, 1), "skipped");
  EXPECT_EQ(removed_groups(), std::vector<std::uint64_t>{1});
  tell_parts(step_of_group(1, 1));
  EXPECT_EQ(given(), Places{});
  EXPECT_TRUE(context_->asked(LaneCall::kWrite).empty());
}

TEST_F(FileOwnerAlone, a_file_with_a_published_step_stays_when_another_one_in_it_fails) {
  start_with_file(shared_file(2));
  owner_->asked({0}, step_of_group(1, 1), 0, 100);
  publish(step_of_group(1, 1));
  owner_->asked({0}, step_of_group(2, 1), 1, 100);
  fail(step_of_group(2, 1), "skipped");
  EXPECT_TRUE(removed_groups().empty());
}

TEST_F(FileOwnerAlone, a_file_stays_while_a_step_that_has_only_places_in_it_is_under_way) {
  start_with_file(shared_file(2));
  owner_->asked({0}, step_of_group(1, 1), 0, 100);
  owner_->asked({0}, step_of_group(2, 1), 1, 100);
  const Places first = given();
  const auto created = context_->asked(LaneCall::kCreate).size();
  publish(step_of_group(1, 1));
  owner_->asked({1}, step_of_group(2, 1), 2, 100);
  EXPECT_EQ(context_->asked(LaneCall::kCreate).size(), created) << "not a second time";
  ASSERT_EQ(first.size(), 2U);
  EXPECT_EQ(given(), (Places{{1, 2, first[1].offset + kAlignmentBytes}}));
  fail(step_of_group(2, 1), "skipped");
  EXPECT_TRUE(removed_groups().empty());
}

TEST_F(FileOwnerAlone, a_file_stays_when_its_younger_step_fails_first) {
  start_with_file(shared_file(2));
  owner_->asked({0}, step_of_group(1, 1), 0, 100);
  owner_->asked({1}, step_of_group(2, 1), 1, 100);
  fail(step_of_group(2, 1), "abandoned");
  EXPECT_TRUE(removed_groups().empty());
  fail(step_of_group(1, 1), "abandoned");
  EXPECT_EQ(removed_groups(), std::vector<std::uint64_t>{1});
}

TEST_F(FileOwnerAlone, a_step_that_the_coordinator_may_have_published_keeps_its_file) {
  start_with_file(shared_file());
  tell_parts(step_of_group(1, 1));
  context_->answer_all(LaneCall::kWrite);
  context_->answer_all(LaneCall::kSeal);
  context_->take_one(LetterKind::kSealed);
  owner_->gone({Routes::coordinator()}, Error({.kind = ErrorClass::kClosed, .operation = "x"}));
  owner_->end();
  EXPECT_EQ(removed_groups(), std::vector<std::uint64_t>{2});
}

// Of a writer that was taken for dead while it published.
TEST_F(FileOwnerAlone, a_step_that_somebody_else_may_have_found_keeps_its_file) {
  start_with_file(shared_file(2));
  owner_->asked({0}, step_of_group(1, 1), 0, 100);
  owner_->resolved(step_of_group(1, 1), StepFate::kUnknown, failed("somebody else writes it"));
  fail(step_of_group(2, 1), "skipped");
  owner_->end();
  EXPECT_EQ(removed_groups(), std::vector<std::uint64_t>{2}) << "that was made ahead";
  EXPECT_TRUE(context_->asked(LaneCall::kPunch).empty());
}

TEST_F(FileOwnerAlone, an_end_in_the_midst_of_sealing_writes_no_index) {
  start_with_file(shared_file());
  owner_->asked({0}, step_of_group(1, 1), 0, 1_MiB);
  for (std::uint32_t rank = 0; rank < 3; ++rank)
    tell_part(rank, step_of_group(1, 1), rank_step_of(1, rank * 10, 2));
  owner_->end();
  context_->settle();
  EXPECT_TRUE(context_->asked(LaneCall::kWrite).empty());
}

TEST_F(FileOwnerAlone, files_that_nobody_needed_go_at_the_end) {
  start_with_file(shared_file(2));
  owner_->asked({0}, step_of_group(1, 1), 0, 100);
  publish(step_of_group(1, 1));
  context_->answer_all(LaneCall::kCreate);  // of the second group, ahead
  owner_->end();
  EXPECT_EQ(removed_groups(), std::vector<std::uint64_t>{2});
  ASSERT_EQ(cut().size(), 1U);
  EXPECT_EQ(cut()[0].offset, kAlignmentBytes + kAlignmentBytes);
}

TEST_F(FileOwnerAlone, a_file_in_which_a_step_failed_keeps_no_room_for_it) {
  start_with_file(shared_file(2));
  owner_->asked({0}, step_of_group(1, 1), 0, 100);
  publish(step_of_group(1, 1));
  owner_->asked({0}, step_of_group(2, 1), 1, 100);
  EXPECT_TRUE(cut().empty());
  fail(step_of_group(2, 1), "skipped");
  ASSERT_EQ(cut().size(), 1U) << "nobody seals it";
  EXPECT_EQ(cut()[0].name.group, 1U);
  owner_->end();
  EXPECT_EQ(cut().size(), 1U);
}

// The room of steps that had failed was kept, and every further one needed more.
TEST_F(FileOwnerAlone, the_room_of_a_failed_step_is_given_back_while_its_file_is_used) {
  start_with_file(shared_file(3));
  const auto punched = [this] { return context_->asked(LaneCall::kPunch); };
  owner_->asked({0}, step_of_group(1, 1), 0, 1);
  publish(step_of_group(1, 1));
  owner_->asked({0}, step_of_group(2, 1), 1, 1);
  owner_->asked({1}, step_of_group(3, 1), 2, 1);
  owner_->asked({2}, step_of_group(2, 1), 3, 1);
  owner_->trim(1, {4 * kAlignmentBytes, 1}, 0);  // the last one is not needed
  owner_->asked({1}, step_of_group(3, 1), 4, 1);
  EXPECT_TRUE(punched().empty());
  fail(step_of_group(2, 1), "skipped");
  ASSERT_EQ(punched().size(), 1U);
  EXPECT_EQ(punched()[0].name.group, 1U);
  EXPECT_EQ(punched()[0].offset, 2 * kAlignmentBytes);
  EXPECT_EQ(punched()[0].size, kAlignmentBytes);
  fail(step_of_group(3, 1), "skipped");
  const std::uint64_t all = punched().back().offset + punched().back().size;
  EXPECT_EQ(all, 5 * kAlignmentBytes) << "that of both";
}

TEST_F(FileOwnerAlone, a_full_disk_costs_the_files_that_are_kept_for_later) {
  start_with_file(shared_file());
  const auto given_up = [this] { return context_->asked(LaneCall::kGiveUpFreeFiles).size(); };
  fail(step_of_group(1, 1), "skipped");
  EXPECT_EQ(given_up(), 0U);
  fail(step_of_group(2, 2), "no room", ENOSPC);
  EXPECT_EQ(given_up(), 1U);
}

// Each stayed, with all its room, until the end.
TEST_F(FileOwnerAlone, no_file_is_made_for_a_step_that_others_have_failed_with_before) {
  start_with_file(shared_file());
  const auto created = [this] { return context_->asked(LaneCall::kCreate).size(); };
  fail(step_of_group(3, 3), "abandoned");
  owner_->asked({0}, step_of_group(2, 2), 0, 100);
  EXPECT_EQ(created(), 0U) << "of group 3";
  owner_->asked({0}, step_of_group(4, 4), 1, 100);
  EXPECT_EQ(created(), 2U) << "of groups 4 and 5";
  owner_->asked({0}, step_of_group(9, 3), 2, 100);
  EXPECT_THAT(failure(), HasSubstr("3 was begun by another rank in its place"));
}

TEST_F(FileOwnerAlone, a_file_some_of_whose_steps_have_failed_before_is_done_with_the_others) {
  start_with_file(shared_file(2));
  fail(step_of_group(4, 3), "abandoned");
  owner_->asked({0}, step_of_group(3, 3), 0, 100);
  context_->answer_all(LaneCall::kCreate);
  fail(step_of_group(3, 3), "abandoned");
  EXPECT_EQ(removed_groups(), std::vector<std::uint64_t>{3});
}

TEST_F(FileOwnerAlone, ranks_begin_rounds_together_when_all_are_ready) {
  start_with_file({.strategy = Strategy::kCollective, .files = 1});
  const StepName name = step_of_group(1, 1);
  for (std::uint32_t rank = 0; rank < 3; ++rank) {
    EXPECT_TRUE(context_->take(LetterKind::kGo).empty());
    owner_->ready({rank}, name, {{rank * 4096, 4096}, {65536 + rank * 4096, 4096}});
  }
  const auto go = context_->take(LetterKind::kGo);
  ASSERT_EQ(go.size(), 3U);
  const std::vector<ByteRange> dense{{0, 3 * 4096}, {65536, 3 * 4096}};
  EXPECT_EQ(comm::list_from<ByteRange>("go", go[0].payload).value(), dense);
  EXPECT_EQ(go[0].words[2], static_cast<std::uint64_t>(RoundMeans::kAggregated));
}

TEST_F(FileOwnerAlone, nobody_begins_rounds_in_which_a_rank_is_missing_that_was_ready) {
  start_with_file({.strategy = Strategy::kCollective, .files = 1});
  const StepName name = step_of_group(1, 1);
  owner_->ready({1}, name, {});
  owner_->gone({1}, broken("killed"));
  EXPECT_THAT(failure(), HasSubstr("killed"));
  owner_->ready({0}, name, {});
  owner_->ready({2}, name, {});
  EXPECT_TRUE(context_->take(LetterKind::kGo).empty());
}

}  // namespace
}  // namespace forebay::write
