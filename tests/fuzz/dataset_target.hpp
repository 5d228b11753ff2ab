// SPDX-License-Identifier: Apache-2.0
// Shared by the fuzz targets of the dataset format: check() for contracts, and is_accepted(), whose
// result the corpus has in its file names.
#pragma once

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <span>

namespace forebay::format {

inline void check(bool value, const char* text) {
  if (value) return;
  std::fprintf(stderr, "broken contract: %s\n", text);
  std::abort();
}

/// True if the decoder of the target accepts these bytes, unchanged.
bool is_accepted(std::span<const std::byte> bytes);

}  // namespace forebay::format
