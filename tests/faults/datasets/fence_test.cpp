// SPDX-License-Identifier: Apache-2.0
// Two clients of NFS: a writer that was presumed dead resumes on one client while the other fences
// it. Client caches are not coherent. No acknowledged step is lost.
#include "write/fence.hpp"

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "format/load_commits.hpp"
#include "test_seeds.hpp"
#include "tests/faults/streams/emulated_storage.hpp"
#include "tests/faults/streams/private_mounts.hpp"
#include "write/commit_log.hpp"

namespace forebay::faults {
namespace {

class FenceOnTwoClients : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string reason = private_mounts_unavailable_reason(); !reason.empty())
      GTEST_SKIP() << reason;
    storage_ = std::make_unique<EmulatedStorage>(
        EmulatedStorage::Setup{.machine = FOREBAY_NFS_MACHINE, .clients = 2});
    ASSERT_EQ(storage_->unavailable_reason(), "");
  }
  std::string directory(std::size_t client) const { return storage_->client(client) + "/run.fb"; }

  static format::StepEntry entry(std::uint64_t step) {
    return {.step = step,
            .group = step,
            .files = {{.file = 0, .index = {.offset = 4096, .bytes = 200, .checksum = step}}}};
  }
  /// The newest step that the second client finds after it has fenced; 0 if none.
  std::uint64_t fence_and_read() const {
    const Status fenced = write::fence_writers(directory(1));
    EXPECT_TRUE(fenced) << fenced.error().message();
    const auto next = write::CommitLog::open(directory(1));
    EXPECT_TRUE(next) << next.error().message();
    return next && !(*next)->steps().empty() ? (*next)->steps().back().step : 0;
  }

  std::unique_ptr<EmulatedStorage> storage_;
};

TEST_F(FenceOnTwoClients, loses_no_acknowledged_step) {
  std::mt19937_64 random(11);
  std::uint64_t step = 0;
  for (int round = 0; round < (is_exhaustive() ? 200 : 12); ++round) {
    auto former = write::CommitLog::open(directory(0));
    ASSERT_TRUE(former) << former.error().message();
    std::atomic<std::uint64_t> acknowledged{step};
    std::thread publishing([&, next = step]() mutable {
      while ((*former)->publish(entry(++next)))
        acknowledged = next;
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(20 + random() % 60));
    const std::uint64_t found = fence_and_read();
    publishing.join();
    EXPECT_TRUE((*former)->is_replaced());
    EXPECT_GE(found, acknowledged.load()) << "round " << round;
    step = std::max(found, acknowledged.load()) + 1;
  }
}

}  // namespace
}  // namespace forebay::faults
