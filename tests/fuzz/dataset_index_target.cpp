// SPDX-License-Identifier: Apache-2.0
// Passes any bytes to the decoder of a dataset's indexes and checks its contract. Random bytes
// almost never have a valid checksum, so a second run gets one: what it rejects has invalid
// content.
#include <vector>

#include "format/index_builder.hpp"
#include "format/layout.hpp"
#include "tests/fuzz/dataset_target.hpp"

namespace forebay::format {
namespace {

constexpr std::uint64_t kWordBytes = 8;

/// The offset stored in the header.
std::uint64_t offset_of(std::span<const std::byte> bytes) {
  if (bytes.size() < sizeof(layout::IndexHeader)) return 0;
  return layout::load<layout::IndexHeader>(bytes).offset;
}

void check_block(const Index& index, std::uint32_t field, std::uint64_t number) {
  const Block block = index.block(field, number);
  for (std::uint64_t piece = 0; piece < block.pieces(); ++piece) {
    const ByteRange stored = block.stored_range(piece);
    check(stored.offset >= kPageBytes, "a piece begins after the header");
    check(stored.end() <= index.header().offset, "a piece ends before the index");
    check(block.raw_range(piece).size <= kPieceBytes, "a piece is not larger than kPieceBytes");
  }
  (void)index.seed(field, number);
  const FieldDefinition& definition = index.fields()[field].definition;
  const Coordinates shape = index.shape(field, number);
  check(array_bytes(definition.type, shape) == block.raw_bytes, "the bytes are those of the shape");
  if (definition.kind == FieldKind::kParts) {
    check(index.find_part(field, block.key) == number, "find_part() finds a part");
  } else {
    check(!index.find_blocks(field, index.box(field, number)).empty(), "find_blocks() finds a box");
  }
}

/// Checks that the builder accepts everything that the decoder returned.
void check_rebuilt(const Index& index) {
  IndexBuilder builder(index.header().id, index.header().metadata);
  for (std::uint32_t i = 0; i < index.fields().size(); ++i) {
    const IndexField& field = index.fields()[i];
    const auto number = builder.add_field(field.definition);
    check(number.has_value(), "a decoded field can be added");
    for (std::uint64_t n = 0; n < field.blocks; ++n) {
      const Block block = index.block(i, n);
      const bool is_global = field.definition.kind == FieldKind::kGlobal;
      const Coordinates shape = index.shape(i, n);
      const Coordinates common = is_global ? index.box(i, n).start : Coordinates{};
      const Status added = builder.add_block(*number, {.part = block.key,
                                                       .start = common,
                                                       .shape = shape,
                                                       .offset = block.offset,
                                                       .raw_bytes = block.raw_bytes,
                                                       .stored_bytes = block.stored_bytes,
                                                       .codec = block.codec,
                                                       .checksum = block.checksum,
                                                       .piece_checksums = block.piece_checksums,
                                                       .piece_ends = block.piece_ends});
      check(added.has_value(), "a decoded block can be added");
    }
  }
  const std::uint64_t offset = index.header().offset / kPageBytes * kPageBytes;
  if (offset != index.header().offset) return;
  const auto encoded = builder.encode(offset);
  check(encoded.has_value(), "a decoded index can be encoded");
  check(Index::decode(*encoded, offset, "again").has_value(), "an encoded index can be decoded");
}

bool run(std::span<const std::byte> bytes) {
  (void)decode_index_header(bytes, "fuzz");
  const auto index = Index::decode(bytes, offset_of(bytes), "fuzz");
  if (!index) return false;
  for (std::uint32_t field = 0; field < index->fields().size(); ++field)
    for (std::uint64_t number = 0; number < index->fields()[field].blocks; ++number)
      check_block(*index, field, number);
  check_rebuilt(*index);
  return true;
}

}  // namespace

bool is_accepted(std::span<const std::byte> bytes) { return run(bytes); }

}  // namespace forebay::format

// NOLINTNEXTLINE(readability-identifier-naming): the name is libFuzzer's
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace forebay::format;
  const auto bytes = std::as_bytes(std::span(data, size));
  run(bytes);
  if (size < sizeof(layout::IndexHeader) + kWordBytes) return 0;
  std::vector<std::byte> fixed(bytes.begin(), bytes.end());
  fixed.resize(size / kWordBytes * kWordBytes);
  layout::store(std::uint64_t{fixed.size()}, fixed, offsetof(layout::IndexHeader, bytes));
  const std::uint64_t end = fixed.size() - kWordBytes;
  layout::store(metadata_checksum(kIndexMagic, std::span(fixed).first(end)), fixed, end);
  run(fixed);
  return 0;
}
