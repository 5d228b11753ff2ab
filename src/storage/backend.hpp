// SPDX-License-Identifier: Apache-2.0
// How operations reach the operating system: one attempt each, with the raw outcome. Whatever an
// attempt may leave unfinished (short transfers, EINTR, 2 GiB) is the Engine's business, once for
// all backends and not here.
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

/// The verb for messages: "read", "write", "sync", "allocate".
std::string_view name_of(OperationKind kind) noexcept;

/// One operation on one file. The file and the memory must live until its completion was returned
/// by wait().
struct Operation {
  OperationKind kind = OperationKind::kRead;
  File* file = nullptr;
  std::uint64_t offset_bytes = 0;
  std::span<std::byte> memory = {};  ///< read: is filled; write: is only read; otherwise empty
  std::uint64_t length_bytes = 0;    ///< allocate only
  /// Returned with the completion; means something to the caller alone. Any for Engine, below 2^63
  /// for a backend.
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

/// What the system call said: bytes moved, or -errno.
struct RawCompletion {
  std::uint64_t tag = 0;
  std::int64_t result = 0;
};

/// Where attempts are made. Everything but wake() belongs to one thread, the *issuer*: the one that
/// made the backend. The destructor, called by the issuer too, returns when no operation touches
/// memory any more; it cancels what it can.
class Backend {
 public:
  virtual ~Backend() = default;

  /// "ring", "threads", "aio", "memory".
  virtual std::string_view name() const noexcept = 0;

  /// How many operations may be under way at once.
  virtual std::size_t capacity() const noexcept = 0;

  /// True if operations on this file can be submitted here (ring and aio need a descriptor).
  virtual bool accepts(const File& file) const noexcept = 0;

  /// Starts operations in the given order, with one system call if any; returns how many it took,
  /// fewer than all if its capacity is used up. An operation that cannot even start is taken and
  /// completes with its error. May block where the file system does.
  virtual std::size_t submit(std::span<const Operation> operations) = 0;

  /// As submit(), but they need not start before the next wait(), which then takes no system call
  /// of its own for them. For an issuer that waits right after this.
  virtual std::size_t enqueue(std::span<const Operation> operations) { return submit(operations); }

  /// Blocks, in one place, until a completion is there, wake() was called, the watched descriptor
  /// is readable, or the deadline has passed. Returns how many completions it stored in
  /// `completions`: all that are there, if they fit; 0 if woken, late or called by the descriptor.
  /// A deadline of kDoNotBlock collects what is there. `completions` is not empty.
  virtual std::size_t wait(std::span<RawCompletion> completions, Deadline deadline) = 0;

  /// Makes one wait(), the current or the next one, return. Any thread; never blocks.
  virtual void wake() noexcept = 0;

  /// From now on every wait() looks whether this descriptor is readable, too, and does not block
  /// while it is: an owner that leaves it readable is called again. While it is not, watching costs
  /// nothing. "Readable" is what poll() says with POLLIN: the end of a stream and an error count.
  /// At most once for a backend (who has many descriptors hands in an epoll). The descriptor stays
  /// the caller's and open until the backend is gone. Fails with kInvalidArgument if it is not
  /// open.
  virtual Status watch(int descriptor) = 0;

  /// Whether a wait() since the last call of this saw the watched descriptor readable.
  virtual bool take_watched() noexcept = 0;

  /// Tells the backend that transfers will use this memory often: the ring pins it once. It stays
  /// until remove_buffers() or the backend's end. Several may be there at a time, and others may be
  /// in flight. Transfers work the same without: a failure (a memlock limit, a backend that pins
  /// nothing) costs speed alone.
  virtual Status add_buffers(std::span<std::byte> arena);
  /// Takes that back; what was not added is left alone. No operation on it may be in flight.
  virtual void remove_buffers(std::span<const std::byte> arena) noexcept;
};

}  // namespace forebay::storage
