// SPDX-License-Identifier: Apache-2.0
#include "read/bypass_queue.hpp"

#include <memory>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "read/testing.hpp"

namespace forebay::read {
namespace {

/// Counts its notifications.
class CountingAgent final : public ReadAgent {
 public:
  void notify(const std::shared_ptr<TransferSource>& /*source*/) override { ++notifications; }
  void notify_memory_released(const std::shared_ptr<TransferSource>& /*source*/) override {
    ++notifications;
  }
  void stop() override {}
  int notifications = 0;
};

class BypassQueueTest : public ::testing::Test {
 protected:
  static constexpr std::uint64_t kPiece = 64_KiB;
  static constexpr std::uint64_t kPieces = 512;

  std::vector<std::shared_ptr<BypassRead>> start_all() {
    std::vector<std::shared_ptr<BypassRead>> reads;
    for (std::uint64_t i = 0; i < kPieces; ++i)
      reads.push_back(queue->read({i * kPiece, kPiece}));
    return reads;
  }
  /// Reads all that may begin, as an agent does.
  std::uint64_t read_startable() {
    std::uint64_t count = 0;
    TransferSource::Transfer transfer;
    while (queue->next_transfer(transfer)) {
      queue->read_synchronously(transfer);
      transfer = {};
      ++count;
    }
    return count;
  }

  std::shared_ptr<CountingAgent> agent = std::make_shared<CountingAgent>();
  std::shared_ptr<storage::File> file =
      std::make_shared<GatedFile>(kPieces * kPiece, Access::kBuffered);
  std::shared_ptr<BypassQueue> queue =
      std::make_shared<BypassQueue>(file, ByteRange{0, kPieces* kPiece}, agent);
};

TEST_F(BypassQueueTest, read_that_has_not_begun_holds_no_memory) {
  const auto reads = start_all();
  EXPECT_TRUE(reads.front()->memory().empty());
  const std::uint64_t begun = read_startable();
  EXPECT_GE(begun * kPiece, BypassQueue::kHeldBytesMax / 2);
  EXPECT_LE(begun * kPiece, BypassQueue::kHeldBytesMax + kPiece);
  EXPECT_TRUE(queue->retry_at());
}

TEST_F(BypassQueueTest, taking_bytes_starts_queued_reads) {
  auto reads = start_all();
  std::uint64_t done = 0;
  while (done < kPieces) {
    const std::uint64_t begun = read_startable();
    ASSERT_GT(begun, 0U) << "after " << done;
    for (std::uint64_t i = done; i < done + begun; ++i) {
      ASSERT_TRUE(reads[i]->is_finished());
      EXPECT_TRUE(is_words({reads[i]->bytes(), kPiece}, i * kPiece));
    }
    const int notifications = agent->notifications;
    // Dropped, or kept as a view: the queue no longer counts it.
    for (std::uint64_t i = done; i < done + begun; ++i) {
      if (i % 2 == 0) reads[i].reset();
      if (i % 2 == 1) static_cast<void>(reads[i]->release());
    }
    done += begun;
    EXPECT_TRUE(done == kPieces || agent->notifications > notifications)
        << "the agent must be notified again";
  }
  EXPECT_FALSE(queue->retry_at());
}

TEST_F(BypassQueueTest, finished_reads_that_are_not_taken_do_not_block_others) {
  const auto reads = start_all();
  std::uint64_t done = read_startable();
  while (done < kPieces) {
    const auto when = queue->retry_at();
    ASSERT_TRUE(when);
    std::this_thread::sleep_until(*when);
    const std::uint64_t begun = read_startable();
    ASSERT_GT(begun, 0U) << "after " << done;
    done += begun;
  }
  for (const auto& one : reads)
    EXPECT_TRUE(one->is_finished());
}

TEST_F(BypassQueueTest, read_without_memory_fails_with_limit_error) {
  const auto reads = queue->read({0, std::uint64_t{1} << 60U});
  TransferSource::Transfer transfer;
  EXPECT_FALSE(queue->next_transfer(transfer));
  ASSERT_TRUE(reads->is_finished());
  ASSERT_TRUE(reads->error());
  EXPECT_EQ(reads->error()->kind(), ErrorClass::kLimit);
}

}  // namespace
}  // namespace forebay::read
