// SPDX-License-Identifier: Apache-2.0
// Reads the blocks of a step one after the other, and lists where blocks are stored, for
// conversions to other formats.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "command/command_result.hpp"
#include "format/block_reader.hpp"
#include "tools/dataset/selection.hpp"

namespace forebay::dataset_tool {

/// One thread at a time. Needs memory for two pieces, and 24 bytes for each block. Calls block.
class BlockStream {
 public:
  /// Fails as select() does.
  static Result<BlockStream> open(const Selection& selection);

  /// {"step","bytes","attributes","dataset_attributes","fields":[{"name","node","dtype","kind",
  /// "shape","attributes"}]}.
  command::Json head() const;

  /// Goes to the next block: {"field": its number, "part" or "start","shape","bytes"}. No value
  /// after the last one.
  std::optional<command::Json> next();

  /// Fills `into` with the next bytes of the block of next(), verified. kOutOfRange if the block
  /// has fewer.
  Status read(std::span<std::byte> into);

 private:
  explicit BlockStream(Selected selected);
  const format::StepCatalog& step() const { return *selected_.step; }

  Selected selected_;
  format::BlockReader reader_;
  std::vector<std::pair<std::size_t, format::BlockLocation>> blocks_;  ///< with their fields
  std::size_t next_ = 0;
  std::uint64_t offset_ = 0;  ///< in the current block
};

/// The steps of list_places(): all, the newest, or the one with this number.
struct PlacesRequest {
  std::string path;
  std::optional<std::uint64_t> step = {};
  enum class Which : std::uint8_t { kAll, kNewest } which = Which::kAll;
};

/// Where the blocks of steps are stored: [step]. A step has the members of BlockStream::head(),
/// "files" and "blocks": [{members of next(), "file","offset","stored_bytes","encoding"}]. A field
/// with overlapping blocks has "error". A step with damage that hides blocks has "step" and "error"
/// alone; so has one that was dropped meanwhile. Reads no data. Blocks.
Result<command::Json> list_places(const PlacesRequest& request);

/// How the bytes of a block are stored, if they are read as one chunk. Consecutive Zstandard frames
/// are valid Zstandard.
enum class BlockEncoding : std::uint8_t { kUncompressed, kCompressed, kMixed };

BlockEncoding encoding_of(const format::Block& block);
/// "none", "zstd" or "mixed".
std::string_view name_of(BlockEncoding encoding);

}  // namespace forebay::dataset_tool
