// SPDX-License-Identifier: Apache-2.0
#include "format/box.hpp"

#include <forebay/range.hpp>

namespace forebay::format {

bool has_overlap(const Box& a, const Box& b) noexcept {
  for (std::size_t d = 0; d < a.start.size(); ++d) {
    const ByteRange shared = forebay::intersect({a.start[d], a.count[d]}, {b.start[d], b.count[d]});
    if (shared.empty()) return false;
  }
  return true;
}

}  // namespace forebay::format
