// SPDX-License-Identifier: Apache-2.0
// What every implementation of Communicator does with messages of known size.
#include <array>
#include <thread>

#include "comm/testing.hpp"

namespace forebay::comm {

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(MessageSuite);

namespace {

Rank next_rank(const Communicator& ranks) { return Rank{(ranks.rank().number + 1) % ranks.size()}; }

Rank previous_rank(const Communicator& ranks) {
  return Rank{(ranks.rank().number + ranks.size() - 1) % ranks.size()};
}

/// Sends `size_bytes` to the next rank and receives as many from the previous one.
void exchange_with_neighbors(const CommunicatorPtr& ranks, std::size_t size_bytes) {
  const Bytes mine = pattern(ranks->rank().number, size_bytes);
  Bytes got(size_bytes);
  MessageRequest receive = ranks->receive(got, previous_rank(*ranks), Tag{5});
  MessageRequest send = ranks->send(mine, next_rank(*ranks), Tag{5});
  ASSERT_TRUE(receive.wait());
  ASSERT_TRUE(send.wait());
  EXPECT_EQ(got, pattern(previous_rank(*ranks).number, size_bytes)) << size_bytes;
}

TEST_P(MessageSuite, messages_of_any_size_pass_around_the_ring) {
  run_on_all_ranks([](const CommunicatorPtr& ranks) {
    for (const std::size_t size_bytes : {0, 1, 4096, 100'000, 3'000'001})
      exchange_with_neighbors(ranks, size_bytes);
  });
}

TEST_P(MessageSuite, test_reports_completion) {
  run_on_all_ranks([](const CommunicatorPtr& ranks) {
    const Bytes mine = pattern(ranks->rank().number, 70'000);
    Bytes got(mine.size());
    MessageRequest receive = ranks->receive(got, previous_rank(*ranks), Tag{0});
    EXPECT_FALSE(value_or_throw(receive.test(), "test") && previous_rank(*ranks) == ranks->rank());
    MessageRequest send = ranks->send(mine, next_rank(*ranks), Tag{0});
    while (!value_or_throw(receive.test(), "receive") || !value_or_throw(send.test(), "send"))
      std::this_thread::yield();
    EXPECT_EQ(got, pattern(previous_rank(*ranks).number, got.size()));
    EXPECT_TRUE(value_or_throw(receive.test(), "once more"));
    EXPECT_TRUE(receive.wait());
  });
}

TEST_P(MessageSuite, messages_with_one_tag_keep_their_order) {
  run_on_all_ranks([](const CommunicatorPtr& ranks) {
    constexpr std::size_t kCount = 50;
    std::array<std::uint64_t, kCount> out{};
    std::array<std::uint64_t, kCount> in{};
    std::vector<MessageRequest> transfers;
    for (std::size_t i = 0; i < kCount; ++i) {
      out[i] = 1000 * ranks->rank().number + i;
      transfers.push_back(ranks->send(std::as_bytes(std::span(&out[i], 1)), next_rank(*ranks), {}));
    }
    for (std::size_t i = 0; i < kCount; ++i) {
      auto into = std::as_writable_bytes(std::span(&in[i], 1));
      transfers.push_back(ranks->receive(into, previous_rank(*ranks), {}));
    }
    for (MessageRequest& transfer : transfers)
      ASSERT_TRUE(transfer.wait());
    for (std::size_t i = 0; i < kCount; ++i)
      EXPECT_EQ(in[i], 1000 * previous_rank(*ranks).number + i);
  });
}

TEST_P(MessageSuite, tags_distinguish_messages) {
  run_on_all_ranks([](const CommunicatorPtr& ranks) {
    const Bytes first = bytes_of("first");
    const Bytes second = bytes_of("second");
    MessageRequest a = ranks->send(first, next_rank(*ranks), Tag{1});
    MessageRequest b = ranks->send(second, next_rank(*ranks), Tag{kTagMax});
    Bytes got_second(second.size());
    Bytes got_first(first.size());
    ASSERT_TRUE(ranks->receive(got_second, previous_rank(*ranks), Tag{kTagMax}).wait());
    ASSERT_TRUE(ranks->receive(got_first, previous_rank(*ranks), Tag{1}).wait());
    EXPECT_EQ(text_of(got_first), "first");
    EXPECT_EQ(text_of(got_second), "second");
    EXPECT_TRUE(a.wait());
    EXPECT_TRUE(b.wait());
  });
}

TEST_P(MessageSuite, all_ranks_exchange_messages_at_once) {
  run_on_all_ranks([](const CommunicatorPtr& ranks) {
    constexpr std::size_t kSize = 200'000;
    const std::uint32_t n = ranks->size();
    std::vector<Bytes> out;
    std::vector<Bytes> in(n, Bytes(kSize));
    std::vector<MessageRequest> transfers;
    for (std::uint32_t peer = 0; peer < n; ++peer)
      out.push_back(pattern(100 * ranks->rank().number + peer, kSize));
    for (std::uint32_t peer = 0; peer < n; ++peer) {
      transfers.push_back(ranks->send(out[peer], Rank{peer}, Tag{3}));
      transfers.push_back(ranks->receive(in[peer], Rank{peer}, Tag{3}));
    }
    for (MessageRequest& transfer : transfers)
      ASSERT_TRUE(transfer.wait());
    for (std::uint32_t peer = 0; peer < n; ++peer)
      EXPECT_EQ(in[peer], pattern(100 * peer + ranks->rank().number, kSize)) << peer;
  });
}

/// Sends `sent` bytes where `announced` are expected; returns the outcome of the receive.
Status mismatch(const CommunicatorPtr& ranks, std::size_t sent, std::size_t announced) {
  const Bytes out(sent, std::byte{1});
  Bytes in(announced);
  MessageRequest receive = ranks->receive(in, previous_rank(*ranks), Tag{9});
  MessageRequest send = ranks->send(out, next_rank(*ranks), Tag{9});
  const Status received = receive.wait();
  EXPECT_TRUE(send.wait());
  return received;
}

/// Open MPI 4 reports nothing if a rank sends a message to itself that is longer than the receive
/// (the contract allows it).
bool truncates_self_messages(const Communicator& ranks) {
  return ranks.size() == 1 && ranks.name().starts_with("mpi: Open MPI");
}

TEST_P(MessageSuite, unexpected_size_is_an_error) {
  run_on_all_ranks([](const CommunicatorPtr& ranks) {
    for (const auto& [sent, announced] : {std::pair{500, 400}, std::pair{400, 500}}) {
      const Status received = mismatch(ranks, sent, announced);
      if (sent > announced && truncates_self_messages(*ranks)) continue;
      ASSERT_FALSE(received);
      EXPECT_EQ(received.error().kind(), ErrorClass::kInvalidArgument)
          << received.error().message();
    }
    ASSERT_TRUE(ranks->barrier());
    exchange_with_neighbors(ranks, 1000);  // and no bytes are left over
  });
}

TEST_P(MessageSuite, canceled_receive_takes_no_message) {
  run_on_all_ranks([](const CommunicatorPtr& ranks) {
    Bytes untouched(100);
    {
      const MessageRequest given_up = ranks->receive(untouched, previous_rank(*ranks), Tag{5});
    }
    ASSERT_TRUE(ranks->barrier());
    exchange_with_neighbors(ranks, untouched.size());
    EXPECT_EQ(untouched, Bytes(100));
  });
}

TEST_P(MessageSuite, request_can_be_moved_while_in_progress) {
  run_on_all_ranks([](const CommunicatorPtr& ranks) {
    const Bytes mine = pattern(ranks->rank().number, 1000);
    Bytes got(mine.size());
    MessageRequest receive;
    EXPECT_TRUE(receive.wait());  // an empty request is complete
    receive = ranks->receive(got, previous_rank(*ranks), Tag{0});
    MessageRequest moved = std::move(receive);
    MessageRequest send = ranks->send(mine, next_rank(*ranks), Tag{0});
    ASSERT_TRUE(moved.wait());
    ASSERT_TRUE(send.wait());
    EXPECT_EQ(got, pattern(previous_rank(*ranks).number, got.size()));
  });
}

TEST_P(MessageSuite, invalid_rank_or_tag_is_refused) {
  run_on_all_ranks([](const CommunicatorPtr& ranks) {
    Bytes bytes(1);
    const Status send_status = ranks->send(bytes, Rank{ranks->size()}, {}).wait();
    const Status receive_status = ranks->receive(bytes, ranks->rank(), Tag{kTagMax + 1}).wait();
    ASSERT_FALSE(send_status);
    ASSERT_FALSE(receive_status);
    EXPECT_EQ(send_status.error().kind(), ErrorClass::kInvalidArgument);
    EXPECT_EQ(receive_status.error().kind(), ErrorClass::kInvalidArgument);
  });
}

TEST_P(MessageSuite, threads_exchange_messages_concurrently_if_supported) {
  run_on_all_ranks([](const CommunicatorPtr& ranks) {
    if (ranks->thread_support() < ThreadSupport::kSerialized) return;
    const CommunicatorPtr other = value_or_throw(ranks->duplicate(), "duplicate");
    constexpr int kRounds = 20;
    std::thread second([&other] {
      for (int i = 0; i < kRounds; ++i)
        exchange_with_neighbors(other, 20'000);
    });
    for (int i = 0; i < kRounds; ++i)
      exchange_with_neighbors(ranks, 10'000);
    second.join();
  });
}

}  // namespace
}  // namespace forebay::comm
