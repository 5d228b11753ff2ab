// SPDX-License-Identifier: Apache-2.0
// Agents that connect, and what interferes: foreign connections that send anything or nothing,
// addresses of other programs, and peers that never connect.
#include "comm/connect_all.hpp"

#include <array>
#include <thread>

#include <poll.h>
#include <unistd.h>

#include "comm/testing.hpp"

namespace forebay::comm {
namespace {

SocketAddress loopback() {
  return value_or_throw(local_addresses("127.0.0.1"), "the address of this host").front();
}

TcpListener loopback_listener() { return value_or_throw(listen_at(loopback(), {}), "listen"); }

SharedKey key_of(int number) {
  SharedKey key;
  key.fill(static_cast<std::byte>(number));
  return key;
}

/// Ranks 0 and 1 and their listeners; 1 connects to 0. A test changes what it needs.
class ConnectAllTest : public testing::Test {
 protected:
  using Outcome = Result<std::vector<Descriptor>>;

  ConnectAllTest() {
    for (std::uint32_t rank : {0U, 1U}) {
      listeners_.at(rank).push_back(loopback_listener());
      setups_.at(rank) = {.me = Rank{rank}, .key = key_of(1)};
      setups_.at(rank).timeout_ms = std::chrono::seconds(30);
    }
    for (std::uint32_t rank : {0U, 1U}) {
      const std::uint32_t other = 1 - rank;
      setups_.at(rank).peers = {{Rank{other}, {listeners_.at(other).front().address}}};
    }
  }

  std::array<Outcome, 2> run() {
    std::array<Outcome, 2> outcomes;
    {
      const std::jthread second([&] { outcomes[1] = connect_all(setups_[1], listeners_[1]); });
      outcomes[0] = connect_all(setups_[0], listeners_[0]);
    }
    return outcomes;
  }

  static void expect_connected(const std::array<Outcome, 2>& ends) {
    for (const Outcome& end : ends)
      ASSERT_TRUE(end) << end.error().message();
    const int from = ends[0]->front().get();
    const int to = ends[1]->front().get();
    ASSERT_EQ(::write(from, "hello", 5), 5);
    pollfd entry{to, POLLIN, 0};
    ASSERT_EQ(::poll(&entry, 1, 60'000), 1);
    std::array<char, 16> payload{};
    ASSERT_EQ(::read(to, payload.data(), payload.size()), 5) << "the handshake is read completely";
    EXPECT_EQ(std::string(payload.data()), "hello");
  }

  void use_short_timeout() {
    for (MeshSetup& setup : setups_)
      setup.timeout_ms = std::chrono::milliseconds(500);
  }

  std::array<MeshSetup, 2> setups_;
  std::array<std::vector<TcpListener>, 2> listeners_;
};

/// Connects to an address and sends bytes, or nothing.
Descriptor connect_raw(const SocketAddress& address, const Bytes& payload) {
  Descriptor socket = value_or_throw(start_connect(address, {}), "connect");
  pollfd entry{socket.get(), POLLOUT, 0};
  EXPECT_EQ(::poll(&entry, 1, 60'000), 1);
  if (!payload.empty()) {
    EXPECT_EQ(::send(socket.get(), payload.data(), payload.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(payload.size()));
  }
  return socket;
}

TEST_F(ConnectAllTest, two_are_connected_by_one_socket) { expect_connected(run()); }

TEST_F(ConnectAllTest, unauthenticated_connections_do_not_delay_peers) {
  const SocketAddress where = listeners_[0].front().address;
  std::vector<Descriptor> raw_clients;
  raw_clients.push_back(connect_raw(where, {}));
  raw_clients.push_back(connect_raw(where, bytes_of("GET / HTTP/1.1")));
  raw_clients.push_back(connect_raw(where, pattern(0, 4000)));
  connect_raw(where, {});  // closes at once
  expect_connected(run());
}

TEST_F(ConnectAllTest, more_unauthenticated_connections_than_allowed) {
  std::vector<Descriptor> raw_clients;
  for (int i = 0; i < 200; ++i)
    raw_clients.push_back(connect_raw(listeners_[0].front().address, {}));
  expect_connected(run());
}

TEST_F(ConnectAllTest, address_without_listener_is_skipped) {
  const SocketAddress nowhere = loopback_listener().address;  // closed again
  auto& addresses = setups_[1].peers.front().addresses;
  addresses.insert(addresses.begin(), nowhere);
  expect_connected(run());
}

TEST_F(ConnectAllTest, address_of_a_silent_listener_is_skipped) {
  const TcpListener silent = loopback_listener();  // the kernel accepts connections, no program
                                                   // does
  auto& addresses = setups_[1].peers.front().addresses;
  addresses.insert(addresses.begin(), silent.address);
  setups_[1].timeout_ms = std::chrono::seconds(3);
  expect_connected(run());
}

TEST_F(ConnectAllTest, echoing_listener_is_skipped) {
  const TcpListener echo_server = loopback_listener();
  auto& addresses = setups_[1].peers.front().addresses;
  addresses.insert(addresses.begin(), echo_server.address);
  std::array<Outcome, 2> outcomes;
  {
    const std::jthread second([&] { outcomes[1] = connect_all(setups_[1], listeners_[1]); });
    pollfd entry{echo_server.socket.get(), POLLIN, 0};
    ASSERT_EQ(::poll(&entry, 1, 60'000), 1);
    const Descriptor accepted = accept_connection(echo_server, {});
    entry.fd = accepted.get();
    ASSERT_EQ(::poll(&entry, 1, 60'000), 1);
    std::array<std::byte, 256> received{};
    const ssize_t bytes = ::read(accepted.get(), received.data(), received.size());
    ASSERT_GT(bytes, 0);
    ASSERT_EQ(::write(accepted.get(), received.data(), static_cast<std::size_t>(bytes)), bytes);
    outcomes[0] = connect_all(setups_[0], listeners_[0]);
  }
  expect_connected(outcomes);
}

TEST_F(ConnectAllTest, own_address_listed_for_a_peer_is_skipped) {
  auto& addresses = setups_[1].peers.front().addresses;
  addresses.insert(addresses.begin(), listeners_[1].front().address);
  expect_connected(run());
}

TEST_F(ConnectAllTest, agent_of_another_job_is_refused) {
  setups_[1].key = key_of(5);
  use_short_timeout();
  const auto outcomes = run();
  ASSERT_FALSE(outcomes[0]);
  ASSERT_FALSE(outcomes[1]);
  EXPECT_EQ(outcomes[0].error().error_number(), ETIMEDOUT);
  EXPECT_NE(outcomes[0].error().message().find("rank 1 did not connect"), std::string::npos);
  EXPECT_NE(outcomes[1].error().message().find("cannot reach rank 0"), std::string::npos);
}

TEST_F(ConnectAllTest, missing_peer_is_named_after_the_timeout) {
  use_short_timeout();
  const auto start = std::chrono::steady_clock::now();
  const Outcome outcome = connect_all(setups_[1], listeners_[1]);
  EXPECT_GE(std::chrono::steady_clock::now() - start, setups_[1].timeout_ms);
  ASSERT_FALSE(outcome);
  EXPECT_NE(outcome.error().message().find("rank 0"), std::string::npos);
}

TEST(LocalAddresses, reachable_addresses_come_first_and_loopback_last) {
  const auto all = local_addresses("");
  ASSERT_TRUE(all);
  const std::string last = text_of(all->back());
  EXPECT_TRUE(last.starts_with("127.") || last.starts_with("[::1]")) << last;
}

TEST(LocalAddresses, network_selects_an_interface_or_address) {
  const auto of_interface = local_addresses("lo");
  ASSERT_TRUE(of_interface);
  EXPECT_EQ(text_of(of_interface->front()), "127.0.0.1:0");
  const auto of_address = local_addresses("127.0.0.1");
  ASSERT_TRUE(of_address);
  EXPECT_EQ(of_address->size(), 1U);
}

TEST(LocalAddresses, unknown_network_error_lists_available_networks) {
  const auto none = local_addresses("ib7");
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().kind(), ErrorClass::kNotFound);
  EXPECT_NE(none.error().message().find("find network ib7"), std::string::npos);
  EXPECT_NE(none.error().message().find("lo (127.0.0.1)"), std::string::npos);
}

}  // namespace
}  // namespace forebay::comm
