// SPDX-License-Identifier: Apache-2.0
// Access: one read or write of a file, as traces record it, signatures describe it and predictors
// predict it.
#pragma once

#include <cstdint>

namespace forebay::trace {

enum class Operation : std::uint8_t { kRead, kWrite };

struct Access {
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
  std::int64_t begin_ns = 0;  ///< since any origin that all accesses of a stream share

  std::uint64_t end() const noexcept { return offset + size; }
  friend bool operator==(const Access&, const Access&) = default;
};

}  // namespace forebay::trace
