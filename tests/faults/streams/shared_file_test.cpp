// SPDX-License-Identifier: Apache-2.0
// Processes that write one file at the same time, each its own pieces: every byte is in the file at
// the end, and no process shortens it, lengthens it or rewrites what another one wrote.
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

#include "base/testing.hpp"
#include "tests/faults/datasets/how_often.hpp"
#include "writing.hpp"

namespace forebay::faults {
namespace {

constexpr std::uint64_t kSharedBytes = 600'000;
constexpr std::uint64_t kOldBytes = kSharedBytes + 777;
constexpr std::uint64_t kShortPieceBytes = 3000;
constexpr std::uint64_t kLongPieceBytes = 40'000;

struct Piece {
  ByteRange range;
  int process = 0;
};

/// The file in pieces of which most borders lie inside a block, and which process writes each.
std::vector<Piece> pieces_of(std::uint64_t seed, int processes) {
  std::mt19937_64 random(seed);
  std::vector<Piece> pieces;
  for (std::uint64_t at = 0; at < kSharedBytes;) {
    const std::uint64_t longest = random() % 3 == 0 ? kLongPieceBytes : kShortPieceBytes;
    const std::uint64_t size = std::min(1 + random() % longest, kSharedBytes - at);
    const auto process = static_cast<int>(random() % static_cast<std::uint64_t>(processes));
    pieces.push_back({.range = {at, size}, .process = process});
    at += size;
  }
  std::ranges::shuffle(pieces, random);
  return pieces;
}

std::byte byte_at(std::uint64_t offset) { return static_cast<std::byte>(offset * 31 + offset / 7); }

std::vector<std::byte> content(ByteRange range) {
  std::vector<std::byte> bytes(range.size);
  for (std::uint64_t i = 0; i < range.size; ++i)
    bytes[i] = byte_at(range.offset + i);
  return bytes;
}

Status write_own(const Way& way,
                 const std::string& path,
                 const std::vector<Piece>& pieces,
                 int process) {
  Runtime runtime({.engine = way.engine});
  OutputStream out = must(runtime.output_stream(way.plan()));
  const OutputFile file = must(out.create(path, {.existing = Existing::kKeep}));
  int written = 0;
  for (const Piece& piece : pieces) {
    if (piece.process != process) continue;
    const Status done = out.write(file, piece.range.offset, content(piece.range));
    if (!done) return done;
    const bool drains = ++written % 8 == 0;
    if (const Status drained = drains ? out.drain() : Status(); !drained) return drained;
  }
  return out.sync();
}

std::vector<std::byte> bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

class SharedFile : public ::testing::TestWithParam<Way> {
 protected:
  void write_and_compare(std::uint64_t seed, int processes) {
    const std::string path = folder_ / "shared";
    // Longer than what is written, and stays so; or empty, and grows.
    const std::uint64_t old_bytes = seed % 2 == 0 ? kOldBytes : 0;
    std::ofstream(path, std::ios::binary) << std::string(old_bytes, 'o');
    const std::vector<Piece> pieces = pieces_of(seed, processes);
    std::vector<pid_t> children;
    for (int process = 0; process < processes; ++process) {
      const pid_t child = ::fork();
      ASSERT_GE(child, 0);
      if (child == 0) ::_exit(write_own(GetParam(), path, pieces, process) ? 0 : 1);
      children.push_back(child);
    }
    for (const pid_t child : children) {
      int status = 0;
      ASSERT_EQ(::waitpid(child, &status, 0), child);
      EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "seed " << seed;
    }
    std::vector<std::byte> wanted = content({0, kSharedBytes});
    if (old_bytes > 0) wanted.resize(old_bytes, std::byte{'o'});
    ASSERT_EQ(bytes_of(path), wanted) << "seed " << seed;
  }
  static std::uint64_t rounds() { return tries_all() ? 200 : 10; }

  TemporaryFolder folder_;
};

TEST_P(SharedFile, pieces_of_2_processes_are_all_there) {
  for (std::uint64_t seed = 1; seed <= rounds(); ++seed)
    write_and_compare(seed, 2);
}

TEST_P(SharedFile, pieces_of_4_processes_are_all_there) {
  for (std::uint64_t seed = 1; seed <= rounds(); ++seed)
    write_and_compare(seed, 4);
}

INSTANTIATE_TEST_SUITE_P(All, SharedFile, ::testing::ValuesIn(ways()), way_name);

}  // namespace
}  // namespace forebay::faults
