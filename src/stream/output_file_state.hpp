// SPDX-License-Identifier: Apache-2.0
// OutputFileState: a file that is written through the queue of its device: its space, its length,
// its partial blocks. One for each file, shared by all its streams, so that parts of a block from
// any stream are merged.
#pragma once

#include <forebay/error.hpp>
#include <forebay/range.hpp>
#include <forebay/stream_plan.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "storage/file.hpp"
#include "stream/partial_block_cache.hpp"

namespace forebay::stream {

struct ClientState;

/// Growth steps: the current size, within these limits. A step is at most this fraction of the free
/// space, in whole MiB. So the reserve of one file does not exhaust the space of others.
inline constexpr std::uint64_t kSpaceStepBytesMin = std::uint64_t{64} << 20U;
inline constexpr std::uint64_t kSpaceStepBytesMax = std::uint64_t{1} << 30U;
inline constexpr std::uint64_t kSpaceStepDivisor = 8;

/// Reserved space of a file, and the next reservation. Pure bookkeeping.
class SpaceReservation {
 public:
  SpaceReservation(Preallocation preallocation,
                   std::uint64_t size_bytes,
                   std::uint64_t expected_bytes)
      : preallocation_(preallocation), end_(size_bytes), expected_bytes_(expected_bytes) {}

  /// Space to reserve before `range` is written, if the file system has `free_bytes` left; no value
  /// if none is needed.
  std::optional<ByteRange> next_reservation(ByteRange range,
                                            std::uint64_t free_bytes = kAll) const noexcept;
  /// The range is reserved.
  void mark_reserved(ByteRange range) noexcept { end_ = range.end() > end_ ? range.end() : end_; }
  /// The reservation failed. The file system may keep the part that it has reserved.
  void mark_failed() noexcept { has_excess_ = true; }
  /// True if space may be reserved beyond the end.
  bool has_excess() const noexcept { return has_excess_; }
  /// The excess was freed.
  void clear_excess() noexcept { has_excess_ = false; }
  /// The space was not available: later reservations are exactly the written ranges, then none.
  /// False if there is no space for the expected bytes, or for `range` itself.
  bool try_smaller(ByteRange range) noexcept;
  /// The file system cannot reserve.
  void disable() noexcept { preallocation_ = Preallocation::kNone; }
  /// The file was truncated to this size.
  void truncate(std::uint64_t size_bytes) noexcept;

  std::uint64_t end_bytes() const noexcept { return end_; }

 private:
  Preallocation preallocation_;
  bool has_growth_steps_ = true;
  bool has_excess_ = false;
  std::uint64_t end_;  ///< end of the space known to be reserved; see has_excess()
  std::uint64_t expected_bytes_;
};

/// How the length of a file is determined.
enum class SizePolicy : std::uint8_t {
  kTruncateToEnd,  ///< it is truncated to the end of bytes written through this object
  kNeverTruncate,  ///< other processes may write to it as well: it is never truncated here
};

/// All but file() belongs to the thread of the queue, until no other object has a reference to
/// this.
class OutputFileState : public std::enable_shared_from_this<OutputFileState> {
 public:
  struct Setup {
    std::unique_ptr<storage::File> file;
    /// The same file with buffered access, for parts of blocks. Null: `file` is buffered, or no
    /// submission begins or ends inside a block.
    std::unique_ptr<storage::File> unaligned_file = nullptr;
    Preallocation preallocation = Preallocation::kNone;
    std::uint64_t size_bytes = 0;  ///< existing content, which is kept
    std::uint64_t expected_bytes = 0;
    SizePolicy size_policy = SizePolicy::kTruncateToEnd;
    bool is_dirty = false;  ///< bytes written before need the next sync
    /// Called after each write, also a failed one, before it is reported. Must not block. May be
    /// empty.
    std::function<void(ByteRange)> on_written = {};
  };
  explicit OutputFileState(Setup setup);
  /// Frees unused reserved space.
  ~OutputFileState();
  OutputFileState(const OutputFileState&) = delete;
  OutputFileState& operator=(const OutputFileState&) = delete;

  storage::File& file() const noexcept { return *file_; }
  /// The file for writes of any offset and length.
  storage::File& unaligned_file() const noexcept {
    return unaligned_file_ ? *unaligned_file_ : *file_;
  }

  SpaceReservation reservation;
  PartialBlockCache block_cache;
  bool is_reserving = false;
  bool should_trim = false;                ///< before any other work begins
  std::uint64_t prepared_submissions = 0;  ///< submissions that have begun
  bool is_dirty;                           ///< bytes were written since the last sync
  /// Error of a sync: bytes may be lost, and the kernel reports it once, for writes of any stream.
  std::optional<Error> sync_error;
  const std::function<void(ByteRange)> on_written;
  std::uint32_t auxiliary_operations = 0;  ///< operations in flight that belong to no submission
  std::uint64_t submissions = 0;           ///< that arrived and were not returned yet
  std::vector<ClientState*> clients;

  /// The range, which is not empty, will be written.
  void note_write(ByteRange range) noexcept;
  /// Gives the file its true size, if this object determines it.
  Status set_final_size();
  /// Frees the excess of a failed reservation, and nothing else. No operation may be in flight: the
  /// system would wait for it, and this thread could not complete it.
  Status trim_reservation();

 private:
  Status truncate_file(std::uint64_t size_bytes);

  const std::unique_ptr<storage::File> file_;
  const std::unique_ptr<storage::File> unaligned_file_;
  const SizePolicy size_policy_;
  std::uint64_t end_;  ///< of the bytes that belong to the file
};

}  // namespace forebay::stream
