// SPDX-License-Identifier: Apache-2.0
// The path of a chunk from its offer to storage.
#include "write/aggregator.hpp"

#include <algorithm>
#include <utility>

#include "base/assert.hpp"
#include "write/message_codec.hpp"

namespace forebay::write {

Aggregator::Aggregator(AgentContext& context, std::shared_ptr<StagingPool> receive_staging)
    : context_(context), receive_staging_(std::move(receive_staging)) {
  if (receive_staging_)
    receive_staging_->set_free_callback(
        [&context, this] { context.post([this] { fetch_queued_chunks(); }); });
}

bool Aggregator::is_writer_of(const Chunk& chunk) const {
  return context_.aggregation(chunk.step).writer_of(chunk.origin) == context_.rank().number;
}

/// Segments of the receiving memory that a chunk occupies; an empty chunk has one, too.
std::uint32_t Aggregator::segments_of(const IncomingChunk& incoming) const {
  return receive_staging_->segments_for(std::max<std::uint64_t>(incoming.offer.chunk.bytes, 1));
}

bool Aggregator::is_baton(const StepId& step) const {
  return context_.plan(step).tuning.transfer_mode == TransferMode::kBaton;
}

bool Aggregator::is_collective(const StepId& step) const {
  return context_.plan(step).tuning.transfer_mode == TransferMode::kCollective;
}

format::DataFileName Aggregator::file_of(const StepId& step) const {
  return {step.group, context_.aggregation(step).file_of(context_.rank().number)};
}

Status Aggregator::handle_offer_chunk(comm::Rank from, const OfferChunkMessage& message) {
  if (Status checked = check_offer(from, message); !checked) return checked;
  const StepId& step = message.chunk.step;
  if (const auto why = route_error(step)) fail_step(step, *why);
  if (failed_steps_.contains(step)) {
    context_.send(from, MessageKind::kReleaseChunk, message_words(step, message.number), {});
    return {};
  }
  const std::uint64_t chunk_id = next_chunk_id_++ | kRelayFlag;
  IncomingChunk& incoming = incoming_[chunk_id];
  incoming.offer = message;
  incoming.from = from;
  chunk_id_of_[{from.number, message.number}] = chunk_id;
  const Exchange exchange = context_.plan(step).tuning.exchange.value_or(Exchange::kSharedMemory);
  const bool is_mine = from == context_.rank();
  const bool may_map =
      is_mine || (exchange == Exchange::kSharedMemory && context_.is_same_node(from));
  if (may_map) {
    auto mapped = peers_.map(message.memory, {message.memory_offset, message.chunk.bytes});
    if (mapped) {
      incoming.bytes = mapped->bytes;
      incoming.mapping = std::move(mapped->mapping);
      handle_chunk_readable(chunk_id);
      return {};
    }
    // A rank to which no other rank sends bytes has no memory into which it could receive them.
    if (!receive_staging_) {
      context_.report_failure(message.chunk.step, mapped.error());
      release_chunk(chunk_id);
      return {};
    }
  }
  if (!receive_staging_ || message.chunk.bytes > receive_staging_->memory().size()) {
    erase_chunk(chunk_id);
    return failure(malformed_message(MessageKind::kOfferChunk, "bytes", message.chunk.bytes,
                                     "must fit the memory of this rank"));
  }
  queued_.push_back(chunk_id);
  fetch_queued_chunks();
  return {};
}

/// Fetches queued chunks in order while receiving memory is free. If none is, writes the chunks of
/// gathered steps before their steps are complete, which frees their memory.
void Aggregator::fetch_queued_chunks() {
  while (!queued_.empty()) {
    const auto found = incoming_.find(queued_.front());
    if (found == incoming_.end()) {
      queued_.pop_front();
      continue;
    }
    IncomingChunk& incoming = found->second;
    const auto segment = receive_staging_->try_acquire(segments_of(incoming));
    if (!segment) return write_held_back();
    incoming.segment = *segment;
    incoming.state = State::kFetching;
    queued_.pop_front();
    context_.send(incoming.from, MessageKind::kFetchChunk,
                  message_words(incoming.offer.chunk.step, incoming.offer.number), {});
  }
}

std::span<std::byte> Aggregator::receive_buffer(comm::Rank from,
                                                std::uint64_t offer_number,
                                                std::uint64_t bytes) {
  const auto chunk_id = chunk_id_of_.find({from.number, offer_number});
  if (chunk_id == chunk_id_of_.end()) return {};
  const IncomingChunk& incoming = incoming_.at(chunk_id->second);
  if (incoming.state != State::kFetching || incoming.offer.chunk.bytes != bytes) return {};
  return receive_staging_->segment(*incoming.segment, segments_of(incoming)).first(bytes);
}

void Aggregator::handle_chunk_data(comm::Rank from, std::uint64_t offer_number) {
  const auto chunk_id = chunk_id_of_.find({from.number, offer_number});
  if (chunk_id == chunk_id_of_.end()) return;
  IncomingChunk& incoming = incoming_.at(chunk_id->second);
  if (incoming.state != State::kFetching) return;
  incoming.bytes = receive_staging_->segment(*incoming.segment, segments_of(incoming))
                       .first(incoming.offer.chunk.bytes);
  handle_chunk_readable(chunk_id->second);
}

void Aggregator::handle_chunk_readable(std::uint64_t chunk_id) {
  IncomingChunk& incoming = incoming_.at(chunk_id);
  incoming.state = State::kReadable;
  if (failed_steps_.contains(incoming.offer.chunk.step)) return release_chunk(chunk_id);
  if (!is_writer_of(incoming.offer.chunk)) return forward(chunk_id);
  if (should_hold_back(incoming)) return held_back_.push_back(chunk_id);
  write_or_allocate(chunk_id);
}

/// Forwards a chunk to the next rank of the chain, from the memory into which it was received.
void Aggregator::forward(std::uint64_t chunk_id) {
  IncomingChunk& incoming = incoming_.at(chunk_id);
  incoming.state = State::kInFlight;
  OfferChunkMessage message = incoming.offer;
  message.number = chunk_id;
  if (incoming.segment) {
    message.memory = receive_staging_->handle();
    const auto offset = incoming.bytes.data() - receive_staging_->memory().data();
    message.memory_offset = static_cast<std::uint64_t>(offset);
  }
  const StepId& step = message.chunk.step;
  const auto next = context_.aggregation(step).next_hop(context_.rank().number);
  FOREBAY_ASSERT(next.has_value());
  context_.send(comm::Rank{*next}, MessageKind::kOfferChunk, message_words(step),
                to_bytes(message));
}

Status Aggregator::handle_fetch_chunk(comm::Rank to, std::uint64_t chunk_id) {
  const auto found = incoming_.find(chunk_id);
  if (found == incoming_.end()) return {};
  IncomingChunk& incoming = found->second;
  if (Status checked = check_forwarded(MessageKind::kFetchChunk, incoming); !checked)
    return checked;
  incoming.is_being_sent = true;
  context_.send_in_place(to, MessageKind::kChunkData,
                         message_words(incoming.offer.chunk.step, chunk_id), incoming.bytes,
                         [this, chunk_id](const Status& /*sent*/) { release_chunk(chunk_id); });
  return {};
}

Status Aggregator::handle_release_chunk(std::uint64_t chunk_id) {
  const auto found = incoming_.find(chunk_id);
  if (found == incoming_.end()) return {};
  if (Status checked = check_forwarded(MessageKind::kReleaseChunk, found->second); !checked)
    return checked;
  release_chunk(chunk_id);
  return {};
}

/// With kGather, holds received chunks back until all ranks of this writer have committed a step,
/// or another chunk waits for memory. Other bytes of that step may then still be queued or in
/// flight.
bool Aggregator::should_hold_back(const IncomingChunk& incoming) const {
  const StepId& step = incoming.offer.chunk.step;
  if (context_.plan(step).tuning.exchange != Exchange::kGather || incoming.from == context_.rank())
    return false;
  // Another chunk waits for memory, so this one is written now.
  if (!queued_.empty()) return false;
  const auto finished = finished_ranks_.find(step);
  const auto ranks = context_.aggregation(step).ranks_of_writer(context_.rank().number);
  return finished == finished_ranks_.end() || finished->second.size() < ranks.size();
}

void Aggregator::write_held_back() {
  for (const std::uint64_t chunk_id : std::exchange(held_back_, {}))
    if (incoming_.contains(chunk_id)) write_or_allocate(chunk_id);
}

void Aggregator::write_or_allocate(std::uint64_t chunk_id) {
  const IncomingChunk& incoming = incoming_.at(chunk_id);
  const Chunk& chunk = incoming.offer.chunk;
  if (const Status checked = check_chunk(chunk); !checked) {
    context_.report_failure(chunk.step, with_rank(checked.error(), incoming.from.number));
    return release_chunk(chunk_id);
  }
  const RankKey key{chunk.step, chunk.origin};
  const auto [at, is_new] = ranks_[key].regions_by_number.try_emplace(chunk.region);
  Region& region = at->second;
  if (chunk.is_last) region.total_bytes = chunk.offset + chunk.bytes;
  if (is_new) {
    region.region_bytes = chunk.region_bytes;
    region.allocated_bytes = chunk.region_bytes;
    const std::uint64_t request = next_request_++;
    pending_allocations_[request] = {key, chunk.region};
    context_.send(owner(chunk.step), MessageKind::kAllocateRequest,
                  message_words(chunk.step, request, chunk.region_bytes), {});
  }
  region.waiting_chunks.push_back(chunk_id);
  if (!region.file_offset) return;
  trim(key.first, region);
  write_waiting(key, region);
}

/// Returns the space that a region does not need. Only compressed blocks are smaller than their
/// upper bound.
void Aggregator::trim(const StepId& step, Region& region) {
  if (!region.total_bytes || *region.total_bytes >= region.allocated_bytes) return;
  const AgentContext::Words words{*region.file_offset, step.group, region.allocated_bytes,
                                  *region.total_bytes};
  region.allocated_bytes = *region.total_bytes;
  context_.send(owner(step), MessageKind::kTrimAllocation, words, {});
}

Status Aggregator::handle_allocate_reply(std::uint64_t request, std::uint64_t offset) {
  const auto pending_allocation = pending_allocations_.find(request);
  if (pending_allocation == pending_allocations_.end())
    return failure(
        malformed_message(MessageKind::kAllocateReply, "request", request, "must be pending"));
  if (offset < format::kPageBytes || offset > kRegionBytesMax)
    return failure(
        malformed_message(MessageKind::kAllocateReply, "offset", offset, "no region lies there"));
  const auto [key, number] = pending_allocation->second;
  pending_allocations_.erase(pending_allocation);
  if (is_baton(key.first)) ++open_regions_[owner(key.first).number];
  const auto rank = ranks_.find(key);
  if (rank == ranks_.end()) {
    close_region(key.first);
    return {};
  }
  Region& region = rank->second.regions_by_number.at(number);
  region.file_offset = offset;
  trim(key.first, region);
  write_waiting(key, region);
  return {};
}

void Aggregator::write_waiting(const RankKey& key, Region& region) {
  auto chunk_ids = std::exchange(region.waiting_chunks, {});
  const auto write_all = [this, chunk_ids = std::move(chunk_ids)](const Status& opened) {
    for (const std::uint64_t chunk_id : chunk_ids)
      if (incoming_.contains(chunk_id)) write(chunk_id, opened);
  };
  with_open_file(key.first, write_all);
}

void Aggregator::set_file(std::uint64_t group, std::shared_ptr<DataFile> file) {
  files_[group] = std::move(file);
}

/// Calls `then` when the file of the step is open here, or cannot be opened.
void Aggregator::with_open_file(const StepId& step, std::function<void(const Status&)> then) {
  if (files_.contains(step.group)) return then({});
  auto& waiting = open_callbacks_[step.group];
  waiting.push_back(std::move(then));
  if (waiting.size() > 1) return;
  const auto on_open = [this, group = step.group](Result<std::shared_ptr<DataFile>> file) {
    const Status opened = file ? Status() : Status(tl::unexpect, file.error());
    if (file) files_[group] = std::move(*file);
    const auto all = std::move(open_callbacks_.extract(group).mapped());
    for (const auto& one : all)
      one(opened);
  };
  context_.file_writer().open(file_of(step), context_.plans().plan(step.group)->tuning.access,
                              [this, on_open](Result<std::shared_ptr<DataFile>> file) {
                                context_.post([on_open, file = std::move(file)] { on_open(file); });
                              });
}

void Aggregator::write(std::uint64_t chunk_id, const Status& opened) {
  IncomingChunk& incoming = incoming_.at(chunk_id);
  incoming.state = State::kInFlight;
  if (!opened) return handle_write_completion(chunk_id, opened);
  const StepId& step = incoming.offer.chunk.step;
  const bool is_independent = memory_wait_step_ && step <= *memory_wait_step_;
  if (!is_collective(step) || is_independent) return submit_write(chunk_id);
  incoming.state = State::kCollectivePending;
  report_if_ready(step);
}

void Aggregator::submit_write(std::uint64_t chunk_id) {
  IncomingChunk& incoming = incoming_.at(chunk_id);
  incoming.state = State::kInFlight;
  const auto done = [this, chunk_id](const Status& outcome) {
    context_.post([this, chunk_id, outcome] { handle_write_completion(chunk_id, outcome); });
  };
  const comm::FileSegment file_segment = file_segment_of(chunk_id);
  context_.file_writer().write(files_.at(incoming.offer.chunk.step.group),
                               file_segment.offset_bytes, file_segment.bytes, done);
}

/// The bytes of a chunk and their offset in the file. Its region must have an offset.
comm::FileSegment Aggregator::file_segment_of(std::uint64_t chunk_id) const {
  const IncomingChunk& incoming = incoming_.at(chunk_id);
  const Chunk& chunk = incoming.offer.chunk;
  const Region& region = ranks_.at({chunk.step, chunk.origin}).regions_by_number.at(chunk.region);
  return {incoming.bytes, *region.file_offset + chunk.offset};
}

void Aggregator::handle_write_completion(std::uint64_t chunk_id, const Status& outcome) {
  const Chunk chunk = incoming_.at(chunk_id).offer.chunk;
  release_chunk(chunk_id);
  const RankKey key{chunk.step, chunk.origin};
  const auto rank = ranks_.find(key);
  if (!outcome) context_.report_failure(chunk.step, outcome.error());
  if (rank == ranks_.end()) return;
  Region& region = rank->second.regions_by_number.at(chunk.region);
  region.bytes_written += chunk.bytes;
  region.has_failed = region.has_failed || !outcome;
  if (outcome) written_bytes_ += chunk.bytes;
  if (!region.is_whole() || region.is_closed) return renew_baton(chunk.step);
  region.is_closed = true;
  close_region(chunk.step);
  if (region.has_failed) return;
  ++rank->second.regions_written;
  report_if_ready(key.first);
  report_if_complete(key);
}

/// Removes a chunk, and releases its memory on this rank or on the rank that offered it.
void Aggregator::release_chunk(std::uint64_t chunk_id) {
  const auto found = incoming_.find(chunk_id);
  if (found == incoming_.end()) return;
  const IncomingChunk incoming = found->second;
  erase_chunk(chunk_id);
  if (incoming.segment) return receive_staging_->release(*incoming.segment, segments_of(incoming));
  context_.send(incoming.from, MessageKind::kReleaseChunk,
                message_words(incoming.offer.chunk.step, incoming.offer.number), {});
}

void Aggregator::erase_chunk(std::uint64_t chunk_id) {
  const auto found = incoming_.find(chunk_id);
  chunk_id_of_.erase({found->second.from.number, found->second.offer.number});
  incoming_.erase(found);
}

/// Transfer mode baton: counts a region as closed, which is written or discarded. Releases the
/// baton after the last region of its owner.
void Aggregator::close_region(const StepId& step) {
  if (!is_baton(step)) return;
  std::uint64_t& open_regions = open_regions_[owner(step).number];
  FOREBAY_ASSERT(open_regions > 0);
  if (--open_regions > 0) return renew_baton(step);
  context_.send(owner(step), MessageKind::kReleaseBaton, message_words(step), {});
}

/// Reports progress to the file owner, so that this writer keeps the baton.
void Aggregator::renew_baton(const StepId& step) {
  if (is_baton(step)) context_.send(owner(step), MessageKind::kRenewBaton, message_words(step), {});
}

comm::Rank Aggregator::owner(const StepId& step) const {
  const AggregationMap& aggregation = context_.aggregation(step);
  return {aggregation.owner_of(aggregation.file_of(context_.rank().number))};
}

Status Aggregator::handle_region_count(const StepId& step,
                                       std::uint32_t origin,
                                       std::uint32_t regions) {
  if (failed_steps_.contains(step)) return {};
  RankProgress& progress = ranks_[{step, origin}];
  const bool has_more =
      !progress.regions_by_number.empty() && progress.regions_by_number.rbegin()->first >= regions;
  if (has_more || progress.regions)
    return failure(malformed_message(MessageKind::kRegionCount, "regions", regions,
                                     "must be sent once, and exceed every region offered"));
  progress.regions = regions;
  // The application still waits if this is the region count of an earlier step.
  if (memory_wait_step_ && *memory_wait_step_ <= step) memory_wait_step_.reset();
  auto& finished = finished_ranks_[step];
  finished.insert(origin);
  const auto ranks = context_.aggregation(step).ranks_of_writer(context_.rank().number);
  if (finished.size() == ranks.size()) write_held_back();
  report_if_ready(step);
  report_if_complete({step, origin});
  return {};
}

void Aggregator::report_if_complete(const RankKey& key) {
  RankProgress& progress = ranks_.at(key);
  if (progress.regions != std::optional(progress.regions_written)) return;
  if (is_collective(key.first) && !progress.is_collective_done) return;
  // On one node, the sync by the file owner also covers the writes of this rank.
  if (progress.regions == 0U || context_.is_same_node(owner(key.first))) return report_regions(key);
  const auto synced = [this, key](const Status& outcome) {
    if (!outcome) return context_.report_failure(key.first, outcome.error());
    if (ranks_.contains(key)) report_regions(key);
  };
  context_.file_writer().sync(files_.at(key.first.group), [this, synced](const Status& outcome) {
    context_.post([synced, outcome] { synced(outcome); });
  });
}

void Aggregator::report_regions(const RankKey& key) {
  std::vector<std::uint64_t> offsets;
  for (const auto& [number, region] : ranks_.at(key).regions_by_number)
    offsets.push_back(*region.file_offset);
  const comm::Rank origin{key.second};
  ranks_.erase(key);
  context_.send(origin, MessageKind::kRegionsWritten, message_words(key.first),
                comm::list_to_bytes<std::uint64_t>(offsets));
}

}  // namespace forebay::write
