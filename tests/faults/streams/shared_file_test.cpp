// SPDX-License-Identifier: Apache-2.0
// Processes write one file at the same time, each its own ranges. At the end the file has every
// byte. No process shortens or extends it, or overwrites bytes of another.
#include <algorithm>
#include <array>
#include <climits>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

#include "base/testing.hpp"
#include "stream_configs.hpp"
#include "tests/faults/datasets/test_seeds.hpp"

namespace forebay::faults {
namespace {

constexpr std::uint64_t kSharedBytes = 600'000;
constexpr std::uint64_t kOldBytes = kSharedBytes + 777;
constexpr std::uint64_t kShortRangeBytes = 3000;
constexpr std::uint64_t kLongRangeBytes = 40'000;

struct WrittenRange {
  ByteRange range;
  int process = 0;
};

/// Splits the file into ranges whose ends are mostly inside a block, and assigns each to a process.
std::vector<WrittenRange> ranges_of(std::uint64_t seed, int processes) {
  std::mt19937_64 random(seed);
  std::vector<WrittenRange> ranges;
  for (std::uint64_t at = 0; at < kSharedBytes;) {
    const std::uint64_t longest = random() % 3 == 0 ? kLongRangeBytes : kShortRangeBytes;
    const std::uint64_t size = std::min(1 + random() % longest, kSharedBytes - at);
    const auto process = static_cast<int>(random() % static_cast<std::uint64_t>(processes));
    ranges.push_back({.range = {at, size}, .process = process});
    at += size;
  }
  std::ranges::shuffle(ranges, random);
  return ranges;
}

std::byte byte_at(std::uint64_t offset) { return static_cast<std::byte>(offset * 31 + offset / 7); }

std::vector<std::byte> content(ByteRange range) {
  std::vector<std::byte> bytes(range.size);
  for (std::uint64_t i = 0; i < range.size; ++i)
    bytes[i] = byte_at(range.offset + i);
  return bytes;
}

Status write_pieces(const WriteConfig& config,
                    const std::string& path,
                    const std::vector<WrittenRange>& ranges,
                    int process) {
  Runtime runtime({.tuning = {.backend = config.backend}});
  OutputStream out = must(runtime.create_output_stream(config.plan()));
  const OutputFile file = must(out.create(path, {.existing_content = ExistingContent::kKeep}));
  int written = 0;
  for (const WrittenRange& range : ranges) {
    if (range.process != process) continue;
    const Status done = out.write(file, range.range.offset, content(range.range));
    if (!done) return done;
    const bool drains = ++written % 8 == 0;
    if (const Status drained = drains ? out.drain() : Status(); !drained) return drained;
  }
  return out.sync();
}

/// Returns when the ranges are written. The stream keeps the space that it reserved, unlike with
/// drain().
Status write_without_drain(OutputStream& out,
                           const OutputFile& file,
                           const std::vector<WrittenRange>& ranges) {
  std::uint64_t written = 0;
  for (const WrittenRange& range : ranges) {
    if (range.process != 0) continue;
    const Status done = out.write(file, range.range.offset, content(range.range));
    if (!done) return done;
    ++written;
  }
  while (out.report().buffers < written) {
    if (const auto free = out.try_acquire(); !free) return failure(free.error());
    std::this_thread::yield();
  }
  return {};
}

/// A pipe that carries one text between processes.
class Channel {
 public:
  Channel() { EXPECT_EQ(::pipe(ends_.data()), 0); }
  ~Channel() {
    ::close(ends_[0]);
    ::close(ends_[1]);
  }
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;
  bool send(const std::string& text) const {
    return ::write(ends_[1], text.data(), text.size()) == static_cast<ssize_t>(text.size());
  }
  /// Empty if the other process ended before it sent anything.
  std::string receive() {
    ::close(std::exchange(ends_[1], -1));
    std::array<char, PATH_MAX> text{};
    const ssize_t size = ::read(ends_[0], text.data(), text.size());
    return {text.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0))};
  }

 private:
  std::array<int, 2> ends_{};
};

/// Writes its own ranges first, and publishes the file after the others have written theirs.
Status create_and_publish(const WriteConfig& config,
                          const std::string& path,
                          std::uint64_t expected_bytes,
                          const std::vector<WrittenRange>& ranges,
                          const Channel& created,
                          Channel& complete) {
  Runtime runtime({.tuning = {.backend = config.backend}});
  OutputStream out = must(runtime.create_output_stream(config.plan()));
  const OutputFile file = must(out.create(path, {.expected_bytes = expected_bytes,
                                                 .visibility = FileVisibility::kOnPublish,
                                                 .sharing = FileSharing::kShared}));
  if (const Status done = write_without_drain(out, file, ranges); !done) return done;
  if (!created.send(file.write_path()) || complete.receive().empty()) return out.drain();
  return file.publish();
}

std::vector<std::byte> bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

/// Starts a process that runs `work`.
template <class Work>
pid_t start(const Work& work) {
  const pid_t child = ::fork();
  EXPECT_GE(child, 0);
  if (child == 0) ::_exit(work() ? 0 : 1);
  return child;
}

bool wait_for_success(pid_t child) {
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

class SharedFile : public ::testing::TestWithParam<WriteConfig> {
 protected:
  void write_and_compare(std::uint64_t seed, int processes) {
    const std::string path = directory_ / "shared";
    // Longer than the written bytes, and keeps its length; or empty, and grows.
    const std::uint64_t old_bytes = seed % 2 == 0 ? kOldBytes : 0;
    std::ofstream(path, std::ios::binary) << std::string(old_bytes, 'o');
    const std::vector<WrittenRange> ranges = ranges_of(seed, processes);
    std::vector<pid_t> children;
    for (int process = 0; process < processes; ++process)
      children.push_back(start([&] { return write_pieces(GetParam(), path, ranges, process); }));
    for (const pid_t child : children)
      EXPECT_TRUE(wait_for_success(child)) << "seed " << seed;
    std::vector<std::byte> wanted = content({0, kSharedBytes});
    if (old_bytes > 0) wanted.resize(old_bytes, std::byte{'o'});
    ASSERT_EQ(bytes_of(path), wanted) << "seed " << seed;
  }
  /// Process 0 creates the file, the three others join.
  void create_join_and_compare(std::uint64_t seed, std::uint64_t expected_bytes) {
    const std::string path = directory_ / "shared";
    const std::vector<WrittenRange> ranges = ranges_of(seed, 4);
    Channel created;
    Channel complete;
    const pid_t creator = start([&] {
      return create_and_publish(GetParam(), path, expected_bytes, ranges, created, complete);
    });
    const std::string joined = created.receive();
    ASSERT_NE(joined, "") << "seed " << seed;
    std::vector<pid_t> others;
    for (int process = 1; process < 4; ++process)
      others.push_back(start([&] { return write_pieces(GetParam(), joined, ranges, process); }));
    for (const pid_t other : others)
      ASSERT_TRUE(wait_for_success(other)) << "seed " << seed;
    ASSERT_TRUE(complete.send("all"));
    ASSERT_TRUE(wait_for_success(creator)) << "seed " << seed;
    ASSERT_EQ(bytes_of(path), content({0, kSharedBytes})) << "seed " << seed;
    std::filesystem::remove(path);
  }
  static std::uint64_t rounds() { return is_exhaustive() ? 200 : 10; }

  TemporaryDirectory directory_;
};

TEST_P(SharedFile, has_all_ranges_of_2_processes) {
  for (std::uint64_t seed = 1; seed <= rounds(); ++seed)
    write_and_compare(seed, 2);
}

TEST_P(SharedFile, has_all_ranges_of_4_processes) {
  for (std::uint64_t seed = 1; seed <= rounds(); ++seed)
    write_and_compare(seed, 4);
}

TEST_P(SharedFile, published_by_its_creator_has_the_ranges_of_3_others) {
  for (std::uint64_t seed = 1; seed <= rounds(); ++seed)
    create_join_and_compare(seed, 0);
}

TEST_P(SharedFile, with_reserved_space_has_the_ranges_of_3_others) {
  for (std::uint64_t seed = 1; seed <= rounds(); ++seed)
    create_join_and_compare(seed, seed % 2 == 0 ? kSharedBytes : 3 * kSharedBytes);
}

INSTANTIATE_TEST_SUITE_P(All, SharedFile, ::testing::ValuesIn(stream_configs()), config_name);

}  // namespace
}  // namespace forebay::faults
