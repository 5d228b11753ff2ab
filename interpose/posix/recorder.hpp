// SPDX-License-Identifier: Apache-2.0
// Recorder: writes what this process reads into the memory that it shares with the agent of
// `forebay run` (trace/run_memory.hpp). It answers no call and changes no result.
#pragma once

#include <atomic>
#include <cstdint>

#include <sys/types.h>

namespace forebay::trace {
struct RunOpen;
struct TraceRecord;
}  // namespace forebay::trace

namespace forebay::interpose {

/// Number of an open file in this process: all descriptors that share a file position have it.
using FileNumber = std::uint16_t;
inline constexpr FileNumber kNoFile = 0;

/// How a file was opened.
enum class Position : std::uint8_t {
  kTracked,  ///< only calls of this library change it
  kUnknown,  ///< ask the kernel before each read: writes and other processes change it, too
};

// Any thread, and signal handlers. None changes errno.

/// Before main(): reads the environment.
void start_recording() noexcept;
/// For good, at the end or before the program restricts its system calls. Without effect in a child
/// of vfork().
void stop_recording() noexcept;
extern constinit std::atomic<bool> is_off;
inline bool is_recording() noexcept { return !is_off.load(std::memory_order_relaxed); }

/// Another process shares the positions of all files that are open now: a child of fork(), or a
/// program that is executed.
void share_positions() noexcept;

/// A descriptor of a file that a call has opened.
void add_descriptor(int descriptor, Position position) noexcept;
/// `copy` is a duplicate of `descriptor` from now on.
void copy_descriptor(int descriptor, int copy) noexcept;
/// Before descriptors from `first` to `last` are closed.
void remove_descriptors(unsigned first, unsigned last) noexcept;
/// Before a descriptor is closed, or after its number was given to a file that is not recorded.
void forget_descriptor(int descriptor) noexcept;
/// kNoFile: nothing is recorded for the descriptor.
FileNumber file_of(int descriptor) noexcept;

/// The position of the file is `offset` now.
void set_position(FileNumber file, std::uint64_t offset) noexcept;
/// From now on others move the position of this file, such as stdio.
void use_kernel_position(int descriptor) noexcept;

/// On the clock of record_read().
std::uint64_t now_ns() noexcept;
/// After an open that began at this time. If it has waited for storage, the agent receives the file
/// at once, not with the first read.
void record_open(int descriptor, std::uint64_t begin_ns) noexcept;
/// A call that has read `size` bytes at the position of the file, which follows them now.
void record_read(int descriptor, FileNumber file, std::uint64_t begin_ns, ssize_t size) noexcept;
/// A call that has read `size` bytes at `offset`.
void record_read_at(int descriptor,
                    FileNumber file,
                    std::uint64_t begin_ns,
                    ssize_t size,
                    std::uint64_t offset) noexcept;
/// A call that requests bytes and does not wait for them. `flags` are those of a trace record.
void record_request(int descriptor,
                    std::uint64_t offset,
                    std::uint64_t size,
                    std::uint8_t flags) noexcept;

/// The shared objects of this process. Only its end calls it: the dynamic linker has a lock.
void record_libraries() noexcept;

/// Directory of a program that is searched for in PATH if its name has no slash.
inline constexpr int kSearched = -1;
/// Before a program is executed: it may be one that drops this library. `path` is relative to a
/// descriptor or AT_FDCWD; if it is empty, the descriptor is the program. Changes nothing in this
/// process, so a child of vfork() may call it.
void record_program(int directory, const char* path) noexcept;

// Files of another interface, without a descriptor.

/// A number that no other file has; kNoFile if none is left.
FileNumber new_file() noexcept;
/// Fills in what the kernel states about the file at `path`. False if nothing is recorded of it.
bool describe_file(const char* path, trace::RunOpen& open) noexcept;
/// Announces a file to the agent. Without a number it is counted as lost, unless it is a library.
void announce_file(const trace::RunOpen& open) noexcept;
/// A call on an announced file.
void record_call(const trace::TraceRecord& record) noexcept;

}  // namespace forebay::interpose
