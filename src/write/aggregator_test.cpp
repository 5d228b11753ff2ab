// SPDX-License-Identifier: Apache-2.0
// One aggregator alone: how much it fetches, what it does without other ranks, and what it
// releases.
#include "write/aggregator.hpp"

#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/testing.hpp"
#include "comm/error_bytes.hpp"
#include "comm/in_process.hpp"
#include "write/message_codec.hpp"
#include "write/role_testing.hpp"

namespace forebay::write {
namespace {

using ::testing::HasSubstr;
using RandomValues = std::vector<std::uint64_t>;

constexpr std::uint64_t kBytes = 64_KiB;  ///< of a chunk, and of a segment

WritePlan plan_to_rank_0(Exchange exchange) {
  const bool gathers = exchange == Exchange::kGather;
  WritePlan plan{.strategy = gathers ? Strategy::kGather : Strategy::kReducedBlocking,
                 .writers = 1,
                 .files = 1};
  plan.tuning.exchange = exchange;
  plan.tuning.steps_per_group = 1;
  return plan;
}

class AggregatorTest : public ::testing::Test {
 protected:
  /// Rank `me` of four, with receiving memory for `segments` chunks.
  void start(const WritePlan& plan, std::uint32_t segments, std::uint32_t me = 0) {
    auto receive_staging = StagingPool::create(
        {.memory_bytes = segments * kBytes, .segment_bytes = kBytes, .prefault_bytes = 0});
    ASSERT_TRUE(receive_staging) << receive_staging.error().message();
    receive_staging_ = *receive_staging;
    context_ = std::make_unique<TestContext>(single_node_layout(4), plan, me);
    aggregator_ = std::make_unique<Aggregator>(*context_, receive_staging_);
  }
  /// A chunk that is a whole region; its number is that of the region.
  void offer(std::uint32_t from, std::uint32_t region, std::uint64_t number = 1) {
    const Chunk chunk{.step = step_id(number),
                      .origin = from,
                      .region = region,
                      .region_bytes = kBytes,
                      .bytes = kBytes,
                      .is_last = true};
    EXPECT_TRUE(aggregator_->handle_offer_chunk({from}, {chunk, region, {}, 0}));
  }
  /// The chunks that are fetched now.
  RandomValues fetched_chunks() {
    context_->run_pending();
    RandomValues chunks;
    for (const SentMessage& message : context_->take_messages(MessageKind::kFetchChunk))
      chunks.push_back(message.words[2]);
    return chunks;
  }
  void deliver_bytes(std::uint32_t from, std::uint64_t chunk) {
    const auto room = aggregator_->receive_buffer({from}, chunk, kBytes);
    ASSERT_EQ(room.size(), kBytes);
    std::ranges::fill(room, static_cast<std::byte>(from));
    aggregator_->handle_chunk_data({from}, chunk);
  }
  /// Replies to all requests for space, as a file owner does; returns their number.
  std::size_t allocate_all() {
    const auto questions = context_->take_messages(MessageKind::kAllocateRequest);
    for (const SentMessage& request : questions) {
      EXPECT_TRUE(aggregator_->handle_allocate_reply(request.words[2], end_));
      end_ += request.words[3];
    }
    context_->complete_all(FileOperation::kOpen);
    return questions.size();
  }
  std::string failure() {
    const SentMessage message = context_->take_one(MessageKind::kStepFailed);
    return message.payload.empty() ? "" : comm::error_from_bytes(message.payload).value().message();
  }
  std::uint32_t segments_in_use() const { return receive_staging_->counts().in_use; }

  std::uint64_t end_ = format::kPageBytes;
  std::shared_ptr<StagingPool> receive_staging_;
  std::unique_ptr<TestContext> context_;
  std::unique_ptr<Aggregator> aggregator_;
};

TEST_F(AggregatorTest, chunks_are_fetched_as_memory_becomes_free) {
  start(plan_to_rank_0(Exchange::kMessage), 2);
  for (std::uint32_t chunk = 0; chunk < 5; ++chunk)
    offer(1, chunk);
  EXPECT_EQ(fetched_chunks(), (RandomValues{0, 1}));
  deliver_bytes(1, 0);
  deliver_bytes(1, 1);
  EXPECT_EQ(fetched_chunks(), RandomValues{}) << "its memory is full";
  EXPECT_EQ(allocate_all(), 2U);
  EXPECT_TRUE(context_->complete(FileOperation::kWrite));
  EXPECT_EQ(fetched_chunks(), RandomValues{2});
  EXPECT_TRUE(context_->complete(FileOperation::kWrite));
  EXPECT_EQ(fetched_chunks(), RandomValues{3});
  EXPECT_EQ(receive_staging_->counts().in_use_max, 2U);
}

// It once waited for the file of the next step, which was being created on the same thread.
TEST_F(AggregatorTest, file_created_by_its_rank_is_not_opened) {
  start(plan_to_rank_0(Exchange::kMessage), 2);
  context_->file_writer().create({1, 0}, 0, {},
                                 [this](const Result<std::shared_ptr<DataFile>>& file) {
                                   ASSERT_TRUE(file);
                                   aggregator_->set_file(step_id(1).group, *file);
                                 });
  context_->complete_all(FileOperation::kCreate);
  offer(1, 0);
  EXPECT_EQ(fetched_chunks(), RandomValues{0});
  deliver_bytes(1, 0);
  const SentMessage request = context_->take_one(MessageKind::kAllocateRequest);
  EXPECT_TRUE(aggregator_->handle_allocate_reply(request.words[2], end_));
  EXPECT_TRUE(context_->requests(FileOperation::kOpen).empty());
  EXPECT_EQ(context_->requests(FileOperation::kWrite).size(), 1U);
}

TEST_F(AggregatorTest, unmappable_own_memory_fails_step) {
  // It has no sources, so it has no receiving memory.
  context_ = std::make_unique<TestContext>(single_node_layout(4),
                                           WritePlan{.strategy = Strategy::kFilePerProcess}, 2);
  aggregator_ = std::make_unique<Aggregator>(*context_, nullptr);
  offer(2, 7);
  EXPECT_NE(failure(), "");
  EXPECT_EQ(context_->take_one(MessageKind::kReleaseChunk).words[2], 7U)
      << "its memory is released";
  EXPECT_TRUE(context_->take_messages(MessageKind::kFetchChunk).empty());
}

TEST_F(AggregatorTest, lost_owner_releases_waiting_chunks_and_refuses_more) {
  WritePlan baton{.strategy = Strategy::kBaton, .writers = 4, .files = 1};
  baton.tuning.steps_per_group = 1;
  start(baton, 3, 2);
  for (std::uint32_t chunk = 0; chunk < 2; ++chunk) {
    offer(2, chunk);
    fetched_chunks();
    deliver_bytes(2, chunk);
  }
  offer(2, 2);  // its bytes have not arrived
  EXPECT_EQ(context_->take_messages(MessageKind::kAllocateRequest).size(), 2U);
  aggregator_->handle_rank_lost({0}, io_error("killed"));
  EXPECT_THAT(failure(), HasSubstr("killed"));
  EXPECT_EQ(segments_in_use(), 1U) << "for a chunk that is being fetched";
  offer(2, 0, 2);
  EXPECT_THAT(failure(), HasSubstr("killed")) << "for a later step";
  EXPECT_EQ(context_->take_messages(MessageKind::kReleaseChunk).size(), 1U);
  offer(2, 1, 2);
  EXPECT_TRUE(context_->take_messages(MessageKind::kStepFailed).empty()) << "reported once";
}

TEST_F(AggregatorTest, unused_io_rank_ignores_lost_ranks) {
  const RankLayout rank_layout{.node_of_compute_rank = {0, 0}, .node_of_io_rank = {0, 0}};
  WritePlan plan{.strategy = Strategy::kReducedBlocking, .writers = 1, .files = 1};
  plan.tuning.placement = Placement::kDedicated;
  for (const std::uint32_t me : {2U, 3U}) {
    context_ = std::make_unique<TestContext>(rank_layout, plan, me);
    aggregator_ = std::make_unique<Aggregator>(*context_, nullptr);
    aggregator_->handle_rank_lost({0}, io_error("killed"));
    EXPECT_TRUE(context_->take_messages(MessageKind::kStepFailed).empty()) << "rank " << me;
  }
}

TEST_F(AggregatorTest, chunks_are_written_at_allocated_offset) {
  start(plan_to_rank_0(Exchange::kMessage), 2);
  offer(3, 0);
  fetched_chunks();
  deliver_bytes(3, 0);
  EXPECT_EQ(allocate_all(), 1U);
  const auto written = context_->requests(FileOperation::kWrite);
  ASSERT_EQ(written.size(), 1U);
  EXPECT_EQ(written[0].offset, format::kPageBytes);
  ASSERT_EQ(written[0].bytes.size(), kBytes);
  EXPECT_EQ(written[0].bytes.back(), std::byte{3});
  EXPECT_TRUE(context_->take_messages(MessageKind::kRegionsWritten).empty());
  EXPECT_TRUE(aggregator_->handle_region_count(step_id(1), 3, 1));
  context_->complete(FileOperation::kWrite);
  const SentMessage message = context_->take_one(MessageKind::kRegionsWritten);
  EXPECT_EQ(message.to, 3U);
  EXPECT_EQ(message.payload.size(), sizeof(std::uint64_t));
  EXPECT_EQ(aggregator_->written_bytes(), kBytes);
  EXPECT_EQ(segments_in_use(), 0U);
}

TEST_F(AggregatorTest, bytes_of_wrong_size_or_not_fetched_get_no_buffer) {
  start(plan_to_rank_0(Exchange::kMessage), 1);
  offer(1, 0);
  offer(2, 0);
  EXPECT_TRUE(aggregator_->receive_buffer({1}, 0, kBytes - 1).empty());
  EXPECT_TRUE(aggregator_->receive_buffer({2}, 0, kBytes).empty()) << "it waits for memory";
  EXPECT_TRUE(aggregator_->receive_buffer({3}, 0, kBytes).empty());
  EXPECT_EQ(aggregator_->receive_buffer({1}, 0, kBytes).size(), kBytes);
}

TEST_F(AggregatorTest, gather_waits_for_whole_group) {
  start(plan_to_rank_0(Exchange::kGather), 4);
  for (std::uint32_t rank = 1; rank < 4; ++rank)
    offer(rank, 0);
  fetched_chunks();
  for (std::uint32_t rank = 1; rank < 4; ++rank)
    deliver_bytes(rank, 0);
  for (std::uint32_t rank = 0; rank < 3; ++rank)
    EXPECT_TRUE(aggregator_->handle_region_count(step_id(1), rank, rank == 0 ? 0 : 1));
  EXPECT_EQ(allocate_all(), 0U);
  EXPECT_TRUE(aggregator_->handle_region_count(step_id(1), 3, 1));
  EXPECT_EQ(allocate_all(), 3U);
}

TEST_F(AggregatorTest, gather_without_memory_drains_independently) {
  start(plan_to_rank_0(Exchange::kGather), 2);
  for (std::uint32_t chunk = 0; chunk < 3; ++chunk)
    offer(1, chunk);  // ranks 2 and 3 never offer
  EXPECT_EQ(fetched_chunks(), (RandomValues{0, 1}));
  deliver_bytes(1, 0);
  deliver_bytes(1, 1);
  EXPECT_EQ(allocate_all(), 2U) << "so that there is memory for the third";
  EXPECT_EQ(context_->complete_all(FileOperation::kWrite), 2U);
  EXPECT_EQ(fetched_chunks(), RandomValues{2});
}

TEST_F(AggregatorTest, relay_holds_no_more_than_its_memory) {
  WritePlan plan{.strategy = Strategy::kBrigade, .writers = 1, .files = 1};
  start(plan, 2, 1);
  ASSERT_EQ(context_->aggregation(step_id(1)).next_hop(1), 0U);
  ASSERT_EQ(context_->aggregation(step_id(1)).next_hop(2), 1U);
  for (std::uint32_t chunk = 0; chunk < 4; ++chunk)
    offer(2, chunk);
  EXPECT_EQ(fetched_chunks(), (RandomValues{0, 1}));
  deliver_bytes(2, 0);
  deliver_bytes(2, 1);
  const auto passed = context_->take_messages(MessageKind::kOfferChunk);
  ASSERT_EQ(passed.size(), 2U);
  const auto message = offer_chunk_from_bytes(passed[0].payload).value();
  EXPECT_EQ(passed[0].to, 0U);
  EXPECT_EQ(message.chunk.origin, 2U) << "the rank that put them";
  EXPECT_NE(message.number & kRelayFlag, 0U);
  EXPECT_EQ(fetched_chunks(), RandomValues{}) << "before the next rank has taken any";
  EXPECT_TRUE(context_->take_messages(MessageKind::kAllocateRequest).empty())
      << "this rank is not the writer";
  EXPECT_TRUE(aggregator_->handle_fetch_chunk({0}, message.number));
  const SentMessage bytes = context_->take_one(MessageKind::kChunkData);
  EXPECT_EQ(bytes.in_place.size(), kBytes);
  bytes.on_sent({});
  EXPECT_EQ(fetched_chunks(), RandomValues{2});
  EXPECT_TRUE(aggregator_->handle_release_chunk(
      offer_chunk_from_bytes(passed[1].payload).value().number));  // out of shared memory
  EXPECT_EQ(fetched_chunks(), RandomValues{3});
  EXPECT_EQ(receive_staging_->counts().in_use_max, 2U);
}

TEST_F(AggregatorTest, relay_with_lost_next_hop_fails_and_releases_chunks) {
  WritePlan plan{.strategy = Strategy::kBrigade, .writers = 1, .files = 1};
  start(plan, 2, 1);
  offer(2, 0);
  fetched_chunks();
  deliver_bytes(2, 0);
  aggregator_->handle_rank_lost({0}, io_error("rank 0 was killed"));
  EXPECT_THAT(failure(), HasSubstr("rank 0 was killed"));
  EXPECT_EQ(segments_in_use(), 0U);
}

TEST_F(AggregatorTest, lost_source_fails_its_step_and_frees_memory) {
  start(plan_to_rank_0(Exchange::kMessage), 1);
  offer(1, 0);
  offer(2, 0);
  EXPECT_EQ(fetched_chunks(), RandomValues{0});
  aggregator_->handle_rank_lost({1}, io_error("rank 1 was killed"));
  EXPECT_THAT(failure(), HasSubstr("rank 1 was killed"));
  EXPECT_EQ(fetched_chunks(), RandomValues{0}) << "the chunk of rank 2";
  EXPECT_EQ(aggregator_->receive_buffer({2}, 0, kBytes).size(), kBytes);
}

TEST_F(AggregatorTest, failed_write_is_reported_and_memory_released) {
  start(plan_to_rank_0(Exchange::kMessage), 1);
  offer(1, 0);
  fetched_chunks();
  deliver_bytes(1, 0);
  EXPECT_TRUE(aggregator_->handle_region_count(step_id(1), 1, 1));
  allocate_all();
  context_->complete(FileOperation::kWrite, failed_status("a bad block"));
  EXPECT_THAT(failure(), HasSubstr("a bad block"));
  EXPECT_TRUE(context_->take_messages(MessageKind::kRegionsWritten).empty());
  EXPECT_EQ(segments_in_use(), 0U);
}

TEST_F(AggregatorTest, failed_open_fails_step_and_is_retried_for_next) {
  start(plan_to_rank_0(Exchange::kMessage), 1);
  offer(1, 0);
  fetched_chunks();
  deliver_bytes(1, 0);
  const auto request = context_->take_one(MessageKind::kAllocateRequest);
  EXPECT_TRUE(aggregator_->handle_allocate_reply(request.words[2], 4096));
  context_->complete(FileOperation::kOpen, failed_status("it is missing", ENOENT));
  EXPECT_THAT(failure(), HasSubstr("it is missing"));
  EXPECT_EQ(segments_in_use(), 0U);
  aggregator_->handle_step_outcome(step_id(1), failed_status("it is missing", ENOENT));
  offer(1, 1, 2);
  fetched_chunks();
  deliver_bytes(1, 1);
  EXPECT_EQ(allocate_all(), 1U);
  EXPECT_TRUE(context_->complete(FileOperation::kWrite));
}

TEST_F(AggregatorTest, aborted_step_keeps_only_chunks_in_flight) {
  start(plan_to_rank_0(Exchange::kMessage), 3);
  offer(1, 0);
  offer(1, 1);
  offer(2, 0);
  offer(2, 1);
  EXPECT_EQ(fetched_chunks(), (RandomValues{0, 1, 0}));
  deliver_bytes(1, 0);
  allocate_all();  // the first one is being written
  deliver_bytes(1, 1);
  aggregator_->handle_step_outcome(step_id(1), failed_status("skipped"));
  const auto request = context_->take_one(MessageKind::kAllocateRequest);
  EXPECT_TRUE(aggregator_->handle_allocate_reply(request.words[2], 8192));  // late
  EXPECT_EQ(context_->requests(FileOperation::kWrite).size(), 1U);
  EXPECT_EQ(segments_in_use(), 2U) << "the chunk that is written, and the one that was fetched";
  EXPECT_TRUE(context_->complete(FileOperation::kWrite));
  deliver_bytes(2, 0);
  EXPECT_EQ(segments_in_use(), 0U);
  EXPECT_EQ(allocate_all(), 0U);
  offer(3, 0);
  EXPECT_EQ(context_->take_messages(MessageKind::kReleaseChunk).size(), 2U)
      << "later offers are not needed";
}

TEST_F(AggregatorTest, late_bytes_of_aborted_step_are_ignored) {
  start(plan_to_rank_0(Exchange::kMessage), 2);
  offer(1, 0);
  offer(1, 1);
  EXPECT_EQ(fetched_chunks(), (RandomValues{0, 1}));
  deliver_bytes(1, 0);
  allocate_all();  // the first region is being written
  aggregator_->handle_step_outcome(step_id(1), failed_status("skipped"));
  deliver_bytes(1, 1);
  EXPECT_TRUE(context_->complete(FileOperation::kWrite));
  EXPECT_EQ(segments_in_use(), 0U);
}

TEST_F(AggregatorTest, failed_later_step_keeps_file_of_earlier_step) {
  start(plan_to_rank_0(Exchange::kMessage), 2);
  offer(1, 0, 1);
  fetched_chunks();
  deliver_bytes(1, 0);
  allocate_all();
  aggregator_->handle_step_outcome(step_id(2), failed_status("aborted"));
  offer(1, 1, 1);
  fetched_chunks();
  deliver_bytes(1, 1);
  EXPECT_EQ(allocate_all(), 1U);
  EXPECT_TRUE(context_->requests(FileOperation::kOpen).empty()) << "it is open already";
  EXPECT_EQ(context_->complete_all(FileOperation::kWrite), 2U);
  EXPECT_TRUE(aggregator_->handle_region_count(step_id(1), 1, 2));
  EXPECT_EQ(context_->take_one(MessageKind::kRegionsWritten).to, 1U);
}

TEST_F(AggregatorTest, region_with_failed_chunk_is_not_reported) {
  start(plan_to_rank_0(Exchange::kMessage), 2);
  for (std::uint32_t piece = 0; piece < 2; ++piece) {
    const Chunk chunk{.step = step_id(1),
                      .origin = 1,
                      .region_bytes = 2 * kBytes,
                      .offset = piece * kBytes,
                      .bytes = kBytes,
                      .is_last = piece == 1};
    EXPECT_TRUE(aggregator_->handle_offer_chunk({1}, {chunk, piece, {}, 0}));
  }
  fetched_chunks();
  deliver_bytes(1, 0);
  deliver_bytes(1, 1);
  allocate_all();
  EXPECT_TRUE(aggregator_->handle_region_count(step_id(1), 1, 1));
  EXPECT_TRUE(context_->complete(FileOperation::kWrite, failed_status("a bad block")));
  EXPECT_TRUE(context_->complete(FileOperation::kWrite));
  EXPECT_THAT(failure(), HasSubstr("a bad block"));
  EXPECT_TRUE(context_->take_messages(MessageKind::kRegionsWritten).empty());
}

TEST_F(AggregatorTest, baton_is_released_when_all_regions_are_written) {
  WritePlan plan{.strategy = Strategy::kBaton, .writers = 4, .files = 1};
  start(plan, 2, 2);
  auto staging = StagingPool::create({.memory_bytes = 2 * kBytes, .segment_bytes = kBytes});
  ASSERT_TRUE(staging) << staging.error().message();
  for (std::uint32_t region = 0; region < 2; ++region) {
    const Chunk chunk{.step = step_id(1),
                      .origin = 2,
                      .region = region,
                      .region_bytes = kBytes,
                      .bytes = kBytes,
                      .is_last = true};
    EXPECT_TRUE(aggregator_->handle_offer_chunk(
        {2}, {chunk, region, (*staging)->handle(), region * kBytes}));
  }
  EXPECT_EQ(allocate_all(), 2U);
  EXPECT_TRUE(context_->complete(FileOperation::kWrite));
  EXPECT_TRUE(context_->take_messages(MessageKind::kReleaseBaton).empty());
  EXPECT_EQ(context_->take_one(MessageKind::kRenewBaton).to, 0U);
  EXPECT_TRUE(context_->complete(FileOperation::kWrite));
  EXPECT_EQ(context_->take_one(MessageKind::kReleaseBaton).to, 0U);
  EXPECT_EQ(context_->take_messages(MessageKind::kReleaseChunk).size(), 2U)
      << "to this rank: its memory is free";
}

TEST_F(AggregatorTest, unused_space_of_compressed_blocks_is_trimmed_once) {
  start(plan_to_rank_0(Exchange::kMessage), 2);
  const auto piece = [](std::uint64_t offset, bool is_last) {
    return Chunk{.step = step_id(1),
                 .origin = 1,
                 .region = 0,
                 .region_bytes = 8 * kBytes,
                 .offset = offset,
                 .bytes = kBytes,
                 .is_last = is_last};
  };
  EXPECT_TRUE(aggregator_->handle_offer_chunk({1}, {piece(0, false), 0, {}, 0}));
  EXPECT_TRUE(aggregator_->handle_offer_chunk({1}, {piece(kBytes, true), 1, {}, 0}));
  fetched_chunks();
  deliver_bytes(1, 0);
  EXPECT_EQ(allocate_all(), 1U);
  EXPECT_TRUE(context_->take_messages(MessageKind::kTrimAllocation).empty())
      << "before its size is known";
  deliver_bytes(1, 1);
  const SentMessage trim = context_->take_one(MessageKind::kTrimAllocation);
  EXPECT_EQ(trim.words, (AgentContext::Words{format::kPageBytes, 1, 8 * kBytes, 2 * kBytes}));
  EXPECT_EQ(context_->requests(FileOperation::kWrite).size(), 2U);
}

TEST_F(AggregatorTest, mismatched_steps_of_one_file_keep_it_open) {
  start(plan_to_rank_0(Exchange::kMessage), 2);
  const StepId mine{6, 0};
  const Chunk chunk{
      .step = mine, .origin = 1, .region_bytes = kBytes, .bytes = kBytes, .is_last = true};
  EXPECT_TRUE(aggregator_->handle_offer_chunk({1}, {chunk, 0, {}, 0}));
  fetched_chunks();
  deliver_bytes(1, 0);
  allocate_all();
  aggregator_->handle_step_outcome({5, 0}, failed_status("ranks have begun different steps"));
  EXPECT_EQ(context_->complete_all(FileOperation::kWrite), 1U);
  EXPECT_TRUE(aggregator_->handle_region_count(mine, 1, 1));
  EXPECT_EQ(context_->take_one(MessageKind::kRegionsWritten).to, 1U);
}

TEST_F(AggregatorTest, relay_with_lost_next_hop_refuses_later_steps) {
  WritePlan plan{.strategy = Strategy::kBrigade, .writers = 1, .files = 1};
  start(plan, 2, 1);
  aggregator_->handle_rank_lost({0}, io_error("rank 0 was killed"));
  offer(2, 0, 5);
  EXPECT_THAT(failure(), HasSubstr("rank 0 was killed"));
  EXPECT_EQ(context_->take_one(MessageKind::kReleaseChunk).to, 2U) << "its memory is released";
  EXPECT_EQ(fetched_chunks(), RandomValues{});
}

/// Each rank writes its own bytes, together with the others or, without memory, independently.
class AggregatorCollectiveTest : public AggregatorTest {
 protected:
  void SetUp() override {
    auto caller = CollectiveIoThread::start(comm::self_communicator());
    ASSERT_TRUE(caller) << caller.error().message();
    collective_io_thread_ = std::move(*caller);
    auto staging = StagingPool::create({.memory_bytes = 2 * kBytes, .segment_bytes = kBytes});
    ASSERT_TRUE(staging) << staging.error().message();
    staging_ = *staging;
    context_ = std::make_unique<TestContext>(
        single_node_layout(4), WritePlan{.strategy = Strategy::kCollective, .files = 1}, 2);
    context_->set_collective_io_thread(*collective_io_thread_);
    aggregator_ = std::make_unique<Aggregator>(*context_, nullptr);
  }
  /// Half of a region.
  void offer_own(std::uint64_t number, std::uint32_t region, std::uint64_t offset = 0) {
    const Chunk chunk{.step = step_id(number),
                      .origin = 2,
                      .region = region,
                      .region_bytes = 2 * kBytes,
                      .offset = offset,
                      .bytes = kBytes,
                      .is_last = offset > 0};
    EXPECT_TRUE(
        aggregator_->handle_offer_chunk({2}, {chunk, next_chunk_++, staging_->handle(), 0}));
    allocate_all();
  }
  std::size_t complete_writes() { return context_->complete_all(FileOperation::kWrite); }

  std::unique_ptr<CollectiveIoThread> collective_io_thread_;
  std::shared_ptr<StagingPool> staging_;
  std::uint64_t next_chunk_ = 0;
};

TEST_F(AggregatorCollectiveTest, step_without_memory_writes_independently) {
  offer_own(1, 0);
  EXPECT_EQ(complete_writes(), 0U);
  aggregator_->write_pending_independently(step_id(1));
  EXPECT_EQ(complete_writes(), 1U);
  offer_own(1, 1);
  EXPECT_EQ(complete_writes(), 1U);
  EXPECT_TRUE(aggregator_->handle_region_count(step_id(1), 2, 2));
  offer_own(2, 0);
  EXPECT_EQ(complete_writes(), 0U) << "in a later step";
}

TEST_F(AggregatorCollectiveTest, direct_bytes_are_written_by_queue_once_all_are_ready) {
  offer_own(1, 0);
  EXPECT_TRUE(aggregator_->handle_region_count(step_id(1), 2, 1));
  EXPECT_TRUE(context_->take_messages(MessageKind::kCollectiveReady).empty())
      << "half of a region is missing";
  offer_own(1, 0, kBytes);
  EXPECT_EQ(context_->take_messages(MessageKind::kCollectiveReady).size(), 1U);
  EXPECT_EQ(complete_writes(), 0U);
  EXPECT_TRUE(aggregator_->handle_collective_start(step_id(1), CollectiveMethod::kIndependent, {}));
  EXPECT_TRUE(context_->take_messages(MessageKind::kRegionsWritten).empty());
  EXPECT_EQ(complete_writes(), 2U);
  context_->run_pending();
  EXPECT_EQ(context_->take_messages(MessageKind::kRegionsWritten).size(), 1U);
}

// put() once waited for its deadline, because the end of the step before canceled the request.
TEST_F(AggregatorCollectiveTest, end_of_previous_step_keeps_independent_writes) {
  aggregator_->write_pending_independently(step_id(2));
  EXPECT_TRUE(aggregator_->handle_region_count(step_id(1), 2, 0));
  offer_own(2, 0);
  EXPECT_EQ(complete_writes(), 1U);
}

}  // namespace
}  // namespace forebay::write
