// SPDX-License-Identifier: Apache-2.0
// Roles of agents while steps of different plans are in flight, and an agent that receives messages
// about a step before its plan.
#include <algorithm>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/testing.hpp"
#include "comm/error_bytes.hpp"
#include "comm/message_transport_testing.hpp"
#include "write/commit_coordinator.hpp"
#include "write/dataset_agent.hpp"
#include "write/message_codec.hpp"
#include "write/role_testing.hpp"

namespace forebay::write {
namespace {

using std::chrono::nanoseconds;

constexpr TestOpening kChanging{.first_group = 1, .changes = PlanChanges::kBetweenGroups};

WritePlan plan_of(std::uint32_t writers, std::uint32_t files, Strategy strategy) {
  WritePlan plan{.strategy = strategy, .writers = writers, .files = files};
  plan.memory_bytes = 16_MiB;
  plan.steps_in_flight = 2;
  plan.tuning.steps_per_group = 1;
  plan.tuning.unit_bytes = 1_MiB;
  return plan;
}

/// Of four ranks, 0 and 2 write by the plan at opening.
const WritePlan kOpened = plan_of(2, 2, Strategy::kReducedBlocking);
/// The first group that is not decided at opening.
constexpr std::uint64_t kChangedGroup = 3;

TestContext context_of_rank(std::uint32_t rank) {
  return {single_node_layout(4), kOpened, rank, kChanging};
}

void change_plan(TestContext& context, const WritePlan& plan) {
  PlanSchedule& plans = context.plans_to_change();
  const Status added = plans.add({plans.decided_end(), plan});
  EXPECT_TRUE(added) << added.error().message();
  plans.decide_until(plans.decided_end() + 1);
}

TEST(StepPlans, producer_sends_each_step_by_its_plan) {
  TestContext context = context_of_rank(3);
  change_plan(context, plan_of(1, 1, Strategy::kReducedBlocking));
  StepProducer producer(context, [](const StepId&, const Status&) {});
  for (const std::uint64_t number : {2U, 3U}) {
    producer.begin(step_id(number));
    producer.offer({.chunk = {.step = step_id(number), .origin = 3}, .release = [] {}});
  }
  const auto offers = context.take_messages(MessageKind::kOfferChunk);
  ASSERT_EQ(offers.size(), 2U);
  EXPECT_EQ(offers[0].to, 2U);
  EXPECT_EQ(offers[1].to, 0U);
}

TEST(StepPlans, lost_writer_fails_only_steps_of_its_plans) {
  TestContext context = context_of_rank(3);
  change_plan(context, plan_of(1, 1, Strategy::kReducedBlocking));
  std::vector<std::uint64_t> released;
  StepProducer producer(context, [](const StepId&, const Status&) {});
  for (const std::uint64_t number : {2U, 3U}) {
    producer.begin(step_id(number));
    producer.offer({.chunk = {.step = step_id(number), .origin = 3},
                    .release = [&released, number] { released.push_back(number); }});
  }
  producer.handle_rank_lost({2}, io_error("rank 2 was killed"));
  const SentMessage failed = context.take_one(MessageKind::kStepFailed);
  EXPECT_EQ(failed.words[0], 2U);
  EXPECT_EQ(released, std::vector<std::uint64_t>{2});
  change_plan(context, kOpened);
  producer.begin(step_id(4));
  EXPECT_EQ(context.take_one(MessageKind::kStepFailed).words[0], 4U) << "it needs rank 2 again";
}

/// A chunk of 1 MiB that is a whole region.
void offer_region(Aggregator& aggregator, std::uint32_t from, std::uint64_t number) {
  const Chunk chunk{.step = step_id(number),
                    .origin = from,
                    .region_bytes = 1_MiB,
                    .bytes = 1_MiB,
                    .is_last = true};
  EXPECT_TRUE(aggregator.handle_offer_chunk({from}, {chunk, number, {}, 0}));
  const auto room = aggregator.receive_buffer({from}, number, 1_MiB);
  ASSERT_EQ(room.size(), 1_MiB);
  aggregator.handle_chunk_data({from}, number);
}

TEST(StepPlans, writer_has_a_baton_of_each_owner) {
  TestContext context = context_of_rank(2);
  WritePlan baton = plan_of(2, 1, Strategy::kBaton);
  baton.tuning.exchange = Exchange::kMessage;
  baton.tuning.access = Access::kBuffered;
  change_plan(context, baton);
  auto staging =
      StagingPool::create({.memory_bytes = 8_MiB, .segment_bytes = 64_KiB, .prefault_bytes = 0});
  ASSERT_TRUE(staging);
  Aggregator aggregator(context, *staging);
  offer_region(aggregator, 3, 2);  // rank 2 owns a file of this step
  offer_region(aggregator, 3, 3);  // and writes to the file of rank 0 in this one
  const auto requests = context.take_messages(MessageKind::kAllocateRequest);
  ASSERT_EQ(requests.size(), 2U);
  EXPECT_EQ(requests[0].to, 2U);
  EXPECT_EQ(requests[1].to, 0U);
  for (const SentMessage& request : requests)
    EXPECT_TRUE(aggregator.handle_allocate_reply(request.words[2], 4096));
  std::vector<std::optional<Access>> accesses;
  for (const FileRequest& request : context.requests(FileOperation::kOpen))
    accesses.push_back(request.access);
  EXPECT_EQ(accesses, (std::vector<std::optional<Access>>{std::nullopt, Access::kBuffered}));
  EXPECT_EQ(context.complete_all(FileOperation::kOpen), 2U);
  std::vector<format::DataFileName> written;
  for (const FileRequest& request : context.requests(FileOperation::kWrite))
    written.push_back(request.name);
  EXPECT_EQ(written, (std::vector<format::DataFileName>{{2, 1}, {3, 0}}));
  EXPECT_EQ(context.complete_all(FileOperation::kWrite), 2U);
  const SentMessage released = context.take_one(MessageKind::kReleaseBaton);
  EXPECT_EQ(released.to, 0U);
  EXPECT_EQ(released.words[1], kChangedGroup);
  EXPECT_EQ((*staging)->counts().in_use, 0U);
}

// The owner would wait for the end of the lease.
TEST(StepPlans, baton_is_released_while_regions_of_other_plans_are_open) {
  TestContext context = context_of_rank(2);
  WritePlan baton = plan_of(2, 1, Strategy::kBaton);
  baton.tuning.exchange = Exchange::kMessage;
  change_plan(context, baton);
  auto staging =
      StagingPool::create({.memory_bytes = 8_MiB, .segment_bytes = 64_KiB, .prefault_bytes = 0});
  ASSERT_TRUE(staging);
  WritePlan messages = plan_of(2, 1, Strategy::kReducedBlocking);
  messages.tuning.exchange = Exchange::kMessage;
  change_plan(context, messages);
  Aggregator aggregator(context, *staging);
  for (const std::uint64_t number : {3U, 4U}) {
    offer_region(aggregator, 3, number);
    const SentMessage request = context.take_one(MessageKind::kAllocateRequest);
    EXPECT_EQ(request.to, 0U);
    EXPECT_TRUE(aggregator.handle_allocate_reply(request.words[2], 4096));
    EXPECT_TRUE(context.complete(FileOperation::kOpen));
  }
  EXPECT_TRUE(context.complete(FileOperation::kWrite));
  EXPECT_EQ(context.take_one(MessageKind::kReleaseBaton).words[0], 3U);
  EXPECT_TRUE(context.complete(FileOperation::kWrite));
  EXPECT_TRUE(context.take_messages(MessageKind::kReleaseBaton).empty());
}

TEST(StepPlans, lost_owner_fails_only_steps_of_its_files) {
  TestContext context = context_of_rank(2);
  change_plan(context, plan_of(2, 1, Strategy::kReducedBlocking));
  auto staging =
      StagingPool::create({.memory_bytes = 8_MiB, .segment_bytes = 64_KiB, .prefault_bytes = 0});
  ASSERT_TRUE(staging);
  Aggregator aggregator(context, *staging);
  EXPECT_TRUE(aggregator.handle_region_count(step_id(2), 3, 1));
  EXPECT_TRUE(aggregator.handle_region_count(step_id(3), 3, 1));
  aggregator.handle_rank_lost({0}, io_error("rank 0 was killed"));
  EXPECT_EQ(context.take_one(MessageKind::kStepFailed).words[0], 3U);
}

std::vector<format::DataFileName> created_files(TestContext& context) {
  std::vector<format::DataFileName> names;
  for (const FileRequest& request : context.requests(FileOperation::kCreate))
    names.push_back(request.name);
  return names;
}

TEST(StepPlans, owner_creates_files_as_soon_as_their_plans_are_decided) {
  TestContext context = context_of_rank(2);
  FileOwner owner(context, FileOwner::Setup{{}, 1, 12_MiB});
  owner.start();
  const std::vector<format::DataFileName> opened{{1, 1}, {2, 1}};
  EXPECT_EQ(created_files(context), opened);
  EXPECT_EQ(context.requests(FileOperation::kCreate).front().offset, 6_MiB) << "half of a step";
  context.complete_all(FileOperation::kCreate);
  WritePlan direct = plan_of(4, 4, Strategy::kFilePerProcess);
  direct.tuning.access = Access::kDirect;
  change_plan(context, direct);
  owner.handle_plans_decided(3);
  EXPECT_EQ(created_files(context), (std::vector<format::DataFileName>{{3, 2}}));
  EXPECT_EQ(context.requests(FileOperation::kCreate).front().access, Access::kDirect);
  EXPECT_EQ(context.requests(FileOperation::kCreate).front().offset, 3_MiB);
  EXPECT_TRUE(context.requests(FileOperation::kRemoveFreeFiles).empty());
}

TEST(StepPlans, rank_that_owns_no_file_any_more_keeps_no_recycled_files) {
  TestContext context = context_of_rank(2);
  FileOwner owner(context, FileOwner::Setup{{}, 1, 0});
  owner.start();
  context.complete_all(FileOperation::kCreate);
  for (int i = 0; i < 2; ++i) {
    change_plan(context, plan_of(1, 1, Strategy::kReducedBlocking));
    owner.handle_plans_decided(context.plans().decided_end() - 1);
  }
  EXPECT_TRUE(context.requests(FileOperation::kCreate).empty());
  EXPECT_EQ(context.requests(FileOperation::kRemoveFreeFiles).size(), 1U);
  // Files of steps that are not begun.
  owner.shut_down();
  EXPECT_EQ(context.requests(FileOperation::kRemove).size(), 2U);
}

/// Gives each step one file more than the one before, and keeps what it has received.
class GrowingChooser final : public PlanChooser {
 public:
  explicit GrowingChooser(std::vector<StepMeasurement>& steps) : steps_(steps) {}
  void record(const StepMeasurement& step) override { steps_.push_back(step); }
  WritePlan choose(std::uint64_t ordinal) override {
    const auto files = static_cast<std::uint32_t>(ordinal % 4 + 1);
    return plan_of(4, files, Strategy::kReducedBlocking);
  }

 private:
  std::vector<StepMeasurement>& steps_;
};

class CoordinatorWithChooser : public ::testing::Test {
 protected:
  void start(const WritePlan& plan) {
    context_ = std::make_unique<TestContext>(single_node_layout(4), plan, 0, kChanging);
    commit_log_ = CommitLog::open(directory_.path()).value();
    lease_ = Lease::acquire(directory_.path()).value();
    auto decider = std::make_unique<PlanDecider>(
        PlanDecider::Setup{"run.fb", std::make_unique<GrowingChooser>(steps_)},
        context_->plans_to_change());
    coordinator_ =
        std::make_unique<CommitCoordinator>(*context_, commit_log_, *lease_, std::move(decider));
  }
  void commit(std::uint32_t rank, std::uint64_t number) {
    coordinator_->handle_rank_committed({rank}, step_id(number), {{}, elapsed_time_});
  }
  /// All ranks commit the step, and `files` files of it are durable.
  void complete(std::uint64_t number, std::uint32_t files) {
    for (std::uint32_t rank = 0; rank < 4; ++rank)
      commit(rank, number);
    for (std::uint32_t file = 0; file < files; ++file)
      coordinator_->handle_file_durable({0}, {.step = step_id(number),
                                              .file = file,
                                              .index = {.offset = 4096, .bytes = 200},
                                              .raw_bytes = 1000});
    context_->complete_all(FileOperation::kSyncDirectory);
  }

  const TemporaryDirectory directory_;
  std::chrono::milliseconds elapsed_time_{5};
  std::vector<StepMeasurement> steps_;
  std::unique_ptr<TestContext> context_;
  std::shared_ptr<CommitLog> commit_log_;
  std::unique_ptr<Lease> lease_;
  std::unique_ptr<CommitCoordinator> coordinator_;
};

TEST_F(CoordinatorWithChooser, outcome_has_the_plan_of_the_step_that_may_begin_then) {
  start(kOpened);
  complete(1, 2);
  const auto outcomes = context_->take_messages(MessageKind::kStepOutcome);
  ASSERT_EQ(outcomes.size(), 4U);
  for (const SentMessage& outcome : outcomes) {
    EXPECT_EQ(outcome.words[3], kChangedGroup + 1) << "the end of decided groups";
    const auto message = step_outcome_from_bytes(outcome.payload);
    ASSERT_TRUE(message) << message.error().message();
    ASSERT_EQ(message->changes.size(), 1U);
    EXPECT_EQ(message->changes[0].first_group, kChangedGroup);
    EXPECT_EQ(message->changes[0].plan.files, 3U);
  }
}

TEST_F(CoordinatorWithChooser, step_is_complete_with_the_files_of_its_plan) {
  start(kOpened);
  complete(1, 2);
  complete(2, 2);
  complete(3, 2);
  EXPECT_EQ(commit_log_->steps().size(), 2U) << "step 3 has three files";
  coordinator_->handle_file_durable({3}, {.step = step_id(3), .file = 2});
  context_->complete_all(FileOperation::kSyncDirectory);
  ASSERT_EQ(commit_log_->steps().size(), 3U);
  EXPECT_EQ(commit_log_->steps().back().files.size(), 3U);
  EXPECT_EQ(commit_log_->steps().back().writers, 4U);
}

TEST_F(CoordinatorWithChooser, measurement_has_the_time_and_all_bytes) {
  start(kOpened);
  complete(1, 2);
  coordinator_->handle_step_failed({2}, step_id(2), io_error("no space"));
  ASSERT_EQ(steps_.size(), 2U);
  EXPECT_EQ(steps_[0].ordinal, 0U);
  EXPECT_EQ(steps_[0].outcome, MeasuredOutcome::kPublished);
  EXPECT_EQ(steps_[0].bytes, 2000U);
  EXPECT_GE(steps_[0].durable_time, std::chrono::milliseconds(5));
  EXPECT_EQ(steps_[1].ordinal, 1U);
  EXPECT_EQ(steps_[1].outcome, MeasuredOutcome::kFailed);
  EXPECT_EQ(steps_[1].durable_time, nanoseconds(0)) << "rank 0 has not committed it";
  coordinator_->handle_step_failed(
      {2}, step_id(3),
      Error({.kind = ErrorClass::kCancelled, .operation = "write", .cause = "aborted"}));
  EXPECT_EQ(steps_[2].outcome, MeasuredOutcome::kAbandoned);
  coordinator_->handle_rank_lost({3}, io_error("rank 3 was killed"));
  coordinator_->handle_step_failed({2}, step_id(4), io_error("rank 3 was killed"));
  EXPECT_EQ(steps_[3].outcome, MeasuredOutcome::kAbandoned);
}

TEST_F(CoordinatorWithChooser, time_of_a_step_begins_after_the_slow_step_before) {
  start(kOpened);
  const auto before = std::chrono::steady_clock::now();
  elapsed_time_ = std::chrono::milliseconds(200);
  complete(1, 2);
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  complete(2, 2);
  const auto since_first = std::chrono::steady_clock::now() - before;
  ASSERT_EQ(steps_.size(), 2U);
  EXPECT_GE(steps_[0].durable_time, elapsed_time_);
  EXPECT_GE(steps_[1].durable_time, std::chrono::milliseconds(100));
  EXPECT_LE(steps_[1].durable_time, since_first) << "both began 200 ms before";
}

TEST_F(CoordinatorWithChooser, step_that_was_written_during_another_one_is_not_measured) {
  start(kOpened);
  complete(1, 2);
  elapsed_time_ = std::chrono::hours(1);
  complete(2, 2);
  ASSERT_EQ(steps_.size(), 2U);
  EXPECT_EQ(steps_[1].outcome, MeasuredOutcome::kPublished);
  EXPECT_EQ(steps_[1].durable_time, nanoseconds(0));
}

TEST_F(CoordinatorWithChooser, dropped_file_is_recycled_by_an_owner_of_the_newest_plan) {
  WritePlan plan = plan_of(4, 4, Strategy::kFilePerProcess);
  plan.retained_steps = 1;
  start(plan);
  coordinator_.reset();
  coordinator_ = std::make_unique<CommitCoordinator>(*context_, commit_log_, *lease_);
  complete(1, 4);
  WritePlan next = plan_of(2, 2, Strategy::kReducedBlocking);
  next.retained_steps = 1;
  change_plan(*context_, next);
  complete(2, 4);
  const auto recycled = context_->take_messages(MessageKind::kRecycleFile);
  ASSERT_EQ(recycled.size(), 2U);
  EXPECT_EQ(recycled[0].to, 0U);
  EXPECT_EQ(recycled[1].to, 2U) << "rank 1 created it, and owns no file now";
  EXPECT_EQ(recycled[1].words[1], 1U);
  EXPECT_EQ(context_->requests(FileOperation::kRemove).size(), 2U) << "files 2 and 3";
}

/// Rank 1 has an agent. Ranks 0 (the coordinator) and 2 are played by the test.
class LateRank {
 public:
  explicit LateRank(comm::Communicator& ranks)
      : ranks_(ranks), transport_(comm::open_transport(ranks, {})) {}

  /// Until its end. Steps of groups below `begin_end` may begin then.
  void run_agent(std::uint64_t begin_end = kChangedGroup + 1) {
    const RankLayout layout{.node_of_compute_rank = {0, 1, 1}};
    const auto agent = DatasetAgent::start(
        {.path = "run.fb",
         .plan = plan_write({.rank_layout = layout}, kOpened).value(),
         .plan_changes = PlanChanges::kBetweenGroups,
         .rank_layout = layout,
         .dataset = {},
         .first_group = 1,
         .transport = std::move(transport_),
         .file_writer = std::make_unique<TestFileWriter>(),
         .on_plans_decided = [this](const PlanSchedule&, std::uint64_t end) { begin_end_ = end; }});
    ASSERT_TRUE(agent) << agent.error().message();
    (*agent)->post_to_producer([](StepProducer& producer) { producer.leave(); });
    (*agent)->wait_until_ended();
    EXPECT_EQ(begin_end_, begin_end);
  }
  /// Sends to rank 1.
  void send(MessageKind kind, const AgentContext::Words& words, comm::Bytes payload = {}) {
    EXPECT_TRUE(transport_->send(comm::Rank{1},
                                 {.kind = static_cast<std::uint32_t>(kind), .words = words},
                                 std::move(payload)));
  }
  /// The step of the next reply to kRegionCount; 0 if rank 1 closes the connection.
  std::uint64_t next_reply() {
    const auto is_there = [this] {
      return handler_.messages.size() > replies_ || handler_.loss_of(comm::Rank{1}) != nullptr;
    };
    EXPECT_TRUE(comm::run_until(*transport_, handler_, is_there));
    if (handler_.messages.size() == replies_) return 0;
    const auto& [from, header, payload] = handler_.messages[replies_++];
    EXPECT_EQ(header.kind, static_cast<std::uint32_t>(MessageKind::kRegionsWritten))
        << (payload.empty() ? "" : comm::error_from_bytes(payload)->message());
    return header.words[0];
  }
  /// Sends the outcome of step 1, with a plan of the first group that is not decided.
  void announce(const WritePlan& plan, std::uint64_t decided_end = kChangedGroup + 1) {
    send(
        MessageKind::kStepOutcome,
        message_words(step_id(1), static_cast<std::uint64_t>(StepOutcome::kPublished), decided_end),
        to_bytes(StepOutcomeMessage{.changes = {{kChangedGroup, plan}}}));
    const auto is_sent = [this] {
      return !handler_.messages.empty() && transport_->queued_bytes() == 0;
    };
    EXPECT_TRUE(comm::run_until(*transport_, handler_, is_sent)) << "after kHello";
  }
  void disconnect() { transport_.reset(); }
  void await_failure_of(const StepId& step) {
    const auto is_reported = [&] {
      return std::ranges::any_of(handler_.messages, [&](const auto& message) {
        const auto& header = message.header;
        return header.kind == static_cast<std::uint32_t>(MessageKind::kStepFailed) &&
               step_id_of(header) == step;
      });
    };
    EXPECT_TRUE(comm::run_until(*transport_, handler_, is_reported));
  }
  void end_agent() {
    send(MessageKind::kAllLeft, {});
    await_end();
  }
  void await_end() { EXPECT_TRUE(comm::run_until_lost(*transport_, handler_, comm::Rank{1})); }
  void barrier() { EXPECT_TRUE(ranks_.barrier()); }

 private:
  comm::Communicator& ranks_;
  std::unique_ptr<comm::MessageTransport> transport_;
  comm::RecordingHandler handler_;
  std::size_t replies_ = 0;
  std::uint64_t begin_end_ = 0;
};

/// Rank 2 sends rank 1 a message about a step without plan. `changed` is announced after it, and
/// then rank 2 expects a reply to the step `expected`, or 0 if its connection is closed.
void announce_after_message(const WritePlan& changed, std::uint64_t expected) {
  comm::run_on_ranks(3, [&](const comm::CommunicatorPtr& ranks) {
    LateRank rank(*ranks);
    if (ranks->rank() == comm::Rank{2}) {
      rank.send(MessageKind::kRegionCount, message_words(step_id(kChangedGroup)));
      rank.send(MessageKind::kRegionCount, message_words(step_id(2)));
      EXPECT_EQ(rank.next_reply(), 2U) << "the other message is kept";
      rank.barrier();
      EXPECT_EQ(rank.next_reply(), expected);
      rank.barrier();
      return;
    }
    if (ranks->rank() == comm::Rank{1}) {
      std::thread agent([&] { rank.run_agent(); });
      rank.barrier();
      rank.barrier();
      return agent.join();
    }
    rank.barrier();
    rank.announce(changed);
    rank.barrier();
    rank.end_agent();
  });
}

TEST(LateAgent, message_about_a_step_without_plan_waits_for_the_plan) {
  announce_after_message(plan_of(2, 1, Strategy::kReducedBlocking), kChangedGroup);
}

TEST(LateAgent, kept_message_of_a_wrong_sender_closes_its_connection) {
  // Rank 2 sends its bytes to rank 1 by the plan at opening, and to rank 0 by the next one.
  announce_after_message(plan_of(1, 1, Strategy::kReducedBlocking), 0);
}

TEST(LateAgent, kept_message_of_a_lost_rank_fails_its_step) {
  comm::run_on_ranks(3, [](const comm::CommunicatorPtr& ranks) {
    LateRank rank(*ranks);
    if (ranks->rank() == comm::Rank{2}) {
      rank.send(MessageKind::kRegionCount, message_words(step_id(kChangedGroup)));
      rank.send(MessageKind::kRegionCount, message_words(step_id(2)));
      EXPECT_EQ(rank.next_reply(), 2U) << "the other message is kept";
      return rank.disconnect();
    }
    if (ranks->rank() == comm::Rank{1}) return rank.run_agent(0);
    rank.await_failure_of(step_id(kChangedGroup));
    rank.end_agent();
  });
}

TEST(LateAgent, outcome_that_decides_too_many_groups_closes_the_connection) {
  comm::run_on_ranks(2, [](const comm::CommunicatorPtr& ranks) {
    LateRank rank(*ranks);
    if (ranks->rank() == comm::Rank{1}) return rank.run_agent(kAllGroups);
    rank.announce(plan_of(1, 1, Strategy::kReducedBlocking), kChangedGroup + 3);
    rank.await_end();
  });
}

}  // namespace
}  // namespace forebay::write
