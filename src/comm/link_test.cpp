// SPDX-License-Identifier: Apache-2.0
// Links over a pair of sockets in one thread: all sequences of partial writes and reads, and all
// ways in which a link can end.
#include "comm/link.hpp"

#include <cerrno>
#include <numeric>

#include <unistd.h>

#include "comm/link_testing.hpp"

namespace forebay::comm {
namespace {

constexpr std::uint32_t kLinkPayloadMax = std::uint32_t{16} << 20U;

struct SocketPair {
  Descriptor left;
  Descriptor right;
};

SocketPair make_socket_pair() {
  int ends[2] = {-1, -1};
  EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0);
  return {Descriptor(ends[0]), Descriptor(ends[1])};
}

/// Two connected links; the kernel's buffers are small, so nothing long is sent in one piece.
class LinkTest : public testing::Test {
 protected:
  LinkTest() {
    SocketPair pair = make_socket_pair();
    const int little = 4096;
    ::setsockopt(pair.left.get(), SOL_SOCKET, SO_SNDBUF, &little, sizeof little);
    left_ = std::make_unique<Link>(Rank{7}, std::move(pair.left), LinkLimits{kLinkPayloadMax});
    right_ = std::make_unique<Link>(Rank{3}, std::move(pair.right), LinkLimits{kLinkPayloadMax});
  }

  bool run_both_until(const std::function<bool()>& is_done) {
    return run_until({{left_.get(), &at_left_}, {right_.get(), &at_right_}}, is_done);
  }
  bool run_until_right_has(std::size_t count) {
    return run_both_until([&] { return at_right_.messages.size() >= count; });
  }

  RecordingLinkHandler at_left_;
  RecordingLinkHandler at_right_;
  std::unique_ptr<Link> left_;
  std::unique_ptr<Link> right_;
};

TEST_F(LinkTest, header_and_payload_arrive_as_they_were_sent) {
  const Bytes payload = pattern(11, 1000);
  ASSERT_TRUE(left_->send({.kind = 5, .words = {1, 2, 3, UINT64_MAX}}, payload));
  ASSERT_TRUE(run_until_right_has(1));
  const RecordingLinkHandler::Message& message = at_right_.messages.front();
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
  std::uint64_t completed = 0;
  for (std::uint64_t i = 0; i < kCount; ++i) {
    const std::size_t size = i % 3 == 0 ? 0 : i * i % 5000;
    const Status sent =
        left_->send({.words = {i}}, std::span(all).subspan(i, size), [&](const Status& outcome) {
          EXPECT_TRUE(outcome);
          ++completed;
        });
    ASSERT_TRUE(sent);
  }
  ASSERT_TRUE(run_until_right_has(kCount));
  EXPECT_EQ(completed, kCount);
  EXPECT_EQ(left_->queued_bytes(), 0U);
  for (std::uint64_t i = 0; i < kCount; ++i) {
    const RecordingLinkHandler::Message& message = at_right_.messages[i];
    ASSERT_EQ(message.header.words[0], i);
    ASSERT_EQ(message.payload, pattern(i, message.header.payload_bytes)) << "message " << i;
  }
}

TEST_F(LinkTest, long_payload_is_released_once_the_kernel_has_it) {
  const Bytes payload = pattern(0, kLinkPayloadMax);
  bool is_free = false;
  ASSERT_TRUE(left_->send({}, payload, [&](const Status&) { is_free = true; }));
  EXPECT_FALSE(is_free);
  EXPECT_GT(left_->queued_bytes(), kLinkPayloadMax / 2);
  EXPECT_EQ(left_->interest(), POLLIN | POLLOUT);
  ASSERT_TRUE(run_until_right_has(1));
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
  ASSERT_TRUE(run_both_until(
      [&] { return at_left_.messages.size() == 5 && at_right_.messages.size() == 5; }));
  EXPECT_EQ(at_left_.messages.back().payload, payload);
  EXPECT_EQ(at_right_.messages.back().payload, payload);
}

TEST_F(LinkTest, on_sent_and_handler_may_send) {
  std::uint64_t sent = 0;
  Link::OnSent next = [&](const Status&) {
    if (++sent < 100) std::ignore = left_->send({.words = {sent}}, {}, next);
  };
  at_right_.on_message = [](Link& link, const RecordingLinkHandler::Message& message) {
    std::ignore = link.send(message.header, {});
  };
  ASSERT_TRUE(left_->send({}, {}, next));
  ASSERT_TRUE(run_both_until([&] { return at_left_.messages.size() == 100; }));
  for (std::uint64_t i = 0; i < 100; ++i)
    EXPECT_EQ(at_left_.messages[i].header.words[0], i);
}

TEST_F(LinkTest, dropped_payload_leaves_next_message_intact) {
  const Bytes payload = pattern(3, 500'000);
  at_right_.drop_kind = 9;
  ASSERT_TRUE(left_->send({.kind = 9}, payload));
  ASSERT_TRUE(left_->send({.kind = 1}, payload));
  ASSERT_TRUE(run_until_right_has(2));
  EXPECT_TRUE(at_right_.messages[0].payload.empty());
  EXPECT_EQ(at_right_.messages[0].header.kind, 9U);
  EXPECT_EQ(at_right_.messages[1].payload, payload);
}

TEST_F(LinkTest, process_events_returns_after_a_limit) {
  const std::size_t half = kLinkPayloadMax / 2;
  const Bytes payload = pattern(0, kLinkPayloadMax);
  SocketPair pair = make_socket_pair();
  const int much = static_cast<int>(kLinkPayloadMax);
  ::setsockopt(pair.left.get(), SOL_SOCKET, SO_SNDBUFFORCE, &much, sizeof much);
  Link sender(Rank{0}, std::move(pair.left), {kLinkPayloadMax});
  Link receiver(Rank{1}, std::move(pair.right), {kLinkPayloadMax});
  for (std::size_t i = 0; i < 64; ++i)
    ASSERT_TRUE(sender.send({}, std::span(payload).subspan(i, half / 64)));
  RecordingLinkHandler handler;
  ASSERT_TRUE(receiver.process_events(POLLIN, handler));
  EXPECT_LT(handler.messages.size(), 64U);
  ASSERT_TRUE(run_until({{&sender, &handler}, {&receiver, &handler}},
                        [&] { return handler.messages.size() == 64; }));
}

TEST_F(LinkTest, too_long_payload_is_refused_and_link_stays_open) {
  const Bytes payload(kLinkPayloadMax + 1);
  Status completed;
  const Status sent = left_->send({}, payload, [&](const Status& outcome) { completed = outcome; });
  EXPECT_EQ(error_class(sent), ErrorClass::kLimit);
  EXPECT_EQ(error_class(completed), ErrorClass::kLimit);
  ASSERT_TRUE(left_->send({.kind = 4}, {}));
  ASSERT_TRUE(run_until_right_has(1));
}

TEST_F(LinkTest, peer_end_is_reported_with_rank_after_last_message) {
  ASSERT_TRUE(left_->send({.kind = 4}, {}));
  left_.reset();
  ASSERT_TRUE(
      run_until({{right_.get(), &at_right_}}, [&] { return right_->close_reason().has_value(); }));
  EXPECT_EQ(at_right_.messages.size(), 1U);
  EXPECT_EQ(right_->close_reason()->kind(), ErrorClass::kClosed);
  EXPECT_EQ(right_->close_reason()->rank(), 3U);
  EXPECT_EQ(error_class(right_->process_events(POLLIN, at_right_)), ErrorClass::kClosed);
  EXPECT_EQ(error_class(right_->send({}, {})), ErrorClass::kClosed);
}

TEST_F(LinkTest, last_message_is_read_after_failed_send) {
  ASSERT_TRUE(left_->send({.kind = 4}, {}));
  left_.reset();
  const Bytes payload = pattern(0, 100);
  int completed = 0;
  ASSERT_TRUE(right_->send({}, payload, [&](const Status& outcome) {
    EXPECT_EQ(error_class(outcome), ErrorClass::kClosed);
    ++completed;
  }));
  EXPECT_EQ(right_->interest(), POLLIN);
  EXPECT_EQ(completed, 0);
  ASSERT_TRUE(right_->send({}, {}, [&](const Status& /*outcome*/) { ++completed; }));
  ASSERT_TRUE(
      run_until({{right_.get(), &at_right_}}, [&] { return right_->close_reason().has_value(); }));
  ASSERT_EQ(at_right_.messages.size(), 1U);
  EXPECT_EQ(at_right_.messages.front().header.kind, 4U);
  EXPECT_EQ(completed, 2);
  EXPECT_EQ(right_->close_reason()->error_number(), EPIPE);
  EXPECT_EQ(right_->queued_bytes(), 0U);
}

TEST_F(LinkTest, end_within_payload_is_reported) {
  const Bytes payload = pattern(0, kLinkPayloadMax);
  ASSERT_TRUE(left_->send({}, payload));
  ASSERT_TRUE(run_until({{right_.get(), &at_right_}}, [&] { return at_right_.buffer_count == 1; }));
  left_.reset();
  ASSERT_TRUE(
      run_until({{right_.get(), &at_right_}}, [&] { return right_->close_reason().has_value(); }));
  EXPECT_TRUE(at_right_.messages.empty());
  EXPECT_NE(right_->close_reason()->cause().find("middle"), std::string::npos);
}

TEST_F(LinkTest, peer_end_releases_queued_payloads) {
  const Bytes payload = pattern(0, kLinkPayloadMax);
  std::vector<std::optional<ErrorClass>> completed;
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(left_->send(
        {}, payload, [&](const Status& outcome) { completed.push_back(error_class(outcome)); }));
  }
  right_.reset();
  ASSERT_TRUE(
      run_until({{left_.get(), &at_left_}}, [&] { return left_->close_reason().has_value(); }));
  EXPECT_EQ(completed, std::vector<std::optional<ErrorClass>>(3, ErrorClass::kClosed));
  EXPECT_EQ(left_->queued_bytes(), 0U);
  EXPECT_EQ(left_->close_reason()->rank(), 7U);
}

TEST_F(LinkTest, handler_error_ends_the_link) {
  at_right_.refuse_kind = 8;
  const Bytes payload = pattern(0, 10);
  ASSERT_TRUE(left_->send({.kind = 8}, payload));
  ASSERT_TRUE(
      run_until({{right_.get(), &at_right_}}, [&] { return right_->close_reason().has_value(); }));
  EXPECT_EQ(right_->close_reason()->operation(), "allocate a buffer");
  EXPECT_EQ(right_->close_reason()->rank(), 3U);
}

/// One end is a link, the other a socket to which a test writes bytes.
class RawPeer : public testing::Test {
 protected:
  RawPeer() {
    SocketPair pair = make_socket_pair();
    raw_ = std::move(pair.left);
    link_ = std::make_unique<Link>(Rank{2}, std::move(pair.right), LinkLimits{kLinkPayloadMax});
  }
  void write(std::span<const std::byte> bytes) const {
    ASSERT_EQ(::write(raw_.get(), bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  }

  Descriptor raw_;
  std::unique_ptr<Link> link_;
  RecordingLinkHandler handler_;
};

TEST_F(RawPeer, messages_in_single_bytes_are_received) {
  const Bytes payload = pattern(5, 33);
  LinkHeader header{.payload_bytes = 33, .kind = 6};
  for (std::uint64_t i = 0; i < 3; ++i) {
    header.words[0] = i;
    Bytes all(sizeof header);
    std::memcpy(all.data(), &header, sizeof header);
    all.insert(all.end(), payload.begin(), payload.end());
    for (const std::byte one : all) {
      write({&one, 1});
      ASSERT_TRUE(link_->process_events(POLLIN, handler_));
    }
    ASSERT_EQ(handler_.messages.size(), i + 1);
    EXPECT_EQ(handler_.messages.back().header.words[0], i);
    EXPECT_EQ(handler_.messages.back().payload, payload);
  }
}

TEST_F(RawPeer, damaged_length_is_an_error_without_allocation) {
  const LinkHeader header{.payload_bytes = kLinkPayloadMax + 1};
  write(std::as_bytes(std::span(&header, 1)));
  EXPECT_EQ(error_class(link_->process_events(POLLIN, handler_)), ErrorClass::kDamage);
  EXPECT_EQ(handler_.buffer_count, 0U);
  EXPECT_EQ(link_->close_reason()->rank(), 2U);
}

TEST_F(RawPeer, end_within_header_is_reported) {
  const LinkHeader header{};
  write(std::as_bytes(std::span(&header, 1)).first(7));
  raw_ = Descriptor();
  ASSERT_TRUE(
      run_until({{link_.get(), &handler_}}, [&] { return link_->close_reason().has_value(); }));
  EXPECT_NE(link_->close_reason()->cause().find("middle"), std::string::npos);
}

}  // namespace
}  // namespace forebay::comm
