// SPDX-License-Identifier: Apache-2.0
// The policy: blocked threads come first, then requests with waiters, other requests, hints, and
// readahead last. Memory is taken from splinters that were served completely. Only a waiting
// request may grow the window or evict unserved splinters, and readahead never evicts unconsumed
// ones.
#include "read/load_scheduler.hpp"

#include <algorithm>

#include "base/assert.hpp"

namespace forebay::read {

namespace {

using shm::Residency;

/// A reader counts as sequential after this number of requests in file order.
constexpr std::uint32_t kSequentialRequestsMin = 8;

constexpr std::uint32_t align_down(std::uint32_t value, std::uint32_t alignment) {
  return value / alignment * alignment;
}

}  // namespace

LoadScheduler::LoadScheduler(const Geometry& geometry,
                             const shm::SessionControlBlock& control_block,
                             const Limits& limits)
    : geometry_(geometry),
      control_block_(control_block),
      limits_(limits),
      server_limiter_(geometry, limits.striping, limits.loads_max),
      queues_(server_limiter_.count()),
      readahead_limit_(limits.readahead_initial),
      readers_(limits.readers_max) {
  FOREBAY_ASSERT(limits.slots > 0);
  FOREBAY_ASSERT(limits.slots <= limits.slots_max);
  FOREBAY_ASSERT(limits.loads_max > 0);
  slots_.resize(limits.slots);
  slot_states_.resize(limits.slots);
}

void LoadScheduler::add_request(SplinterIndex splinter,
                                SplinterPart part,
                                LoadPriority priority,
                                LoadGranularity granularity,
                                PredictedUse use) {
  shm::ResidencyEntry& entry = control_block_[splinter];
  // An exact request shows that the bytes around it are not needed; a whole splinter shows that
  // they are.
  if (granularity == LoadGranularity::kExact) readahead_limit_ = 0;
  record_access_order(splinter);
  if (granularity == LoadGranularity::kSplinter && readahead_limit_ == 0 && !is_readahead_disabled_)
    readahead_limit_ = limits_.readahead_initial;
  if (granularity == LoadGranularity::kSplinter && !is_wasteful())
    part = geometry_.full_part(splinter);
  const auto [found, is_new] = pending_.try_emplace(splinter, PendingRequest{part, priority, {}});
  found->second.uses.add(use, positions_);
  if (is_new) {
    record_reload(entry);
    if (entry.load().residency() == Residency::kAbsent) entry.set_residency(Residency::kRequested);
    enqueue(splinter, priority);
    return;
  }
  found->second.part = hull(found->second.part, part);
  if (priority <= found->second.priority) return;
  found->second.priority = priority;
  enqueue(splinter, priority);
}

/// Requests in random order evict splinters that were read ahead. Readahead resumes behind the last
/// request once the reader is sequential.
void LoadScheduler::record_access_order(SplinterIndex splinter) {
  if (splinter == last_requested_) return;
  sequential_requests_ = splinter == last_requested_ + 1 ? sequential_requests_ + 1 : 0;
  last_requested_ = splinter;
  if (!is_readahead_disabled_ || sequential_requests_ < kSequentialRequestsMin) return;
  is_readahead_disabled_ = false;
  readahead_next_ = splinter + 1;
}

void LoadScheduler::enqueue(SplinterIndex splinter, LoadPriority priority) {
  queues_.push(splinter, priority, server_limiter_.server_of(splinter));
}

LoadScheduler::Decision LoadScheduler::next(Load& load, TimePoint now, LoadPriority least) {
  now_ = now;
  is_waiting_for_slot_ = false;
  retry_at_.reset();
  if (loads_in_flight_ >= limits_.loads_max) return Decision::kIdle;
  update_slot_states();
  const Decision decision = next_demand(load, least);
  if (decision != Decision::kIdle || is_waiting_for_slot_ || least > LoadPriority::kHint)
    return decision;
  return next_readahead(load);
}

LoadScheduler::Decision LoadScheduler::next_for_splinter(SplinterIndex splinter,
                                                         Load& load,
                                                         TimePoint now) {
  now_ = now;
  const auto found = pending_.find(splinter);
  if (found == pending_.end()) return Decision::kIdle;
  if (is_loading(splinter) || erase_if_present(found)) return Decision::kIdle;
  update_slot_states();
  return assign_slot(splinter, found->second.priority, load);
}

LoadScheduler::Decision LoadScheduler::next_demand(Load& load, LoadPriority least) {
  bool has_waiter = false;
  for (std::size_t level = kLoadPriorities; level-- > static_cast<std::size_t>(least);) {
    const auto priority = static_cast<LoadPriority>(level);
    if (priority == LoadPriority::kHint && loads_in_flight_ >= limits_.hint_loads_max) continue;
    const auto splinter = next_request(priority);
    if (!splinter) continue;
    const Decision decision = assign_slot(*splinter, priority, load);
    if (decision != Decision::kIdle) return decision;
    is_waiting_for_slot_ = is_waiting_for_slot_ || priority > LoadPriority::kHint;
    has_waiter = has_waiter || priority >= LoadPriority::kAwaited;
  }
  if (has_waiter) retry_at_ = next_reservation_expiry();
  return Decision::kIdle;
}

std::optional<SplinterIndex> LoadScheduler::next_request(LoadPriority priority) {
  return queues_.first(priority, server_limiter_, [&](SplinterIndex splinter) {
    const auto found = pending_.find(splinter);
    if (found == pending_.end() || found->second.priority != priority) return true;
    // A splinter that is loading is checked again when its load has finished.
    return is_loading(splinter) || erase_if_present(found);
  });
}

bool LoadScheduler::erase_if_present(PendingRequests::iterator request) {
  const shm::ResidencyEntry& entry = control_block_[request->first];
  if (entry.load().residency() != Residency::kReady ||
      !entry.valid().covers(align(request->second.part)))
    return false;
  pending_.erase(request);
  return true;
}

bool LoadScheduler::is_loading(SplinterIndex splinter) const {
  const shm::ResidencyEntry& entry = control_block_[splinter];
  const Residency residency = entry.load().residency();
  return residency == Residency::kChanging ||
         (residency == Residency::kReady && slots_[entry.slot()].is_loading);
}

LoadScheduler::Decision LoadScheduler::assign_slot(SplinterIndex splinter,
                                                   LoadPriority priority,
                                                   Load& load) {
  const PendingRequest& request = pending_.at(splinter);
  if (control_block_[splinter].load().residency() == Residency::kReady) {
    const Decision decision = extend(splinter, request.part, load);
    if (priority == LoadPriority::kHint) pushed_bytes_ += load.bytes.size();
    return decision;
  }
  while (const auto slot = slot_for(splinter, priority)) {
    if (evict(*slot)) {
      start_load(splinter, *slot, request.part, load);
      slots_[*slot].uses = request.uses;
      slots_[*slot].is_pushed = priority == LoadPriority::kHint;
      if (priority == LoadPriority::kHint) pushed_bytes_ += load.bytes.size();
      return Decision::kLoad;
    }
    set_slot_state(*slot, SlotState::kPinned);  // pinned since update_slot_states()
  }
  load.splinter = splinter;
  return decide_without_slot(priority);
}

LoadScheduler::Decision LoadScheduler::extend(SplinterIndex splinter,
                                              SplinterPart part,
                                              Load& load) {
  shm::ResidencyEntry& entry = control_block_[splinter];
  const SplinterPart valid = entry.valid();
  const SplinterPart wanted = align(part);
  const std::uint32_t slot = entry.slot();
  decrement_waste();  // requests need several parts of a splinter: whole loads may pay
  const bool extends_front = wanted.first < valid.first;
  load = {.splinter = splinter,
          .slot = slot,
          .bytes = extends_front ? SplinterPart{wanted.first, valid.first}
                                 : SplinterPart{valid.end, wanted.end},
          .is_extension = true,
          .generation = entry.load().generation()};
  count_load_begin(load);
  return Decision::kLoad;
}

LoadScheduler::Decision LoadScheduler::next_readahead(Load& load) {
  while (readahead_next_ < geometry_.count() && needs_no_readahead(readahead_next_))
    ++readahead_next_;
  if (readahead_outstanding_ >= readahead_limit_) return Decision::kIdle;
  const SplinterIndex splinter = next_readahead_splinter();
  if (splinter == kNoSplinter) return Decision::kIdle;
  const std::optional<std::uint32_t> slot = reclaimable_slot(splinter);
  if (!slot || !evict(*slot)) return Decision::kIdle;
  start_load(splinter, *slot, geometry_.full_part(splinter), load);
  slots_[*slot].is_readahead = true;
  return Decision::kLoad;
}

/// True if the splinter was loaded, is loading, or is requested.
bool LoadScheduler::needs_no_readahead(SplinterIndex splinter) const {
  const shm::ResidencyEntry::Word word = control_block_[splinter].load();
  return word.residency() != Residency::kAbsent || word.generation() > 0;
}

/// The next splinter to read ahead: the first one whose server has room, within one stripe round,
/// which covers all servers.
SplinterIndex LoadScheduler::next_readahead_splinter() const {
  const SplinterIndex left = geometry_.count() - readahead_next_;
  const SplinterIndex end =
      readahead_next_ + std::min(left, server_limiter_.full_stripe_splinters());
  for (SplinterIndex splinter = readahead_next_; splinter < end; ++splinter) {
    if (server_limiter_.has_room(server_limiter_.server_of(splinter)) &&
        !needs_no_readahead(splinter))
      return splinter;
  }
  return kNoSplinter;
}

SplinterPart LoadScheduler::align(SplinterPart part) const {
  const std::uint32_t alignment = limits_.alignment_bytes;
  const auto size = static_cast<std::uint32_t>(geometry_.splinter_bytes());
  const std::uint32_t end = align_down(part.end + alignment - 1, alignment);
  return {align_down(part.first, alignment), std::min(end, size)};
}

void LoadScheduler::start_load(SplinterIndex splinter,
                               std::uint32_t slot,
                               SplinterPart part,
                               Load& load) {
  shm::ResidencyEntry& entry = control_block_[splinter];
  slots_[slot] = Slot{};
  slots_[slot].splinter = splinter;
  slots_[slot].is_fully_loaded = part == geometry_.full_part(splinter);
  slots_[slot].last_used = clock_;
  control_block_.reset_served_bytes(slot);
  entry.set_slot(slot);
  entry.set_valid({});
  entry.set_residency(Residency::kChanging);
  load = {.splinter = splinter,
          .slot = slot,
          .bytes = align(part),
          .is_extension = false,
          .generation = entry.load().generation()};
  if (load.generation > 0) ++rereads_;
  set_slot_state(slot, SlotState::kLoading);
  count_load_begin(load);
}

void LoadScheduler::count_load_begin(const Load& load) {
  slots_[load.slot].is_loading = true;
  ++loads_in_flight_;
  server_limiter_.count_load_begin(load.splinter);
}

void LoadScheduler::count_load_end(const Load& load) {
  slots_[load.slot].is_loading = false;
  --loads_in_flight_;
  server_limiter_.count_load_end(load.splinter);
}

std::uint64_t LoadScheduler::served_bytes() const {
  std::uint64_t total = served_bytes_;
  for (std::uint32_t i = 0; i < slots(); ++i) {
    if (slots_[i].splinter != kNoSplinter) total += control_block_.served_bytes(i);
  }
  return total;
}

bool LoadScheduler::complete_load(const Load& load,
                                  std::uint32_t got_bytes,
                                  std::uint32_t reserved_bytes) {
  shm::ResidencyEntry& entry = control_block_[load.splinter];
  Slot& slot = slots_[load.slot];
  const std::uint32_t reached = load.bytes.first + got_bytes;
  const std::uint32_t requested_end =
      std::min(load.bytes.end, geometry_.full_part(load.splinter).end);
  const bool complete = reached >= requested_end;
  SplinterPart valid = {load.bytes.first, reached};
  if (load.is_extension) {
    const SplinterPart before = entry.valid();
    const bool extends_front = load.bytes.end == before.first;
    if (extends_front) valid = complete ? SplinterPart{load.bytes.first, before.end} : before;
    if (!extends_front) valid = {before.first, reached};
  }
  entry.set_valid(valid);
  if (!load.is_extension) entry.set_residency(Residency::kReady);
  count_load_end(load);
  slot.reserved_bytes += reserved_bytes;
  if (reserved_bytes > 0)
    slot.reserved_until = TimePoint::max();  // set by the next update_slot_states()

  const auto found = pending_.find(load.splinter);
  if (found == pending_.end()) return complete;
  slot.is_readahead = false;
  if (!complete || valid.covers(found->second.part)) {
    pending_.erase(found);
  } else {
    enqueue(load.splinter, found->second.priority);
  }
  return complete;
}

void LoadScheduler::fail_load(const Load& load) {
  count_load_end(load);
  pending_.erase(load.splinter);
  if (load.is_extension) return;
  control_block_[load.splinter].set_residency(Residency::kAbsent);
  slots_[load.slot] = Slot{};
}

void LoadScheduler::cancel_request(SplinterIndex splinter) {
  shm::ResidencyEntry& entry = control_block_[splinter];
  if (entry.load().residency() == Residency::kRequested) entry.set_residency(Residency::kAbsent);
  pending_.erase(splinter);
}

void LoadScheduler::cancel_hint(SplinterIndex splinter, std::uint32_t client) {
  if (is_loading(splinter)) return;
  const shm::ResidencyEntry& entry = control_block_[splinter];
  if (entry.load().residency() == Residency::kReady) slots_[entry.slot()].uses.remove(client);
  const auto found = pending_.find(splinter);
  if (found == pending_.end() || !found->second.uses.includes(client)) return;
  found->second.uses.remove(client);
  const bool is_hint = found->second.priority == LoadPriority::kHint;
  if (is_hint && found->second.uses.empty()) cancel_request(splinter);
}

LoadScheduler::Invalidation LoadScheduler::invalidate(SplinterIndex splinter) {
  shm::ResidencyEntry& entry = control_block_[splinter];
  const Residency residency = entry.load().residency();
  if (residency == Residency::kChanging) return Invalidation::kLoading;
  if (residency != Residency::kReady) return Invalidation::kDone;
  if (!slots_[entry.slot()].is_loading && evict(entry.slot())) return Invalidation::kDone;
  entry.set_valid({});
  pending_.erase(splinter);  // a load into the slot would change bytes that are pinned
  return Invalidation::kPinned;
}

void LoadScheduler::expect_use(SplinterIndex splinter, PredictedUse use) {
  slots_[control_block_[splinter].slot()].uses.add(use, positions_);
}

void LoadScheduler::cancel_all() {
  while (!pending_.empty())
    cancel_request(pending_.begin()->first);
  queues_.clear();
  readahead_next_ = geometry_.count();
}

}  // namespace forebay::read
