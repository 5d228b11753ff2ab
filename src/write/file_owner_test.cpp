// SPDX-License-Identifier: Apache-2.0
// The owner of a file alone: space, the baton, and the index that ends a step.
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
#include "write/message_codec.hpp"
#include "write/role_testing.hpp"
#include "write/step_coverage.hpp"

namespace forebay::write {
namespace {

using format::kPageBytes;
using std::chrono::milliseconds;
using std::chrono::steady_clock;
using ::testing::HasSubstr;

constexpr std::uint64_t kAlignmentBytes = 64_KiB;
constexpr format::DatasetId kOwnedDataset{std::byte{3}};

StepId step_in_group(std::uint64_t number, std::uint64_t group) { return {number, group}; }

/// Three writers of one file, with independent writes.
WritePlan shared_file(std::uint32_t steps_per_group = 1) {
  WritePlan plan{.strategy = Strategy::kReducedBlocking, .writers = 3, .files = 1};
  plan.tuning.alignment_bytes = kAlignmentBytes;
  plan.steps_in_flight = 2;
  plan.tuning.steps_per_group = steps_per_group;
  return plan;
}

/// The same with a baton.
WritePlan baton() {
  WritePlan plan{.strategy = Strategy::kBaton, .writers = 3, .files = 1};
  plan.steps_in_flight = 2;
  plan.tuning.steps_per_group = 1;
  return plan;
}

/// An allocation: the writer that received it, the number of its request, the offset.
struct Grant {
  std::uint32_t to = 0;
  std::uint64_t request = 0;
  std::uint64_t offset = 0;

  friend bool operator==(const Grant&, const Grant&) = default;
};
using Grants = std::vector<Grant>;

/// Metadata of a rank in step 1: a block of a global array of 16 x 8. Blocks with another first row
/// lie elsewhere.
RankMetadata test_array_metadata(const format::Coordinates& start,
                                 const format::Coordinates& count) {
  const std::uint64_t bytes = count[0] * count[1] * sizeof(double);
  RankMetadata record{.step = 1, .regions = bytes > 0 ? 1U : 0U, .raw_bytes = bytes};
  record.fields.push_back({.name = "pressure",
                           .type = ElementType::kFloat64,
                           .kind = format::FieldKind::kGlobal,
                           .dimensions = 2,
                           .shape = {16, 8}});
  record.blocks.push_back({.offset = kPageBytes * (1 + start[0]),
                           .raw_bytes = bytes,
                           .stored_bytes = bytes,
                           .region = bytes > 0 ? 0U : kNoRegion});
  record.dims = {start[0], start[1], count[0], count[1]};
  record.piece_checksums.resize(format::piece_count(bytes));
  return record;
}

class FileOwnerTest : public ::testing::Test {
 protected:
  void start(const WritePlan& plan) {
    context_ = std::make_unique<TestContext>(single_node_layout(3), plan, 0);
    file_owner_ = std::make_unique<FileOwner>(*context_, FileOwner::Setup{kOwnedDataset, 1, 0});
    file_owner_->start();
  }
  void start_with_file(const WritePlan& plan) {
    start(plan);
    context_->complete_all(FileOperation::kCreate);
  }
  Grants grants() {
    Grants places;
    for (const SentMessage& message : context_->take_messages(MessageKind::kAllocateReply))
      places.push_back({message.to, message.words[2], message.words[3]});
    return places;
  }
  /// After an allocation for all of the metadata's blocks.
  void send_all_metadata(const StepId& name) {
    EXPECT_TRUE(file_owner_->handle_allocate_request({0}, name, 0, 1_MiB));
    for (std::uint32_t rank = 0; rank < 3; ++rank)
      send_metadata(rank, name, test_metadata(name.step, rank * 10, 2));
    context_->run_pending();
  }
  void send_metadata(std::uint32_t rank, const StepId& name, const RankMetadata& part) {
    const comm::Bytes bytes = to_bytes(part);
    EXPECT_TRUE(file_owner_->handle_rank_metadata({rank}, name, bytes, bytes.size()));
  }
  void publish(const StepId& name) {
    file_owner_->handle_step_outcome(name, StepOutcome::kPublished, {});
  }
  void fail(const StepId& name, const std::string& cause, int error_number = EIO) {
    file_owner_->handle_step_outcome(name, StepOutcome::kFailed,
                                     failed_status(cause, error_number));
  }
  std::string failure() {
    const SentMessage message = context_->take_one(MessageKind::kStepFailed);
    EXPECT_EQ(message.to, AggregationMap::coordinator());
    return message.payload.empty() ? "" : comm::error_from_bytes(message.payload).value().message();
  }
  /// Groups of the files that are removed.
  std::vector<std::uint64_t> removed_groups() const {
    std::vector<std::uint64_t> groups;
    for (const FileRequest& request : context_->requests(FileOperation::kRemove))
      groups.push_back(request.name.group);
    return groups;
  }

  std::vector<FileRequest> truncations() const {
    return context_->requests(FileOperation::kTruncate);
  }

  std::unique_ptr<TestContext> context_;
  std::unique_ptr<FileOwner> file_owner_;
};

TEST_F(FileOwnerTest, files_are_created_ahead_of_need) {
  start(shared_file());
  const auto made = context_->requests(FileOperation::kCreate);
  ASSERT_EQ(made.size(), 2U);
  EXPECT_EQ(made[0].name, (format::DataFileName{1, 0}));
  EXPECT_EQ(made[1].name, (format::DataFileName{2, 0}));
  EXPECT_TRUE(file_owner_->handle_allocate_request({1}, step_in_group(5, 2), 0, 100));
  EXPECT_EQ(context_->requests(FileOperation::kCreate).back().name, (format::DataFileName{3, 0}));
}

TEST_F(FileOwnerTest, space_is_allocated_in_arrival_order_and_aligned) {
  start_with_file(shared_file());
  EXPECT_TRUE(file_owner_->handle_allocate_request({2}, step_in_group(1, 1), 7, 100));
  EXPECT_TRUE(file_owner_->handle_allocate_request({0}, step_in_group(1, 1), 1, kAlignmentBytes));
  EXPECT_TRUE(
      file_owner_->handle_allocate_request({1}, step_in_group(1, 1), 4, kAlignmentBytes + 1));
  EXPECT_TRUE(file_owner_->handle_allocate_request({2}, step_in_group(1, 1), 8, 1));
  EXPECT_EQ(grants(), (Grants{{2, 7, kAlignmentBytes},
                              {0, 1, kAlignmentBytes + kAlignmentBytes},
                              {1, 4, kAlignmentBytes + 2 * kAlignmentBytes},
                              {2, 8, kAlignmentBytes + 4 * kAlignmentBytes}}));
}

TEST_F(FileOwnerTest, requests_wait_for_file_and_keep_order) {
  start(shared_file());
  EXPECT_TRUE(file_owner_->handle_allocate_request({2}, step_in_group(1, 1), 7, 100));
  EXPECT_TRUE(file_owner_->handle_allocate_request({0}, step_in_group(1, 1), 1, 100));
  EXPECT_EQ(grants(), Grants{});
  context_->complete(FileOperation::kCreate);
  EXPECT_EQ(grants(), (Grants{{2, 7, kAlignmentBytes}, {0, 1, kAlignmentBytes + kAlignmentBytes}}));
}

TEST_F(FileOwnerTest, steps_of_two_groups_use_separate_files) {
  start_with_file(shared_file());
  EXPECT_TRUE(file_owner_->handle_allocate_request({1}, step_in_group(1, 1), 0, 100));
  EXPECT_TRUE(file_owner_->handle_allocate_request({1}, step_in_group(2, 2), 1, 100));
  EXPECT_EQ(grants(), (Grants{{1, 0, kAlignmentBytes}, {1, 1, kAlignmentBytes}}));
}

TEST_F(FileOwnerTest, trim_returns_space_only_at_end_of_file) {
  start_with_file(shared_file());
  const std::uint64_t large = 4 * kAlignmentBytes;
  EXPECT_TRUE(file_owner_->handle_allocate_request({0}, step_in_group(1, 1), 0, large));
  EXPECT_TRUE(file_owner_->handle_trim(1, {kAlignmentBytes, large}, 100));
  EXPECT_TRUE(file_owner_->handle_allocate_request({1}, step_in_group(1, 1), 1, large));
  EXPECT_TRUE(file_owner_->handle_allocate_request({2}, step_in_group(1, 1), 2, 100));
  EXPECT_TRUE(file_owner_->handle_trim(1, {kAlignmentBytes + kAlignmentBytes, large}, 100));
  EXPECT_TRUE(file_owner_->handle_allocate_request({0}, step_in_group(1, 1), 3, 100));
  EXPECT_EQ(grants(), (Grants{{0, 0, kAlignmentBytes},
                              {1, 1, kAlignmentBytes + kAlignmentBytes},
                              {2, 2, kAlignmentBytes + 5 * kAlignmentBytes},
                              {0, 3, kAlignmentBytes + 6 * kAlignmentBytes}}));
}

TEST_F(FileOwnerTest, failed_create_fails_only_its_steps) {
  start(shared_file());
  EXPECT_TRUE(file_owner_->handle_allocate_request({1}, step_in_group(1, 1), 0, 100));
  context_->complete(FileOperation::kCreate, failed_status("no room", ENOSPC));
  EXPECT_THAT(failure(), HasSubstr("no room"));
  EXPECT_EQ(grants(), Grants{});
  context_->complete(FileOperation::kCreate);
  EXPECT_TRUE(file_owner_->handle_allocate_request({1}, step_in_group(2, 2), 1, 100));
  EXPECT_EQ(grants().size(), 1U);
  EXPECT_TRUE(context_->take_messages(MessageKind::kStepFailed).empty());
}

TEST_F(FileOwnerTest, failed_early_create_is_retried_when_step_begins) {
  start(shared_file());
  context_->complete(FileOperation::kCreate);
  context_->complete(FileOperation::kCreate,
                     failed_status("no room", ENOSPC));  // of the previous step, too
  EXPECT_TRUE(file_owner_->handle_allocate_request({1}, step_in_group(2, 2), 1, 100));
  EXPECT_TRUE(context_->take_messages(MessageKind::kStepFailed).empty());
  EXPECT_TRUE(context_->complete(FileOperation::kCreate));
  EXPECT_EQ(grants().size(), 1U);
}

TEST_F(FileOwnerTest, regions_after_index_are_aligned) {
  start_with_file(shared_file(2));
  send_all_metadata(step_in_group(1, 1));
  grants();
  context_->complete(FileOperation::kWrite);
  EXPECT_TRUE(file_owner_->handle_allocate_request({1}, step_in_group(2, 1), 5, 100));
  const Grants places = grants();
  ASSERT_EQ(places.size(), 1U);
  EXPECT_EQ(places[0].offset % kAlignmentBytes, 0U);
}

TEST_F(FileOwnerTest, mismatched_steps_are_reported) {
  start_with_file(shared_file());
  EXPECT_TRUE(file_owner_->handle_allocate_request({0}, step_in_group(1, 1), 0, 100));
  EXPECT_TRUE(file_owner_->handle_allocate_request({1}, step_in_group(2, 1), 0, 100));
  EXPECT_THAT(failure(), HasSubstr("ranks have begun different steps"));
  EXPECT_EQ(grants().size(), 1U);
}

TEST_F(FileOwnerTest, baton_is_granted_after_release) {
  start_with_file(baton());
  EXPECT_TRUE(file_owner_->handle_allocate_request({1}, step_in_group(1, 1), 0, 100));
  EXPECT_TRUE(file_owner_->handle_allocate_request({2}, step_in_group(1, 1), 0, 100));
  EXPECT_TRUE(file_owner_->handle_allocate_request({0}, step_in_group(1, 1), 0, 100));
  // the holder: served at once
  EXPECT_TRUE(file_owner_->handle_allocate_request({1}, step_in_group(1, 1), 1, 100));
  EXPECT_EQ(grants(), (Grants{{1, 0, kPageBytes}, {1, 1, 2 * kPageBytes}}));
  file_owner_->release_baton({2});  // not the holder
  EXPECT_EQ(grants(), Grants{});
  file_owner_->release_baton({1});
  EXPECT_EQ(grants(), (Grants{{2, 0, 3 * kPageBytes}}));
  file_owner_->release_baton({2});
  EXPECT_EQ(grants(), (Grants{{0, 0, 4 * kPageBytes}}));
}

TEST_F(FileOwnerTest, baton_grant_serves_all_requests_of_writer) {
  start_with_file(baton());
  EXPECT_TRUE(file_owner_->handle_allocate_request({1}, step_in_group(1, 1), 0, 100));
  EXPECT_TRUE(file_owner_->handle_allocate_request({2}, step_in_group(1, 1), 0, 100));
  EXPECT_TRUE(file_owner_->handle_allocate_request({0}, step_in_group(1, 1), 0, 100));
  EXPECT_TRUE(file_owner_->handle_allocate_request({2}, step_in_group(1, 1), 1, 100));
  grants();
  file_owner_->release_baton({1});
  EXPECT_EQ(grants(), (Grants{{2, 0, 2 * kPageBytes}, {2, 1, 3 * kPageBytes}}));
}

TEST_F(FileOwnerTest, silent_holder_loses_baton_after_lease) {
  start_with_file(baton());
  EXPECT_TRUE(file_owner_->handle_allocate_request({1}, step_in_group(1, 1), 0, 100));
  EXPECT_EQ(file_owner_->next_deadline(), std::nullopt) << "no writer waits";
  EXPECT_TRUE(file_owner_->handle_allocate_request({2}, step_in_group(1, 1), 0, 100));
  grants();
  const auto due = file_owner_->next_deadline();
  ASSERT_TRUE(due.has_value());
  EXPECT_LE(*due, steady_clock::now() + kBatonLease);
  file_owner_->tick(*due - milliseconds(1));
  EXPECT_EQ(grants(), Grants{});
  file_owner_->tick(*due);
  EXPECT_EQ(grants(), (Grants{{2, 0, 2 * kPageBytes}}));
  file_owner_->release_baton({1});  // the former holder resumes
  EXPECT_TRUE(file_owner_->handle_allocate_request({0}, step_in_group(1, 1), 0, 100));
  EXPECT_EQ(grants(), Grants{});
}

TEST_F(FileOwnerTest, renewing_holder_keeps_baton) {
  start_with_file(baton());
  EXPECT_TRUE(file_owner_->handle_allocate_request({1}, step_in_group(1, 1), 0, 100));
  EXPECT_TRUE(file_owner_->handle_allocate_request({2}, step_in_group(1, 1), 0, 100));
  grants();
  const auto due = file_owner_->next_deadline();
  ASSERT_TRUE(due.has_value());
  while (steady_clock::now() <= *due - kBatonLease) {
  }
  file_owner_->renew_baton({2});  // not the holder
  EXPECT_EQ(file_owner_->next_deadline(), due);
  file_owner_->renew_baton({1});
  file_owner_->tick(*due);
  EXPECT_EQ(grants(), Grants{});
  EXPECT_GT(file_owner_->next_deadline(), due);
}

TEST_F(FileOwnerTest, lost_holder_loses_baton_and_fails_its_step) {
  start_with_file(baton());
  EXPECT_TRUE(file_owner_->handle_allocate_request({1}, step_in_group(1, 1), 0, 100));
  EXPECT_TRUE(file_owner_->handle_allocate_request({2}, step_in_group(1, 1), 0, 100));
  grants();
  file_owner_->handle_rank_lost({1}, io_error("killed"));
  EXPECT_EQ(grants(), (Grants{{2, 0, 2 * kPageBytes}}));
  EXPECT_THAT(failure(), HasSubstr("killed"));
}

TEST_F(FileOwnerTest, requests_of_failed_step_do_not_hold_baton) {
  start_with_file(baton());
  EXPECT_TRUE(file_owner_->handle_allocate_request({1}, step_in_group(1, 1), 0, 100));
  EXPECT_TRUE(file_owner_->handle_allocate_request({2}, step_in_group(1, 1), 0, 100));
  EXPECT_TRUE(file_owner_->handle_allocate_request({0}, step_in_group(2, 2), 0, 100));
  grants();
  fail(step_in_group(1, 1), "skipped");
  file_owner_->release_baton({1});
  EXPECT_EQ(grants(), (Grants{{0, 0, kPageBytes}}));
}

TEST_F(FileOwnerTest, index_follows_all_regions_once_metadata_is_complete) {
  start_with_file(shared_file());
  for (std::uint32_t rank = 0; rank < 3; ++rank)
    EXPECT_TRUE(file_owner_->handle_allocate_request({rank}, step_in_group(1, 1), 0, 1600));
  for (std::uint32_t rank = 0; rank < 2; ++rank)
    send_metadata(rank, step_in_group(1, 1), test_metadata(1, rank * 10, 2));
  const comm::Bytes again = to_bytes(test_metadata(1, 10, 2));
  EXPECT_FALSE(file_owner_->handle_rank_metadata({1}, step_in_group(1, 1), again, again.size()));
  context_->run_pending();
  EXPECT_TRUE(context_->requests(FileOperation::kWrite).empty());
  send_metadata(2, step_in_group(1, 1), test_metadata(1, 20, 2));
  context_->run_pending();
  const auto written = context_->requests(FileOperation::kWrite);
  ASSERT_EQ(written.size(), 1U);
  EXPECT_EQ(written[0].offset, kAlignmentBytes + 3 * kAlignmentBytes);
  EXPECT_TRUE(context_->requests(FileOperation::kSeal).empty()) << "before the index is written";
  context_->complete(FileOperation::kWrite);
  EXPECT_TRUE(context_->take_messages(MessageKind::kFileDurable).empty()) << "before it is durable";
  ASSERT_EQ(context_->requests(FileOperation::kSeal).size(), 1U);
  EXPECT_EQ(context_->requests(FileOperation::kSeal)[0].offset,
            written[0].offset + written[0].bytes.size());
  context_->complete(FileOperation::kSeal);
  const SentMessage sealed = context_->take_one(MessageKind::kFileDurable);
  const auto message = file_durable_from_bytes(sealed.payload).value();
  EXPECT_EQ(message.step, step_in_group(1, 1));
  EXPECT_EQ(message.index.offset, written[0].offset);
  EXPECT_EQ(message.raw_bytes, 6U * 800);
}

TEST_F(FileOwnerTest, coverage_is_sent_before_durable_if_several_files) {
  WritePlan plan = shared_file();
  for (const std::uint32_t files : {1U, 3U}) {
    plan.files = files;
    start_with_file(plan);
    EXPECT_TRUE(file_owner_->handle_allocate_request({0}, step_in_group(1, 1), 0, 1600));
    for (std::uint32_t rank = 0; rank < 4 - files; ++rank)
      send_metadata(rank, step_in_group(1, 1), test_metadata(1, rank * 10, 2));
    context_->run_pending();
    const auto letters = context_->take_messages(MessageKind::kCoverage);
    ASSERT_EQ(letters.size(), files == 1 ? 0U : 1U);
    if (files == 1) continue;
    EXPECT_TRUE(context_->take_messages(MessageKind::kFileDurable).empty());
    EXPECT_EQ(letters[0].to, AggregationMap::coordinator());
    EXPECT_EQ(letters[0].words, (AgentContext::Words{1, 1, 0, letters[0].payload.size()}));
    const StepCoverage coverage = coverage_from_bytes(letters[0].payload).value();
    ASSERT_EQ(coverage.size(), 1U);
    EXPECT_EQ(coverage[0].name, "density");
    ASSERT_EQ(coverage[0].parts.size(), 1U);
    EXPECT_EQ(coverage[0].parts[0].count, 2U);
  }
}

TEST_F(FileOwnerTest, created_files_are_passed_to_local_aggregator) {
  std::vector<std::uint64_t> groups;
  context_ = std::make_unique<TestContext>(single_node_layout(3), shared_file(), 0);
  const auto made = [&groups](std::uint64_t group, const std::shared_ptr<DataFile>& file) {
    EXPECT_NE(file, nullptr);
    groups.push_back(group);
  };
  file_owner_ = std::make_unique<FileOwner>(*context_, FileOwner::Setup{kOwnedDataset, 1, 0, made});
  file_owner_->start();
  context_->complete(FileOperation::kCreate);
  EXPECT_EQ(groups, std::vector<std::uint64_t>{1});
  context_->complete(FileOperation::kCreate, failed_status("no room", ENOSPC));
  EXPECT_EQ(groups, std::vector<std::uint64_t>{1});
}

TEST_F(FileOwnerTest, fragmented_metadata_is_reassembled) {
  start_with_file(shared_file());
  const StepId name = step_in_group(1, 1);
  EXPECT_TRUE(file_owner_->handle_allocate_request({0}, name, 0, 1_MiB));
  send_metadata(0, name, test_metadata(1, 0, 2));
  send_metadata(2, name, test_metadata(1, 20, 2));
  const comm::Bytes bytes = to_bytes(test_metadata(1, 10, 2));
  for (std::size_t at = 0; at < bytes.size(); at += 100) {
    context_->run_pending();
    EXPECT_TRUE(context_->requests(FileOperation::kWrite).empty());
    const std::size_t size = std::min<std::size_t>(100, bytes.size() - at);
    EXPECT_TRUE(file_owner_->handle_rank_metadata({1}, name, std::span(bytes).subspan(at, size),
                                                  bytes.size()));
  }
  context_->run_pending();
  EXPECT_EQ(context_->requests(FileOperation::kWrite).size(), 1U);
}

TEST_F(FileOwnerTest, missing_ranks_are_reported_on_request_and_change) {
  start_with_file(shared_file());
  const StepId name = step_in_group(1, 1);
  const auto missing_ranks = [this] {
    const SentMessage message = context_->take_one(MessageKind::kMissingRanksReply);
    EXPECT_EQ(message.to, AggregationMap::coordinator());
    EXPECT_EQ(message.words[2], 0U) << "the file";
    return comm::list_from_bytes<std::uint32_t>("missing ranks reply", message.payload).value();
  };
  using Ranks = std::vector<std::uint32_t>;
  EXPECT_TRUE(file_owner_->handle_allocate_request({0}, name, 0, 1_MiB));
  send_metadata(1, name, test_metadata(1, 10, 2));
  EXPECT_TRUE(context_->take_messages(MessageKind::kMissingRanksReply).empty())
      << "nothing was requested";
  file_owner_->report_missing_ranks(name);
  EXPECT_EQ(missing_ranks(), (Ranks{0, 2}));
  send_metadata(2, name, test_metadata(1, 20, 2));
  EXPECT_EQ(missing_ranks(), Ranks{0});
  send_metadata(0, name, test_metadata(1, 0, 2));
  EXPECT_EQ(missing_ranks(), Ranks{});
  file_owner_->report_missing_ranks(step_in_group(2, 2));
  EXPECT_EQ(missing_ranks(), (Ranks{0, 1, 2})) << "of a step that no rank has begun";
  fail(step_in_group(2, 2), "skipped");
  file_owner_->report_missing_ranks(step_in_group(2, 2));
  EXPECT_TRUE(context_->take_messages(MessageKind::kMissingRanksReply).empty());
}

TEST_F(FileOwnerTest, metadata_before_file_creation_is_kept) {
  start(shared_file());
  for (std::uint32_t rank = 0; rank < 3; ++rank)
    send_metadata(rank, step_in_group(1, 1), test_metadata(1, rank * 10, 0));
  context_->run_pending();
  EXPECT_TRUE(context_->requests(FileOperation::kWrite).empty());
  context_->complete(FileOperation::kCreate);
  EXPECT_EQ(context_->requests(FileOperation::kWrite).size(), 1U);
}

TEST_F(FileOwnerTest, file_of_several_steps_is_sealed_with_the_last) {
  start_with_file(shared_file(2));
  send_all_metadata(step_in_group(1, 1));
  context_->complete(FileOperation::kWrite);
  EXPECT_TRUE(context_->requests(FileOperation::kSeal).empty());
  EXPECT_TRUE(context_->complete(FileOperation::kSync));
  context_->take_one(MessageKind::kFileDurable);
  publish(step_in_group(1, 1));
  send_all_metadata(step_in_group(2, 1));
  context_->complete(FileOperation::kWrite);
  EXPECT_TRUE(context_->requests(FileOperation::kSync).empty());
  EXPECT_TRUE(context_->complete(FileOperation::kSeal));
  context_->take_one(MessageKind::kFileDurable);
}

TEST_F(FileOwnerTest, failed_index_write_fails_step_without_sync) {
  start_with_file(shared_file());
  send_all_metadata(step_in_group(1, 1));
  context_->complete(FileOperation::kWrite, failed_status("a bad block"));
  EXPECT_THAT(failure(), HasSubstr("a bad block"));
  EXPECT_TRUE(context_->requests(FileOperation::kSeal).empty());
  EXPECT_TRUE(context_->take_messages(MessageKind::kFileDurable).empty());
}

TEST_F(FileOwnerTest, failed_sync_fails_step_and_removes_file) {
  start_with_file(shared_file());
  send_all_metadata(step_in_group(1, 1));
  context_->complete(FileOperation::kWrite);
  context_->complete(FileOperation::kSeal, failed_status("lost bytes"));
  EXPECT_THAT(failure(), HasSubstr("lost bytes"));
  EXPECT_TRUE(context_->take_messages(MessageKind::kFileDurable).empty());
  fail(step_in_group(1, 1), "lost bytes");
  EXPECT_EQ(removed_groups(), std::vector<std::uint64_t>{1});
}

TEST_F(FileOwnerTest, part_of_two_ranks_fails_step_before_index) {
  start_with_file(shared_file());
  EXPECT_TRUE(file_owner_->handle_allocate_request({0}, step_in_group(1, 1), 0, 1_MiB));
  for (std::uint32_t rank = 0; rank < 3; ++rank)
    send_metadata(rank, step_in_group(1, 1), test_metadata(1, rank == 2 ? 10 : rank * 10, 1));
  context_->run_pending();
  if (context_->complete(FileOperation::kWrite)) FAIL() << "an index with a part twice";
  EXPECT_EQ(failure(),
            "rank 2: write step 1 run.fb: part 10 of field density was put by ranks 1 and 2");
}

TEST_F(FileOwnerTest, part_put_twice_by_one_rank_fails_step) {
  start_with_file(shared_file());
  EXPECT_TRUE(file_owner_->handle_allocate_request({0}, step_in_group(1, 1), 0, 1_MiB));
  RankMetadata part = test_metadata(1, 10, 2);
  part.blocks[1].part = 10;
  send_metadata(0, step_in_group(1, 1), test_metadata(1, 0, 1));
  send_metadata(1, step_in_group(1, 1), part);
  send_metadata(2, step_in_group(1, 1), test_metadata(1, 20, 1));
  context_->run_pending();
  EXPECT_EQ(failure(),
            "rank 1: write step 1 run.fb: part 10 of field density was put twice by rank 1");
}

TEST_F(FileOwnerTest, overlapping_blocks_fail_step_and_name_both_ranks) {
  start_with_file(shared_file());
  EXPECT_TRUE(file_owner_->handle_allocate_request({0}, step_in_group(1, 1), 0, 1_MiB));
  send_metadata(0, step_in_group(1, 1), test_array_metadata({0, 0}, {4, 8}));
  send_metadata(1, step_in_group(1, 1), test_array_metadata({4, 0}, {4, 8}));
  send_metadata(2, step_in_group(1, 1), test_array_metadata({7, 2}, {2, 4}));
  context_->run_pending();
  if (context_->complete(FileOperation::kWrite)) FAIL() << "an index with elements twice";
  EXPECT_EQ(failure(),
            "rank 2: write step 1 run.fb: blocks of field pressure overlap: rank 1 put 4 x 8 "
            "elements from 4, 0 on, and rank 2 put 2 x 4 elements from 7, 2 on");
}

TEST_F(FileOwnerTest, adjacent_blocks_are_written) {
  start_with_file(shared_file());
  EXPECT_TRUE(file_owner_->handle_allocate_request({0}, step_in_group(1, 1), 0, 1_MiB));
  send_metadata(0, step_in_group(1, 1), test_array_metadata({0, 0}, {4, 8}));
  send_metadata(1, step_in_group(1, 1), test_array_metadata({4, 0}, {4, 8}));
  send_metadata(2, step_in_group(1, 1), test_array_metadata({5, 0}, {0, 8}));
  EXPECT_TRUE(context_->complete(FileOperation::kWrite));
  EXPECT_TRUE(context_->take_messages(MessageKind::kStepFailed).empty());
}

TEST_F(FileOwnerTest, too_many_fields_fail_step) {
  start_with_file(shared_file());
  for (std::uint32_t rank = 0; rank < 3; ++rank) {
    RankMetadata part{.step = 1};
    for (std::uint32_t field = 0; rank == 1 && field <= format::kFieldsMax; ++field)
      part.fields.push_back({.name = std::to_string(field), .type = ElementType::kFloat64});
    send_metadata(rank, step_in_group(1, 1), part);
  }
  context_->run_pending();
  EXPECT_EQ(failure(),
            "rank 1: write step 1 run.fb: define field 65536: a step has at most 65536 fields in a "
            "file");
}

TEST_F(FileOwnerTest, messages_of_aborted_step_are_ignored) {
  start_with_file(shared_file());
  EXPECT_TRUE(file_owner_->handle_allocate_request({0}, step_in_group(1, 1), 0, 100));
  grants();
  fail(step_in_group(1, 1), "skipped");
  EXPECT_EQ(removed_groups(), std::vector<std::uint64_t>{1});
  send_all_metadata(step_in_group(1, 1));
  EXPECT_EQ(grants(), Grants{});
  EXPECT_TRUE(context_->requests(FileOperation::kWrite).empty());
}

TEST_F(FileOwnerTest, failed_step_keeps_file_with_published_step) {
  start_with_file(shared_file(2));
  EXPECT_TRUE(file_owner_->handle_allocate_request({0}, step_in_group(1, 1), 0, 100));
  publish(step_in_group(1, 1));
  EXPECT_TRUE(file_owner_->handle_allocate_request({0}, step_in_group(2, 1), 1, 100));
  fail(step_in_group(2, 1), "skipped");
  EXPECT_TRUE(removed_groups().empty());
}

TEST_F(FileOwnerTest, file_stays_while_step_with_allocations_is_pending) {
  start_with_file(shared_file(2));
  EXPECT_TRUE(file_owner_->handle_allocate_request({0}, step_in_group(1, 1), 0, 100));
  EXPECT_TRUE(file_owner_->handle_allocate_request({0}, step_in_group(2, 1), 1, 100));
  const Grants first = grants();
  const auto created = context_->requests(FileOperation::kCreate).size();
  publish(step_in_group(1, 1));
  EXPECT_TRUE(file_owner_->handle_allocate_request({1}, step_in_group(2, 1), 2, 100));
  EXPECT_EQ(context_->requests(FileOperation::kCreate).size(), created) << "not a second time";
  ASSERT_EQ(first.size(), 2U);
  EXPECT_EQ(grants(), (Grants{{1, 2, first[1].offset + kAlignmentBytes}}));
  fail(step_in_group(2, 1), "skipped");
  EXPECT_TRUE(removed_groups().empty());
}

TEST_F(FileOwnerTest, failed_later_step_keeps_file) {
  start_with_file(shared_file(2));
  EXPECT_TRUE(file_owner_->handle_allocate_request({0}, step_in_group(1, 1), 0, 100));
  EXPECT_TRUE(file_owner_->handle_allocate_request({1}, step_in_group(2, 1), 1, 100));
  fail(step_in_group(2, 1), "aborted");
  EXPECT_TRUE(removed_groups().empty());
  fail(step_in_group(1, 1), "aborted");
  EXPECT_EQ(removed_groups(), std::vector<std::uint64_t>{1});
}

TEST_F(FileOwnerTest, possibly_published_step_keeps_its_file) {
  start_with_file(shared_file());
  send_all_metadata(step_in_group(1, 1));
  context_->complete_all(FileOperation::kWrite);
  context_->complete_all(FileOperation::kSeal);
  context_->take_one(MessageKind::kFileDurable);
  file_owner_->handle_rank_lost({AggregationMap::coordinator()},
                                Error({.kind = ErrorClass::kClosed, .operation = "x"}));
  file_owner_->shut_down();
  EXPECT_EQ(removed_groups(), std::vector<std::uint64_t>{2});
}

// A former holder that was presumed dead while it published.
TEST_F(FileOwnerTest, step_in_doubt_keeps_its_file) {
  start_with_file(shared_file(2));
  EXPECT_TRUE(file_owner_->handle_allocate_request({0}, step_in_group(1, 1), 0, 100));
  file_owner_->handle_step_outcome(step_in_group(1, 1), StepOutcome::kInDoubt,
                                   failed_status("another program writes it"));
  fail(step_in_group(2, 1), "skipped");
  file_owner_->shut_down();
  EXPECT_EQ(removed_groups(), std::vector<std::uint64_t>{2}) << "the file created ahead";
  EXPECT_TRUE(context_->requests(FileOperation::kPunchHole).empty());
}

TEST_F(FileOwnerTest, shut_down_during_finalization_writes_no_index) {
  start_with_file(shared_file());
  EXPECT_TRUE(file_owner_->handle_allocate_request({0}, step_in_group(1, 1), 0, 1_MiB));
  for (std::uint32_t rank = 0; rank < 3; ++rank)
    send_metadata(rank, step_in_group(1, 1), test_metadata(1, rank * 10, 2));
  file_owner_->shut_down();
  context_->run_pending();
  EXPECT_TRUE(context_->requests(FileOperation::kWrite).empty());
}

TEST_F(FileOwnerTest, unneeded_files_are_removed_at_shut_down) {
  start_with_file(shared_file(2));
  EXPECT_TRUE(file_owner_->handle_allocate_request({0}, step_in_group(1, 1), 0, 100));
  publish(step_in_group(1, 1));
  context_->complete_all(FileOperation::kCreate);  // of the second group, created ahead
  file_owner_->shut_down();
  EXPECT_EQ(removed_groups(), std::vector<std::uint64_t>{2});
  ASSERT_EQ(truncations().size(), 1U);
  EXPECT_EQ(truncations()[0].offset, kAlignmentBytes + kAlignmentBytes);
}

TEST_F(FileOwnerTest, file_keeps_no_space_of_failed_step) {
  start_with_file(shared_file(2));
  EXPECT_TRUE(file_owner_->handle_allocate_request({0}, step_in_group(1, 1), 0, 100));
  publish(step_in_group(1, 1));
  EXPECT_TRUE(file_owner_->handle_allocate_request({0}, step_in_group(2, 1), 1, 100));
  EXPECT_TRUE(truncations().empty());
  fail(step_in_group(2, 1), "skipped");
  ASSERT_EQ(truncations().size(), 1U) << "it is not sealed";
  EXPECT_EQ(truncations()[0].name.group, 1U);
  file_owner_->shut_down();
  EXPECT_EQ(truncations().size(), 1U);
}

// The space of failed steps was once kept, and each further step needed more.
TEST_F(FileOwnerTest, space_of_failed_step_is_punched_while_file_is_used) {
  start_with_file(shared_file(3));
  const auto punched = [this] { return context_->requests(FileOperation::kPunchHole); };
  EXPECT_TRUE(file_owner_->handle_allocate_request({0}, step_in_group(1, 1), 0, 1));
  publish(step_in_group(1, 1));
  EXPECT_TRUE(file_owner_->handle_allocate_request({0}, step_in_group(2, 1), 1, 1));
  EXPECT_TRUE(file_owner_->handle_allocate_request({1}, step_in_group(3, 1), 2, 1));
  EXPECT_TRUE(file_owner_->handle_allocate_request({2}, step_in_group(2, 1), 3, 1));
  EXPECT_TRUE(file_owner_->handle_trim(1, {4 * kAlignmentBytes, 1},
                                       0));  // the last allocation is not needed
  EXPECT_TRUE(file_owner_->handle_allocate_request({1}, step_in_group(3, 1), 4, 1));
  EXPECT_TRUE(punched().empty());
  fail(step_in_group(2, 1), "skipped");
  ASSERT_EQ(punched().size(), 1U);
  EXPECT_EQ(punched()[0].name.group, 1U);
  EXPECT_EQ(punched()[0].offset, 2 * kAlignmentBytes);
  EXPECT_EQ(punched()[0].size, kAlignmentBytes);
  fail(step_in_group(3, 1), "skipped");
  const std::uint64_t all = punched().back().offset + punched().back().size;
  EXPECT_EQ(all, 5 * kAlignmentBytes) << "the space of both";
}

TEST_F(FileOwnerTest, full_disk_removes_free_files) {
  start_with_file(shared_file());
  const auto removals = [this] {
    return context_->requests(FileOperation::kRemoveFreeFiles).size();
  };
  fail(step_in_group(1, 1), "skipped");
  EXPECT_EQ(removals(), 0U);
  fail(step_in_group(2, 2), "no room", ENOSPC);
  EXPECT_EQ(removals(), 1U);
}

// Each file once stayed, with all its space, until the end.
TEST_F(FileOwnerTest, no_file_is_created_for_step_that_failed_before) {
  start_with_file(shared_file());
  const auto created = [this] { return context_->requests(FileOperation::kCreate).size(); };
  fail(step_in_group(3, 3), "aborted");
  EXPECT_TRUE(file_owner_->handle_allocate_request({0}, step_in_group(2, 2), 0, 100));
  EXPECT_EQ(created(), 0U) << "of group 3";
  EXPECT_TRUE(file_owner_->handle_allocate_request({0}, step_in_group(4, 4), 1, 100));
  EXPECT_EQ(created(), 2U) << "of groups 4 and 5";
  EXPECT_TRUE(file_owner_->handle_allocate_request({0}, step_in_group(9, 3), 2, 100));
  EXPECT_THAT(failure(), HasSubstr("3 was begun by another rank in its place"));
}

TEST_F(FileOwnerTest, file_with_early_failures_retires_with_other_steps) {
  start_with_file(shared_file(2));
  fail(step_in_group(4, 3), "aborted");
  EXPECT_TRUE(file_owner_->handle_allocate_request({0}, step_in_group(3, 3), 0, 100));
  context_->complete_all(FileOperation::kCreate);
  fail(step_in_group(3, 3), "aborted");
  EXPECT_EQ(removed_groups(), std::vector<std::uint64_t>{3});
}

TEST_F(FileOwnerTest, rounds_start_when_all_ranks_are_ready) {
  start_with_file({.strategy = Strategy::kCollective, .files = 1});
  const StepId name = step_in_group(1, 1);
  for (std::uint32_t rank = 0; rank < 3; ++rank) {
    EXPECT_TRUE(context_->take_messages(MessageKind::kCollectiveStart).empty());
    EXPECT_TRUE(file_owner_->handle_collective_ready(
        {rank}, name, {{rank * 4096, 4096}, {65536 + rank * 4096, 4096}}));
  }
  const auto go = context_->take_messages(MessageKind::kCollectiveStart);
  ASSERT_EQ(go.size(), 3U);
  const std::vector<ByteRange> dense{{0, 3 * 4096}, {65536, 3 * 4096}};
  EXPECT_EQ(comm::list_from_bytes<ByteRange>("collective start", go[0].payload).value(), dense);
  EXPECT_EQ(go[0].words[2], static_cast<std::uint64_t>(CollectiveMethod::kAggregated));
}

TEST_F(FileOwnerTest, rounds_do_not_start_after_ready_rank_is_lost) {
  start_with_file({.strategy = Strategy::kCollective, .files = 1});
  const StepId name = step_in_group(1, 1);
  EXPECT_TRUE(file_owner_->handle_collective_ready({1}, name, {}));
  file_owner_->handle_rank_lost({1}, io_error("killed"));
  EXPECT_THAT(failure(), HasSubstr("killed"));
  EXPECT_TRUE(file_owner_->handle_collective_ready({0}, name, {}));
  EXPECT_TRUE(file_owner_->handle_collective_ready({2}, name, {}));
  EXPECT_TRUE(context_->take_messages(MessageKind::kCollectiveStart).empty());
}

}  // namespace
}  // namespace forebay::write
