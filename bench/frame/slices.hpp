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

#include <sys/mman.h>

namespace forebay::bench {

/// How a file is cut into tasks, and on how many threads they run.
struct Cut {
  std::filesystem::path path;
  std::uint64_t file_bytes = 0;
  std::uint64_t task_count = 0;
  unsigned threads = 1;

  std::uint64_t task_bytes() const noexcept { return file_bytes / task_count; }
  ByteRange slice(std::uint64_t task) const noexcept { return {task * task_bytes(), task_bytes()}; }
};

/// Anonymous memory that is touched before any clock starts, as an application's buffers are.
class TouchedMemory {
 public:
  explicit TouchedMemory(std::uint64_t size_bytes);
  ~TouchedMemory() { ::munmap(base_, size_bytes_); }
  TouchedMemory(const TouchedMemory&) = delete;
  TouchedMemory& operator=(const TouchedMemory&) = delete;
  std::span<std::byte> bytes() const noexcept {
    return {static_cast<std::byte*>(base_), size_bytes_};
  }

 private:
  void* base_;
  std::uint64_t size_bytes_;
};

/// Reads one word of each cache line; fails if a word is not its own offset in the file.
Status touch(std::span<const std::byte> bytes, std::uint64_t offset_bytes);

}  // namespace forebay::bench
