// SPDX-License-Identifier: Apache-2.0
// A 64-bit hash: equal fingerprints mean equal bits. It detects mistakes and bad disks; it is not
// cryptographic.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace forebay::flow {

class Fingerprint {
 public:
  void add(std::uint64_t word) {
    state_ = (state_ ^ word) * 0x9e3779b97f4a7c15U;
    state_ ^= state_ >> 29U;
  }

  /// Hashes the length too, so that bytes cannot move from one call to the next unnoticed.
  void add(std::span<const std::byte> bytes) {
    add(bytes.size());
    while (!bytes.empty()) {
      std::uint64_t word = 0;
      const std::size_t now = bytes.size() < sizeof(word) ? bytes.size() : sizeof(word);
      std::memcpy(&word, bytes.data(), now);
      add(word);
      bytes = bytes.subspan(now);
    }
  }

  std::uint64_t value() const { return state_ ^ (state_ >> 32U); }

 private:
  std::uint64_t state_ = 0xcbf29ce484222325U;
};

}  // namespace forebay::flow
