// SPDX-License-Identifier: Apache-2.0
// Random numbers that are equal on every machine. Each (seed, stream index) is a separate stream,
// so any thread can generate any part of the data, in any order.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

namespace forebay::command {

/// xoshiro256++ (Blackman and Vigna), seeded through splitmix64 as its authors recommend.
class Random {
 public:
  Random(std::uint64_t seed, std::uint64_t stream) {
    std::uint64_t mix = seed + 0x9e3779b97f4a7c15U * (4 * stream);
    for (std::uint64_t& word : state_)
      word = splitmix(mix);
  }

  std::uint64_t bits() {
    const std::uint64_t result = std::rotl(state_[0] + state_[3], 23) + state_[0];
    const std::uint64_t shifted = state_[1] << 17U;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= shifted;
    state_[3] = std::rotl(state_[3], 45);
    return result;
  }

  /// Uniform in [0, 1), a multiple of 2^-53.
  double uniform() { return static_cast<double>(bits() >> 11U) * 0x1p-53; }
  /// Uniform in [-1, 1).
  double symmetric() { return 2 * uniform() - 1; }

 private:
  static std::uint64_t splitmix(std::uint64_t& state) {
    std::uint64_t z = state += 0x9e3779b97f4a7c15U;
    z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31U);
  }

  std::array<std::uint64_t, 4> state_{};
};

}  // namespace forebay::command
