// SPDX-License-Identifier: Apache-2.0
// Permits among threads as ranks: never more than the limit, and each rank gets one. A rank that
// dies, leaves or is busy while it holds a permit blocks no other rank.
#include "comm/concurrency_limiter.hpp"

#include <atomic>
#include <condition_variable>
#include <random>
#include <thread>

#include <gtest/gtest.h>

#include "comm/message_testing.hpp"
#include "comm/message_transport_testing.hpp"
#include "comm/testing.hpp"

namespace forebay::comm {
namespace {

constexpr auto kTestTimeout = std::chrono::seconds(60);
constexpr std::chrono::milliseconds kLongLease = std::chrono::minutes(10);

class BlockingWaiter final : public detail::Waiter {
 public:
  void signal() noexcept override {
    const std::lock_guard lock(mutex_);
    is_signaled_ = true;
    changed_.notify_all();
  }
  bool wait() {
    std::unique_lock lock(mutex_);
    const bool is_signaled = changed_.wait_for(lock, kTestTimeout, [this] { return is_signaled_; });
    is_signaled_ = false;
    return is_signaled;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_signaled_ = false;
};

/// Waits as a request does.
bool acquire_permit(ConcurrencyLimiter::Permit& permit) {
  BlockingWaiter waiter;
  while (!permit.try_acquire()) {
    if (!permit.arm(waiter)) continue;
    const bool is_signaled = waiter.wait();
    permit.disarm(waiter);
    if (!is_signaled) return false;
  }
  return true;
}

void run_on_ranks(std::uint32_t count, const RankTest& test) {
  const Status ran = run_ranks({.count = count}, [&](const CommunicatorPtr& ranks) {
    test(ranks);
    return Status();
  });
  EXPECT_TRUE(ran) << ran.error().message();
}

std::shared_ptr<ConcurrencyLimiter> open_limiter(Communicator& ranks,
                                                 const ConcurrencyLimiter::Setup& setup) {
  auto limiter = ConcurrencyLimiter::open(ranks, {}, setup);
  EXPECT_TRUE(limiter) << limiter.error().message();
  return limiter ? *limiter : nullptr;
}

class PermitCount : public testing::TestWithParam<std::uint32_t> {};

TEST_P(PermitCount, never_exceeds_the_limit_and_serves_every_rank) {
  const std::uint32_t permit_count = GetParam();
  std::atomic<std::uint32_t> inside{0};
  std::atomic<std::uint32_t> most{0};
  std::atomic<std::uint32_t> taken{0};
  run_on_ranks(7, [&](const CommunicatorPtr& ranks) {
    const auto limiter = open_limiter(*ranks, {.permit_count = permit_count, .lease = kLongLease});
    for (int round = 0; round < 20; ++round) {
      ConcurrencyLimiter::Permit permit(limiter);
      ASSERT_TRUE(acquire_permit(permit));
      const std::uint32_t now_inside = ++inside;
      std::uint32_t known = most.load();
      while (known < now_inside && !most.compare_exchange_weak(known, now_inside)) {
      }
      std::this_thread::sleep_for(std::chrono::microseconds(200));
      --inside;
      ++taken;
    }
    EXPECT_TRUE(ranks->barrier());
  });
  EXPECT_EQ(taken, 7U * 20);
  EXPECT_LE(most, permit_count);
}

INSTANTIATE_TEST_SUITE_P(Counts, PermitCount, testing::Values(1, 2, 3, 7));

TEST(ConcurrencyLimiter, permit_of_a_busy_rank_expires) {
  run_on_ranks(3, [](const CommunicatorPtr& ranks) {
    const auto limiter =
        open_limiter(*ranks, {.permit_count = 1, .lease = std::chrono::milliseconds(50)});
    ConcurrencyLimiter::Permit permit(limiter);
    if (ranks->rank() == Rank{1}) {
      ASSERT_TRUE(acquire_permit(permit));
    }
    EXPECT_TRUE(ranks->barrier());  // rank 1 holds the permit, and keeps it
    if (ranks->rank() != Rank{1}) {
      EXPECT_TRUE(acquire_permit(permit));
      permit.release();
    }
    EXPECT_TRUE(ranks->barrier());  // the others had it, though rank 1 never released it
    permit.release();
    ConcurrencyLimiter::Permit again(limiter);
    EXPECT_TRUE(acquire_permit(again)) << "an expired permit can be requested again";
    again.release();
    EXPECT_TRUE(ranks->barrier());
  });
}

TEST(ConcurrencyLimiter, other_ranks_continue_after_holder_or_server_ends) {
  for (const std::uint32_t departing_rank : {0U, 1U}) {  // the permit server, and another rank
    run_on_ranks(3, [departing_rank](const CommunicatorPtr& ranks) {
      auto limiter = open_limiter(*ranks, {.permit_count = 1, .lease = kLongLease});
      if (ranks->rank() == Rank{departing_rank}) {
        ConcurrencyLimiter::Permit permit(limiter);
        ASSERT_TRUE(acquire_permit(permit));
      }
      EXPECT_TRUE(ranks->barrier());
      if (ranks->rank() == Rank{departing_rank}) {
        limiter.reset();
      } else {
        ConcurrencyLimiter::Permit permit(limiter);
        EXPECT_TRUE(acquire_permit(permit));
      }
      EXPECT_TRUE(ranks->barrier());
    });
  }
}

TEST(ConcurrencyLimiter, server_grants_permits_after_it_has_left) {
  std::atomic<std::uint32_t> inside{0};
  run_on_ranks(4, [&](const CommunicatorPtr& ranks) {
    const auto limiter = open_limiter(*ranks, {.permit_count = 1, .lease = kLongLease});
    if (ranks->rank() == Rank{0}) limiter->leave();
    EXPECT_TRUE(ranks->barrier());
    for (int round = 0; round < 10 && ranks->rank() != Rank{0}; ++round) {
      ConcurrencyLimiter::Permit permit(limiter);
      ASSERT_TRUE(acquire_permit(permit));
      EXPECT_EQ(++inside, 1U);
      --inside;
    }
    EXPECT_TRUE(ranks->barrier());
    if (ranks->rank() != Rank{0}) limiter->leave();
    const auto end = std::chrono::steady_clock::now() + kTestTimeout;
    while (!limiter->has_ended() && std::chrono::steady_clock::now() < end)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    EXPECT_TRUE(limiter->has_ended());
    EXPECT_TRUE(ranks->barrier());
  });
}

TEST(ConcurrencyLimiter, uncontended_permit_is_kept_for_the_next_request) {
  run_on_ranks(2, [](const CommunicatorPtr& ranks) {
    const auto limiter = open_limiter(*ranks, {.permit_count = 1, .lease = kLongLease});
    if (ranks->rank() == Rank{1}) {
      {
        ConcurrencyLimiter::Permit first(limiter);
        ASSERT_TRUE(acquire_permit(first));
      }
      ConcurrencyLimiter::Permit second(limiter);
      EXPECT_TRUE(second.try_acquire());
    }
    EXPECT_TRUE(ranks->barrier());
  });
}

/// Rank 1 is a MessageTransport that sends invalid messages: it is lost, and rank 0 keeps its
/// permit.
TEST(ConcurrencyLimiter, malformed_messages_close_only_their_link) {
  std::mt19937 random(kMutationSeed);
  for (int round = 0; round < 40; ++round) {
    LinkHeader forged{.kind = static_cast<std::uint32_t>(random() % 8)};
    forged.words.at(1 + random() % 3) = 1 + random();
    run_on_ranks(2, [&](const CommunicatorPtr& ranks) {
      if (ranks->rank() == Rank{0}) {
        const auto limiter = open_limiter(*ranks, {.permit_count = 1});
        ConcurrencyLimiter::Permit permit(limiter);
        EXPECT_TRUE(acquire_permit(permit));
        EXPECT_TRUE(ranks->barrier());
        return;
      }
      const auto transport = value_or_throw(MessageTransport::open(*ranks, {}), "open");
      EXPECT_TRUE(ranks->agree({}));
      RecordingHandler handler;
      EXPECT_TRUE(transport->send(Rank{0}, forged, pattern(0, random() % 3)));
      EXPECT_TRUE(run_until_lost(*transport, handler, Rank{0})) << "round " << round;
      EXPECT_TRUE(ranks->barrier());
    });
  }
}

}  // namespace
}  // namespace forebay::comm
