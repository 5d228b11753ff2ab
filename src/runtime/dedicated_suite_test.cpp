// SPDX-License-Identifier: Apache-2.0
// Tests with I/O ranks: the same for ranks as threads and for ranks of an MPI job.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "comm/ranks_access.hpp"
#include "runtime/node_roles.hpp"
#include "runtime/testing.hpp"

namespace forebay {
namespace {

/// The roles on the node of this rank, from the pure function.
NodeRoles own_node_roles(const comm::Communicator& ranks) {
  const comm::Node node = ranks.nodes().node_of(ranks.rank());
  return assign_roles(ranks.nodes(), Placement::kDedicated).at(node.number);
}

/// The plan of files on devices, for a small file on any storage.
ReadPlan shared_agent_plan() { return {.tuning = {.agent_scope = AgentScope::kPerNode}}; }

/// Reads the whole file of words, through an agent in another rank if there is one.
void read_all(const DedicatedFixture& fixture, const File& file) {
  const auto session = file.read_session({}, shared_agent_plan());
  ASSERT_TRUE(session) << session.error().message();
  EXPECT_TRUE(reads_words(*session, {0, DedicatedFixture::kFileBytes}));
  const bool has_agent = own_node_roles(fixture.ranks).sharing_ranks() > 1;
  EXPECT_EQ(session->plan().tuning.agent_scope,
            has_agent ? AgentScope::kPerNode : AgentScope::kPerRank);
}

/// Calls `compute` on the compute ranks; the others serve.
template <class F>
void with_dedicated_fixture(F compute) {
  DedicatedSuite::run_on_all_ranks([&](const Communicator& communicator) {
    DedicatedFixture fixture(communicator);
    Runtime runtime(comm::make_ranks(communicator), {.placement = Placement::kDedicated});
    if (runtime.role() == Role::kCompute) {
      compute(fixture, runtime);
    } else {
      const Status served = runtime.serve();
      EXPECT_TRUE(served) << served.error().message();
    }
  });
}

TEST_P(DedicatedSuite, compute_ranks_read_the_right_bytes) {
  with_dedicated_fixture([](DedicatedFixture& fixture, Runtime& runtime) {
    const auto file = runtime.open_file(fixture.path());
    ASSERT_TRUE(file) << file.error().message();
    read_all(fixture, *file);
    const auto session = file->read_session({}, shared_agent_plan());
    ASSERT_TRUE(session) << session.error().message();
    const std::uint64_t share = DedicatedFixture::kFileBytes / runtime.rank_count();
    EXPECT_TRUE(reads_words(*session, {runtime.rank() * share, share}));
    EXPECT_EQ(session->handle(), runtime.find_session(session->handle())->handle());
  });
}

TEST_P(DedicatedSuite, ranks_have_the_assigned_roles) {
  run_on_all_ranks([](const Communicator& communicator) {
    comm::Communicator& ranks = *communicator;
    Runtime runtime(comm::make_ranks(communicator), {.placement = Placement::kDedicated});
    EXPECT_EQ(runtime.role(), own_node_roles(ranks).role_of(ranks.rank()));
    const auto roles = assign_roles(ranks.nodes(), Placement::kDedicated);
    const std::uint32_t compute_rank_count = std::accumulate(
        roles.begin(), roles.end(), 0U,
        [](std::uint32_t sum, const NodeRoles& here) { return sum + here.compute_rank_count; });
    const bool computes = runtime.role() == Role::kCompute;
    EXPECT_EQ(runtime.rank_count(),
              computes ? compute_rank_count : ranks.size() - compute_rank_count);
    EXPECT_LT(runtime.rank(), runtime.rank_count());
    if (ranks.rank() == comm::Rank{0}) {
      EXPECT_EQ(runtime.rank(), 0U);
    }
  });
}

TEST_P(DedicatedSuite, compute_ranks_have_their_own_message_space) {
  with_dedicated_fixture([](DedicatedFixture& fixture, Runtime& runtime) {
    const Ranks compute = runtime.compute_ranks();
    ASSERT_TRUE(comm::ranks_communicator(compute))
        << comm::ranks_communicator(compute).error().message();
    comm::Communicator& ours = **comm::ranks_communicator(compute);
    EXPECT_EQ(ours.rank().number, runtime.rank());
    EXPECT_EQ(ours.size(), runtime.rank_count());
    // Collective calls of both communicators, interleaved: messages never match across them.
    const auto ranks = ours.all_reduce(comm::Reduction::kSum, 1);
    ASSERT_TRUE(ranks);
    EXPECT_EQ(*ranks, runtime.rank_count());
    ASSERT_TRUE(runtime.open_file(fixture.path()));
    EXPECT_TRUE(ours.barrier());
  });
}

TEST_P(DedicatedSuite, compute_ranks_outlive_their_runtime) {
  run_on_all_ranks([](const Communicator& communicator) {
    std::optional<Runtime> runtime(std::in_place, comm::make_ranks(communicator),
                                   RuntimeOptions{.placement = Placement::kDedicated});
    const Ranks compute = runtime->compute_ranks();
    const std::uint32_t count = runtime->rank_count();
    runtime.reset();
    if (!comm::ranks_communicator(compute)) return;  // an I/O rank
    const auto ranks = (*comm::ranks_communicator(compute))->all_reduce(comm::Reduction::kSum, 1);
    ASSERT_TRUE(ranks);
    EXPECT_EQ(*ranks, count);
  });
}

TEST_P(DedicatedSuite, without_placement_all_ranks_compute) {
  run_on_all_ranks([](const Communicator& communicator) {
    DedicatedFixture fixture(communicator);
    Runtime runtime{comm::make_ranks(communicator)};
    EXPECT_EQ(runtime.role(), Role::kCompute);
    EXPECT_EQ(runtime.rank_count(), communicator->size());
    const Ranks compute = runtime.compute_ranks();
    ASSERT_TRUE(comm::ranks_communicator(compute));
    EXPECT_EQ((*comm::ranks_communicator(compute))->size(), communicator->size());
    EXPECT_TRUE((*comm::ranks_communicator(compute))->barrier());
    EXPECT_EQ(error_class(runtime.serve()), ErrorClass::kInvalidArgument);
  });
}

TEST_P(DedicatedSuite, wrong_call_for_the_role_names_the_right_one) {
  run_on_all_ranks([](const Communicator& communicator) {
    DedicatedFixture fixture(communicator);
    Runtime runtime(comm::make_ranks(communicator), {.placement = Placement::kDedicated});
    if (runtime.role() == Role::kCompute) {
      const Status served = runtime.serve();
      ASSERT_EQ(error_class(served), ErrorClass::kInvalidArgument);
      EXPECT_TRUE(message_contains(served.error(), "I/O ranks only"));
      return;
    }
    // Returns at once, on this rank alone: no other rank calls it.
    const auto file = runtime.open_file(fixture.path());
    ASSERT_EQ(error_class(file), ErrorClass::kInvalidArgument);
    EXPECT_TRUE(message_contains(file.error(), "serve()")) << file.error().message();
    EXPECT_EQ(file.error().path(), fixture.path());
    const auto session = runtime.find_session({});
    ASSERT_EQ(error_class(session), ErrorClass::kInvalidArgument);
    EXPECT_TRUE(message_contains(session.error(), "serve()"));
    ASSERT_FALSE(comm::ranks_communicator(runtime.compute_ranks()));
    EXPECT_EQ(comm::ranks_communicator(runtime.compute_ranks()).error().kind(),
              ErrorClass::kInvalidArgument);
  });
}

TEST_P(DedicatedSuite, different_placements_are_the_same_error_on_all_ranks) {
  run_on_all_ranks([](const Communicator& communicator) {
    if (communicator->size() == 1) return;
    const bool differs = communicator->rank() == comm::Rank{1};
    Runtime runtime(comm::make_ranks(communicator),
                    {.placement = differs ? Placement::kDedicated : Placement::kInRank});
    const auto file = runtime.open_file("any");
    ASSERT_EQ(error_class(file), ErrorClass::kInvalidArgument);
    EXPECT_TRUE(message_contains(file.error(), "same placement"));
    EXPECT_EQ(runtime.role(), Role::kCompute);
    EXPECT_FALSE(comm::ranks_communicator(runtime.compute_ranks()));
    EXPECT_EQ(error_class(runtime.serve()), ErrorClass::kInvalidArgument);
  });
}

TEST_P(DedicatedSuite, serve_returns_after_the_last_rank_has_left) {
  run_on_all_ranks([](const Communicator& communicator) {
    DedicatedFixture fixture(communicator);
    std::optional<Runtime> runtime(std::in_place, comm::make_ranks(communicator),
                                   RuntimeOptions{.placement = Placement::kDedicated});
    if (runtime->role() == Role::kIo) {
      EXPECT_TRUE(runtime->serve());
      EXPECT_TRUE(runtime->serve());  // a second call returns at once
      return;
    }
    // Ranks leave one after the other; the remaining ones are served as before.
    const Ranks compute = runtime->compute_ranks();
    comm::Communicator& ours = **comm::ranks_communicator(compute);
    std::optional<File> file = runtime->open_file(fixture.path()).value();
    for (std::uint32_t leaving = 0; leaving < ours.size(); ++leaving) {
      if (file) read_all(fixture, *file);
      if (leaving == ours.rank().number) {
        file.reset();
        runtime.reset();
      }
      EXPECT_TRUE(ours.barrier());
    }
  });
}

TEST_P(DedicatedSuite, after_an_agent_leaves_early_others_read_for_themselves) {
  run_on_all_ranks([](const Communicator& communicator) {
    DedicatedFixture fixture(communicator);
    std::optional<Runtime> runtime(std::in_place, comm::make_ranks(communicator),
                                   RuntimeOptions{.placement = Placement::kDedicated});
    if (runtime->role() == Role::kIo) {
      fixture.barrier();  // sessions are open
      runtime.reset();
      fixture.barrier();
      return;
    }
    const auto file = runtime->open_file(fixture.path());
    ASSERT_TRUE(file);
    const auto before = file->read_session({}, shared_agent_plan());
    ASSERT_TRUE(before) << before.error().message();
    EXPECT_TRUE(reads_words(*before, {0, 1000}));
    fixture.barrier();
    fixture.barrier();  // agents have ended
    EXPECT_TRUE(reads_words(*before, {0, DedicatedFixture::kFileBytes}));
    const auto after = file->read_session({}, shared_agent_plan());
    ASSERT_TRUE(after) << after.error().message();
    EXPECT_TRUE(reads_words(*after, {0, DedicatedFixture::kFileBytes}));
  });
}

TEST_P(DedicatedSuite, agent_that_leaves_during_opens_and_reads_blocks_no_rank) {
  constexpr int kSessions = 6;
  run_on_all_ranks([](const std::shared_ptr<comm::Communicator>& communicator) {
    for (int round = 0; round < 3; ++round) {
      DedicatedFixture fixture(communicator);
      std::optional<Runtime> runtime(std::in_place, comm::make_ranks(communicator),
                                     RuntimeOptions{.placement = Placement::kDedicated});
      if (runtime->role() == Role::kIo) {
        std::this_thread::sleep_for(std::chrono::milliseconds(2 * round));
        runtime.reset();  // while others open sessions, read, and close them
        fixture.barrier();
        continue;
      }
      const auto file = runtime->open_file(fixture.path());
      ASSERT_TRUE(file) << file.error().message();
      for (int i = 0; i < kSessions; ++i) {
        const auto session = file->read_session({}, shared_agent_plan());
        ASSERT_TRUE(session) << session.error().message();
        const std::uint64_t begin = 400'000ULL * i;
        EXPECT_TRUE(reads_words(*session, {begin, 600'000}));
      }
      fixture.barrier();
    }
  });
}

/// Only the agent of node 0 accesses storage; it sends to other nodes what their ranks request.
ReadPlan first_node_plan() {
  ReadPlan plan{.tuning = {.splinter_bytes = 16_KiB}};
  plan.tuning.agent_nodes = {0};
  plan.tuning.agent_stripe_bytes = 64_KiB;
  return plan;
}

TEST_P(DedicatedSuite, agent_of_one_node_reads_for_all_nodes) {
  with_dedicated_fixture([](DedicatedFixture& fixture, Runtime& runtime) {
    const auto file = runtime.open_file(fixture.path());
    ASSERT_TRUE(file) << file.error().message();
    const auto session = file->read_session({}, first_node_plan());
    ASSERT_TRUE(session) << session.error().message();
    EXPECT_TRUE(reads_words(*session, {0, DedicatedFixture::kFileBytes}));
    const bool is_first_node = fixture.ranks.nodes().node_of(fixture.ranks.rank()) == comm::Node{0};
    EXPECT_EQ(session->report().bytes_from_nodes > 0, !is_first_node);
    const Ranks compute = runtime.compute_ranks();
    EXPECT_TRUE(
        (*comm::ranks_communicator(compute))->barrier());  // node 0 serves until all have read
  });
}

TEST_P(DedicatedSuite, after_a_node_has_finished_others_read_for_themselves) {
  with_dedicated_fixture([](DedicatedFixture& fixture, Runtime& runtime) {
    const auto file = runtime.open_file(fixture.path());
    ASSERT_TRUE(file) << file.error().message();
    const auto session = file->read_session({}, first_node_plan());
    ASSERT_TRUE(session) << session.error().message();
    EXPECT_TRUE(reads_words(*session, {0, 1000}));
    const Ranks compute = runtime.compute_ranks();
    EXPECT_TRUE((*comm::ranks_communicator(compute))->barrier());
    if (fixture.ranks.nodes().node_of(fixture.ranks.rank()) == comm::Node{0}) return;
    EXPECT_TRUE(reads_words(*session, {0, DedicatedFixture::kFileBytes}));
  });
}

TEST_P(DedicatedSuite, error_names_the_rank_among_compute_ranks) {
  with_dedicated_fixture([](DedicatedFixture& fixture, Runtime& runtime) {
    const std::uint32_t last = runtime.rank_count() - 1;
    const auto file =
        runtime.open_file(runtime.rank() == last ? fixture.path() + "-missing" : fixture.path());
    ASSERT_EQ(error_class(file), ErrorClass::kNotFound);
    if (last > 0) {
      EXPECT_EQ(file.error().rank(), last);
    }
    EXPECT_TRUE(runtime.open_file(fixture.path()));
  });
}

TEST_P(DedicatedSuite, node_with_one_rank_computes_and_logs_a_warning) {
  run_on_all_ranks([](const Communicator& communicator) {
    WarningLog log;
    Runtime runtime(comm::make_ranks(communicator),
                    {.placement = Placement::kDedicated, .log = &log});
    const bool is_alone = own_node_roles(*communicator).sharing_ranks() == 1;
    const auto lines = log.lines();
    const auto mentions_single_rank = [](const std::string& line) {
      return line.find("only one rank") != std::string::npos;
    };
    EXPECT_EQ(std::ranges::any_of(lines, mentions_single_rank), is_alone);
    if (runtime.role() == Role::kIo) {
      EXPECT_TRUE(runtime.serve());
    }
  });
}

}  // namespace
}  // namespace forebay
