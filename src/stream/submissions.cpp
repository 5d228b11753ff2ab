// SPDX-License-Identifier: Apache-2.0
// Arrivals in a queue: submissions join their client's list, barriers count the submissions before
// them, and items that arrive after the queue's end are returned at once.
#include <algorithm>

#include "base/assert.hpp"
#include "stream/device_queue.hpp"

namespace forebay::stream {

void DeviceQueue::take_submissions() {
  Submission* submission = incoming_.take_all();
  while (submission != nullptr) {
    Submission* const next = submission->next;
    submission->sequence = ++sequence_;
    attach_client(*submission->client_state);
    if (submission->kind == SubmissionKind::kBarrier) {
      enqueue(static_cast<Barrier&>(*submission));
    } else {
      enqueue(*submission);
    }
    submission = next;
  }
}

void DeviceQueue::attach_client(ClientState& client_state) {
  if (client_state.is_attached) return;
  client_state.is_attached = true;
  if (!client_state.arena.empty())
    client_state.counts.registered = engine_->register_buffers(client_state.arena).has_value();
}

void DeviceQueue::enqueue(Submission& submission) {
  ClientState& client_state = *submission.client_state;
  attach_file(client_state, *submission.file_state);
  submission.pending_requests = 0;
  submission.is_prepared = false;
  submission.is_written = true;
  submission.remaining = submission.range;
  client_state.waiting.push(submission);
  ++client_state.submissions;
  ++submission.file_state->submissions;
  activate_client(client_state);
}

void DeviceQueue::enqueue(Barrier& barrier) {
  barrier.phase = Barrier::Phase::kSubmissions;
  barrier.is_written = true;
  barrier.pending = barrier.file_state != nullptr ? barrier.file_state->submissions
                                                  : barrier.client_state->submissions;
  barriers_.push_back(&barrier);
}

/// Records that the client writes to the file, which stays alive for it.
void DeviceQueue::attach_file(ClientState& client_state, OutputFileState& file_state) {
  const auto is_same = [&](const auto& used) { return used.get() == &file_state; };
  if (std::ranges::none_of(client_state.file_states, is_same))
    client_state.file_states.push_back(file_state.shared_from_this());
  if (std::ranges::find(file_state.clients, &client_state) == file_state.clients.end())
    file_state.clients.push_back(&client_state);
}

/// After the end: returns items that the thread will not process.
void DeviceQueue::reject_submissions() noexcept {
  Submission* submission = incoming_.take_all();
  while (submission != nullptr) {
    Submission* const next = submission->next;
    QueueClient& client = *submission->client_state->client;
    submission->is_written = false;
    if (submission->kind == SubmissionKind::kBarrier) {
      client.complete_barrier(static_cast<Barrier&>(*submission));
    } else {
      client.complete_submission(*submission);
    }
    submission = next;
  }
}

}  // namespace forebay::stream
