// SPDX-License-Identifier: Apache-2.0
// Messages between the agents of one dataset: a kind, four numbers, and bytes for content without a
// fixed size (message_codec.hpp). docs/architecture.md, "How a step of a dataset travels", names
// the roles that send and receive them.
#pragma once

#include <cstdint>

#include "format/records.hpp"
#include "shm/memory_handle.hpp"

namespace forebay::write {

/// "A to B" names the roles. In a message about a step, the first two words of the header are the
/// step and its file group (StepId). The comment of each kind lists the rest.
enum class MessageKind : std::uint32_t {
  kHello,            ///< rank to coordinator, when it starts, so that its end is noticed
  kOfferChunk,       ///< rank or relay to the next: a ChunkOfferMessage, memory that holds a chunk
  kFetchChunk,       ///< reply: chunk; requests its bytes
  kChunkData,        ///< reply to that: chunk; the payload is its bytes
  kReleaseChunk,     ///< chunk; its memory is no longer needed
  kRegionCount,      ///< rank to its writer: number of regions that it offered in the step
  kRegionsWritten,   ///< writer to rank: file offsets of all its regions
  kAllocateRequest,  ///< writer to owner: bytes of space that it needs
  kAllocateReply,    ///< reply: an offset in the file
  kTrimAllocation,   ///< writer to owner: an offset, bytes requested there, bytes needed
  kReleaseBaton,  ///< writer to owner (baton): no region of this writer is being written any more
  kRenewBaton,    ///< writer to owner (baton): a chunk is written, and more follow
  kCollectiveReady,  ///< rank to owner (collective): all of the step has offsets; the ByteRanges
                     ///< that it writes
  kCollectiveStart,  ///< owner to its ranks: all are ready; CollectiveMethod, and the rounds as
                     ///< ByteRanges
  kRankMetadata,   ///< rank to owner: RankMetadata, with offsets in the owner's file; a fragment of
                   ///< it, and the bytes of all fragments
  kRankCommitted,  ///< rank to coordinator: committed; the fields it has
  kStepFailed,     ///< any rank to coordinator: the step cannot be completed, and why
  kCoverage,  ///< owner to coordinator, before kFileDurable, if a step has several files: file; a
              ///< fragment of its StepCoverage, and the bytes of all fragments
  kFileDurable,  ///< owner to coordinator: a FileDurableMessage, the file is durable for that step
  kMissingRanksRequest,  ///< coordinator to owner: which ranks' bytes of the step are not written
                         ///< yet
  kMissingRanksReply,    ///< reply, and again after each change: file; the first of these ranks
  kRecycleFile,          ///< coordinator to owner: group, file; no step needs this file any more
  kStepOutcome,  ///< coordinator to all: a StepOutcome; the Error, unless the step was published
  kRankLost,  ///< coordinator to all: this rank is lost; if the coordinator is lost, rank to those
              ///< that depend on it
  kLeave,     ///< rank to coordinator: it begins no more steps
  kAllLeft,   ///< coordinator to all: no rank begins steps any more
};

/// A step and the file group to which its rank assigns it. The same on all ranks, because all begin
/// the same steps.
struct StepId {
  std::uint64_t step = 0;
  std::uint64_t group = 0;

  friend constexpr auto operator<=>(const StepId&, const StepId&) noexcept = default;
};

/// Outcome of a step.
enum class StepOutcome : std::uint8_t {
  kFailed,
  kPublished,
  kInDoubt,  ///< failed for this program, but a new writer may have found it published
};

/// Part of a region: bytes that are contiguous in memory now and in the file later.
struct Chunk {
  StepId step;
  std::uint32_t origin = 0;        ///< the rank that put them
  std::uint32_t region = 0;        ///< numbered by the origin within the step
  std::uint64_t region_bytes = 0;  ///< upper bound, for the allocation
  std::uint64_t offset = 0;        ///< within the region
  std::uint64_t bytes = 0;
  bool is_last = false;  ///< it ends the region
};

/// Maximum size of one message about blocks, of which there may be tens of millions.
inline constexpr std::uint64_t kFragmentBytesMax = std::uint64_t{64} << 20U;

/// No region is longer, and no file has space beyond it, so sums of two such numbers do not wrap.
inline constexpr std::uint64_t kRegionBytesMax = std::uint64_t{1} << 62U;

/// Set in the number of a chunk that a relay offers, because its bytes are those of another rank.
inline constexpr std::uint64_t kRelayFlag = std::uint64_t{1} << 63U;

/// Maximum number of ranks that an Error lists; if there are more, the text reports it.
inline constexpr std::size_t kRanksInErrorMax = 8;

struct ChunkOfferMessage {
  Chunk chunk;
  std::uint64_t number = 0;  ///< assigned by the offering rank
  shm::MemoryHandle memory;  ///< where it lies, for ranks that can map it
  std::uint64_t memory_offset = 0;
};

struct FileDurableMessage {
  StepId step;
  std::uint32_t file = 0;
  std::uint32_t rank_count = 0;  ///< ranks that have bytes in it
  format::Reference index;
  std::uint64_t raw_bytes = 0;
  std::uint64_t stored_bytes = 0;
};

}  // namespace forebay::write
