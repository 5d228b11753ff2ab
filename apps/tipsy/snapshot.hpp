// SPDX-License-Identifier: Apache-2.0
// Identifies a file from its header and size: docs/formats/tipsy.md, "How a reader decides".
// Separate from reading, because the result may be two candidates.
#pragma once

#include <forebay/error.hpp>

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tipsy/header.hpp"
#include "tipsy/layout.hpp"

namespace forebay::tipsy {

/// An identified snapshot.
struct Snapshot {
  std::string path;
  std::uint64_t file_bytes = 0;
  ByteOrder order = ByteOrder::kStandard;
  Header header;
  std::uint64_t header_bytes = kHeaderBytes;
  Counts counts;
  bool is_pad_used = false;           ///< the counts include high bytes from the pad
  std::vector<Precision> candidates;  ///< one or more
  std::uint64_t trailing_bytes = 0;  ///< past the last record; only if the user named the precision

  /// True for Bonsai version 2 (pad 2): dark and star records hold a 64-bit id in place of eps and
  /// phi.
  bool has_ids() const noexcept { return !is_pad_used && header.pad == 2; }
  /// Fails with kInvalidArgument if there are two or more candidates; the Error names the options
  /// that choose.
  Result<Layout> layout() const;
};

/// Which header fields determine the number of particles.
enum class CountSource : std::uint8_t {
  kHeader,        ///< nbodies, which must be the sum of the families
  kFamilyCounts,  ///< the families, nbodies is ignored
};

/// Input of identify_snapshot().
struct FileInfo {
  std::string path;
  std::uint64_t file_bytes = 0;
  /// The first kHeaderBytes of the file, fewer if it is shorter.
  std::span<const std::byte> head;
  CountSource count_source = CountSource::kHeader;
};

/// Identifies a file. `named_precision` is the precision that the user named, if any. Pure. Fails
/// as in the table of damage in docs/formats/tipsy.md.
Result<Snapshot> identify_snapshot(const FileInfo& file, std::optional<Precision> named_precision);

}  // namespace forebay::tipsy
