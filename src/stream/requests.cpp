// SPDX-License-Identifier: Apache-2.0
// How a queue issues requests: the order of clients, and the reservations that must precede. Bytes
// of a submission are written directly, or by way of partial blocks.
#include <algorithm>
#include <chrono>
#include <cstring>

#include "base/assert.hpp"
#include "base/checked_cast.hpp"
#include "stream/device_queue.hpp"

namespace forebay::stream {

namespace {

/// Bytes that a client may request in one round, before the next client follows.
constexpr std::uint64_t kQuantumBytes = std::uint64_t{4} << 20U;
/// A file with more partial blocks than this has all of them written at once.
constexpr std::size_t kBlocksWaitingMax = 1024;

constexpr std::uint64_t length_of_request(ByteRange remaining,
                                          std::uint64_t request_bytes) noexcept {
  return std::min(remaining.size, request_bytes - remaining.offset % request_bytes);
}

}  // namespace

std::size_t DeviceQueue::free_capacity() const noexcept {
  return engine_->capacity() - engine_->in_flight() - batch_.size();
}

void DeviceQueue::issue() {
  issue_auxiliary();
  issue_data();
  const std::size_t taken = engine_->enqueue(batch_);  // the queue waits next
  FOREBAY_ASSERT(taken == batch_.size());
  batch_.clear();
}

void DeviceQueue::issue_auxiliary() {
  while (!auxiliary_.empty() && free_capacity() > 0) {
    const InFlight entry = auxiliary_.front();
    auxiliary_.pop_front();
    start(entry, operation_of(entry));
  }
}

/// Round robin, each client the same number of bytes.
void DeviceQueue::issue_data() {
  while (!active_clients_.empty() && free_capacity() > 0) {
    ClientState& client_state = *active_clients_.front();
    if (!has_request(client_state)) {
      deactivate_client(client_state);
      continue;
    }
    const std::uint64_t bytes = length_of_request(client_state.waiting.front().remaining,
                                                  client_state.limits.request_bytes);
    if (client_state.deficit_bytes < bytes) {
      client_state.deficit_bytes += kQuantumBytes;
      std::rotate(active_clients_.begin(), active_clients_.begin() + 1, active_clients_.end());
      continue;
    }
    if (!budget_->try_acquire(bytes)) return;  // a release notifies this queue
    client_state.deficit_bytes -= bytes;
    send_request(client_state);
  }
}

/// True if the client's first submission has a request that may be issued now. Removes submissions
/// without requests.
bool DeviceQueue::has_request(ClientState& client_state) {
  while (!client_state.waiting.empty()) {
    Submission& submission = client_state.waiting.front();
    const bool is_dropped = client_state.client->is_stopped();
    if (!is_dropped && !submission.is_prepared && !prepare(submission)) return false;
    if (!is_dropped && !submission.remaining.empty()) {
      return client_state.requests_in_flight < client_state.limits.requests &&
             (client_state.bytes_in_flight == 0 ||
              client_state.bytes_in_flight +
                      length_of_request(submission.remaining, client_state.limits.request_bytes) <=
                  client_state.limits.bytes);
    }
    client_state.waiting.pop();
    submission.remaining = {};
    if (is_dropped) submission.is_written = false;
    if (submission.pending_requests == 0) finish(submission);
  }
  return false;
}

void DeviceQueue::send_request(ClientState& client_state) {
  Submission& submission = client_state.waiting.front();
  const std::uint64_t bytes =
      length_of_request(submission.remaining, client_state.limits.request_bytes);
  const ByteRange range{submission.remaining.offset, bytes};
  submission.remaining = {range.end(), submission.remaining.size - bytes};
  ++submission.pending_requests;
  ++client_state.requests_in_flight;
  begin_work(client_state);
  client_state.bytes_in_flight += bytes;
  const InFlight entry{
      .file_state = submission.file_state, .range = range, .submission = &submission};
  start(entry, operation_of(entry));
  if (submission.remaining.empty()) client_state.waiting.pop();
}

/// Storage works for the client: counts as its writing time.
void DeviceQueue::begin_work(ClientState& client_state) noexcept {
  if (client_state.active_operations++ == 0)
    client_state.client->note_busy(SteadyClock::shared().now());
}

void DeviceQueue::end_work(ClientState& client_state) noexcept {
  if (--client_state.active_operations == 0)
    client_state.client->note_idle(SteadyClock::shared().now());
}

void DeviceQueue::activate_client(ClientState& client_state) {
  if (client_state.is_active) return;
  client_state.is_active = true;
  active_clients_.push_back(&client_state);
}

/// The first client of the list has no request now.
void DeviceQueue::deactivate_client(ClientState& client_state) noexcept {
  client_state.is_active = false;
  client_state.deficit_bytes = 0;
  active_clients_.pop_front();
}

void DeviceQueue::start(const InFlight& entry, const storage::Operation& operation) {
  if (free_slots_.empty()) {
    free_slots_.push_back(checked_cast<std::uint32_t>(in_flight_.size()));
    in_flight_.emplace_back();
  }
  const std::uint32_t index = free_slots_.back();
  free_slots_.pop_back();
  in_flight_[index] = entry;
  batch_.push_back(operation);
  batch_.back().tag = index;
}

storage::Operation DeviceQueue::operation_of(const InFlight& entry) const {
  storage::File& file = entry.file_state->file();
  const std::uint64_t offset = entry.range.offset;
  switch (entry.kind) {
    case InFlightKind::kData: {
      const std::byte* const data =
          entry.submission->data + (offset - entry.submission->range.offset);
      return storage::write_operation(file, offset, {data, entry.range.size}, 0);
    }
    case InFlightKind::kReservation:
      return storage::allocate_operation(file, entry.range, 0);
    case InFlightKind::kBlockWrite: {
      const bool is_whole = entry.range.size == kBlockBytes;
      storage::File& its_file = is_whole ? file : entry.file_state->unaligned_file();
      return storage::write_operation(its_file, offset, entry.block->range_bytes(entry.range), 0);
    }
    case InFlightKind::kSync:
      break;
  }
  return storage::sync_operation(file, 0);
}

/// Queues an operation of no submission, which is issued before data.
void DeviceQueue::enqueue_auxiliary(const InFlight& entry) {
  ++entry.file_state->auxiliary_operations;
  auxiliary_.push_back(entry);
}

/// Prepares a submission for its first request. False if it must wait: it is retried when an
/// auxiliary operation has ended.
bool DeviceQueue::prepare(Submission& submission) {
  OutputFileState& file_state = *submission.file_state;
  if (file_state.is_reserving || file_state.should_trim)
    return suspend_client(*submission.client_state);
  if (!submission.range.empty() && file_state.reservation.next_reservation(submission.range)) {
    reserve_space(submission);
    return suspend_client(*submission.client_state);
  }
  if (file_state.file().access() == Access::kBuffered) {
    submission.remaining = submission.range;
    if (!submission.range.empty()) file_state.note_write(submission.range);
  } else if (!stage_partial_blocks(submission)) {
    return suspend_client(*submission.client_state);
  }
  submission.is_prepared = true;
  ++file_state.prepared_submissions;
  const auto waited = SteadyClock::shared().now() - submission.submitted_at;
  submission.client_state->counts.queue_wait_ns += static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(waited).count());
  return true;
}

void DeviceQueue::reserve_space(const Submission& submission) {
  OutputFileState& file_state = *submission.file_state;
  const std::uint64_t free_bytes = file_state.file().free_bytes().value_or(kAll);
  file_state.is_reserving = true;
  InFlight entry{.kind = InFlightKind::kReservation, .file_state = &file_state};
  entry.range = *file_state.reservation.next_reservation(submission.range, free_bytes);
  entry.client_state = submission.client_state;
  entry.required = submission.range;
  begin_work(*submission.client_state);
  enqueue_auxiliary(entry);
}

bool DeviceQueue::stage_partial_blocks(Submission& submission) {
  OutputFileState& file_state = *submission.file_state;
  const BlockSplit split = split_at_blocks(submission.range);
  for (const ByteRange partial : {split.head, split.tail}) {
    if (!partial.empty() && file_state.block_cache.is_in_flight(partial.offset)) return false;
  }
  stage_partial_block(submission, split.head);
  stage_partial_block(submission, split.tail);
  if (!submission.range.empty()) file_state.note_write(submission.range);
  if (!split.middle.empty()) align(submission, split.middle);
  submission.remaining = split.middle;
  if (file_state.block_cache.size() > kBlocksWaitingMax) flush_blocks(file_state);
  return true;
}

void DeviceQueue::stage_partial_block(Submission& submission, ByteRange partial) {
  if (partial.empty()) return;
  const std::byte* const data = submission.data + (partial.offset - submission.range.offset);
  PartialBlock& block =
      submission.file_state->block_cache.put(partial.offset, {data, partial.size});
  if (block.is_full()) write_block(*submission.file_state, block, *submission.client_state);
}

/// Writes the received bytes of a block: a full block directly, parts byte for byte.
void DeviceQueue::write_block(OutputFileState& file_state,
                              PartialBlock& block,
                              ClientState& client_state) {
  InFlight entry{.kind = InFlightKind::kBlockWrite, .file_state = &file_state};
  entry.block = &block;
  ++client_state.counts.merged_blocks;
  if (block.is_full()) {
    block.start_write(1);
    entry.range = {block.offset_bytes(), kBlockBytes};
    return enqueue_auxiliary(entry);
  }
  ++client_state.counts.partial_blocks;
  const std::vector<ByteRange> parts = block.valid_ranges();
  block.start_write(parts.size());
  for (const ByteRange part : parts) {
    entry.range = part;
    enqueue_auxiliary(entry);
  }
}

/// Moves the middle of a submission in its buffer, if its address is not congruent to its offset.
void DeviceQueue::align(Submission& submission, ByteRange middle) noexcept {
  const auto address = reinterpret_cast<std::uintptr_t>(submission.data);
  const std::size_t alignment = submission.file_state->file().alignment_bytes();
  if (is_congruent(address, submission.range.offset, alignment)) return;
  std::byte* const moved = submission.data + alignment_shift(address, submission.range.offset);
  FOREBAY_ASSERT(submission.buffer != nullptr);
  FOREBAY_ASSERT(moved >= submission.buffer);
  const std::uint64_t first = middle.offset - submission.range.offset;
  std::memmove(moved + first, submission.data + first, middle.size);
  submission.data = moved;
  submission.client_state->counts.copied_bytes += middle.size;
}

/// Writes all partial blocks of the file.
void DeviceQueue::flush_blocks(OutputFileState& file_state) {
  if (file_state.clients.empty()) return;  // left over from a stopped stream
  for (PartialBlock* const block : file_state.block_cache.waiting_blocks())
    write_block(file_state, *block, *file_state.clients.front());
}

bool DeviceQueue::suspend_client(ClientState& client_state) {
  if (std::ranges::find(suspended_clients_, &client_state) == suspended_clients_.end())
    suspended_clients_.push_back(&client_state);
  return false;
}

void DeviceQueue::resume_clients() {
  for (ClientState* const client_state : suspended_clients_)
    activate_client(*client_state);
  suspended_clients_.clear();
}

}  // namespace forebay::stream
