// SPDX-License-Identifier: Apache-2.0
// A writer alone: how much it asks for, what it does without anybody else, and what it gives back.
#include "write/writer.hpp"

#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/testing.hpp"
#include "comm/error_bytes.hpp"
#include "comm/in_process.hpp"
#include "write/letter_bytes.hpp"
#include "write/role_testing.hpp"

namespace forebay::write {
namespace {

using ::testing::HasSubstr;
using Numbers = std::vector<std::uint64_t>;

constexpr std::uint64_t kBytes = 64_KiB;  ///< of a chunk, and of a segment

WritePlan to_rank_0(HandOff hand_off) {
  const bool gathers = hand_off == HandOff::kGather;
  WritePlan plan{.strategy = gathers ? Strategy::kGather : Strategy::kReducedBlocking,
                 .writers = 1,
                 .files = 1};
  plan.hand_off = hand_off;
  plan.steps_per_group = 1;
  return plan;
}

class WriterAlone : public ::testing::Test {
 protected:
  /// Rank `me` of four, with memory for so many chunks of others.
  void start(const WritePlan& plan, std::uint32_t segments, std::uint32_t me = 0) {
    auto receiving = Staging::make(
        {.memory_bytes = segments * kBytes, .segment_bytes = kBytes, .ready_bytes = 0});
    ASSERT_TRUE(receiving) << receiving.error().message();
    receiving_ = *receiving;
    context_ = std::make_unique<TestContext>(crew_of(4), plan, me);
    writer_ = std::make_unique<Writer>(*context_, receiving_);
  }
  /// A chunk that is all of its region; its number is that of the region.
  void offer(std::uint32_t from, std::uint32_t region, std::uint64_t number = 1) {
    const Chunk chunk{.step = step(number),
                      .origin = from,
                      .region = region,
                      .region_bytes = kBytes,
                      .bytes = kBytes,
                      .is_last = true};
    writer_->offered({from}, {chunk, region, {}, 0});
  }
  /// The chunks that are asked for now.
  Numbers wanted() {
    context_->settle();
    Numbers chunks;
    for (const Sent& letter : context_->take(LetterKind::kSend))
      chunks.push_back(letter.words[0]);
    return chunks;
  }
  void bytes_come(std::uint32_t from, std::uint64_t chunk) {
    const auto room = writer_->room_for({from}, chunk, kBytes);
    ASSERT_EQ(room.size(), kBytes);
    std::ranges::fill(room, static_cast<std::byte>(from));
    writer_->bytes_came({from}, chunk);
  }
  /// Answers all questions for places, as an owner would; how many there were.
  std::size_t place_all() {
    const auto questions = context_->take(LetterKind::kAskPlace);
    for (const Sent& question : questions) {
      writer_->placed(question.words[2], end_);
      end_ += question.words[3];
    }
    context_->answer_all(LaneCall::kOpen);
    return questions.size();
  }
  std::string failure() {
    const Sent letter = context_->take_one(LetterKind::kFailed);
    return letter.payload.empty() ? "" : comm::error_from(letter.payload).value().message();
  }
  std::uint32_t taken() const { return receiving_->counts().taken; }

  std::uint64_t end_ = format::kPageBytes;
  std::shared_ptr<Staging> receiving_;
  std::unique_ptr<TestContext> context_;
  std::unique_ptr<Writer> writer_;
};

TEST_F(WriterAlone,
       asks_for_as_many_bytes_as_it_has_room_for_and_for_the_next_when_one_is_written) {
  start(to_rank_0(HandOff::kMessage), 2);
  for (std::uint32_t chunk = 0; chunk < 5; ++chunk)
    offer(1, chunk);
  EXPECT_EQ(wanted(), (Numbers{0, 1}));
  bytes_come(1, 0);
  bytes_come(1, 1);
  EXPECT_EQ(wanted(), Numbers{}) << "it is full";
  EXPECT_EQ(place_all(), 2U);
  EXPECT_TRUE(context_->answer(LaneCall::kWrite));
  EXPECT_EQ(wanted(), Numbers{2});
  EXPECT_TRUE(context_->answer(LaneCall::kWrite));
  EXPECT_EQ(wanted(), Numbers{3});
  EXPECT_EQ(receiving_->counts().taken_max, 2U);
}

// It waited for the file of the next step, which was being made on the same thread.
TEST_F(WriterAlone, a_file_that_its_rank_has_made_is_not_opened) {
  start(to_rank_0(HandOff::kMessage), 2);
  context_->lane().create({1, 0}, 0, [this](const Result<std::shared_ptr<DataFile>>& file) {
    ASSERT_TRUE(file);
    writer_->use_file(step(1).group, *file);
  });
  context_->answer_all(LaneCall::kCreate);
  offer(1, 0);
  EXPECT_EQ(wanted(), Numbers{0});
  bytes_come(1, 0);
  const Sent question = context_->take_one(LetterKind::kAskPlace);
  writer_->placed(question.words[2], end_);
  EXPECT_TRUE(context_->asked(LaneCall::kOpen).empty());
  EXPECT_EQ(context_->asked(LaneCall::kWrite).size(), 1U);
}

TEST_F(WriterAlone, memory_of_its_own_that_cannot_be_mapped_fails_the_step) {
  // Nobody hands over to it, so it has no memory for what comes.
  context_ = std::make_unique<TestContext>(crew_of(4),
                                           WritePlan{.strategy = Strategy::kFilePerProcess}, 2);
  writer_ = std::make_unique<Writer>(*context_, nullptr);
  offer(2, 7);
  EXPECT_NE(failure(), "");
  EXPECT_EQ(context_->take_one(LetterKind::kTaken).words[0], 7U) << "its memory comes back";
  EXPECT_TRUE(context_->take(LetterKind::kSend).empty());
}

TEST_F(WriterAlone, whose_owner_is_lost_gives_back_what_waits_and_takes_no_more) {
  WritePlan baton{.strategy = Strategy::kBaton, .writers = 4, .files = 1};
  baton.steps_per_group = 1;
  start(baton, 3, 2);
  for (std::uint32_t chunk = 0; chunk < 2; ++chunk) {
    offer(2, chunk);
    wanted();
    bytes_come(2, chunk);
  }
  offer(2, 2);  // its bytes have not come
  EXPECT_EQ(context_->take(LetterKind::kAskPlace).size(), 2U);
  writer_->lost({0}, broken("killed"));
  EXPECT_THAT(failure(), HasSubstr("killed"));
  EXPECT_EQ(taken(), 1U) << "for what is on its way to it";
  offer(2, 0, 2);
  EXPECT_THAT(failure(), HasSubstr("killed")) << "of a later step";
  EXPECT_EQ(context_->take(LetterKind::kTaken).size(), 1U);
  offer(2, 1, 2);
  EXPECT_TRUE(context_->take(LetterKind::kFailed).empty()) << "once is enough";
}

TEST_F(WriterAlone, a_rank_given_to_io_that_no_plan_needs_loses_nothing_with_others) {
  const Crew crew{.node_of_computing = {0, 0}, .node_of_dedicated = {0, 0}};
  WritePlan plan{.strategy = Strategy::kReducedBlocking, .writers = 1, .files = 1};
  plan.placement = Placement::kDedicated;
  for (const std::uint32_t me : {2U, 3U}) {
    context_ = std::make_unique<TestContext>(crew, plan, me);
    writer_ = std::make_unique<Writer>(*context_, nullptr);
    writer_->lost({0}, broken("killed"));
    EXPECT_TRUE(context_->take(LetterKind::kFailed).empty()) << "rank " << me;
  }
}

TEST_F(WriterAlone, writes_what_came_at_the_place_that_it_was_given) {
  start(to_rank_0(HandOff::kMessage), 2);
  offer(3, 0);
  wanted();
  bytes_come(3, 0);
  EXPECT_EQ(place_all(), 1U);
  const auto written = context_->asked(LaneCall::kWrite);
  ASSERT_EQ(written.size(), 1U);
  EXPECT_EQ(written[0].offset, format::kPageBytes);
  ASSERT_EQ(written[0].bytes.size(), kBytes);
  EXPECT_EQ(written[0].bytes.back(), std::byte{3});
  EXPECT_TRUE(context_->take(LetterKind::kWritten).empty());
  writer_->finish(step(1), 3, 1);
  context_->answer(LaneCall::kWrite);
  const Sent told = context_->take_one(LetterKind::kWritten);
  EXPECT_EQ(told.to, 3U);
  EXPECT_EQ(told.payload.size(), sizeof(std::uint64_t));
  EXPECT_EQ(writer_->written_bytes(), kBytes);
  EXPECT_EQ(taken(), 0U);
}

TEST_F(WriterAlone, bytes_of_another_size_or_that_nobody_asked_for_have_no_room) {
  start(to_rank_0(HandOff::kMessage), 1);
  offer(1, 0);
  offer(2, 0);
  EXPECT_TRUE(writer_->room_for({1}, 0, kBytes - 1).empty());
  EXPECT_TRUE(writer_->room_for({2}, 0, kBytes).empty()) << "it waits for its turn";
  EXPECT_TRUE(writer_->room_for({3}, 0, kBytes).empty());
  EXPECT_EQ(writer_->room_for({1}, 0, kBytes).size(), kBytes);
}

TEST_F(WriterAlone, a_gathered_step_waits_for_all_of_its_group) {
  start(to_rank_0(HandOff::kGather), 4);
  for (std::uint32_t rank = 1; rank < 4; ++rank)
    offer(rank, 0);
  wanted();
  for (std::uint32_t rank = 1; rank < 4; ++rank)
    bytes_come(rank, 0);
  for (std::uint32_t rank = 0; rank < 3; ++rank)
    writer_->finish(step(1), rank, rank == 0 ? 0 : 1);
  EXPECT_EQ(place_all(), 0U);
  writer_->finish(step(1), 3, 1);
  EXPECT_EQ(place_all(), 3U);
}

TEST_F(WriterAlone, out_of_memory_a_gathered_step_drains_without_anybody_else) {
  start(to_rank_0(HandOff::kGather), 2);
  for (std::uint32_t chunk = 0; chunk < 3; ++chunk)
    offer(1, chunk);  // ranks 2 and 3 never come
  EXPECT_EQ(wanted(), (Numbers{0, 1}));
  bytes_come(1, 0);
  bytes_come(1, 1);
  EXPECT_EQ(place_all(), 2U) << "so that there is room for the third";
  EXPECT_EQ(context_->answer_all(LaneCall::kWrite), 2U);
  EXPECT_EQ(wanted(), Numbers{2});
}

TEST_F(WriterAlone, a_link_of_a_chain_holds_no_more_than_its_memory) {
  WritePlan plan{.strategy = Strategy::kBrigade, .writers = 1, .files = 1};
  start(plan, 2, 1);
  ASSERT_EQ(context_->routes().next_of(1), 0U);
  ASSERT_EQ(context_->routes().next_of(2), 1U);
  for (std::uint32_t chunk = 0; chunk < 4; ++chunk)
    offer(2, chunk);
  EXPECT_EQ(wanted(), (Numbers{0, 1}));
  bytes_come(2, 0);
  bytes_come(2, 1);
  const auto passed = context_->take(LetterKind::kOffer);
  ASSERT_EQ(passed.size(), 2U);
  const auto letter = offer_from(passed[0].payload).value();
  EXPECT_EQ(passed[0].to, 0U);
  EXPECT_EQ(letter.chunk.origin, 2U) << "whose bytes they are";
  EXPECT_NE(letter.number & kRelayed, 0U);
  EXPECT_EQ(wanted(), Numbers{}) << "before the next one has taken any";
  EXPECT_TRUE(context_->take(LetterKind::kAskPlace).empty()) << "it is not the writer";
  writer_->send_bytes({0}, letter.number);
  const Sent bytes = context_->take_one(LetterKind::kBytes);
  EXPECT_EQ(bytes.in_place.size(), kBytes);
  bytes.on_sent({});
  EXPECT_EQ(wanted(), Numbers{2});
  writer_->taken(offer_from(passed[1].payload).value().number);  // out of shared memory
  EXPECT_EQ(wanted(), Numbers{3});
  EXPECT_EQ(receiving_->counts().taken_max, 2U);
}

TEST_F(WriterAlone, a_link_whose_next_one_is_lost_fails_what_it_holds_and_keeps_nothing) {
  WritePlan plan{.strategy = Strategy::kBrigade, .writers = 1, .files = 1};
  start(plan, 2, 1);
  offer(2, 0);
  wanted();
  bytes_come(2, 0);
  writer_->lost({0}, broken("rank 0 was killed"));
  EXPECT_THAT(failure(), HasSubstr("rank 0 was killed"));
  EXPECT_EQ(taken(), 0U);
}

TEST_F(WriterAlone, a_rank_that_is_lost_before_its_bytes_came_fails_its_step_and_frees_their_room) {
  start(to_rank_0(HandOff::kMessage), 1);
  offer(1, 0);
  offer(2, 0);
  EXPECT_EQ(wanted(), Numbers{0});
  writer_->lost({1}, broken("rank 1 was killed"));
  EXPECT_THAT(failure(), HasSubstr("rank 1 was killed"));
  EXPECT_EQ(wanted(), Numbers{0}) << "of rank 2";
  EXPECT_EQ(writer_->room_for({2}, 0, kBytes).size(), kBytes);
}

TEST_F(WriterAlone, a_write_that_fails_is_told_with_its_cause_and_its_memory_is_free) {
  start(to_rank_0(HandOff::kMessage), 1);
  offer(1, 0);
  wanted();
  bytes_come(1, 0);
  writer_->finish(step(1), 1, 1);
  place_all();
  context_->answer(LaneCall::kWrite, failed("a bad place"));
  EXPECT_THAT(failure(), HasSubstr("a bad place"));
  EXPECT_TRUE(context_->take(LetterKind::kWritten).empty());
  EXPECT_EQ(taken(), 0U);
}

TEST_F(WriterAlone, a_file_that_cannot_be_opened_fails_the_step_and_is_tried_again_for_the_next) {
  start(to_rank_0(HandOff::kMessage), 1);
  offer(1, 0);
  wanted();
  bytes_come(1, 0);
  const auto question = context_->take_one(LetterKind::kAskPlace);
  writer_->placed(question.words[2], 4096);
  context_->answer(LaneCall::kOpen, failed("it is gone", ENOENT));
  EXPECT_THAT(failure(), HasSubstr("it is gone"));
  EXPECT_EQ(taken(), 0U);
  writer_->resolved(step(1), failed("it is gone", ENOENT));
  offer(1, 1, 2);
  wanted();
  bytes_come(1, 1);
  EXPECT_EQ(place_all(), 1U);
  EXPECT_TRUE(context_->answer(LaneCall::kWrite));
}

TEST_F(WriterAlone, of_a_step_that_was_given_up_only_what_is_being_written_is_kept) {
  start(to_rank_0(HandOff::kMessage), 3);
  offer(1, 0);
  offer(1, 1);
  offer(2, 0);
  offer(2, 1);
  EXPECT_EQ(wanted(), (Numbers{0, 1, 0}));
  bytes_come(1, 0);
  place_all();  // the first one is being written
  bytes_come(1, 1);
  writer_->resolved(step(1), failed("skipped"));
  const auto question = context_->take_one(LetterKind::kAskPlace);
  writer_->placed(question.words[2], 8192);  // too late
  EXPECT_EQ(context_->asked(LaneCall::kWrite).size(), 1U);
  EXPECT_EQ(taken(), 2U) << "what is written, and what has been asked for";
  EXPECT_TRUE(context_->answer(LaneCall::kWrite));
  bytes_come(2, 0);
  EXPECT_EQ(taken(), 0U);
  EXPECT_EQ(place_all(), 0U);
  offer(3, 0);
  EXPECT_EQ(context_->take(LetterKind::kTaken).size(), 2U) << "nobody needs what is offered now";
}

TEST_F(WriterAlone, bytes_that_come_of_a_step_that_was_given_up_disturb_nothing) {
  start(to_rank_0(HandOff::kMessage), 2);
  offer(1, 0);
  offer(1, 1);
  EXPECT_EQ(wanted(), (Numbers{0, 1}));
  bytes_come(1, 0);
  place_all();  // the first region is being written
  writer_->resolved(step(1), failed("skipped"));
  bytes_come(1, 1);
  EXPECT_TRUE(context_->answer(LaneCall::kWrite));
  EXPECT_EQ(taken(), 0U);
}

TEST_F(WriterAlone, a_younger_step_that_fails_first_leaves_the_file_of_an_older_one) {
  start(to_rank_0(HandOff::kMessage), 2);
  offer(1, 0, 1);
  wanted();
  bytes_come(1, 0);
  place_all();
  writer_->resolved(step(2), failed("abandoned"));
  offer(1, 1, 1);
  wanted();
  bytes_come(1, 1);
  EXPECT_EQ(place_all(), 1U);
  EXPECT_TRUE(context_->asked(LaneCall::kOpen).empty()) << "it is open";
  EXPECT_EQ(context_->answer_all(LaneCall::kWrite), 2U);
  writer_->finish(step(1), 1, 2);
  EXPECT_EQ(context_->take_one(LetterKind::kWritten).to, 1U);
}

TEST_F(WriterAlone, a_region_of_which_a_piece_failed_is_not_told_to_be_written) {
  start(to_rank_0(HandOff::kMessage), 2);
  for (std::uint32_t piece = 0; piece < 2; ++piece) {
    const Chunk chunk{.step = step(1),
                      .origin = 1,
                      .region_bytes = 2 * kBytes,
                      .offset = piece * kBytes,
                      .bytes = kBytes,
                      .is_last = piece == 1};
    writer_->offered({1}, {chunk, piece, {}, 0});
  }
  wanted();
  bytes_come(1, 0);
  bytes_come(1, 1);
  place_all();
  writer_->finish(step(1), 1, 1);
  EXPECT_TRUE(context_->answer(LaneCall::kWrite, failed("a bad place")));
  EXPECT_TRUE(context_->answer(LaneCall::kWrite));
  EXPECT_THAT(failure(), HasSubstr("a bad place"));
  EXPECT_TRUE(context_->take(LetterKind::kWritten).empty());
}

TEST_F(WriterAlone, a_baton_is_handed_on_when_all_that_has_a_place_is_written) {
  WritePlan plan{.strategy = Strategy::kBaton, .writers = 4, .files = 1};
  start(plan, 2, 2);
  auto staging = Staging::make({.memory_bytes = 2 * kBytes, .segment_bytes = kBytes});
  ASSERT_TRUE(staging) << staging.error().message();
  for (std::uint32_t region = 0; region < 2; ++region) {
    const Chunk chunk{.step = step(1),
                      .origin = 2,
                      .region = region,
                      .region_bytes = kBytes,
                      .bytes = kBytes,
                      .is_last = true};
    writer_->offered({2}, {chunk, region, (*staging)->name(), region * kBytes});
  }
  EXPECT_EQ(place_all(), 2U);
  EXPECT_TRUE(context_->answer(LaneCall::kWrite));
  EXPECT_TRUE(context_->take(LetterKind::kTurnOver).empty());
  EXPECT_EQ(context_->take_one(LetterKind::kStillWriting).to, 0U);
  EXPECT_TRUE(context_->answer(LaneCall::kWrite));
  EXPECT_EQ(context_->take_one(LetterKind::kTurnOver).to, 0U);
  EXPECT_EQ(context_->take(LetterKind::kTaken).size(), 2U) << "to itself: its memory is free";
}

TEST_F(WriterAlone, room_for_blocks_that_got_smaller_is_given_back_once) {
  start(to_rank_0(HandOff::kMessage), 2);
  const auto piece = [](std::uint64_t offset, bool is_last) {
    return Chunk{.step = step(1),
                 .origin = 1,
                 .region = 0,
                 .region_bytes = 8 * kBytes,
                 .offset = offset,
                 .bytes = kBytes,
                 .is_last = is_last};
  };
  writer_->offered({1}, {piece(0, false), 0, {}, 0});
  writer_->offered({1}, {piece(kBytes, true), 1, {}, 0});
  wanted();
  bytes_come(1, 0);
  EXPECT_EQ(place_all(), 1U);
  EXPECT_TRUE(context_->take(LetterKind::kTrim).empty()) << "before its end is known";
  bytes_come(1, 1);
  const Sent trim = context_->take_one(LetterKind::kTrim);
  EXPECT_EQ(trim.words, (AgentContext::Words{1, format::kPageBytes, 8 * kBytes, 2 * kBytes}));
  EXPECT_EQ(context_->asked(LaneCall::kWrite).size(), 2U);
}

TEST_F(WriterAlone, steps_of_one_file_that_ranks_have_confused_leave_it_open_for_each_other) {
  start(to_rank_0(HandOff::kMessage), 2);
  const StepName mine{6, 0};
  const Chunk chunk{
      .step = mine, .origin = 1, .region_bytes = kBytes, .bytes = kBytes, .is_last = true};
  writer_->offered({1}, {chunk, 0, {}, 0});
  wanted();
  bytes_come(1, 0);
  place_all();
  writer_->resolved({5, 0}, failed("ranks have begun different steps"));
  EXPECT_EQ(context_->answer_all(LaneCall::kWrite), 1U);
  writer_->finish(mine, 1, 1);
  EXPECT_EQ(context_->take_one(LetterKind::kWritten).to, 1U);
}

TEST_F(WriterAlone, a_link_whose_next_one_is_lost_takes_nothing_of_later_steps) {
  WritePlan plan{.strategy = Strategy::kBrigade, .writers = 1, .files = 1};
  start(plan, 2, 1);
  writer_->lost({0}, broken("rank 0 was killed"));
  offer(2, 0, 5);
  EXPECT_THAT(failure(), HasSubstr("rank 0 was killed"));
  EXPECT_EQ(context_->take_one(LetterKind::kTaken).to, 2U) << "its memory is free";
  EXPECT_EQ(wanted(), Numbers{});
}

/// Each rank writes its own bytes, together with the others or, out of memory, alone.
class WriterInRounds : public WriterAlone {
 protected:
  void SetUp() override {
    auto caller = RoundCaller::start(comm::solo());
    ASSERT_TRUE(caller) << caller.error().message();
    caller_ = std::move(*caller);
    auto staging = Staging::make({.memory_bytes = 2 * kBytes, .segment_bytes = kBytes});
    ASSERT_TRUE(staging) << staging.error().message();
    staging_ = *staging;
    context_ = std::make_unique<TestContext>(
        crew_of(4), WritePlan{.strategy = Strategy::kCollective, .files = 1}, 2);
    context_->use(*caller_);
    writer_ = std::make_unique<Writer>(*context_, nullptr);
  }
  /// Half of a region.
  void offer_own(std::uint64_t number, std::uint32_t region, std::uint64_t offset = 0) {
    const Chunk chunk{.step = step(number),
                      .origin = 2,
                      .region = region,
                      .region_bytes = 2 * kBytes,
                      .offset = offset,
                      .bytes = kBytes,
                      .is_last = offset > 0};
    writer_->offered({2}, {chunk, next_chunk_++, staging_->name(), 0});
    place_all();
  }
  std::size_t stored() { return context_->answer_all(LaneCall::kWrite); }

  std::unique_ptr<RoundCaller> caller_;
  std::shared_ptr<Staging> staging_;
  std::uint64_t next_chunk_ = 0;
};

TEST_F(WriterInRounds, what_is_gathered_is_written_alone_when_its_step_has_no_memory_left) {
  offer_own(1, 0);
  EXPECT_EQ(stored(), 0U);
  writer_->write_alone(step(1));
  EXPECT_EQ(stored(), 1U);
  offer_own(1, 1);
  EXPECT_EQ(stored(), 1U);
  writer_->finish(step(1), 2, 2);
  offer_own(2, 0);
  EXPECT_EQ(stored(), 0U) << "a step later";
}

TEST_F(WriterInRounds, what_goes_past_the_page_cache_is_written_by_the_queue_once_all_are_ready) {
  offer_own(1, 0);
  writer_->finish(step(1), 2, 1);
  EXPECT_TRUE(context_->take(LetterKind::kReady).empty()) << "half of a region is to come";
  offer_own(1, 0, kBytes);
  EXPECT_EQ(context_->take(LetterKind::kReady).size(), 1U);
  EXPECT_EQ(stored(), 0U);
  writer_->go(step(1), RoundMeans::kQueues, {});
  EXPECT_TRUE(context_->take(LetterKind::kWritten).empty());
  EXPECT_EQ(stored(), 2U);
  context_->settle();
  EXPECT_EQ(context_->take(LetterKind::kWritten).size(), 1U);
}

// put() waited for its deadline: the end of the step before took the order back.
TEST_F(WriterInRounds, the_end_of_the_step_before_does_not_gather_what_has_no_memory) {
  writer_->write_alone(step(2));
  writer_->finish(step(1), 2, 0);
  offer_own(2, 0);
  EXPECT_EQ(stored(), 1U);
}

}  // namespace
}  // namespace forebay::write
