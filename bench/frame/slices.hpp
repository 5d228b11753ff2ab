// SPDX-License-Identifier: Apache-2.0
// What benchmarks of reading share: one file cut into slices, a task for each, and the memory that
// tasks own. Every variant touches each cache line of its data and checks what it read.
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
struct Cut {
  std::filesystem::path path;
  std::uint64_t file_bytes = 0;
  std::uint64_t task_count = 0;
  unsigned threads = 1;
  std::vector<std::uint64_t> order = {};  ///< which slice each task has; empty: its own number

  std::uint64_t task_bytes() const noexcept { return file_bytes / task_count; }
  ByteRange slice(std::uint64_t task) const noexcept {
    const std::uint64_t number = order.empty() ? task : order[task];
    return {number * task_bytes(), task_bytes()};
  }
  /// Gives the tasks their slices in a random order, the same in each run.
  void shuffle();
};

/// Anonymous memory that is touched before any clock starts, as an application's buffers are. It
/// begins with a huge page and is made of them where the system has some: direct transfers from
/// pages of 4 KiB take up to twice the time, and Forebay's pool and fio have huge ones.
class TouchedMemory {
 public:
  /// `size_bytes` of zeros, at least 1. Fails where there is not that much: one rank may, so those
  /// of a team agree.
  static Result<TouchedMemory> make(std::uint64_t size_bytes);
  ~TouchedMemory();
  TouchedMemory(TouchedMemory&& other) noexcept;
  TouchedMemory& operator=(TouchedMemory&& other) noexcept;
  std::span<std::byte> bytes() const noexcept { return bytes_; }

 private:
  explicit TouchedMemory(std::span<std::byte> bytes) noexcept : bytes_(bytes) {}
  std::span<std::byte> bytes_;  // mapped; empty once it was moved away
};

/// Reads one word of each cache line; fails if a word is not its own offset in the file.
Status touch(std::span<const std::byte> bytes, std::uint64_t offset_bytes);

}  // namespace forebay::bench
