// SPDX-License-Identifier: Apache-2.0
// Post offices in trouble: no descriptors, strangers who know how to greet, peers who do not read,
// letters that fill every buffer in both directions. Nothing blocks, and nobody else pays. Ranks
// are threads; all on loopback.
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "comm/handshake.hpp"
#include "comm/in_process.hpp"
#include "comm/post_office.hpp"
#include "comm/post_office_testing.hpp"
#include "comm/socket.hpp"

namespace forebay::comm {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

const LinkOptions kSmallBuffers{.socket = {.buffer_bytes = 64 << 10}};
constexpr std::size_t kLargeBytes = std::size_t{8} << 20U;

/// This process gets so many more descriptors, and no more, as long as this lives.
class FewDescriptors {
 public:
  explicit FewDescriptors(rlim_t more) {
    EXPECT_EQ(::getrlimit(RLIMIT_NOFILE, &before_), 0);
    const int next = ::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0);
    EXPECT_GE(next, 0);
    ::close(next);
    set(static_cast<rlim_t>(next) + more);
  }
  ~FewDescriptors() { set(before_.rlim_cur); }
  FewDescriptors(const FewDescriptors&) = delete;
  FewDescriptors& operator=(const FewDescriptors&) = delete;

 private:
  void set(rlim_t count) const {
    const rlimit limit{count, before_.rlim_max};
    EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &limit), 0);
  }
  rlimit before_ = {};
};

TEST(PostOfficeInTrouble, without_descriptors_a_call_fails_at_once_and_says_how_to_get_more) {
  on_ranks(3, [](const Ranks& ranks) {
    const auto office = open_office(*ranks);
    PostBox box;
    EXPECT_TRUE(ranks->barrier());
    if (ranks->rank() == Rank{0}) {
      {
        const FewDescriptors none(0);
        Status told;
        std::ignore = office->send(Rank{1}, {}, {}, [&](const Status& outcome) { told = outcome; });
        EXPECT_TRUE(drive(*office, box, [&] { return box.lost_at(Rank{1}) != nullptr; }));
        EXPECT_EQ(error_class(told), ErrorClass::kLimit);
        EXPECT_NE(told.error().message().find("ulimit -n"), std::string::npos);
      }
      // Others can be talked to when there are descriptors again.
      EXPECT_TRUE(office->send(Rank{2}, {.kind = 3}));
      EXPECT_TRUE(drive(*office, box, [&] { return !box.messages.empty(); }));
    }
    if (ranks->rank() == Rank{2}) {
      EXPECT_TRUE(drive(*office, box, [&] { return !box.messages.empty(); }));
      EXPECT_TRUE(office->send(Rank{0}, {.kind = 4}));
      EXPECT_TRUE(drive(*office, box, [&] { return office->queued_bytes() == 0; }));
    }
    EXPECT_TRUE(ranks->barrier());
  });
}

TEST(PostOfficeInTrouble, who_has_no_descriptor_to_answer_sleeps_and_answers_later) {
  on_ranks(2, [](const Ranks& ranks) {
    const auto office = open_office(*ranks);
    PostBox box;
    EXPECT_TRUE(ranks->barrier());
    std::unique_ptr<FewDescriptors> one;
    if (ranks->rank() == Rank{0}) {
      one = std::make_unique<FewDescriptors>(1);  // for the caller
      EXPECT_TRUE(office->send(Rank{1}, {.kind = 3}, pattern(0, 10'000)));
    }
    EXPECT_TRUE(ranks->barrier());
    if (ranks->rank() == Rank{1}) {
      const auto end = steady_clock::now() + milliseconds(500);
      int rounds = 0;
      for (; steady_clock::now() < end; ++rounds) {
        wait_for(*office);
        office->attend(box);
      }
      EXPECT_TRUE(box.messages.empty());
      EXPECT_LT(rounds, 100) << "it does not ask on and on";
    }
    EXPECT_TRUE(ranks->barrier());
    one.reset();
    EXPECT_TRUE(ranks->barrier());
    EXPECT_TRUE(drive(*office, box, [&] {
      return office->queued_bytes() == 0 && (ranks->rank() == Rank{0} || !box.messages.empty());
    }));
    EXPECT_TRUE(box.losses.empty());
    EXPECT_TRUE(ranks->barrier());
  });
}

/// First messages that no rank sends.
std::vector<HandshakeMessage> false_first_messages() {
  using Kind = HandshakeMessage::Kind;
  std::vector<HandshakeMessage> all;
  for (const Kind kind : {Kind::kHello, Kind::kChallenge, Kind::kProof})
    for (const std::uint32_t from : {0U, 1U, 7U, UINT32_MAX})
      for (const std::uint32_t to : {0U, 1U, 7U})
        if (kind != Kind::kHello || from > 1 || to > 1 || from == to)
          all.push_back({.kind = kind, .from = from, .to = to});
  all.push_back({.version = 1, .from = 1});
  all.push_back({.magic = 7, .from = 1});
  return all;
}

TEST(PostOfficeInTrouble, first_message_of_a_stranger_closes_the_connection_without_an_answer) {
  on_ranks(2, [](const Ranks& ranks) {
    const auto office = open_office(*ranks);
    EXPECT_TRUE(ranks->barrier());
    std::vector<Descriptor> strangers;
    if (ranks->rank() == Rank{0}) {
      for (const Address& address : listening_here())
        for (const HandshakeMessage& message : false_first_messages()) {
          strangers.push_back(must(begin_call(address, {}), "call"));
          std::ignore = ::send(strangers.back().get(), &message, sizeof message, MSG_NOSIGNAL);
        }
      EXPECT_FALSE(strangers.empty());
    }
    EXPECT_TRUE(ranks->barrier());
    PostBox box;
    for (const std::uint32_t to : {0, 1})
      EXPECT_TRUE(office->send(Rank{to}, {.kind = 1}, bytes_of("hello")));
    const auto count_hung_up = [&] {
      std::erase_if(strangers, [&](const Descriptor& stranger) {
        char said = 0;
        const ssize_t got = ::recv(stranger.get(), &said, 1, MSG_DONTWAIT);
        EXPECT_LE(got, 0) << "a stranger was answered";
        return got == 0 || errno == ECONNRESET;
      });
      return strangers.empty();
    };
    EXPECT_TRUE(drive(*office, box, [&] {
      return box.messages.size() == 2 && office->queued_bytes() == 0 && count_hung_up();
    }));
    EXPECT_TRUE(box.losses.empty());
    EXPECT_TRUE(ranks->barrier());
  });
}

TEST(PostOfficeInTrouble, hundreds_of_silent_strangers_keep_no_rank_away) {
  on_ranks(2, [](const Ranks& ranks) {
    const auto office = open_office(*ranks);
    PostBox box;
    EXPECT_TRUE(ranks->barrier());
    std::vector<Descriptor> strangers;
    const auto addresses = listening_here();
    EXPECT_FALSE(addresses.empty());
    if (ranks->rank() == Rank{0})
      for (int stranger = 0; stranger < 300; ++stranger) {
        const Address& address = addresses[static_cast<std::size_t>(stranger) % addresses.size()];
        strangers.push_back(must(begin_call(address, {}), "call"));
        if (stranger % 10 == 0) office->attend(box);
      }
    EXPECT_TRUE(ranks->barrier());
    const Rank other{1 - ranks->rank().number};
    EXPECT_TRUE(office->send(other, {.kind = 1}, bytes_of("hello")));
    EXPECT_TRUE(drive(*office, box,
                      [&] { return box.messages.size() == 1 && office->queued_bytes() == 0; }));
    EXPECT_TRUE(box.losses.empty());
    EXPECT_TRUE(ranks->barrier());
  });
}

TEST(PostOfficeInTrouble, letters_larger_than_all_buffers_pass_each_other) {
  on_ranks(3, [](const Ranks& ranks) {
    const auto office = open_office(*ranks, kSmallBuffers);
    PostBox box;
    for (std::uint32_t to = 0; to < 3; ++to)
      for (std::uint32_t letter = 0; letter < 2; ++letter)
        EXPECT_TRUE(office->send(Rank{to}, {.kind = letter},
                                 pattern(ranks->rank().number * 10 + letter, kLargeBytes)));
    EXPECT_TRUE(drive(*office, box,
                      [&] { return box.messages.size() == 6 && office->queued_bytes() == 0; }));
    for (const PostBox::Message& message : box.messages)
      EXPECT_EQ(message.payload,
                pattern(message.from.number * 10 + message.header.kind, kLargeBytes));
    EXPECT_TRUE(ranks->barrier());
  });
}

TEST(PostOfficeInTrouble, a_peer_that_does_not_read_holds_up_nobody_else) {
  on_ranks(3, [](const Ranks& ranks) {
    const auto office = open_office(*ranks, kSmallBuffers);
    PostBox box;
    const auto meet = [&] {  // so that there are connections
      for (std::uint32_t to = 0; to < 3; ++to)
        EXPECT_TRUE(office->send(Rank{to}, {.kind = 1}));
      EXPECT_TRUE(drive(*office, box,
                        [&] { return box.messages.size() == 3 && office->queued_bytes() == 0; }));
    };
    meet();
    EXPECT_TRUE(ranks->barrier());
    const Bytes large = pattern(0, kLargeBytes);
    if (ranks->rank() == Rank{0}) {
      EXPECT_TRUE(office->send(Rank{1}, {.kind = 2}, large));
      EXPECT_TRUE(office->send(Rank{2}, {.kind = 2}, large));
      EXPECT_TRUE(drive(*office, box, [&] { return box.messages.size() == 4; })) << "its answer";
      EXPECT_GT(office->queued_bytes(), kLargeBytes / 2) << "for rank 1";
    } else if (ranks->rank() == Rank{2}) {
      EXPECT_TRUE(drive(*office, box, [&] { return box.messages.size() == 4; }));
      EXPECT_TRUE(office->send(Rank{0}, {.kind = 3}));
      EXPECT_TRUE(drive(*office, box, [&] { return office->queued_bytes() == 0; }));
    }
    EXPECT_TRUE(ranks->barrier());
    EXPECT_TRUE(drive(*office, box, [&] {
      const bool has_all = ranks->rank() != Rank{1} || box.messages.size() == 4;
      return has_all && office->queued_bytes() == 0;
    }));
    EXPECT_EQ(box.messages.back().payload.empty(), ranks->rank() == Rank{0});
    EXPECT_TRUE(box.losses.empty());
    EXPECT_TRUE(ranks->barrier());
  });
}

TEST(PostOfficeInTrouble, a_peer_that_never_reads_again_is_lost_when_it_was_silent_too_long) {
  on_ranks(2, [](const Ranks& ranks) {
    LinkOptions options = kSmallBuffers;
    options.socket.silence_ms_max = milliseconds(1000);
    const auto office = open_office(*ranks, options);
    PostBox box;
    for (std::uint32_t to = 0; to < 2; ++to)
      EXPECT_TRUE(office->send(Rank{to}, {.kind = 1}));
    EXPECT_TRUE(drive(*office, box,
                      [&] { return box.messages.size() == 2 && office->queued_bytes() == 0; }));
    EXPECT_TRUE(ranks->barrier());
    if (ranks->rank() == Rank{0}) {
      int told = 0;
      const Bytes large = pattern(0, kLargeBytes);
      EXPECT_TRUE(office->send(Rank{1}, {.kind = 2}, large, [&](const Status& outcome) {
        EXPECT_FALSE(outcome);
        ++told;
      }));
      EXPECT_TRUE(drive(*office, box, [&] { return box.lost_at(Rank{1}) != nullptr; }));
      EXPECT_EQ(told, 1);
      EXPECT_EQ(office->queued_bytes(), 0U);
      EXPECT_EQ(box.lost_at(Rank{1})->kind(), ErrorClass::kClosed);
    }
    EXPECT_TRUE(ranks->barrier());
  });
}

TEST(PostOfficeInTrouble, letters_that_are_queued_when_a_peer_is_closed_are_told_once_each) {
  on_ranks(2, [](const Ranks& ranks) {
    const auto office = open_office(*ranks, kSmallBuffers);
    PostBox box;
    EXPECT_TRUE(ranks->barrier());
    if (ranks->rank() == Rank{0}) {
      constexpr std::size_t kLetters = 100;
      std::vector<int> told(kLetters);
      const Bytes words = pattern(0, 1 << 20);
      for (std::size_t letter = 0; letter < kLetters; ++letter)
        EXPECT_TRUE(office->send(Rank{1}, {.kind = 2}, words, [&told, letter](const Status& sent) {
          EXPECT_EQ(error_class(sent), ErrorClass::kCancelled);
          ++told[letter];
        }));
      office->attend(box);
      EXPECT_GT(office->queued_bytes(), (kLetters - 2) << 20U);
      office->close(Rank{1}, Error({.kind = ErrorClass::kCancelled, .operation = "go home"}));
      EXPECT_EQ(error_class(office->send(Rank{1}, {})), ErrorClass::kCancelled);
      EXPECT_TRUE(drive(*office, box, [&] { return box.lost_at(Rank{1}) != nullptr; }));
      EXPECT_EQ(told, std::vector<int>(kLetters, 1));
      EXPECT_EQ(office->queued_bytes(), 0U);
    }
    EXPECT_TRUE(ranks->barrier());
  });
}

TEST(PostOfficeInTrouble, an_office_that_ends_with_letters_queued_ends_at_once_and_tells_nobody) {
  on_ranks(2, [](const Ranks& ranks) {
    auto office = open_office(*ranks, kSmallBuffers);
    PostBox box;
    const Rank other{1 - ranks->rank().number};
    EXPECT_TRUE(office->send(other, {.kind = 1}));
    EXPECT_TRUE(drive(*office, box,
                      [&] { return box.messages.size() == 1 && office->queued_bytes() == 0; }));
    EXPECT_TRUE(ranks->barrier());
    if (ranks->rank() == Rank{0}) {
      const Bytes large = pattern(0, kLargeBytes);
      int told = 0;
      EXPECT_TRUE(office->send(other, {.kind = 2}, large, [&](const Status&) { ++told; }));
      office->attend(box);
      office.reset();
      EXPECT_EQ(told, 0);
    } else {
      EXPECT_TRUE(drive(*office, box, [&] { return box.lost_at(Rank{0}) != nullptr; }));
      EXPECT_EQ(box.messages.size(), 1U) << "half a letter is none";
    }
    EXPECT_TRUE(ranks->barrier());
  });
}

}  // namespace
}  // namespace forebay::comm
