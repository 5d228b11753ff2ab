// SPDX-License-Identifier: Apache-2.0
// Packer: turns the blocks that an application puts into chunks that travel: small blocks together
// in one segment of staging memory, large ones in regions of their own, adopted buffers as they
// are. What can be done in passing, while bytes are copied, is done here: checksums, compression.
#pragma once

#include <forebay/buffer.hpp>
#include <forebay/error.hpp>
#include <forebay/write_plan.hpp>

#include <atomic>
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
#include "write/packed_chunk.hpp"
#include "write/plan_limits.hpp"
#include "write/rank_step.hpp"
#include "write/staging.hpp"

namespace forebay::write {

/// A block, but for its bytes. `extents` is the shape of a part; in a global array start and count.
struct BlockPlace {
  format::FieldDefinition field;
  std::uint64_t part = 0;
  std::vector<std::uint64_t> extents;
};

/// One rank's step. One thread at a time.
class Packer {
 public:
  struct Setup {
    std::shared_ptr<Staging> staging;
    format::DatasetId dataset;
    StepName step;
    std::uint32_t origin = 0;
    ChecksumBy checksum_by = ChecksumBy::kCopy;
    Codec codec = Codec::kNone;
    int codec_level = 0;
    std::chrono::nanoseconds wait_max{};  ///< for memory
    std::function<void(PackedChunk)> offer;
    std::function<void(AdoptedBlock)> offer_adopted;
    std::function<void()> press = {};  ///< told before it waits for memory
    /// Set while bytes are copied: who hashes at that time takes the copy's memory bandwidth.
    std::shared_ptr<std::atomic<bool>> is_copying = std::make_shared<std::atomic<bool>>(false);
  };
  explicit Packer(Setup setup);
  /// Gives back what was not offered.
  ~Packer();
  Packer(const Packer&) = delete;
  Packer& operator=(const Packer&) = delete;

  /// Copies the bytes. kInvalidArgument if they do not suit the place or the field; kLimit if there
  /// is no memory in time.
  Status add(const BlockPlace& place, std::span<const std::byte> bytes);
  /// Takes them as they are; copies where that is not possible, because they are to be compressed.
  Status adopt(const BlockPlace& place, AdoptedBuffer buffer);
  /// Offers what waits for more. Afterwards the record is complete.
  void flush();

  RankStep& record() noexcept { return record_; }
  std::uint64_t copied_bytes() const noexcept { return copied_bytes_; }
  std::uint64_t adopted_bytes() const noexcept { return adopted_bytes_; }

 private:
  enum class Last : std::uint8_t { kNo, kYes };
  struct Open {
    std::uint32_t segment = 0;
    std::uint64_t fill = 0;
    std::uint32_t region = 0;
    std::uint64_t region_bytes = 0;   ///< of a large block: its room
    std::uint64_t region_offset = 0;  ///< of a large block: what is before this segment
    std::vector<PieceToHash> to_hash = {};
  };

  Result<std::uint32_t> field_number(const format::FieldDefinition& field);
  Status check(const BlockPlace& place, std::uint64_t bytes) const;
  Result<BlockRecord> begin_block(const BlockPlace& place, std::uint64_t bytes);
  format::BlockSeed seed_of(const BlockPlace& place, std::uint32_t field) const;
  Result<Open> take_segment();
  Status add_small(BlockRecord& block, format::BlockSeed seed, std::span<const std::byte> bytes);
  Status add_large(BlockRecord& block, format::BlockSeed seed, std::span<const std::byte> bytes);
  Status go_on(Open& filling);
  Error explained(const Error& error, std::uint64_t bytes) const;
  std::uint64_t add_piece(Open& open,
                          const BlockRecord& block,
                          std::uint64_t seed,
                          std::span<const std::byte> raw);
  void offer(Open open, Last last);

  const Setup setup_;
  const format::StepSeed step_seed_;
  RankStep record_;
  std::map<std::string, std::uint32_t, std::less<>> fields_;
  std::vector<format::FieldSeed> field_seeds_;
  std::optional<Open> open_;
  std::uint64_t copied_bytes_ = 0;
  std::uint64_t adopted_bytes_ = 0;
};

}  // namespace forebay::write
