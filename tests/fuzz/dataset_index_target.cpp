// SPDX-License-Identifier: Apache-2.0
// Gives any bytes to the decoder of a dataset's indexes and holds it to what it promises. As hardly
// anything has a right checksum, it gets one here; what is then refused is refused for its content.
#include <vector>

#include "format/index_builder.hpp"
#include "format/layout.hpp"
#include "tests/fuzz/dataset_target.hpp"

namespace forebay::format {
namespace {

constexpr std::uint64_t kWordBytes = 8;

/// Where the bytes say that they lie.
std::uint64_t offset_of(std::span<const std::byte> bytes) {
  if (bytes.size() < sizeof(layout::IndexHead)) return 0;
  return layout::load<layout::IndexHead>(bytes).offset;
}

void hold_block(const Index& index, std::uint32_t field, std::uint64_t number) {
  const Block block = index.block(field, number);
  for (std::uint64_t piece = 0; piece < block.pieces(); ++piece) {
    const ByteRange stored = block.stored_range(piece);
    hold(stored.offset >= kPageBytes, "a piece lies behind the header");
    hold(stored.end() <= index.head().offset, "a piece lies in front of the index");
    hold(block.raw_range(piece).size <= kPieceBytes, "a piece has at most a piece's bytes");
  }
  (void)index.seed(field, number);
  const FieldDefinition& definition = index.fields()[field].definition;
  const Place shape = index.shape(field, number);
  hold(array_bytes(definition.type, shape) == block.raw_bytes, "bytes are those of the shape");
  if (definition.kind == FieldKind::kParts) {
    hold(index.find_part(field, block.key) == number, "a part is found");
  } else {
    hold(!index.intersecting(field, index.box(field, number)).empty(), "a box is found");
  }
}

/// The builder takes what the decoder gave out.
void hold_rebuilt(const Index& index) {
  IndexBuilder builder(index.head().place, index.head().facts);
  for (std::uint32_t i = 0; i < index.fields().size(); ++i) {
    const IndexField& field = index.fields()[i];
    const auto number = builder.add_field(field.definition);
    hold(number.has_value(), "a field that was read can be written");
    for (std::uint64_t n = 0; n < field.blocks; ++n) {
      const Block block = index.block(i, n);
      const bool is_global = field.definition.kind == FieldKind::kGlobal;
      const Place shape = index.shape(i, n);
      const Place start = is_global ? index.box(i, n).start : Place{};
      const Status added = builder.add_block(*number, {.part = block.key,
                                                       .start = start,
                                                       .shape = shape,
                                                       .offset = block.offset,
                                                       .raw_bytes = block.raw_bytes,
                                                       .stored_bytes = block.stored_bytes,
                                                       .codec = block.codec,
                                                       .checksum = block.checksum,
                                                       .piece_checksums = block.piece_checksums,
                                                       .piece_ends = block.piece_ends});
      hold(added.has_value(), "a block that was read can be written");
    }
  }
  const std::uint64_t offset = index.head().offset / kPageBytes * kPageBytes;
  if (offset != index.head().offset) return;
  const auto encoded = builder.encode(offset);
  hold(encoded.has_value(), "what was read can be written");
  hold(Index::decode(*encoded, offset, "again").has_value(), "what was written is read");
}

bool run(std::span<const std::byte> bytes) {
  (void)decode_index_head(bytes, "fuzz");
  const auto index = Index::decode(bytes, offset_of(bytes), "fuzz");
  if (!index) return false;
  for (std::uint32_t field = 0; field < index->fields().size(); ++field)
    for (std::uint64_t number = 0; number < index->fields()[field].blocks; ++number)
      hold_block(*index, field, number);
  hold_rebuilt(*index);
  return true;
}

}  // namespace

bool accepts(std::span<const std::byte> bytes) { return run(bytes); }

}  // namespace forebay::format

// NOLINTNEXTLINE(readability-identifier-naming): the name is libFuzzer's
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace forebay::format;
  const auto bytes = std::as_bytes(std::span(data, size));
  run(bytes);
  if (size < sizeof(layout::IndexHead) + kWordBytes) return 0;
  std::vector<std::byte> whole(bytes.begin(), bytes.end());
  whole.resize(size / kWordBytes * kWordBytes);
  layout::store(std::uint64_t{whole.size()}, whole, offsetof(layout::IndexHead, bytes));
  const std::uint64_t end = whole.size() - kWordBytes;
  layout::store(metadata_checksum(kIndexMagic, std::span(whole).first(end)), whole, end);
  run(whole);
  return 0;
}
