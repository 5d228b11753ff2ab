// SPDX-License-Identifier: Apache-2.0
// The destination of a new profile: bytes with offsets, in any order, from any thread. A small
// interface, so that the code that produces bytes does not depend on how they are written.
#pragma once

#include <forebay/error.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace forebay::cube {

/// write() may be called by several threads at once.
class Sink {
 public:
  virtual ~Sink() = default;
  /// Writes all of `bytes`; the caller may reuse them when it returns.
  virtual Status write(std::uint64_t offset, std::span<const std::byte> bytes) = 0;
};

}  // namespace forebay::cube
