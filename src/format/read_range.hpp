// SPDX-License-Identifier: Apache-2.0
// read_range(): bytes of a file in memory, for the tools of this module.
#pragma once

#include <algorithm>

#include "storage/file.hpp"

namespace forebay::format {

/// The bytes of `range`, fewer if the file ends inside it. Blocks.
inline Result<std::vector<std::byte>> read_range(storage::File& file, ByteRange range) {
  const auto size = file.size();
  if (!size) return tl::unexpected(size.error());
  const ByteRange available = intersect(range, {0, *size});
  std::vector<std::byte> bytes(available.size);
  const auto got = file.read_at(bytes, range.offset);
  if (!got) return tl::unexpected(got.error());
  bytes.resize(*got);
  return bytes;
}

}  // namespace forebay::format
