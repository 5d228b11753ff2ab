// SPDX-License-Identifier: Apache-2.0
// FNV-1a with 64 bits (Fowler, Noll, Vo): for names and placements that must be the same in each
// run and on each machine, which std::hash does not promise. Not for checksums.
#pragma once

#include <cstdint>

namespace forebay {

inline constexpr std::uint64_t kFnv1aBasis = 0xcbf29ce484222325U;

/// The hash of what `hash` is for, followed by `value`, usually a byte.
constexpr std::uint64_t fnv1a(std::uint64_t hash, std::uint64_t value) noexcept {
  return (hash ^ value) * 0x100000001b3U;
}

}  // namespace forebay
