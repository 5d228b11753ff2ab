// SPDX-License-Identifier: Apache-2.0
// Ranks of which some are given to I/O: the same for threads that play ranks and for those of an
// MPI job.
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

#include "runtime/placement.hpp"
#include "runtime/testing.hpp"

namespace forebay {
namespace {

/// Where this rank is, as the pure function sees it.
NodePlaces places_here(const comm::Communicator& ranks) {
  const comm::Node node = ranks.nodes().node_of(ranks.rank());
  return place_agents(ranks.nodes(), Placement::kDedicated).at(node.number);
}

/// The plan of files on devices, for a small file anywhere.
ReadPlan through_the_agent() { return {.agents = Agents::kPerNode, .reason = {}}; }

/// Reads all of the file of words, through an agent in another rank where there is one.
void read_all(const Camp& camp, const File& file) {
  const auto session = file.read_session({}, through_the_agent());
  ASSERT_TRUE(session) << session.error().message();
  EXPECT_TRUE(reads_words(*session, {0, Camp::kFileBytes}));
  const bool has_agent = places_here(camp.ranks).sharing() > 1;
  EXPECT_EQ(session->plan().agents, has_agent ? Agents::kPerNode : Agents::kPerRank);
}

/// `compute` on the ranks that compute; the others serve.
template <class F>
void on_each_camp(F compute) {
  DedicatedSuite::on_all_ranks([&](const Communicator& communicator) {
    Camp camp(communicator);
    Runtime runtime(Ranks(communicator), {.placement = Placement::kDedicated});
    if (runtime.role() == Role::kCompute) {
      compute(camp, runtime);
    } else {
      const Status served = runtime.serve();
      EXPECT_TRUE(served) << served.error().message();
    }
  });
}

TEST_P(DedicatedSuite, those_who_compute_read_the_right_bytes) {
  on_each_camp([](Camp& camp, Runtime& runtime) {
    const auto file = runtime.open(camp.path());
    ASSERT_TRUE(file) << file.error().message();
    read_all(camp, *file);
    const auto session = file->read_session({}, through_the_agent());
    ASSERT_TRUE(session) << session.error().message();
    const std::uint64_t share = Camp::kFileBytes / runtime.rank_count();
    EXPECT_TRUE(reads_words(*session, {runtime.rank() * share, share}));
    EXPECT_EQ(session->handle(), runtime.session(session->handle())->handle());
  });
}

TEST_P(DedicatedSuite, ranks_have_the_roles_that_were_decided) {
  on_all_ranks([](const Communicator& communicator) {
    comm::Communicator& ranks = *communicator;
    Runtime runtime(Ranks(communicator), {.placement = Placement::kDedicated});
    EXPECT_EQ(runtime.role(), places_here(ranks).role_of(ranks.rank()));
    const auto places = place_agents(ranks.nodes(), Placement::kDedicated);
    const std::uint32_t computing = std::accumulate(
        places.begin(), places.end(), 0U,
        [](std::uint32_t sum, const NodePlaces& here) { return sum + here.computing; });
    const bool computes = runtime.role() == Role::kCompute;
    EXPECT_EQ(runtime.rank_count(), computes ? computing : ranks.size() - computing);
    EXPECT_LT(runtime.rank(), runtime.rank_count());
    if (ranks.rank() == comm::Rank{0}) {
      EXPECT_EQ(runtime.rank(), 0U);
    }
  });
}

TEST_P(DedicatedSuite, compute_is_a_message_space_of_those_who_compute) {
  on_each_camp([](Camp& camp, Runtime& runtime) {
    const Ranks compute = runtime.compute();
    ASSERT_TRUE(compute.communicator()) << compute.communicator().error().message();
    comm::Communicator& ours = **compute.communicator();
    EXPECT_EQ(ours.rank().number, runtime.rank());
    EXPECT_EQ(ours.size(), runtime.rank_count());
    // Collective calls of both, side by side: neither gets what is the other's.
    const auto ranks = ours.all_reduce(comm::Reduction::kSum, 1);
    ASSERT_TRUE(ranks);
    EXPECT_EQ(*ranks, runtime.rank_count());
    ASSERT_TRUE(runtime.open(camp.path()));
    EXPECT_TRUE(ours.barrier());
  });
}

TEST_P(DedicatedSuite, compute_outlives_its_runtime) {
  on_all_ranks([](const Communicator& communicator) {
    std::optional<Runtime> runtime(std::in_place, Ranks(communicator),
                                   RuntimeOptions{.placement = Placement::kDedicated});
    const Ranks compute = runtime->compute();
    const std::uint32_t count = runtime->rank_count();
    runtime.reset();
    if (!compute.communicator()) return;  // an agent
    const auto ranks = (*compute.communicator())->all_reduce(comm::Reduction::kSum, 1);
    ASSERT_TRUE(ranks);
    EXPECT_EQ(*ranks, count);
  });
}

TEST_P(DedicatedSuite, all_compute_where_nobody_asks_for_more) {
  on_all_ranks([](const Communicator& communicator) {
    Camp camp(communicator);
    Runtime runtime{Ranks(communicator)};
    EXPECT_EQ(runtime.role(), Role::kCompute);
    EXPECT_EQ(runtime.rank_count(), communicator->size());
    const Ranks compute = runtime.compute();
    ASSERT_TRUE(compute.communicator());
    EXPECT_EQ((*compute.communicator())->size(), communicator->size());
    EXPECT_TRUE((*compute.communicator())->barrier());
    EXPECT_EQ(error_class(runtime.serve()), ErrorClass::kInvalidArgument);
  });
}

TEST_P(DedicatedSuite, wrong_use_says_what_to_do) {
  on_all_ranks([](const Communicator& communicator) {
    Camp camp(communicator);
    Runtime runtime(Ranks(communicator), {.placement = Placement::kDedicated});
    if (runtime.role() == Role::kCompute) {
      const Status served = runtime.serve();
      ASSERT_EQ(error_class(served), ErrorClass::kInvalidArgument);
      EXPECT_TRUE(mentions(served.error(), "Role::kAgent"));
      return;
    }
    // At once, on this rank alone: nobody else calls.
    const auto file = runtime.open(camp.path());
    ASSERT_EQ(error_class(file), ErrorClass::kInvalidArgument);
    EXPECT_TRUE(mentions(file.error(), "serve()")) << file.error().message();
    EXPECT_EQ(file.error().path(), camp.path());
    const auto session = runtime.session({});
    ASSERT_EQ(error_class(session), ErrorClass::kInvalidArgument);
    EXPECT_TRUE(mentions(session.error(), "serve()"));
    ASSERT_FALSE(runtime.compute().communicator());
    EXPECT_EQ(runtime.compute().communicator().error().kind(), ErrorClass::kInvalidArgument);
  });
}

TEST_P(DedicatedSuite, ranks_that_want_different_placements_all_get_the_same_error) {
  on_all_ranks([](const Communicator& communicator) {
    if (communicator->size() == 1) return;
    const bool differs = communicator->rank() == comm::Rank{1};
    Runtime runtime(Ranks(communicator),
                    {.placement = differs ? Placement::kDedicated : Placement::kInRank});
    const auto file = runtime.open("any");
    ASSERT_EQ(error_class(file), ErrorClass::kInvalidArgument);
    EXPECT_TRUE(mentions(file.error(), "RuntimeOptions::placement"));
    EXPECT_EQ(runtime.role(), Role::kCompute);
    EXPECT_FALSE(runtime.compute().communicator());
    EXPECT_EQ(error_class(runtime.serve()), ErrorClass::kInvalidArgument);
  });
}

TEST_P(DedicatedSuite, serving_ends_when_the_last_has_left_and_not_before) {
  on_all_ranks([](const Communicator& communicator) {
    Camp camp(communicator);
    std::optional<Runtime> runtime(std::in_place, Ranks(communicator),
                                   RuntimeOptions{.placement = Placement::kDedicated});
    if (runtime->role() == Role::kAgent) {
      EXPECT_TRUE(runtime->serve());
      EXPECT_TRUE(runtime->serve());  // and again, at once
      return;
    }
    // They leave one after the other; who stays is served as before.
    const Ranks compute = runtime->compute();
    comm::Communicator& ours = **compute.communicator();
    std::optional<File> file = runtime->open(camp.path()).value();
    for (std::uint32_t leaving = 0; leaving < ours.size(); ++leaving) {
      if (file) read_all(camp, *file);
      if (leaving == ours.rank().number) {
        file.reset();
        runtime.reset();
      }
      EXPECT_TRUE(ours.barrier());
    }
  });
}

TEST_P(DedicatedSuite, an_agent_that_leaves_early_leaves_others_reading_for_themselves) {
  on_all_ranks([](const Communicator& communicator) {
    Camp camp(communicator);
    std::optional<Runtime> runtime(std::in_place, Ranks(communicator),
                                   RuntimeOptions{.placement = Placement::kDedicated});
    if (runtime->role() == Role::kAgent) {
      camp.meet();  // sessions are open
      runtime.reset();
      camp.meet();
      return;
    }
    const auto file = runtime->open(camp.path());
    ASSERT_TRUE(file);
    const auto before = file->read_session({}, through_the_agent());
    ASSERT_TRUE(before) << before.error().message();
    EXPECT_TRUE(reads_words(*before, {0, 1000}));
    camp.meet();
    camp.meet();  // agents are gone
    EXPECT_TRUE(reads_words(*before, {0, Camp::kFileBytes}));
    const auto after = file->read_session({}, through_the_agent());
    ASSERT_TRUE(after) << after.error().message();
    EXPECT_TRUE(reads_words(*after, {0, Camp::kFileBytes}));
  });
}

TEST_P(DedicatedSuite, an_agent_that_goes_in_the_midst_of_everything_keeps_nobody_waiting) {
  constexpr int kSessions = 6;
  on_all_ranks([](const std::shared_ptr<comm::Communicator>& communicator) {
    for (int round = 0; round < 3; ++round) {
      Camp camp(communicator);
      std::optional<Runtime> runtime(std::in_place, Ranks(communicator),
                                     RuntimeOptions{.placement = Placement::kDedicated});
      if (runtime->role() == Role::kAgent) {
        std::this_thread::sleep_for(std::chrono::milliseconds(2 * round));
        runtime.reset();  // while others open sessions, read, and close them
        camp.meet();
        continue;
      }
      const auto file = runtime->open(camp.path());
      ASSERT_TRUE(file) << file.error().message();
      for (int i = 0; i < kSessions; ++i) {
        const auto session = file->read_session({}, through_the_agent());
        ASSERT_TRUE(session) << session.error().message();
        const std::uint64_t begin = 400'000ULL * i;
        EXPECT_TRUE(reads_words(*session, {begin, 600'000}));
      }
      camp.meet();
    }
  });
}

/// The agent of node 0 uses storage, and sends the others what their ranks want.
ReadPlan through_the_first_node() {
  ReadPlan plan{.splinter_bytes = 16_KiB, .reason = {}};
  plan.agent_nodes = {0};
  plan.agent_stripe_bytes = 64_KiB;
  return plan;
}

TEST_P(DedicatedSuite, the_agent_of_one_node_reads_for_all_nodes) {
  on_each_camp([](Camp& camp, Runtime& runtime) {
    const auto file = runtime.open(camp.path());
    ASSERT_TRUE(file) << file.error().message();
    const auto session = file->read_session({}, through_the_first_node());
    ASSERT_TRUE(session) << session.error().message();
    EXPECT_TRUE(reads_words(*session, {0, Camp::kFileBytes}));
    const bool is_first_node = camp.ranks.nodes().node_of(camp.ranks.rank()) == comm::Node{0};
    EXPECT_EQ(session->report().bytes_from_nodes > 0, !is_first_node);
    const Ranks compute = runtime.compute();
    EXPECT_TRUE((*compute.communicator())->barrier());  // node 0 is there until all have read
  });
}

TEST_P(DedicatedSuite, a_node_that_has_done_leaves_others_reading_for_themselves) {
  on_each_camp([](Camp& camp, Runtime& runtime) {
    const auto file = runtime.open(camp.path());
    ASSERT_TRUE(file) << file.error().message();
    const auto session = file->read_session({}, through_the_first_node());
    ASSERT_TRUE(session) << session.error().message();
    EXPECT_TRUE(reads_words(*session, {0, 1000}));
    const Ranks compute = runtime.compute();
    EXPECT_TRUE((*compute.communicator())->barrier());
    if (camp.ranks.nodes().node_of(camp.ranks.rank()) == comm::Node{0}) return;
    EXPECT_TRUE(reads_words(*session, {0, Camp::kFileBytes}));
  });
}

TEST_P(DedicatedSuite, an_error_names_the_rank_among_those_who_compute) {
  on_each_camp([](Camp& camp, Runtime& runtime) {
    const std::uint32_t last = runtime.rank_count() - 1;
    const auto file = runtime.open(runtime.rank() == last ? camp.path() + "-missing" : camp.path());
    ASSERT_EQ(error_class(file), ErrorClass::kNotFound);
    if (last > 0) {
      EXPECT_EQ(file.error().rank(), last);
    }
    EXPECT_TRUE(runtime.open(camp.path()));
  });
}

TEST_P(DedicatedSuite, a_node_of_one_rank_keeps_it_and_is_told) {
  on_all_ranks([](const Communicator& communicator) {
    Warnings log;
    Runtime runtime(Ranks(communicator), {.placement = Placement::kDedicated, .log = &log});
    const bool is_alone = places_here(*communicator).sharing() == 1;
    const auto lines = log.lines();
    const auto tells = [](const std::string& line) {
      return line.find("one rank only") != std::string::npos;
    };
    EXPECT_EQ(std::ranges::any_of(lines, tells), is_alone);
    if (runtime.role() == Role::kAgent) {
      EXPECT_TRUE(runtime.serve());
    }
  });
}

}  // namespace
}  // namespace forebay
