// SPDX-License-Identifier: Apache-2.0
// The harness executes jobs, with ranks that are threads of this process.
#include "bench/read/rank_harness.hpp"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "bench/frame/word_file.hpp"
#include "bench/frame/work_directory.hpp"
#include "bench/read/particle_sums.hpp"
#include "comm/in_process.hpp"
#include "tipsy/generate.hpp"

namespace forebay::bench::read {
namespace {

class RankHarnessTest : public testing::Test {
 protected:
  RankHarnessTest() { EXPECT_TRUE(write_word_file(partition_.path, partition_.file_bytes)); }

  /// `on_root` runs on rank 0; the others serve it.
  static Status run(std::uint32_t ranks, const std::function<void(RankHarness&)>& on_root) {
    return run({.count = ranks}, ranks, on_root);
  }

  static Status run(comm::ThreadRanks ranks,
                    std::uint32_t active_ranks,
                    const std::function<void(RankHarness&)>& on_root) {
    return comm::run_ranks(ranks, [&](const std::shared_ptr<comm::Communicator>& mine) -> Status {
      const auto harness = RankHarness::create(mine, active_ranks);
      if (!harness) return failure(harness.error());
      if (!(*harness)->is_root()) return (*harness)->serve();
      on_root(**harness);
      return {};
    });
  }

  Result<WorkDirectory> directory_ = WorkDirectory::make(".");
  FilePartition partition_{
      .path = directory_.value().path() / "words", .file_bytes = 4_MiB, .task_count = 64};
};

TEST_F(RankHarnessTest, every_kernel_succeeds) {
  const Status done = run(3, [&](RankHarness& harness) {
    for (const Kernel kernel :
         {Kernel::kNaive, Kernel::kNaiveDescriptor, Kernel::kSession, Kernel::kFetch, Kernel::kHits,
          Kernel::kMpiIndependent, Kernel::kMpiCollective, Kernel::kBareSession, Kernel::kBareNaive,
          Kernel::kStart}) {
      const auto seconds = harness.time(Job::make(kernel, partition_));
      ASSERT_TRUE(seconds) << seconds.error().message();
      EXPECT_GT(*seconds, 0);
    }
  });
  EXPECT_TRUE(done) << done.error().message();
}

TEST_F(RankHarnessTest, each_rank_has_a_result) {
  const Status done = run(3, [&](RankHarness& harness) {
    for (const Kernel kernel : {Kernel::kMisses, Kernel::kMissesPread}) {
      const auto found = harness.measure(Job::make(kernel, partition_));
      ASSERT_TRUE(found) << found.error().message();
      EXPECT_THAT(found->rank_results,
                  testing::AllOf(testing::SizeIs(3), testing::Each(testing::Gt(0.0))));
    }
  });
  EXPECT_TRUE(done) << done.error().message();
}

TEST_F(RankHarnessTest, background_computes_until_all_have_read) {
  Job compute_job = Job::make(Kernel::kComputing, partition_);
  compute_job.pause_ms = 5;
  const Status done = run(2, [&](RankHarness& harness) {
    for (const Job& job : {compute_job, Job::make(Kernel::kNaiveComputing, partition_),
                           Job::make(Kernel::kSessionComputing, partition_)}) {
      const auto rates = harness.measure(job);
      ASSERT_TRUE(rates) << rates.error().message();
      EXPECT_THAT(rates->rank_results, testing::Each(testing::Gt(0.0)));
    }
  });
  EXPECT_TRUE(done) << done.error().message();
}

TEST_F(RankHarnessTest, idle_agents_are_found_by_their_threads) {
  Job job = Job::make(Kernel::kIdle, partition_);
  job.pause_ms = 20;
  EXPECT_TRUE(run(2, [&](RankHarness& harness) {
    const auto shares = harness.measure(job);
    ASSERT_TRUE(shares) << shares.error().message();
    EXPECT_THAT(shares->rank_results,
                testing::Each(testing::AllOf(testing::Ge(0.0), testing::Le(64.0))));
  }));
}

TEST_F(RankHarnessTest, ranks_of_other_nodes_receive_the_whole_file) {
  for (const std::uint32_t per_node : {1U, 2U}) {
    EXPECT_TRUE(
        run({.count = 2 * per_node, .per_node = per_node}, 2 * per_node, [&](RankHarness& harness) {
          for (const Kernel kernel :
               {Kernel::kLinkSession, Kernel::kLinkAutoPlan, Kernel::kLinkComputing,
                Kernel::kLinkMpiIo, Kernel::kLinkSend}) {
            const auto taken = harness.measure(Job::make(kernel, partition_));
            ASSERT_TRUE(taken) << taken.error().message();
            ASSERT_THAT(taken->received_bytes, testing::SizeIs(2 * per_node));
            for (std::uint32_t rank = 0; rank < 2 * per_node; ++rank)
              EXPECT_EQ(taken->rank_results[rank] > 0, rank >= per_node);
          }
        }));
  }
}

TEST_F(RankHarnessTest, link_kernels_fail_on_one_node) {
  EXPECT_TRUE(run(2, [&](RankHarness& harness) {
    const auto refused = harness.measure(Job::make(Kernel::kLinkSession, partition_));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind(), ErrorClass::kUnsupported);
  }));
}

TEST_F(RankHarnessTest, both_readers_of_a_snapshot_compute_the_same_sums) {
  const tipsy::GenerateOptions options{.path = (directory_->path() / "dark.tipsy").string(),
                                       .layout = {.counts = {.dark = 1U << 15U}}};
  ASSERT_TRUE(tipsy::generate(options));
  const FilePartition partition{
      .path = options.path, .file_bytes = options.layout.end_offset(), .task_count = 1U << 9U};
  EXPECT_TRUE(run(3, [&](RankHarness& harness) {
    const auto ours = harness.measure(Job::make(Kernel::kTipsySession, partition));
    const auto theirs = harness.measure(Job::make(Kernel::kTipsyChanga, partition));
    ASSERT_TRUE(ours) << ours.error().message();
    ASSERT_TRUE(theirs) << theirs.error().message();
    EXPECT_EQ(ours->rank_results, theirs->rank_results);
    EXPECT_THAT(ours->rank_results, testing::Each(testing::Gt(0.0)));
  }));
}

TEST(ParticleSums, digest_changes_with_a_bit_of_a_sum) {
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

TEST_F(RankHarnessTest, processes_of_a_node_are_unique) {
  EXPECT_TRUE(run(3, [](RankHarness& harness) {
    EXPECT_THAT(harness.processes_of_node(), testing::ElementsAre(::getpid()));
  }));
}

TEST_F(RankHarnessTest, inactive_ranks_execute_jobs_of_all_ranks) {
  const Status done = run({.count = 5}, 2, [&](RankHarness& harness) {
    EXPECT_EQ(harness.ranks().size(), 2U);
    EXPECT_EQ(harness.ranks(RankSet::kAll).size(), 5U);
    Job job = Job::make(Kernel::kMisses, partition_);
    for (const RankSet rank_set :
         {RankSet::kActive, RankSet::kAll, RankSet::kAll, RankSet::kActive}) {
      job.rank_set = rank_set;
      const auto found = harness.measure(job);
      ASSERT_TRUE(found) << found.error().message();
      EXPECT_EQ(found->rank_results.size(), harness.ranks(rank_set).size());
    }
  });
  EXPECT_TRUE(done) << done.error().message();
}

TEST_F(RankHarnessTest, failure_on_all_ranks_is_reported_and_next_job_succeeds) {
  const FilePartition nowhere{
      .path = directory_->path() / "none", .file_bytes = 4_MiB, .task_count = 64};
  const Status done = run(2, [&](RankHarness& harness) {
    const auto failed = harness.time(Job::make(Kernel::kSession, nowhere));
    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error().kind(), ErrorClass::kNotFound);
    EXPECT_TRUE(harness.time(Job::make(Kernel::kSession, partition_)));
  });
  EXPECT_TRUE(done) << done.error().message();
}

TEST_F(RankHarnessTest, wrong_bytes_are_detected) {
  const FilePartition shifted{
      .path = directory_->path() / "shifted", .file_bytes = 4_MiB, .task_count = 64};
  ASSERT_TRUE(write_word_file(shifted.path, shifted.file_bytes));
  ASSERT_EQ(::truncate(shifted.path.c_str(), 0), 0);
  ASSERT_EQ(::truncate(shifted.path.c_str(), static_cast<off_t>(shifted.file_bytes)), 0);
  const Status done = run(2, [&](RankHarness& harness) {
    for (const Kernel kernel : {Kernel::kNaive, Kernel::kSession, Kernel::kMpiCollective}) {
      const auto failed = harness.time(Job::make(kernel, shifted));
      ASSERT_FALSE(failed);
      EXPECT_EQ(failed.error().kind(), ErrorClass::kDamage);
    }
  });
  EXPECT_TRUE(done) << done.error().message();
}

}  // namespace
}  // namespace forebay::bench::read
