// SPDX-License-Identifier: Apache-2.0
// The memory policy of LoadScheduler: the state of each slot, the slot that a splinter gets, the
// slots that a priority may evict, and the growth of the window.
#include <algorithm>

#include "base/assert.hpp"
#include "read/load_scheduler.hpp"

namespace forebay::read {

namespace {

using shm::Residency;

/// Number of splinters evicted mostly unused, after which a request loads only its own bytes of a
/// splinter.
constexpr std::uint32_t kWasteLimit = 8;
constexpr std::uint32_t kWasteMax = 16;

/// How long waiting requests spare bytes that signaled waiters do not take. Evicting them costs
/// those waiters only a second read.
constexpr std::chrono::milliseconds kReservationTimeout{5};

}  // namespace

std::optional<TimePoint> LoadScheduler::next_reservation_expiry() const {
  std::optional<TimePoint> first;
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    if (slot_states_[i] != SlotState::kReserved) continue;
    if (!first || slots_[i].reserved_until < *first) first = slots_[i].reserved_until;
  }
  return first;
}

LoadScheduler::SlotState LoadScheduler::update_slot_state(std::uint32_t index) {
  Slot& slot = slots_[index];
  if (slot.is_loading) return SlotState::kLoading;
  if (slot.splinter == kNoSplinter) return SlotState::kFree;
  const std::uint64_t served = control_block_.served_bytes(index);
  if (served != slot.last_served_bytes) {
    slot.last_served_bytes = served;
    slot.is_used = true;
    slot.last_used = clock_;
    slot.reserved_until = now_ + kReservationTimeout;
    if (slot.is_readahead) readahead_limit_ = std::min(readahead_limit_ * 2, limits_.readahead_max);
    slot.is_readahead = false;
  }
  if (control_block_.ref_counts().pins(index) > 0) return SlotState::kPinned;
  const bool once = limits_.eviction == EvictionPolicy::kReadOnce;
  const std::uint64_t enough =
      std::uint64_t{bytes_per_reader(control_block_[slot.splinter])} * reader_count();
  if (once && served >= enough) return SlotState::kConsumed;
  if (slot.reserved_until == TimePoint::max()) slot.reserved_until = now_ + kReservationTimeout;
  const bool has_reserved_bytes_left = served < slot.reserved_bytes;
  if (has_reserved_bytes_left && now_ < slot.reserved_until && (once || !slot.is_used))
    return SlotState::kReserved;
  if (slot.is_used) return SlotState::kPartlyServed;
  return slot.is_readahead ? SlotState::kReadAhead : SlotState::kUnserved;
}

void LoadScheduler::update_slot_states() {
  ++clock_;
  state_counts_ = {};
  readahead_outstanding_ = 0;
  for (std::uint32_t i = 0; i < slots(); ++i) {
    slot_states_[i] = update_slot_state(i);
    ++state_counts_.at(static_cast<std::size_t>(slot_states_[i]));
    if (slots_[i].is_readahead) ++readahead_outstanding_;
    // With kLru, served bytes count only since the last update.
    if (limits_.eviction == EvictionPolicy::kLru && slot_states_[i] == SlotState::kPartlyServed) {
      served_bytes_ += control_block_.reset_served_bytes(i);
      slots_[i].last_served_bytes = 0;
    }
  }
}

std::optional<std::uint32_t> LoadScheduler::slot_for(SplinterIndex splinter,
                                                     LoadPriority priority) const {
  const auto vacant = reclaimable_slot(splinter);
  if (vacant) return vacant;
  return limits_.is_push_cache ? push_cache_victim(pending_.at(splinter)) : victim(priority);
}

void LoadScheduler::set_slot_state(std::uint32_t slot, SlotState state) {
  --state_counts_.at(static_cast<std::size_t>(slot_states_[slot]));
  slot_states_[slot] = state;
  ++state_counts_.at(static_cast<std::size_t>(state));
}

std::optional<std::uint32_t> LoadScheduler::reclaimable_slot(SplinterIndex splinter) const {
  if (count(SlotState::kFree) + count(SlotState::kConsumed) == 0) return std::nullopt;
  const auto neighbor = neighbor_slot(splinter);
  return neighbor ? neighbor : largest_gap_slot();
}

std::optional<std::uint32_t> LoadScheduler::neighbor_slot(SplinterIndex splinter) const {
  const auto in_window = [&](SplinterIndex index) {
    return slots_[control_block_[index].slot()].splinter == index &&
           control_block_[index].load().residency() >= Residency::kChanging;
  };
  const auto slot_count = static_cast<std::uint32_t>(slots_.size());
  if (splinter > 0 && in_window(splinter - 1)) {
    const std::uint32_t after = (control_block_[splinter - 1].slot() + 1) % slot_count;
    if (is_reclaimable(after)) return after;
  }
  if (splinter + 1 < geometry_.count() && in_window(splinter + 1)) {
    const std::uint32_t before =
        (control_block_[splinter + 1].slot() + slot_count - 1) % slot_count;
    if (is_reclaimable(before)) return before;
  }
  return std::nullopt;
}

std::optional<std::uint32_t> LoadScheduler::largest_gap_slot() const {
  const std::size_t slot_count = slots_.size();
  std::size_t best_start = 0;
  std::size_t best_length = 0;
  std::size_t length = 0;
  for (std::size_t i = 0; i < 2 * slot_count && best_length < slot_count; ++i) {
    length = is_reclaimable(static_cast<std::uint32_t>(i % slot_count)) ? length + 1 : 0;
    if (length <= best_length) continue;
    best_length = length;
    best_start = i + 1 - length;
  }
  if (best_length == 0) return std::nullopt;
  // The middle of the gap lets both the stream before it and this one continue without a break.
  const std::size_t lead = best_length == slot_count ? 0 : best_length / 2;
  return static_cast<std::uint32_t>((best_start + lead) % slot_count);
}

std::optional<std::uint32_t> LoadScheduler::least_recently_used(SlotState state) const {
  std::optional<std::uint32_t> found;
  for (std::uint32_t i = 0; i < slots_.size(); ++i) {
    if (slot_states_[i] == state && (!found || slots_[i].last_used < slots_[*found].last_used))
      found = i;
  }
  return found;
}

std::optional<std::uint32_t> LoadScheduler::most_recently_used(SlotState state) const {
  std::optional<std::uint32_t> found;
  for (std::uint32_t i = 0; i < slots_.size(); ++i) {
    if (slot_states_[i] == state && (!found || slots_[i].last_used >= slots_[*found].last_used))
      found = i;
  }
  return found;
}

std::optional<std::uint32_t> LoadScheduler::victim(LoadPriority priority) const {
  if (priority == LoadPriority::kHint) return std::nullopt;
  // The splinter read ahead last will be requested last.
  if (const auto prefetched = most_recently_used(SlotState::kReadAhead)) return prefetched;
  if (should_grow(priority)) return std::nullopt;
  if (const auto partial = evictable_partly_served(priority)) return partial;
  if (priority < LoadPriority::kAwaited || count(SlotState::kLoading) > 0) return std::nullopt;
  if (const auto unserved = least_recently_used(SlotState::kUnserved)) return unserved;
  return priority == LoadPriority::kBlocked ? least_recently_used(SlotState::kReserved)
                                            : std::nullopt;
}

/// The request of a task is needed at once, so it may evict any of these slots.
std::optional<std::uint32_t> LoadScheduler::push_cache_victim(const PendingRequest& request) const {
  std::optional<std::uint32_t> found;
  for (std::uint32_t i = 0; i < slots(); ++i) {
    const SlotState state = slot_states_[i];
    if (state < SlotState::kReadAhead || state > SlotState::kUnserved) continue;
    const bool is_farther =
        !found || next_use(i) > next_use(*found) ||
        (next_use(i) == next_use(*found) && slots_[i].last_used < slots_[*found].last_used);
    if (is_farther) found = i;
  }
  if (request.priority == LoadPriority::kHint) {
    const bool is_useful = found && (next_use(*found) == kUseUnknown ||
                                     next_use(*found) > request.uses.distance(positions_));
    return is_useful ? found : std::nullopt;
  }
  if (found || request.priority < LoadPriority::kBlocked) return found;
  return least_recently_used(SlotState::kReserved);
}

/// Accesses until one uses the slot. A splinter that a task has requested and not taken yet is used
/// by the next access; a predicted use in the past counts as unknown.
std::uint64_t LoadScheduler::next_use(std::uint32_t slot) const {
  const Slot& held = slots_[slot];
  if (!held.is_pushed && !held.is_used) return 0;
  return held.uses.distance(positions_);
}

bool LoadScheduler::is_unused_push(std::uint32_t slot) const {
  const Slot& held = slots_[slot];
  return held.is_pushed && !held.is_used && control_block_.served_bytes(slot) == 0;
}

std::uint64_t LoadScheduler::wasted_bytes() const {
  std::uint64_t bytes = wasted_bytes_;
  for (std::uint32_t i = 0; i < slots(); ++i) {
    if (is_unused_push(i)) bytes += control_block_[slots_[i].splinter].valid().size();
  }
  return bytes;
}

std::optional<std::uint32_t> LoadScheduler::evictable_partly_served(LoadPriority priority) const {
  const auto partial = least_recently_used(SlotState::kPartlyServed);
  if (!partial || priority >= LoadPriority::kAwaited) return partial;
  // A request without a waiter spares slots that were used recently.
  return clock_ - slots_[*partial].last_used > 2 * slots_.size() ? partial : std::nullopt;
}

/// A larger window no longer fits in the processor's cache. If reading again is a copy, leaving the
/// cache costs more than an occasional second read.
bool LoadScheduler::is_growth_worthwhile() const {
  if (count(SlotState::kPinned) == slots_.size()) return true;
  return premature_evictions_ >= limits_.evictions_before_growth * slots_.size();
}

bool LoadScheduler::should_grow(LoadPriority priority) const {
  if (priority < LoadPriority::kAwaited || has_growth_failed_ || slots_.size() >= limits_.slots_max)
    return false;
  // Loads in flight, and slots whose waiters are signaled, will make room without more memory.
  if (count(SlotState::kLoading) > 0 || !is_growth_worthwhile()) return false;
  return priority == LoadPriority::kBlocked || count(SlotState::kReserved) == 0;
}

LoadScheduler::Decision LoadScheduler::decide_without_slot(LoadPriority priority) const {
  if (should_grow(priority)) return Decision::kGrow;
  const bool all_held = count(SlotState::kPinned) == slots_.size();
  return all_held && priority >= LoadPriority::kAwaited ? Decision::kNoMemory : Decision::kIdle;
}

/// Eviction of a consumed splinter clears valid(), other evictions leave it. So an absent splinter
/// with an empty valid() was consumed.
void LoadScheduler::record_reload(const shm::ResidencyEntry& entry) {
  const shm::ResidencyEntry::Word word = entry.load();
  const bool is_gone = word.residency() == Residency::kAbsent && word.generation() > 0;
  if (is_gone && entry.valid().size() == 0) readers_.record_reload();
}

void LoadScheduler::record_eviction(std::uint32_t slot, std::uint64_t served_bytes) {
  shm::ResidencyEntry& entry = control_block_[slots_[slot].splinter];
  const std::uint64_t kept_for = std::uint64_t{bytes_per_reader(entry)} * (reader_count() - 1);
  if (slot_states_[slot] == SlotState::kConsumed) {
    entry.set_valid({});
  } else if (served_bytes >= kept_for) {
    readers_.record_unused_retention();
  }
}

/// Counts a splinter that was read ahead and is evicted before it was requested.
void LoadScheduler::record_readahead_eviction() {
  readahead_limit_ /= 2;
  if (readahead_limit_ == 0) is_readahead_disabled_ = true;
}

bool LoadScheduler::is_wasteful() const { return waste_ >= kWasteLimit; }

void LoadScheduler::increment_waste() { waste_ = std::min(waste_ + 1, kWasteMax); }

void LoadScheduler::decrement_waste() {
  if (waste_ > 0) --waste_;
}

bool LoadScheduler::evict(std::uint32_t slot) {
  Slot& taken = slots_[slot];
  if (taken.splinter == kNoSplinter) return true;
  const bool was_requested = !taken.is_readahead;
  const bool is_wasted = is_unused_push(slot);
  // Half counts as unused: if tasks take half splinters in random order, the second half is usually
  // requested too late.
  const bool mostly_unused =
      slot_states_[slot] != SlotState::kConsumed &&
      taken.last_served_bytes <= control_block_[taken.splinter].valid().size() / 2;
  if (!control_block_.ref_counts().try_evict(control_block_[taken.splinter])) return false;
  const std::uint64_t served = control_block_.served_bytes(slot);
  served_bytes_ += served;
  if (is_wasted) wasted_bytes_ += control_block_[taken.splinter].valid().size();
  record_eviction(slot, served);
  if (slot_states_[slot] != SlotState::kConsumed) ++premature_evictions_;
  if (slot_states_[slot] == SlotState::kReadAhead) record_readahead_eviction();
  if (was_requested && taken.is_fully_loaded && taken.is_used) {
    if (mostly_unused) {
      increment_waste();
    } else {
      decrement_waste();
    }
  }
  const SplinterIndex evicted = taken.splinter;
  taken = Slot{};
  // A request for more of its bytes may be pending: it starts again.
  if (pending_.contains(evicted)) control_block_[evicted].set_residency(Residency::kRequested);
  return true;
}

bool LoadScheduler::evict_all() {
  bool all_evicted = true;
  for (std::uint32_t i = 0; i < slots_.size(); ++i) {
    const bool is_evicted = !slots_[i].is_loading && evict(i);
    all_evicted = all_evicted && is_evicted;
  }
  return all_evicted;
}

void LoadScheduler::set_slot_count(std::uint32_t slots) {
  has_growth_failed_ = slots <= slots_.size();
  if (has_growth_failed_) return;
  slots_.resize(slots);
  slot_states_.resize(slots);
  premature_evictions_ = 0;
}

}  // namespace forebay::read
