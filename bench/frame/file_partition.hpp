// SPDX-License-Identifier: Apache-2.0
// Shared by benchmarks of reading: a file cut into slices, one task for each, and memory of tasks.
// Every variant touches each cache line of its data and verifies the bytes.
#pragma once

#include <forebay/error.hpp>
#include <forebay/range.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

namespace forebay::bench {

/// How a file is cut into tasks, and on how many threads they run.
struct FilePartition {
  std::filesystem::path path;
  std::uint64_t file_bytes = 0;
  std::uint64_t task_count = 0;
  unsigned threads = 1;
  std::vector<std::uint64_t> order = {};  ///< slice of each task; empty: by task number

  std::uint64_t task_bytes() const noexcept { return file_bytes / task_count; }
  ByteRange slice(std::uint64_t task) const noexcept {
    const std::uint64_t number = order.empty() ? task : order[task];
    return {number * task_bytes(), task_bytes()};
  }
  /// Assigns slices to tasks in a random order, the same in each run.
  void shuffle();
};

/// Anonymous memory that is touched before the clock starts, like an application's buffers. It
/// begins at a huge page boundary and consists of huge pages if the system has some. Direct
/// transfers from pages of 4 KiB take up to twice the time, and Forebay's pool and fio have huge
/// pages.
class PrefaultedMemory {
 public:
  /// `size_bytes` of zeros, at least 1. Fails if memory is insufficient. This may affect a single
  /// rank, so the ranks of a team agree on the result.
  static Result<PrefaultedMemory> make(std::uint64_t size_bytes);
  ~PrefaultedMemory();
  PrefaultedMemory(PrefaultedMemory&& other) noexcept;
  PrefaultedMemory& operator=(PrefaultedMemory&& other) noexcept;
  std::span<std::byte> bytes() const noexcept { return bytes_; }

 private:
  explicit PrefaultedMemory(std::span<std::byte> bytes) noexcept : bytes_(bytes) {}
  std::span<std::byte> bytes_;  // mapped; empty after a move
};

/// Reads one word of each cache line; fails if a word does not equal its offset in the file.
Status verify_words(std::span<const std::byte> bytes, std::uint64_t offset_bytes);

}  // namespace forebay::bench
