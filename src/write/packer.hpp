// SPDX-License-Identifier: Apache-2.0
// Packer: packs the blocks of an application into chunks. Small blocks share a segment of staging
// memory and its region. Each large block and each adopted buffer has a separate region; adopted
// buffers stay in place if their bytes are contiguous. Bytes are compressed as they are copied;
// checksums are computed then, or later by the agent (hashing.hpp).
#pragma once

#include <forebay/buffer.hpp>
#include <forebay/error.hpp>
#include <forebay/memory_layout.hpp>
#include <forebay/write_plan.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "format/checksum.hpp"
#include "write/adopted_block.hpp"
#include "write/block_source.hpp"
#include "write/packed_chunk.hpp"
#include "write/plan_limits.hpp"
#include "write/rank_metadata.hpp"
#include "write/staging_pool.hpp"

namespace forebay::write {

/// A block without its bytes. `dims`: shape of a part; start, then count, of a box.
struct BlockDescriptor {
  format::FieldDefinition field;
  std::uint64_t part = 0;
  std::vector<std::uint64_t> dims;
};

/// Packs one step of a rank. One thread at a time.
class Packer {
 public:
  struct Setup {
    std::shared_ptr<StagingPool> staging;
    /// Length of a full chunk, in whole segments of the pool; rounded up to one.
    std::uint64_t unit_bytes = 0;
    format::DatasetId dataset;
    StepId step;
    std::uint32_t origin = 0;
    ChecksumStage checksum_stage = ChecksumStage::kCopy;
    Codec codec = Codec::kNone;
    int codec_level = 0;
    std::chrono::nanoseconds wait_max{};  ///< for each call of add(), for all its segments
    std::function<void(PackedChunk)> offer;
    std::function<void(AdoptedBlock)> offer_adopted;
    std::function<void()> request_memory = {};  ///< called before a wait for memory
    /// Set while bytes are copied: hashing at that time takes memory bandwidth from the copy.
    std::shared_ptr<std::atomic<bool>> copying_flag = std::make_shared<std::atomic<bool>>(false);
  };
  explicit Packer(Setup setup);
  /// Releases memory that was not offered.
  ~Packer();
  Packer(const Packer&) = delete;
  Packer& operator=(const Packer&) = delete;

  /// Copies the block from `memory`. kInvalidArgument if its bytes do not match the descriptor or
  /// the field; kLimit if it waits for segments for more than `wait_max`.
  Status add(const BlockDescriptor& descriptor,
             std::span<const std::byte> memory,
             const MemoryLayout& layout = {});
  /// Takes the buffer without a copy. Copies the block if its bytes are to be compressed, are not
  /// contiguous, or do not begin at a page. On failure, leaves the buffer in place.
  Status adopt(const BlockDescriptor& descriptor,
               AdoptedBuffer&& buffer,
               const MemoryLayout& layout = {});
  /// Offers the segment that is being filled. Afterwards record() is complete.
  void flush();

  RankMetadata& record() noexcept { return record_; }
  std::uint64_t copied_bytes() const noexcept { return copied_bytes_; }
  std::uint64_t adopted_bytes() const noexcept { return adopted_bytes_; }

 private:
  enum class Last : std::uint8_t { kNo, kYes };
  struct OpenSegment {
    std::uint32_t segment = 0;
    std::uint64_t fill = 0;
    std::uint32_t region = 0;
    std::uint64_t region_bytes = 0;   ///< of a large block: size of its region
    std::uint64_t region_offset = 0;  ///< of a large block: of this segment in the region
    std::uint64_t copied_end = 0;     ///< bytes before it were copied, also of pieces to come
    std::vector<PieceToHash> to_hash = {};
  };

  Result<std::uint32_t> field_number(const format::FieldDefinition& field);
  Status check(const BlockDescriptor& descriptor, std::uint64_t bytes) const;
  Result<BlockSource> source_of(const BlockDescriptor& descriptor,
                                std::span<const std::byte> memory,
                                const MemoryLayout& layout) const;
  Result<BlockRecord> begin_block(const BlockDescriptor& descriptor, std::uint64_t bytes);
  format::BlockSeed seed_of(const BlockDescriptor& descriptor, std::uint32_t field) const;
  Result<OpenSegment> take_segment();
  Result<std::uint32_t> wait_for_segment();
  Status add_source(const BlockDescriptor& descriptor, const BlockSource& source);
  Status add_small(BlockRecord& block, format::BlockSeed seed, const BlockSource& source);
  Status add_large(BlockRecord& block, format::BlockSeed seed, const BlockSource& source);
  Status continue_in_next_segment(OpenSegment& filling);
  Error with_block_size(const Error& error, std::uint64_t bytes) const;
  std::uint64_t add_piece(OpenSegment& open,
                          const BlockRecord& block,
                          std::uint64_t seed,
                          const BlockSource& source,
                          ByteRange piece);
  std::uint64_t compress(format::Codec codec,
                         std::span<const std::byte> raw,
                         std::span<std::byte> to,
                         std::uint64_t seed);
  std::span<const std::byte> raw_piece(const BlockSource& source, ByteRange piece);
  void copy_ahead(OpenSegment& open, const BlockSource& source, ByteRange piece) const;
  void offer(OpenSegment open, Last last);

  const Setup setup_;
  const format::StepSeed step_seed_;
  const std::uint32_t run_;            ///< adjacent segments that hold a chunk
  const std::uint64_t segment_bytes_;  ///< their length
  RankMetadata record_;
  std::map<std::string, std::uint32_t, std::less<>> fields_;
  std::vector<format::FieldSeed> field_seeds_;
  std::optional<OpenSegment> open_;
  std::vector<std::byte> scratch_;  ///< a piece that is to be compressed, if it was not contiguous
  std::chrono::nanoseconds waited_{};  ///< by this call of add()
  std::uint64_t copied_bytes_ = 0;
  std::uint64_t adopted_bytes_ = 0;
};

}  // namespace forebay::write
