// SPDX-License-Identifier: Apache-2.0
// Where agents live: a word that a Runtime, which decides it, and plans of writing share.
#pragma once

#include <cstdint>
#include <string_view>

namespace forebay {

/// Where the agent of a node lives. Decided once, when a Runtime is made.
enum class Placement : std::uint8_t {
  kInRank,     ///< a service thread in one of the ranks that compute
  kDedicated,  ///< the last rank of each node does nothing else; as kInRank on a node of one rank
};

/// "in-rank", "dedicated".
constexpr std::string_view name_of(Placement placement) noexcept {
  return placement == Placement::kInRank ? "in-rank" : "dedicated";
}

}  // namespace forebay
