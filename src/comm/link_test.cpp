// SPDX-License-Identifier: Apache-2.0
// Links over a pair of sockets in one thread: every order of partial writes and reads, and every
// end that a link can come to.
#include "comm/link.hpp"

#include <cerrno>
#include <numeric>

#include <unistd.h>

#include "comm/link_testing.hpp"

namespace forebay::comm {
namespace {

constexpr std::uint32_t kLinkPayloadMax = std::uint32_t{16} << 20U;

struct RawPair {
  Descriptor left;
  Descriptor right;
};

RawPair make_pair_of_sockets() {
  int ends[2] = {-1, -1};
  EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0);
  return {Descriptor(ends[0]), Descriptor(ends[1])};
}

/// Two links that are connected; the kernel holds little, so nothing long goes in one piece.
class LinkTest : public testing::Test {
 protected:
  LinkTest() {
    RawPair pair = make_pair_of_sockets();
    const int little = 4096;
    ::setsockopt(pair.left.get(), SOL_SOCKET, SO_SNDBUF, &little, sizeof little);
    left_ = std::make_unique<Link>(Rank{7}, std::move(pair.left), LinkLimits{kLinkPayloadMax});
    right_ = std::make_unique<Link>(Rank{3}, std::move(pair.right), LinkLimits{kLinkPayloadMax});
  }

  bool drive_both(const std::function<bool()>& is_done) {
    return drive({{left_.get(), &at_left_}, {right_.get(), &at_right_}}, is_done);
  }
  bool drive_until_right_has(std::size_t count) {
    return drive_both([&] { return at_right_.messages.size() >= count; });
  }

  Inbox at_left_;
  Inbox at_right_;
  std::unique_ptr<Link> left_;
  std::unique_ptr<Link> right_;
};

TEST_F(LinkTest, header_and_payload_arrive_as_they_were_sent) {
  const Bytes payload = pattern(11, 1000);
  ASSERT_TRUE(left_->send({.kind = 5, .words = {1, 2, 3, UINT64_MAX}}, payload));
  ASSERT_TRUE(drive_until_right_has(1));
  const Inbox::Message& message = at_right_.messages.front();
  EXPECT_EQ(message.from, Rank{3});
  EXPECT_EQ(message.header.kind, 5U);
  EXPECT_EQ(message.header.payload_bytes, 1000U);
  EXPECT_EQ(message.header.words[0], 1U);
  EXPECT_EQ(message.header.words[3], UINT64_MAX);
  EXPECT_EQ(message.payload, payload);
}

TEST_F(LinkTest, messages_of_all_lengths_keep_their_order) {
  constexpr std::uint64_t kCount = 3000;
  const Bytes all = pattern(0, 200'000);
  std::uint64_t told = 0;
  for (std::uint64_t i = 0; i < kCount; ++i) {
    const std::size_t size = i % 3 == 0 ? 0 : i * i % 5000;
    const Status sent =
        left_->send({.words = {i}}, std::span(all).subspan(i, size), [&](const Status& outcome) {
          EXPECT_TRUE(outcome);
          ++told;
        });
    ASSERT_TRUE(sent);
  }
  ASSERT_TRUE(drive_until_right_has(kCount));
  EXPECT_EQ(told, kCount);
  EXPECT_EQ(left_->queued_bytes(), 0U);
  for (std::uint64_t i = 0; i < kCount; ++i) {
    const Inbox::Message& message = at_right_.messages[i];
    ASSERT_EQ(message.header.words[0], i);
    ASSERT_EQ(message.payload, pattern(i, message.header.payload_bytes)) << "message " << i;
  }
}

TEST_F(LinkTest, long_payload_is_free_again_only_when_the_kernel_has_it) {
  const Bytes payload = pattern(0, kLinkPayloadMax);
  bool is_free = false;
  ASSERT_TRUE(left_->send({}, payload, [&](const Status&) { is_free = true; }));
  EXPECT_FALSE(is_free);
  EXPECT_GT(left_->queued_bytes(), kLinkPayloadMax / 2);
  EXPECT_EQ(left_->interest(), POLLIN | POLLOUT);
  ASSERT_TRUE(drive_until_right_has(1));
  EXPECT_TRUE(is_free);
  EXPECT_EQ(left_->interest(), POLLIN);
  EXPECT_EQ(at_right_.messages.front().payload, payload);
}

TEST_F(LinkTest, both_directions_at_once) {
  const Bytes payload = pattern(0, 1'000'000);
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(left_->send({}, payload));
    ASSERT_TRUE(right_->send({}, payload));
  }
  ASSERT_TRUE(
      drive_both([&] { return at_left_.messages.size() == 5 && at_right_.messages.size() == 5; }));
  EXPECT_EQ(at_left_.messages.back().payload, payload);
  EXPECT_EQ(at_right_.messages.back().payload, payload);
}

TEST_F(LinkTest, what_is_told_may_send_the_next_and_so_may_who_receives) {
  std::uint64_t sent = 0;
  Link::OnSent next = [&](const Status&) {
    if (++sent < 100) std::ignore = left_->send({.words = {sent}}, {}, next);
  };
  at_right_.on_message = [](Link& link, const Inbox::Message& message) {
    std::ignore = link.send(message.header, {});
  };
  ASSERT_TRUE(left_->send({}, {}, next));
  ASSERT_TRUE(drive_both([&] { return at_left_.messages.size() == 100; }));
  for (std::uint64_t i = 0; i < 100; ++i)
    EXPECT_EQ(at_left_.messages[i].header.words[0], i);
}

TEST_F(LinkTest, payload_that_nobody_wants_is_dropped_and_the_next_is_whole) {
  const Bytes payload = pattern(3, 500'000);
  at_right_.drop_kind = 9;
  ASSERT_TRUE(left_->send({.kind = 9}, payload));
  ASSERT_TRUE(left_->send({.kind = 1}, payload));
  ASSERT_TRUE(drive_until_right_has(2));
  EXPECT_TRUE(at_right_.messages[0].payload.empty());
  EXPECT_EQ(at_right_.messages[0].header.kind, 9U);
  EXPECT_EQ(at_right_.messages[1].payload, payload);
}

TEST_F(LinkTest, one_turn_has_an_end) {
  const std::size_t half = kLinkPayloadMax / 2;
  const Bytes payload = pattern(0, kLinkPayloadMax);
  RawPair pair = make_pair_of_sockets();
  const int much = static_cast<int>(kLinkPayloadMax);
  ::setsockopt(pair.left.get(), SOL_SOCKET, SO_SNDBUFFORCE, &much, sizeof much);
  Link sender(Rank{0}, std::move(pair.left), {kLinkPayloadMax});
  Link receiver(Rank{1}, std::move(pair.right), {kLinkPayloadMax});
  for (std::size_t i = 0; i < 64; ++i)
    ASSERT_TRUE(sender.send({}, std::span(payload).subspan(i, half / 64)));
  Inbox inbox;
  ASSERT_TRUE(receiver.attend(POLLIN, inbox));
  EXPECT_LT(inbox.messages.size(), 64U);
  ASSERT_TRUE(
      drive({{&sender, &inbox}, {&receiver, &inbox}}, [&] { return inbox.messages.size() == 64; }));
}

TEST_F(LinkTest, too_long_a_payload_is_refused_and_the_link_goes_on) {
  const Bytes payload(kLinkPayloadMax + 1);
  Status told;
  const Status sent = left_->send({}, payload, [&](const Status& outcome) { told = outcome; });
  EXPECT_EQ(error_class(sent), ErrorClass::kLimit);
  EXPECT_EQ(error_class(told), ErrorClass::kLimit);
  ASSERT_TRUE(left_->send({.kind = 4}, {}));
  ASSERT_TRUE(drive_until_right_has(1));
}

TEST_F(LinkTest, end_of_the_peer_is_told_with_its_rank_once_all_is_read) {
  ASSERT_TRUE(left_->send({.kind = 4}, {}));
  left_.reset();
  ASSERT_TRUE(drive({{right_.get(), &at_right_}}, [&] { return right_->end().has_value(); }));
  EXPECT_EQ(at_right_.messages.size(), 1U);
  EXPECT_EQ(right_->end()->kind(), ErrorClass::kClosed);
  EXPECT_EQ(right_->end()->rank(), 3U);
  EXPECT_EQ(error_class(right_->attend(POLLIN, at_right_)), ErrorClass::kClosed);
  EXPECT_EQ(error_class(right_->send({}, {})), ErrorClass::kClosed);
}

TEST_F(LinkTest, what_the_peer_said_last_is_read_though_sending_to_it_fails) {
  ASSERT_TRUE(left_->send({.kind = 4}, {}));
  left_.reset();
  const Bytes payload = pattern(0, 100);
  int told = 0;
  ASSERT_TRUE(right_->send({}, payload, [&](const Status& outcome) {
    EXPECT_EQ(error_class(outcome), ErrorClass::kClosed);
    ++told;
  }));
  EXPECT_EQ(right_->interest(), POLLIN);
  EXPECT_EQ(told, 0);
  ASSERT_TRUE(right_->send({}, {}, [&](const Status& /*outcome*/) { ++told; }));
  ASSERT_TRUE(drive({{right_.get(), &at_right_}}, [&] { return right_->end().has_value(); }));
  ASSERT_EQ(at_right_.messages.size(), 1U);
  EXPECT_EQ(at_right_.messages.front().header.kind, 4U);
  EXPECT_EQ(told, 2);
  EXPECT_EQ(right_->end()->error_number(), EPIPE);
  EXPECT_EQ(right_->queued_bytes(), 0U);
}

TEST_F(LinkTest, end_in_the_middle_of_a_payload_says_so) {
  const Bytes payload = pattern(0, kLinkPayloadMax);
  ASSERT_TRUE(left_->send({}, payload));
  ASSERT_TRUE(drive({{right_.get(), &at_right_}}, [&] { return at_right_.placed == 1; }));
  left_.reset();
  ASSERT_TRUE(drive({{right_.get(), &at_right_}}, [&] { return right_->end().has_value(); }));
  EXPECT_TRUE(at_right_.messages.empty());
  EXPECT_NE(right_->end()->cause().find("middle"), std::string::npos);
}

TEST_F(LinkTest, end_of_the_peer_frees_what_was_queued) {
  const Bytes payload = pattern(0, kLinkPayloadMax);
  std::vector<std::optional<ErrorClass>> told;
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(left_->send({}, payload,
                            [&](const Status& outcome) { told.push_back(error_class(outcome)); }));
  }
  right_.reset();
  ASSERT_TRUE(drive({{left_.get(), &at_left_}}, [&] { return left_->end().has_value(); }));
  EXPECT_EQ(told, std::vector<std::optional<ErrorClass>>(3, ErrorClass::kClosed));
  EXPECT_EQ(left_->queued_bytes(), 0U);
  EXPECT_EQ(left_->end()->rank(), 7U);
}

TEST_F(LinkTest, refusal_of_the_receiver_ends_the_link) {
  at_right_.refuse_kind = 8;
  const Bytes payload = pattern(0, 10);
  ASSERT_TRUE(left_->send({.kind = 8}, payload));
  ASSERT_TRUE(drive({{right_.get(), &at_right_}}, [&] { return right_->end().has_value(); }));
  EXPECT_EQ(right_->end()->operation(), "find a place");
  EXPECT_EQ(right_->end()->rank(), 3U);
}

/// One end is a link, the other a socket that a test writes bytes to.
class RawPeer : public testing::Test {
 protected:
  RawPeer() {
    RawPair pair = make_pair_of_sockets();
    raw_ = std::move(pair.left);
    link_ = std::make_unique<Link>(Rank{2}, std::move(pair.right), LinkLimits{kLinkPayloadMax});
  }
  void write(std::span<const std::byte> bytes) const {
    ASSERT_EQ(::write(raw_.get(), bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  }

  Descriptor raw_;
  std::unique_ptr<Link> link_;
  Inbox inbox_;
};

TEST_F(RawPeer, bytes_that_come_one_by_one_become_messages) {
  const Bytes payload = pattern(5, 33);
  LinkHeader header{.payload_bytes = 33, .kind = 6};
  for (std::uint64_t i = 0; i < 3; ++i) {
    header.words[0] = i;
    Bytes all(sizeof header);
    std::memcpy(all.data(), &header, sizeof header);
    all.insert(all.end(), payload.begin(), payload.end());
    for (const std::byte one : all) {
      write({&one, 1});
      ASSERT_TRUE(link_->attend(POLLIN, inbox_));
    }
    ASSERT_EQ(inbox_.messages.size(), i + 1);
    EXPECT_EQ(inbox_.messages.back().header.words[0], i);
    EXPECT_EQ(inbox_.messages.back().payload, payload);
  }
}

TEST_F(RawPeer, damaged_length_is_an_error_and_no_allocation) {
  const LinkHeader header{.payload_bytes = kLinkPayloadMax + 1};
  write(std::as_bytes(std::span(&header, 1)));
  EXPECT_EQ(error_class(link_->attend(POLLIN, inbox_)), ErrorClass::kDamage);
  EXPECT_EQ(inbox_.placed, 0U);
  EXPECT_EQ(link_->end()->rank(), 2U);
}

TEST_F(RawPeer, end_in_the_middle_of_a_header_says_so) {
  const LinkHeader header{};
  write(std::as_bytes(std::span(&header, 1)).first(7));
  raw_ = Descriptor();
  ASSERT_TRUE(drive({{link_.get(), &inbox_}}, [&] { return link_->end().has_value(); }));
  EXPECT_NE(link_->end()->cause().find("middle"), std::string::npos);
}

}  // namespace
}  // namespace forebay::comm
