// SPDX-License-Identifier: Apache-2.0
// Whether what a contender says it has written is there: a fast one that writes nothing, or the
// wrong bytes, is no peer.
#pragma once

#include <forebay/error.hpp>

#include <cstdint>
#include <span>

#include "bench/checkpoint/contender.hpp"

namespace forebay::bench::checkpoint {

/// What is looked at when all is on storage, outside of every clock.
enum class Check : std::uint32_t {
  kSizes,    ///< that files have as many bytes as were written, and room on the disk for these
  kContent,  ///< every word as well, which takes about as long as a restart
};

/// Collective over the team that wrote. Content is read by the contender where it can, else each
/// rank looks for its blocks in all files: a block lies in one piece in one of them. `room` is as a
/// Reader wants it, of room_bytes(). What is missing or wrong is kDamage.
Status check_written(const Contender& contender,
                     const Team& team,
                     const Checkpoint& checkpoint,
                     Check check,
                     std::span<std::byte> room);

}  // namespace forebay::bench::checkpoint
