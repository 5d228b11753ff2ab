// SPDX-License-Identifier: Apache-2.0
// The primitives together, between processes that are real: they map the memory at places of their
// own, sleep, wake each other and are killed at any moment.
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
#include "shm/duplex_testing.hpp"
#include "shm/process_watch.hpp"
#include "shm/window.hpp"

namespace forebay::shm {
namespace {

/// Sends numbers as long as somebody takes them.
int send_for_ever(const Line& line) {
  ClientEnd client = line.client_end();
  const Waiting waiting{.own = line.client_bell, .deadline = in_a_minute()};
  for (std::uint64_t i = 0; client.push({.number = i, .check = ~i}, waiting) == RingOutcome::kDone;
       ++i) {
  }
  return 0;
}

/// Receives until the count is reached or the sender is gone. `next` is the number that comes next.
RingOutcome receive_until(AgentEnd& agent,
                          const Waiting& waiting,
                          std::uint64_t& next,
                          std::uint64_t count) {
  Request request;
  while (next < count) {
    const RingOutcome outcome = agent.pop(request, waiting);
    if (outcome != RingOutcome::kDone) return outcome;
    EXPECT_EQ(request.number, next);
    EXPECT_EQ(request.check, ~next) << "torn";
    ++next;
  }
  return RingOutcome::kDone;
}

std::size_t traces_of(const std::string& word) {
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
  const Line line;
  Child child([&] {
    const Line own = line.remapped();
    ClientEnd client = own.client_end();
    return exchange(client, own.client_bell, kCount) ? 0 : 1;
  });
  AgentEnd agent = line.agent_end();
  EXPECT_TRUE(exchange(agent, line.agent_bell, kCount));
  EXPECT_EQ(child.result(), 0);
}

TEST(Processes, wake_each_other_for_each_message) {
  constexpr std::uint64_t kCount = 5'000;
  const Line line;
  Child child([&] {
    const Line own = line.remapped();
    ClientEnd client = own.client_end();
    const Waiting waiting{.own = own.client_bell, .deadline = in_a_minute()};
    Event event;
    for (std::uint64_t i = 0; i < kCount; ++i) {
      if (client.push({.number = i}, waiting) != RingOutcome::kDone) return 1;
      if (client.pop(event, waiting) != RingOutcome::kDone) return 2;
      if (event.number != i) return 3;
    }
    return 0;
  });
  AgentEnd agent = line.agent_end();
  const Waiting waiting{.own = line.agent_bell, .deadline = in_a_minute()};
  Request request;
  for (std::uint64_t i = 0; i < kCount; ++i) {
    ASSERT_EQ(agent.pop(request, waiting), RingOutcome::kDone);
    ASSERT_EQ(agent.push({.number = request.number}, waiting), RingOutcome::kDone);
  }
  EXPECT_EQ(child.result(), 0);
}

// Killed wherever it happens to be: before, in or after writing, asleep, or about to ring.
TEST(Processes, killed_writer_leaves_whole_messages_and_is_noticed) {
  for (std::uint64_t round = 0; round < 20; ++round) {
    const Line line;
    Child child([&] { return send_for_ever(line); });
    auto death = watch_process(child.pid());
    ASSERT_TRUE(death);
    AgentEnd agent = line.agent_end();
    const Waiting waiting{
        .own = line.agent_bell, .interruption = death->get(), .deadline = in_a_minute()};
    std::uint64_t next = 0;
    ASSERT_EQ(receive_until(agent, waiting, next, 100 + 37 * round), RingOutcome::kDone);
    child.kill();
    constexpr std::uint64_t kWithoutEnd = ~std::uint64_t{0};
    EXPECT_EQ(receive_until(agent, waiting, next, kWithoutEnd), RingOutcome::kInterrupted);
    EXPECT_TRUE(is_readable(death->get()));
  }
}

TEST(Processes, death_of_one_client_does_not_touch_the_other) {
  const Line first_line;
  const Line second_line;
  Child first([&] { return send_for_ever(first_line); });
  Child second([&] { return send_for_ever(second_line); });
  AgentEnd first_end = first_line.agent_end();
  AgentEnd second_end = second_line.agent_end();
  const Waiting first_waiting{.own = first_line.agent_bell, .deadline = in_a_minute()};
  const Waiting second_waiting{.own = second_line.agent_bell, .deadline = in_a_minute()};
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
  Child agent([&] {
    const Line line;
    auto window = Window::create();
    auto listener = Listener::open();
    if (!window || !window->map(page_bytes()) || !listener) return 1;
    const std::string& name = listener->name();
    if (!ends->first.send(std::as_bytes(std::span(name)))) return 2;
    ::pause();
    return 0;
  });
  auto message = ends->second.receive(in_a_minute());
  ASSERT_TRUE(message && *message);
  const auto& bytes = (*message)->bytes;
  const std::string name(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  EXPECT_EQ(traces_of(name), 1U) << "this test looks in the wrong place";
  auto client = Channel::connect(name, in_a_minute());
  ASSERT_TRUE(client);
  agent.kill();
  EXPECT_EQ(agent.result(), std::nullopt);
  EXPECT_EQ(client->receive(in_a_minute()).error().kind(), ErrorClass::kClosed);
  *client = Channel();
  EXPECT_EQ(traces_of(name), 0U);
  EXPECT_EQ(Channel::connect(name, in_a_minute()).error().kind(), ErrorClass::kNotFound);
}

/// What a client does first: connects, gets window, line and bells, looks, answers.
int client_of(const std::string& name) {
  auto channel = Channel::connect(name, in_a_minute());
  if (!channel || channel->peer().pid != ::getppid()) return 1;
  auto message = channel->receive(in_a_minute());
  if (!message || !*message || (*message)->descriptors.size() != 4) return 2;
  auto& descriptors = (*message)->descriptors;
  auto window = WindowView::attach(std::move(descriptors[0]));
  auto memory =
      SharedMemory::attach(std::move(descriptors[1]), Line::kBytes, Protection::kReadWrite);
  auto agent_bell = Doorbell::from(std::move(descriptors[2]));
  auto client_bell = Doorbell::from(std::move(descriptors[3]));
  if (!window || !memory || !agent_bell || !client_bell) return 3;
  auto bytes = window->map(2 * page_bytes());
  if (!bytes || (*bytes)[4 * page_bytes() - 1] != std::byte{17}) return 4;
  const Line line{.memory = std::move(*memory),
                  .agent_bell = std::move(*agent_bell),
                  .client_bell = std::move(*client_bell)};
  return line.client_end().try_push({.number = 18}) == RingOutcome::kDone ? 0 : 5;
}

TEST(Processes, client_gets_everything_over_its_channel) {
  auto listener = Listener::open();
  ASSERT_TRUE(listener);
  auto window = Window::create();
  ASSERT_TRUE(window);
  auto bytes = window->map(2 * page_bytes());
  ASSERT_TRUE(bytes);
  (*bytes)[2 * page_bytes() - 1] = std::byte{17};
  Child child([&] { return client_of(listener->name()); });
  const int listening = listener->descriptor().get();
  ASSERT_TRUE(wait_readable({&listening, 1}, in_a_minute()));
  auto channel = listener->accept();
  ASSERT_TRUE(channel && *channel);
  EXPECT_EQ((*channel)->peer().pid, child.pid());

  const Line line;
  AgentEnd agent = line.agent_end();
  ASSERT_TRUE(agent.may_sleep(Awaited::kMessage));
  auto shared_window = window->share(Protection::kReadOnly);
  auto shared_line = line.memory.share(Protection::kReadWrite);
  ASSERT_TRUE(shared_window && shared_line);
  const std::array<int, 4> descriptors{shared_window->get(), shared_line->get(),
                                       line.agent_bell.descriptor().get(),
                                       line.client_bell.descriptor().get()};
  ASSERT_TRUE((*channel)->send(std::as_bytes(std::span("welcome")), descriptors, in_a_minute()));
  EXPECT_TRUE(line.agent_bell.wait(in_a_minute()));
  Request request;
  EXPECT_EQ(agent.try_pop(request), RingOutcome::kDone);
  EXPECT_EQ(request.number, 18U);
  EXPECT_EQ(child.result(), 0);
  EXPECT_EQ((*channel)->receive(in_a_minute()).error().kind(), ErrorClass::kClosed);
}

TEST(Processes, death_is_noticed_although_a_forked_child_holds_the_socket) {
  auto ends = Channel::pair();
  auto hold = Channel::pair();
  ASSERT_TRUE(ends && hold);
  Child child([&] {
    if (::fork() != 0) {
      ::pause();
      return 0;
    }
    hold->first = Channel();  // the test's end is the only one then
    static_cast<void>(ends->first.send(std::as_bytes(std::span("forked"))));
    static_cast<void>(hold->second.receive(in_a_minute()));
    return 0;
  });
  hold->second = Channel();
  auto death = watch_process(child.pid());
  ASSERT_TRUE(death);
  ASSERT_TRUE(ends->second.receive(in_a_minute()));
  ends->first = Channel();
  child.kill();
  EXPECT_TRUE(becomes_readable(death->get()));
  auto silence = ends->second.receive(in_a_moment());
  EXPECT_TRUE(silence) << "its own child holds the socket, so there is no end of file";
}

}  // namespace
}  // namespace forebay::shm
