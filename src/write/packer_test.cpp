// SPDX-License-Identifier: Apache-2.0
// The packer alone: the chunks that blocks become. They must have the bytes that were put, with the
// checksums that readers verify.
#include "write/packer.hpp"

#include <forebay/part.hpp>

#include <algorithm>
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/testing.hpp"
#include "format/codec.hpp"
#include "shm/buffer_allocator.hpp"
#include "write/hashed_copy.hpp"

namespace forebay::write {
namespace {

using format::kPageBytes;
using format::kPieceBytes;
using ::testing::HasSubstr;

constexpr std::uint64_t kSegmentBytes = 2_MiB;
constexpr format::DatasetId kPackedDataset{std::byte{5}};
constexpr std::uint64_t kStep = 9;
const format::FieldDefinition kField{.name = "density", .type = ElementType::kFloat64};

std::vector<double> numbers(std::uint64_t count, std::uint64_t seed, std::uint64_t distinct) {
  std::mt19937_64 random(seed);
  std::vector<double> values(count);
  for (double& value : values)
    value = static_cast<double>(random() % distinct);
  return values;
}
/// Values that compress little.
std::vector<double> noise(std::uint64_t count, std::uint64_t seed) {
  return numbers(count, seed, UINT64_MAX);
}

BlockDescriptor part(std::uint64_t number, std::uint64_t elements) {
  return {.field = kField, .part = number, .dims = {elements}};
}

class PackerTest : public ::testing::Test {
 protected:
  void start(std::uint32_t segments, Packer::Setup setup = {}) {
    auto staging = StagingPool::create({.memory_bytes = segments * kSegmentBytes,
                                        .segment_bytes = kSegmentBytes,
                                        .prefault_bytes = 0});
    ASSERT_TRUE(staging) << staging.error().message();
    staging_ = *staging;
    setup.staging = staging_;
    setup.dataset = kPackedDataset;
    setup.step = {kStep, 1};
    setup.origin = 3;
    setup.offer = [this](PackedChunk chunk) {
      was_copying_ = *is_copying_;
      offered_.push_back(std::move(chunk));
    };
    setup.offer_adopted = [this](const AdoptedBlock& block) {
      std::ranges::move(split_into_chunks(block), std::back_inserter(offered_));
    };
    is_copying_ = setup.copying_flag;
    setup.request_memory = [this] {
      ++memory_requests_;
      EXPECT_FALSE(*is_copying_) << "it is about to wait";
      if (before_wait_) before_wait_();
    };
    packer_ = std::make_unique<Packer>(std::move(setup));
  }
  void add(std::uint64_t number, const std::vector<double>& values) {
    const Status added =
        packer_->add(part(number, values.size()), std::as_bytes(std::span(values)));
    ASSERT_TRUE(added) << added.error().message();
  }
  /// The bytes of a region, as its chunks have them. Each chunk must continue the one before it,
  /// and only the last one must be marked.
  std::vector<std::byte> region(std::uint32_t number) const {
    std::vector<std::byte> bytes;
    bool is_whole = false;
    for (const PackedChunk& packed : offered_) {
      const Chunk& chunk = packed.chunk;
      if (chunk.region != number) continue;
      EXPECT_FALSE(is_whole);
      EXPECT_EQ(chunk.offset, bytes.size());
      EXPECT_EQ(chunk.bytes % kPageBytes, 0U);
      EXPECT_EQ(chunk.bytes, packed.bytes.size());
      EXPECT_EQ(chunk.origin, 3U);
      EXPECT_LE(chunk.offset + chunk.bytes, chunk.region_bytes);
      bytes.insert(bytes.end(), packed.bytes.begin(), packed.bytes.end());
      is_whole = chunk.is_last;
    }
    EXPECT_TRUE(is_whole);
    return bytes;
  }
  /// Computes what the agent would.
  void hash_all() {
    for (const PackedChunk& packed : offered_)
      for (const PieceToHash& piece : packed.to_hash)
        packer_->record().piece_checksums[piece.number] = hash_of(piece.bytes, piece.seed);
  }
  /// Expects that a block is stored as it was put.
  void expect_block(std::size_t number, const std::vector<double>& values) {
    const RankMetadata& record = packer_->record();
    ASSERT_GT(record.blocks.size(), number);
    const BlockRecord& block = record.blocks[number];
    const auto raw = std::as_bytes(std::span(values));
    ASSERT_EQ(block.raw_bytes, raw.size());
    EXPECT_EQ(block.offset % format::kBlockAlignmentBytes, 0U);
    const auto bytes = region(block.region);
    ASSERT_LE(block.offset + block.stored_bytes, bytes.size());
    const auto stored = std::span(bytes).subspan(block.offset, block.stored_bytes);
    const auto field = format::field_seed(format::step_seed(kPackedDataset, kStep), kField.name);
    const auto seed = format::part_seed(field, block.part);
    std::uint64_t begin = 0;
    for (std::uint64_t piece = 0; piece < format::piece_count(raw.size()); ++piece) {
      const auto wanted = raw.subspan(piece * kPieceBytes)
                              .first(std::min(kPieceBytes, raw.size() - piece * kPieceBytes));
      const bool is_compressed = block.codec != format::Codec::kNone;
      const std::uint64_t end =
          is_compressed ? record.piece_ends.at(block.first_piece + piece) : begin + wanted.size();
      std::vector<std::byte> got(wanted.size());
      const Status read =
          format::decompress_piece(block.codec, stored.subspan(begin, end - begin), got);
      ASSERT_TRUE(read) << read.error().message();
      EXPECT_TRUE(equal_bytes(got, wanted)) << "piece " << piece;
      const std::uint64_t own = format::stored_piece_seed(
          format::piece_seed(seed, piece), {wanted, stored.subspan(begin, end - begin)});
      EXPECT_EQ(record.piece_checksums[block.first_piece + piece], hash_of(wanted, own))
          << "piece " << piece;
      begin = end;
    }
    EXPECT_EQ(begin, block.stored_bytes);
  }
  std::uint32_t segments_in_use() const { return staging_->counts().in_use; }
  void release_all() {
    for (const PackedChunk& packed : offered_)
      packed.release();
    offered_.clear();
  }

  std::shared_ptr<StagingPool> staging_;
  std::vector<PackedChunk> offered_;
  int memory_requests_ = 0;
  std::function<void()> before_wait_;
  std::shared_ptr<std::atomic<bool>> is_copying_;
  bool was_copying_ = false;  ///< when the newest chunk was offered
  std::unique_ptr<Packer> packer_;
};

TEST_F(PackerTest, unit_of_several_segments_is_one_chunk) {
  start(6, {.unit_bytes = 2 * kSegmentBytes - 1});
  const std::uint64_t elements = 3 * kSegmentBytes / sizeof(double);
  const auto values = noise(elements, 1);
  add(1, values);
  const auto small = noise(10, 2);
  add(2, small);
  packer_->flush();
  ASSERT_EQ(offered_.size(), 3U);
  EXPECT_EQ(offered_[0].chunk.bytes, 2 * kSegmentBytes);
  EXPECT_EQ(offered_[1].chunk.bytes, kSegmentBytes);
  hash_all();
  expect_block(0, values);
  expect_block(1, small);
  EXPECT_EQ(staging_->counts().in_use, 6U);
  for (PackedChunk& packed : offered_)
    packed.release();
  EXPECT_EQ(staging_->counts().in_use, 0U);
}

TEST_F(PackerTest, small_blocks_share_segment_with_zero_padding) {
  start(2);
  const std::vector<std::vector<double>> blocks{noise(100, 1), noise(1, 2), noise(333, 3)};
  for (std::uint64_t number = 0; number < blocks.size(); ++number)
    add(number, blocks[number]);
  EXPECT_TRUE(offered_.empty()) << "there is space for more";
  packer_->flush();
  ASSERT_EQ(offered_.size(), 1U);
  EXPECT_EQ(packer_->record().regions, 1U);
  for (std::size_t number = 0; number < blocks.size(); ++number)
    expect_block(number, blocks[number]);
  const auto bytes = region(0);
  EXPECT_EQ(bytes.size(), kPageBytes);
  const auto rest = std::span(bytes).subspan(434 * sizeof(double));
  EXPECT_TRUE(std::ranges::all_of(rest, [](std::byte one) { return one == std::byte{}; }));
  EXPECT_EQ(packer_->copied_bytes(), 434 * sizeof(double));
}

TEST_F(PackerTest, block_that_does_not_fit_starts_next_segment) {
  start(3);
  const auto first = noise(160'000, 1);
  const auto second = noise(160'000, 2);
  add(0, first);
  add(1, second);
  EXPECT_EQ(offered_.size(), 1U);
  packer_->flush();
  packer_->flush();  // nothing is left to offer
  ASSERT_EQ(offered_.size(), 2U);
  expect_block(0, first);
  expect_block(1, second);
  EXPECT_NE(packer_->record().blocks[0].region, packer_->record().blocks[1].region);
}

TEST_F(PackerTest, block_of_segment_size_is_one_chunk) {
  start(2);
  const auto values = noise(kSegmentBytes / sizeof(double), 1);
  add(0, values);
  packer_->flush();
  ASSERT_EQ(offered_.size(), 1U);
  EXPECT_EQ(offered_[0].chunk.region_bytes, kSegmentBytes);
  expect_block(0, values);
}

TEST_F(PackerTest, large_block_has_own_region_in_segments) {
  start(8);
  const auto small = noise(10, 1);
  const auto large = noise(5 * kPieceBytes / sizeof(double) + 3, 2);
  add(0, small);
  add(1, large);
  add(2, small);  // continues in the segment of the first
  packer_->flush();
  EXPECT_EQ(packer_->record().regions, 2U);
  EXPECT_EQ(offered_.size(), 4U);
  expect_block(0, small);
  expect_block(1, large);
  expect_block(2, small);
  EXPECT_EQ(packer_->record().blocks[0].region, packer_->record().blocks[2].region);
}

TEST_F(PackerTest, compressed_pieces_are_contiguous_across_segments) {
  start(8, {.codec = Codec::kZstd, .codec_level = 1});
  const auto small = numbers(1000, 1, 7);
  // Of pieces that compress little, none ends at a page boundary.
  const auto large = numbers(9 * kPieceBytes / sizeof(double) + 5, 2, 1ULL << 40U);
  add(0, small);
  add(1, large);
  packer_->flush();
  expect_block(0, small);
  expect_block(1, large);
  const BlockRecord& block = packer_->record().blocks[1];
  EXPECT_LT(block.stored_bytes, block.raw_bytes * 9 / 10);
  EXPECT_GT(block.stored_bytes, 2 * kSegmentBytes) << "over several segments";
  EXPECT_EQ(offered_.front().chunk.region_bytes, format::round_up(block.raw_bytes, kPageBytes))
      << "space for all of it, as the compressed size is unknown before";
}

TEST_F(PackerTest, incompressible_pieces_are_stored_raw) {
  start(4, {.codec = Codec::kZstd, .codec_level = 1});
  std::mt19937_64 random(4);
  std::vector<double> values(3 * kPieceBytes / sizeof(double));
  for (double& value : values)
    value = std::bit_cast<double>(random());
  add(0, values);
  packer_->flush();
  expect_block(0, values);
  EXPECT_EQ(packer_->record().blocks[0].stored_bytes, 3 * kPieceBytes);
}

TEST_F(PackerTest, adopted_buffer_is_offered_in_place_by_pieces) {
  start(1);
  const auto values = noise(5 * kPieceBytes / sizeof(double) + 3, 6);
  const auto source = shm::BufferAllocator::make(0);
  auto buffer = source->allocate(values.size() * sizeof(double), MemoryKind::kHost);
  ASSERT_TRUE(buffer) << buffer.error().message();
  std::ranges::copy(std::as_bytes(std::span(values)), buffer->data());
  const std::byte* const memory = buffer->data();
  const Status added = packer_->adopt(part(0, values.size()), adopt(std::move(*buffer)));
  ASSERT_TRUE(added) << added.error().message();
  EXPECT_EQ(packer_->adopted_bytes(), values.size() * sizeof(double));
  EXPECT_EQ(packer_->copied_bytes(), 0U);
  EXPECT_EQ(segments_in_use(), 0U) << "no staging memory";
  ASSERT_EQ(offered_.size(), 3U);
  EXPECT_EQ(offered_[0].bytes.data(), memory);
  EXPECT_EQ(offered_[1].memory_offset, offered_[0].memory_offset + kSegmentBytes);
  hash_all();
  expect_block(0, values);
  EXPECT_GT(source->counts().allocated_bytes, 0U);
  release_all();
  EXPECT_EQ(source->counts().allocated_bytes, 0U) << "freed with the last chunk";
}

TEST_F(PackerTest, adopted_buffer_to_compress_is_copied) {
  start(4, {.codec = Codec::kZstd, .codec_level = 1});
  const auto values = numbers(1000, 1, 7);
  auto buffer = shm::BufferAllocator::make(0)->allocate(8000, MemoryKind::kHost);
  ASSERT_TRUE(buffer) << buffer.error().message();
  std::ranges::copy(std::as_bytes(std::span(values)), buffer->data());
  ASSERT_TRUE(packer_->adopt(part(0, 1000), adopt(std::move(*buffer))));
  packer_->flush();
  EXPECT_EQ(packer_->copied_bytes(), 8000U);
  expect_block(0, values);
}

/// A part of three dimensions, its packed values, and the same in memory as a layout describes.
struct PlacedPart {
  PlacedPart(Shape count, MemoryLayout memory_layout)
      : layout(std::move(memory_layout)), packed(noise(element_count(count), 7)) {
    descriptor = {.field = kField, .part = 0, .dims = count};
    descriptor.field.dimensions = 3;
    const bool is_fortran = layout.order == ArrayOrder::kFortran;
    memory.assign(element_count(layout.shape), -1);
    for (std::uint64_t i = 0; i < packed.size(); ++i) {
      const std::uint64_t at[] = {i / count[2] / count[1] + layout.start[0],
                                  i / count[2] % count[1] + layout.start[1],
                                  i % count[2] + layout.start[2]};
      const Shape& shape = layout.shape;
      memory[is_fortran ? (at[2] * shape[1] + at[1]) * shape[0] + at[0]
                        : (at[0] * shape[1] + at[1]) * shape[2] + at[2]] = packed[i];
    }
  }

  MemoryLayout layout;
  std::vector<double> packed;
  std::vector<double> memory;
  BlockDescriptor descriptor;
};

/// With long runs, short runs and transposed elements, smaller and larger than segments.
std::vector<PlacedPart> placed_parts() {
  std::vector<PlacedPart> parts;
  for (const Shape& count :
       {Shape{3, 5, 7}, Shape{2, 40, 300}, Shape{150, 70, 90}, Shape{7, 99, 999}})
    for (const ArrayOrder order : {ArrayOrder::kC, ArrayOrder::kFortran})
      parts.emplace_back(count, with_ghosts(count, 2, order));
  return parts;
}

TEST_F(PackerTest, block_in_any_layout_is_stored_packed) {
  for (const ChecksumStage stage : {ChecksumStage::kCopy, ChecksumStage::kAgent}) {
    for (const Codec codec : {Codec::kNone, Codec::kZstd}) {
      for (const PlacedPart& one : placed_parts()) {
        start(8, {.checksum_stage = stage, .codec = codec, .codec_level = 1});
        PlacedPart small({1, 2, 50}, with_ghosts({1, 2, 50}, 0));
        small.descriptor.part = 1;
        ASSERT_TRUE(packer_->add(small.descriptor, std::as_bytes(std::span(small.memory)),
                                 small.layout));  // the segment is in use
        const auto memory = std::as_bytes(std::span(one.memory));
        const Status added = packer_->add(one.descriptor, memory, one.layout);
        ASSERT_TRUE(added) << added.error().message();
        packer_->flush();
        hash_all();
        expect_block(1, one.packed);
        EXPECT_EQ(packer_->copied_bytes(), (one.packed.size() + 100) * sizeof(double));
        release_all();
      }
    }
  }
}

Buffer buffer_of(const std::vector<double>& values) {
  auto buffer =
      shm::BufferAllocator::make(0)->allocate(values.size() * sizeof(double), MemoryKind::kHost);
  EXPECT_TRUE(buffer) << buffer.error().message();
  std::ranges::copy(std::as_bytes(std::span(values)), buffer->data());
  return std::move(*buffer);
}

TEST_F(PackerTest, buffer_of_a_failed_adoption_can_be_taken_back) {
  start(1);
  const auto values = noise(8, 3);
  auto data = adopt(buffer_of(values));
  EXPECT_EQ(error_class(packer_->adopt(part(0, 9), std::move(data))), ErrorClass::kInvalidArgument);
  const Buffer buffer = std::move(data).take();
  EXPECT_TRUE(std::ranges::equal(buffer.as<double>(), values));
}

TEST_F(PackerTest, buffer_that_was_copied_is_taken_and_one_without_memory_is_not) {
  start(1, {.codec = Codec::kZstd});
  const auto values = noise(kSegmentBytes / sizeof(double) / 2, 3);
  auto copied = adopt(buffer_of(values));
  ASSERT_TRUE(packer_->adopt(part(0, values.size()), std::move(copied)));
  EXPECT_EQ(std::move(copied).take().size(), 0U);
  for (std::uint64_t number = 1;; ++number) {
    auto data = adopt(buffer_of(values));
    if (packer_->adopt(part(number, values.size()), std::move(data))) continue;
    const Buffer buffer = std::move(data).take();
    EXPECT_TRUE(std::ranges::equal(buffer.as<double>(), values));
    break;
  }
}

TEST_F(PackerTest, adopted_buffer_with_one_run_at_a_page_is_offered_in_place) {
  start(1);
  const Shape count{5, 8, 64};
  const PlacedPart one(count, {.shape = {9, 8, 64}, .start = {2, 0, 0}});
  Buffer buffer = buffer_of(one.memory);
  const std::byte* const memory = buffer.data();
  ASSERT_TRUE(packer_->adopt(one.descriptor, adopt(std::move(buffer)), one.layout));
  ASSERT_EQ(offered_.size(), 1U);
  EXPECT_EQ(offered_[0].bytes.data(), memory + 2 * kPageBytes);
  EXPECT_EQ(offered_[0].memory_offset % kPageBytes, 0U);
  EXPECT_EQ(packer_->adopted_bytes(), one.packed.size() * sizeof(double));
  EXPECT_EQ(packer_->copied_bytes(), 0U);
  hash_all();
  expect_block(0, one.packed);
}

TEST_F(PackerTest, adopted_buffer_with_other_layouts_is_copied) {
  start(8);
  const PlacedPart ghosts({5, 8, 64}, with_ghosts({5, 8, 64}, 1));
  const PlacedPart within_page({5, 8, 32}, {.shape = {6, 8, 32}, .start = {1, 0, 0}});
  ASSERT_TRUE(packer_->adopt(ghosts.descriptor, adopt(buffer_of(ghosts.memory)), ghosts.layout));
  ASSERT_TRUE(packer_->adopt(within_page.descriptor, adopt(buffer_of(within_page.memory)),
                             within_page.layout));
  packer_->flush();
  EXPECT_EQ(packer_->adopted_bytes(), 0U);
  EXPECT_EQ(packer_->copied_bytes(),
            (ghosts.packed.size() + within_page.packed.size()) * sizeof(double));
  expect_block(0, ghosts.packed);
  expect_block(1, within_page.packed);
}

TEST_F(PackerTest, layout_that_does_not_fit_is_invalid) {
  start(2);
  const std::vector<double> values(100);
  const auto memory = std::as_bytes(std::span(values));
  const auto refused = [&](const BlockDescriptor& descriptor, const MemoryLayout& layout) {
    const Status added = packer_->add(descriptor, memory, layout);
    EXPECT_EQ(error_class(added), ErrorClass::kInvalidArgument);
    return added ? std::string() : added.error().message();
  };
  EXPECT_THAT(refused(part(0, 99), with_ghosts({99}, 1)), HasSubstr("put field 'density'"));
  EXPECT_THAT(refused(part(0, UINT64_MAX / 2), {.strides = {0}}), HasSubstr("too many elements"));
  BlockDescriptor many = part(0, 1);
  many.dims.assign(9, 1);
  many.field.dimensions = 9;
  EXPECT_THAT(refused(many, {.strides = Shape(9, 1)}), HasSubstr("more than 8 dimensions"));
  EXPECT_EQ(segments_in_use(), 0U);
}

TEST_F(PackerTest, stride_zero_repeats_an_element) {
  start(2);
  const std::vector<double> value{4.5};
  const Status added =
      packer_->add(part(0, 1000), std::as_bytes(std::span(value)), {.strides = {0}});
  ASSERT_TRUE(added) << added.error().message();
  packer_->flush();
  expect_block(0, std::vector<double>(1000, 4.5));
}

TEST_F(PackerTest, agent_stage_leaves_checksums_to_agent) {
  start(4, {.checksum_stage = ChecksumStage::kAgent});
  const auto small = noise(100, 1);
  const auto large = noise(3 * kPieceBytes / sizeof(double) + 1, 2);
  add(0, small);
  add(1, large);
  packer_->flush();
  EXPECT_EQ(packer_->record().piece_checksums, std::vector<std::uint64_t>(5));
  hash_all();
  expect_block(0, small);
  expect_block(1, large);
}

TEST_F(PackerTest, empty_part_is_recorded_without_memory) {
  start(1);
  add(4, {});
  packer_->flush();
  EXPECT_TRUE(offered_.empty());
  EXPECT_EQ(segments_in_use(), 0U);
  const RankMetadata& record = packer_->record();
  ASSERT_EQ(record.blocks.size(), 1U);
  EXPECT_EQ(record.blocks[0].region, kNoRegion);
  EXPECT_EQ(record.dims, std::vector<std::uint64_t>{0});
  EXPECT_EQ(record.regions, 0U);
}

TEST_F(PackerTest, part_without_elements_may_have_any_extents) {
  start(1);
  std::uint64_t number = 0;
  for (const Shape& shape : {Shape{std::uint64_t{1} << 63U, 4, 0}, Shape{0, 4}, Shape{4, 0, 4}}) {
    BlockDescriptor empty{.field = kField, .part = number++, .dims = shape};
    empty.field.name += std::to_string(number);
    empty.field.dimensions = static_cast<std::uint32_t>(shape.size());
    const Status added = packer_->add(empty, {});
    EXPECT_TRUE(added) << added.error().message();
  }
}

TEST_F(PackerTest, mismatched_shape_or_field_is_refused_without_trace) {
  start(2);
  const auto values = noise(100, 1);
  add(0, values);
  const auto bytes = std::as_bytes(std::span(values));
  const Status shape = packer_->add(part(1, 99), bytes);
  ASSERT_FALSE(shape);
  EXPECT_THAT(shape.error().message(), HasSubstr("its shape has 99 elements, and 100 were given"));
  const Status cut = packer_->add(part(1, 99), bytes.first(99 * sizeof(double) + 4));
  ASSERT_FALSE(cut);
  EXPECT_THAT(cut.error().message(), HasSubstr("796 bytes are no whole number of elements of 8"));
  BlockDescriptor other = part(1, 200);
  other.field.type = ElementType::kFloat32;
  const Status type = packer_->add(other, bytes);
  ASSERT_FALSE(type);
  EXPECT_THAT(type.error().message(), HasSubstr("float32"));
  BlockDescriptor outside{.field = {.name = "grid",
                                    .type = ElementType::kFloat64,
                                    .kind = format::FieldKind::kGlobal,
                                    .dimensions = 1,
                                    .shape = {150}},
                          .part = 0,
                          .dims = {51, 100}};
  const Status bounds = packer_->add(outside, bytes);
  ASSERT_FALSE(bounds);
  EXPECT_THAT(bounds.error().message(),
              HasSubstr("start 51 and count 100 in dimension 0, which has 150 elements"));
  outside.dims = {UINT64_MAX, 100};
  const Status negative = packer_->add(outside, bytes);
  ASSERT_FALSE(negative);
  EXPECT_THAT(negative.error().message(),
              HasSubstr("start 18446744073709551615 and count 100 in dimension 0"));
  packer_->flush();
  EXPECT_EQ(packer_->record().blocks.size(), 1U);
  EXPECT_EQ(packer_->record().fields.size(), 1U);
  expect_block(0, values);
}

TEST_F(PackerTest, copying_flag_is_set_during_copy) {
  start(4);
  add(0, noise(4 * kPieceBytes / sizeof(double), 1));
  ASSERT_GT(offered_.size(), 1U);
  EXPECT_TRUE(was_copying_);
  EXPECT_FALSE(*is_copying_);
  EXPECT_FALSE(packer_->add(part(0, 3), {})) << "three elements without bytes";
  EXPECT_FALSE(*is_copying_);
}

TEST_F(PackerTest, without_memory_open_segment_is_offered_and_memory_requested) {
  start(1);
  const auto large = noise(170'000, 1);
  add(0, large);
  const auto bytes = std::as_bytes(std::span(large));
  const Status full = packer_->add(part(1, large.size()), bytes);
  ASSERT_FALSE(full);
  EXPECT_EQ(full.error().kind(), ErrorClass::kLimit) << full.error().message();
  EXPECT_EQ(memory_requests_, 1);
  EXPECT_FALSE(*is_copying_);
  ASSERT_EQ(offered_.size(), 1U) << "its memory is the one to wait for";
  release_all();
  EXPECT_TRUE(packer_->add(part(2, large.size()), bytes));
}

TEST_F(PackerTest, large_block_without_memory_keeps_only_offered_segments) {
  start(2);
  const auto large = noise(7 * kPieceBytes / sizeof(double), 1);
  const Status full = packer_->add(part(0, large.size()), std::as_bytes(std::span(large)));
  ASSERT_FALSE(full);
  EXPECT_EQ(segments_in_use(), offered_.size());
  EXPECT_EQ(
      full.error().message(),
      "acquire staging memory: a block of 7340032 bytes passes through memory of 4194304 bytes; "
      "all 2 segments, 4194304 bytes, are in use, and the plan does not wait for them: "
      "give it more memory_bytes, or staging_full_policy = \"block\"");
  release_all();
  EXPECT_EQ(segments_in_use(), 0U);
}

// The limit applied to each segment, so a large block could wait for hours.
TEST_F(PackerTest, waits_for_all_segments_of_a_block_share_one_limit) {
  start(2, {.wait_max = std::chrono::milliseconds(150)});
  std::vector<std::future<void>> releases;
  before_wait_ = [&] {
    releases.push_back(std::async(std::launch::async, [one = offered_[releases.size()].release] {
      std::this_thread::sleep_for(std::chrono::milliseconds(110));
      one();
    }));
  };
  const auto large = noise(7 * kPieceBytes / sizeof(double), 1);
  const auto bytes = std::as_bytes(std::span(large));
  const Status late = packer_->add(part(0, large.size()), bytes);
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().kind(), ErrorClass::kLimit);
  EXPECT_THAT(late.error().message(), HasSubstr("the call had waited 1"));
  releases.clear();
  EXPECT_TRUE(packer_->add(part(1, kPageBytes), bytes.first(kPageBytes * sizeof(double))));
}

TEST_F(PackerTest, destroyed_packer_releases_segment) {
  start(2);
  add(0, noise(100, 1));
  EXPECT_EQ(segments_in_use(), 1U);
  packer_.reset();
  EXPECT_EQ(segments_in_use(), 0U);
}

}  // namespace
}  // namespace forebay::write
