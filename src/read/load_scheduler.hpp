// SPDX-License-Identifier: Apache-2.0
// LoadScheduler: chooses the splinter to load next, and its slot in the window. It holds all policy
// of a session: demand before readahead, eviction, growth of the window. It has no files, threads
// or memory except the residency table. Every call requires the session's lock.
#pragma once

#include <forebay/read_plan.hpp>

#include <array>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/clock.hpp"
#include "read/geometry.hpp"
#include "read/load_queues.hpp"
#include "read/predicted_use.hpp"
#include "read/reader_count_estimator.hpp"
#include "read/server_load_limiter.hpp"
#include "shm/session_control_block.hpp"

namespace forebay::read {

/// Which bytes of a splinter a request loads.
enum class LoadGranularity : std::uint8_t {
  kSplinter,  ///< all: the request is contiguous
  kExact,     ///< only its own: the request is scattered
};

/// One transfer from storage into a slot.
struct Load {
  SplinterIndex splinter = 0;
  std::uint32_t slot = 0;
  SplinterPart bytes;         ///< bytes to read, aligned; relative to the splinter
  bool is_extension = false;  ///< the splinter is resident; the load adds bytes to it
  std::uint32_t generation = 0;
};

class LoadScheduler {
 public:
  struct Limits {
    std::uint32_t slots = 0;  ///< at the start
    std::uint32_t slots_max = 0;
    std::uint32_t loads_max = 1;  ///< in flight at once; each server of the file gets its share
    ServerLoadLimiter::Striping striping = {};
    std::uint32_t readahead_initial = 0;  ///< splinters loaded without a request, at the start
    std::uint32_t readahead_max = 0;
    std::uint32_t alignment_bytes = 4096;
    EvictionPolicy eviction = EvictionPolicy::kReadOnce;
    /// Premature evictions per slot before the window grows although some slots are not pinned.
    /// Premature: a splinter is evicted before its bytes were all served. 0 if reading again is
    /// expensive.
    std::uint32_t evictions_before_growth = 0;
    /// Maximum number of clients that may each read all bytes once (kReadOnce); the number that do
    /// is estimated.
    std::uint32_t readers_max = 1;
    /// Loads for hints that may be in flight, so that a request finds room.
    std::uint32_t hint_loads_max = UINT32_MAX;
    /// The window is a cache of predicted splinters: of those that are not pinned, loading or
    /// reserved, the one whose predicted use is farthest is evicted first. A hint never evicts one
    /// that will be used sooner.
    bool is_push_cache = false;
  };

  enum class Decision : std::uint8_t {
    kLoad,  ///< do the load, then call complete_load() or fail_load()
    /// call set_slot_count() with the larger number of slots, or the present one if it cannot grow
    kGrow,
    /// views pin all memory and a request waits for `load.splinter`: it needs a private copy
    kNoMemory,
    kIdle,  ///< nothing to do until something changes
  };

  /// `control_block` has geometry.count() splinters and at least limits.slots_max slots.
  LoadScheduler(const Geometry& geometry,
                const shm::SessionControlBlock& control_block,
                const Limits& limits);

  /// Adds a request for bytes of a splinter that are not resident. Merges it with a pending one.
  void add_request(SplinterIndex splinter,
                   SplinterPart part,
                   LoadPriority priority,
                   LoadGranularity granularity,
                   PredictedUse use = {});
  /// Sets the number of the client's next access, and the access that will use a resident splinter.
  void set_position(std::uint64_t position, std::uint32_t client = 0) {
    positions_.set(client, position);
  }
  void expect_use(SplinterIndex splinter, PredictedUse use);
  /// The client makes no more accesses: all its uses have passed.
  void forget_uses(std::uint32_t client) { positions_.set(client, kUseUnknown); }
  /// No use of this splinter by this client is predicted any more. Drops the request if it was only
  /// a hint of this client.
  void cancel_hint(SplinterIndex splinter, std::uint32_t client = 0);

  /// Decides what to do next for requests of at least priority `least`. Readahead has the priority
  /// of hints, the lowest.
  Decision next(Load& load, TimePoint now, LoadPriority least = LoadPriority::kHint);
  /// The same for one requested splinter, out of order, for a thread that would load it on its own.
  Decision next_for_splinter(SplinterIndex splinter, Load& load, TimePoint now);

  /// The window now has `slots` slots.
  void set_slot_count(std::uint32_t slots);

  /// The first `got_bytes` bytes of `load` are in the slot. `reserved_bytes` is the sum, over the
  /// waiters signaled now, of the bytes that each will take from the slot. True if all requested
  /// bytes were read; false if the file is shorter than before.
  bool complete_load(const Load& load, std::uint32_t got_bytes, std::uint32_t reserved_bytes);
  void fail_load(const Load& load);

  enum class Invalidation : std::uint8_t {
    kDone,     ///< not resident any more
    kLoading,  ///< the load in flight must fail
    /// pinned, or a load adds bytes to it, which must fail: the slot keeps its bytes, and the
    /// splinter must not be requested again
    kPinned,
  };
  /// The bytes of a splinter have changed in the file. With kPinned, drops its request.
  Invalidation invalidate(SplinterIndex splinter);

  /// Drops the request for this splinter.
  void cancel_request(SplinterIndex splinter);

  /// Drops all requests and ends readahead.
  void cancel_all();

  /// Evicts the splinters of all slots. False if some are pinned or loading: those stay.
  bool evict_all();

  bool is_requested(SplinterIndex splinter) const { return pending_.contains(splinter); }
  std::uint32_t slots() const noexcept { return static_cast<std::uint32_t>(slots_.size()); }
  std::uint32_t loads_in_flight() const noexcept { return loads_in_flight_; }
  std::uint32_t readahead_limit() const noexcept { return readahead_limit_; }
  std::uint64_t rereads() const noexcept { return rereads_; }
  /// Bytes served from the window so far.
  std::uint64_t served_bytes() const;
  /// Bytes loaded for hints; of them, those of splinters that were not used so far.
  std::uint64_t pushed_bytes() const noexcept { return pushed_bytes_; }
  std::uint64_t wasted_bytes() const;
  /// Latest time of the next call of next(), if requests with waiters need memory.
  std::optional<TimePoint> retry_at() const noexcept { return retry_at_; }
  /// True if the last next() returned kIdle although requests are pending, because they need
  /// memory.
  bool is_waiting_for_slot() const noexcept { return is_waiting_for_slot_; }
  /// True while splinters are left to read ahead. next() may return kIdle meanwhile, because enough
  /// is read ahead. Never in a push cache.
  bool can_read_ahead() const noexcept {
    return readahead_next_ < geometry_.count() && !limits_.is_push_cache;
  }
  /// Estimate of how many times each byte is read.
  std::uint32_t reader_count() const noexcept { return readers_.value(); }
  /// The bytes of a splinter that one reader takes: all that were loaded of it.
  static std::uint32_t bytes_per_reader(const shm::ResidencyEntry& splinter) noexcept {
    return splinter.valid().size();
  }

 private:
  /// State of a slot, in order of eviction: a request that may evict one state may evict all states
  /// before it.
  enum class SlotState : std::uint8_t {
    kFree,
    kConsumed,      ///< kReadOnce: served to as many readers as estimated
    kReadAhead,     ///< read ahead, not requested yet
    kPartlyServed,  ///< some bytes were served, and it is not consumed
    kUnserved,      ///< requested, not taken yet
    kReserved,      ///< waiters were signaled and have not taken all of it yet
    kPinned,        ///< pinned by a client
    kLoading,       ///< a load is in flight
  };
  static constexpr std::size_t kSlotStates = 8;

  struct Slot {
    SplinterIndex splinter = kNoSplinter;
    bool is_loading = false;
    bool is_readahead = false;     ///< loaded without a request and not used since
    bool is_fully_loaded = false;  ///< the whole splinter was read
    bool is_used = false;          ///< some bytes were served
    std::uint64_t last_served_bytes = 0;
    std::uint32_t reserved_bytes = 0;  ///< needed by signaled waiters
    std::uint64_t last_used = 0;
    TimePoint reserved_until = {};  ///< until then only a request with kBlocked evicts it
    bool is_pushed = false;         ///< loaded for a hint
    PredictedUses uses;
  };
  struct PendingRequest {
    SplinterPart part;
    LoadPriority priority = LoadPriority::kHint;
    PredictedUses uses;
  };
  using PendingRequests = std::unordered_map<SplinterIndex, PendingRequest>;
  static constexpr SplinterIndex kNoSplinter = UINT32_MAX;

  SlotState update_slot_state(std::uint32_t index);
  void update_slot_states();
  Decision assign_slot(SplinterIndex splinter, LoadPriority priority, Load& load);
  Decision extend(SplinterIndex splinter, SplinterPart part, Load& load);
  Decision next_readahead(Load& load);
  Decision next_demand(Load& load, LoadPriority least);
  std::optional<SplinterIndex> next_request(LoadPriority priority);
  bool needs_no_readahead(SplinterIndex splinter) const;
  SplinterIndex next_readahead_splinter() const;
  void enqueue(SplinterIndex splinter, LoadPriority priority);
  void count_load_begin(const Load& load);
  void count_load_end(const Load& load);
  std::optional<std::uint32_t> reclaimable_slot(SplinterIndex splinter) const;
  std::optional<std::uint32_t> neighbor_slot(SplinterIndex splinter) const;
  std::optional<std::uint32_t> largest_gap_slot() const;
  std::optional<std::uint32_t> least_recently_used(SlotState state) const;
  std::optional<std::uint32_t> evictable_partly_served(LoadPriority priority) const;
  std::optional<std::uint32_t> most_recently_used(SlotState state) const;
  std::optional<std::uint32_t> slot_for(SplinterIndex splinter, LoadPriority priority) const;
  std::optional<TimePoint> next_reservation_expiry() const;
  std::optional<std::uint32_t> victim(LoadPriority priority) const;
  std::optional<std::uint32_t> push_cache_victim(const PendingRequest& request) const;
  std::uint64_t next_use(std::uint32_t slot) const;
  bool is_unused_push(std::uint32_t slot) const;
  bool erase_if_present(PendingRequests::iterator request);
  bool is_loading(SplinterIndex splinter) const;
  void set_slot_state(std::uint32_t slot, SlotState state);
  bool should_grow(LoadPriority priority) const;
  bool is_growth_worthwhile() const;
  Decision decide_without_slot(LoadPriority priority) const;
  void record_reload(const shm::ResidencyEntry& entry);
  void record_eviction(std::uint32_t slot, std::uint64_t served_bytes);
  void record_access_order(SplinterIndex splinter);
  void record_readahead_eviction();
  bool is_wasteful() const;
  void increment_waste();
  void decrement_waste();
  bool evict(std::uint32_t slot);
  void start_load(SplinterIndex splinter, std::uint32_t slot, SplinterPart part, Load& load);
  SplinterPart align(SplinterPart part) const;
  bool is_reclaimable(std::uint32_t slot) const {
    return slot_states_[slot] <= SlotState::kConsumed;
  }
  std::uint32_t count(SlotState state) const {
    return state_counts_[static_cast<std::size_t>(state)];
  }

  const Geometry& geometry_;
  const shm::SessionControlBlock control_block_;
  Limits limits_;
  std::vector<Slot> slots_;
  std::vector<SlotState> slot_states_;
  std::array<std::uint32_t, kSlotStates> state_counts_{};
  std::uint32_t readahead_outstanding_ = 0;
  PendingRequests pending_;
  ServerLoadLimiter server_limiter_;
  LoadQueues queues_;
  std::uint32_t loads_in_flight_ = 0;
  std::uint32_t readahead_limit_ = 0;
  SplinterIndex readahead_next_ = 0;
  // too many splinters that were read ahead were evicted before they were requested
  bool is_readahead_disabled_ = false;
  SplinterIndex last_requested_ = 0;
  // consecutive requests for adjacent splinters, in file order
  std::uint32_t sequential_requests_ = 0;
  std::uint64_t clock_ = 0;
  std::uint64_t rereads_ = 0;
  // splinters evicted before they were consumed, since the last growth
  std::uint64_t premature_evictions_ = 0;
  std::uint64_t served_bytes_ = 0;  // of splinters that have left the window
  ClientPositions positions_;
  std::uint64_t pushed_bytes_ = 0;
  std::uint64_t wasted_bytes_ = 0;  // of splinters that have left the window
  ReaderCountEstimator readers_;
  std::uint32_t waste_ = 0;            // number of recent splinters that were evicted mostly unused
  TimePoint now_;                      // of the current call
  std::optional<TimePoint> retry_at_;  // when waiting requests may evict more slots
  bool has_growth_failed_ = false;
  bool is_waiting_for_slot_ = false;
};

}  // namespace forebay::read
