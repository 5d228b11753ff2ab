// SPDX-License-Identifier: Apache-2.0
// Checks that a candidate has written its data: a fast one that writes nothing, or wrong bytes, is
// not comparable.
#pragma once

#include <forebay/error.hpp>

#include <cstdint>
#include <span>

#include "bench/checkpoint/candidate.hpp"

namespace forebay::bench::checkpoint {

/// What is checked when all is on storage, without being timed.
enum class CheckLevel : std::uint32_t {
  kSizes,    ///< files have the written number of bytes, and space on the disk for them
  kContent,  ///< every word as well, which takes about as long as a restart
};

/// Collective over the team that wrote. The candidate reads the content if it can. Otherwise each
/// rank searches its blocks in all files: a block is contiguous in one of them. `buffer` is as for
/// a Reader, of read_buffer_bytes(). Missing or wrong data is kDamage.
Status verify_written(const Candidate& candidate,
                      const RankTeam& team,
                      const Checkpoint& checkpoint,
                      CheckLevel check,
                      std::span<std::byte> buffer);

}  // namespace forebay::bench::checkpoint
