// SPDX-License-Identifier: Apache-2.0
#include "shm/channel.hpp"

#include <array>
#include <cstring>
#include <fstream>
#include <string_view>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/testing.hpp"
#include "shm/doorbell.hpp"
#include "shm/testing.hpp"

namespace forebay::shm {
namespace {

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}
std::string text_of(const Message& message) {
  return {reinterpret_cast<const char*>(message.bytes.data()), message.bytes.size()};
}

class ChannelTest : public ::testing::Test {
 protected:
  ErrorClass failure_of_receive() {
    auto message = there_.receive(in_a_minute());
    EXPECT_FALSE(message);
    return message ? ErrorClass::kIo : message.error().kind();
  }
  /// What no Channel would send.
  void send_raw(std::size_t size_bytes, std::size_t descriptors) {
    std::vector<std::byte> bytes(size_bytes);
    iovec piece{.iov_base = bytes.data(), .iov_len = bytes.size()};
    std::vector<std::byte> control(CMSG_SPACE(descriptors * sizeof(int)));
    msghdr header{};
    header.msg_iov = &piece;
    header.msg_iovlen = 1;
    if (descriptors > 0) {
      header.msg_control = control.data();
      header.msg_controllen = control.size();
      cmsghdr* const entry = CMSG_FIRSTHDR(&header);
      entry->cmsg_level = SOL_SOCKET;
      entry->cmsg_type = SCM_RIGHTS;
      entry->cmsg_len = CMSG_LEN(descriptors * sizeof(int));
      const std::vector<int> numbers(descriptors, 0);
      std::memcpy(CMSG_DATA(entry), numbers.data(), descriptors * sizeof(int));
    }
    ASSERT_EQ(::sendmsg(here_.descriptor().get(), &header, MSG_NOSIGNAL),
              static_cast<ssize_t>(size_bytes));
  }

  std::pair<Channel, Channel> ends_ = *Channel::pair();
  Channel& here_ = ends_.first;
  Channel& there_ = ends_.second;
};

TEST_F(ChannelTest, messages_keep_their_limits_and_order) {
  ASSERT_TRUE(here_.send(bytes_of("one")));
  ASSERT_TRUE(here_.send(bytes_of("two!")));
  auto first = there_.receive(in_a_minute());
  auto second = there_.receive(kDoNotBlock);
  ASSERT_TRUE(first && *first && second && *second);
  EXPECT_EQ(text_of(**first), "one");
  EXPECT_EQ(text_of(**second), "two!");
  auto none = there_.receive(kDoNotBlock);
  ASSERT_TRUE(none);
  EXPECT_FALSE(none->has_value());
}

TEST_F(ChannelTest, nothing_until_the_deadline_is_no_error) {
  auto none = there_.receive(in_a_moment());
  ASSERT_TRUE(none);
  EXPECT_FALSE(none->has_value());
}

TEST_F(ChannelTest, largest_message_with_most_descriptors_arrives) {
  std::vector<std::byte> bytes(kMessageBytesMax, std::byte{3});
  bytes.back() = std::byte{4};
  auto bell = Doorbell::create();
  ASSERT_TRUE(bell);
  const std::vector<int> descriptors(kMessageDescriptorsMax, bell->descriptor().get());
  ASSERT_TRUE(here_.send(bytes, descriptors, in_a_minute()));
  auto message = there_.receive(in_a_minute());
  ASSERT_TRUE(message && *message);
  EXPECT_EQ((*message)->bytes, bytes);
  ASSERT_EQ((*message)->descriptors.size(), kMessageDescriptorsMax);
  bell->ring();
  for (Descriptor& descriptor : (*message)->descriptors) {
    EXPECT_EQ(::fcntl(descriptor.get(), F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
    EXPECT_TRUE(Doorbell::from(std::move(descriptor))->wait(kDoNotBlock));
  }
}

TEST_F(ChannelTest, impossible_messages_are_refused_before_sending) {
  const std::vector<std::byte> large(kMessageBytesMax + 1);
  const std::vector<int> many(kMessageDescriptorsMax + 1, 0);
  for (const Status& sent : {here_.send({}), here_.send(large), here_.send(bytes_of("x"), many)}) {
    ASSERT_FALSE(sent);
    EXPECT_EQ(sent.error().kind(), ErrorClass::kInvalidArgument);
  }
  const std::array<int, 1> bad{-1};
  EXPECT_FALSE(here_.send(bytes_of("x"), bad));
  EXPECT_FALSE(there_.receive(kDoNotBlock)->has_value());
}

TEST_F(ChannelTest, what_was_sent_before_closing_is_received_first) {
  ASSERT_TRUE(here_.send(bytes_of("last words")));
  here_ = Channel();
  auto message = there_.receive(in_a_minute());
  ASSERT_TRUE(message && *message);
  EXPECT_EQ(text_of(**message), "last words");
  EXPECT_EQ(failure_of_receive(), ErrorClass::kClosed);
  EXPECT_EQ(failure_of_receive(), ErrorClass::kClosed);
}

TEST_F(ChannelTest, sending_to_nobody_is_closed_and_raises_no_signal) {
  there_ = Channel();
  auto sent = here_.send(bytes_of("x"), {}, in_a_minute());
  ASSERT_FALSE(sent);
  EXPECT_EQ(sent.error().kind(), ErrorClass::kClosed);
}

TEST_F(ChannelTest, unread_messages_of_a_closed_end_end_the_other) {
  ASSERT_TRUE(there_.send(bytes_of("never read")));
  ASSERT_TRUE(here_.send(bytes_of("unread")));
  here_ = Channel();  // with something unread: the kernel resets the connection
  ErrorClass kind = ErrorClass::kIo;
  for (int attempt = 0; attempt < 3 && kind != ErrorClass::kClosed; ++attempt) {
    auto message = there_.receive(in_a_minute());
    if (!message) kind = message.error().kind();
  }
  EXPECT_EQ(kind, ErrorClass::kClosed);
}

TEST_F(ChannelTest, full_channel_is_a_limit_and_takes_more_later) {
  const std::vector<std::byte> bytes(kMessageBytesMax);
  int sent = 0;
  Status status;
  while ((status = here_.send(bytes)))
    ASSERT_LT(++sent, 10'000);
  EXPECT_EQ(status.error().kind(), ErrorClass::kLimit) << status.error().message();
  EXPECT_FALSE(here_.send(bytes, {}, in_a_moment()));
  for (int received = 0; received < sent; ++received)
    ASSERT_TRUE(there_.receive(kDoNotBlock)->has_value());
  EXPECT_TRUE(here_.send(bytes, {}, in_a_minute()));
}

TEST_F(ChannelTest, too_long_message_is_damage_and_the_next_one_arrives) {
  const std::size_t before = open_descriptors();
  send_raw(kMessageBytesMax + 1, 2);
  ASSERT_TRUE(here_.send(bytes_of("next")));
  EXPECT_EQ(failure_of_receive(), ErrorClass::kDamage);
  EXPECT_EQ(open_descriptors(), before);
  EXPECT_EQ(text_of(**there_.receive(in_a_minute())), "next");
}

TEST_F(ChannelTest, too_many_descriptors_are_an_error_and_none_is_lost) {
  const std::size_t before = open_descriptors();
  send_raw(10, kMessageDescriptorsMax + 1);
  EXPECT_EQ(failure_of_receive(), ErrorClass::kLimit);
  EXPECT_EQ(open_descriptors(), before);
}

TEST_F(ChannelTest, descriptors_without_a_message_are_closed) {
  const std::size_t before = open_descriptors();
  send_raw(0, 3);
  EXPECT_EQ(failure_of_receive(), ErrorClass::kClosed);
  EXPECT_EQ(open_descriptors(), before);
}

TEST_F(ChannelTest, descriptors_that_this_process_has_no_room_for_are_an_error) {
  const std::size_t before = open_descriptors();
  send_raw(10, 4);
  rlimit limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &limit), 0);
  rlimit lowered = limit;
  {
    const auto next = here_.descriptor().duplicate();  // the lowest number that is free
    ASSERT_TRUE(next);
    lowered.rlim_cur = static_cast<rlim_t>(next->get()) + 2;
  }
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &lowered), 0);
  auto message = there_.receive(in_a_minute());
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &limit), 0);
  ASSERT_FALSE(message);
  EXPECT_EQ(message.error().kind(), ErrorClass::kLimit) << message.error().message();
  EXPECT_EQ(open_descriptors(), before);
}

TEST(Listener, accepts_who_connects) {
  auto listener = Listener::open();
  ASSERT_TRUE(listener) << listener.error().message();
  auto nobody = listener->accept();
  ASSERT_TRUE(nobody);
  EXPECT_FALSE(nobody->has_value());
  EXPECT_FALSE(is_readable(listener->descriptor().get()));
  auto client = Channel::connect(listener->name(), in_a_minute());
  ASSERT_TRUE(client) << client.error().message();
  EXPECT_TRUE(is_readable(listener->descriptor().get()));
  ASSERT_TRUE(client->send(bytes_of("hello")));
  auto agent = listener->accept();
  ASSERT_TRUE(agent && *agent);
  EXPECT_EQ((*agent)->peer().pid, ::getpid());
  EXPECT_EQ(client->peer().pid, ::getpid());
  EXPECT_EQ(text_of(**(*agent)->receive(in_a_minute())), "hello");
}

TEST(Listener, names_differ_and_are_gone_with_it) {
  auto first = Listener::open();
  auto second = Listener::open();
  ASSERT_TRUE(first && second);
  EXPECT_NE(first->name(), second->name());
  EXPECT_EQ(first->name().size(), std::string_view("forebay-").size() + 32);
  const std::string name = first->name();
  *first = Listener();
  auto late = Channel::connect(name, in_a_minute());
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().kind(), ErrorClass::kNotFound) << late.error().message();
  EXPECT_NE(late.error().message().find(name), std::string::npos);
}

TEST(Listener, impossible_names_are_refused) {
  for (const std::string& name : {std::string(), std::string(200, 'x')}) {
    auto channel = Channel::connect(name, kDoNotBlock);
    ASSERT_FALSE(channel);
    EXPECT_EQ(channel.error().kind(), ErrorClass::kInvalidArgument);
  }
}

TEST(Listener, crowd_before_us_is_a_limit_at_the_deadline) {
  const std::string name = "forebay-crowd-" + std::to_string(::getpid());
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  const Descriptor socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  ASSERT_EQ(::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), size), 0);
  ASSERT_EQ(::listen(socket.get(), 0), 0);
  std::vector<Channel> crowd;
  auto channel = Channel::connect(name, in_a_moment());
  for (; channel && crowd.size() < 10; channel = Channel::connect(name, in_a_moment()))
    crowd.push_back(std::move(*channel));
  ASSERT_FALSE(channel);
  EXPECT_EQ(channel.error().kind(), ErrorClass::kLimit) << channel.error().message();
  EXPECT_GE(crowd.size(), 1U);
}

TEST(Peer, only_the_same_user_may_talk_to_us) {
  EXPECT_TRUE(check_peer({.pid = 5, .uid = 1000}, 1000));
  EXPECT_TRUE(check_peer({.pid = 5, .uid = 0}, 0));
  for (const uid_t other : {uid_t{0}, uid_t{1001}, uid_t{65534}}) {
    auto refused = check_peer({.pid = 5, .uid = other}, 1000);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind(), ErrorClass::kPermission);
    EXPECT_NE(refused.error().message().find(std::to_string(other)), std::string::npos);
  }
}

TEST(Peer, process_of_another_user_is_refused_by_both_sides) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root to become another user";
  auto listener = Listener::open();
  ASSERT_TRUE(listener);
  Child stranger([&] {
    constexpr uid_t kNobody = 65534;
    if (::setresuid(kNobody, kNobody, kNobody) != 0) return 2;
    auto channel = Channel::connect(listener->name(), in_a_minute());
    return !channel && channel.error().kind() == ErrorClass::kPermission ? 0 : 1;
  });
  EXPECT_EQ(stranger.result(), 0);
  auto friendly = Channel::connect(listener->name(), in_a_minute());
  ASSERT_TRUE(friendly);
  const std::size_t before = open_descriptors();
  auto refused = listener->accept();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind(), ErrorClass::kPermission);
  EXPECT_NE(refused.error().message().find("65534"), std::string::npos);
  EXPECT_EQ(open_descriptors(), before);
  auto accepted = listener->accept();
  ASSERT_TRUE(accepted);
  EXPECT_TRUE(accepted->has_value());
}

}  // namespace
}  // namespace forebay::shm
