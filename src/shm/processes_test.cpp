// SPDX-License-Identifier: Apache-2.0
// The primitives together, between real processes: they map the memory at different addresses,
// sleep, wake each other and are killed at any moment.
#include <array>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <gtest/gtest.h>
#include <unistd.h>

#include "base/testing.hpp"
#include "shm/channel.hpp"
#include "shm/process_watch.hpp"
#include "shm/ring_pair_testing.hpp"
#include "shm/window.hpp"

namespace forebay::shm {
namespace {

/// Sends numbers until the other end stops receiving.
int send_until_closed(const RingPairFixture& rings) {
  ClientEnd client = rings.client_end();
  const WaitOptions options{.own = rings.client_doorbell, .deadline = test_deadline()};
  for (std::uint64_t i = 0; client.push({.number = i, .check = ~i}, options) == RingOutcome::kDone;
       ++i) {
  }
  return 0;
}

/// Receives until the count is reached or the sender has ended. `next` is the next expected number.
RingOutcome receive_until(AgentEnd& agent,
                          const WaitOptions& options,
                          std::uint64_t& next,
                          std::uint64_t count) {
  Request request;
  while (next < count) {
    const RingOutcome outcome = agent.pop(request, options);
    if (outcome != RingOutcome::kDone) return outcome;
    EXPECT_EQ(request.number, next);
    EXPECT_EQ(request.check, ~next) << "torn";
    ++next;
  }
  return RingOutcome::kDone;
}

std::size_t count_traces(const std::string& word) {
  std::size_t traces = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/dev/shm"))
    traces += entry.path().string().find(word) != std::string::npos ? 1U : 0U;
  std::ifstream sockets("/proc/net/unix");
  for (std::string line; std::getline(sockets, line);)
    traces += line.find(word) != std::string::npos ? 1U : 0U;
  return traces;
}

TEST(Processes, exchange_both_ways_without_a_loss) {
  constexpr std::uint64_t kCount = 100'000;
  const RingPairFixture rings;
  ChildProcess child([&] {
    const RingPairFixture own = rings.remapped();
    ClientEnd client = own.client_end();
    return exchange(client, own.client_doorbell, kCount) ? 0 : 1;
  });
  AgentEnd agent = rings.agent_end();
  EXPECT_TRUE(exchange(agent, rings.agent_doorbell, kCount));
  EXPECT_EQ(child.exit_code(), 0);
}

TEST(Processes, wake_each_other_for_each_message) {
  constexpr std::uint64_t kCount = 5'000;
  const RingPairFixture rings;
  ChildProcess child([&] {
    const RingPairFixture own = rings.remapped();
    ClientEnd client = own.client_end();
    const WaitOptions options{.own = own.client_doorbell, .deadline = test_deadline()};
    Event event;
    for (std::uint64_t i = 0; i < kCount; ++i) {
      if (client.push({.number = i}, options) != RingOutcome::kDone) return 1;
      if (client.pop(event, options) != RingOutcome::kDone) return 2;
      if (event.number != i) return 3;
    }
    return 0;
  });
  AgentEnd agent = rings.agent_end();
  const WaitOptions options{.own = rings.agent_doorbell, .deadline = test_deadline()};
  Request request;
  for (std::uint64_t i = 0; i < kCount; ++i) {
    ASSERT_EQ(agent.pop(request, options), RingOutcome::kDone);
    ASSERT_EQ(agent.push({.number = request.number}, options), RingOutcome::kDone);
  }
  EXPECT_EQ(child.exit_code(), 0);
}

// Killed at a random point: before, in or after writing, asleep, or about to ring.
TEST(Processes, killed_writer_leaves_whole_messages_and_is_detected) {
  for (std::uint64_t round = 0; round < 20; ++round) {
    const RingPairFixture rings;
    ChildProcess child([&] { return send_until_closed(rings); });
    auto death = watch_process(child.pid());
    ASSERT_TRUE(death);
    AgentEnd agent = rings.agent_end();
    const WaitOptions options{
        .own = rings.agent_doorbell, .interrupt_fd = death->get(), .deadline = test_deadline()};
    std::uint64_t next = 0;
    ASSERT_EQ(receive_until(agent, options, next, 100 + 37 * round), RingOutcome::kDone);
    child.kill();
    constexpr std::uint64_t kNoLimit = ~std::uint64_t{0};
    EXPECT_EQ(receive_until(agent, options, next, kNoLimit), RingOutcome::kInterrupted);
    EXPECT_TRUE(is_readable(death->get()));
  }
}

TEST(Processes, death_of_one_client_does_not_affect_the_other) {
  const RingPairFixture first_rings;
  const RingPairFixture second_rings;
  ChildProcess first([&] { return send_until_closed(first_rings); });
  ChildProcess second([&] { return send_until_closed(second_rings); });
  AgentEnd first_end = first_rings.agent_end();
  AgentEnd second_end = second_rings.agent_end();
  const WaitOptions first_waiting{.own = first_rings.agent_doorbell, .deadline = test_deadline()};
  const WaitOptions second_waiting{.own = second_rings.agent_doorbell, .deadline = test_deadline()};
  std::uint64_t from_first = 0;
  std::uint64_t from_second = 0;
  ASSERT_EQ(receive_until(first_end, first_waiting, from_first, 1'000), RingOutcome::kDone);
  ASSERT_EQ(receive_until(second_end, second_waiting, from_second, 1'000), RingOutcome::kDone);
  first.kill();
  EXPECT_EQ(receive_until(second_end, second_waiting, from_second, 20'000), RingOutcome::kDone);
}

TEST(Processes, killed_agent_leaves_nothing_behind) {
  auto ends = Channel::pair();
  ASSERT_TRUE(ends);
  ChildProcess agent([&] {
    const RingPairFixture rings;
    auto window = Window::create();
    auto listener = ChannelListener::open();
    if (!window || !window->map(page_bytes()) || !listener) return 1;
    const std::string& name = listener->name();
    if (!ends->first.send(std::as_bytes(std::span(name)))) return 2;
    ::pause();
    return 0;
  });
  auto message = ends->second.receive(test_deadline());
  ASSERT_TRUE(message && *message);
  const auto& bytes = (*message)->bytes;
  const std::string name(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  EXPECT_EQ(count_traces(name), 1U) << "this test does not find the listener";
  auto client = Channel::connect(name, test_deadline());
  ASSERT_TRUE(client);
  agent.kill();
  EXPECT_EQ(agent.exit_code(), std::nullopt);
  EXPECT_EQ(client->receive(test_deadline()).error().kind(), ErrorClass::kClosed);
  *client = Channel();
  EXPECT_EQ(count_traces(name), 0U);
  EXPECT_EQ(Channel::connect(name, test_deadline()).error().kind(), ErrorClass::kNotFound);
}

/// First steps of a client: connects, receives window, rings and doorbells, reads, replies.
int run_client(const std::string& name) {
  auto channel = Channel::connect(name, test_deadline());
  if (!channel || channel->peer().pid != ::getppid()) return 1;
  auto message = channel->receive(test_deadline());
  if (!message || !*message || (*message)->descriptors.size() != 4) return 2;
  auto& descriptors = (*message)->descriptors;
  auto window = WindowView::attach(std::move(descriptors[0]));
  auto memory = SharedMemory::attach(std::move(descriptors[1]), RingPairFixture::kBytes,
                                     Protection::kReadWrite);
  auto agent_doorbell = Doorbell::from(std::move(descriptors[2]));
  auto client_doorbell = Doorbell::from(std::move(descriptors[3]));
  if (!window || !memory || !agent_doorbell || !client_doorbell) return 3;
  auto bytes = window->map(2 * page_bytes());
  if (!bytes || (*bytes)[4 * page_bytes() - 1] != std::byte{17}) return 4;
  const RingPairFixture rings{.memory = std::move(*memory),
                              .agent_doorbell = std::move(*agent_doorbell),
                              .client_doorbell = std::move(*client_doorbell)};
  return rings.client_end().try_push({.number = 18}) == RingOutcome::kDone ? 0 : 5;
}

TEST(Processes, client_receives_all_memory_over_its_channel) {
  auto listener = ChannelListener::open();
  ASSERT_TRUE(listener);
  auto window = Window::create();
  ASSERT_TRUE(window);
  auto bytes = window->map(2 * page_bytes());
  ASSERT_TRUE(bytes);
  (*bytes)[2 * page_bytes() - 1] = std::byte{17};
  ChildProcess child([&] { return run_client(listener->name()); });
  const int listening = listener->descriptor().get();
  ASSERT_TRUE(wait_readable({&listening, 1}, test_deadline()));
  auto channel = listener->accept();
  ASSERT_TRUE(channel && *channel);
  EXPECT_EQ((*channel)->peer().pid, child.pid());

  const RingPairFixture rings;
  AgentEnd agent = rings.agent_end();
  ASSERT_TRUE(agent.prepare_sleep(WakeCondition::kMessage));
  auto shared_window = window->share(Protection::kReadOnly);
  auto shared_line = rings.memory.share(Protection::kReadWrite);
  ASSERT_TRUE(shared_window && shared_line);
  const std::array<int, 4> descriptors{shared_window->get(), shared_line->get(),
                                       rings.agent_doorbell.descriptor().get(),
                                       rings.client_doorbell.descriptor().get()};
  ASSERT_TRUE((*channel)->send(std::as_bytes(std::span("welcome")), descriptors, test_deadline()));
  EXPECT_TRUE(rings.agent_doorbell.wait(test_deadline()));
  Request request;
  EXPECT_EQ(agent.try_pop(request), RingOutcome::kDone);
  EXPECT_EQ(request.number, 18U);
  EXPECT_EQ(child.exit_code(), 0);
  EXPECT_EQ((*channel)->receive(test_deadline()).error().kind(), ErrorClass::kClosed);
}

TEST(Processes, death_is_detected_although_a_forked_child_holds_the_socket) {
  auto ends = Channel::pair();
  auto hold = Channel::pair();
  ASSERT_TRUE(ends && hold);
  ChildProcess child([&] {
    if (::fork() != 0) {
      ::pause();
      return 0;
    }
    hold->first = Channel();  // so that the test's end is the only one
    static_cast<void>(ends->first.send(std::as_bytes(std::span("forked"))));
    static_cast<void>(hold->second.receive(test_deadline()));
    return 0;
  });
  hold->second = Channel();
  auto death = watch_process(child.pid());
  ASSERT_TRUE(death);
  ASSERT_TRUE(ends->second.receive(test_deadline()));
  ends->first = Channel();
  child.kill();
  EXPECT_TRUE(wait_until_readable(death->get()));
  auto silence = ends->second.receive(short_deadline());
  EXPECT_TRUE(silence) << "a child of the dead process holds the socket: no end of file";
}

}  // namespace
}  // namespace forebay::shm
