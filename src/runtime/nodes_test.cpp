// SPDX-License-Identifier: Apache-2.0
// Ranks on several nodes: which agents read for other nodes, and what happens when a node's agent
// ends. Nodes are groups of threads here; tests/hosts has two real hosts.
#include <forebay/runtime.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <future>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "comm/in_process.hpp"
#include "comm/ranks_access.hpp"
#include "read/testing.hpp"
#include "storage/testing.hpp"

namespace forebay {
namespace {

using read::is_words;
using read::reads_words;
using read::result_of;

constexpr std::uint64_t kFileOfNodesBytes = 3'000'001;

/// With each transport: connections of the agents, and the stand-in for MPI.
class NodesTest : public ::testing::TestWithParam<BulkTransport> {
 protected:
  NodesTest() { read::write_words(path, kFileOfNodesBytes); }

  template <class F>
  void on_ranks(std::uint32_t count, std::uint32_t per_node, F test) {
    const auto outcome = comm::run_ranks(
        {.count = count, .per_node = per_node},
        [&](const std::shared_ptr<comm::Communicator>& ranks) -> Status {
          Runtime runtime(comm::make_ranks(ranks), {.tuning = {.bulk_transport = GetParam()}});
          test(runtime, *ranks);
          return ranks->barrier();
        });
    EXPECT_TRUE(outcome) << outcome.error().message();
  }

  storage::TemporaryDirectory directory;
  const std::string path = directory / "words";
};

ReadPlan plan_for_nodes(std::vector<std::uint32_t> nodes) {
  ReadPlan plan;
  plan.tuning.splinter_bytes = 16_KiB;
  plan.tuning.agent_nodes = std::move(nodes);
  plan.tuning.agent_stripe_bytes = 64_KiB;
  return plan;
}

TEST_P(NodesTest, agents_of_some_nodes_read_for_all) {
  const std::vector<std::vector<std::uint32_t>> choices = {{0}, {1}, {2, 0}, {0, 1, 2}};
  for (const auto& nodes : choices) {
    for (const std::uint32_t per_node : {1U, 2U}) {
      on_ranks(3 * per_node, per_node, [&](Runtime& runtime, comm::Communicator& ranks) {
        const auto file = runtime.open_file(path);
        ASSERT_TRUE(file) << file.error().message();
        const auto session = file->read_session({}, plan_for_nodes(nodes));
        ASSERT_TRUE(session) << session.error().message();
        EXPECT_EQ(session->plan().tuning.agent_nodes, nodes);
        EXPECT_EQ(session->plan().tuning.agent_scope, AgentScope::kPerNode);
        EXPECT_TRUE(reads_words(*session, {0, kFileOfNodesBytes}));
        EXPECT_TRUE(reads_words(*session, {kFileOfNodesBytes - 5, 5}));
        const SessionReport report = session->report();
        const std::uint32_t node = ranks.nodes().node_of(ranks.rank()).number;
        const bool reads = std::find(nodes.begin(), nodes.end(), node) != nodes.end();
        const std::uint64_t from_others = report.bytes_from_nodes;
        EXPECT_EQ(from_others > 0, !reads || nodes.size() > 1);
        EXPECT_EQ(from_others == report.bytes_read, !reads);
        EXPECT_GE(report.bytes_read, kFileOfNodesBytes);
      });
    }
  }
}

TEST_P(NodesTest, odd_extents_arrive_complete) {
  on_ranks(2, 1, [&](Runtime& runtime, comm::Communicator&) {
    const auto file = runtime.open_file(path);
    ASSERT_TRUE(file);
    for (const ByteRange extent :
         {ByteRange{1, 1}, ByteRange{5000, 70'001}, ByteRange{kFileOfNodesBytes - 1, 1},
          ByteRange{12'345, 1'000'000}}) {
      const auto session = file->read_session({extent.offset, extent.size}, plan_for_nodes({0}));
      ASSERT_TRUE(session) << session.error().message();
      EXPECT_TRUE(reads_words(*session, extent));
    }
  });
}

TEST_P(NodesTest, tasks_of_other_nodes_get_views_of_their_own_window) {
  on_ranks(2, 1, [&](Runtime& runtime, comm::Communicator&) {
    const auto session = runtime.open_file(path)->read_session({}, plan_for_nodes({0}));
    ASSERT_TRUE(session);
    auto views = session->views();
    while (!views.is_done()) {
      const auto view = result_of(views.next());
      ASSERT_TRUE(view) << view.error().message();
      EXPECT_FALSE(view->is_copy());
      ASSERT_TRUE(is_words(view->bytes(), view->range().offset));
    }
  });
}

TEST_P(NodesTest, predicted_reads_are_pushed_into_the_window_of_another_node) {
  on_ranks(4, 2, [&](Runtime& runtime, comm::Communicator&) {
    ReadPlan plan = plan_for_nodes({0});
    plan.mode = Mode::kOnDemand;
    const auto session = runtime.open_file(path)->read_session(plan);
    ASSERT_TRUE(session) << session.error().message();
    constexpr std::uint64_t kPushedReads = 60;
    for (std::uint64_t i = 0; i < kPushedReads; ++i)
      ASSERT_TRUE(reads_words(*session, {(4 * i + runtime.rank()) * 10'000, 500}));
    const SessionReport report = session->report();
    EXPECT_EQ(report.prefetch.hits + report.prefetch.late + report.prefetch.misses, kPushedReads);
    EXPECT_LE(report.prefetch.misses, 6U);
  });
}

TEST_P(NodesTest, readahead_reaches_a_node_that_has_not_requested_yet) {
  on_ranks(2, 1, [&](Runtime& runtime, comm::Communicator& ranks) {
    ReadPlan plan = plan_for_nodes({0});
    plan.tuning.request_bytes = 16_KiB;
    plan.tuning.queue_depth = 4;
    plan.readahead_bytes = 1_MiB;
    const auto session = runtime.open_file(path)->read_session({}, plan);
    ASSERT_TRUE(session) << session.error().message();
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    const bool takes = runtime.rank() == 1;
    while (takes && session->report().bytes_from_nodes < 1_MiB) {
      ASSERT_LT(std::chrono::steady_clock::now(), deadline);
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    EXPECT_TRUE(ranks.barrier());
  });
}

TEST_P(NodesTest, unknown_nodes_are_rejected) {
  on_ranks(2, 1, [&](Runtime& runtime, comm::Communicator&) {
    const auto session = runtime.open_file(path)->read_session({}, plan_for_nodes({0, 2}));
    ASSERT_FALSE(session);
    EXPECT_EQ(session.error().kind(), ErrorClass::kInvalidArgument);
    EXPECT_NE(session.error().message().find("node 2"), std::string::npos);
  });
}

TEST_P(NodesTest, single_node_reads_for_itself_with_any_plan) {
  on_ranks(2, 2, [&](Runtime& runtime, comm::Communicator&) {
    const auto session = runtime.open_file(path)->read_session({}, plan_for_nodes({0}));
    ASSERT_TRUE(session) << session.error().message();
    EXPECT_TRUE(reads_words(*session, {0, kFileOfNodesBytes}));
  });
}

TEST_P(NodesTest, late_or_absent_node_does_not_block_others) {
  on_ranks(3, 1, [&](Runtime& runtime, comm::Communicator& ranks) {
    const auto file = runtime.open_file(path);
    ASSERT_TRUE(file);
    // The owner of the file's bytes opens its session after all others have finished.
    if (runtime.rank() == 1) {
      EXPECT_TRUE(ranks.barrier());
    }
    const auto session = file->read_session({}, plan_for_nodes({1}));
    ASSERT_TRUE(session) << session.error().message();
    EXPECT_TRUE(reads_words(*session, {0, kFileOfNodesBytes}));
    if (runtime.rank() != 1) {
      EXPECT_TRUE(ranks.barrier());
    }
  });
}

TEST_P(NodesTest, sessions_on_demand_of_a_nodes_agent_follow_hints_and_functions) {
  on_ranks(4, 2, [&](Runtime& runtime, comm::Communicator& ranks) {
    ReadPlan plan = plan_for_nodes({0});
    plan.mode = Mode::kOnDemand;
    const auto session = runtime.open_file(path)->read_session({}, plan);
    ASSERT_TRUE(session) << session.error().message();
    EXPECT_EQ(session->plan().mode, Mode::kOnDemand);
    const std::uint64_t first = ranks.rank().number * 1000;
    ASSERT_TRUE(session->hint("read {100 x (20000 i + " + std::to_string(first) + ", 1000)}"));
    for (std::uint64_t i = 0; i < 100; ++i)
      ASSERT_TRUE(reads_words(*session, {20'000 * i + first, 1000}));
    const auto next = [i = std::uint64_t{0}]() mutable -> std::optional<ByteRange> {
      return ByteRange{i++ * 7919 % 2'900 * 1000, 100};
    };
    ASSERT_TRUE(session->preexecute(next));
    for (std::uint64_t i = 0; i < 200; ++i)
      ASSERT_TRUE(reads_words(*session, {i * 7919 % 2'900 * 1000, 100}));
    const PrefetchReport report = session->report().prefetch;
    EXPECT_EQ(report.hits + report.late + report.misses, 300U);
    EXPECT_GT(report.bytes_pushed, 0U);
  });
}

TEST_P(NodesTest, reads_on_demand_of_all_nodes_see_what_a_stream_of_one_rank_has_written) {
  on_ranks(4, 2, [&](Runtime& runtime, comm::Communicator& ranks) {
    ReadPlan plan = plan_for_nodes({0});
    plan.mode = Mode::kOnDemand;
    const auto session = runtime.open_file(path)->read_session({}, plan);
    ASSERT_TRUE(session) << session.error().message();
    constexpr ByteRange kWritten{40'000, 60'000};
    ASSERT_TRUE(reads_words(*session, {0, 200'000}));
    ASSERT_TRUE(ranks.barrier());
    const std::vector<std::byte> written(kWritten.size, std::byte{7});
    const auto sees_new_bytes = [&] {
      std::vector<std::byte> into(kWritten.size);
      return session->read(kWritten.offset, into).wait() && into == written;
    };
    if (ranks.rank().number == 3) {
      auto out = runtime.create_output_stream();
      auto file = out->create(path, {.existing_content = ExistingContent::kKeep});
      ASSERT_TRUE(file) << file.error().message();
      ASSERT_TRUE(out->write(*file, kWritten.offset, written));
      ASSERT_TRUE(out->drain());
      EXPECT_TRUE(sees_new_bytes());
    }
    ASSERT_TRUE(ranks.barrier());
    // The agents of other nodes are notified, and do not reply.
    const bool is_same_node = ranks.rank().number >= 2;
    EXPECT_TRUE(is_same_node ? sees_new_bytes() : read::wait_until(sees_new_bytes));
    EXPECT_TRUE(reads_words(*session, {0, kWritten.offset}));
    EXPECT_TRUE(reads_words(*session, {kWritten.end(), 100'000}));
  });
}

/// A read that depends on the word that the one before has read.
std::uint64_t offset_after(std::uint64_t word) { return (word / 8 * 7919 + 1) % 2'900 * 1024; }

/// Follows the words of the file from the offset in `argument`.
NextRead follow_words(const Session& session, std::span<const std::byte> argument) {
  std::uint64_t at = 0;
  std::memcpy(&at, argument.data(), sizeof at);
  return [session, at, has_begun = false]() mutable -> std::optional<ByteRange> {
    std::array<std::uint64_t, 1> word{};
    if (has_begun && !session.read(at, word).wait()) return std::nullopt;
    if (std::exchange(has_begun, true)) at = offset_after(word[0]);
    return ByteRange{at, sizeof word};
  };
}

ReadPlan agent_plan() {
  ReadPlan plan = plan_for_nodes({0});
  plan.mode = Mode::kOnDemand;
  plan.pre_execution_mode = PreExecutionMode::kAgent;
  return plan;
}

TEST_P(NodesTest, agents_run_functions_for_their_clients) {
  on_ranks(4, 2, [&](Runtime& runtime, comm::Communicator& ranks) {
    ASSERT_TRUE(runtime.register_next_reads("words", follow_words));
    EXPECT_EQ(runtime.register_next_reads("words", follow_words).error().kind(),
              ErrorClass::kExists);
    const auto session = runtime.open_file(path)->read_session({}, agent_plan());
    ASSERT_TRUE(session) << session.error().message();
    ASSERT_TRUE(ranks.barrier());
    std::uint64_t at = ranks.rank().number * 8 * 1024;
    ASSERT_TRUE(session->preexecute("words", std::as_bytes(std::span(&at, 1))));
    EXPECT_TRUE(read::wait_until([&] { return session->report().bytes_read > 500'000; }));
    for (int i = 0; i < 300; ++i) {
      std::array<std::uint64_t, 1> word{};
      ASSERT_TRUE(session->read(at, word).wait());
      ASSERT_EQ(word[0], at);
      at = offset_after(word[0]);
    }
    EXPECT_EQ(session->preexecute("unknown").error().kind(), ErrorClass::kNotFound);
    EXPECT_EQ(session->preexecute([] { return std::optional<ByteRange>(); }).error().kind(),
              ErrorClass::kInvalidArgument);
  });
}

TEST_P(NodesTest, functions_on_agents_that_throw_or_wait_leave_the_reads_to_the_program) {
  std::promise<void> released;
  const auto wait = released.get_future().share();
  on_ranks(2, 2, [&](Runtime& runtime, comm::Communicator& ranks) {
    const auto throws = [](const Session&, std::span<const std::byte>) -> NextRead {
      throw std::runtime_error("no next read");
    };
    const auto waits = [wait](const Session&, std::span<const std::byte>) {
      return NextRead([wait]() -> std::optional<ByteRange> {
        wait.wait();
        return std::nullopt;
      });
    };
    if (ranks.rank().number == 0) {  // the process of the agent
      ASSERT_TRUE(runtime.register_next_reads("throws", throws));
      ASSERT_TRUE(runtime.register_next_reads("waits", waits));
    }
    const auto session = runtime.open_file(path)->read_session({}, agent_plan());
    ASSERT_TRUE(session) << session.error().message();
    ASSERT_TRUE(ranks.barrier());
    if (ranks.rank().number == 0) return;
    ASSERT_TRUE(session->preexecute("throws"));
    EXPECT_TRUE(reads_words(*session, {0, 100'000}));
    ASSERT_TRUE(session->preexecute("waits"));
    EXPECT_TRUE(reads_words(*session, {100'000, 100'000}));
  });
  released.set_value();
}

// Closing a session calls the agent, which could end just before it polled again.
TEST_P(NodesTest, sessions_may_be_closed_at_the_last_moment) {
  for (int round = 0; round < 10; ++round) {
    const auto outcome = comm::run_ranks(
        {.count = 4, .per_node = 2},
        [&](const std::shared_ptr<comm::Communicator>& ranks) -> Status {
          Runtime runtime(comm::make_ranks(ranks), {.tuning = {.bulk_transport = GetParam()}});
          const auto session = runtime.open_file(path)->read_session({}, plan_for_nodes({0}));
          EXPECT_TRUE(session) << session.error().message();
          EXPECT_TRUE(reads_words(*session, {0, 300'000}));
          return {};
        });
    EXPECT_TRUE(outcome) << outcome.error().message();
  }
}

TEST_P(NodesTest, stripes_smaller_than_a_splinter_are_rejected) {
  on_ranks(2, 1, [&](Runtime& runtime, comm::Communicator&) {
    ReadPlan plan = plan_for_nodes({0, 1});
    plan.tuning.splinter_bytes = 0;
    const auto session = runtime.open_file(path)->read_session({}, plan);
    ASSERT_FALSE(session);
    EXPECT_EQ(session.error().kind(), ErrorClass::kInvalidArgument);
    EXPECT_NE(session.error().message().find("agent_stripe_bytes"), std::string::npos);
  });
}

TEST_P(NodesTest, after_the_reading_agent_ends_others_read_for_themselves) {
  const auto outcome = comm::run_ranks(
      {.count = 3, .per_node = 1}, [&](const std::shared_ptr<comm::Communicator>& ranks) -> Status {
        auto runtime = std::make_unique<Runtime>(
            comm::make_ranks(ranks), RuntimeOptions{.tuning = {.bulk_transport = GetParam()}});
        auto session = runtime->open_file(path)->read_session({}, plan_for_nodes({0}));
        EXPECT_TRUE(session) << session.error().message();
        EXPECT_TRUE(reads_words(*session, {0, 100'000}));
        if (auto met = ranks->barrier(); !met) return met;
        if (ranks->rank().number == 0) {
          session = failure({.operation = "end"});
          runtime.reset();
          return ranks->barrier();
        }
        EXPECT_TRUE(reads_words(*session, {0, kFileOfNodesBytes}));
        return ranks->barrier();
      });
  EXPECT_TRUE(outcome) << outcome.error().message();
}

INSTANTIATE_TEST_SUITE_P(Bulks,
                         NodesTest,
                         ::testing::Values(BulkTransport::kAuto, BulkTransport::kTcp),
                         [](const auto& one) {
                           return one.param == BulkTransport::kAuto ? "auto" : "tcp";
                         });

}  // namespace
}  // namespace forebay
