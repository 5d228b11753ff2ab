// SPDX-License-Identifier: Apache-2.0
// Memory of other processes: the same bytes seen from both sides, names that are worth nothing any
// more, and mappings that are kept, bounded and forgotten.
#include "write/peer_memory.hpp"

#include <array>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

#include "base/testing.hpp"
#include "shm/node_memory.hpp"
#include "shm/testing.hpp"

namespace forebay::write {
namespace {

using shm::Child;
using shm::NodeMemory;

constexpr std::uint64_t kSizeBytes = 256U << 10U;

NodeMemory make_memory(std::uint64_t size_bytes = kSizeBytes) {
  auto memory = NodeMemory::create("forebay-test", size_bytes);
  EXPECT_TRUE(memory) << memory.error().message();
  EXPECT_TRUE(memory->prefault({0, size_bytes}));
  return std::move(*memory);
}

/// Two pipes: what a process tells another one, in both directions.
struct Pipes {
  Pipes() {
    EXPECT_EQ(::pipe(down.data()), 0);
    EXPECT_EQ(::pipe(up.data()), 0);
  }
  ~Pipes() {
    for (const int end : {down[0], down[1], up[0], up[1]})
      ::close(end);
  }
  Pipes(const Pipes&) = delete;
  Pipes& operator=(const Pipes&) = delete;

  template <class T>
  static bool send(const std::array<int, 2>& pipe, const T& value) {
    return ::write(pipe[1], &value, sizeof(value)) == sizeof(value);
  }
  template <class T>
  static std::optional<T> receive(const std::array<int, 2>& pipe) {
    T value{};
    if (!becomes_readable(pipe[0])) return std::nullopt;
    return ::read(pipe[0], &value, sizeof(value)) == sizeof(value) ? std::optional(value)
                                                                   : std::nullopt;
  }

  std::array<int, 2> down{};
  std::array<int, 2> up{};
};

/// Makes memory, tells its name, and ends when it is told to.
int own_memory(const Pipes& pipes) {
  auto memory = NodeMemory::create("forebay-test", kSizeBytes);
  if (!memory || !memory->prefault({0, kSizeBytes})) return 1;
  memory->bytes()[1000] = std::byte{77};
  if (!Pipes::send(pipes.up, memory->name())) return 2;
  if (!Pipes::receive<char>(pipes.down)) return 3;
  return memory->bytes()[2000] == std::byte{88} ? 0 : 4;
}

TEST(PeerMemory, two_processes_see_the_same_bytes) {
  const Pipes pipes;
  Child owner([&] { return own_memory(pipes); });
  const auto name = Pipes::receive<MemoryName>(pipes.up);
  ASSERT_TRUE(name);
  EXPECT_EQ(name->process, static_cast<std::uint32_t>(owner.pid()));
  PeerMemory peers;
  const auto mapped = peers.map(*name, {1000, 3000});
  ASSERT_TRUE(mapped) << mapped.error().message();
  EXPECT_EQ(mapped->bytes.size(), 3000U);
  EXPECT_EQ(mapped->bytes[0], std::byte{77});
  mapped->bytes[1000] = std::byte{88};
  ASSERT_TRUE(Pipes::send(pipes.down, 'x'));
  EXPECT_EQ(owner.result(), 0);
  // The owner is gone; what is held is not.
  EXPECT_EQ(mapped->bytes[0], std::byte{77});
  EXPECT_TRUE(peers.map(*name, {1000, 1})) << "kept";
  peers.forget(name->process);
  EXPECT_EQ(error_class(peers.map(*name, {1000, 1})), ErrorClass::kNotFound);
  EXPECT_EQ(mapped->bytes[1000], std::byte{88});
}

TEST(PeerMemory, a_killed_owner_leaves_what_is_held) {
  const Pipes pipes;
  const Child owner([&] { return own_memory(pipes); });
  const auto name = Pipes::receive<MemoryName>(pipes.up);
  ASSERT_TRUE(name);
  PeerMemory peers;
  const auto mapped = peers.map(*name, {0, kSizeBytes});
  ASSERT_TRUE(mapped) << mapped.error().message();
  owner.kill();
  EXPECT_EQ(mapped->bytes[1000], std::byte{77});
}

/// In a process of another user.
int map_as_nobody(const MemoryName& name) {
  if (::setgid(65534) != 0 || ::setuid(65534) != 0) return 2;
  PeerMemory peers;
  const auto mapped = peers.map(name, {0, 1});
  if (mapped) return 3;
  return mapped.error().kind() == ErrorClass::kPermission ? 0 : 4;
}

TEST(PeerMemory, of_another_user_is_refused_with_permission) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can become another user";
  const NodeMemory memory = make_memory();
  EXPECT_EQ(Child([&] { return map_as_nobody(memory.name()); }).result(), 0);
}

TEST(PeerMemory, works_for_the_own_process) {
  const NodeMemory memory = make_memory();
  memory.bytes()[kSizeBytes - 1] = std::byte{5};
  PeerMemory peers;
  const auto mapped = peers.map(memory.name(), {kSizeBytes - 1, 1});
  ASSERT_TRUE(mapped) << mapped.error().message();
  EXPECT_EQ(mapped->bytes[0], std::byte{5});
}

TEST(PeerMemory, ranges_outside_are_refused_and_empty_ones_cost_nothing) {
  const NodeMemory memory = make_memory();
  PeerMemory peers;
  for (const ByteRange& range : {ByteRange{0, kSizeBytes + 1}, ByteRange{kSizeBytes, 1},
                                 ByteRange{1, all}, ByteRange{all, 2}}) {
    EXPECT_EQ(error_class(peers.map(memory.name(), range)), ErrorClass::kOutOfRange);
  }
  const auto nothing = peers.map(memory.name(), {kSizeBytes, 0});
  ASSERT_TRUE(nothing);
  EXPECT_TRUE(nothing->bytes.empty());
  EXPECT_EQ(peers.mapping_count(), 0U);
}

TEST(PeerMemory, the_same_memory_is_mapped_once) {
  const NodeMemory memory = make_memory();
  PeerMemory peers;
  const auto first = peers.map(memory.name(), {0, 10});
  const auto second = peers.map(memory.name(), {5, 10});
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->bytes.data() + 5, second->bytes.data());
  EXPECT_EQ(peers.mapping_count(), 1U);
}

TEST(PeerMemory, the_longest_unused_mapping_goes_first) {
  const std::array<NodeMemory, 3> memories{make_memory(), make_memory(), make_memory()};
  PeerMemory peers({.mappings = 2});
  const auto base = [&](std::size_t i) { return peers.map(memories[i].name(), {0, 1}); };
  const auto first = base(0);
  base(1).value();
  EXPECT_EQ(base(0)->bytes.data(), first->bytes.data()) << "used again";
  base(2).value();
  EXPECT_EQ(peers.mapping_count(), 2U);
  EXPECT_EQ(base(0)->bytes.data(), first->bytes.data()) << "kept";
  base(1).value();
  base(2).value();
  EXPECT_NE(base(0)->bytes.data(), first->bytes.data()) << "had to go, but it is held";
  first->bytes[0] = std::byte{4};
  EXPECT_EQ(memories[0].bytes()[0], std::byte{4});
}

TEST(PeerMemory, addresses_that_are_kept_are_bounded) {
  const NodeMemory small = make_memory(4096);
  const NodeMemory large = make_memory(1U << 20U);
  PeerMemory peers({.bytes = 100'000});
  ASSERT_TRUE(peers.map(small.name(), {0, 1}));
  EXPECT_EQ(peers.mapping_count(), 1U);
  const auto mapped = peers.map(large.name(), {0, 1});
  ASSERT_TRUE(mapped);
  EXPECT_EQ(peers.mapping_count(), 0U) << "too large to be kept";
  mapped->bytes[0] = std::byte{1};
}

TEST(PeerMemory, forgets_one_memory_and_keeps_others) {
  const NodeMemory one = make_memory();
  const NodeMemory other = make_memory();
  PeerMemory peers;
  ASSERT_TRUE(peers.map(one.name(), {0, 1}) && peers.map(other.name(), {0, 1}));
  peers.forget(one.name());
  EXPECT_EQ(peers.mapping_count(), 1U);
  peers.forget(static_cast<std::uint32_t>(::getpid()) + 1);
  EXPECT_EQ(peers.mapping_count(), 1U);
  peers.forget(static_cast<std::uint32_t>(::getpid()));
  EXPECT_EQ(peers.mapping_count(), 0U);
}

TEST(PeerMemory, no_descriptor_stays_open) {
  const NodeMemory memory = make_memory();
  const std::size_t before = open_descriptors();
  PeerMemory peers;
  const auto mapped = peers.map(memory.name(), {0, 1});
  ASSERT_TRUE(mapped);
  EXPECT_EQ(open_descriptors(), before);
}

using Memories = std::array<NodeMemory, 4>;

void map_and_forget(PeerMemory& peers, const Memories& memories, std::size_t thread) {
  for (std::size_t i = 0; i < 200; ++i) {
    const auto mapped = peers.map(memories[(i + thread) % 4].name(), {thread, 1});
    ASSERT_TRUE(mapped) << mapped.error().message();
    mapped->bytes[0] = static_cast<std::byte>(thread + 1);
    if (i % 16 == 0) peers.forget(memories[i % 4].name());
  }
}

TEST(PeerMemory, threads_map_and_forget_at_the_same_time) {
  const Memories memories{make_memory(), make_memory(), make_memory(), make_memory()};
  PeerMemory peers({.mappings = 2});
  std::vector<std::thread> threads;
  for (std::size_t thread = 0; thread < 4; ++thread)
    threads.emplace_back([&, thread] { map_and_forget(peers, memories, thread); });
  for (std::thread& thread : threads)
    thread.join();
  for (const NodeMemory& memory : memories)
    EXPECT_EQ(memory.bytes()[3], std::byte{4});
  EXPECT_LE(peers.mapping_count(), 2U);
}

}  // namespace
}  // namespace forebay::write
