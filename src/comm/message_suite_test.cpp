// SPDX-License-Identifier: Apache-2.0
// What every make of Communicator does with announced messages.
#include <array>
#include <thread>

#include "comm/testing.hpp"

namespace forebay::comm {

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(MessageSuite);

namespace {

Rank after(const Communicator& ranks) { return Rank{(ranks.rank().number + 1) % ranks.size()}; }

Rank before(const Communicator& ranks) {
  return Rank{(ranks.rank().number + ranks.size() - 1) % ranks.size()};
}

/// Sends `size_bytes` to the next rank and receives as many from the one before.
void pass_on(const Ranks& ranks, std::size_t size_bytes) {
  const Bytes mine = pattern(ranks->rank().number, size_bytes);
  Bytes got(size_bytes);
  Transfer receive = ranks->receive(got, before(*ranks), Tag{5});
  Transfer send = ranks->send(mine, after(*ranks), Tag{5});
  ASSERT_TRUE(receive.wait());
  ASSERT_TRUE(send.wait());
  EXPECT_EQ(got, pattern(before(*ranks).number, size_bytes)) << size_bytes;
}

TEST_P(MessageSuite, messages_of_any_size_go_round) {
  on_all_ranks([](const Ranks& ranks) {
    for (const std::size_t size_bytes : {0, 1, 4096, 100'000, 3'000'001})
      pass_on(ranks, size_bytes);
  });
}

TEST_P(MessageSuite, test_says_when_it_is_over) {
  on_all_ranks([](const Ranks& ranks) {
    const Bytes mine = pattern(ranks->rank().number, 70'000);
    Bytes got(mine.size());
    Transfer receive = ranks->receive(got, before(*ranks), Tag{0});
    EXPECT_FALSE(must(receive.test(), "test") && before(*ranks) == ranks->rank());
    Transfer send = ranks->send(mine, after(*ranks), Tag{0});
    while (!must(receive.test(), "receive") || !must(send.test(), "send"))
      std::this_thread::yield();
    EXPECT_EQ(got, pattern(before(*ranks).number, got.size()));
    EXPECT_TRUE(must(receive.test(), "once more"));
    EXPECT_TRUE(receive.wait());
  });
}

TEST_P(MessageSuite, messages_with_one_tag_keep_their_order) {
  on_all_ranks([](const Ranks& ranks) {
    constexpr std::size_t kCount = 50;
    std::array<std::uint64_t, kCount> out{};
    std::array<std::uint64_t, kCount> in{};
    std::vector<Transfer> transfers;
    for (std::size_t i = 0; i < kCount; ++i) {
      out[i] = 1000 * ranks->rank().number + i;
      transfers.push_back(ranks->send(std::as_bytes(std::span(&out[i], 1)), after(*ranks), {}));
    }
    for (std::size_t i = 0; i < kCount; ++i) {
      auto into = std::as_writable_bytes(std::span(&in[i], 1));
      transfers.push_back(ranks->receive(into, before(*ranks), {}));
    }
    for (Transfer& transfer : transfers)
      ASSERT_TRUE(transfer.wait());
    for (std::size_t i = 0; i < kCount; ++i)
      EXPECT_EQ(in[i], 1000 * before(*ranks).number + i);
  });
}

TEST_P(MessageSuite, tags_tell_messages_apart) {
  on_all_ranks([](const Ranks& ranks) {
    const Bytes first = bytes_of("first");
    const Bytes second = bytes_of("second");
    Transfer a = ranks->send(first, after(*ranks), Tag{1});
    Transfer b = ranks->send(second, after(*ranks), Tag{kTagMax});
    Bytes got_second(second.size());
    Bytes got_first(first.size());
    ASSERT_TRUE(ranks->receive(got_second, before(*ranks), Tag{kTagMax}).wait());
    ASSERT_TRUE(ranks->receive(got_first, before(*ranks), Tag{1}).wait());
    EXPECT_EQ(text_of(got_first), "first");
    EXPECT_EQ(text_of(got_second), "second");
    EXPECT_TRUE(a.wait());
    EXPECT_TRUE(b.wait());
  });
}

TEST_P(MessageSuite, all_ranks_talk_to_all_at_once) {
  on_all_ranks([](const Ranks& ranks) {
    constexpr std::size_t kSize = 200'000;
    const std::uint32_t n = ranks->size();
    std::vector<Bytes> out;
    std::vector<Bytes> in(n, Bytes(kSize));
    std::vector<Transfer> transfers;
    for (std::uint32_t peer = 0; peer < n; ++peer)
      out.push_back(pattern(100 * ranks->rank().number + peer, kSize));
    for (std::uint32_t peer = 0; peer < n; ++peer) {
      transfers.push_back(ranks->send(out[peer], Rank{peer}, Tag{3}));
      transfers.push_back(ranks->receive(in[peer], Rank{peer}, Tag{3}));
    }
    for (Transfer& transfer : transfers)
      ASSERT_TRUE(transfer.wait());
    for (std::uint32_t peer = 0; peer < n; ++peer)
      EXPECT_EQ(in[peer], pattern(100 * peer + ranks->rank().number, kSize)) << peer;
  });
}

/// Sends `sent` bytes round where `announced` are expected; the outcome of the receive.
Status mismatch(const Ranks& ranks, std::size_t sent, std::size_t announced) {
  const Bytes out(sent, std::byte{1});
  Bytes in(announced);
  Transfer receive = ranks->receive(in, before(*ranks), Tag{9});
  Transfer send = ranks->send(out, after(*ranks), Tag{9});
  const Status received = receive.wait();
  EXPECT_TRUE(send.wait());
  return received;
}

/// Open MPI 4 says nothing when a rank sends itself more than it asked for (the contract allows
/// it).
bool cuts_messages_to_itself(const Communicator& ranks) {
  return ranks.size() == 1 && ranks.name().starts_with("mpi: Open MPI");
}

TEST_P(MessageSuite, a_message_of_another_size_than_announced_is_an_error) {
  on_all_ranks([](const Ranks& ranks) {
    for (const auto& [sent, announced] : {std::pair{500, 400}, std::pair{400, 500}}) {
      const Status received = mismatch(ranks, sent, announced);
      if (sent > announced && cuts_messages_to_itself(*ranks)) continue;
      ASSERT_FALSE(received);
      EXPECT_EQ(received.error().kind(), ErrorClass::kInvalidArgument)
          << received.error().message();
    }
    ASSERT_TRUE(ranks->barrier());
    pass_on(ranks, 1000);  // and nothing is left behind
  });
}

TEST_P(MessageSuite, a_receive_that_is_given_up_takes_nothing) {
  on_all_ranks([](const Ranks& ranks) {
    Bytes untouched(100);
    {
      const Transfer given_up = ranks->receive(untouched, before(*ranks), Tag{5});
    }
    ASSERT_TRUE(ranks->barrier());
    pass_on(ranks, untouched.size());
    EXPECT_EQ(untouched, Bytes(100));
  });
}

TEST_P(MessageSuite, a_transfer_can_be_moved_while_it_is_under_way) {
  on_all_ranks([](const Ranks& ranks) {
    const Bytes mine = pattern(ranks->rank().number, 1000);
    Bytes got(mine.size());
    Transfer receive;
    EXPECT_TRUE(receive.wait());  // nothing is over at once
    receive = ranks->receive(got, before(*ranks), Tag{0});
    Transfer moved = std::move(receive);
    Transfer send = ranks->send(mine, after(*ranks), Tag{0});
    ASSERT_TRUE(moved.wait());
    ASSERT_TRUE(send.wait());
    EXPECT_EQ(got, pattern(before(*ranks).number, got.size()));
  });
}

TEST_P(MessageSuite, a_rank_or_tag_that_is_not_there_is_refused) {
  on_all_ranks([](const Ranks& ranks) {
    Bytes bytes(1);
    const Status nobody = ranks->send(bytes, Rank{ranks->size()}, {}).wait();
    const Status no_tag = ranks->receive(bytes, ranks->rank(), Tag{kTagMax + 1}).wait();
    ASSERT_FALSE(nobody);
    ASSERT_FALSE(no_tag);
    EXPECT_EQ(nobody.error().kind(), ErrorClass::kInvalidArgument);
    EXPECT_EQ(no_tag.error().kind(), ErrorClass::kInvalidArgument);
  });
}

TEST_P(MessageSuite, threads_talk_at_once_where_that_is_allowed) {
  on_all_ranks([](const Ranks& ranks) {
    if (ranks->thread_support() < ThreadSupport::kSerialized) return;
    const Ranks other = must(ranks->duplicate(), "duplicate");
    constexpr int kRounds = 20;
    std::thread second([&other] {
      for (int i = 0; i < kRounds; ++i)
        pass_on(other, 20'000);
    });
    for (int i = 0; i < kRounds; ++i)
      pass_on(ranks, 10'000);
    second.join();
  });
}

}  // namespace
}  // namespace forebay::comm
