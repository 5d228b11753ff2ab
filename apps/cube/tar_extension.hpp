// SPDX-License-Identifier: Apache-2.0
// Extended headers, which describe the next member: PAX (POSIX.1-2001, as written by Python's
// tarfile) and long names of GNU tar.
#pragma once

#include <forebay/error.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "cube/tar.hpp"

namespace forebay::cube {

/// Longer than any path; a larger member is not accepted as an extended header.
inline constexpr std::uint64_t kTarExtensionBytesMax = std::uint64_t{1} << 20U;

/// Replacements for header fields of the next member.
struct TarExtension {
  std::optional<std::string> name = {};
  std::optional<std::uint64_t> size_bytes = {};

  /// Adds the content of an extended header of this kind: 'x' and 'g' (PAX), 'L' (GNU); others are
  /// ignored. Fails with kDamage if the body is not a list of records. Fails with kUnsupported if
  /// the member is sparse, because its bytes are then not those of the file.
  Status add(char kind, std::string_view body);
  /// Replaces the fields of `header` that the extended header contains.
  void apply_to(TarHeader& header) const;
};

/// Whether a member of this kind describes other members and is not a file.
constexpr bool is_tar_extension(char kind) {
  return kind == 'x' || kind == 'g' || kind == 'L' || kind == 'K';
}

}  // namespace forebay::cube
