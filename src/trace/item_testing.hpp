// SPDX-License-Identifier: Apache-2.0
// What tests of signatures share: short forms of items, and the accesses of a signature.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <utility>
#include <vector>

#include "trace/signature_cursor.hpp"

namespace forebay::trace::testing {

/// constant + factors[0] i + factors[1] j + ...
inline AffineNumber number(std::int64_t constant,
                           std::initializer_list<std::int64_t> factors = {}) {
  AffineNumber number{.constant = constant};
  std::size_t depth = 0;
  for (const std::int64_t factor : factors)
    number.factors[depth++] = factor;
  return number;
}

inline Item access(const AffineNumber& offset, const AffineNumber& size) {
  return AccessItem{.offset = offset, .size = size};
}

inline Item loop(const AffineNumber& count, std::vector<Item> items) {
  return LoopItem{.count = count, .items = std::move(items)};
}

inline std::vector<Access> accesses_of(const Signature& signature) {
  std::vector<Access> accesses;
  SignatureCursor cursor(std::make_shared<Signature>(signature));
  for (; !cursor.is_done(); cursor.advance())
    accesses.push_back(cursor.current());
  return accesses;
}

}  // namespace forebay::trace::testing
