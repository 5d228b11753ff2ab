// SPDX-License-Identifier: Apache-2.0
// CollectiveFile: one file that all ranks of a communicator have open together. Its calls have the
// names and the meaning of those of MPI-IO. So code that compares with MPI-IO, or falls back to it,
// is written once and also runs without MPI.
#pragma once

#include <forebay/detail/export.hpp>
#include <forebay/error.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace forebay::comm {

class Communicator;

enum class FileIntent : std::uint8_t {
  kRead,    ///< opens an existing file, read only
  kCreate,  ///< for reading and writing; creates the file if it does not exist, never truncates
};

/// A hint to the implementation ("romio_cb_read" = "disable"). Unknown hints are ignored.
struct Hint {
  std::string key;
  std::string value;
};

struct CollectiveOpenOptions {
  FileIntent intent = FileIntent::kRead;
  std::vector<Hint> hints = {};  ///< the same on all ranks
};

/// Bytes to move between memory of this rank and a file.
struct FileTransfer {
  enum class Direction : std::uint8_t { kRead, kWrite };

  Direction direction = Direction::kRead;
  std::span<std::byte> memory = {};  ///< read: is filled; write: is only read
  std::uint64_t offset_bytes = 0;    ///< from the start of the file

  bool is_read() const noexcept { return direction == Direction::kRead; }
  const char* operation() const noexcept { return is_read() ? "read" : "write"; }
};

/// Bytes in memory, and their offset in a file.
struct FileSegment {
  std::span<const std::byte> bytes;
  std::uint64_t offset_bytes = 0;  ///< from the start of the file

  std::uint64_t end_bytes() const noexcept { return offset_bytes + bytes.size(); }
};

/// An open file of several ranks, created by Communicator::open_file(). Paths are those of the
/// operating system, without the prefix of an MPI-IO driver. Offsets count from the start of the
/// file. A transfer may have any size.
///
/// All ranks make each call marked *collective*, in the same order. If ranks fail, all ranks get
/// the Error of the lowest rank that failed; Error::rank() is that rank. Errors that are the same
/// on all ranks (a closed file, a write to a file opened for reading) are returned without
/// communication. Errors of the communication between ranks may differ, as for
/// Communicator::agree(). Other calls are local. Memory belongs to the caller. One thread at a
/// time; Communicator::thread_support() states which threads.
///
/// Bytes that one rank wrote are guaranteed to be visible to another after both have called sync()
/// twice (sync-barrier-sync in MPI-IO).
class FOREBAY_EXPORT CollectiveFile {
 public:
  CollectiveFile(const CollectiveFile&) = delete;
  CollectiveFile& operator=(const CollectiveFile&) = delete;
  /// If close() was not called: collective, closes the file, and discards the outcome.
  virtual ~CollectiveFile() = default;

  /// As passed to open_file() on this rank.
  const std::string& path() const noexcept { return path_; }

  /// The current size in bytes.
  Result<std::uint64_t> size();

  /// Fills `into` from the file. A result below into.size() means that the file ends there.
  Result<std::size_t> read_at(std::span<std::byte> into, std::uint64_t offset_bytes);

  /// Writes all of `from`. On failure any part of it may be in the file.
  Result<std::size_t> write_at(std::span<const std::byte> from, std::uint64_t offset_bytes);

  /// Collective. As read_at(), for all ranks together. Size and offset are each rank's own; the
  /// size may be 0.
  Result<std::size_t> read_at_all(std::span<std::byte> into, std::uint64_t offset_bytes);

  /// Collective. As write_at(), for all ranks together.
  Result<std::size_t> write_at_all(std::span<const std::byte> from, std::uint64_t offset_bytes);

  /// Collective. Writes the segments of all ranks in one call. Segments of a rank are in increasing
  /// order of offset and do not overlap; their total is at most kSegmentsBytesMax. If the segments
  /// of all ranks together leave no hole, no other bytes of the file are read or written. Otherwise
  /// MPI-IO may read and rewrite holes (data sieving).
  Status write_segments_at_all(std::span<const FileSegment> segments);
  static constexpr std::uint64_t kSegmentsBytesMax = std::uint64_t{1} << 30U;

  /// Collective. Starts a read_at_all(). The caller must not touch the memory until
  /// read_at_all_end(), which returns all errors of the transfer. Until then any other collective
  /// call on the file, split or not, fails with kInvalidArgument, on this rank alone.
  Status read_at_all_begin(std::span<std::byte> into, std::uint64_t offset_bytes);
  /// Collective. kInvalidArgument, on this rank alone, if no such call has begun.
  Result<std::size_t> read_at_all_end();
  /// Collective. The same for write_at_all().
  Status write_at_all_begin(std::span<const std::byte> from, std::uint64_t offset_bytes);
  Result<std::size_t> write_at_all_end();

  /// Collective. Returns once all bytes that any rank wrote before are on stable storage.
  Status sync();

  /// Collective. Every later call returns kClosed, except those that end a split call:
  /// kInvalidArgument, as none has begun. Returns errors found on closing; syncs nothing.
  Status close();

 protected:
  CollectiveFile(std::shared_ptr<Communicator> ranks, std::string path, FileIntent intent)
      : ranks_(std::move(ranks)), path_(std::move(path)), intent_(intent) {}
  Communicator& ranks() const noexcept { return *ranks_; }
  bool is_open() const noexcept { return is_open_; }
  /// Collective. Returns `transferred` if it is a value on all ranks, else the Error of the lowest
  /// rank that failed.
  Result<std::size_t> agree_on(const Result<std::size_t>& transferred);

 private:
  using Direction = FileTransfer::Direction;

  // Implementations override these. They are called only while the file is open. During a split
  // call, only size_local(), transfer_local() and end_collective() are called. Functions named
  // ..._local return the outcome of this rank. The others are collective and return the same Error
  // on all ranks.
  virtual Result<std::uint64_t> size_local() = 0;
  virtual Result<std::size_t> transfer_local(const FileTransfer& transfer) = 0;
  virtual Result<std::size_t> transfer_collective(const FileTransfer& transfer) = 0;
  virtual Status write_segments(std::span<const FileSegment> segments) = 0;
  virtual Status begin_collective(const FileTransfer& transfer) = 0;
  virtual Result<std::size_t> end_collective() = 0;
  virtual Status sync_local() = 0;
  virtual Status close_local() = 0;

  Result<std::size_t> transfer_independent(const FileTransfer& transfer);
  Result<std::size_t> transfer_all(const FileTransfer& transfer);
  Status begin_transfer(const FileTransfer& transfer);
  Result<std::size_t> end_transfer(Direction direction);

  Status check_open(const char* operation) const;
  Status check_transfer(const FileTransfer& transfer) const;
  Status check_collective(const char* operation) const;
  tl::unexpected<Error> refuse(ErrorClass kind, const char* operation, const char* cause) const;

  const std::shared_ptr<Communicator> ranks_;
  const std::string path_;
  const FileIntent intent_;
  bool is_open_ = true;
  std::optional<Direction> active_split_;  ///< the split collective call in progress
};

}  // namespace forebay::comm
