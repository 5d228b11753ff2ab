// SPDX-License-Identifier: Apache-2.0
// Placement: where agents run. Shared by a Runtime, which chooses it, and plans for writing.
#pragma once

#include <cstdint>
#include <string_view>

namespace forebay {

/// Which ranks do I/O. RuntimeOptions::placement reserves I/O ranks, once. WriteTuning::placement
/// selects for each dataset whether these or the compute ranks write it.
enum class Placement : std::uint8_t {
  kInRank,     ///< a service thread in one of the compute ranks
  kDedicated,  ///< the last rank of each node is an I/O rank; on a node of one rank as kInRank
};

/// "in-rank", "dedicated".
constexpr std::string_view name_of(Placement placement) noexcept {
  return placement == Placement::kInRank ? "in-rank" : "dedicated";
}

}  // namespace forebay
