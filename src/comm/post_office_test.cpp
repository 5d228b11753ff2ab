// SPDX-License-Identifier: Apache-2.0
// Every way in which a post office loses a peer, and who else notices: nobody. Ranks are threads.
#include "comm/post_office.hpp"

#include <cerrno>

#include <sys/socket.h>

#include "comm/post_office_testing.hpp"

namespace forebay::comm {
namespace {

std::uint32_t kind_of(const PostBox::Message& message) { return message.header.kind; }

TEST(PostOffice, has_nothing_to_do_until_somebody_sends) {
  on_ranks(2, [](const Ranks& ranks) {
    const auto office = open_office(*ranks);
    EXPECT_FALSE(is_readable(office->descriptor()));
    EXPECT_EQ(office->due(), std::nullopt);
    EXPECT_TRUE(ranks->barrier());
  });
}

TEST(PostOffice, what_a_rank_sent_before_it_left_arrives_and_others_go_on) {
  on_ranks(3, [](const Ranks& ranks) {
    auto office = open_office(*ranks);
    PostBox box;
    const Bytes words = pattern(0, 300'000);
    for (std::uint32_t to = 0; to < 3; ++to)
      EXPECT_TRUE(office->send(Rank{to}, {}, words));
    EXPECT_TRUE(drive(*office, box,
                      [&] { return box.messages.size() == 3 && office->queued_bytes() == 0; }));
    EXPECT_TRUE(ranks->barrier());
    if (ranks->rank() == Rank{1}) {
      for (const std::uint32_t to : {0, 2})
        EXPECT_TRUE(office->send(Rank{to}, {.kind = 5}, words));
      EXPECT_TRUE(drive(*office, box, [&] { return office->queued_bytes() == 0; }));
      office.reset();
      return;
    }
    EXPECT_TRUE(drive_until_lost(*office, box, Rank{1}));
    const auto last = std::ranges::find(box.messages, 5U, kind_of);
    ASSERT_NE(last, box.messages.end());
    EXPECT_EQ(last->payload, words);
    EXPECT_EQ(box.lost_at(Rank{1})->kind(), ErrorClass::kClosed);
    EXPECT_EQ(error_class(office->send(Rank{1}, {})), ErrorClass::kClosed);
    const Rank other{2 - ranks->rank().number};
    EXPECT_TRUE(office->send(other, {.kind = 6}, words));
    EXPECT_TRUE(drive(*office, box, [&] {
      const bool has_come = std::ranges::count(box.messages, 6U, kind_of) == 1;
      return has_come && office->queued_bytes() == 0;
    }));
    EXPECT_EQ(box.losses.size(), 1U);
  });
}

TEST(PostOffice, rank_that_has_left_is_known_at_once_when_it_is_called) {
  on_ranks(2, [](const Ranks& ranks) {
    auto office = open_office(*ranks);
    if (ranks->rank() == Rank{1}) office.reset();
    EXPECT_TRUE(ranks->barrier());
    if (!office) return;
    PostBox box;
    Status told;
    EXPECT_TRUE(office->send(Rank{1}, {}, {}, [&](const Status& outcome) { told = outcome; }));
    EXPECT_TRUE(drive_until_lost(*office, box, Rank{1}));
    EXPECT_EQ(box.lost_at(Rank{1})->error_number(), ECONNREFUSED);
    EXPECT_EQ(error_class(told), ErrorClass::kClosed);
    EXPECT_EQ(office->queued_bytes(), 0U);
  });
}

TEST(PostOffice, rank_that_never_answers_is_lost_in_time) {
  on_ranks(2, [](const Ranks& ranks) {
    const auto office = open_office(*ranks, {.connect_ms_max = std::chrono::milliseconds(300)});
    if (ranks->rank() == Rank{0}) {
      PostBox box;
      EXPECT_TRUE(office->send(Rank{1}, {}, bytes_of("anybody there?")));
      EXPECT_TRUE(drive_until_lost(*office, box, Rank{1}));
      EXPECT_EQ(box.lost_at(Rank{1})->error_number(), ETIMEDOUT);
    }
    EXPECT_TRUE(ranks->barrier());
  });
}

TEST(PostOffice, refusal_of_the_receiver_ends_the_peer_on_both_sides) {
  on_ranks(2, [](const Ranks& ranks) {
    const auto office = open_office(*ranks);
    PostBox box;
    box.refuse_kind = 8;
    const Rank other{1 - ranks->rank().number};
    if (ranks->rank() == Rank{0}) {
      EXPECT_TRUE(office->send(other, {.kind = 8}, pattern(0, 1000)));
    }
    EXPECT_TRUE(drive_until_lost(*office, box, other));
    EXPECT_EQ(box.lost_at(other)->operation() == "find a place", ranks->rank() == Rank{1});
    EXPECT_TRUE(box.messages.empty());
  });
}

TEST(PostOffice, payload_that_nobody_wants_is_dropped_from_others_and_from_itself) {
  on_ranks(2, [](const Ranks& ranks) {
    const auto office = open_office(*ranks);
    PostBox box;
    box.drop_kind = 9;
    for (const std::uint32_t to : {0, 1})
      EXPECT_TRUE(office->send(Rank{to}, {.kind = 9}, pattern(0, 100'000)));
    EXPECT_TRUE(drive(*office, box,
                      [&] { return box.messages.size() == 2 && office->queued_bytes() == 0; }));
    for (const PostBox::Message& message : box.messages)
      EXPECT_TRUE(message.payload.empty());
    EXPECT_TRUE(ranks->barrier());
  });
}

TEST(PostOffice, strangers_that_call_are_in_nobodys_way) {
  on_ranks(2, [](const Ranks& ranks) {
    const auto office = open_office(*ranks);
    EXPECT_TRUE(ranks->barrier());
    std::vector<Descriptor> strangers;
    if (ranks->rank() == Rank{0}) {
      for (const Address& address : listening_here()) {
        for (const Bytes& words : {Bytes(), bytes_of("GET / HTTP/1.1"), pattern(0, 4000)}) {
          strangers.push_back(must(begin_call(address, {}), "call"));
          std::ignore = ::send(strangers.back().get(), words.data(), words.size(), MSG_NOSIGNAL);
        }
      }
      EXPECT_FALSE(strangers.empty());
    }
    EXPECT_TRUE(ranks->barrier());
    PostBox box;
    for (const std::uint32_t to : {0, 1})
      EXPECT_TRUE(office->send(Rank{to}, {.kind = 1}, bytes_of("hello")));
    EXPECT_TRUE(drive(*office, box,
                      [&] { return box.messages.size() == 2 && office->queued_bytes() == 0; }));
    EXPECT_TRUE(box.losses.empty());
    EXPECT_TRUE(ranks->barrier());
  });
}

TEST(PostOffice, ranks_of_one_node_listen_on_loopback_alone) {
  on_ranks(3, [](const Ranks& ranks) {
    const auto office = open_office(*ranks);
    EXPECT_TRUE(ranks->barrier());
    const std::vector<Address> here = listening_here();
    EXPECT_FALSE(here.empty());
    for (const Address& address : here)
      EXPECT_TRUE(is_loopback(address)) << text_of(address);
    EXPECT_TRUE(ranks->barrier());
  });
}

TEST(PostOffice, close_is_told_to_both_sides) {
  on_ranks(2, [](const Ranks& ranks) {
    const auto office = open_office(*ranks);
    PostBox box;
    const Rank other{1 - ranks->rank().number};
    box.on_message = [&](const PostBox::Message&) -> Status {
      if (ranks->rank() == Rank{1}) office->close(other, Error({.operation = "go home"}));
      return {};
    };
    for (int i = 0; i < 5; ++i)
      EXPECT_TRUE(ranks->rank() == Rank{1} || office->send(other, {}));
    EXPECT_TRUE(drive_until_lost(*office, box, other));
    if (ranks->rank() == Rank{1}) {
      EXPECT_EQ(box.messages.size(), 1U) << "nothing is received after close()";
    }
  });
}

}  // namespace
}  // namespace forebay::comm
