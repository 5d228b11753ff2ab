// SPDX-License-Identifier: Apache-2.0
// Streams the bytes of a step to a program that converts them to another format and does not
// implement the format of datasets.
#pragma once

#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>

#include "tools/dataset/selection.hpp"

namespace forebay::dataset_tool {

/// Writes a line of JSON that describes the fields. Then, for each block, a line with its field,
/// part or start, shape and bytes, followed by the bytes. Then the line {"end":true}, without which
/// the stream is incomplete. All bytes are verified. Needs memory for two pieces. Blocks.
Status stream_blocks(const Selection& selection, std::FILE* into);

/// The steps that stream_places() writes: all, the newest, or the one with this number.
struct PlacesRequest {
  std::string path;
  std::optional<std::uint64_t> step = {};
  enum class Which : std::uint8_t { kAll, kNewest } which = Which::kAll;
};

/// Writes where the blocks of steps are stored: for each step a line of JSON that describes the
/// fields and names the data files, then a line for each block. A step with damage
/// that hides blocks has one line, with the `error`; so has one that was dropped meanwhile. Then
/// the line {"end":true}. Reads no data. Blocks.
Status stream_places(const PlacesRequest& request, std::FILE* into);

/// How the bytes of a block are stored, if they are read as one chunk. Consecutive Zstandard frames
/// are valid Zstandard.
enum class BlockEncoding : std::uint8_t { kUncompressed, kCompressed, kMixed };

BlockEncoding encoding_of(const format::Block& block);
/// "none", "zstd" or "mixed".
std::string_view name_of(BlockEncoding encoding);

}  // namespace forebay::dataset_tool
