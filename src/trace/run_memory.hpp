// SPDX-License-Identifier: Apache-2.0
// RunMemory: the memory that processes under `forebay run` share with their agent
// (docs/formats/run-memory.md). Plain data without functions of a C++ library: the preloaded
// library has none.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "trace/trace_ring.hpp"

namespace forebay::trace {

enum class RunOpenKind : std::uint8_t {
  kFile,     ///< a file of POSIX
  kMpiFile,  ///< a file of MPI-IO
  kProgram,  ///< a program that a process is about to execute; its numbers are 0
  kLibrary,  ///< a shared object that the process has loaded; it has no number
};

/// A file that a process has opened.
struct RunOpen {
  static constexpr std::size_t kPathMax = 456;

  std::uint32_t process = 0;  ///< number of its part
  std::uint16_t file = 0;     ///< number that the process has given it
  std::uint16_t path_bytes = 0;
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::uint64_t size_bytes = 0;
  std::uint64_t modified_ns = 0;  ///< time of the last modification, since 1970
  RunOpenKind kind = RunOpenKind::kFile;
  bool has_waited = false;          ///< for storage, when it was opened
  FileView view;                    ///< of kMpiFile
  std::array<char, kPathMax> path;  ///< absolute; of a program: or a name that is in PATH
};

/// A bounded queue of many producers and one consumer: an array of entries with sequence numbers
/// (D. Vyukov, Bounded MPMC queue).
class RunOpenQueue {
 public:
  static constexpr std::size_t kEntries = 1024;
  static constexpr int kAttemptsMax = 10'000;

  /// Once, before any other thread uses it.
  void initialize() noexcept {
    for (std::size_t i = 0; i < kEntries; ++i)
      entries_[i].sequence.store(i, std::memory_order_relaxed);
  }

  /// Calls `fill(RunOpen&)` for a new entry. False if the queue is full, or damaged by a process.
  template <class F>
  bool push(F fill) noexcept {
    std::uint64_t at = head_.load(std::memory_order_relaxed);
    for (int attempt = 0; attempt < kAttemptsMax; ++attempt) {
      Entry& entry = entries_[at % kEntries];
      const std::uint64_t sequence = entry.sequence.load(std::memory_order_acquire);
      if (sequence == at) {
        if (!head_.compare_exchange_weak(at, at + 1, std::memory_order_relaxed)) continue;
        fill(entry.open);
        // Not if the consumer has skipped the entry meanwhile.
        std::uint64_t taken = at;
        return entry.sequence.compare_exchange_strong(taken, at + 1, std::memory_order_release);
      }
      if (sequence < at) return false;
      at = head_.load(std::memory_order_relaxed);
    }
    return false;
  }

  // The consumer.

  /// The oldest entry, until pop(); null if it is not complete.
  const RunOpen* front() const noexcept {
    const Entry& entry = entries_[tail_ % kEntries];
    return entry.sequence.load(std::memory_order_acquire) == tail_ + 1 ? &entry.open : nullptr;
  }
  /// True if the oldest entry was taken and is not complete.
  bool is_incomplete() const noexcept {
    return front() == nullptr && head_.load(std::memory_order_relaxed) > tail_;
  }
  /// Removes the oldest entry, also one that is not complete.
  void pop() noexcept {
    entries_[tail_ % kEntries].sequence.store(tail_ + kEntries, std::memory_order_release);
    ++tail_;
  }

 private:
  struct Entry {
    std::atomic<std::uint64_t> sequence;
    RunOpen open;
  };

  alignas(64) std::atomic<std::uint64_t> head_{0};
  alignas(64) std::uint64_t tail_ = 0;
  alignas(64) std::array<Entry, kEntries> entries_;
};

enum class RunPartState : std::uint32_t { kFree, kTaken, kActive, kEnded };

/// A process that records.
struct RunProcess {
  static constexpr std::size_t kCommandMax = 992;
  static constexpr std::uint32_t kNoRank = UINT32_MAX;

  std::atomic<RunPartState> state{RunPartState::kFree};
  std::uint32_t pid = 0;
  std::uint64_t pid_namespace = 0;  ///< in which `pid` is valid, by inode; 0: unknown
  std::atomic<std::uint32_t> lost_opens{0};
  std::uint32_t rank = kNoRank;  ///< in MPI_COMM_WORLD
  std::uint32_t command_bytes = 0;
  std::array<char, kCommandMax> command;  ///< its first words, each with a zero byte at the end
};

/// The ring of a thread. Processes map only those that they use.
struct alignas(4096) RunRing {
  std::atomic<RunPartState> state{RunPartState::kFree};
  std::uint32_t process = 0;  ///< number of its part
  std::uint32_t thread = 0;   ///< as gettid()
  TraceRing ring;
};

struct RunMemory {
  static constexpr std::uint64_t kMagic = 0x6e7552796246ULL;  // "FbyRun"
  static constexpr std::uint32_t kVersion = 5;
  static constexpr std::size_t kProcesses = 1024;
  static constexpr std::size_t kRings = 512;

  std::uint64_t magic = kMagic;
  std::uint32_t version = kVersion;
  /// 1 while the agent sleeps until a process wakes it (futex).
  alignas(64) std::atomic<std::uint32_t> doorbell{0};
  /// Parts from these numbers on were never taken.
  std::atomic<std::uint32_t> process_end{0};
  std::atomic<std::uint32_t> ring_end{0};
  /// Threads that found no ring, and processes that found no part.
  std::atomic<std::uint32_t> unrecorded_threads{0};
  std::atomic<std::uint32_t> unrecorded_processes{0};
  std::array<RunProcess, kProcesses> processes;
  RunOpenQueue opens;
  /// Where processes look for a ring without mapping it: 1 + the part that used it last, or 0. Only
  /// the state of the ring decides whether it is free.
  std::array<std::atomic<std::uint32_t>, kRings> ring_users;
  std::array<RunRing, kRings> rings;  ///< last
};

/// Bytes in front of the rings.
inline constexpr std::size_t kRunHeadBytes = sizeof(RunMemory) - sizeof(RunMemory::rings);

static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

}  // namespace forebay::trace
