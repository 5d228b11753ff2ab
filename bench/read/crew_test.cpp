// SPDX-License-Identifier: Apache-2.0
// The crew does what it is told, with ranks that are threads of this process.
#include "bench/read/crew.hpp"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "bench/frame/word_file.hpp"
#include "bench/frame/work_folder.hpp"
#include "bench/read/particle_sums.hpp"
#include "comm/in_process.hpp"
#include "tipsy/generate.hpp"

namespace forebay::bench::read {
namespace {

class CrewTest : public testing::Test {
 protected:
  CrewTest() { EXPECT_TRUE(write_word_file(cut_.path, cut_.file_bytes)); }

  /// What rank 0 does; the others serve it.
  static Status run(std::uint32_t ranks, const std::function<void(Crew&)>& lead) {
    return run({.count = ranks}, ranks, lead);
  }

  static Status run(comm::ThreadRanks ranks,
                    std::uint32_t crew_size,
                    const std::function<void(Crew&)>& lead) {
    return comm::run_ranks(ranks, [&](const std::shared_ptr<comm::Communicator>& mine) -> Status {
      const auto crew = Crew::muster(mine, crew_size);
      if (!crew) return failure(crew.error());
      if (!(*crew)->leads()) return (*crew)->serve();
      lead(**crew);
      return {};
    });
  }

  Result<WorkFolder> folder_ = WorkFolder::make(".");
  Cut cut_{.path = folder_.value().path() / "words", .file_bytes = 4_MiB, .task_count = 64};
};

TEST_F(CrewTest, every_way_of_reading_ends_well) {
  const Status done = run(3, [&](Crew& crew) {
    for (const Work work : {Work::kNaive, Work::kNaiveDescriptor, Work::kSession, Work::kFetch,
                            Work::kHits, Work::kMpiIndependent, Work::kMpiCollective,
                            Work::kBareSession, Work::kBareNaive, Work::kStart}) {
      const auto seconds = crew.time(Job::of(work, cut_));
      ASSERT_TRUE(seconds) << seconds.error().message();
      EXPECT_GT(*seconds, 0);
    }
  });
  EXPECT_TRUE(done) << done.error().message();
}

TEST_F(CrewTest, each_rank_tells_what_it_found) {
  const Status done = run(3, [&](Crew& crew) {
    for (const Work work : {Work::kMisses, Work::kMissesPlainly}) {
      const auto found = crew.measure(Job::of(work, cut_));
      ASSERT_TRUE(found) << found.error().message();
      EXPECT_THAT(found->found,
                  testing::AllOf(testing::SizeIs(3), testing::Each(testing::Gt(0.0))));
    }
  });
  EXPECT_TRUE(done) << done.error().message();
}

TEST_F(CrewTest, computing_in_the_background_goes_on_until_all_have_read) {
  Job alone = Job::of(Work::kComputing, cut_);
  alone.pause_ms = 5;
  const Status done = run(2, [&](Crew& crew) {
    for (const Job& job :
         {alone, Job::of(Work::kNaiveComputing, cut_), Job::of(Work::kSessionComputing, cut_)}) {
      const auto rates = crew.measure(job);
      ASSERT_TRUE(rates) << rates.error().message();
      EXPECT_THAT(rates->found, testing::Each(testing::Gt(0.0)));
    }
  });
  EXPECT_TRUE(done) << done.error().message();
}

TEST_F(CrewTest, idle_agents_are_found_by_their_threads) {
  Job job = Job::of(Work::kIdle, cut_);
  job.pause_ms = 20;
  EXPECT_TRUE(run(2, [&](Crew& crew) {
    const auto shares = crew.measure(job);
    ASSERT_TRUE(shares) << shares.error().message();
    EXPECT_THAT(shares->found, testing::Each(testing::AllOf(testing::Ge(0.0), testing::Le(64.0))));
  }));
}

TEST_F(CrewTest, a_file_of_the_first_node_is_taken_whole_by_ranks_of_others) {
  for (const std::uint32_t per_node : {1U, 2U}) {
    EXPECT_TRUE(run({.count = 2 * per_node, .per_node = per_node}, 2 * per_node, [&](Crew& crew) {
      for (const Work work : {Work::kLinkSession, Work::kLinkAsPlanned, Work::kLinkComputing,
                              Work::kLinkMpiIo, Work::kLinkSend}) {
        const auto taken = crew.measure(Job::of(work, cut_));
        ASSERT_TRUE(taken) << taken.error().message();
        ASSERT_THAT(taken->received_bytes, testing::SizeIs(2 * per_node));
        for (std::uint32_t rank = 0; rank < 2 * per_node; ++rank)
          EXPECT_EQ(taken->found[rank] > 0, rank >= per_node);
      }
    }));
  }
}

TEST_F(CrewTest, nothing_is_read_over_a_link_by_ranks_of_one_node) {
  EXPECT_TRUE(run(2, [&](Crew& crew) {
    const auto refused = crew.measure(Job::of(Work::kLinkSession, cut_));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind(), ErrorClass::kUnsupported);
  }));
}

TEST_F(CrewTest, a_snapshot_has_the_same_sums_whoever_reads_it) {
  const tipsy::GenerateOptions options{.path = (folder_->path() / "dark.tipsy").string(),
                                       .layout = {.counts = {.dark = 1U << 15U}}};
  ASSERT_TRUE(tipsy::generate(options));
  const Cut cut{
      .path = options.path, .file_bytes = options.layout.end_bytes(), .task_count = 1U << 9U};
  EXPECT_TRUE(run(3, [&](Crew& crew) {
    const auto ours = crew.measure(Job::of(Work::kTipsySession, cut));
    const auto theirs = crew.measure(Job::of(Work::kTipsyChanga, cut));
    ASSERT_TRUE(ours) << ours.error().message();
    ASSERT_TRUE(theirs) << theirs.error().message();
    EXPECT_EQ(ours->found, theirs->found);
    EXPECT_THAT(ours->found, testing::Each(testing::Gt(0.0)));
  }));
}

TEST(ParticleSums, digest_differs_where_a_bit_of_a_sum_does) {
  tipsy::Particle particle{.position = {1, 2, 3}, .velocity = {4, 5, 6}, .mass = 7, .tail = {}};
  ParticleSums sums;
  sums.add(particle);
  EXPECT_EQ(sums.mass(), 7.0);
  ParticleSums others;
  particle.velocity[2] = std::nextafter(6.0, 7.0);
  others.add(particle);
  EXPECT_NE(sums.digest(), others.digest());
  EXPECT_EQ(sums.digest(), std::floor(sums.digest()));
}

TEST_F(CrewTest, processes_of_a_node_are_named_once_each) {
  EXPECT_TRUE(run(3, [](Crew& crew) {
    EXPECT_THAT(crew.processes_of_node(), testing::ElementsAre(::getpid()));
  }));
}

TEST_F(CrewTest, those_who_are_no_crew_help_when_they_are_called) {
  const Status done = run({.count = 5}, 2, [&](Crew& crew) {
    EXPECT_EQ(crew.ranks().size(), 2U);
    EXPECT_EQ(crew.ranks(Reach::kEverybody).size(), 5U);
    Job job = Job::of(Work::kMisses, cut_);
    for (const Reach reach : {Reach::kCrew, Reach::kEverybody, Reach::kEverybody, Reach::kCrew}) {
      job.reach = reach;
      const auto found = crew.measure(job);
      ASSERT_TRUE(found) << found.error().message();
      EXPECT_EQ(found->found.size(), crew.ranks(reach).size());
    }
  });
  EXPECT_TRUE(done) << done.error().message();
}

TEST_F(CrewTest, what_fails_on_all_ranks_is_told_and_the_crew_goes_on) {
  const Cut nowhere{.path = folder_->path() / "none", .file_bytes = 4_MiB, .task_count = 64};
  const Status done = run(2, [&](Crew& crew) {
    const auto failed = crew.time(Job::of(Work::kSession, nowhere));
    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error().kind(), ErrorClass::kNotFound);
    EXPECT_TRUE(crew.time(Job::of(Work::kSession, cut_)));
  });
  EXPECT_TRUE(done) << done.error().message();
}

TEST_F(CrewTest, bytes_that_are_not_those_of_the_file_are_noticed) {
  const Cut shifted{.path = folder_->path() / "shifted", .file_bytes = 4_MiB, .task_count = 64};
  ASSERT_TRUE(write_word_file(shifted.path, shifted.file_bytes));
  ASSERT_EQ(::truncate(shifted.path.c_str(), 0), 0);
  ASSERT_EQ(::truncate(shifted.path.c_str(), static_cast<off_t>(shifted.file_bytes)), 0);
  const Status done = run(2, [&](Crew& crew) {
    for (const Work work : {Work::kNaive, Work::kSession, Work::kMpiCollective}) {
      const auto failed = crew.time(Job::of(work, shifted));
      ASSERT_FALSE(failed);
      EXPECT_EQ(failed.error().kind(), ErrorClass::kDamage);
    }
  });
  EXPECT_TRUE(done) << done.error().message();
}

}  // namespace
}  // namespace forebay::bench::read
