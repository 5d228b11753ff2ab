// SPDX-License-Identifier: Apache-2.0
// A rank's part of a step alone: its offers and messages, the release of memory, and the outcome
// for the application.
#include "write/step_producer.hpp"

#include <forebay/executor.hpp>

#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/testing.hpp"
#include "comm/error_bytes.hpp"
#include "write/hashed_copy.hpp"
#include "write/message_codec.hpp"
#include "write/role_testing.hpp"

namespace forebay::write {
namespace {

using ::testing::HasSubstr;

constexpr std::uint32_t kRank = 2;

/// Rank 0 is the only writer.
class StepProducerTest : public ::testing::Test {
 protected:
  StepProducerTest()
      : producer_(context_, [this](const StepId& name, const Status& outcome) {
          resolved_.push_back(name.step);
          succeeded_.push_back(outcome.has_value());
        }) {}

  /// A chunk that is the only one of its region.
  PackedChunk chunk_of(std::uint64_t number, std::uint32_t region) {
    return {.chunk = {.step = step_id(number),
                      .origin = kRank,
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
  Future<Receipt> commit(std::uint64_t number, RankMetadata record) {
    const Promise<Receipt> promise(loop_, {.operation = "write"});
    Future<Receipt> receipt = promise.future();
    producer_.commit(step_id(number), {.record = std::move(record),
                                       .receipt = {.step = number},
                                       .begun_at = SteadyClock::shared().now(),
                                       .promise = promise});
    return receipt;
  }
  void send_region_offsets(std::uint64_t number, const std::vector<std::uint64_t>& places) {
    EXPECT_TRUE(producer_.handle_regions_written(step_id(number), places));
  }
  std::uint64_t offered_chunk() { return offer().number; }
  OfferChunkMessage offer() {
    return offer_chunk_from_bytes(context_.take_one(MessageKind::kOfferChunk).payload).value();
  }
  static std::string failure_of(Future<Receipt>& receipt) {
    if (!receipt.poll()) return "no outcome";
    const auto outcome = receipt.wait();
    return outcome ? "" : outcome.error().message();
  }

  EventLoop loop_;
  const std::vector<std::byte> bytes_ = std::vector<std::byte>(4096, std::byte{7});
  TestContext context_{single_node_layout(3), WritePlan{.strategy = Strategy::kSerial}, kRank};
  std::vector<std::uint64_t> resolved_;
  std::vector<bool> succeeded_;
  int released_ = 0;
  StepProducer producer_;
};

TEST_F(StepProducerTest, hashing_is_only_user_after_peer_release) {
  EXPECT_FALSE(producer_.is_hashing_only_user()) << "there is nothing to hash";
  producer_.begin(step_id(1));
  PackedChunk chunk = chunk_of(1, 0);
  chunk.to_hash = {{.number = 0, .seed = 1, .bytes = bytes_}};
  producer_.offer(std::move(chunk));
  EXPECT_FALSE(producer_.is_hashing_only_user());
  EXPECT_TRUE(producer_.handle_release_chunk(offered_chunk()));
  EXPECT_TRUE(producer_.is_hashing_only_user());
  EXPECT_EQ(released_, 0);
  EXPECT_TRUE(producer_.hash_next_piece());
  EXPECT_EQ(released_, 1);
  EXPECT_FALSE(producer_.is_hashing_only_user());
}

TEST_F(StepProducerTest, step_proceeds_from_offer_to_receipt) {
  producer_.begin(step_id(1));
  producer_.offer(chunk_of(1, 0));
  const OfferChunkMessage offered = offer();
  EXPECT_EQ(offered.chunk.origin, kRank);
  Future<Receipt> receipt = commit(1, test_metadata(1, 0, 2));
  const SentMessage finish = context_.take_one(MessageKind::kRegionCount);
  EXPECT_EQ(finish.to, 0U);
  EXPECT_EQ(finish.words, (AgentContext::Words{1, 1, 1})) << "one region";
  EXPECT_EQ(rank_summary_from_bytes(context_.take_one(MessageKind::kRankCommitted).payload)
                ->fields.size(),
            1U);
  EXPECT_TRUE(context_.take_messages(MessageKind::kRankMetadata).empty())
      << "before the offsets are known";

  EXPECT_TRUE(producer_.handle_release_chunk(offered.number));
  EXPECT_EQ(released_, 1);
  send_region_offsets(1, {1'048'576});
  const RankMetadata part =
      rank_metadata_from_bytes(context_.take_one(MessageKind::kRankMetadata).payload).value();
  ASSERT_EQ(part.blocks.size(), 2U);
  const RankMetadata in_region = test_metadata(1, 0, 2);
  for (std::size_t block = 0; block < 2; ++block)
    EXPECT_EQ(part.blocks[block].offset, in_region.blocks[block].offset + 1'048'576);

  EXPECT_EQ(failure_of(receipt), "no outcome");
  producer_.handle_step_outcome(step_id(1), {});
  EXPECT_EQ(failure_of(receipt), "");
  EXPECT_EQ(resolved_, std::vector<std::uint64_t>{1});
}

TEST_F(StepProducerTest, empty_blocks_get_valid_offsets) {
  producer_.begin(step_id(1));
  RankMetadata empty = test_metadata(1, 4, 0);
  empty.blocks.push_back({.part = 4});
  empty.dims.push_back(0);
  const auto receipt = commit(1, empty);
  send_region_offsets(1, {});
  const RankMetadata part =
      rank_metadata_from_bytes(context_.take_one(MessageKind::kRankMetadata).payload).value();
  ASSERT_EQ(part.blocks.size(), 1U);
  EXPECT_EQ(part.blocks[0].offset, format::kPageBytes);
}

TEST_F(StepProducerTest, metadata_is_sent_after_last_checksum) {
  producer_.begin(step_id(1));
  PackedChunk packed = chunk_of(1, 0);
  packed.to_hash = {{.number = 1, .seed = 11, .bytes = std::span(bytes_).first(800)},
                    {.number = 0, .seed = 10, .bytes = std::span(bytes_).last(800)}};
  producer_.offer(std::move(packed));
  const auto receipt = commit(1, test_metadata(1, 0, 2));
  send_region_offsets(1, {4096});
  EXPECT_TRUE(producer_.handle_release_chunk(offered_chunk()));
  EXPECT_EQ(released_, 0) << "its bytes are still to be hashed";
  EXPECT_TRUE(producer_.hash_next_piece());
  EXPECT_TRUE(context_.take_messages(MessageKind::kRankMetadata).empty());
  EXPECT_EQ(released_, 0);
  EXPECT_TRUE(producer_.hash_next_piece());
  EXPECT_EQ(released_, 1);
  const RankMetadata part =
      rank_metadata_from_bytes(context_.take_one(MessageKind::kRankMetadata).payload).value();
  EXPECT_EQ(part.piece_checksums, (std::vector{hash_of(std::span(bytes_).last(800), 10),
                                               hash_of(std::span(bytes_).first(800), 11)}));
  EXPECT_FALSE(producer_.hash_next_piece());
}

TEST_F(StepProducerTest, fetched_memory_is_released_after_send) {
  producer_.begin(step_id(1));
  producer_.offer(chunk_of(1, 0));
  const std::uint64_t chunk = offered_chunk();
  EXPECT_TRUE(producer_.handle_fetch_chunk({0}, chunk));
  const SentMessage bytes = context_.take_one(MessageKind::kChunkData);
  EXPECT_EQ(bytes.to, 0U);
  EXPECT_EQ(bytes.words[2], chunk);
  EXPECT_EQ(bytes.in_place.data(), bytes_.data()) << "without a copy";
  EXPECT_EQ(released_, 0);
  bytes.on_sent({});
  EXPECT_EQ(released_, 1);
  EXPECT_TRUE(producer_.handle_release_chunk(chunk));  // released twice
  EXPECT_EQ(released_, 1);
}

TEST_F(StepProducerTest, remote_failure_is_reported_at_commit) {
  producer_.begin(step_id(1));
  producer_.handle_step_outcome(step_id(1), failed_status("rank 1 has no room"));
  EXPECT_TRUE(resolved_.empty()) << "the application still has the step";
  producer_.offer(chunk_of(1, 0));
  EXPECT_EQ(released_, 1);
  EXPECT_TRUE(context_.take_messages(MessageKind::kOfferChunk).empty());
  Future<Receipt> receipt = commit(1, test_metadata(1, 0, 1));
  EXPECT_THAT(failure_of(receipt), HasSubstr("rank 1 has no room"));
  EXPECT_TRUE(context_.take_messages(MessageKind::kRankCommitted).empty());
  EXPECT_EQ(succeeded_, std::vector<bool>{false});
}

TEST_F(StepProducerTest, failure_before_begin_is_reported) {
  producer_.begin(step_id(1));
  Future<Receipt> first = commit(1, test_metadata(1, 0, 0));
  producer_.handle_step_outcome(step_id(2), failed_status("rank 1 is ahead and failed"));
  producer_.handle_step_outcome(step_id(1), {});
  EXPECT_EQ(failure_of(first), "");
  producer_.begin(step_id(2));
  Future<Receipt> second = commit(2, test_metadata(2, 0, 0));
  EXPECT_THAT(failure_of(second), HasSubstr("rank 1 is ahead and failed"));
  producer_.begin(step_id(3));
  Future<Receipt> third = commit(3, test_metadata(3, 0, 0));
  EXPECT_EQ(failure_of(third), "no outcome") << "a step that has not failed";
  producer_.shut_down(io_error("the end"));
}

TEST_F(StepProducerTest, memory_of_failed_step_stays_while_others_read_it) {
  producer_.begin(step_id(1));
  producer_.offer(chunk_of(1, 0));
  Future<Receipt> receipt = commit(1, test_metadata(1, 0, 1));
  producer_.handle_step_outcome(step_id(1), failed_status("skipped"));
  EXPECT_THAT(failure_of(receipt), HasSubstr("skipped"));
  EXPECT_EQ(released_, 0);
  EXPECT_TRUE(producer_.handle_release_chunk(offered_chunk()));
  EXPECT_EQ(released_, 1);
}

TEST_F(StepProducerTest, aborted_step_is_reported_and_not_awaited) {
  producer_.begin(step_id(1));
  producer_.offer(chunk_of(1, 0));
  producer_.abort_step(step_id(1), io_error("aborted"));
  const SentMessage message = context_.take_one(MessageKind::kStepFailed);
  EXPECT_EQ(message.to, AggregationMap::coordinator());
  EXPECT_THAT(comm::error_from_bytes(message.payload).value().message(), HasSubstr("aborted"));
  EXPECT_EQ(succeeded_, std::vector<bool>{false});
  producer_.leave();
  EXPECT_TRUE(producer_.has_left());
}

TEST_F(StepProducerTest, lost_writer_fails_step_and_releases_memory) {
  producer_.begin(step_id(1));
  producer_.offer(chunk_of(1, 0));
  Future<Receipt> receipt = commit(1, test_metadata(1, 0, 1));
  producer_.handle_rank_lost({1}, io_error("rank 1 was killed"));
  EXPECT_EQ(failure_of(receipt), "no outcome") << "this rank does not need rank 1";
  producer_.handle_rank_lost({0}, io_error("rank 0 was killed"));
  EXPECT_THAT(failure_of(receipt), HasSubstr("rank 0 was killed"));
  EXPECT_EQ(released_, 1);
  producer_.begin(step_id(2));
  Future<Receipt> next = commit(2, test_metadata(2, 0, 1));
  EXPECT_THAT(failure_of(next), HasSubstr("rank 0 was killed"));
}

TEST_F(StepProducerTest, leave_is_sent_after_all_steps_are_resolved) {
  producer_.begin(step_id(1));
  const auto receipt = commit(1, test_metadata(1, 0, 0));
  producer_.leave();
  EXPECT_FALSE(producer_.has_left());
  EXPECT_TRUE(context_.take_messages(MessageKind::kLeave).empty());
  producer_.handle_step_outcome(step_id(1), {});
  EXPECT_TRUE(producer_.has_left());
  producer_.leave();
  EXPECT_EQ(context_.take_one(MessageKind::kLeave).to, AggregationMap::coordinator());
}

// Its receipt once had an Error, while all others reported success.
TEST_F(StepProducerTest, possibly_published_step_waits_for_coordinator) {
  const WritePlan two{.strategy = Strategy::kReducedBlocking, .writers = 2, .files = 2};
  TestContext context(single_node_layout(4), two, 3);
  ASSERT_EQ(context.aggregation(step_id(1)).writer_of(3), 2U);
  std::vector<bool> succeeded;
  StepProducer member(context, [&](const StepId&, const Status& outcome) {
    succeeded.push_back(outcome.has_value());
  });
  for (const std::uint64_t number : {1U, 2U, 3U}) {
    const Promise<Receipt> promise(loop_, {.operation = "write"});
    member.begin(step_id(number));
    member.commit(step_id(number), {.record = test_metadata(number, 0, 0),
                                    .receipt = {.step = number},
                                    .begun_at = SteadyClock::shared().now(),
                                    .promise = promise});
    if (number < 3) {
      EXPECT_TRUE(member.handle_regions_written(step_id(number), {}));
    }
  }
  member.handle_rank_lost({2}, io_error("rank 2 was killed"));
  EXPECT_EQ(context.take_messages(MessageKind::kStepFailed).size(), 3U);
  EXPECT_EQ(succeeded, std::vector<bool>{false}) << "step 3 cannot be published";
  member.handle_step_outcome(step_id(1), {});
  member.handle_step_outcome(step_id(2), failed_status("rank 2 was killed"));
  EXPECT_EQ(succeeded, (std::vector<bool>{false, true, false}));
}

TEST_F(StepProducerTest, canceled_step_fails_and_does_not_block_leave) {
  producer_.begin(step_id(1));
  const auto receipt = commit(1, test_metadata(1, 0, 0));
  producer_.begin(step_id(2));
  producer_.cancel_step(step_id(2), io_error("the Runtime has ended"));
  EXPECT_EQ(context_.take_one(MessageKind::kStepFailed).words[0], 2U);
  producer_.leave();
  EXPECT_FALSE(producer_.has_left()) << "a committed step is still awaited";
  producer_.handle_step_outcome(step_id(1), {});
  EXPECT_TRUE(producer_.has_left());
  Future<Receipt> late = commit(2, test_metadata(2, 0, 0));
  EXPECT_THAT(failure_of(late), HasSubstr("the Runtime has ended"));
  producer_.cancel_step(step_id(2), io_error("again"));
}

TEST_F(StepProducerTest, shut_down_fails_steps_and_releases_memory) {
  producer_.begin(step_id(1));
  PackedChunk packed = chunk_of(1, 0);
  packed.to_hash = {{.number = 0, .seed = 1, .bytes = std::span(bytes_).first(8)}};
  producer_.offer(std::move(packed));
  Future<Receipt> first = commit(1, test_metadata(1, 0, 1));
  producer_.begin(step_id(2));  // the application still has this step
  producer_.shut_down(io_error("the end"));
  EXPECT_THAT(failure_of(first), HasSubstr("the end"));
  EXPECT_EQ(released_, 1);
  EXPECT_EQ(resolved_, (std::vector<std::uint64_t>{1, 2}));
  EXPECT_EQ(succeeded_, (std::vector<bool>{false, false}));
}

}  // namespace
}  // namespace forebay::write
