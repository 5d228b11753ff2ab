// SPDX-License-Identifier: Apache-2.0
// Barriers: all submissions before them, then the partial blocks, then the length of files, then
// the sync. Each step begins when the previous one is done.
#include <algorithm>
#include <utility>

#include "base/assert.hpp"
#include "stream/device_queue.hpp"

namespace forebay::stream {

void DeviceQueue::advance_barriers() {
  const auto is_reached = [this](Barrier* barrier) { return advance(*barrier); };
  std::vector<Barrier*> reached;
  std::copy_if(barriers_.begin(), barriers_.end(), std::back_inserter(reached), is_reached);
  for (Barrier* const barrier : reached) {
    std::erase(barriers_, barrier);
    finish_barrier(*barrier);
    barrier->client_state->client->complete_barrier(*barrier);  // may destroy it
  }
}

/// True once all work of the barrier is done, or no more will be.
bool DeviceQueue::advance(Barrier& barrier) {
  if (barrier.pending > 0) return false;
  if (barrier.phase == Barrier::Phase::kSync) return true;
  if (barrier.phase == Barrier::Phase::kSubmissions) {
    barrier.phase = Barrier::Phase::kBlocks;
    flush_partial_blocks(barrier);
  }
  const auto is_settled = [](const auto& file_state) {
    return file_state->auxiliary_operations == 0;
  };
  if (!std::ranges::all_of(files_of(barrier), is_settled)) return false;
  barrier.phase = Barrier::Phase::kSync;
  return !start_syncs(barrier);
}

void DeviceQueue::flush_partial_blocks(Barrier& barrier) {
  if (barrier.client_state->client->is_stopped()) return;
  for (const auto& file_state : files_of(barrier))
    flush_blocks(*file_state);
}

/// Sets the length of files and starts syncs; false if none was started.
bool DeviceQueue::start_syncs(Barrier& barrier) {
  for (const auto& file_state : files_of(barrier)) {
    set_final_size(*file_state);
    QueueClient& client = *barrier.client_state->client;
    if (client.is_stopped() || barrier.durability == Durability::kWritten) continue;
    if (file_state->sync_error) client.fail(*file_state->sync_error);
    if (!file_state->is_dirty || file_state->sync_error) continue;
    file_state->is_dirty = false;
    InFlight entry{.kind = InFlightKind::kSync, .file_state = file_state.get()};
    entry.barrier = &barrier;
    ++barrier.pending;
    enqueue_auxiliary(entry);
  }
  return barrier.pending > 0;
}

/// Sets the true length, unless the file is being written. Also after an error, to free unused
/// space.
void DeviceQueue::set_final_size(OutputFileState& file_state) {
  if (file_state.submissions > 0) return;
  if (const Status done = file_state.set_final_size(); !done)
    fail_clients(file_state, done.error());
}

/// A submission is done: later barriers wait for one less.
void DeviceQueue::count_completed(const Submission& submission) noexcept {
  for (Barrier* const barrier : barriers_) {
    const bool is_waiting =
        barrier->phase == Barrier::Phase::kSubmissions && submission.sequence < barrier->sequence;
    const bool is_in_scope = barrier->file_state != nullptr
                                 ? barrier->file_state == submission.file_state
                                 : barrier->client_state == submission.client_state;
    if (is_waiting && is_in_scope) --barrier->pending;
  }
}

std::vector<std::shared_ptr<OutputFileState>> DeviceQueue::files_of(const Barrier& barrier) const {
  if (barrier.file_state != nullptr) return {barrier.file_state->shared_from_this()};
  auto file_states = barrier.client_state->file_states;
  file_states.insert(file_states.end(), barrier.files.begin(), barrier.files.end());
  return file_states;
}

/// Releases files without pending work.
void DeviceQueue::finish_barrier(Barrier& barrier) {
  ClientState& client_state = *barrier.client_state;
  const bool is_final = client_state.client->is_stopped() || barrier.is_last;
  const auto is_done_with = [&](const std::shared_ptr<OutputFileState>& file_state) {
    // The memory of this client will be released: remove it even if other clients still work there.
    if (barrier.is_last) std::erase(file_state->clients, &client_state);
    if (file_state->auxiliary_operations > 0 || file_state->submissions > 0) return false;
    if (file_state->block_cache.size() > 0 && !is_final) return false;
    std::erase(file_state->clients, &client_state);
    return true;
  };
  std::erase_if(client_state.file_states, is_done_with);
  if (!barrier.is_last) return;
  FOREBAY_ASSERT(client_state.submissions == 0);
  std::erase(active_clients_, &client_state);
  std::erase(suspended_clients_, &client_state);
  if (!client_state.arena.empty()) engine_->unregister_buffers(client_state.arena);
}

}  // namespace forebay::stream
