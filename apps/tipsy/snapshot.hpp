// SPDX-License-Identifier: Apache-2.0
// What a file is, as far as its header and size can say: docs/formats/tipsy.md, "How a reader
// decides". Separate from reading, because the answer may be two candidates and a question.
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

/// A recognised snapshot.
struct Snapshot {
  std::string path;
  std::uint64_t file_bytes = 0;
  ByteOrder order = ByteOrder::kStandard;
  Header header;
  std::uint64_t header_bytes = kHeaderBytes;
  Counts counts;
  bool pad_used = false;              ///< the counts hold high bytes from the pad
  std::vector<Precision> candidates;  ///< at least one
  std::uint64_t trailing_bytes = 0;  ///< past the last record; only if the user named the precision

  /// True for Bonsai version 2 (pad 2): dark and star records hold a 64-bit id in place of eps and
  /// phi.
  bool has_ids() const noexcept { return !pad_used && header.pad == 2; }
  /// Fails with kInvalidArgument if there is more than one candidate, naming the options that
  /// choose.
  Result<Layout> layout() const;
};

/// Which header fields determine the number of particles.
enum class CountsFrom : std::uint8_t {
  kHeader,         ///< nbodies, which must be the sum of the families
  kSumOfFamilies,  ///< the families, whatever nbodies is
};

/// What recognise() knows of a file.
struct FileFacts {
  std::string path;
  std::uint64_t file_bytes = 0;
  /// The first kHeaderBytes of the file, fewer if it is shorter.
  std::span<const std::byte> head;
  CountsFrom counts_from = CountsFrom::kHeader;
};

/// Decides what the file is. `word` is the precision the user named, if any. Pure.
/// Fails as the page's table of damage says.
Result<Snapshot> recognise(const FileFacts& facts, std::optional<Precision> word);

}  // namespace forebay::tipsy
