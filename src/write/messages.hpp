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
/// step and its group (StepId). The comment of each kind lists the other words, then, after a
/// semicolon, the payload. A sentence before the semicolon states the event; such a message has no
/// other words.
enum class MessageKind : std::uint32_t {
  /// Rank to coordinator, when it starts, not about a step: the coordinator can now detect the end
  /// of the rank.
  kHello,
  /// Rank to the next on the way to storage: an OfferChunkMessage, about memory that holds a chunk.
  kOfferChunk,
  /// Reply: chunk. Requests its bytes.
  kFetchChunk,
  /// Reply to that: chunk; its bytes.
  kChunkData,
  /// Reply to an offer: chunk. Its memory is no longer needed.
  kReleaseChunk,
  /// Rank to its writer, at commit(): number of regions that the rank has offered in the step.
  kRegionCount,
  /// Writer to rank: all regions of the rank are written; their file offsets.
  kRegionsWritten,
  /// Writer to owner: request, bytes of space that a region needs.
  kAllocateRequest,
  /// Reply: request, offset in the file.
  kAllocateReply,
  /// Writer to owner, not about a step: offset, group, bytes requested there, bytes needed.
  kTrimAllocation,
  /// Writer to owner (transfer mode baton): the writer has written all regions that it has begun.
  kReleaseBaton,
  /// Writer to owner (transfer mode baton): a chunk is written, and more follow.
  kRenewBaton,
  /// Rank to owner (transfer mode collective): all regions of the step have offsets; the ByteRanges
  /// that the rank writes.
  kCollectiveReady,
  /// Owner to its ranks, when all are ready: CollectiveMethod; the rounds, as ByteRanges.
  kCollectiveStart,
  /// Rank to owner: total size of all fragments; a fragment of its RankMetadata, with offsets in
  /// the owner's file.
  kRankMetadata,
  /// Rank to coordinator, when it commits the step: nanoseconds from begin_step() to commit(); its
  /// RankSummary.
  kRankCommitted,
  /// Any rank to coordinator: the step cannot be completed; the Error.
  kStepFailed,
  /// Owner to coordinator, before kFileDurable, if a step has several files: file, bytes of all
  /// fragments; a fragment of the file's StepCoverage.
  kCoverage,
  /// Owner to coordinator: the file is durable for that step; a FileDurableMessage.
  kFileDurable,
  /// Coordinator to owner: requests the ranks whose metadata of the step has not arrived: their
  /// bytes are not all written and hashed.
  kMissingRanksRequest,
  /// Reply, repeated after each change: file; the first kRanksInErrorMax + 1 of these ranks.
  kMissingRanksReply,
  /// Coordinator to an owner by the newest plan, not about a step: group, file. No step needs this
  /// file any more, whichever rank created it.
  kRecycleFile,
  /// Coordinator to all: StepOutcome, end of the groups whose plans are decided; a
  /// StepOutcomeMessage, empty if it has neither an Error nor changes.
  kStepOutcome,
  /// Coordinator to all, not about a step: a lost rank; the Error. If the coordinator is lost, each
  /// rank sends this to the ranks that depend on the sender (AggregationMap::depends_on()).
  kRankLost,
  /// Rank to coordinator, not about a step: the rank begins no more steps.
  kLeave,
  /// Coordinator to all, not about a step: no rank begins steps any more.
  kAllLeft,
};

/// A step and its group: the steps that share data files. The same on all ranks, because all begin
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
  kInDoubt,  ///< failed for this program, but a new holder or a reader may find it published
};

/// Part of a region: bytes that are contiguous in memory now and in the file later.
struct Chunk {
  StepId step;
  std::uint32_t origin = 0;        ///< the rank that put the bytes
  std::uint32_t region = 0;        ///< numbered by the origin within the step
  std::uint64_t region_bytes = 0;  ///< upper bound, for the allocation
  std::uint64_t offset = 0;        ///< within the region
  std::uint64_t bytes = 0;
  bool is_last = false;  ///< the chunk ends the region
};

/// Maximum payload of a message about blocks. A step may have tens of millions of blocks, so such
/// messages are sent in fragments.
inline constexpr std::uint64_t kFragmentBytesMax = std::uint64_t{64} << 20U;

/// Maximum length of a region, and maximum offset in a file. The sum of two such numbers does not
/// wrap.
inline constexpr std::uint64_t kRegionBytesMax = std::uint64_t{1} << 62U;

/// Set in all chunk ids of an Aggregator, which are the numbers of the chunks that it forwards.
/// Replies with this flag are for the Aggregator of the rank, all others for its StepProducer.
inline constexpr std::uint64_t kRelayFlag = std::uint64_t{1} << 63U;

/// Maximum number of ranks that an Error lists. If there are more, its text ends with "and others".
inline constexpr std::size_t kRanksInErrorMax = 8;

struct OfferChunkMessage {
  Chunk chunk;
  std::uint64_t number = 0;  ///< of the chunk; assigned by the offering rank
  shm::MemoryHandle memory;  ///< contains the chunk; ranks of the node can map it
  std::uint64_t memory_offset = 0;
};

struct FileDurableMessage {
  StepId step;
  std::uint32_t file = 0;
  format::Reference index;
  std::uint64_t raw_bytes = 0;
  std::uint64_t stored_bytes = 0;
};

}  // namespace forebay::write
