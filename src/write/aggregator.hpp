// SPDX-License-Identifier: Apache-2.0
// Aggregator (writer): writes the bytes of its ranks, and its own, to storage, or forwards them in
// a chain. It writes from its own staging memory and, with shared-memory exchange, from that of
// other ranks of its node, which it maps. It fetches other bytes when it has memory for them. The
// owner of its file allocates space for each region. To write what it has accepted, an aggregator
// depends on that owner. With kBaton it also waits until the holder releases or loses the baton.
// With kCollective it depends on all ranks of the file. A rank that forwards depends on its
// next_hop().
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "comm/collective_file.hpp"
#include "write/agent_context.hpp"
#include "write/peer_memory_cache.hpp"
#include "write/staging_pool.hpp"

namespace forebay::write {

/// Belongs to the agent's thread.
class Aggregator {
 public:
  /// `receive_staging` is the memory for bytes that arrive in messages; null if none can arrive.
  Aggregator(AgentContext& context, std::shared_ptr<StagingPool> receive_staging);

  // Messages of other ranks. kDamage if a message is not valid.
  Status handle_offer_chunk(comm::Rank from, const OfferChunkMessage& message);
  /// The memory that receives the bytes of a chunk. Empty if they are no longer needed, were not
  /// fetched, or have another size.
  std::span<std::byte> receive_buffer(comm::Rank from,
                                      std::uint64_t offer_number,
                                      std::uint64_t bytes);
  void handle_chunk_data(comm::Rank from, std::uint64_t offer_number);
  Status handle_region_count(const StepId& step, std::uint32_t origin, std::uint32_t regions);
  Status handle_allocate_reply(std::uint64_t request, std::uint64_t offset);
  /// `file` is the file of the group, which this rank has created. The aggregator does not open it.
  void set_file(std::uint64_t group, std::shared_ptr<DataFile> file);
  /// Transfer mode collective: all ranks of the file are ready, and write together.
  Status handle_collective_start(const StepId& step,
                                 CollectiveMethod method,
                                 std::vector<ByteRange> rounds);
  /// The application waits for memory in this step. Writes independently: chunks now waiting for a
  /// collective write, and later chunks of steps up to this one. Steps that this rank has reported
  /// as ready are still written together.
  void write_pending_independently(const StepId& step);
  /// The next rank does not need the memory of a forwarded chunk any more: releases it.
  Status handle_release_chunk(std::uint64_t chunk_id);
  Status handle_fetch_chunk(comm::Rank to, std::uint64_t chunk_id);
  void handle_step_outcome(const StepId& step, const Status& outcome);
  void handle_rank_lost(comm::Rank rank, const Error& why);
  /// Fetches queued chunks while receiving memory is free. Called when some may have become free.
  void fetch_queued_chunks();
  std::uint64_t written_bytes() const noexcept { return written_bytes_; }

 private:
  enum class State : std::uint8_t {
    kQueued,             ///< waits for receiving memory
    kFetching,           ///< was requested from its rank
    kReadable,           ///< its bytes can be read
    kCollectivePending,  ///< has its offset, waits for the other ranks to write together
    kInFlight,           ///< is being written or forwarded
  };
  struct IncomingChunk {
    OfferChunkMessage offer;
    comm::Rank from;
    State state = State::kQueued;
    std::span<const std::byte> bytes;
    std::shared_ptr<const void> mapping;   ///< of memory of another process
    std::optional<std::uint32_t> segment;  ///< of the receiving memory
    bool is_being_sent = false;            ///< to the next rank of the chain
  };
  using RankKey = std::pair<StepId, std::uint32_t>;
  struct Region {
    std::optional<std::uint64_t> file_offset;
    std::optional<std::uint64_t> total_bytes;  ///< set by its last chunk
    std::uint64_t bytes_written = 0;
    std::uint64_t region_bytes = 0;  ///< the same in all of its chunks
    std::uint64_t allocated_bytes = 0;
    bool has_failed = false;  ///< a chunk of it could not be written
    bool is_closed = false;   ///< it is whole, and close_region() was called for it
    bool is_whole() const { return total_bytes == std::optional(bytes_written); }
    std::vector<std::uint64_t> waiting_chunks;  ///< ids of readable chunks
  };
  /// One rank's bytes of one step.
  struct RankProgress {
    std::optional<std::uint32_t> regions;  ///< set once the rank has committed
    std::uint32_t regions_written = 0;
    std::map<std::uint32_t, Region> regions_by_number;
    // Transfer mode collective:
    bool is_ready = false;            ///< kCollectiveReady was sent
    bool is_started = false;          ///< kCollectiveStart has arrived
    bool is_collective_done = false;  ///< written together, or handed to independent writes
  };
  struct PendingAllocation {
    RankKey rank;
    std::uint32_t region;
  };

  Status check_offer(comm::Rank from, const OfferChunkMessage& message) const;
  Status check_chunk(const Chunk& chunk) const;
  Status check_forwarded(MessageKind kind, const IncomingChunk& incoming) const;
  Status check_collective_start(const StepId& step, const std::vector<ByteRange>& rounds);
  void erase_chunk(std::uint64_t chunk_id);
  void handle_chunk_readable(std::uint64_t chunk_id);
  void forward(std::uint64_t chunk_id);
  void write_or_allocate(std::uint64_t chunk_id);
  void write_waiting(const RankKey& key, Region& region);
  void with_open_file(const StepId& step, std::function<void(const Status&)> then);
  void write(std::uint64_t chunk_id, const Status& opened);
  void handle_write_completion(std::uint64_t chunk_id, const Status& outcome);
  void trim(const StepId& step, Region& region);
  void submit_write(std::uint64_t chunk_id);
  void report_if_ready(const StepId& step);
  void write_collective_independently(const StepId& step);
  void handle_collective_completion(const StepId& step, const Status& outcome);
  std::vector<std::uint64_t> collective_chunks(const StepId& step) const;
  comm::FileSegment file_segment_of(std::uint64_t chunk_id) const;
  void release_chunk(std::uint64_t chunk_id);
  void close_region(const StepId& step);
  void renew_baton(const StepId& step);
  comm::Rank owner(const StepId& step) const;
  bool is_baton(const StepId& step) const;
  bool is_collective(const StepId& step) const;
  std::uint32_t segments_of(const IncomingChunk& incoming) const;
  std::optional<Error> route_error(const StepId& step) const;
  void report_if_complete(const RankKey& key);
  void report_regions(const RankKey& key);
  bool should_hold_back(const IncomingChunk& incoming) const;
  void write_held_back();
  void discard_step(const StepId& step);
  void fail_step(const StepId& step, const Error& why);
  void fail_unreachable_steps();
  bool has_work_in(std::uint64_t group) const;
  format::DataFileName file_of(const StepId& step) const;
  bool is_writer_of(const Chunk& chunk) const;

  AgentContext& context_;
  const std::shared_ptr<StagingPool> receive_staging_;
  PeerMemoryCache peers_;
  std::map<std::uint64_t, IncomingChunk> incoming_;
  std::map<std::pair<std::uint32_t, std::uint64_t>, std::uint64_t>
      chunk_id_of_;                       ///< by rank and number of the offer
  std::deque<std::uint64_t> queued_;      ///< chunks that wait for receiving memory
  std::vector<std::uint64_t> held_back_;  ///< received chunks; see should_hold_back()
  std::map<RankKey, RankProgress> ranks_;
  std::map<std::uint64_t, PendingAllocation> pending_allocations_;
  std::map<std::uint64_t, std::shared_ptr<DataFile>> files_;  ///< by group
  std::map<std::uint64_t, std::vector<std::function<void(const Status&)>>> open_callbacks_;
  std::set<StepId> failed_steps_;
  std::map<std::uint32_t, Error> lost_ranks_;
  std::map<StepId, std::set<std::uint32_t>> finished_ranks_;  ///< that have sent kRegionCount
  std::uint64_t next_chunk_id_ = 0;
  std::uint64_t next_request_ = 0;
  /// Transfer mode baton: regions that have an offset and are not completely written, by the owner
  /// of their file.
  std::map<std::uint32_t, std::uint64_t> open_regions_;
  std::uint64_t written_bytes_ = 0;
  std::optional<StepId> memory_wait_step_;  ///< in which the application waits, or waited, for
                                            ///< memory
};

}  // namespace forebay::write
