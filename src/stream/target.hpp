// SPDX-License-Identifier: Apache-2.0
// A file that is written through the queue of its device: its space, its true end, the blocks of it
// that wait for their parts. One for each file, whoever writes to it, so that parts of a block meet
// from wherever they come.
#pragma once

#include <forebay/error.hpp>
#include <forebay/range.hpp>
#include <forebay/stream_plan.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "storage/file.hpp"
#include "stream/edge_table.hpp"

namespace forebay::stream {

struct Account;

/// Growing steps: as much again as the file has, within these; and at most this part of what the
/// file system has left, in whole MiB, so that what one file holds in reserve is not what others
/// lack.
inline constexpr std::uint64_t kSpaceStepBytesMin = std::uint64_t{64} << 20U;
inline constexpr std::uint64_t kSpaceStepBytesMax = std::uint64_t{1} << 30U;
inline constexpr std::uint64_t kSpaceStepPart = 8;

/// How much space of a file is reserved, and what is to be reserved next. Pure bookkeeping.
class Space {
 public:
  Space(Preallocation preallocation, std::uint64_t size_bytes, std::uint64_t expected_bytes)
      : preallocation_(preallocation), end_(size_bytes), expected_bytes_(expected_bytes) {}

  /// What must be reserved before `range` is written, where so much is free on the file system; no
  /// value if nothing need be.
  std::optional<ByteRange> needed(ByteRange range, std::uint64_t free_bytes = all) const noexcept;
  /// As much is reserved.
  void reserved(ByteRange range) noexcept { end_ = range.end() > end_ ? range.end() : end_; }
  /// It could not be reserved. File systems that get half way leave it at that.
  void failed() noexcept { has_leftovers_ = true; }
  /// Whether space may be reserved beyond the end.
  bool has_leftovers() const noexcept { return has_leftovers_; }
  /// They were given back.
  void cut_back() noexcept { has_leftovers_ = false; }
  /// There was no room for what was needed: from now on it is exactly what is written, and then
  /// nothing. False if there is no room for what is expected, or for `range` itself.
  bool ask_for_less(ByteRange range) noexcept;
  /// The file system cannot reserve.
  void give_up() noexcept { preallocation_ = Preallocation::kNone; }
  /// The file was cut there.
  void cut(std::uint64_t size_bytes) noexcept;

  std::uint64_t end_bytes() const noexcept { return end_; }

 private:
  Preallocation preallocation_;
  bool steps_ = true;
  bool has_leftovers_ = false;
  std::uint64_t end_;  ///< nothing beyond is reserved
  std::uint64_t expected_bytes_;
};

/// Who says how long a file is.
enum class Length : std::uint8_t {
  kAsWritten,  ///< it is cut to what was written through this target
  kLeftAlone,  ///< other processes may write to it as well: it is never cut here
};

/// All but file() belongs to the thread of the queue, until the target is with nobody else.
class Target : public std::enable_shared_from_this<Target> {
 public:
  struct Setup {
    std::unique_ptr<storage::File> file;
    /// The same file with buffered access, for parts of blocks. Null: `file` is buffered, or no
    /// parcel begins or ends inside a block.
    std::unique_ptr<storage::File> exact_file = nullptr;
    Preallocation preallocation = Preallocation::kNone;
    std::uint64_t size_bytes = 0;  ///< that it has and keeps
    std::uint64_t expected_bytes = 0;
    Length length = Length::kAsWritten;
    bool is_dirty = false;  ///< something was written before, which the next sync is for
  };
  explicit Target(Setup setup);
  /// Gives back space that was reserved in vain.
  ~Target();
  Target(const Target&) = delete;
  Target& operator=(const Target&) = delete;

  storage::File& file() const noexcept { return *file_; }
  /// The file as it takes writes of any offset and length.
  storage::File& exact_file() const noexcept { return exact_file_ ? *exact_file_ : *file_; }

  Space space;
  EdgeTable edges;
  bool is_reserving = false;
  bool must_cut_back = false;  ///< before anything else is begun
  std::uint64_t prepared = 0;  ///< parcels of which something is under way
  bool is_dirty;               ///< something was written since the last sync
  /// Of a sync: bytes may be lost, and the kernel says so once, whoever wrote them.
  std::optional<Error> sync_error;
  std::uint32_t errands = 0;  ///< operations under way that are no parcel's
  std::uint64_t parcels = 0;  ///< that came and were not given back
  std::vector<Account*> users;

  /// The range, which is not empty, is going to belong to the file.
  void note_write(ByteRange range) noexcept;
  /// Gives the file its true size, if that is known here.
  Status cut();
  /// Gives back what a reservation that failed has left, and nothing else. Nothing may be under
  /// way: the system would wait for it, and what waits cannot finish it.
  Status cut_back();

 private:
  Status shorten(std::uint64_t size_bytes);

  const std::unique_ptr<storage::File> file_;
  const std::unique_ptr<storage::File> exact_file_;
  const Length length_;
  std::uint64_t end_;  ///< of the bytes that belong to it
};

}  // namespace forebay::stream
