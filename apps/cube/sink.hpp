// SPDX-License-Identifier: Apache-2.0
// Where a new profile goes: bytes with their places, in any order, from any thread. One small
// interface, so that what writes is not bound to how it is written.
#pragma once

#include <forebay/error.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace forebay::cube {

/// write() may be called from several threads at once.
class Sink {
 public:
  virtual ~Sink() = default;
  /// Takes all of `bytes`, which the caller may change as soon as it returns.
  virtual Status write(std::uint64_t offset, std::span<const std::byte> bytes) = 0;
};

}  // namespace forebay::cube
