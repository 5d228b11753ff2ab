// SPDX-License-Identifier: Apache-2.0
// What extended headers say of the member behind them: PAX (POSIX.1-2001, as Python's tarfile
// writes it) and the long names of GNU tar.
#pragma once

#include <forebay/error.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "cube/tar.hpp"

namespace forebay::cube {

/// More than the longest path takes; what is larger is no extended header.
inline constexpr std::uint64_t kTarExtensionBytesMax = std::uint64_t{1} << 20U;

/// Replaces the fields of the header of the next member.
struct TarExtension {
  std::optional<std::string> name = {};
  std::optional<std::uint64_t> size_bytes = {};

  /// Adds what the body of an extended header of this kind says: 'x' and 'g' (PAX), 'L' (GNU); of
  /// others nothing. Fails with kDamage where it is no list of records, with kUnsupported where the
  /// member is sparse, so that its bytes are not those of the file.
  Status add(char kind, std::string_view body);
  /// Replaces what it says of the next member.
  void apply_to(TarHeader& header) const;
};

/// Whether a member of this kind says something of others, and has no file of its own.
constexpr bool is_tar_extension(char kind) {
  return kind == 'x' || kind == 'g' || kind == 'L' || kind == 'K';
}

}  // namespace forebay::cube
