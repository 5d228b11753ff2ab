// SPDX-License-Identifier: Apache-2.0
// What streams hand to the queue of a device: parcels (a buffer that is to be written somewhere)
// and barriers (a question whether all before it is written). Both lie in memory of the stream and
// are linked in place, so handing one over allocates nothing.
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

class Target;
struct Account;
struct Barrier;
struct Parcel;

/// Who hands parcels to a queue. Called by the queue's thread: must not block.
class Client {
 public:
  virtual ~Client() = default;
  /// Whether nothing more is to be begun for it.
  virtual bool gives_up() const noexcept = 0;
  /// Something went wrong with what it handed over.
  virtual void fail(const Error& error) noexcept = 0;
  /// Some of a parcel could not be written. Where clients know of parcels one by one, the others
  /// may go on.
  virtual void fail_parcel(Parcel& /*parcel*/, const Error& error) noexcept { fail(error); }
  /// The parcel is its own again, written or not.
  virtual void give_back(Parcel& parcel) noexcept = 0;
  /// The same for a barrier: all that it asked for is done.
  virtual void reached(Barrier& barrier) noexcept = 0;
  /// Storage begins or ends to work for it on one device.
  virtual void note_busy(TimePoint now) noexcept = 0;
  virtual void note_idle(TimePoint now) noexcept = 0;
};

enum class ParcelKind : std::uint8_t { kData, kBarrier };

struct Parcel {
  ParcelKind kind = ParcelKind::kData;
  Parcel* next = nullptr;
  Account* account = nullptr;
  Target* target = nullptr;  ///< barriers: null means all that the account wrote to
  ByteRange range;           ///< in the file
  std::byte* data = nullptr;
  /// The buffer in which `data` lies: begins at the border of a block, and is one block longer than
  /// what was handed out. Null: `data` suits direct access to the file, and is never moved.
  std::byte* room = nullptr;
  TimePoint submitted_at;
  // The client's own:
  std::uint64_t number = 0;
  std::uint32_t slot = 0;
  std::uint32_t file = 0;

  // From here on the queue's own:
  std::uint64_t arrival = 0;  ///< in the order of the queue
  ByteRange rest;             ///< not asked for yet
  std::uint32_t requests_left = 0;
  bool is_prepared = false;
  bool is_written = false;  ///< nothing of it failed or was dropped; a barrier: it was reached, and
                            ///< not given back by a queue that has ended
};

enum class Durability : std::uint8_t { kWritten, kSynced };

struct Barrier : Parcel {
  Durability durability = Durability::kWritten;
  /// The last one of its account, whose memory is gone afterwards.
  bool is_last = false;
  /// That it concerns besides those that still need something: a sync, all files that are open.
  std::vector<std::shared_ptr<Target>> files;
  std::shared_ptr<void> keeps;  ///< the client's: whatever must live until it is reached

  // The queue's own:
  enum class Step : std::uint8_t { kParcels, kBlocks, kSync };
  Step step = Step::kParcels;
  std::uint64_t left = 0;  ///< parcels before it, or syncs
};

/// Parcels in a row.
class ParcelList {
 public:
  bool empty() const noexcept { return first_ == nullptr; }
  Parcel& front() const noexcept { return *first_; }
  void push(Parcel& parcel) noexcept {
    parcel.next = nullptr;
    (first_ == nullptr ? first_ : last_->next) = &parcel;
    last_ = &parcel;
  }
  Parcel& pop() noexcept {
    Parcel& popped = *first_;
    first_ = popped.next;
    return popped;
  }

 private:
  Parcel* first_ = nullptr;
  Parcel* last_ = nullptr;
};

/// What was done for one client on one device. Read by others while the queue counts.
struct AccountCounts {
  std::atomic<std::uint64_t> bytes{0};
  std::atomic<std::uint64_t> requests{0};
  std::atomic<std::uint64_t> queue_wait_ns{0};
  std::atomic<std::uint64_t> copied_bytes{0};
  std::atomic<std::uint64_t> edge_blocks{0};
  std::atomic<std::uint64_t> partial_blocks{0};
  std::atomic<bool> registered{false};
};

/// What one client may have under way on one device, and in which pieces.
struct AccountLimits {
  std::uint64_t request_bytes = 0;
  std::uint32_t requests = 0;
  std::uint64_t bytes = 0;
};

/// One client at one queue: what it may have under way, and what waits.
struct Account {
  Account(Client& its_client, std::span<std::byte> its_arena, const AccountLimits& its_limits)
      : client(&its_client), arena(its_arena), limits(its_limits) {}

  Client* const client;
  const std::span<std::byte> arena;  ///< in which its buffers lie; empty: they may lie anywhere
  const AccountLimits limits;
  AccountCounts counts;

  // The queue's own:
  bool is_known = false;
  bool has_turn = false;      ///< in the list of those that are asked for requests
  ParcelList waiting;         ///< the first may be under way in part
  std::uint64_t parcels = 0;  ///< that came and were not given back
  std::uint32_t requests_in_flight = 0;
  std::uint32_t jobs = 0;  ///< requests, and reservations that its parcels wait for
  std::uint64_t bytes_in_flight = 0;
  std::uint64_t credit_bytes = 0;                ///< what it may still ask for in this round
  std::vector<std::shared_ptr<Target>> targets;  ///< that may need something at the next barrier
};

}  // namespace forebay::stream
