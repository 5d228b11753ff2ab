// SPDX-License-Identifier: Apache-2.0
// Signature: a long series of accesses as nested loops whose numbers depend linearly on the loop
// variables (docs/formats/signature.md). Plain values; pure functions.
#pragma once

#include <forebay/detail/export.hpp>
#include <forebay/error.hpp>
#include <forebay/range.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "trace/access.hpp"

namespace forebay::trace {

/// Maximum number of loops around an access.
inline constexpr std::size_t kLoopDepthMax = 8;
/// Maximum numbers of items of a signature, and of accesses in its lists.
inline constexpr std::size_t kItemsMax = 4096;
inline constexpr std::size_t kListedAccessesMax = std::size_t{1} << 20U;

/// Repetition numbers of the loops around an item, outermost first, each from 0.
using LoopIndexes = std::array<std::int64_t, kLoopDepthMax>;

/// A number that depends on the loops around it: constant + sum of factors[d] * indexes[d].
struct AffineNumber {
  std::int64_t constant = 0;
  std::array<std::int64_t, kLoopDepthMax> factors = {};

  /// Exact if the sum fits, which check_signature() ensures: partial sums may wrap around.
  std::int64_t at(const LoopIndexes& indexes) const noexcept {
    auto sum = static_cast<std::uint64_t>(constant);
    for (std::size_t depth = 0; depth < kLoopDepthMax; ++depth) {
      sum +=
          static_cast<std::uint64_t>(factors[depth]) * static_cast<std::uint64_t>(indexes[depth]);
    }
    return static_cast<std::int64_t>(sum);
  }
  friend bool operator==(const AffineNumber&, const AffineNumber&) = default;
};

/// One access in each repetition of the loops around it.
struct AccessItem {
  AffineNumber offset;
  AffineNumber size;
  /// From the begin of the access before it in the stream; absent: unknown.
  std::optional<AffineNumber> interval_ns = std::nullopt;

  friend bool operator==(const AccessItem&, const AccessItem&) = default;
};

/// Accesses that follow no rule.
struct ListItem {
  std::vector<ByteRange> accesses;

  friend bool operator==(const ListItem&, const ListItem&) = default;
};

struct LoopItem;
using Item = std::variant<AccessItem, ListItem, LoopItem>;

/// Does its items in order, `count` times; a negative count means 0.
struct LoopItem {
  AffineNumber count;  ///< depends on the loops around this one only
  std::vector<Item> items;

  friend bool operator==(const LoopItem&, const LoopItem&);
};
inline bool operator==(const LoopItem& a, const LoopItem& b) {
  return a.count == b.count && a.items == b.items;
}

/// The accesses of one stream: those of one process or thread to one file.
struct Signature {
  Operation operation = Operation::kRead;
  std::vector<Item> items;

  friend bool operator==(const Signature&, const Signature&) = default;
};

/// Parses one signature, with comments and line breaks. The result satisfies check_signature().
/// Fails with kInvalidArgument; the Error names `path`, line, column, and what is expected there.
FOREBAY_EXPORT Result<Signature> parse_signature(std::string_view text,
                                                 const std::string& path = "signature");

/// One line, in the canonical form of docs/formats/signature.md#grammar. parse_signature() returns
/// the same Signature if it satisfies check_signature().
FOREBAY_EXPORT std::string to_text(const Signature& signature);

/// Fails with kInvalidArgument if the signature exceeds a limit of the format in any repetition;
/// the Error names the item and the values of the loop variables. Takes time for the items and
/// lists, not for the repetitions. Refuses some valid signatures
/// (docs/formats/signature.md#limits).
Status check_signature(const Signature& signature);

/// Number of all accesses. `signature` must satisfy check_signature(). Enumerates only repetitions
/// of loops around a loop whose count depends on them; no value if they are more than
/// `repetitions_max`.
FOREBAY_EXPORT std::optional<std::uint64_t> access_count(
    const Signature& signature, std::uint64_t repetitions_max = std::uint64_t{1} << 20U);

}  // namespace forebay::trace
