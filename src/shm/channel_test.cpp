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
std::string text_of(const ChannelMessage& message) {
  return {reinterpret_cast<const char*>(message.bytes.data()), message.bytes.size()};
}

class ChannelTest : public ::testing::Test {
 protected:
  ErrorClass failure_of_receive() {
    auto message = second_.receive(test_deadline());
    EXPECT_FALSE(message);
    return message ? ErrorClass::kIo : message.error().kind();
  }
  /// Sends a message that no Channel sends.
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
    ASSERT_EQ(::sendmsg(first_.descriptor().get(), &header, MSG_NOSIGNAL),
              static_cast<ssize_t>(size_bytes));
  }

  std::pair<Channel, Channel> ends_ = *Channel::pair();
  Channel& first_ = ends_.first;
  Channel& second_ = ends_.second;
};

TEST_F(ChannelTest, messages_keep_their_limits_and_order) {
  ASSERT_TRUE(first_.send(bytes_of("one")));
  ASSERT_TRUE(first_.send(bytes_of("two!")));
  auto first = second_.receive(test_deadline());
  auto second = second_.receive(kDoNotBlock);
  ASSERT_TRUE(first && *first && second && *second);
  EXPECT_EQ(text_of(**first), "one");
  EXPECT_EQ(text_of(**second), "two!");
  auto none = second_.receive(kDoNotBlock);
  ASSERT_TRUE(none);
  EXPECT_FALSE(none->has_value());
}

TEST_F(ChannelTest, receive_without_message_returns_nothing_at_the_deadline) {
  auto none = second_.receive(short_deadline());
  ASSERT_TRUE(none);
  EXPECT_FALSE(none->has_value());
}

TEST_F(ChannelTest, largest_message_with_most_descriptors_arrives) {
  std::vector<std::byte> bytes(kMessageBytesMax, std::byte{3});
  bytes.back() = std::byte{4};
  auto bell = Doorbell::create();
  ASSERT_TRUE(bell);
  const std::vector<int> descriptors(kMessageDescriptorsMax, bell->descriptor().get());
  ASSERT_TRUE(first_.send(bytes, descriptors, test_deadline()));
  auto message = second_.receive(test_deadline());
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
  for (const Status& sent :
       {first_.send({}), first_.send(large), first_.send(bytes_of("x"), many)}) {
    ASSERT_FALSE(sent);
    EXPECT_EQ(sent.error().kind(), ErrorClass::kInvalidArgument);
  }
  const std::array<int, 1> bad{-1};
  EXPECT_FALSE(first_.send(bytes_of("x"), bad));
  EXPECT_FALSE(second_.receive(kDoNotBlock)->has_value());
}

TEST_F(ChannelTest, messages_sent_before_closing_are_received_first) {
  ASSERT_TRUE(first_.send(bytes_of("last message")));
  first_ = Channel();
  auto message = second_.receive(test_deadline());
  ASSERT_TRUE(message && *message);
  EXPECT_EQ(text_of(**message), "last message");
  EXPECT_EQ(failure_of_receive(), ErrorClass::kClosed);
  EXPECT_EQ(failure_of_receive(), ErrorClass::kClosed);
}

TEST_F(ChannelTest, send_to_a_closed_end_is_closed_without_a_signal) {
  second_ = Channel();
  auto sent = first_.send(bytes_of("x"), {}, test_deadline());
  ASSERT_FALSE(sent);
  EXPECT_EQ(sent.error().kind(), ErrorClass::kClosed);
}

// The kernel resets the connection. The last message was once lost, although it named the cause.
TEST_F(ChannelTest, last_message_arrives_from_an_end_that_closes_with_unread_ones) {
  ASSERT_TRUE(second_.send(bytes_of("never read")));
  ASSERT_TRUE(first_.send(bytes_of("last message")));
  first_ = Channel();
  const auto message = second_.receive(test_deadline());
  ASSERT_TRUE(message) << message.error().message();
  ASSERT_TRUE(*message);
  EXPECT_EQ(text_of(**message), "last message");
  EXPECT_EQ(failure_of_receive(), ErrorClass::kClosed);
}

TEST_F(ChannelTest, full_channel_is_a_limit_and_sends_again_later) {
  const std::vector<std::byte> bytes(kMessageBytesMax);
  int sent = 0;
  Status status;
  while ((status = first_.send(bytes)))
    ASSERT_LT(++sent, 10'000);
  EXPECT_EQ(status.error().kind(), ErrorClass::kLimit) << status.error().message();
  EXPECT_FALSE(first_.send(bytes, {}, short_deadline()));
  for (int received = 0; received < sent; ++received)
    ASSERT_TRUE(second_.receive(kDoNotBlock)->has_value());
  EXPECT_TRUE(first_.send(bytes, {}, test_deadline()));
}

TEST_F(ChannelTest, too_long_message_is_damage_and_the_next_one_arrives) {
  const std::size_t before = open_descriptor_count();
  send_raw(kMessageBytesMax + 1, 2);
  ASSERT_TRUE(first_.send(bytes_of("next")));
  EXPECT_EQ(failure_of_receive(), ErrorClass::kDamage);
  EXPECT_EQ(open_descriptor_count(), before);
  EXPECT_EQ(text_of(**second_.receive(test_deadline())), "next");
}

TEST_F(ChannelTest, too_many_descriptors_are_an_error_without_a_leak) {
  const std::size_t before = open_descriptor_count();
  send_raw(10, kMessageDescriptorsMax + 1);
  EXPECT_EQ(failure_of_receive(), ErrorClass::kLimit);
  EXPECT_EQ(open_descriptor_count(), before);
}

TEST_F(ChannelTest, descriptors_without_a_message_are_closed) {
  const std::size_t before = open_descriptor_count();
  send_raw(0, 3);
  EXPECT_EQ(failure_of_receive(), ErrorClass::kClosed);
  EXPECT_EQ(open_descriptor_count(), before);
}

TEST_F(ChannelTest, more_descriptors_than_the_process_can_open_are_an_error) {
  const std::size_t before = open_descriptor_count();
  send_raw(10, 4);
  rlimit limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &limit), 0);
  rlimit lowered = limit;
  {
    const auto next = first_.descriptor().duplicate();  // the lowest free number
    ASSERT_TRUE(next);
    lowered.rlim_cur = static_cast<rlim_t>(next->get()) + 2;
  }
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &lowered), 0);
  auto message = second_.receive(test_deadline());
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &limit), 0);
  ASSERT_FALSE(message);
  EXPECT_EQ(message.error().kind(), ErrorClass::kLimit) << message.error().message();
  EXPECT_EQ(open_descriptor_count(), before);
}

TEST(ChannelListener, accepts_a_connection) {
  auto listener = ChannelListener::open();
  ASSERT_TRUE(listener) << listener.error().message();
  auto none = listener->accept();
  ASSERT_TRUE(none);
  EXPECT_FALSE(none->has_value());
  EXPECT_FALSE(is_readable(listener->descriptor().get()));
  auto client = Channel::connect(listener->name(), test_deadline());
  ASSERT_TRUE(client) << client.error().message();
  EXPECT_TRUE(is_readable(listener->descriptor().get()));
  ASSERT_TRUE(client->send(bytes_of("hello")));
  auto agent = listener->accept();
  ASSERT_TRUE(agent && *agent);
  EXPECT_EQ((*agent)->peer().pid, ::getpid());
  EXPECT_EQ(client->peer().pid, ::getpid());
  EXPECT_EQ(text_of(**(*agent)->receive(test_deadline())), "hello");
}

TEST(ChannelListener, names_differ_and_end_with_the_listener) {
  auto first = ChannelListener::open();
  auto second = ChannelListener::open();
  ASSERT_TRUE(first && second);
  EXPECT_NE(first->name(), second->name());
  EXPECT_EQ(first->name().size(), std::string_view("forebay-").size() + 32);
  const std::string name = first->name();
  *first = ChannelListener();
  auto late = Channel::connect(name, test_deadline());
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().kind(), ErrorClass::kNotFound) << late.error().message();
  EXPECT_NE(late.error().message().find(name), std::string::npos);
}

TEST(ChannelListener, invalid_names_are_refused) {
  for (const std::string& name : {std::string(), std::string(200, 'x')}) {
    auto channel = Channel::connect(name, kDoNotBlock);
    ASSERT_FALSE(channel);
    EXPECT_EQ(channel.error().kind(), ErrorClass::kInvalidArgument);
  }
}

TEST(ChannelListener, full_queue_is_a_limit_at_the_deadline) {
  const std::string name = "forebay-crowd-" + std::to_string(::getpid());
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  const Descriptor socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  ASSERT_EQ(::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), size), 0);
  ASSERT_EQ(::listen(socket.get(), 0), 0);
  std::vector<Channel> pending;
  auto channel = Channel::connect(name, short_deadline());
  for (; channel && pending.size() < 10; channel = Channel::connect(name, short_deadline()))
    pending.push_back(std::move(*channel));
  ASSERT_FALSE(channel);
  EXPECT_EQ(channel.error().kind(), ErrorClass::kLimit) << channel.error().message();
  EXPECT_GE(pending.size(), 1U);
}

TEST(PeerCredentials, other_users_are_refused) {
  EXPECT_TRUE(check_peer({.pid = 5, .uid = 1000}, 1000));
  EXPECT_TRUE(check_peer({.pid = 5, .uid = 0}, 0));
  for (const uid_t other : {uid_t{0}, uid_t{1001}, uid_t{65534}}) {
    auto refused = check_peer({.pid = 5, .uid = other}, 1000);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind(), ErrorClass::kPermission);
    EXPECT_NE(refused.error().message().find(std::to_string(other)), std::string::npos);
  }
}

TEST(PeerCredentials, process_of_another_user_is_refused_by_both_sides) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root to become another user";
  auto listener = ChannelListener::open();
  ASSERT_TRUE(listener);
  ChildProcess other_user([&] {
    constexpr uid_t kUnprivilegedUser = 65534;
    if (::setresuid(kUnprivilegedUser, kUnprivilegedUser, kUnprivilegedUser) != 0) return 2;
    auto channel = Channel::connect(listener->name(), test_deadline());
    return !channel && channel.error().kind() == ErrorClass::kPermission ? 0 : 1;
  });
  EXPECT_EQ(other_user.exit_code(), 0);
  auto same_user = Channel::connect(listener->name(), test_deadline());
  ASSERT_TRUE(same_user);
  const std::size_t before = open_descriptor_count();
  auto refused = listener->accept();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind(), ErrorClass::kPermission);
  EXPECT_NE(refused.error().message().find("65534"), std::string::npos);
  EXPECT_EQ(open_descriptor_count(), before);
  auto accepted = listener->accept();
  ASSERT_TRUE(accepted);
  EXPECT_TRUE(accepted->has_value());
}

}  // namespace
}  // namespace forebay::shm
