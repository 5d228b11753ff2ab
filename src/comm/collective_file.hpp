// SPDX-License-Identifier: Apache-2.0
// One file that all ranks of a communicator have open together. It has the calls of MPI-IO and
// their meaning, so that code which compares with MPI-IO, or falls back to it, is written once and
// also runs where there is no MPI.
#pragma once

#include <forebay/error.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace forebay::comm {

enum class FileIntent : std::uint8_t {
  kRead,    ///< opens what exists, read only
  kCreate,  ///< for reading and writing; makes the file if it does not exist, never truncates
};

/// What the caller knows and an implementation may use ("romio_cb_read" = "disable"). One that
/// nobody knows is ignored.
struct Hint {
  std::string key;
  std::string value;
};

struct CollectiveOpen {
  FileIntent intent = FileIntent::kRead;
  std::vector<Hint> hints = {};  ///< the same on all ranks
};

/// An open file of several ranks; Communicator::open_file() makes it. Paths are those of the
/// operating system, without a prefix for an MPI-IO driver. Offsets count from the start of the
/// file. A transfer may have any size.
///
/// A call marked *collective* is made by all ranks, in the same order on all, and gives all of them
/// the same Error if one fails, named after the first that did; what is wrong on all alike (a
/// closed file, a write to one opened for reading) is refused without asking the others. The others
/// are local. Memory belongs to the caller. What one rank wrote another surely sees after both have
/// called sync() twice. One thread at a time; which threads may at all is what
/// Communicator::thread_support() says.
class CollectiveFile {
 public:
  CollectiveFile() = default;
  CollectiveFile(const CollectiveFile&) = delete;
  CollectiveFile& operator=(const CollectiveFile&) = delete;
  /// Closes it if close() was not called, and tells nobody how that went; collective then.
  virtual ~CollectiveFile() = default;

  /// As this rank named it.
  virtual const std::string& path() const noexcept = 0;

  /// The size in bytes now.
  virtual Result<std::uint64_t> size() = 0;

  /// Fills `into` from the file. A count below into.size() means that the file ends there.
  virtual Result<std::size_t> read_at(std::span<std::byte> into, std::uint64_t offset_bytes) = 0;

  /// Writes all of `from`. On failure any part of it may be in the file.
  virtual Result<std::size_t> write_at(std::span<const std::byte> from,
                                       std::uint64_t offset_bytes) = 0;

  /// Collective. As read_at(), for all ranks together; size and offset are each rank's own, the
  /// size may be 0.
  virtual Result<std::size_t> read_at_all(std::span<std::byte> into,
                                          std::uint64_t offset_bytes) = 0;

  /// Collective. As write_at(), for all ranks together.
  virtual Result<std::size_t> write_at_all(std::span<const std::byte> from,
                                           std::uint64_t offset_bytes) = 0;

  /// Collective. Starts what read_at_all() does; the memory is left alone until
  /// read_at_all_end(), which tells of all that failed. One at a time on a file, and no other
  /// collective call on it before the end: kInvalidArgument, on this rank alone.
  virtual Status read_at_all_begin(std::span<std::byte> into, std::uint64_t offset_bytes) = 0;
  virtual Result<std::size_t> read_at_all_end() = 0;
  virtual Status write_at_all_begin(std::span<const std::byte> from,
                                    std::uint64_t offset_bytes) = 0;
  virtual Result<std::size_t> write_at_all_end() = 0;

  /// Collective. Returns when what any rank wrote before is on stable storage.
  virtual Status sync() = 0;

  /// Collective. Every later call gives kClosed. Says what closing found; nothing is synced.
  virtual Status close() = 0;
};

/// Whether a file is open, and which split collective is under way: the same book-keeping for all
/// makes of CollectiveFile.
class CollectiveState {
 public:
  enum class Split : std::uint8_t { kNone, kRead, kWrite };

  CollectiveState(std::string path, FileIntent intent) : path_(std::move(path)), intent_(intent) {}
  const std::string& path() const noexcept { return path_; }
  bool is_open() const noexcept { return is_open_; }

  /// May `operation` start? Only on an open file; to write, one that was opened for that (not every
  /// MPI-IO says so); and, if it is collective, outside a split one.
  Status check_open(const char* operation) const;
  Status check_write() const;
  Status check_collective(const char* operation) const;

  Status begin(Split split);
  Status end(Split split);
  void close() noexcept { is_open_ = false; }

 private:
  tl::unexpected<Error> refuse(ErrorClass kind, const char* operation, const char* cause) const;

  std::string path_;
  FileIntent intent_;
  bool is_open_ = true;
  Split split_ = Split::kNone;
};

}  // namespace forebay::comm
