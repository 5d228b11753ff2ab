// SPDX-License-Identifier: Apache-2.0
// Single calls of Forebay, timed by themselves: giving a buffer away, putting a copy, beginning a
// step; and the plain copy to compare with. Each on a dataset of its own, whose steps are durable
// before the next one begins, so that nothing but the call takes its time.
#pragma once

#include <forebay/error.hpp>

#include <cstdint>

#include "bench/checkpoint/trial.hpp"

namespace forebay::bench::checkpoint {

enum class Piece : std::uint32_t {
  kAdopt,       ///< put() of a buffer that is given away, and commit()
  kPut,         ///< put() of a copy; the agent works out checksums
  kHashingPut,  ///< the same, checksums on the way
  kMemoryCopy,  ///< memcpy() into memory that was touched, of the size of the block
  kBeginStep,   ///< begin_step(); the program sleeps before each
};

struct PieceSettings {
  Piece piece = Piece::kAdopt;
  std::uint32_t steps = 5;  ///< that count; one more comes before them, unless there is no pause
  double pause_s = 0;       ///< before each step, or copy
};

/// Collective. `blocked_s` is the median of the call over the steps, `total_s` that of begin_step()
/// to commit() together, each of the slowest rank. `block` is this rank's, and warm.
Result<Measured> measure_piece(const Team& team,
                               const Checkpoint& checkpoint,
                               const PieceSettings& settings,
                               std::span<const std::byte> block);

}  // namespace forebay::bench::checkpoint
