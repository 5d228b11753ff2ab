// SPDX-License-Identifier: Apache-2.0
// Backend: passes operations to the operating system, one attempt each, and returns the raw
// outcome. The Engine handles what an attempt may leave unfinished (short transfers, EINTR, 2 GiB),
// once for all backends.
#pragma once

#include <forebay/error.hpp>
#include <forebay/range.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/clock.hpp"
#include "storage/file.hpp"

namespace forebay::storage {

enum class OperationKind : std::uint8_t { kRead, kWrite, kSync, kAllocate };

/// The verb in messages: "read", "write", "sync", "allocate space for".
std::string_view name_of(OperationKind kind) noexcept;

/// One operation on one file. The file and the memory must live until wait() has returned its
/// completion.
struct Operation {
  OperationKind kind = OperationKind::kRead;
  File* file = nullptr;
  std::uint64_t offset_bytes = 0;
  std::span<std::byte> memory = {};  ///< read: is filled; write: is only read; otherwise empty
  std::uint64_t length_bytes = 0;    ///< allocate only
  /// Returned with the completion; has a meaning for the caller only. Any value for Engine, below
  /// 2^63 for a backend.
  std::uint64_t tag = 0;
};

Operation read_operation(File& file,
                         std::uint64_t offset_bytes,
                         std::span<std::byte> into,
                         std::uint64_t tag);
Operation write_operation(File& file,
                          std::uint64_t offset_bytes,
                          std::span<const std::byte> from,
                          std::uint64_t tag);
Operation sync_operation(File& file, std::uint64_t tag);
Operation allocate_operation(File& file, ByteRange range, std::uint64_t tag);

/// Result of the system call: bytes moved, or -errno.
struct RawCompletion {
  std::uint64_t tag = 0;
  std::int64_t result = 0;
};

/// Makes attempts. All calls but wake() belong to one thread, the *issuer*: the one that created
/// the backend. The destructor, also called by the issuer, returns once no operation uses its
/// memory any more; it cancels what it can.
class Backend {
 public:
  virtual ~Backend() = default;

  /// "io_uring", "threads", "aio", "memory".
  virtual std::string_view name() const noexcept = 0;

  /// Maximum number of operations in flight.
  virtual std::size_t capacity() const noexcept = 0;

  /// True if operations on this file can be submitted here (ring and aio need a descriptor).
  virtual bool can_submit(const File& file) const noexcept = 0;

  /// Starts operations in the given order, with one system call if any. Returns how many it
  /// accepted: fewer than all if the capacity is used up. An operation that cannot even start is
  /// accepted and completes with its error. May block in the file system.
  virtual std::size_t submit(std::span<const Operation> operations) = 0;

  /// As submit(), but operations may start as late as in the next wait(), which needs no extra
  /// system call for them. For an issuer that waits right after this.
  virtual std::size_t enqueue(std::span<const Operation> operations) { return submit(operations); }

  /// Blocks until a completion is available, wake() was called, the watched descriptor is readable,
  /// or the deadline has passed. Returns the number of completions stored in `completions`: all
  /// available ones, if they fit; 0 after wake(), the deadline or the descriptor. kDoNotBlock
  /// collects available ones. `completions` is not empty.
  virtual std::size_t wait(std::span<RawCompletion> completions, Deadline deadline) = 0;

  /// Makes one wait(), the current or the next one, return. Any thread; never blocks.
  virtual void wake() noexcept = 0;

  /// Every later wait() also returns while this descriptor is readable. An owner that leaves it
  /// readable is woken again; while it is not readable, watching costs nothing. "Readable" is
  /// POLLIN of poll(): the end of a stream and an error count. At most once for a backend (for
  /// several descriptors pass an epoll descriptor). The caller owns the descriptor and keeps it
  /// open until the backend is destroyed. Fails with kInvalidArgument if it is not open.
  virtual Status watch(int descriptor) = 0;

  /// True if a wait() since the last call of this found the watched descriptor readable.
  virtual bool consume_watch_event() noexcept = 0;

  /// Announces memory that transfers will use often: the ring pins it once. It stays registered
  /// until unregister_buffers() or the end of the backend. Several arenas may be registered, and
  /// operations on others may be in flight. Transfers work without it: a failure (a memlock limit,
  /// a backend without pinning) only costs speed.
  virtual Status register_buffers(std::span<std::byte> arena);
  /// Reverts register_buffers(); ignores other memory. No operation on it may be in flight.
  virtual void unregister_buffers(std::span<const std::byte> arena) noexcept;
};

}  // namespace forebay::storage
