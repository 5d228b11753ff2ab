// SPDX-License-Identifier: Apache-2.0
// What the fuzz targets of the dataset format share: how a promise is held, and a question that the
// corpus answers by the names of its files.
#pragma once

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <span>

namespace forebay::format {

inline void hold(bool value, const char* text) {
  if (value) return;
  std::fprintf(stderr, "broken promise: %s\n", text);
  std::abort();
}

/// True if the decoder of the target takes these bytes as they are.
bool accepts(std::span<const std::byte> bytes);

}  // namespace forebay::format
