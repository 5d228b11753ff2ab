// SPDX-License-Identifier: Apache-2.0
// Copies blocks into segments, and computes the checksums of their pieces.
#include "write/packer.hpp"

#include <algorithm>
#include <utility>

#include "base/assert.hpp"
#include "base/clock.hpp"
#include "format/codec.hpp"
#include "write/hashed_copy.hpp"

namespace forebay::write {

namespace {

using format::kPieceBytes;

tl::unexpected<Error> invalid_put(const std::string& field, std::string cause) {
  return failure({.kind = ErrorClass::kInvalidArgument,
                  .operation = "put field '" + field + "'",
                  .cause = std::move(cause)});
}

/// Number of elements of a block: UINT64_MAX on overflow, 0 if any count is 0.
std::uint64_t elements_of(std::span<const std::uint64_t> counts) {
  if (std::ranges::find(counts, 0U) != counts.end()) return 0;
  std::uint64_t elements = 1;
  for (const std::uint64_t count : counts)
    if (__builtin_mul_overflow(elements, count, &elements)) return UINT64_MAX;
  return elements;
}

/// Sets the flag until the end of its scope.
class CopyingScope {
 public:
  explicit CopyingScope(std::atomic<bool>& flag) : flag_(flag) { flag_.store(true); }
  ~CopyingScope() { flag_.store(false); }
  CopyingScope(const CopyingScope&) = delete;
  CopyingScope& operator=(const CopyingScope&) = delete;

 private:
  std::atomic<bool>& flag_;
};

ByteRange piece_of(const BlockSource& source, std::uint64_t piece) {
  const std::uint64_t begin = piece * kPieceBytes;
  return {begin, std::min(kPieceBytes, source.size_bytes() - begin)};
}

}  // namespace

Packer::Packer(Setup setup)
    : setup_(std::move(setup)),
      step_seed_(format::step_seed(setup_.dataset, setup_.step.step)),
      run_(setup_.staging->segments_for(std::max<std::uint64_t>(setup_.unit_bytes, 1))),
      segment_bytes_(run_ * setup_.staging->segment_bytes()) {
  record_.step = setup_.step.step;
}

Packer::~Packer() {
  if (open_) setup_.staging->release(open_->segment, run_);
}

Result<std::uint32_t> Packer::field_number(const format::FieldDefinition& field) {
  const auto known = fields_.find(field.name);
  if (known != fields_.end()) {
    if (record_.fields[known->second] == field) return known->second;
    return invalid_put(field.name, "it is " + description_of(field) + " here, and was " +
                                       description_of(record_.fields[known->second]) +
                                       " before in this step");
  }
  if (const Status field_status = format::check_field(field); !field_status)
    return failure(field_status.error());
  const auto number = static_cast<std::uint32_t>(record_.fields.size());
  record_.fields.push_back(field);
  field_seeds_.push_back(format::field_seed(step_seed_, field.name));
  fields_.emplace(field.name, number);
  return number;
}

/// Without a layout, check() compares the sizes.
Result<BlockSource> Packer::source_of(const BlockDescriptor& descriptor,
                                      std::span<const std::byte> memory,
                                      const MemoryLayout& layout) const {
  if (layout.is_packed()) return BlockSource(memory);
  const format::FieldDefinition& field = descriptor.field;
  if (const Status valid = format::check_field(field); !valid) return failure(valid.error());
  const auto counts = std::span(descriptor.dims).last(field.dimensions);
  const std::uint64_t element_bytes = element_size(field.type);
  const auto placement = format::place_in_memory(
      layout, {.count = counts, .element_bytes = element_bytes, .memory_bytes = memory.size()});
  if (!placement) return invalid_put(field.name, placement.error().cause());
  const std::uint64_t elements = elements_of(counts);
  if (elements > kRegionBytesMax / element_bytes)
    return invalid_put(field.name, "its shape has too many elements");
  if (elements == 0) return BlockSource({});
  const format::Box box{format::Coordinates(counts.size()), {counts.begin(), counts.end()}};
  return BlockSource(memory, format::BoxCopy(box, box, *placement, element_bytes));
}

Status Packer::check(const BlockDescriptor& descriptor, std::uint64_t bytes) const {
  const format::FieldDefinition& field = descriptor.field;
  const bool is_global = field.kind == format::FieldKind::kGlobal;
  const std::size_t expected = std::size_t{field.dimensions} * (is_global ? 2 : 1);
  if (descriptor.dims.size() != expected)
    return invalid_put(field.name, "start and count do not have the dimensions of the array");
  const auto counts = std::span(descriptor.dims).last(field.dimensions);
  const std::uint64_t element_bytes = element_size(field.type);
  const std::uint64_t elements = elements_of(counts);
  if (bytes % element_bytes != 0)
    return invalid_put(field.name, std::to_string(bytes) +
                                       " bytes are no whole number of elements of " +
                                       std::to_string(element_bytes) + " bytes");
  if (elements != bytes / element_bytes)
    return invalid_put(field.name, "its shape has " + std::to_string(elements) + " elements, and " +
                                       std::to_string(bytes / element_bytes) + " were given");
  for (std::size_t d = 0; is_global && d < field.dimensions; ++d) {
    const std::uint64_t start = descriptor.dims[d];
    if (start <= field.shape[d] && counts[d] <= field.shape[d] - start) continue;
    return invalid_put(field.name, "start " + std::to_string(start) + " and count " +
                                       std::to_string(counts[d]) + " in dimension " +
                                       std::to_string(d) + ", which has " +
                                       std::to_string(field.shape[d]) + " elements");
  }
  return {};
}

format::BlockSeed Packer::seed_of(const BlockDescriptor& descriptor, std::uint32_t field) const {
  if (descriptor.field.kind == format::FieldKind::kParts)
    return format::part_seed(field_seeds_[field], descriptor.part);
  const std::span dims(descriptor.dims);
  return format::array_seed(field_seeds_[field], dims.first(descriptor.field.dimensions),
                            dims.last(descriptor.field.dimensions));
}

Result<BlockRecord> Packer::begin_block(const BlockDescriptor& descriptor, std::uint64_t bytes) {
  if (const Status checked = check(descriptor, bytes); !checked) return failure(checked.error());
  const auto field = field_number(descriptor.field);
  if (!field) return failure(field.error());
  BlockRecord block{
      .part = descriptor.part, .raw_bytes = bytes, .stored_bytes = bytes, .field = *field};
  block.first_dim = record_.dims.size();
  block.first_piece = record_.piece_checksums.size();
  if (bytes > 0 && setup_.codec == Codec::kZstd) block.codec = format::Codec::kZstd;
  return block;
}

Result<std::uint32_t> Packer::wait_for_segment() {
  const bool may_wait = setup_.wait_max > std::chrono::nanoseconds::zero();
  const auto left = std::max(setup_.wait_max - waited_, std::chrono::nanoseconds(may_wait ? 1 : 0));
  const auto waited_ms = std::chrono::duration_cast<std::chrono::milliseconds>(waited_).count();
  const TimePoint began = SteadyClock::shared().now();
  auto segment = setup_.staging->acquire(left, run_);
  waited_ += SteadyClock::shared().now() - began;
  const bool is_late = !segment && segment.error().kind() == ErrorClass::kLimit;
  if (!is_late || !may_wait || waited_ms == 0) return segment;
  return failure(with_note(segment.error(), "the call had waited " + std::to_string(waited_ms) +
                                                " ms for earlier segments"));
}

/// If no segment is free, first offers the one that is being filled: it may be the only one in use.
Result<Packer::OpenSegment> Packer::take_segment() {
  if (const auto segment = setup_.staging->try_acquire(run_))
    return OpenSegment{.segment = *segment};
  setup_.copying_flag->store(false);
  flush();
  if (setup_.request_memory) setup_.request_memory();
  const auto segment = wait_for_segment();
  setup_.copying_flag->store(true);
  if (!segment) return failure(segment.error());
  return OpenSegment{.segment = *segment};
}

Status Packer::add(const BlockDescriptor& descriptor,
                   std::span<const std::byte> memory,
                   const MemoryLayout& layout) {
  const auto source = source_of(descriptor, memory, layout);
  return source ? add_source(descriptor, *source) : failure(source.error());
}

Status Packer::add_source(const BlockDescriptor& descriptor, const BlockSource& source) {
  const std::uint64_t bytes = source.size_bytes();
  auto block = begin_block(descriptor, bytes);
  if (!block) return failure(block.error());
  const format::BlockSeed seed = seed_of(descriptor, block->field);
  waited_ = {};
  const CopyingScope copying(*setup_.copying_flag);
  const Status added = bytes == 0                ? Status()
                       : bytes <= segment_bytes_ ? add_small(*block, seed, source)
                                                 : add_large(*block, seed, source);
  if (!added) return added;
  record_.dims.insert(record_.dims.end(), descriptor.dims.begin(), descriptor.dims.end());
  record_.blocks.push_back(*block);
  record_.raw_bytes += bytes;
  copied_bytes_ += bytes;
  return {};
}

/// Copies a small block into the segment that is being filled. The block is not split over
/// segments.
Status Packer::add_small(BlockRecord& block, format::BlockSeed seed, const BlockSource& source) {
  const std::uint64_t bytes = source.size_bytes();
  if (open_ && open_->fill + bytes > segment_bytes_) flush();
  if (!open_) {
    auto taken = take_segment();
    if (!taken) return failure(taken.error());
    taken->region = record_.regions++;
    open_ = std::move(*taken);
  }
  block.region = open_->region;
  block.offset = open_->fill;
  const std::uint64_t begin = open_->fill;
  for (std::uint64_t piece = 0; piece < format::piece_count(bytes); ++piece) {
    const std::uint64_t piece_seed = format::piece_seed(seed, piece);
    open_->fill += add_piece(*open_, block, piece_seed, source, piece_of(source, piece));
    if (block.codec != format::Codec::kNone) record_.piece_ends.push_back(open_->fill - begin);
  }
  block.stored_bytes = open_->fill - begin;
  open_->fill = format::round_up(open_->fill, format::kBlockAlignmentBytes);
  return {};
}

/// The Error of a large block that got no segment. If put() does not wait and the block is larger
/// than the memory, the Error states both sizes.
Error Packer::with_block_size(const Error& error, std::uint64_t bytes) const {
  const std::uint64_t memory = setup_.staging->memory().size();
  const bool may_wait = setup_.wait_max > std::chrono::nanoseconds::zero();
  if (error.kind() != ErrorClass::kLimit || may_wait || bytes <= memory) return error;
  return Error({.kind = error.kind(),
                .operation = error.operation(),
                .cause = "a block of " + std::to_string(bytes) +
                         " bytes passes through memory of " + std::to_string(memory) + " bytes; " +
                         error.cause()});
}

/// Copies a large block into a separate region, a segment at a time.
Status Packer::add_large(BlockRecord& block, format::BlockSeed seed, const BlockSource& source) {
  const std::uint64_t bytes = source.size_bytes();
  auto filling = take_segment();
  if (!filling) return failure(with_block_size(filling.error(), bytes));
  filling->region = record_.regions++;
  filling->region_bytes = format::round_up(bytes, format::kPageBytes);
  block.region = filling->region;
  block.stored_bytes = 0;
  for (std::uint64_t piece = 0; piece < format::piece_count(bytes); ++piece) {
    const ByteRange raw = piece_of(source, piece);
    if (filling->fill + raw.size > segment_bytes_)
      if (const Status next = continue_in_next_segment(*filling); !next)
        return failure(with_block_size(next.error(), bytes));
    const std::uint64_t stored =
        add_piece(*filling, block, format::piece_seed(seed, piece), source, raw);
    filling->fill += stored;
    block.stored_bytes += stored;
    if (block.codec != format::Codec::kNone) record_.piece_ends.push_back(block.stored_bytes);
  }
  offer(std::move(*filling), Last::kYes);
  return {};
}

/// Offers the full pages of the segment, and continues with the rest in the next one.
Status Packer::continue_in_next_segment(OpenSegment& filling) {
  auto next = take_segment();
  if (!next) {
    setup_.staging->release(filling.segment, run_);
    return failure(next.error());
  }
  const std::uint64_t whole = filling.fill - filling.fill % format::kPageBytes;
  next->fill = filling.fill - whole;
  next->region = filling.region;
  next->region_bytes = filling.region_bytes;
  next->region_offset = filling.region_offset + whole;
  const auto from = setup_.staging->segment(filling.segment, run_).subspan(whole, next->fill);
  std::ranges::copy(from, setup_.staging->segment(next->segment, run_).begin());
  filling.fill = whole;
  offer(std::move(filling), Last::kNo);
  filling = std::move(*next);
  return {};
}

/// Copies or compresses a piece to the end of the segment, and computes or schedules its checksum.
/// Returns the stored bytes.
std::uint64_t Packer::add_piece(OpenSegment& open,
                                const BlockRecord& block,
                                std::uint64_t seed,
                                const BlockSource& source,
                                ByteRange piece) {
  const auto to = setup_.staging->segment(open.segment, run_).subspan(open.fill, piece.size);
  if (block.codec != format::Codec::kNone)
    return compress(block.codec, raw_piece(source, piece), to, seed);
  if (source.has_short_runs()) copy_ahead(open, source, piece);
  const bool is_copied = open.copied_end >= open.fill + piece.size;
  if (setup_.checksum_stage == ChecksumStage::kCopy) {
    record_.piece_checksums.push_back(is_copied ? hash_of(to, seed)
                                                : source.hashed_copy(piece, to, seed));
    return piece.size;
  }
  if (!is_copied) source.copy(piece, to);
  open.to_hash.push_back({record_.piece_checksums.size(), seed, to});
  record_.piece_checksums.push_back(0);
  return piece.size;
}

/// Returns the stored bytes.
std::uint64_t Packer::compress(format::Codec codec,
                               std::span<const std::byte> raw,
                               std::span<std::byte> to,
                               std::uint64_t seed) {
  const auto stored = format::compress_piece(codec, setup_.codec_level, raw, to);
  FOREBAY_ASSERT(stored.has_value());
  const std::uint64_t own = format::stored_piece_seed(seed, {raw, to.first(*stored)});
  record_.piece_checksums.push_back(hash_of(raw, own));
  return *stored;
}

std::span<const std::byte> Packer::raw_piece(const BlockSource& source, ByteRange piece) {
  if (source.is_contiguous()) return source.bytes().subspan(piece.offset, piece.size);
  scratch_.resize(kPieceBytes);
  const auto raw = std::span(scratch_).first(piece.size);
  source.copy(piece, raw);
  return raw;
}

/// Copies this piece and all further ones that fit the segment. In a transposition, a line of the
/// application's memory may have elements of many pieces; copied together, they need it once.
void Packer::copy_ahead(OpenSegment& open, const BlockSource& source, ByteRange piece) const {
  if (open.copied_end > open.fill) return;
  const std::uint64_t left = source.size_bytes() - piece.offset;
  const std::uint64_t room = segment_bytes_ - open.fill;
  const std::uint64_t bytes = left <= room ? left : room - room % kPieceBytes;
  source.copy({piece.offset, bytes},
              setup_.staging->segment(open.segment, run_).subspan(open.fill, bytes));
  open.copied_end = open.fill + bytes;
}

void Packer::flush() {
  if (!open_) return;
  OpenSegment open = std::move(*open_);
  open_.reset();
  open.region_bytes = format::round_up(open.fill, format::kPageBytes);
  offer(std::move(open), Last::kYes);
}

void Packer::offer(OpenSegment open, Last last) {
  StagingPool& staging = *setup_.staging;
  const std::uint64_t bytes = format::round_up(open.fill, format::kPageBytes);
  const auto memory = staging.segment(open.segment, run_).first(bytes);
  std::ranges::fill(memory.subspan(open.fill), std::byte{});
  const auto offset = static_cast<std::uint64_t>(memory.data() - staging.memory().data());
  setup_.offer({.chunk = {.step = setup_.step,
                          .origin = setup_.origin,
                          .region = open.region,
                          .region_bytes = open.region_bytes,
                          .offset = open.region_offset,
                          .bytes = bytes,
                          .is_last = last == Last::kYes},
                .bytes = memory,
                .memory = staging.handle(),
                .memory_offset = offset,
                .to_hash = std::move(open.to_hash),
                .release = [staging = setup_.staging, segment = open.segment, run = run_] {
                  staging->release(segment, run);
                }});
}

Status Packer::adopt(const BlockDescriptor& descriptor,
                     AdoptedBuffer&& buffer,
                     const MemoryLayout& layout) {
  if (const Status checked = buffer.check(); !checked) return checked;
  const auto source = source_of(descriptor, buffer.bytes(), layout);
  if (!source) return failure(source.error());
  const std::uint64_t bytes = source->size_bytes();
  const bool is_in_place = bytes > 0 && setup_.codec == Codec::kNone && source->is_contiguous();
  const auto offset =
      is_in_place ? static_cast<std::uint64_t>(source->bytes().data() - buffer.bytes().data()) : 0;
  if (!is_in_place || offset % format::kPageBytes != 0) {
    Status added = add_source(descriptor, *source);
    if (added) static_cast<void>(std::move(buffer).take());
    return added;
  }
  auto owned = std::make_shared<Buffer>();
  auto block = begin_block(descriptor, bytes);
  if (!block) return failure(block.error());
  const format::BlockSeed seed = seed_of(descriptor, block->field);
  block->region = record_.regions++;
  record_.dims.insert(record_.dims.end(), descriptor.dims.begin(), descriptor.dims.end());
  record_.blocks.push_back(*block);
  record_.raw_bytes += bytes;
  adopted_bytes_ += bytes;
  record_.piece_checksums.resize(block->first_piece + format::piece_count(bytes));
  *owned = std::move(buffer).take();
  setup_.offer_adopted({.step = setup_.step,
                        .origin = setup_.origin,
                        .region = block->region,
                        .offset_bytes = offset,
                        .size_bytes = bytes,
                        .first_piece = block->first_piece,
                        .chunk_bytes = segment_bytes_,
                        .seed = seed,
                        .buffer = std::move(owned)});
  return {};
}

}  // namespace forebay::write
