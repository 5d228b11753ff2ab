// SPDX-License-Identifier: Apache-2.0
#include "format/block_reader.hpp"

#include <algorithm>
#include <cstring>

#include "base/assert.hpp"
#include "format/codec.hpp"

namespace forebay::format {

PieceRange piece_range_of(ByteRange range) noexcept {
  const std::uint64_t first = range.offset / kPieceBytes;
  return {first, (range.end() - 1) / kPieceBytes - first + 1};
}

/// A block that is read, with context for its Errors.
struct BlockReader::OpenBlock {
  const StepCatalog& step;
  const BlockLocation& location;
  std::shared_ptr<storage::File> file;
  Block block;
  BlockSeed seed;

  Error make_error(ErrorClass kind, std::uint64_t piece, const std::string& cause) const {
    return Error({.kind = kind,
                  .operation = "read " + step.describe(location) + " from",
                  .path = file->path(),
                  .offset_bytes = block.stored_range(piece).offset,
                  .cause = "piece " + std::to_string(piece) + " (" +
                           std::to_string(block.raw_range(piece).size) + " bytes): " + cause});
  }
  Error make_error(const Error& error, std::uint64_t piece) const {
    return Error({.kind = error.kind(),
                  .operation = "read " + step.describe(location) + " from",
                  .path = file->path(),
                  .offset_bytes = error.offset_bytes().value_or(block.stored_range(piece).offset),
                  .error_number = error.error_number(),
                  .cause = error.cause()});
  }
  Status read_fully(std::span<std::byte> into, ByteRange range, std::uint64_t piece) const {
    const auto got = file->read_at(into, range.offset);
    if (!got) return tl::unexpected(make_error(got.error(), piece));
    if (*got == into.size()) return {};
    return tl::unexpected(
        make_error(ErrorClass::kShortFile, piece,
                   "the file ends " + std::to_string(into.size() - *got) + " bytes too early"));
  }
};

BlockReader::BlockReader(VerifyMode verify) : verify_(verify) {}

Status BlockReader::load_piece(const OpenBlock& open_block,
                               std::uint64_t piece,
                               std::span<std::byte> raw) {
  const ByteRange where = open_block.block.stored_range(piece);
  std::span<const std::byte> stored = raw;
  if (open_block.block.codec == Codec::kNone) {
    if (Status filled = open_block.read_fully(raw, where, piece); !filled) return filled;
  } else {
    stored_.resize(where.size);
    stored = stored_;
    if (Status filled = open_block.read_fully(stored_, where, piece); !filled) return filled;
    if (const Status made = decompress_piece(open_block.block.codec, stored_, raw); !made)
      return tl::unexpected(
          open_block.make_error(ErrorClass::kDamage, piece, made.error().cause()));
  }
  if (verify_ == VerifyMode::kNone ||
      is_valid_piece(open_block.seed, open_block.block, piece, {raw, stored}))
    return {};
  return tl::unexpected(open_block.make_error(
      ErrorClass::kDamage, piece,
      "its checksum does not fit: bytes were changed, or are those of another place"));
}

namespace {

/// Checks the arguments. Bytes that need neither a codec nor a check may be read directly, in any
/// number.
Status check_range(const StepCatalog& step,
                   const BlockLocation& location,
                   ByteRange range,
                   std::uint64_t into_bytes) {
  FOREBAY_ASSERT(into_bytes == range.size);
  const std::uint64_t bytes = step.block(location).raw_bytes;
  if (range.offset <= bytes && range.size <= bytes - range.offset) return {};
  return failure({.kind = ErrorClass::kOutOfRange,
                  .operation = "read " + step.describe(location) + " from",
                  .path = step.files()[location.file].path,
                  .cause = "bytes " + std::to_string(range.offset) + " to " +
                           std::to_string(range.end()) + " were requested, and it has " +
                           std::to_string(bytes)});
}

}  // namespace

Status BlockReader::read(const StepCatalog& step,
                         const BlockLocation& location,
                         ByteRange range,
                         std::span<std::byte> into) {
  if (Status checked = check_range(step, location, range, into.size()); !checked) return checked;
  if (range.empty()) return {};
  auto file = open_step_file(step.files()[location.file]);
  if (!file) return tl::unexpected(file.error());
  const OpenBlock open_block = {step, location, std::move(*file), step.block(location),
                                step.index(location).seed(location.field, location.number)};
  if (verify_ == VerifyMode::kNone && open_block.block.codec == Codec::kNone)
    return open_block.read_fully(into, {open_block.block.offset + range.offset, range.size},
                                 piece_range_of(range).first);
  const PieceRange pieces = piece_range_of(range);
  for (std::uint64_t piece = pieces.first; piece < pieces.first + pieces.count; ++piece) {
    const ByteRange whole = open_block.block.raw_range(piece);
    const ByteRange requested = intersect(whole, range);
    const auto target = into.subspan(requested.offset - range.offset, requested.size);
    if (requested == whole) {
      if (Status loaded = load_piece(open_block, piece, target); !loaded) return loaded;
      continue;
    }
    raw_.resize(whole.size);
    if (Status loaded = load_piece(open_block, piece, raw_); !loaded) return loaded;
    std::memcpy(target.data(), raw_.data() + (requested.offset - whole.offset), requested.size);
  }
  return {};
}

Result<std::vector<std::byte>> BlockReader::read(const StepCatalog& step,
                                                 const BlockLocation& location) {
  std::vector<std::byte> bytes(step.block(location).raw_bytes);
  if (Status filled = read(step, location, {0, bytes.size()}, bytes); !filled)
    return tl::unexpected(filled.error());
  return bytes;
}

Status BlockReader::read_piece(const StepCatalog& step,
                               const BlockLocation& location,
                               std::uint64_t piece,
                               std::span<std::byte> raw) {
  return read(step, location, step.block(location).raw_range(piece), raw);
}

}  // namespace forebay::format
