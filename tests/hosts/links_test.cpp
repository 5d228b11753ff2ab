// SPDX-License-Identifier: Apache-2.0
// Whether two hosts that two_hosts.py made are two to us, and whether what agents and MPI send each
// other really takes the network between them. Without this a test of two hosts may measure memory.
#include "comm/links.hpp"

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "comm/link_testing.hpp"
#include "comm/mpi/mpi_communicator.hpp"

namespace forebay::comm {
namespace {

using Ranks = std::shared_ptr<Communicator>;

constexpr std::size_t kMessageBytes = std::size_t{1} << 20U;
constexpr std::size_t kMessageCount = 64;
constexpr std::uint32_t kDone = 1;

std::vector<Rank> leaders_of(const Communicator& ranks) {
  std::vector<Rank> leaders;
  for (std::uint32_t node = 0; node < ranks.nodes().count(); ++node)
    leaders.push_back(ranks.nodes().leader_of(Node{node}));
  return leaders;
}

/// All that ever came to this host by its interfaces, without loopback.
std::uint64_t received_bytes_of_this_host() {
  std::ifstream table("/proc/self/net/dev");
  std::uint64_t total = 0;
  for (std::string line; std::getline(table, line);) {
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos || line.find(" lo:") != std::string::npos) continue;
    std::istringstream counters(line.substr(colon + 1));
    std::uint64_t received = 0;
    counters >> received;
    total += received;
  }
  return total;
}

/// In 10^6 bytes a second; 0: without a limit.
double limit_of_the_link() {
  const char* const text = std::getenv("FOREBAY_HOSTS_RATE_MBYTE");
  return text == nullptr ? 0 : std::atof(text);
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

/// From the first send to the answer that all is there.
double seconds_of_sending(Link& link, std::span<const std::byte> payload) {
  const auto start = std::chrono::steady_clock::now();
  for (std::uint64_t i = 0; i < kMessageCount; ++i) {
    const std::uint64_t offset = i * kMessageBytes;
    EXPECT_TRUE(link.send({.words = {offset}}, payload.subspan(offset, kMessageBytes)));
  }
  Inbox answers;
  EXPECT_TRUE(drive({{&link, &answers}}, [&] { return !answers.messages.empty(); }));
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
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

/// One transfer to the other host: its speed in 10^6 bytes a second, known to the sender alone.
double speed_of_one_try(Communicator& ranks, const Links& links, const Bytes& bytes) {
  const std::uint64_t before = received_bytes_of_this_host();
  EXPECT_TRUE(ranks.barrier());
  if (links.empty()) return 0;
  if (ranks.rank() == Rank{0}) {
    const double speed =
        static_cast<double>(bytes.size()) / seconds_of_sending(*links.front(), bytes) / 1e6;
    std::printf("%.1f million bytes a second\n", speed);
    return speed;
  }
  receive_all(*links.front(), bytes);
  const std::uint64_t by_network = received_bytes_of_this_host() - before;
  EXPECT_GE(by_network, bytes.size()) << "they came another way";
  EXPECT_LE(by_network, bytes.size() + bytes.size() / 5);
  return 0;
}

TEST_F(Hosts, links_carry_bytes_over_the_network_as_fast_as_it_is) {
  constexpr int kTriesMax = 8;  // somebody else may need the processors
  const Links links = must(connect_agents(*ranks_, leaders_of(*ranks_), {}), "connect");
  const Bytes bytes = links.empty() ? Bytes() : pattern(0, kMessageCount * kMessageBytes);
  const double limit = limit_of_the_link();
  std::uint64_t is_fast = 0;
  for (int i = 0; i < kTriesMax && is_fast == 0; ++i) {
    const double speed = speed_of_one_try(*ranks_, links, bytes);
    EXPECT_TRUE(limit == 0 || speed <= 1.05 * limit) << "the link is not limited";
    is_fast = must(ranks_->all_reduce(Reduction::kMax, speed >= 0.9 * limit ? 1 : 0), "tell");
  }
  EXPECT_EQ(is_fast, 1U) << "never 90 % of " << limit;
}

TEST_F(Hosts, messages_of_mpi_take_the_network_too) {
  constexpr std::size_t kBytes = std::size_t{8} << 20U;
  const Rank receiver = ranks_->nodes().leader_of(Node{1});
  const std::uint64_t before = received_bytes_of_this_host();
  ASSERT_TRUE(ranks_->barrier());
  if (ranks_->rank() == Rank{0}) {
    EXPECT_TRUE(ranks_->send(pattern(0, kBytes), receiver, Tag{1}).wait());
  } else if (ranks_->rank() == receiver) {
    Bytes bytes(kBytes);
    EXPECT_TRUE(ranks_->receive(bytes, Rank{0}, Tag{1}).wait());
    EXPECT_TRUE(bytes == pattern(0, kBytes));
    EXPECT_GE(received_bytes_of_this_host() - before, kBytes) << "they came another way";
  }
  ASSERT_TRUE(ranks_->barrier());
}

}  // namespace
}  // namespace forebay::comm
