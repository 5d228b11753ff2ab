// SPDX-License-Identifier: Apache-2.0
// Whether two hosts that two_hosts.py made are two to us, and whether what agents and MPI send each
// other really takes the network between them. Without this a test of two hosts may measure memory.
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

/// Takes what arrives where its header says.
class Landing final : public LinkReceiver {
 public:
  explicit Landing(std::span<std::byte> memory) : memory_(memory) {}
  Result<std::span<std::byte>> place(Link& /*link*/, const LinkHeader& header) override {
    return memory_.subspan(header.words[0], header.payload_bytes);
  }
  Status received(Link& /*link*/,
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
  Ranks ranks_ = must(from_mpi(MPI_COMM_WORLD), "from_mpi");
};

TEST_F(Hosts, are_two_nodes_with_as_many_ranks_each) {
  const Nodes& nodes = ranks_->nodes();
  ASSERT_EQ(nodes.count(), 2U);
  EXPECT_EQ(nodes.ranks_of(Node{0}).size(), nodes.ranks_of(Node{1}).size());
}

/// Until the answer that all is there.
void send_all(Link& link, std::span<const std::byte> payload) {
  for (std::uint64_t i = 0; i < kMessageCount; ++i) {
    const std::uint64_t offset = i * kMessageBytes;
    EXPECT_TRUE(link.send({.words = {offset}}, payload.subspan(offset, kMessageBytes)));
  }
  Inbox answers;
  EXPECT_TRUE(drive({{&link, &answers}}, [&] { return !answers.messages.empty(); }));
}

void receive_all(Link& link, const Bytes& expected) {
  Bytes memory(expected.size());
  Landing landing(memory);
  EXPECT_TRUE(drive({{&link, &landing}}, [&] { return landing.count == kMessageCount; }));
  EXPECT_TRUE(link.send({.kind = kDone}, {}));
  EXPECT_TRUE(memory == expected);
  Landing nothing({});
  EXPECT_TRUE(drive({{&link, &nothing}}, [&] { return link.queued_bytes() == 0; }));
}

// How fast they are is `forebay bench read`'s to say: read.hosts.over_link.
TEST_F(Hosts, links_carry_bytes_over_the_network_and_hardly_more) {
  const Links links = must(connect_agents(*ranks_, leaders_of(*ranks_), {}), "connect");
  const std::uint64_t before = probe::received_bytes_of_this_host();
  const Bytes bytes = links.empty() ? Bytes() : pattern(0, kMessageCount * kMessageBytes);
  ASSERT_TRUE(ranks_->barrier());
  if (!links.empty() && ranks_->rank() == Rank{0}) {
    send_all(*links.front(), bytes);
  } else if (!links.empty()) {
    receive_all(*links.front(), bytes);
    const std::uint64_t by_network = probe::received_bytes_of_this_host() - before;
    EXPECT_GE(by_network, bytes.size()) << "they came another way";
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
class OnePlace {
 public:
  explicit OnePlace(Link& link)
      : link_(link),
        links_(::epoll_create1(EPOLL_CLOEXEC)),
        engine_(
            must(storage::make_backend({.choice = storage::BackendChoice::kThreads}), "start")) {
    epoll_event event{.events = EPOLLIN, .data = {}};
    EXPECT_EQ(::epoll_ctl(links_.get(), EPOLL_CTL_ADD, link.descriptor(), &event), 0);
    EXPECT_TRUE(engine_.watch(links_.get()));
  }

  storage::Engine& engine() { return engine_; }

  /// One wait, and what it calls for; how many operations of storage are done.
  std::size_t turn(Deadline deadline, LinkReceiver& receiver) {
    std::array<storage::Completion, 8> completions;
    const std::size_t count = engine_.wait(completions, deadline);
    const Status attended = engine_.take_watched() ? link_.attend(POLLIN, receiver) : Status();
    EXPECT_TRUE(attended);
    return count;
  }

 private:
  Link& link_;
  const Descriptor links_;  ///< an epoll
  storage::Engine engine_;
};

/// Idles, says go, and takes messages and reads of a file as they come.
void serve_both(Link& link, const Bytes& expected) {
  constexpr auto kIdle = std::chrono::milliseconds(200);
  // Polling would take most of it. Kernels count in ticks of up to 10 ms.
  constexpr auto kNothing = kIdle / 4;
  OnePlace place(link);
  Bytes memory(expected.size());
  Landing landing(memory);
  const auto before = processor_time_of_this_thread();
  EXPECT_EQ(place.turn(SteadyClock::shared().now() + kIdle, landing), 0U);
  EXPECT_LT(processor_time_of_this_thread() - before, kNothing);

  storage::MemoryFile file("data", expected);
  Bytes read(kMessageBytes);
  EXPECT_TRUE(link.send({.kind = kDone}, {}));
  std::size_t submitted = 0;
  std::size_t completed = 0;
  while (landing.count < kMessageCount || completed < kMessageCount) {
    if (submitted == completed && submitted < kMessageCount) {
      const auto operation = storage::read_operation(file, submitted * kMessageBytes, read, 1);
      submitted += place.engine().submit({&operation, 1});
    }
    completed += place.turn(std::nullopt, landing);
  }
  EXPECT_TRUE(memory == expected);
  EXPECT_TRUE(std::equal(read.begin(), read.end(), expected.end() - kMessageBytes));
}

TEST_F(Hosts, one_wait_serves_storage_and_the_network) {
  const Links links = must(connect_agents(*ranks_, leaders_of(*ranks_), {}), "connect");
  const Bytes bytes = links.empty() ? Bytes() : pattern(0, kMessageCount * kMessageBytes);
  if (!links.empty() && ranks_->rank() == Rank{0}) {
    Inbox answers;
    EXPECT_TRUE(drive({{links[0].get(), &answers}}, [&] { return !answers.messages.empty(); }));
    for (std::uint64_t offset = 0; offset < bytes.size(); offset += kMessageBytes)
      EXPECT_TRUE(
          links[0]->send({.words = {offset}}, std::span(bytes).subspan(offset, kMessageBytes)));
    EXPECT_TRUE(drive({{links[0].get(), &answers}}, [&] { return links[0]->queued_bytes() == 0; }));
  } else if (!links.empty()) {
    serve_both(*links[0], bytes);
  }
  ASSERT_TRUE(ranks_->barrier());
}

TEST_F(Hosts, messages_of_mpi_take_the_network_too) {
  constexpr std::size_t kBytes = std::size_t{8} << 20U;
  const Rank receiver = ranks_->nodes().leader_of(Node{1});
  const std::uint64_t before = probe::received_bytes_of_this_host();
  ASSERT_TRUE(ranks_->barrier());
  if (ranks_->rank() == Rank{0}) {
    EXPECT_TRUE(ranks_->send(pattern(0, kBytes), receiver, Tag{1}).wait());
  } else if (ranks_->rank() == receiver) {
    Bytes bytes(kBytes);
    EXPECT_TRUE(ranks_->receive(bytes, Rank{0}, Tag{1}).wait());
    EXPECT_TRUE(bytes == pattern(0, kBytes));
    EXPECT_GE(probe::received_bytes_of_this_host() - before, kBytes) << "they came another way";
  }
  ASSERT_TRUE(ranks_->barrier());
}

}  // namespace
}  // namespace forebay::comm
