// SPDX-License-Identifier: Apache-2.0
// The policy in short: what a blocked thread needs comes first, then what somebody waits for, what
// is asked for, hints, and last eager reading. Memory is taken from splinters that were handed out
// whole; only somebody who waits may make the window grow or push out what others have not taken
// yet, and eager reading never pushes out anything.
#include "read/schedule.hpp"

#include <algorithm>

#include "base/assert.hpp"

namespace forebay::read {

namespace {

using shm::Residency;

/// A reader counts as sequential after this number of wants in file order.
constexpr std::uint32_t kForwardWants = 8;

constexpr std::uint32_t align_down(std::uint32_t value, std::uint32_t alignment) {
  return value / alignment * alignment;
}

}  // namespace

Schedule::Schedule(const Geometry& geometry, const shm::SessionBooks& books, const Limits& limits)
    : geometry_(geometry),
      books_(books),
      limits_(limits),
      lanes_(geometry, limits.striping, limits.loads_max),
      queues_(lanes_.count()),
      eager_limit_(limits.eager_first),
      readers_(limits.readers_max) {
  FOREBAY_ASSERT(limits.slots > 0);
  FOREBAY_ASSERT(limits.slots <= limits.slots_max);
  FOREBAY_ASSERT(limits.loads_max > 0);
  slots_.resize(limits.slots);
  standing_.resize(limits.slots);
}

void Schedule::want(SplinterIndex splinter, ValidBytes part, Urgency urgency, Precision precision) {
  shm::Splinter& entry = books_[splinter];
  // Somebody who picks pieces says that their neighbourhood is not wanted; somebody who reads on,
  // that it is.
  if (precision == Precision::kExact) eager_limit_ = 0;
  note_order(splinter);
  if (precision == Precision::kWhole && eager_limit_ == 0 && !is_eager_in_vain_)
    eager_limit_ = limits_.eager_first;
  if (precision == Precision::kWhole && !is_wasteful()) part = geometry_.whole(splinter);
  const auto [found, is_new] = wants_.try_emplace(splinter, Want{part, urgency});
  if (is_new) {
    note_return(entry);
    if (entry.load().residency() == Residency::kAbsent) entry.set_residency(Residency::kWanted);
    enqueue(splinter, urgency);
    return;
  }
  found->second.part = hull(found->second.part, part);
  if (urgency <= found->second.urgency) return;
  found->second.urgency = urgency;
  enqueue(splinter, urgency);
}

/// Readers that take splinters in random order push out what was read ahead. Eager reading resumes
/// behind the last want once the reader is sequential.
void Schedule::note_order(SplinterIndex splinter) {
  if (splinter == last_wanted_) return;
  forward_wants_ = splinter == last_wanted_ + 1 ? forward_wants_ + 1 : 0;
  last_wanted_ = splinter;
  if (!is_eager_in_vain_ || forward_wants_ < kForwardWants) return;
  is_eager_in_vain_ = false;
  eager_next_ = splinter + 1;
}

void Schedule::enqueue(SplinterIndex splinter, Urgency urgency) {
  queues_.push(splinter, urgency, lanes_.lane_of(splinter));
}

Schedule::Verdict Schedule::next(Load& load, TimePoint now, Urgency least) {
  now_ = now;
  needs_slot_ = false;
  retry_at_.reset();
  if (loads_under_way_ >= limits_.loads_max) return Verdict::kRest;
  survey();
  const Verdict verdict = next_wanted(load, least);
  if (verdict != Verdict::kRest || needs_slot_ || least > Urgency::kHint) return verdict;
  return next_eager(load);
}

Schedule::Verdict Schedule::next_for(SplinterIndex splinter, Load& load, TimePoint now) {
  now_ = now;
  const auto found = wants_.find(splinter);
  if (found == wants_.end()) return Verdict::kRest;
  if (under_way(splinter) || drop_if_there(found)) return Verdict::kRest;
  survey();
  return place(splinter, found->second.urgency, load);
}

Schedule::Verdict Schedule::next_wanted(Load& load, Urgency least) {
  bool somebody_waits = false;
  for (std::size_t level = kUrgencies; level-- > static_cast<std::size_t>(least);) {
    const auto urgency = static_cast<Urgency>(level);
    const auto splinter = first_wanted(urgency);
    if (!splinter) continue;
    const Verdict verdict = place(*splinter, urgency, load);
    if (verdict != Verdict::kRest) return verdict;
    needs_slot_ = needs_slot_ || urgency > Urgency::kHint;
    somebody_waits = somebody_waits || urgency >= Urgency::kAwaited;
  }
  if (somebody_waits) retry_at_ = end_of_patience();
  return Verdict::kRest;
}

std::optional<SplinterIndex> Schedule::first_wanted(Urgency urgency) {
  return queues_.first(urgency, lanes_, [&](SplinterIndex splinter) {
    const auto found = wants_.find(splinter);
    if (found == wants_.end() || found->second.urgency != urgency) return true;
    // What is loading is looked at again when it has arrived.
    return under_way(splinter) || drop_if_there(found);
  });
}

bool Schedule::drop_if_there(Wants::iterator want) {
  const shm::Splinter& entry = books_[want->first];
  if (entry.load().residency() != Residency::kReady ||
      !entry.valid().covers(aligned(want->second.part)))
    return false;
  wants_.erase(want);
  return true;
}

bool Schedule::under_way(SplinterIndex splinter) const {
  const shm::Splinter& entry = books_[splinter];
  const Residency residency = entry.load().residency();
  return residency == Residency::kLoading ||
         (residency == Residency::kReady && slots_[entry.slot()].busy);
}

Schedule::Verdict Schedule::place(SplinterIndex splinter, Urgency urgency, Load& load) {
  const Want& want = wants_.at(splinter);
  if (books_[splinter].load().residency() == Residency::kReady)
    return extend(splinter, want.part, load);
  while (const auto slot = slot_for(splinter, urgency)) {
    if (vacate(*slot)) {
      start(splinter, *slot, want.part, load);
      return Verdict::kLoad;
    }
    mark(*slot, Standing::kHeld);  // somebody pinned it since the survey
  }
  load.splinter = splinter;
  return without_slot(urgency);
}

Schedule::Verdict Schedule::extend(SplinterIndex splinter, ValidBytes part, Load& load) {
  shm::Splinter& entry = books_[splinter];
  const ValidBytes valid = entry.valid();
  const ValidBytes wanted = aligned(part);
  const std::uint32_t slot = entry.slot();
  forgive_waste();  // one part led to the next: whole splinters may have been right after all
  const bool to_the_left = wanted.first < valid.first;
  load = {.splinter = splinter,
          .slot = slot,
          .bytes = to_the_left ? ValidBytes{wanted.first, valid.first}
                               : ValidBytes{valid.last, wanted.last},
          .extends = true,
          .generation = entry.load().generation()};
  begin_load(load);
  return Verdict::kLoad;
}

Schedule::Verdict Schedule::next_eager(Load& load) {
  while (eager_next_ < geometry_.count() && was_loaded(eager_next_))
    ++eager_next_;
  if (eager_outstanding_ >= eager_limit_) return Verdict::kRest;
  const SplinterIndex splinter = first_ahead();
  if (splinter == kNobody) return Verdict::kRest;
  const std::optional<std::uint32_t> slot = vacant_slot(splinter);
  if (!slot || !vacate(*slot)) return Verdict::kRest;
  start(splinter, *slot, geometry_.whole(splinter), load);
  slots_[*slot].eager = true;
  return Verdict::kLoad;
}

/// What has been there once is not read ahead: who asked for it has had it.
bool Schedule::was_loaded(SplinterIndex splinter) const {
  const shm::Splinter::Word word = books_[splinter].load();
  return word.residency() != Residency::kAbsent || word.generation() > 0;
}

/// What to read ahead next: the first that a server has room for, but no further than that all of
/// them have been looked at.
SplinterIndex Schedule::first_ahead() const {
  const SplinterIndex left = geometry_.count() - eager_next_;
  const SplinterIndex end = eager_next_ + std::min(left, lanes_.round_splinters());
  for (SplinterIndex splinter = eager_next_; splinter < end; ++splinter) {
    if (lanes_.has_room(lanes_.lane_of(splinter)) && !was_loaded(splinter)) return splinter;
  }
  return kNobody;
}

ValidBytes Schedule::aligned(ValidBytes part) const {
  const std::uint32_t alignment = limits_.alignment_bytes;
  const auto size = static_cast<std::uint32_t>(geometry_.splinter_bytes());
  const std::uint32_t last = align_down(part.last + alignment - 1, alignment);
  return {align_down(part.first, alignment), std::min(last, size)};
}

void Schedule::start(SplinterIndex splinter, std::uint32_t slot, ValidBytes part, Load& load) {
  shm::Splinter& entry = books_[splinter];
  slots_[slot] = Slot{};
  slots_[slot].splinter = splinter;
  slots_[slot].whole = part == geometry_.whole(splinter);
  slots_[slot].used_at = clock_;
  books_.restart_count(slot);
  entry.set_slot(slot);
  entry.set_valid({});
  entry.set_residency(Residency::kLoading);
  load = {.splinter = splinter,
          .slot = slot,
          .bytes = aligned(part),
          .extends = false,
          .generation = entry.load().generation()};
  if (load.generation > 0) ++rereads_;
  mark(slot, Standing::kBusy);
  begin_load(load);
}

void Schedule::begin_load(const Load& load) {
  slots_[load.slot].busy = true;
  ++loads_under_way_;
  lanes_.begin_load(load.splinter);
}

void Schedule::end_load(const Load& load) {
  slots_[load.slot].busy = false;
  --loads_under_way_;
  lanes_.end_load(load.splinter);
}

std::uint64_t Schedule::served_bytes() const {
  std::uint64_t total = served_bytes_;
  for (std::uint32_t i = 0; i < slots(); ++i) {
    if (slots_[i].splinter != kNobody) total += books_.served_bytes(i);
  }
  return total;
}

bool Schedule::loaded(const Load& load, std::uint32_t got_bytes, std::uint32_t promised_bytes) {
  shm::Splinter& entry = books_[load.splinter];
  Slot& slot = slots_[load.slot];
  const std::uint32_t reached = load.bytes.first + got_bytes;
  const std::uint32_t promised = std::min(load.bytes.last, geometry_.whole(load.splinter).last);
  const bool complete = reached >= promised;
  ValidBytes valid = {load.bytes.first, reached};
  if (load.extends) {
    const ValidBytes before = entry.valid();
    const bool left = load.bytes.last == before.first;
    if (left) valid = complete ? ValidBytes{load.bytes.first, before.last} : before;
    if (!left) valid = {before.first, reached};
  }
  entry.set_valid(valid);
  if (!load.extends) entry.set_residency(Residency::kReady);
  end_load(load);
  slot.promised_bytes += promised_bytes;
  if (promised_bytes > 0) slot.spared_until = TimePoint::max();  // counted from the next survey on

  const auto found = wants_.find(load.splinter);
  if (found == wants_.end()) return complete;
  slot.eager = false;
  if (!complete || valid.covers(found->second.part)) {
    wants_.erase(found);
  } else {
    enqueue(load.splinter, found->second.urgency);
  }
  return complete;
}

void Schedule::failed(const Load& load) {
  end_load(load);
  wants_.erase(load.splinter);
  if (load.extends) return;
  books_[load.splinter].set_residency(Residency::kAbsent);
  slots_[load.slot] = Slot{};
}

void Schedule::forget(SplinterIndex splinter) {
  shm::Splinter& entry = books_[splinter];
  if (entry.load().residency() == Residency::kWanted) entry.set_residency(Residency::kAbsent);
  wants_.erase(splinter);
}

void Schedule::clear() {
  while (!wants_.empty())
    forget(wants_.begin()->first);
  queues_.clear();
  eager_next_ = geometry_.count();
}

}  // namespace forebay::read
