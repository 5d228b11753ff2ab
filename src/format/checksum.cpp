// SPDX-License-Identifier: Apache-2.0
#include "format/checksum.hpp"

#include <algorithm>
#include <utility>

#include <xxhash.h>

#include "base/assert.hpp"

namespace forebay::format {
namespace {

template <std::size_t N>
std::uint64_t hash_words(const std::array<std::uint64_t, N>& words,
                         std::size_t count,
                         std::uint64_t seed) noexcept {
  return XXH3_64bits_withSeed(words.data(), count * sizeof(std::uint64_t), seed);
}

/// Hashes the dataset and one number, as stored in files.
std::uint64_t hash_dataset_number(const DatasetId& dataset,
                                  std::uint64_t number,
                                  std::uint64_t seed) noexcept {
  const std::array<std::uint64_t, 2> id = std::bit_cast<std::array<std::uint64_t, 2>>(dataset);
  return hash_words(std::array{id[0], id[1], number}, 3, seed);
}

std::uint64_t seed_value(BlockSeed seed) noexcept { return static_cast<std::uint64_t>(seed); }

}  // namespace

StepSeed step_seed(const DatasetId& dataset, std::uint64_t step) noexcept {
  return StepSeed{hash_dataset_number(dataset, step, kDataMagic)};
}

FieldSeed field_seed(StepSeed step, std::string_view name) noexcept {
  return FieldSeed{
      XXH3_64bits_withSeed(name.data(), name.size(), static_cast<std::uint64_t>(step))};
}

BlockSeed part_seed(FieldSeed field, std::uint64_t part) noexcept {
  const std::array<std::uint64_t, 2> words = {0, part};
  return BlockSeed{hash_words(words, words.size(), static_cast<std::uint64_t>(field))};
}

BlockSeed array_seed(FieldSeed field,
                     std::span<const std::uint64_t> start,
                     std::span<const std::uint64_t> count) noexcept {
  FOREBAY_ASSERT(start.size() == count.size());
  FOREBAY_ASSERT(start.size() <= kDimensionsMax);
  std::array<std::uint64_t, 2 + 2 * kDimensionsMax> words = {1, start.size()};
  const auto next = std::copy(start.begin(), start.end(), words.begin() + 2);
  std::copy(count.begin(), count.end(), next);
  return BlockSeed{hash_words(words, 2 + 2 * start.size(), static_cast<std::uint64_t>(field))};
}

std::uint64_t piece_seed(BlockSeed block, std::uint64_t piece) noexcept {
  return hash_words(std::array{piece}, 1, seed_value(block));
}

std::uint64_t stored_piece_seed(std::uint64_t piece_seed, const PieceBytes& bytes) noexcept {
  if (bytes.stored.size() >= bytes.raw.size()) return piece_seed;
  return XXH3_64bits_withSeed(bytes.stored.data(), bytes.stored.size(), piece_seed);
}

std::uint64_t piece_checksum(BlockSeed block,
                             std::uint64_t piece,
                             std::span<const std::byte> raw) noexcept {
  return piece_checksum(block, piece, PieceBytes{raw, raw});
}

std::uint64_t piece_checksum(BlockSeed block,
                             std::uint64_t piece,
                             const PieceBytes& bytes) noexcept {
  const std::uint64_t seed = stored_piece_seed(piece_seed(block, piece), bytes);
  return XXH3_64bits_withSeed(bytes.raw.data(), bytes.raw.size(), seed);
}

std::uint64_t block_checksum(BlockSeed block, std::span<const std::uint64_t> pieces) noexcept {
  return XXH3_64bits_withSeed(pieces.data(), pieces.size_bytes(), seed_value(block));
}

std::uint64_t metadata_checksum(std::uint64_t seed, std::span<const std::byte> bytes) noexcept {
  return XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed);
}

std::uint64_t generation_seed(std::uint64_t magic,
                              const DatasetId& dataset,
                              std::uint64_t generation) noexcept {
  return hash_dataset_number(dataset, generation, magic);
}

BlockChecksums compute_block_checksums(BlockSeed block, std::span<const std::byte> raw) {
  BlockChecksums sums;
  sums.pieces.reserve(piece_count(raw.size()));
  for (std::uint64_t at = 0; at < raw.size(); at += kPieceBytes) {
    const std::uint64_t bytes = std::min<std::uint64_t>(kPieceBytes, raw.size() - at);
    sums.pieces.push_back(piece_checksum(block, sums.pieces.size(), raw.subspan(at, bytes)));
  }
  sums.checksum = block_checksum(block, sums.pieces);
  return sums;
}

struct BlockHasher::State {
  State() : state(XXH3_createState()) { FOREBAY_ASSERT(state != nullptr); }
  ~State() { XXH3_freeState(state); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  XXH3_state_t* state;
};

BlockHasher::BlockHasher(BlockSeed block) : block_(block), state_(std::make_unique<State>()) {}
BlockHasher::~BlockHasher() = default;
BlockHasher::BlockHasher(BlockHasher&& other) noexcept = default;
BlockHasher& BlockHasher::operator=(BlockHasher&& other) noexcept = default;

void BlockHasher::update(std::span<const std::byte> raw) {
  FOREBAY_ASSERT(state_ != nullptr);
  while (!raw.empty()) {
    const std::uint64_t in_piece = bytes_ % kPieceBytes;
    if (in_piece == 0)
      XXH3_64bits_reset_withSeed(state_->state, piece_seed(block_, checksums_.pieces.size()));
    const std::uint64_t bytes = std::min<std::uint64_t>(kPieceBytes - in_piece, raw.size());
    XXH3_64bits_update(state_->state, raw.data(), bytes);
    bytes_ += bytes;
    raw = raw.subspan(bytes);
    if (bytes_ % kPieceBytes == 0) end_piece();
  }
}

void BlockHasher::end_piece() { checksums_.pieces.push_back(XXH3_64bits_digest(state_->state)); }

BlockChecksums BlockHasher::finish() {
  FOREBAY_ASSERT(state_ != nullptr);
  if (bytes_ % kPieceBytes != 0) end_piece();
  state_.reset();
  checksums_.checksum = block_checksum(block_, checksums_.pieces);
  return std::exchange(checksums_, {});
}

}  // namespace forebay::format
