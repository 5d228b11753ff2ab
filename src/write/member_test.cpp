// SPDX-License-Identifier: Apache-2.0
// A rank's side of a step alone: what it offers and tells, when memory comes back, and how the
// application hears of the end.
#include "write/member.hpp"

#include <forebay/executor.hpp>

#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/testing.hpp"
#include "comm/error_bytes.hpp"
#include "write/hashed_copy.hpp"
#include "write/letter_bytes.hpp"
#include "write/role_testing.hpp"

namespace forebay::write {
namespace {

using ::testing::HasSubstr;

constexpr std::uint32_t kMe = 2;

/// Rank 0 writes for all.
class MemberAlone : public ::testing::Test {
 protected:
  MemberAlone()
      : member_(context_, [this](const StepName& name, const Status& outcome) {
          resolved_.push_back(name.step);
          works_.push_back(outcome.has_value());
        }) {}

  /// A chunk that is the only one of a region.
  PackedChunk chunk_of(std::uint64_t number, std::uint32_t region) {
    return {.chunk = {.step = step(number),
                      .origin = kMe,
                      .region = region,
                      .region_bytes = bytes_.size(),
                      .bytes = bytes_.size(),
                      .is_last = true},
            .bytes = bytes_,
            .memory = {},
            .memory_offset = 0,
            .to_hash = {},
            .release = [this] { ++released_; }};
  }
  Future<Receipt> commit(std::uint64_t number, RankStep record) {
    const Promise<Receipt> promise(loop_, {.operation = "write"});
    Future<Receipt> receipt = promise.future();
    member_.commit(step(number), {.record = std::move(record),
                                  .receipt = {.step = number},
                                  .begun_at = SteadyClock::shared().now(),
                                  .promise = promise});
    return receipt;
  }
  void tell_places(std::uint64_t number, const std::vector<std::uint64_t>& places) {
    EXPECT_TRUE(member_.written(step(number), places));
  }
  std::uint64_t offered_chunk() { return offer().number; }
  OfferLetter offer() { return offer_from(context_.take_one(LetterKind::kOffer).payload).value(); }
  static std::string failure_of(Future<Receipt>& receipt) {
    if (!receipt.poll()) return "not told";
    const auto outcome = receipt.wait();
    return outcome ? "" : outcome.error().message();
  }

  EventLoop loop_;
  const std::vector<std::byte> bytes_ = std::vector<std::byte>(4096, std::byte{7});
  TestContext context_{crew_of(3), WritePlan{.strategy = Strategy::kSerial}, kMe};
  std::vector<std::uint64_t> resolved_;
  std::vector<bool> works_;
  int released_ = 0;
  Member member_;
};

TEST_F(MemberAlone, hashing_is_awaited_when_storage_is_done_with_the_bytes) {
  EXPECT_FALSE(member_.is_hashing_awaited()) << "there is nothing to hash";
  member_.begin(step(1));
  PackedChunk chunk = chunk_of(1, 0);
  chunk.to_hash = {{.number = 0, .seed = 1, .bytes = bytes_}};
  member_.offer(std::move(chunk));
  EXPECT_FALSE(member_.is_hashing_awaited());
  member_.taken(offered_chunk());
  EXPECT_TRUE(member_.is_hashing_awaited());
  EXPECT_EQ(released_, 0);
  EXPECT_TRUE(member_.hash_a_piece());
  EXPECT_EQ(released_, 1);
  EXPECT_FALSE(member_.is_hashing_awaited());
}

TEST_F(MemberAlone, a_step_goes_from_the_offer_to_the_receipt) {
  member_.begin(step(1));
  member_.offer(chunk_of(1, 0));
  const OfferLetter offered = offer();
  EXPECT_EQ(offered.chunk.origin, kMe);
  Future<Receipt> receipt = commit(1, rank_step_of(1, 0, 2));
  const Sent finish = context_.take_one(LetterKind::kFinish);
  EXPECT_EQ(finish.to, 0U);
  EXPECT_EQ(finish.words, (AgentContext::Words{1, 1, 1, kMe})) << "one region of rank 2";
  EXPECT_EQ(fields_from(context_.take_one(LetterKind::kAnnounce).payload).value().size(), 1U);
  EXPECT_TRUE(context_.take(LetterKind::kPart).empty()) << "before it knows the places";

  member_.taken(offered.number);
  EXPECT_EQ(released_, 1);
  tell_places(1, {1'048'576});
  const RankStep part = rank_step_from(context_.take_one(LetterKind::kPart).payload).value();
  ASSERT_EQ(part.blocks.size(), 2U);
  const RankStep in_region = rank_step_of(1, 0, 2);
  for (std::size_t block = 0; block < 2; ++block)
    EXPECT_EQ(part.blocks[block].offset, in_region.blocks[block].offset + 1'048'576);

  EXPECT_EQ(failure_of(receipt), "not told");
  member_.resolved(step(1), {});
  EXPECT_EQ(failure_of(receipt), "");
  EXPECT_EQ(resolved_, std::vector<std::uint64_t>{1});
}

TEST_F(MemberAlone, blocks_without_bytes_lie_where_there_might_be_some) {
  member_.begin(step(1));
  RankStep empty = rank_step_of(1, 4, 0);
  empty.blocks.push_back({.part = 4});
  empty.extents.push_back(0);
  const auto receipt = commit(1, empty);
  tell_places(1, {});
  const RankStep part = rank_step_from(context_.take_one(LetterKind::kPart).payload).value();
  ASSERT_EQ(part.blocks.size(), 1U);
  EXPECT_EQ(part.blocks[0].offset, format::kPageBytes);
}

TEST_F(MemberAlone, the_owner_is_told_after_the_last_checksum) {
  member_.begin(step(1));
  PackedChunk packed = chunk_of(1, 0);
  packed.to_hash = {{.number = 1, .seed = 11, .bytes = std::span(bytes_).first(800)},
                    {.number = 0, .seed = 10, .bytes = std::span(bytes_).last(800)}};
  member_.offer(std::move(packed));
  const auto receipt = commit(1, rank_step_of(1, 0, 2));
  tell_places(1, {4096});
  member_.taken(offered_chunk());
  EXPECT_EQ(released_, 0) << "its bytes are still to be hashed";
  EXPECT_TRUE(member_.hash_a_piece());
  EXPECT_TRUE(context_.take(LetterKind::kPart).empty());
  EXPECT_EQ(released_, 0);
  EXPECT_TRUE(member_.hash_a_piece());
  EXPECT_EQ(released_, 1);
  const RankStep part = rank_step_from(context_.take_one(LetterKind::kPart).payload).value();
  EXPECT_EQ(part.piece_checksums, (std::vector{hash_of(std::span(bytes_).last(800), 10),
                                               hash_of(std::span(bytes_).first(800), 11)}));
  EXPECT_FALSE(member_.hash_a_piece());
}

TEST_F(MemberAlone, memory_that_was_asked_for_comes_back_when_it_was_sent) {
  member_.begin(step(1));
  member_.offer(chunk_of(1, 0));
  const std::uint64_t chunk = offered_chunk();
  member_.send_bytes({0}, chunk);
  const Sent bytes = context_.take_one(LetterKind::kBytes);
  EXPECT_EQ(bytes.to, 0U);
  EXPECT_EQ(bytes.words[0], chunk);
  EXPECT_EQ(bytes.in_place.data(), bytes_.data()) << "without a copy";
  EXPECT_EQ(released_, 0);
  bytes.on_sent({});
  EXPECT_EQ(released_, 1);
  member_.taken(chunk);  // told twice
  EXPECT_EQ(released_, 1);
}

TEST_F(MemberAlone, a_step_that_others_failed_with_is_told_at_its_commit) {
  member_.begin(step(1));
  member_.resolved(step(1), failed("rank 1 has no room"));
  EXPECT_TRUE(resolved_.empty()) << "the application has it still";
  member_.offer(chunk_of(1, 0));
  EXPECT_EQ(released_, 1);
  EXPECT_TRUE(context_.take(LetterKind::kOffer).empty());
  Future<Receipt> receipt = commit(1, rank_step_of(1, 0, 1));
  EXPECT_THAT(failure_of(receipt), HasSubstr("rank 1 has no room"));
  EXPECT_TRUE(context_.take(LetterKind::kAnnounce).empty());
  EXPECT_EQ(works_, std::vector<bool>{false});
}

TEST_F(MemberAlone, a_step_that_failed_before_it_was_begun_here_is_told_too) {
  member_.begin(step(1));
  Future<Receipt> first = commit(1, rank_step_of(1, 0, 0));
  member_.resolved(step(2), failed("rank 1 is ahead and failed"));
  member_.resolved(step(1), {});
  EXPECT_EQ(failure_of(first), "");
  member_.begin(step(2));
  Future<Receipt> second = commit(2, rank_step_of(2, 0, 0));
  EXPECT_THAT(failure_of(second), HasSubstr("rank 1 is ahead and failed"));
  member_.begin(step(3));
  Future<Receipt> third = commit(3, rank_step_of(3, 0, 0));
  EXPECT_EQ(failure_of(third), "not told") << "which has not failed";
  member_.end(broken("the end"));
}

TEST_F(MemberAlone, memory_of_a_failed_step_stays_as_long_as_others_may_read_it) {
  member_.begin(step(1));
  member_.offer(chunk_of(1, 0));
  Future<Receipt> receipt = commit(1, rank_step_of(1, 0, 1));
  member_.resolved(step(1), failed("skipped"));
  EXPECT_THAT(failure_of(receipt), HasSubstr("skipped"));
  EXPECT_EQ(released_, 0);
  member_.taken(offered_chunk());
  EXPECT_EQ(released_, 1);
}

TEST_F(MemberAlone, an_abandoned_step_is_told_to_the_coordinator_and_nobody_waits_for_it) {
  member_.begin(step(1));
  member_.offer(chunk_of(1, 0));
  member_.abandon(step(1), broken("given up"));
  const Sent told = context_.take_one(LetterKind::kFailed);
  EXPECT_EQ(told.to, Routes::coordinator());
  EXPECT_THAT(comm::error_from(told.payload).value().message(), HasSubstr("given up"));
  EXPECT_EQ(works_, std::vector<bool>{false});
  member_.leave();
  EXPECT_TRUE(member_.has_left());
}

TEST_F(MemberAlone, who_loses_its_writer_fails_at_once_and_has_its_memory_back) {
  member_.begin(step(1));
  member_.offer(chunk_of(1, 0));
  Future<Receipt> receipt = commit(1, rank_step_of(1, 0, 1));
  member_.lost({1}, broken("rank 1 was killed"));
  EXPECT_EQ(failure_of(receipt), "not told") << "it does not need that one";
  member_.lost({0}, broken("rank 0 was killed"));
  EXPECT_THAT(failure_of(receipt), HasSubstr("rank 0 was killed"));
  EXPECT_EQ(released_, 1);
  member_.begin(step(2));
  Future<Receipt> next = commit(2, rank_step_of(2, 0, 1));
  EXPECT_THAT(failure_of(next), HasSubstr("rank 0 was killed"));
}

TEST_F(MemberAlone, says_that_it_leaves_once_all_its_steps_are_over) {
  member_.begin(step(1));
  const auto receipt = commit(1, rank_step_of(1, 0, 0));
  member_.leave();
  EXPECT_FALSE(member_.has_left());
  EXPECT_TRUE(context_.take(LetterKind::kLeave).empty());
  member_.resolved(step(1), {});
  EXPECT_TRUE(member_.has_left());
  member_.leave();
  EXPECT_EQ(context_.take_one(LetterKind::kLeave).to, Routes::coordinator());
}

// Its receipt said that it is not there, and all others' that it is.
TEST_F(MemberAlone, a_step_that_may_be_published_is_over_when_the_coordinator_says_so) {
  const WritePlan two{.strategy = Strategy::kReducedBlocking, .writers = 2, .files = 2};
  TestContext context(crew_of(4), two, 3);
  ASSERT_EQ(context.routes().writer_of(3), 2U);
  std::vector<bool> works;
  Member member(context, [&](const StepName&, const Status& outcome) {
    works.push_back(outcome.has_value());
  });
  for (const std::uint64_t number : {1U, 2U, 3U}) {
    const Promise<Receipt> promise(loop_, {.operation = "write"});
    member.begin(step(number));
    member.commit(step(number), {.record = rank_step_of(number, 0, 0),
                                 .receipt = {.step = number},
                                 .begun_at = SteadyClock::shared().now(),
                                 .promise = promise});
    if (number < 3) member.written(step(number), {});
  }
  member.lost({2}, broken("rank 2 was killed"));
  EXPECT_EQ(context.take(LetterKind::kFailed).size(), 3U);
  EXPECT_EQ(works, std::vector<bool>{false}) << "step 3 cannot be published";
  member.resolved(step(1), {});
  member.resolved(step(2), failed("rank 2 was killed"));
  EXPECT_EQ(works, (std::vector<bool>{false, true, false}));
}

TEST_F(MemberAlone, a_step_that_is_withdrawn_fails_for_all_and_keeps_nobody) {
  member_.begin(step(1));
  const auto receipt = commit(1, rank_step_of(1, 0, 0));
  member_.begin(step(2));
  member_.withdraw(step(2), broken("the Runtime has ended"));
  EXPECT_EQ(context_.take_one(LetterKind::kFailed).words[0], 2U);
  member_.leave();
  EXPECT_FALSE(member_.has_left()) << "what is committed is waited for";
  member_.resolved(step(1), {});
  EXPECT_TRUE(member_.has_left());
  Future<Receipt> late = commit(2, rank_step_of(2, 0, 0));
  EXPECT_THAT(failure_of(late), HasSubstr("the Runtime has ended"));
  member_.withdraw(step(2), broken("again"));
}

TEST_F(MemberAlone, the_end_tells_every_step_and_gives_back_all_memory) {
  member_.begin(step(1));
  PackedChunk packed = chunk_of(1, 0);
  packed.to_hash = {{.number = 0, .seed = 1, .bytes = std::span(bytes_).first(8)}};
  member_.offer(std::move(packed));
  Future<Receipt> first = commit(1, rank_step_of(1, 0, 1));
  member_.begin(step(2));  // still the application's
  member_.end(broken("the end"));
  EXPECT_THAT(failure_of(first), HasSubstr("the end"));
  EXPECT_EQ(released_, 1);
  EXPECT_EQ(resolved_, (std::vector<std::uint64_t>{1, 2}));
  EXPECT_EQ(works_, (std::vector<bool>{false, false}));
}

}  // namespace
}  // namespace forebay::write
