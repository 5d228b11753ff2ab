// SPDX-License-Identifier: Apache-2.0
// TransferProgress: arithmetic of a transfer that takes several attempts: where the next attempt
// begins, how long it is, and when a read has reached the end of the file. Engine and the
// synchronous calls of File share it.
#pragma once

#include <algorithm>
#include <cstdint>

#include "storage/file.hpp"

namespace forebay::storage {

/// Counts bytes of one transfer. Attempts begin at multiples of `alignment_bytes`. So a direct
/// transfer that stopped inside a block (at the end of a file) repeats that block. Progress of the
/// repetition distinguishes a short transfer from the end of the file.
class TransferProgress {
 public:
  constexpr TransferProgress() = default;
  constexpr TransferProgress(std::uint64_t total_bytes, std::uint64_t alignment_bytes)
      : total_bytes_(total_bytes), alignment_bytes_(alignment_bytes) {}

  /// Start of the next attempt, from the start of the transfer.
  constexpr std::uint64_t resume_offset() const noexcept { return align_down(transferred_bytes_); }

  /// Number of bytes of the next attempt.
  constexpr std::uint64_t attempt_bytes() const noexcept {
    return std::min(total_bytes_ - resume_offset(), align_down(kTransferBytesMax));
  }

  /// The attempt moved this many bytes. False without progress: the end of the file for a read.
  constexpr bool advance(std::uint64_t moved_bytes) noexcept {
    const std::uint64_t reached = resume_offset() + moved_bytes;
    if (reached <= transferred_bytes_) return false;
    transferred_bytes_ = reached;
    return true;
  }

  constexpr std::uint64_t transferred_bytes() const noexcept { return transferred_bytes_; }
  constexpr bool is_complete() const noexcept { return transferred_bytes_ == total_bytes_; }

 private:
  constexpr std::uint64_t align_down(std::uint64_t bytes) const noexcept {
    return bytes & ~(alignment_bytes_ - 1);
  }

  std::uint64_t total_bytes_ = 0;
  std::uint64_t alignment_bytes_ = 1;
  std::uint64_t transferred_bytes_ = 0;
};

}  // namespace forebay::storage
