// SPDX-License-Identifier: Apache-2.0
// What the parts of `bench solo` share: tasks that each want a slice of one file, and the two ways
// in which they can get it. Every variant touches each cache line of its data and checks what it
// read, outside the clock where possible.
#pragma once

#include <forebay/forebay.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>

#include <sys/mman.h>

#include "bench/frame/benchmark.hpp"

namespace forebay::bench::solo {

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

/// Seconds in which every task preads its slice on one descriptor into its own part of `memory`, or
/// into all of it if that has the size of one task, and touches it.
Result<double> time_pread(const Cut& cut, std::span<std::byte> memory);

/// Seconds from opening a session to the last line touched, each task awaiting a view of its slice.
Result<double> time_session(Runtime& runtime, const Cut& cut);

// The rows of the table, one file each.
Status bench_bandwidth(Context& context);
Status bench_requests(Context& context);
Status bench_memory(Context& context);
Status bench_blocks(Context& context);
Status bench_streams(Context& context);
Status bench_idle(Context& context);

}  // namespace forebay::bench::solo
