// SPDX-License-Identifier: Apache-2.0
#include "tools/run/launcher_socket.hpp"

#include <chrono>
#include <cstddef>
#include <cstring>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

namespace forebay::run {
namespace {

std::string job_name() {
  static int count = 0;
  return "forebay-launcher-test-" + std::to_string(::getpid()) + "-" + std::to_string(++count);
}

Descriptor connect_to(const std::string& name) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(&address.sun_path[1], name.data(), name.size());
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  Descriptor made(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (::connect(made.get(), reinterpret_cast<sockaddr*>(&address), size) != 0) return {};
  return made;
}

/// A line, or what arrives until the end.
std::string read_line(const Descriptor& connection) {
  std::string line;
  for (char one = 0; ::read(connection.get(), &one, 1) == 1 && one != '\n';)
    line += one;
  return line;
}

void wait_for_end(const LauncherSocket& socket) {
  for (int i = 0; i < 1000 && !socket.has_ended(); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  ASSERT_TRUE(socket.has_ended());
}

TEST(LauncherSocketTest, last_launcher_receives_the_report) {
  const std::string name = job_name();
  auto socket = LauncherSocket::listen(name, "hello", [] {});
  ASSERT_TRUE(socket);
  const Descriptor first = connect_to(name);
  const Descriptor second = connect_to(name);
  EXPECT_EQ(read_line(first), "hello");
  EXPECT_EQ(read_line(second), "hello");
  ::shutdown(first.get(), SHUT_WR);
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  ::shutdown(second.get(), SHUT_WR);
  wait_for_end(**socket);
  (*socket)->send_report("report");
  EXPECT_EQ(read_line(first), "null");
  EXPECT_EQ(read_line(second), "report");
}

TEST(LauncherSocketTest, launcher_that_connects_as_another_ends_is_greeted_or_refused) {
  for (int i = 0; i < 50; ++i) {
    const std::string name = job_name();
    auto socket = LauncherSocket::listen(name, "hello", [] {});
    ASSERT_TRUE(socket);
    Descriptor first = connect_to(name);
    ASSERT_EQ(read_line(first), "hello");
    std::thread ending([&] { first = {}; });
    const Descriptor second = connect_to(name);
    const std::string greeting = second ? read_line(second) : "";
    EXPECT_TRUE(greeting == "hello" || greeting.empty()) << greeting;
    ending.join();
    if (second) ::shutdown(second.get(), SHUT_RDWR);
    wait_for_end(**socket);
  }
}

TEST(LauncherSocketTest, no_free_descriptor_neither_spins_nor_loses_a_launcher) {
  const std::string name = job_name();
  auto socket = LauncherSocket::listen(name, "hello", [] {});
  ASSERT_TRUE(socket);
  const Descriptor first = connect_to(name);
  ASSERT_EQ(read_line(first), "hello");
  rlimit before{};
  ::getrlimit(RLIMIT_NOFILE, &before);
  Descriptor second(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const rlimit low{.rlim_cur = static_cast<rlim_t>(second.get()) + 1, .rlim_max = before.rlim_max};
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(&address.sun_path[1], name.data(), name.size());
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  timespec begin{};
  timespec end{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begin);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &low), 0);
  EXPECT_EQ(::connect(second.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  ::setrlimit(RLIMIT_NOFILE, &before);
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
  EXPECT_LT((end.tv_sec - begin.tv_sec) * 1000 + (end.tv_nsec - begin.tv_nsec) / 1'000'000, 200);
  EXPECT_EQ(read_line(second), "hello");
  ::shutdown(first.get(), SHUT_WR);
  ::shutdown(second.get(), SHUT_WR);
  wait_for_end(**socket);
}

}  // namespace
}  // namespace forebay::run
