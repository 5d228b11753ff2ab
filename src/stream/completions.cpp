// SPDX-License-Identifier: Apache-2.0
// Completions in a queue: submissions return to their streams, blocks become complete, space is
// reserved, and errors reach all streams whose bytes they concern.
#include <algorithm>

#include "base/assert.hpp"
#include "stream/device_queue.hpp"

namespace forebay::stream {

void DeviceQueue::complete(const storage::Completion& completion) {
  const auto index = static_cast<std::uint32_t>(completion.tag);
  const InFlight entry = in_flight_[index];
  free_slots_.push_back(index);
  const bool is_write =
      entry.kind == InFlightKind::kData || entry.kind == InFlightKind::kBlockWrite;
  const OutputFileState* const written =
      entry.kind == InFlightKind::kData ? entry.submission->file_state : entry.file_state;
  if (is_write && written->on_written) written->on_written(entry.range);
  if (entry.kind != InFlightKind::kData) {
    complete_auxiliary(entry, completion.bytes);
    return;
  }
  ClientState& client_state = *entry.submission->client_state;
  if (completion.bytes) {
    client_state.counts.bytes += entry.range.size;
    ++client_state.counts.requests;
  } else {
    entry.submission->is_written = false;
    client_state.client->fail_submission(*entry.submission, completion.bytes.error());
  }
  complete_data(entry);
}

void DeviceQueue::complete_data(const InFlight& entry) {
  Submission& submission = *entry.submission;
  // A sync that began before the end of this write did not cover it.
  submission.file_state->is_dirty = true;
  ClientState& client_state = *submission.client_state;
  client_state.bytes_in_flight -= entry.range.size;
  --client_state.requests_in_flight;
  end_work(client_state);
  budget_->release(entry.range.size);
  if (!client_state.waiting.empty()) activate_client(client_state);
  if (--submission.pending_requests == 0 && submission.remaining.empty()) finish(submission);
}

void DeviceQueue::finish(Submission& submission) {
  --submission.client_state->submissions;
  --submission.file_state->submissions;
  if (submission.is_prepared) --submission.file_state->prepared_submissions;
  trim_reservation(*submission.file_state);
  count_completed(submission);
  submission.client_state->client->complete_submission(submission);
}

void DeviceQueue::complete_auxiliary(const InFlight& entry, const Result<std::uint64_t>& outcome) {
  OutputFileState& file_state = *entry.file_state;
  --file_state.auxiliary_operations;
  switch (entry.kind) {
    case InFlightKind::kReservation:
      complete_reservation(entry, outcome);
      break;
    case InFlightKind::kBlockWrite:
      if (!outcome) fail_clients(file_state, outcome.error());
      file_state.is_dirty = true;
      if (entry.block->finish_transfer()) file_state.block_cache.erase(*entry.block);
      break;
    case InFlightKind::kSync:
      if (!outcome) {
        file_state.sync_error = outcome.error();
        entry.barrier->client_state->client->fail(outcome.error());
        fail_clients(file_state, outcome.error());
      }
      --entry.barrier->pending;
      break;
    case InFlightKind::kData:
      FOREBAY_ASSERT(false);
  }
  trim_reservation(file_state);
  resume_clients();
}

void DeviceQueue::complete_reservation(const InFlight& entry,
                                       const Result<std::uint64_t>& outcome) {
  OutputFileState& file_state = *entry.file_state;
  file_state.is_reserving = false;
  end_work(*entry.client_state);
  if (outcome) {
    file_state.reservation.mark_reserved(entry.range);
    return;
  }
  const Error& error = outcome.error();
  if (error.kind() == ErrorClass::kUnsupported) {
    file_state.reservation.disable();
    return;
  }
  file_state.reservation.mark_failed();
  const bool is_full = error.kind() == ErrorClass::kNoSpace;
  file_state.should_trim = is_full && file_state.reservation.try_smaller(entry.required);
  if (!file_state.should_trim) fail_clients(file_state, error);
}

/// Frees what a failed reservation has kept: the smaller one and other files need that space.
void DeviceQueue::trim_reservation(OutputFileState& file_state) {
  if (!file_state.should_trim || file_state.prepared_submissions > 0 ||
      file_state.auxiliary_operations > 0)
    return;
  file_state.should_trim = false;
  if (const Status done = file_state.trim_reservation(); !done)
    fail_clients(file_state, done.error());
  resume_clients();
}

void DeviceQueue::fail_clients(const OutputFileState& file_state, const Error& error) noexcept {
  for (ClientState* const user : file_state.clients)
    user->client->fail(error);
}

}  // namespace forebay::stream
