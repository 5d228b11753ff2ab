// SPDX-License-Identifier: Apache-2.0
// What the agents of one dataset send each other: a kind, four numbers, and bytes for what has no
// fixed size (letter_bytes.hpp). docs/architecture.md, "How a step of a dataset travels", names the
// roles that send and receive them.
#pragma once

#include <cstdint>

#include "format/records.hpp"
#include "shm/memory_name.hpp"

namespace forebay::write {

/// "A to B" names the roles. The first two numbers of a header are the step and its group of files
/// (StepName) wherever a letter is about a step; what else there is, each kind says.
enum class LetterKind : std::uint32_t {
  kHello,         ///< rank to coordinator, when it starts: so that its end is noticed
  kOffer,         ///< rank or relay to the next: an OfferLetter, memory that holds a chunk
  kSend,          ///< the answer: chunk; send its bytes
  kBytes,         ///< the answer to that: chunk; the payload is its bytes
  kTaken,         ///< chunk; its memory is not needed any more
  kFinish,        ///< rank to its writer: how many regions it has offered in the step
  kWritten,       ///< writer to rank: places of all its regions
  kAskPlace,      ///< writer to owner: a place for so many bytes
  kPlace,         ///< the answer: an offset in the file
  kTrim,          ///< writer to owner: an offset, how many bytes it asked for, how many it needs
  kTurnOver,      ///< writer to owner (baton): nothing of this one is being written any more
  kStillWriting,  ///< writer to owner (baton): a chunk is written, and more of it is to come
  kReady,  ///< rank to owner (collective): all of the step is placed; the ByteRanges it writes
  kGo,     ///< owner to its ranks: all are ready; RoundMeans, and the rounds as ByteRanges
  kPart,   ///< rank to owner: what of the step lies where in the owner's file; a piece of it, and
           ///< how many bytes all pieces have
  kAnnounce,  ///< rank to coordinator: committed; the fields it has
  kFailed,    ///< anybody to coordinator: the step cannot be, and why
  kClaims,    ///< owner to coordinator, before kSealed, if a step has several files: file; a piece
              ///< of its StepClaims, and how many bytes all pieces have
  kSealed,    ///< owner to coordinator: a SealedLetter, the file is durable for that step
  kAskMissing,  ///< coordinator to owner: whose bytes of the step are not written yet?
  kMissing,     ///< the answer, and again when one less is: file; the first of these ranks
  kPruned,      ///< coordinator to owner: group, file; no step needs this file any more
  kResolved,    ///< coordinator to all: a StepFate; why, unless the step was published
  kGone,        ///< coordinator to all: this rank does not answer any more; of itself, rank to
                ///< those that depend on it
  kLeave,       ///< rank to coordinator: it begins no more steps
  kAllLeft,     ///< coordinator to all: nobody does
};

/// A step, and the group of files that its rank counts it to: the same on all ranks, as they begin
/// the same steps.
struct StepName {
  std::uint64_t step = 0;
  std::uint64_t group = 0;

  friend constexpr auto operator<=>(const StepName&, const StepName&) noexcept = default;
};

/// What has become of a step.
enum class StepFate : std::uint8_t {
  kFailed,
  kPublished,
  kUnknown,  ///< failed as far as this program goes; who writes the dataset now may have found it
};

/// A piece of a region: bytes that lie together in memory now and in the file later.
struct Chunk {
  StepName step;
  std::uint32_t origin = 0;        ///< the rank whose bytes they are
  std::uint32_t region = 0;        ///< counted by the origin within the step
  std::uint64_t region_bytes = 0;  ///< at most; to ask for a place
  std::uint64_t offset = 0;        ///< within the region
  std::uint64_t bytes = 0;
  bool is_last = false;  ///< nothing of the region is behind it
};

/// Of what is said of blocks, of which there may be tens of millions, in one letter.
inline constexpr std::uint64_t kPieceBytesMax = std::uint64_t{64} << 20U;

/// No region is longer, and no file has places behind it: sums of two such numbers do not wrap.
inline constexpr std::uint64_t kRegionBytesMax = std::uint64_t{1} << 62U;

/// In the number of a chunk that is offered by a link of a chain, whose bytes they are not.
inline constexpr std::uint64_t kRelayed = std::uint64_t{1} << 63U;

/// Ranks that an Error names; where there are more, it says so.
inline constexpr std::size_t kRanksNamed = 8;

struct OfferLetter {
  Chunk chunk;
  std::uint64_t number = 0;  ///< the offering rank's own for it
  shm::MemoryName memory;    ///< where it lies, for whoever can map it
  std::uint64_t memory_offset = 0;
};

struct SealedLetter {
  StepName step;
  std::uint32_t file = 0;
  std::uint32_t parts = 0;  ///< ranks that have bytes in it
  format::Reference index;
  std::uint64_t raw_bytes = 0;
  std::uint64_t stored_bytes = 0;
};

}  // namespace forebay::write
