// SPDX-License-Identifier: Apache-2.0
// What streams pass to the queue of a device: submissions (a buffer to write) and barriers
// (completed when all before it is written). Both are in memory of the stream and linked in place,
// so passing them allocates nothing.
#pragma once

#include <forebay/error.hpp>
#include <forebay/range.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/clock.hpp"

namespace forebay::stream {

class OutputFileState;
struct ClientState;
struct Barrier;
struct Submission;

/// A user of a queue. The queue's thread calls it: must not block.
class QueueClient {
 public:
  virtual ~QueueClient() = default;
  /// True if no more work may begin for it.
  virtual bool is_stopped() const noexcept = 0;
  /// An operation for this client has failed.
  virtual void fail(const Error& error) noexcept = 0;
  /// A part of a submission could not be written. Clients that track single submissions may
  /// continue with the others.
  virtual void fail_submission(Submission& /*submission*/, const Error& error) noexcept {
    fail(error);
  }
  /// The client gets the submission back, written or not.
  virtual void complete_submission(Submission& submission) noexcept = 0;
  /// The same for a barrier: all its work is done.
  virtual void complete_barrier(Barrier& barrier) noexcept = 0;
  /// Storage begins or ends to work for it on one device.
  virtual void note_busy(TimePoint now) noexcept = 0;
  virtual void note_idle(TimePoint now) noexcept = 0;
};

enum class SubmissionKind : std::uint8_t { kData, kBarrier };

struct Submission {
  SubmissionKind kind = SubmissionKind::kData;
  Submission* next = nullptr;
  ClientState* client_state = nullptr;
  OutputFileState* file_state = nullptr;  ///< barriers: null means all files that the client wrote
  ByteRange range;                        ///< in the file
  std::byte* data = nullptr;
  /// The buffer that contains `data`: begins at a block boundary, and is one block longer than the
  /// program sees. Null: `data` suits direct access to the file, and is never moved.
  std::byte* buffer = nullptr;
  TimePoint submitted_at;
  // Used by the client:
  std::uint64_t submission_number = 0;
  std::uint32_t slot = 0;
  std::uint32_t file_number = 0;

  // Used by the queue:
  std::uint64_t sequence = 0;  ///< in the order of the queue
  ByteRange remaining;         ///< not requested yet
  std::uint32_t pending_requests = 0;
  bool is_prepared = false;
  bool is_written = false;  ///< no part failed or was dropped; a barrier: it was reached, and not
                            ///< returned by an ended queue
};

enum class Durability : std::uint8_t { kWritten, kSynced };

struct Barrier : Submission {
  Durability durability = Durability::kWritten;
  /// The last one of its client, whose memory is released afterwards.
  bool is_last = false;
  /// Further files, besides those with pending work: for a sync, all open files.
  std::vector<std::shared_ptr<OutputFileState>> files;
  std::shared_ptr<void> keep_alive;  ///< the client's: must live until the barrier is reached

  // Used by the queue:
  enum class Phase : std::uint8_t { kSubmissions, kBlocks, kSync };
  Phase phase = Phase::kSubmissions;
  std::uint64_t pending = 0;  ///< submissions before it, or syncs
};

/// Submissions in order.
class SubmissionList {
 public:
  bool empty() const noexcept { return first_ == nullptr; }
  Submission& front() const noexcept { return *first_; }
  void push(Submission& submission) noexcept {
    submission.next = nullptr;
    (first_ == nullptr ? first_ : last_->next) = &submission;
    last_ = &submission;
  }
  Submission& pop() noexcept {
    Submission& popped = *first_;
    first_ = popped.next;
    return popped;
  }

 private:
  Submission* first_ = nullptr;
  Submission* last_ = nullptr;
};

/// Statistics of one client on one device. Other threads may read them meanwhile.
struct ClientStatistics {
  std::atomic<std::uint64_t> bytes{0};
  std::atomic<std::uint64_t> requests{0};
  std::atomic<std::uint64_t> queue_wait_ns{0};
  std::atomic<std::uint64_t> copied_bytes{0};
  std::atomic<std::uint64_t> merged_blocks{0};
  std::atomic<std::uint64_t> partial_blocks{0};
  std::atomic<bool> registered{false};
};

/// Limits of one client on one device: bytes in flight, and size of requests.
struct ClientLimits {
  std::uint64_t request_bytes = 0;
  std::uint32_t requests = 0;
  std::uint64_t bytes = 0;
};

/// One client at one queue: its limits, and its waiting submissions.
struct ClientState {
  ClientState(QueueClient& its_client,
              std::span<std::byte> its_arena,
              const ClientLimits& its_limits)
      : client(&its_client), arena(its_arena), limits(its_limits) {}

  QueueClient* const client;
  const std::span<std::byte> arena;  ///< contains its buffers; empty: they may be anywhere
  const ClientLimits limits;
  ClientStatistics counts;

  // Used by the queue:
  bool is_attached = false;
  bool is_active = false;         ///< in the round-robin list
  SubmissionList waiting;         ///< the first may be partly in flight
  std::uint64_t submissions = 0;  ///< that arrived and were not returned yet
  std::uint32_t requests_in_flight = 0;
  std::uint32_t active_operations = 0;  ///< requests, and reservations for which its submissions
                                        ///< wait
  std::uint64_t bytes_in_flight = 0;
  std::uint64_t deficit_bytes = 0;  ///< bytes that it may still request in this round
  std::vector<std::shared_ptr<OutputFileState>> file_states;  ///< that a barrier may have to flush
};

}  // namespace forebay::stream
