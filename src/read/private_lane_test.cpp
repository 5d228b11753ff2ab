// SPDX-License-Identifier: Apache-2.0
#include "read/private_lane.hpp"

#include <memory>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "read/testing.hpp"

namespace forebay::read {
namespace {

/// Counts how often it was told to look.
class CountingAgent final : public Agent {
 public:
  void serve(const std::shared_ptr<TransferSource>& /*source*/) override { ++told; }
  void resume(const std::shared_ptr<TransferSource>& /*source*/) override { ++told; }
  void stop() override {}
  int told = 0;
};

class PrivateLaneTest : public ::testing::Test {
 protected:
  static constexpr std::uint64_t kPiece = 64_KiB;
  static constexpr std::uint64_t kPieces = 512;

  std::vector<std::shared_ptr<PrivateRead>> ask_for_all() {
    std::vector<std::shared_ptr<PrivateRead>> asked;
    for (std::uint64_t i = 0; i < kPieces; ++i)
      asked.push_back(lane->read({i * kPiece, kPiece}));
    return asked;
  }
  /// As an agent does it: all that may begin is read.
  std::uint64_t read_some() {
    std::uint64_t count = 0;
    TransferSource::Transfer transfer;
    while (lane->next_transfer(transfer)) {
      lane->copy(transfer);
      transfer = {};
      ++count;
    }
    return count;
  }

  std::shared_ptr<CountingAgent> agent = std::make_shared<CountingAgent>();
  std::shared_ptr<storage::File> file =
      std::make_shared<GatedFile>(kPieces * kPiece, Access::kBuffered);
  std::shared_ptr<PrivateLane> lane =
      std::make_shared<PrivateLane>(file, ByteRange{0, kPieces* kPiece}, agent);
};

TEST_F(PrivateLaneTest, what_has_not_begun_holds_no_memory) {
  const auto asked = ask_for_all();
  EXPECT_TRUE(asked.front()->memory().empty());
  const std::uint64_t begun = read_some();
  EXPECT_GE(begun * kPiece, PrivateLane::kHeldBytesMax / 2);
  EXPECT_LE(begun * kPiece, PrivateLane::kHeldBytesMax + kPiece);
  EXPECT_TRUE(lane->retry_at());
}

TEST_F(PrivateLaneTest, who_takes_bytes_lets_others_begin) {
  auto asked = ask_for_all();
  std::uint64_t done = 0;
  while (done < kPieces) {
    const std::uint64_t begun = read_some();
    ASSERT_GT(begun, 0U) << "after " << done;
    for (std::uint64_t i = done; i < done + begun; ++i) {
      ASSERT_TRUE(asked[i]->finished());
      EXPECT_TRUE(is_words({asked[i]->bytes(), kPiece}, i * kPiece));
    }
    const int told = agent->told;
    // Dropped or kept as a view: it is no longer the lane's.
    for (std::uint64_t i = done; i < done + begun; ++i) {
      if (i % 2 == 0) asked[i].reset();
      if (i % 2 == 1) static_cast<void>(asked[i]->release());
    }
    done += begun;
    EXPECT_TRUE(done == kPieces || agent->told > told) << "the agent must look again";
  }
  EXPECT_FALSE(lane->retry_at());
}

TEST_F(PrivateLaneTest, who_never_takes_bytes_stops_nobody) {
  const auto asked = ask_for_all();
  std::uint64_t done = read_some();
  while (done < kPieces) {
    const auto when = lane->retry_at();
    ASSERT_TRUE(when);
    std::this_thread::sleep_until(*when);
    const std::uint64_t begun = read_some();
    ASSERT_GT(begun, 0U) << "after " << done;
    done += begun;
  }
  for (const auto& one : asked)
    EXPECT_TRUE(one->finished());
}

TEST_F(PrivateLaneTest, what_no_memory_is_left_for_ends_with_an_error) {
  const auto asked = lane->read({0, std::uint64_t{1} << 60U});
  TransferSource::Transfer transfer;
  EXPECT_FALSE(lane->next_transfer(transfer));
  ASSERT_TRUE(asked->finished());
  ASSERT_TRUE(asked->error());
  EXPECT_EQ(asked->error()->kind(), ErrorClass::kLimit);
}

}  // namespace
}  // namespace forebay::read
