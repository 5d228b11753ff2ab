// SPDX-License-Identifier: Apache-2.0
// Memory of other processes: the same bytes seen from both sides, handles that are not valid any
// more, and mappings that are cached and bounded.
#include "write/peer_memory_cache.hpp"

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

using shm::ChildProcess;
using shm::NodeMemory;

constexpr std::uint64_t kSizeBytes = 256U << 10U;

NodeMemory make_memory(std::uint64_t size_bytes = kSizeBytes) {
  auto memory = NodeMemory::create("forebay-test", size_bytes);
  EXPECT_TRUE(memory) << memory.error().message();
  EXPECT_TRUE(memory->prefault({0, size_bytes}));
  return std::move(*memory);
}

/// Two pipes: messages of two processes in both directions.
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
    if (!wait_until_readable(pipe[0])) return std::nullopt;
    return ::read(pipe[0], &value, sizeof(value)) == sizeof(value) ? std::optional(value)
                                                                   : std::nullopt;
  }

  std::array<int, 2> down{};
  std::array<int, 2> up{};
};

/// Creates memory, sends its handle, and ends when it receives a byte.
int serve_memory(const Pipes& pipes) {
  auto memory = NodeMemory::create("forebay-test", kSizeBytes);
  if (!memory || !memory->prefault({0, kSizeBytes})) return 1;
  memory->bytes()[1000] = std::byte{77};
  if (!Pipes::send(pipes.up, memory->handle())) return 2;
  if (!Pipes::receive<char>(pipes.down)) return 3;
  return memory->bytes()[2000] == std::byte{88} ? 0 : 4;
}

TEST(PeerMemoryCache, two_processes_share_the_same_bytes) {
  const Pipes pipes;
  ChildProcess owner([&] { return serve_memory(pipes); });
  const auto name = Pipes::receive<MemoryHandle>(pipes.up);
  ASSERT_TRUE(name);
  EXPECT_EQ(name->process, static_cast<std::uint32_t>(owner.pid()));
  PeerMemoryCache peers;
  const auto mapped = peers.map(*name, {1000, 3000});
  ASSERT_TRUE(mapped) << mapped.error().message();
  EXPECT_EQ(mapped->bytes.size(), 3000U);
  EXPECT_EQ(mapped->bytes[0], std::byte{77});
  mapped->bytes[1000] = std::byte{88};
  ASSERT_TRUE(Pipes::send(pipes.down, 'x'));
  EXPECT_EQ(owner.exit_code(), 0);
  // The owner has ended; a mapping that is held stays.
  EXPECT_EQ(mapped->bytes[0], std::byte{77});
  EXPECT_TRUE(peers.map(*name, {1000, 1})) << "cached";
  EXPECT_EQ(error_class(PeerMemoryCache().map(*name, {1000, 1})), ErrorClass::kNotFound);
  EXPECT_EQ(mapped->bytes[1000], std::byte{88});
}

TEST(PeerMemoryCache, held_mapping_outlives_killed_owner) {
  const Pipes pipes;
  const ChildProcess owner([&] { return serve_memory(pipes); });
  const auto name = Pipes::receive<MemoryHandle>(pipes.up);
  ASSERT_TRUE(name);
  PeerMemoryCache peers;
  const auto mapped = peers.map(*name, {0, kSizeBytes});
  ASSERT_TRUE(mapped) << mapped.error().message();
  owner.kill();
  EXPECT_EQ(mapped->bytes[1000], std::byte{77});
}

/// In a process of another user.
int map_as_nobody(const MemoryHandle& name) {
  if (::setgid(65534) != 0 || ::setuid(65534) != 0) return 2;
  PeerMemoryCache peers;
  const auto mapped = peers.map(name, {0, 1});
  if (mapped) return 3;
  return mapped.error().kind() == ErrorClass::kPermission ? 0 : 4;
}

TEST(PeerMemoryCache, memory_of_other_user_is_refused_with_permission) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can become another user";
  const NodeMemory memory = make_memory();
  EXPECT_EQ(ChildProcess([&] { return map_as_nobody(memory.handle()); }).exit_code(), 0);
}

TEST(PeerMemoryCache, own_process_memory_is_mapped) {
  const NodeMemory memory = make_memory();
  memory.bytes()[kSizeBytes - 1] = std::byte{5};
  PeerMemoryCache peers;
  const auto mapped = peers.map(memory.handle(), {kSizeBytes - 1, 1});
  ASSERT_TRUE(mapped) << mapped.error().message();
  EXPECT_EQ(mapped->bytes[0], std::byte{5});
}

TEST(PeerMemoryCache, outside_range_is_refused_and_empty_range_is_free) {
  const NodeMemory memory = make_memory();
  PeerMemoryCache peers;
  for (const ByteRange& range : {ByteRange{0, kSizeBytes + 1}, ByteRange{kSizeBytes, 1},
                                 ByteRange{1, kAll}, ByteRange{kAll, 2}}) {
    EXPECT_EQ(error_class(peers.map(memory.handle(), range)), ErrorClass::kOutOfRange);
  }
  const auto nothing = peers.map(memory.handle(), {kSizeBytes, 0});
  ASSERT_TRUE(nothing);
  EXPECT_TRUE(nothing->bytes.empty());
  EXPECT_EQ(peers.mapping_count(), 0U);
}

TEST(PeerMemoryCache, same_memory_is_mapped_once) {
  const NodeMemory memory = make_memory();
  PeerMemoryCache peers;
  const auto first = peers.map(memory.handle(), {0, 10});
  const auto second = peers.map(memory.handle(), {5, 10});
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->bytes.data() + 5, second->bytes.data());
  EXPECT_EQ(peers.mapping_count(), 1U);
}

TEST(PeerMemoryCache, least_recently_used_mapping_is_evicted) {
  const std::array<NodeMemory, 3> memories{make_memory(), make_memory(), make_memory()};
  PeerMemoryCache peers({.mappings = 2});
  const auto base = [&](std::size_t i) { return peers.map(memories[i].handle(), {0, 1}); };
  const auto first = base(0);
  base(1).value();
  EXPECT_EQ(base(0)->bytes.data(), first->bytes.data()) << "used again";
  base(2).value();
  EXPECT_EQ(peers.mapping_count(), 2U);
  EXPECT_EQ(base(0)->bytes.data(), first->bytes.data()) << "cached";
  base(1).value();
  base(2).value();
  EXPECT_NE(base(0)->bytes.data(), first->bytes.data()) << "evicted, but still held";
  first->bytes[0] = std::byte{4};
  EXPECT_EQ(memories[0].bytes()[0], std::byte{4});
}

TEST(PeerMemoryCache, cached_addresses_are_bounded) {
  const NodeMemory small = make_memory(4096);
  const NodeMemory large = make_memory(1U << 20U);
  PeerMemoryCache peers({.bytes = 100'000});
  ASSERT_TRUE(peers.map(small.handle(), {0, 1}));
  EXPECT_EQ(peers.mapping_count(), 1U);
  const auto mapped = peers.map(large.handle(), {0, 1});
  ASSERT_TRUE(mapped);
  EXPECT_EQ(peers.mapping_count(), 0U) << "too large to be cached";
  mapped->bytes[0] = std::byte{1};
}

TEST(PeerMemoryCache, no_descriptor_stays_open) {
  const NodeMemory memory = make_memory();
  const std::size_t before = open_descriptor_count();
  PeerMemoryCache peers;
  const auto mapped = peers.map(memory.handle(), {0, 1});
  ASSERT_TRUE(mapped);
  EXPECT_EQ(open_descriptor_count(), before);
}

using Memories = std::array<NodeMemory, 4>;

void map_and_evict(PeerMemoryCache& peers, const Memories& memories, std::size_t thread) {
  for (std::size_t i = 0; i < 200; ++i) {
    const auto mapped = peers.map(memories[(i + thread) % 4].handle(), {thread, 1});
    ASSERT_TRUE(mapped) << mapped.error().message();
    mapped->bytes[0] = static_cast<std::byte>(thread + 1);
  }
}

TEST(PeerMemoryCache, threads_map_and_evict_concurrently) {
  const Memories memories{make_memory(), make_memory(), make_memory(), make_memory()};
  PeerMemoryCache peers({.mappings = 2});
  std::vector<std::thread> threads;
  for (std::size_t thread = 0; thread < 4; ++thread)
    threads.emplace_back([&, thread] { map_and_evict(peers, memories, thread); });
  for (std::thread& thread : threads)
    thread.join();
  for (const NodeMemory& memory : memories)
    EXPECT_EQ(memory.bytes()[3], std::byte{4});
  EXPECT_LE(peers.mapping_count(), 2U);
}

}  // namespace
}  // namespace forebay::write
