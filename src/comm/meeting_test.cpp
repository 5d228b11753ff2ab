// SPDX-License-Identifier: Apache-2.0
// Agents that are to meet, and those who get in their way: strangers that call, answer, or say
// nothing, addresses that lead elsewhere, and peers that never come.
#include "comm/meeting.hpp"

#include <array>
#include <thread>

#include <poll.h>
#include <unistd.h>

#include "comm/testing.hpp"

namespace forebay::comm {
namespace {

Address loopback() {
  return must(local_addresses("127.0.0.1"), "the address of this host").front();
}

Listener listener_here() { return must(listen_at(loopback(), {}), "listen"); }

JobKey key_of(int number) {
  JobKey key;
  key.fill(static_cast<std::byte>(number));
  return key;
}

/// Ranks 0 and 1 and where they listen; 1 calls 0. A test changes what it is about.
class MeetingTest : public testing::Test {
 protected:
  using Outcome = Result<std::vector<Descriptor>>;

  MeetingTest() {
    for (std::uint32_t rank : {0U, 1U}) {
      listeners_.at(rank).push_back(listener_here());
      meetings_.at(rank) = {.me = Rank{rank}, .key = key_of(1)};
      meetings_.at(rank).limit_ms = std::chrono::seconds(30);
    }
    for (std::uint32_t rank : {0U, 1U}) {
      const std::uint32_t other = 1 - rank;
      meetings_.at(rank).peers = {{Rank{other}, {listeners_.at(other).front().address}}};
    }
  }

  std::array<Outcome, 2> run() {
    std::array<Outcome, 2> outcomes;
    {
      const std::jthread second([&] { outcomes[1] = meet(meetings_[1], listeners_[1]); });
      outcomes[0] = meet(meetings_[0], listeners_[0]);
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
    std::array<char, 16> words{};
    ASSERT_EQ(::read(to, words.data(), words.size()), 5) << "nothing of the greetings is left";
    EXPECT_EQ(std::string(words.data()), "hello");
  }

  void give_up_soon() {
    for (Meeting& meeting : meetings_)
      meeting.limit_ms = std::chrono::milliseconds(500);
  }

  std::array<Meeting, 2> meetings_;
  std::array<std::vector<Listener>, 2> listeners_;
};

/// Calls an address and says something, or nothing.
Descriptor call(const Address& address, const Bytes& words) {
  Descriptor socket = must(begin_call(address, {}), "call");
  pollfd entry{socket.get(), POLLOUT, 0};
  EXPECT_EQ(::poll(&entry, 1, 60'000), 1);
  if (!words.empty()) {
    EXPECT_EQ(::send(socket.get(), words.data(), words.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(words.size()));
  }
  return socket;
}

TEST_F(MeetingTest, two_are_connected_by_one_socket) { expect_connected(run()); }

TEST_F(MeetingTest, strangers_that_call_first_are_in_nobodys_way) {
  const Address where = listeners_[0].front().address;
  std::vector<Descriptor> strangers;
  strangers.push_back(call(where, {}));
  strangers.push_back(call(where, bytes_of("GET / HTTP/1.1")));
  strangers.push_back(call(where, pattern(0, 4000)));
  call(where, {});  // hangs up
  expect_connected(run());
}

TEST_F(MeetingTest, more_strangers_than_are_listened_to) {
  std::vector<Descriptor> strangers;
  for (int i = 0; i < 200; ++i)
    strangers.push_back(call(listeners_[0].front().address, {}));
  expect_connected(run());
}

TEST_F(MeetingTest, address_where_nobody_listens_is_passed_over) {
  const Address nowhere = listener_here().address;  // closed again
  auto& addresses = meetings_[1].peers.front().addresses;
  addresses.insert(addresses.begin(), nowhere);
  expect_connected(run());
}

TEST_F(MeetingTest, address_that_leads_to_a_silent_stranger_is_passed_over) {
  const Listener silent = listener_here();  // the kernel takes calls, nobody answers
  auto& addresses = meetings_[1].peers.front().addresses;
  addresses.insert(addresses.begin(), silent.address);
  meetings_[1].limit_ms = std::chrono::seconds(3);
  expect_connected(run());
}

TEST_F(MeetingTest, stranger_that_repeats_what_it_hears_is_passed_over) {
  const Listener stranger = listener_here();
  auto& addresses = meetings_[1].peers.front().addresses;
  addresses.insert(addresses.begin(), stranger.address);
  std::array<Outcome, 2> outcomes;
  {
    const std::jthread second([&] { outcomes[1] = meet(meetings_[1], listeners_[1]); });
    pollfd entry{stranger.socket.get(), POLLIN, 0};
    ASSERT_EQ(::poll(&entry, 1, 60'000), 1);
    const Descriptor called = accept_call(stranger, {});
    entry.fd = called.get();
    ASSERT_EQ(::poll(&entry, 1, 60'000), 1);
    std::array<std::byte, 256> heard{};
    const ssize_t bytes = ::read(called.get(), heard.data(), heard.size());
    ASSERT_GT(bytes, 0);
    ASSERT_EQ(::write(called.get(), heard.data(), static_cast<std::size_t>(bytes)), bytes);
    outcomes[0] = meet(meetings_[0], listeners_[0]);
  }
  expect_connected(outcomes);
}

TEST_F(MeetingTest, own_address_in_the_name_of_another_is_passed_over) {
  auto& addresses = meetings_[1].peers.front().addresses;
  addresses.insert(addresses.begin(), listeners_[1].front().address);
  expect_connected(run());
}

TEST_F(MeetingTest, agent_of_another_job_is_refused) {
  meetings_[1].key = key_of(5);
  give_up_soon();
  const auto outcomes = run();
  ASSERT_FALSE(outcomes[0]);
  ASSERT_FALSE(outcomes[1]);
  EXPECT_EQ(outcomes[0].error().error_number(), ETIMEDOUT);
  EXPECT_NE(outcomes[0].error().message().find("rank 1 did not call"), std::string::npos);
  EXPECT_NE(outcomes[1].error().message().find("cannot reach rank 0"), std::string::npos);
}

TEST_F(MeetingTest, peer_that_never_comes_is_named_when_the_time_is_over) {
  give_up_soon();
  const auto start = std::chrono::steady_clock::now();
  const Outcome outcome = meet(meetings_[1], listeners_[1]);
  EXPECT_GE(std::chrono::steady_clock::now() - start, meetings_[1].limit_ms);
  ASSERT_FALSE(outcome);
  EXPECT_NE(outcome.error().message().find("rank 0"), std::string::npos);
}

TEST(LocalAddresses, begin_with_what_others_can_reach_and_end_with_loopback) {
  const auto all = local_addresses("");
  ASSERT_TRUE(all);
  const std::string last = text_of(all->back());
  EXPECT_TRUE(last.starts_with("127.") || last.starts_with("[::1]")) << last;
}

TEST(LocalAddresses, of_one_interface_or_address) {
  const auto of_interface = local_addresses("lo");
  ASSERT_TRUE(of_interface);
  EXPECT_EQ(text_of(of_interface->front()), "127.0.0.1:0");
  const auto of_address = local_addresses("127.0.0.1");
  ASSERT_TRUE(of_address);
  EXPECT_EQ(of_address->size(), 1U);
}

TEST(LocalAddresses, of_no_such_network_names_what_there_is) {
  const auto none = local_addresses("ib7");
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().kind(), ErrorClass::kNotFound);
  EXPECT_NE(none.error().message().find("find network ib7"), std::string::npos);
  EXPECT_NE(none.error().message().find("lo (127.0.0.1)"), std::string::npos);
}

}  // namespace
}  // namespace forebay::comm
