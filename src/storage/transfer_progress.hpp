// SPDX-License-Identifier: Apache-2.0
// The arithmetic of a transfer that takes several attempts: where the next attempt begins, how long
// it is, and when a read has met the end of the file. Engine and the synchronous calls of File
// share it, so it exists once.
#pragma once

#include <algorithm>
#include <cstdint>

#include "storage/file.hpp"

namespace forebay::storage {

/// Counts bytes of one transfer. Attempts begin at multiples of `alignment_bytes`, so a direct
/// transfer that stopped in the middle of a block (it does, at the end of a file) repeats that
/// block; whether the transfer gets further then is what tells a short transfer from the end of the
/// file.
class TransferProgress {
 public:
  constexpr TransferProgress() = default;
  constexpr TransferProgress(std::uint64_t total_bytes, std::uint64_t alignment_bytes)
      : total_bytes_(total_bytes), alignment_bytes_(alignment_bytes) {}

  /// Where the next attempt begins, from the start of the transfer.
  constexpr std::uint64_t restart_bytes() const noexcept { return align_down(reached_bytes_); }

  /// How many bytes the next attempt asks for.
  constexpr std::uint64_t attempt_bytes() const noexcept {
    return std::min(total_bytes_ - restart_bytes(), align_down(kTransferBytesMax));
  }

  /// The attempt moved this many bytes. False if that is no step forward: the end of the file for a
  /// read.
  constexpr bool advance(std::uint64_t moved_bytes) noexcept {
    const std::uint64_t reached = restart_bytes() + moved_bytes;
    if (reached <= reached_bytes_) return false;
    reached_bytes_ = reached;
    return true;
  }

  constexpr std::uint64_t reached_bytes() const noexcept { return reached_bytes_; }
  constexpr bool complete() const noexcept { return reached_bytes_ == total_bytes_; }

 private:
  constexpr std::uint64_t align_down(std::uint64_t bytes) const noexcept {
    return bytes & ~(alignment_bytes_ - 1);
  }

  std::uint64_t total_bytes_ = 0;
  std::uint64_t alignment_bytes_ = 1;
  std::uint64_t reached_bytes_ = 0;
};

}  // namespace forebay::storage
