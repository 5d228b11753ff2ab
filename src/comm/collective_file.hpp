// SPDX-License-Identifier: Apache-2.0
// One file that all ranks of a communicator have open together. It has the calls of MPI-IO and
// their meaning, so that code which compares with MPI-IO, or falls back to it, is written once and
// also runs where there is no MPI.
#pragma once

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

/// Bytes to move between memory of this rank and a file.
struct FileTransfer {
  enum class Direction : std::uint8_t { kRead, kWrite };

  Direction direction = Direction::kRead;
  std::span<std::byte> memory = {};  ///< read: is filled; write: is only read
  std::uint64_t offset_bytes = 0;    ///< from the start of the file

  bool reads() const noexcept { return direction == Direction::kRead; }
  const char* operation() const noexcept { return reads() ? "read" : "write"; }
};

/// Bytes in memory, and where they go.
struct FilePiece {
  std::span<const std::byte> bytes;
  std::uint64_t offset_bytes = 0;  ///< from the start of the file

  std::uint64_t end_bytes() const noexcept { return offset_bytes + bytes.size(); }
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
  CollectiveFile(const CollectiveFile&) = delete;
  CollectiveFile& operator=(const CollectiveFile&) = delete;
  /// Closes it if close() was not called, and tells nobody how that went; collective then.
  virtual ~CollectiveFile() = default;

  /// As this rank named it.
  const std::string& path() const noexcept { return path_; }

  /// The size in bytes now.
  Result<std::uint64_t> size();

  /// Fills `into` from the file. A count below into.size() means that the file ends there.
  Result<std::size_t> read_at(std::span<std::byte> into, std::uint64_t offset_bytes);

  /// Writes all of `from`. On failure any part of it may be in the file.
  Result<std::size_t> write_at(std::span<const std::byte> from, std::uint64_t offset_bytes);

  /// Collective. As read_at(), for all ranks together; size and offset are each rank's own, the
  /// size may be 0.
  Result<std::size_t> read_at_all(std::span<std::byte> into, std::uint64_t offset_bytes);

  /// Collective. As write_at(), for all ranks together.
  Result<std::size_t> write_at_all(std::span<const std::byte> from, std::uint64_t offset_bytes);

  /// Collective. Writes pieces of each rank, which rise and do not overlap, in one call: at most
  /// kPiecesBytesMax on a rank. If the pieces of all ranks together leave no hole between them,
  /// nothing but their bytes is read or written.
  Status write_pieces_at_all(std::span<const FilePiece> pieces);
  static constexpr std::uint64_t kPiecesBytesMax = std::uint64_t{1} << 30U;

  /// Collective. Starts what read_at_all() does; the memory is left alone until
  /// read_at_all_end(), which tells of all that failed. One at a time on a file, and no other
  /// collective call on it before the end: kInvalidArgument, on this rank alone.
  Status read_at_all_begin(std::span<std::byte> into, std::uint64_t offset_bytes);
  Result<std::size_t> read_at_all_end();
  Status write_at_all_begin(std::span<const std::byte> from, std::uint64_t offset_bytes);
  Result<std::size_t> write_at_all_end();

  /// Collective. Returns when what any rank wrote before is on stable storage.
  Status sync();

  /// Collective. Every later call gives kClosed. Says what closing found; nothing is synced.
  Status close();

 protected:
  CollectiveFile(std::shared_ptr<Communicator> ranks, std::string path, FileIntent intent)
      : ranks_(std::move(ranks)), path_(std::move(path)), intent_(intent) {}
  Communicator& ranks() const noexcept { return *ranks_; }
  bool is_open() const noexcept { return is_open_; }
  /// Collective. `moved` if all ranks succeeded.
  Result<std::size_t> agreed(const Result<std::size_t>& moved);

 private:
  using Direction = FileTransfer::Direction;

  // What a make of files does, called when it is in order: the file is open, and, unless the call
  // is local, no split one is under way. Those named ..._here say what this rank found; the others
  // are collective and give all ranks the same.
  virtual Result<std::uint64_t> size_here() = 0;
  virtual Result<std::size_t> move_here(const FileTransfer& transfer) = 0;
  virtual Result<std::size_t> move_all(const FileTransfer& transfer) = 0;
  virtual Status write_pieces(std::span<const FilePiece> pieces) = 0;
  virtual Status begin_all(const FileTransfer& transfer) = 0;
  virtual Result<std::size_t> end_all() = 0;
  virtual Status sync_here() = 0;
  virtual Status close_here() = 0;

  Result<std::size_t> transfer_alone(const FileTransfer& transfer);
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
  std::optional<Direction> under_way_;  ///< the split collective call that has begun
};

}  // namespace forebay::comm
