// SPDX-License-Identifier: Apache-2.0
// The coordinator alone: its messages for reports in any order.
#include "write/commit_coordinator.hpp"

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
#include "write/fence.hpp"
#include "write/role_testing.hpp"
#include "write/step_coverage.hpp"

namespace forebay::write {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;
using ::testing::HasSubstr;
using ::testing::Not;
using Steps = std::vector<std::uint64_t>;

constexpr milliseconds kDeadline{5000};

/// Each step is alone in its group, and each rank writes a file of its own.
WritePlan plan(std::uint32_t keep = 0) {
  WritePlan plan{.strategy = Strategy::kFilePerProcess};
  plan.steps_in_flight = 4;
  plan.tuning.steps_per_group = 1;
  plan.retained_steps = keep;
  plan.step_timeout = kDeadline;
  return plan;
}

std::vector<format::FieldDefinition> fields(ElementType type = ElementType::kFloat64) {
  return {{.name = "density", .type = type}};
}

/// The outcome of a step, as all ranks received it.
struct Outcome {
  std::uint64_t step_id = 0;
  StepOutcome step_outcome = StepOutcome::kFailed;
  std::set<std::uint32_t> recipients;
  std::string failure;  ///< empty: published
};

class CommitCoordinatorTest : public ::testing::Test {
 protected:
  void start(std::uint32_t ranks, const WritePlan& requested = plan()) {
    context_ = std::make_unique<TestContext>(single_node_layout(ranks), requested, 0,
                                             TestOpening{.first_group = first_group_});
    auto commit_log = CommitLog::open(directory_.path());
    ASSERT_TRUE(commit_log) << commit_log.error().message();
    commit_log_ = std::move(*commit_log);
    auto lease = Lease::acquire(directory_.path());
    ASSERT_TRUE(lease) << lease.error().message();
    lease_ = std::move(*lease);
    coordinator_ = std::make_unique<CommitCoordinator>(*context_, commit_log_, *lease_);
  }
  void commit_rank(std::uint32_t rank, std::uint64_t number) {
    coordinator_->handle_rank_committed({rank}, step_id(number), {{fields()}});
  }
  void make_durable(std::uint32_t rank, std::uint64_t number) {
    const FileDurableMessage message{.step = step_id(number),
                                     .file = rank,
                                     .index = {.offset = 4096, .bytes = 200, .checksum = number}};
    coordinator_->handle_file_durable({rank}, message);
  }
  /// Its file has two parts from `first_part` on; the message is sent in fragments.
  void send_coverage(std::uint32_t rank, std::uint64_t number, std::uint64_t first_part) {
    const RankMetadata record = test_metadata(number, first_part, 2);
    const comm::Bytes coverage = to_bytes(coverage_of({&record, 1}, {&rank, 1}));
    const auto piece = std::span(coverage);
    EXPECT_TRUE(
        coordinator_->handle_coverage(step_id(number), rank, piece.first(20), piece.size()));
    EXPECT_TRUE(
        coordinator_->handle_coverage(step_id(number), rank, piece.subspan(20), piece.size()));
  }
  void complete(std::uint64_t number) {
    for (std::uint32_t rank = 0; rank < context_->rank_count(); ++rank) {
      commit_rank(rank, number);
      make_durable(rank, number);
    }
  }
  /// Completes the sync of the directory, and what follows from it.
  bool sync_directory(const Status& status = {}) {
    return context_->complete(FileOperation::kSyncDirectory, status);
  }

  std::vector<Outcome> outcomes() {
    std::vector<Outcome> found;
    for (const SentMessage& message : context_->take_messages(MessageKind::kStepOutcome)) {
      const auto step_outcome = static_cast<StepOutcome>(message.words[2]);
      const bool is_new = found.empty() || found.back().step_id != message.words[0];
      if (is_new) found.push_back({.step_id = message.words[0], .recipients = {}, .failure = {}});
      found.back().recipients.insert(message.to);
      found.back().step_outcome = step_outcome;
      if (step_outcome != StepOutcome::kPublished)
        found.back().failure = step_outcome_from_bytes(message.payload)->failure.value().message();
    }
    return found;
  }
  /// The only outcome, which all ranks must have received.
  Outcome outcome() {
    const auto found = outcomes();
    EXPECT_EQ(found.size(), 1U);
    if (found.empty()) return {};
    EXPECT_EQ(found.front().recipients.size(), context_->rank_count());
    return found.front();
  }
  Steps published() const {
    Steps steps;
    for (const format::StepEntry& entry : commit_log_->steps())
      steps.push_back(entry.step);
    return steps;
  }

  const TemporaryDirectory directory_;
  std::unique_ptr<TestContext> context_;
  std::shared_ptr<CommitLog> commit_log_;
  std::unique_ptr<Lease> lease_;
  std::uint64_t first_group_ = 0;
  std::unique_ptr<CommitCoordinator> coordinator_;
};

TEST_F(CommitCoordinatorTest, coverage_over_announced_size_or_after_durable_is_refused) {
  start(3);
  const comm::Bytes piece(100);
  EXPECT_TRUE(coordinator_->handle_coverage(step_id(1), 1, piece, 100));
  EXPECT_FALSE(coordinator_->handle_coverage(step_id(1), 1, piece, 100));
  EXPECT_FALSE(coordinator_->handle_coverage(step_id(1), 1, piece, 300));
  make_durable(2, 1);
  EXPECT_FALSE(coordinator_->handle_coverage(step_id(1), 2, piece, 100));
}

TEST_F(CommitCoordinatorTest, step_is_published_for_any_message_order) {
  start(3);
  std::vector<std::uint32_t> order{0, 1, 2, 3, 4, 5};  // 3, 4, 5: the files of 0, 1, 2
  std::uint64_t number = 0;
  do {
    ++number;
    for (const std::uint32_t message : order) {
      ASSERT_FALSE(sync_directory()) << "before all messages of step " << number;
      if (message < 3) commit_rank(message, number);
      if (message >= 3) make_durable(message - 3, number);
    }
    ASSERT_TRUE(sync_directory());
    const Outcome result = outcome();
    ASSERT_EQ(result.step_id, number);
    ASSERT_EQ(result.failure, "");
  } while (std::ranges::next_permutation(order).found);
  EXPECT_EQ(number, 720U);
  EXPECT_EQ(published().size(), 720U);
}

TEST_F(CommitCoordinatorTest, part_in_two_files_fails_step_and_names_both_ranks) {
  start(3);
  complete(1);
  ASSERT_TRUE(sync_directory());
  EXPECT_EQ(outcome().failure, "");
  for (const std::uint64_t number : {2U, 3U}) {
    for (std::uint32_t rank = 0; rank < 3; ++rank)
      send_coverage(rank, number, number == 2 && rank == 2 ? 1 : 10 * rank);
    complete(number);
    ASSERT_TRUE(sync_directory());
    const Outcome result = outcome();
    EXPECT_EQ(result.failure, number == 3 ? ""
                                          : "rank 2: write step 2 run.fb: part 1 of field density "
                                            "was put by ranks 0 and 2");
    EXPECT_EQ(result.step_outcome, number == 3 ? StepOutcome::kPublished : StepOutcome::kFailed);
  }
  EXPECT_EQ(published(), (Steps{1, 3}));
}

TEST_F(CommitCoordinatorTest, step_is_published_after_directory_is_durable) {
  start(2);
  complete(1);
  context_->run_pending();
  EXPECT_EQ(published(), Steps{});
  EXPECT_TRUE(outcomes().empty());
  EXPECT_TRUE(sync_directory());
  EXPECT_EQ(published(), Steps{1});
  EXPECT_EQ(outcome().failure, "");
}

TEST_F(CommitCoordinatorTest, failed_directory_sync_fails_only_that_step) {
  start(2);
  complete(1);
  EXPECT_TRUE(sync_directory(failed_status("the disk is gone")));
  EXPECT_THAT(outcome().failure, HasSubstr("the disk is gone"));
  complete(2);
  EXPECT_TRUE(sync_directory());
  EXPECT_EQ(outcome().step_id, 2U);
  EXPECT_EQ(published(), Steps{2});
}

TEST_F(CommitCoordinatorTest, failure_aborts_step_on_all_ranks_with_rank_and_cause) {
  start(3);
  commit_rank(0, 1);
  make_durable(0, 1);
  coordinator_->handle_step_failed({2}, step_id(1), io_error("a bad block"));
  const Outcome result = outcome();
  EXPECT_EQ(result.step_id, 1U);
  EXPECT_THAT(result.failure, HasSubstr("a bad block"));
  EXPECT_THAT(result.failure, HasSubstr("rank 2"));
  // Later reports change nothing, and are not forwarded.
  complete(1);
  coordinator_->handle_step_failed({1}, step_id(1), io_error("another"));
  EXPECT_FALSE(sync_directory());
  EXPECT_TRUE(outcomes().empty());
  complete(2);
  EXPECT_TRUE(sync_directory());
  EXPECT_EQ(published(), Steps{2});
}

TEST_F(CommitCoordinatorTest, failure_after_publication_is_ignored) {
  start(2);
  complete(1);
  EXPECT_TRUE(sync_directory());
  EXPECT_EQ(outcome().failure, "");
  coordinator_->handle_step_failed({1}, step_id(1), io_error("a rank has left"));
  EXPECT_TRUE(outcomes().empty());
  EXPECT_EQ(coordinator_->next_deadline(), std::nullopt);
  EXPECT_EQ(published(), Steps{1});
}

TEST_F(CommitCoordinatorTest, failure_during_publication_is_ignored) {
  start(2);
  complete(1);
  coordinator_->handle_step_failed({1}, step_id(1), io_error("too late"));
  EXPECT_TRUE(outcomes().empty());
  EXPECT_TRUE(sync_directory());
  EXPECT_EQ(outcome().failure, "");
}

TEST_F(CommitCoordinatorTest, field_type_mismatch_names_both_ranks) {
  start(3);
  commit_rank(1, 1);
  coordinator_->handle_rank_committed({2}, step_id(1), {{fields(ElementType::kFloat32)}});
  const Outcome result = outcome();
  EXPECT_THAT(result.failure, HasSubstr("rank 2"));
  EXPECT_THAT(result.failure, HasSubstr("float64"));
  EXPECT_THAT(result.failure, HasSubstr("on rank 1"));
}

RankSummary with_units(const std::string& field, const char* units) {
  const format::AttributeKey key{format::AttributeScope::kField, field, "units"};
  return {.fields = fields(), .attributes = {{key, format::hash_of(units)}}};
}

TEST_F(CommitCoordinatorTest, attribute_mismatch_names_both_ranks) {
  start(3);
  coordinator_->handle_rank_committed({1}, step_id(1), {with_units("density", "kg m-3")});
  EXPECT_TRUE(outcomes().empty());
  coordinator_->handle_rank_committed({2}, step_id(1), {with_units("density", "g cm-3")});
  const Outcome result = outcome();
  EXPECT_EQ(result.failure,
            "rank 2: write step 1 run.fb: attribute units of field density has another value here "
            "than on rank 1; set it on one rank, or to the same value on all ranks");
}

TEST_F(CommitCoordinatorTest, attribute_of_a_missing_field_fails_step_once_all_have_committed) {
  start(2);
  coordinator_->handle_rank_committed({1}, step_id(1), {with_units("densty", "kg m-3")});
  EXPECT_TRUE(outcomes().empty());
  commit_rank(0, 1);
  EXPECT_EQ(outcome().failure,
            "rank 1: write step 1 run.fb: attribute units of field densty has no field: no rank "
            "has put the field in this step");
  for (const std::uint32_t rank : {0U, 1U}) {
    coordinator_->handle_rank_committed({rank}, step_id(2), {with_units("density", "kg m-3")});
    make_durable(rank, 2);
  }
  EXPECT_TRUE(sync_directory());
  EXPECT_EQ(outcome().failure, "");
}

TEST_F(CommitCoordinatorTest, deadline_starts_at_first_message_and_names_missing_ranks) {
  start(3);
  EXPECT_EQ(coordinator_->next_deadline(), std::nullopt);
  const auto before = steady_clock::now();
  commit_rank(0, 1);
  make_durable(0, 1);
  commit_rank(2, 1);
  const auto due = coordinator_->next_deadline();
  ASSERT_TRUE(due.has_value());
  EXPECT_GE(*due, before + kDeadline);
  EXPECT_LE(*due, steady_clock::now() + kDeadline);
  coordinator_->tick(*due - milliseconds(1));
  EXPECT_TRUE(outcomes().empty());
  coordinator_->tick(*due);
  EXPECT_THAT(outcome().failure, HasSubstr("ranks that have not committed it: 1"));
  EXPECT_EQ(coordinator_->next_deadline(), std::nullopt);
}

TEST_F(CommitCoordinatorTest, deadline_names_owners_of_late_files) {
  start(3);
  for (std::uint32_t rank = 0; rank < 3; ++rank)
    commit_rank(rank, 1);
  make_durable(1, 1);
  coordinator_->tick(steady_clock::now() + 2 * kDeadline);
  EXPECT_THAT(outcome().failure, HasSubstr("files of ranks 0, 2 are not durable yet"));
}

TEST_F(CommitCoordinatorTest, owners_of_late_files_report_missing_ranks) {
  start(3);
  commit_rank(0, 1);
  commit_rank(1, 1);
  make_durable(1, 1);
  const auto deadline = coordinator_->next_deadline();
  commit_rank(2, 1);
  const auto asking = coordinator_->next_deadline();
  ASSERT_TRUE(deadline && asking);
  EXPECT_EQ(*deadline - *asking, kDeadline / 4);
  coordinator_->tick(*asking - milliseconds(1));
  EXPECT_TRUE(context_->take_messages(MessageKind::kMissingRanksRequest).empty());
  coordinator_->tick(*asking);
  const auto asked = context_->take_messages(MessageKind::kMissingRanksRequest);
  ASSERT_EQ(asked.size(), 2U);
  EXPECT_EQ(asked[0].to, 0U);
  EXPECT_EQ(asked[1].to, 2U);
  EXPECT_EQ(coordinator_->next_deadline(), deadline) << "requested once";
  coordinator_->handle_missing_ranks(step_id(1), 2, {1, 2});
  coordinator_->handle_missing_ranks(step_id(1), 2, {2});  // the bytes of rank 1 have arrived since
  coordinator_->handle_missing_ranks(step_id(1), 0, {0});
  coordinator_->handle_missing_ranks(step_id(1), 1, {1});  // and its file was durable before
  coordinator_->handle_missing_ranks(step_id(7), 0, {1});  // no such step is pending
  coordinator_->tick(*deadline);
  const std::string why = outcome().failure;
  EXPECT_THAT(why, HasSubstr("files of ranks 0, 2 are not durable yet"));
  EXPECT_THAT(why, HasSubstr("bytes of ranks 0, 2 are not written and hashed yet"));
}

TEST_F(CommitCoordinatorTest, deadline_blames_index_when_owners_have_all_bytes) {
  start(2);
  commit_rank(0, 1);
  commit_rank(1, 1);
  coordinator_->tick(*coordinator_->next_deadline());
  coordinator_->handle_missing_ranks(step_id(1), 0, {});
  coordinator_->handle_missing_ranks(step_id(1), 1, {});
  coordinator_->tick(*coordinator_->next_deadline());
  EXPECT_THAT(outcome().failure, HasSubstr("the index or its sync is late"));
}

TEST_F(CommitCoordinatorTest, silent_owner_does_not_imply_late_index) {
  start(2);
  commit_rank(0, 1);
  commit_rank(1, 1);
  coordinator_->tick(*coordinator_->next_deadline());
  coordinator_->handle_missing_ranks(step_id(1), 0, {});
  coordinator_->tick(*coordinator_->next_deadline());
  EXPECT_THAT(outcome().failure, Not(HasSubstr("sync")));
}

TEST_F(CommitCoordinatorTest, step_in_publication_has_no_deadline) {
  start(2);
  complete(1);
  EXPECT_EQ(coordinator_->next_deadline(), std::nullopt);
  coordinator_->tick(steady_clock::now() + 2 * kDeadline);
  EXPECT_TRUE(outcomes().empty());
  EXPECT_TRUE(sync_directory());
  EXPECT_EQ(outcome().failure, "");
}

TEST_F(CommitCoordinatorTest, complete_later_step_waits_for_earlier_one) {
  start(2);
  commit_rank(0, 1);
  complete(2);
  EXPECT_FALSE(sync_directory());
  make_durable(0, 1);
  commit_rank(1, 1);
  make_durable(1, 1);
  EXPECT_TRUE(sync_directory());
  EXPECT_EQ(published(), Steps{1});
  EXPECT_TRUE(sync_directory()) << "step 2 follows at once";
  EXPECT_EQ(published(), (Steps{1, 2}));
  const auto result = outcomes();
  ASSERT_EQ(result.size(), 2U);
  EXPECT_EQ(result[0].step_id, 1U);
  EXPECT_EQ(result[1].step_id, 2U);
}

TEST_F(CommitCoordinatorTest, later_step_is_published_when_earlier_one_fails) {
  start(2);
  commit_rank(0, 1);
  complete(2);
  coordinator_->tick(*coordinator_->next_deadline());
  EXPECT_NE(outcome().failure, "");
  EXPECT_TRUE(sync_directory());
  EXPECT_EQ(published(), Steps{2});
  EXPECT_EQ(outcome().failure, "");
}

TEST_F(CommitCoordinatorTest, old_steps_are_dropped_after_new_one_is_published) {
  start(2, plan(1));
  complete(1);
  EXPECT_TRUE(sync_directory());
  complete(2);
  context_->run_pending();
  EXPECT_EQ(published(), Steps{1});
  EXPECT_TRUE(context_->take_messages(MessageKind::kRecycleFile).empty());
  EXPECT_TRUE(sync_directory());
  EXPECT_EQ(published(), Steps{2});
  const auto pruned = context_->take_messages(MessageKind::kRecycleFile);
  ASSERT_EQ(pruned.size(), 2U);
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    EXPECT_EQ(pruned[rank].to, rank);
    EXPECT_EQ(pruned[rank].words[0], 1U) << "the group";
    EXPECT_EQ(pruned[rank].words[1], rank) << "the file";
  }
}

TEST_F(CommitCoordinatorTest, old_steps_stay_when_publication_fails) {
  start(2, plan(1));
  complete(1);
  EXPECT_TRUE(sync_directory());
  complete(2);
  EXPECT_TRUE(sync_directory(failed_status("the disk is gone")));
  EXPECT_EQ(published(), Steps{1});
  EXPECT_TRUE(context_->take_messages(MessageKind::kRecycleFile).empty());
}

TEST_F(CommitCoordinatorTest, old_steps_stay_when_slot_write_fails) {
  start(2, plan(1));
  for (const std::uint64_t old : {10U, 11U, 12U})
    ASSERT_TRUE(commit_log_->publish({.step = old, .group = old, .files = {{.file = 0}}}));
  complete(5);  // does not rise, so CommitLog refuses it
  EXPECT_TRUE(sync_directory());
  EXPECT_EQ(published(), (Steps{10, 11, 12}));
}

TEST_F(CommitCoordinatorTest, lost_lease_stops_publication) {
  start(2, plan(1));
  complete(1);
  EXPECT_TRUE(sync_directory());
  EXPECT_EQ(outcome().failure, "");
  std::filesystem::remove(directory_ / "owner");
  auto successor = Lease::acquire(directory_.path());
  ASSERT_TRUE(successor) << successor.error().message();
  complete(2);
  EXPECT_TRUE(sync_directory());
  EXPECT_NE(outcome().failure, "");
  EXPECT_EQ(published(), Steps{1});
  EXPECT_TRUE(context_->take_messages(MessageKind::kRecycleFile).empty());
}

// The coordinator was stopped after it had checked its lease, and resumed when another holder had
// the dataset.
TEST_F(CommitCoordinatorTest, step_possibly_seen_by_successor_is_in_doubt) {
  start(2, plan(1));
  complete(1);
  EXPECT_TRUE(sync_directory());
  EXPECT_EQ(outcome().step_outcome, StepOutcome::kPublished);
  ASSERT_TRUE(fence_writers(directory_.path()));
  complete(2);
  EXPECT_TRUE(sync_directory());
  const Outcome result = outcome();
  EXPECT_EQ(result.step_outcome, StepOutcome::kInDoubt);
  EXPECT_THAT(result.failure, HasSubstr("another program writes the dataset now"));
  EXPECT_TRUE(context_->take_messages(MessageKind::kRecycleFile).empty());
}

TEST_F(CommitCoordinatorTest, missing_file_reports_lease_holder) {
  start(2, plan(1));
  coordinator_->handle_step_failed({1}, step_id(1), io_error("no such file", ENOENT));
  context_->run_pending();
  EXPECT_THAT(outcome().failure, HasSubstr("no such file"));
  std::filesystem::remove(directory_ / "owner");
  auto successor = Lease::acquire(directory_.path());
  ASSERT_TRUE(successor) << successor.error().message();
  coordinator_->handle_step_failed({1}, step_id(2), io_error("no such file", ENOENT));
  context_->run_pending();
  EXPECT_THAT(outcome().failure, HasSubstr("owner"));
}

TEST_F(CommitCoordinatorTest, files_beyond_current_writers_are_removed) {
  start(2, plan(1));
  format::StepEntry entry{.step = 1, .group = 1};
  for (std::uint32_t file = 0; file < 3; ++file)
    entry.files.push_back({file, {.offset = 4096, .bytes = 200, .checksum = 1}});
  ASSERT_TRUE(commit_log_->publish(entry));
  complete(2);
  EXPECT_TRUE(sync_directory());
  EXPECT_EQ(context_->take_messages(MessageKind::kRecycleFile).size(), 2U);
  const auto removed = context_->requests(FileOperation::kRemove);
  ASSERT_EQ(removed.size(), 1U);
  EXPECT_EQ(removed[0].name, (format::DataFileName{1, 2}));
}

// A former holder that was presumed dead once wrote into the file of a later step, and truncated
// it.
TEST_F(CommitCoordinatorTest, files_of_former_opening_are_removed_not_reused) {
  first_group_ = 2;
  start(2, plan(1));
  format::StepEntry entry{.step = 1, .group = 1};
  entry.files.push_back({0, {.offset = 4096, .bytes = 200, .checksum = 1}});
  ASSERT_TRUE(commit_log_->publish(entry));
  complete(2);
  EXPECT_TRUE(sync_directory());
  EXPECT_TRUE(context_->take_messages(MessageKind::kRecycleFile).empty());
  const auto removed = context_->requests(FileOperation::kRemove);
  ASSERT_EQ(removed.size(), 1U);
  EXPECT_EQ(removed[0].name, (format::DataFileName{1, 0}));
}

TEST_F(CommitCoordinatorTest, left_rank_fails_uncommitted_steps) {
  start(3);
  complete(1);
  commit_rank(0, 2);
  coordinator_->handle_leave({2});
  const Outcome result = outcome();
  EXPECT_EQ(result.step_id, 2U);
  EXPECT_THAT(result.failure, HasSubstr("has closed the dataset before this step"));
  EXPECT_THAT(result.failure, HasSubstr("rank 2"));
  EXPECT_TRUE(sync_directory());
  EXPECT_EQ(published(), Steps{1}) << "the step that it had committed";
  outcomes();
  commit_rank(0, 3);
  EXPECT_EQ(outcome().step_id, 3U) << "resolved at once";
}

TEST_F(CommitCoordinatorTest, all_left_is_sent_once_after_last_step) {
  start(2);
  complete(1);
  coordinator_->handle_leave({0});
  coordinator_->handle_leave({1});
  EXPECT_TRUE(context_->take_messages(MessageKind::kAllLeft).empty());
  EXPECT_TRUE(sync_directory());
  coordinator_->handle_leave({1});
  const auto result = context_->take_messages(MessageKind::kAllLeft);
  ASSERT_EQ(result.size(), 2U);
  EXPECT_EQ(result[0].to, 0U);
  EXPECT_EQ(result[1].to, 1U);
}

TEST_F(CommitCoordinatorTest, lost_rank_fails_only_steps_that_need_it) {
  start(3);
  commit_rank(1, 1);
  make_durable(1, 1);
  commit_rank(1, 2);  // its file is not durable
  commit_rank(0, 3);  // not committed by rank 1
  coordinator_->handle_rank_lost({1}, io_error("the connection has ended"));
  const auto gone = context_->take_messages(MessageKind::kRankLost);
  ASSERT_EQ(gone.size(), 2U);
  EXPECT_EQ(gone[0].to, 0U);
  EXPECT_EQ(gone[1].to, 2U);
  EXPECT_EQ(gone[0].words[0], 1U);
  const auto result = outcomes();
  ASSERT_EQ(result.size(), 2U);
  for (const Outcome& one : result) {
    EXPECT_THAT(one.failure, HasSubstr("the connection has ended"));
    EXPECT_EQ(one.recipients, (std::set<std::uint32_t>{0, 2})) << "lost ranks receive no messages";
  }
  EXPECT_EQ(result[0].step_id, 2U);
  EXPECT_EQ(result[1].step_id, 3U);
  for (const std::uint32_t rank : {0U, 2U}) {
    commit_rank(rank, 1);
    make_durable(rank, 1);
  }
  EXPECT_TRUE(sync_directory());
  EXPECT_EQ(published(), Steps{1});
}

TEST_F(CommitCoordinatorTest, later_steps_fail_at_once_after_rank_loss) {
  start(2);
  coordinator_->handle_rank_lost({1}, io_error("killed"));
  context_->take_messages(MessageKind::kRankLost);
  commit_rank(0, 1);
  const auto result = outcomes();
  ASSERT_EQ(result.size(), 1U);
  EXPECT_THAT(result[0].failure, HasSubstr("killed"));
  coordinator_->handle_leave({0});
  EXPECT_EQ(context_->take_one(MessageKind::kAllLeft).to, 0U);
}

}  // namespace
}  // namespace forebay::write
