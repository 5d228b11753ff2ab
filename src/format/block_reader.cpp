// SPDX-License-Identifier: Apache-2.0
#include "format/block_reader.hpp"

#include <algorithm>
#include <cstring>

#include "base/assert.hpp"
#include "format/codec.hpp"

namespace forebay::format {

PieceRange pieces_of(ByteRange range) noexcept {
  const std::uint64_t first = range.offset / kPieceBytes;
  return {first, (range.end() - 1) / kPieceBytes - first + 1};
}

/// A block that is read, and where its Errors say they happened.
struct BlockReader::Source {
  const StepCatalog& step;
  const BlockPlace& place;
  std::shared_ptr<storage::File> file;
  Block block;
  BlockSeed seed;

  Error failed(ErrorClass kind, std::uint64_t piece, const std::string& cause) const {
    return Error({.kind = kind,
                  .operation = "read " + step.describe(place) + " from",
                  .path = file->path(),
                  .offset_bytes = block.stored_range(piece).offset,
                  .cause = "piece " + std::to_string(piece) + " (" +
                           std::to_string(block.raw_range(piece).size) + " bytes): " + cause});
  }
  Error failed(const Error& error, std::uint64_t piece) const {
    return Error({.kind = error.kind(),
                  .operation = "read " + step.describe(place) + " from",
                  .path = file->path(),
                  .offset_bytes = error.offset_bytes().value_or(block.stored_range(piece).offset),
                  .error_number = error.error_number(),
                  .cause = error.cause()});
  }
  Status fill(std::span<std::byte> into, ByteRange range, std::uint64_t piece) const {
    const auto got = file->read_at(into, range.offset);
    if (!got) return tl::unexpected(failed(got.error(), piece));
    if (*got == into.size()) return {};
    return tl::unexpected(
        failed(ErrorClass::kShortFile, piece,
               "the file ends " + std::to_string(into.size() - *got) + " bytes too early"));
  }
};

BlockReader::BlockReader(Verify verify) : verify_(verify) {}

Status BlockReader::load(const Source& source, std::uint64_t piece, std::span<std::byte> raw) {
  const ByteRange where = source.block.stored_range(piece);
  std::span<const std::byte> stored = raw;
  if (source.block.codec == Codec::kNone) {
    if (Status filled = source.fill(raw, where, piece); !filled) return filled;
  } else {
    stored_.resize(where.size);
    stored = stored_;
    if (Status filled = source.fill(stored_, where, piece); !filled) return filled;
    if (const Status made = decompress_piece(source.block.codec, stored_, raw); !made)
      return tl::unexpected(source.failed(ErrorClass::kDamage, piece, made.error().cause()));
  }
  if (verify_ == Verify::kNothing || is_whole(source.seed, source.block, piece, {raw, stored}))
    return {};
  return tl::unexpected(source.failed(
      ErrorClass::kDamage, piece,
      "its checksum does not fit: bytes were changed, or are those of another place"));
}

namespace {

/// Bytes that need neither a codec nor a check may be read where they go, however many.
Status check_range(const StepCatalog& step,
                   const BlockPlace& place,
                   ByteRange range,
                   std::uint64_t into_bytes) {
  FOREBAY_ASSERT(into_bytes == range.size);
  const std::uint64_t bytes = step.block(place).raw_bytes;
  if (range.offset <= bytes && range.size <= bytes - range.offset) return {};
  return failure({.kind = ErrorClass::kOutOfRange,
                  .operation = "read " + step.describe(place) + " from",
                  .path = step.files()[place.file].path,
                  .cause = "bytes " + std::to_string(range.offset) + " to " +
                           std::to_string(range.end()) + " are wanted of " +
                           std::to_string(bytes)});
}

}  // namespace

Status BlockReader::read(const StepCatalog& step,
                         const BlockPlace& place,
                         ByteRange range,
                         std::span<std::byte> into) {
  if (Status checked = check_range(step, place, range, into.size()); !checked) return checked;
  if (range.empty()) return {};
  auto file = file_of(step.files()[place.file]);
  if (!file) return tl::unexpected(file.error());
  const Source source = {step, place, std::move(*file), step.block(place),
                         step.index(place).seed(place.field, place.number)};
  if (verify_ == Verify::kNothing && source.block.codec == Codec::kNone)
    return source.fill(into, {source.block.offset + range.offset, range.size},
                       pieces_of(range).first);
  const PieceRange pieces = pieces_of(range);
  for (std::uint64_t piece = pieces.first; piece < pieces.first + pieces.count; ++piece) {
    const ByteRange whole = source.block.raw_range(piece);
    const ByteRange wanted = intersect(whole, range);
    const auto target = into.subspan(wanted.offset - range.offset, wanted.size);
    if (wanted == whole) {
      if (Status loaded = load(source, piece, target); !loaded) return loaded;
      continue;
    }
    raw_.resize(whole.size);
    if (Status loaded = load(source, piece, raw_); !loaded) return loaded;
    std::memcpy(target.data(), raw_.data() + (wanted.offset - whole.offset), wanted.size);
  }
  return {};
}

Result<std::vector<std::byte>> BlockReader::read(const StepCatalog& step, const BlockPlace& place) {
  std::vector<std::byte> bytes(step.block(place).raw_bytes);
  if (Status filled = read(step, place, {0, bytes.size()}, bytes); !filled)
    return tl::unexpected(filled.error());
  return bytes;
}

Status BlockReader::read_piece(const StepCatalog& step,
                               const BlockPlace& place,
                               std::uint64_t piece,
                               std::span<std::byte> raw) {
  return read(step, place, step.block(place).raw_range(piece), raw);
}

}  // namespace forebay::format
