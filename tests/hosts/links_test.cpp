// SPDX-License-Identifier: Apache-2.0
// Checks that the hosts made by two_hosts.py are two nodes for Forebay. Messages of agents and of
// MPI must use the network between them; otherwise a test of two hosts may measure memory.
#include "comm/links.hpp"

#include <array>
#include <chrono>
#include <ctime>

#include <sys/epoll.h>

#include "comm/link_testing.hpp"
#include "comm/mpi/mpi_communicator.hpp"
#include "storage/engine.hpp"
#include "storage/memory_file.hpp"
#include "storage/probe.hpp"
#include "tools/probe/network.hpp"

namespace forebay::comm {
namespace {

constexpr std::size_t kMessageBytes = std::size_t{1} << 20U;
constexpr std::size_t kMessageCount = 64;
constexpr std::uint32_t kDone = 1;

std::vector<Rank> leaders_of(const Communicator& ranks) {
  std::vector<Rank> leaders;
  for (std::uint32_t node = 0; node < ranks.nodes().count(); ++node)
    leaders.push_back(ranks.nodes().leader_of(Node{node}));
  return leaders;
}

/// Receives messages at the offsets that their headers name.
class BufferReceiver final : public LinkHandler {
 public:
  explicit BufferReceiver(std::span<std::byte> memory) : memory_(memory) {}
  Result<std::span<std::byte>> payload_buffer(Link& /*link*/, const LinkHeader& header) override {
    return memory_.subspan(header.words[0], header.payload_bytes);
  }
  Status handle_message(Link& /*link*/,
                        const LinkHeader& /*header*/,
                        std::span<const std::byte> /*payload*/) override {
    ++count;
    return {};
  }

  std::size_t count = 0;

 private:
  std::span<std::byte> memory_;
};

class Hosts : public testing::Test {
 protected:
  CommunicatorPtr ranks_ = value_or_throw(from_mpi(MPI_COMM_WORLD), "from_mpi");
};

TEST_F(Hosts, hosts_are_two_nodes_with_equal_ranks) {
  const Nodes& nodes = ranks_->nodes();
  ASSERT_EQ(nodes.count(), 2U);
  EXPECT_EQ(nodes.ranks_of(Node{0}).size(), nodes.ranks_of(Node{1}).size());
}

/// Returns when the reply reports that everything has arrived.
void send_all(Link& link, std::span<const std::byte> payload) {
  for (std::uint64_t i = 0; i < kMessageCount; ++i) {
    const std::uint64_t offset = i * kMessageBytes;
    EXPECT_TRUE(link.send({.words = {offset}}, payload.subspan(offset, kMessageBytes)));
  }
  RecordingLinkHandler answers;
  EXPECT_TRUE(run_until({{&link, &answers}}, [&] { return !answers.messages.empty(); }));
}

void receive_all(Link& link, const Bytes& expected) {
  Bytes memory(expected.size());
  BufferReceiver receiver(memory);
  EXPECT_TRUE(run_until({{&link, &receiver}}, [&] { return receiver.count == kMessageCount; }));
  EXPECT_TRUE(link.send({.kind = kDone}, {}));
  EXPECT_TRUE(memory == expected);
  BufferReceiver nothing({});
  EXPECT_TRUE(run_until({{&link, &nothing}}, [&] { return link.queued_bytes() == 0; }));
}

// The speed is measured by `forebay bench read`: read.hosts.over_link.
TEST_F(Hosts, links_send_bytes_over_network_with_little_overhead) {
  const Links links = value_or_throw(connect_agents(*ranks_, leaders_of(*ranks_), {}), "connect");
  const std::uint64_t before = probe::host_received_bytes();
  const Bytes bytes = links.empty() ? Bytes() : pattern(0, kMessageCount * kMessageBytes);
  ASSERT_TRUE(ranks_->barrier());
  if (!links.empty() && ranks_->rank() == Rank{0}) {
    send_all(*links.front(), bytes);
  } else if (!links.empty()) {
    receive_all(*links.front(), bytes);
    const std::uint64_t by_network = probe::host_received_bytes() - before;
    EXPECT_GE(by_network, bytes.size()) << "they arrived by another way";
    EXPECT_LE(by_network, bytes.size() + bytes.size() / 5);
  }
  ASSERT_TRUE(ranks_->barrier());
}

std::chrono::nanoseconds processor_time_of_this_thread() {
  timespec used{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return std::chrono::seconds(used.tv_sec) + std::chrono::nanoseconds(used.tv_nsec);
}

/// An engine that waits for storage and for one link, as an agent does.
class CombinedWait {
 public:
  explicit CombinedWait(Link& link)
      : link_(link),
        links_(::epoll_create1(EPOLL_CLOEXEC)),
        engine_(
            value_or_throw(storage::make_backend({.choice = BackendChoice::kThreads}), "start")) {
    epoll_event event{.events = EPOLLIN, .data = {}};
    EXPECT_EQ(::epoll_ctl(links_.get(), EPOLL_CTL_ADD, link.descriptor(), &event), 0);
    EXPECT_TRUE(engine_.watch(links_.get()));
  }

  storage::Engine& engine() { return engine_; }

  /// Waits once and handles what has arrived. Returns the number of completed storage operations.
  std::size_t wait_once(Deadline deadline, LinkHandler& receiver) {
    std::array<storage::Completion, 8> completions;
    const std::size_t count = engine_.wait(completions, deadline);
    const Status attended =
        engine_.consume_watch_event() ? link_.process_events(POLLIN, receiver) : Status();
    EXPECT_TRUE(attended);
    return count;
  }

 private:
  Link& link_;
  const Descriptor links_;  ///< an epoll descriptor
  storage::Engine engine_;
};

/// Waits idle, sends the start, then receives messages and reads of a file as they complete.
void serve_both(Link& link, const Bytes& expected) {
  constexpr auto kIdle = std::chrono::milliseconds(200);
  // Polling would use most of the idle time. Kernels count in ticks of up to 10 ms.
  constexpr auto kNothing = kIdle / 4;
  CombinedWait combined(link);
  Bytes memory(expected.size());
  BufferReceiver receiver(memory);
  const auto before = processor_time_of_this_thread();
  EXPECT_EQ(combined.wait_once(SteadyClock::shared().now() + kIdle, receiver), 0U);
  EXPECT_LT(processor_time_of_this_thread() - before, kNothing);

  storage::MemoryFile file("data", expected);
  Bytes read(kMessageBytes);
  EXPECT_TRUE(link.send({.kind = kDone}, {}));
  std::size_t submitted = 0;
  std::size_t completed = 0;
  while (receiver.count < kMessageCount || completed < kMessageCount) {
    if (submitted == completed && submitted < kMessageCount) {
      const auto operation = storage::read_operation(file, submitted * kMessageBytes, read, 1);
      submitted += combined.engine().submit({&operation, 1});
    }
    completed += combined.wait_once(std::nullopt, receiver);
  }
  EXPECT_TRUE(memory == expected);
  EXPECT_TRUE(std::equal(read.begin(), read.end(), expected.end() - kMessageBytes));
}

TEST_F(Hosts, one_wait_serves_storage_and_network) {
  const Links links = value_or_throw(connect_agents(*ranks_, leaders_of(*ranks_), {}), "connect");
  const Bytes bytes = links.empty() ? Bytes() : pattern(0, kMessageCount * kMessageBytes);
  if (!links.empty() && ranks_->rank() == Rank{0}) {
    RecordingLinkHandler answers;
    EXPECT_TRUE(run_until({{links[0].get(), &answers}}, [&] { return !answers.messages.empty(); }));
    for (std::uint64_t offset = 0; offset < bytes.size(); offset += kMessageBytes)
      EXPECT_TRUE(
          links[0]->send({.words = {offset}}, std::span(bytes).subspan(offset, kMessageBytes)));
    EXPECT_TRUE(
        run_until({{links[0].get(), &answers}}, [&] { return links[0]->queued_bytes() == 0; }));
  } else if (!links.empty()) {
    serve_both(*links[0], bytes);
  }
  ASSERT_TRUE(ranks_->barrier());
}

TEST_F(Hosts, mpi_messages_use_the_network) {
  constexpr std::size_t kBytes = std::size_t{8} << 20U;
  const Rank receiver = ranks_->nodes().leader_of(Node{1});
  const std::uint64_t before = probe::host_received_bytes();
  ASSERT_TRUE(ranks_->barrier());
  if (ranks_->rank() == Rank{0}) {
    EXPECT_TRUE(ranks_->send(pattern(0, kBytes), receiver, Tag{1}).wait());
  } else if (ranks_->rank() == receiver) {
    Bytes bytes(kBytes);
    EXPECT_TRUE(ranks_->receive(bytes, Rank{0}, Tag{1}).wait());
    EXPECT_TRUE(bytes == pattern(0, kBytes));
    EXPECT_GE(probe::host_received_bytes() - before, kBytes) << "they arrived by another way";
  }
  ASSERT_TRUE(ranks_->barrier());
}

}  // namespace
}  // namespace forebay::comm
