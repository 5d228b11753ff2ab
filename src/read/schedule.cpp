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

/// How many splinters must have been pushed out mostly unused before whole splinters are no longer
/// read for parts.
constexpr std::uint32_t kWasteLimit = 8;
constexpr std::uint32_t kWasteMemory = 16;

/// How long those who wait leave alone what others were told of but do not take. It costs these a
/// second read, no more.
constexpr std::chrono::milliseconds kPatience{5};

constexpr std::uint32_t align_down(std::uint32_t value, std::uint32_t alignment) {
  return value / alignment * alignment;
}

}  // namespace

Schedule::Schedule(const Geometry& geometry, const shm::SessionBooks& books, const Limits& limits)
    : geometry_(geometry),
      books_(books),
      limits_(limits),
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
  if (precision == Precision::kWhole && eager_limit_ == 0) eager_limit_ = limits_.eager_first;
  const bool wasteful = waste_ >= kWasteLimit;
  if (precision == Precision::kWhole && !wasteful) part = geometry_.whole(splinter);
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

void Schedule::enqueue(SplinterIndex splinter, Urgency urgency) {
  queues_.at(static_cast<std::size_t>(urgency)).push_back(splinter);
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
    const SplinterIndex splinter = first_wanted(urgency);
    if (splinter == kNobody) continue;
    const Verdict verdict = place(splinter, urgency, load);
    if (verdict != Verdict::kRest) return verdict;
    needs_slot_ = needs_slot_ || urgency > Urgency::kHint;
    somebody_waits = somebody_waits || urgency >= Urgency::kAwaited;
  }
  if (somebody_waits) retry_at_ = end_of_patience();
  return Verdict::kRest;
}

std::optional<TimePoint> Schedule::end_of_patience() const {
  std::optional<TimePoint> first;
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    if (standing_[i] != Standing::kPromised) continue;
    if (!first || slots_[i].spared_until < *first) first = slots_[i].spared_until;
  }
  return first;
}

SplinterIndex Schedule::first_wanted(Urgency urgency) {
  auto& queue = queues_.at(static_cast<std::size_t>(urgency));
  while (!queue.empty()) {
    const SplinterIndex splinter = queue.front();
    const auto found = wants_.find(splinter);
    const bool stale = found == wants_.end() || found->second.urgency != urgency;
    // What is loading is looked at again when it has arrived.
    if (!stale && !under_way(splinter) && !drop_if_there(found)) return splinter;
    queue.pop_front();
  }
  return kNobody;
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

Schedule::Standing Schedule::survey_slot(std::uint32_t index) {
  Slot& slot = slots_[index];
  if (slot.busy) return Standing::kBusy;
  if (slot.splinter == kNobody) return Standing::kFree;
  const std::uint64_t served = books_.served_bytes(index);
  if (served != slot.served_seen) {
    slot.served_seen = served;
    slot.used = true;
    slot.used_at = clock_;
    slot.spared_until = now_ + kPatience;
    if (slot.eager) eager_limit_ = std::min(eager_limit_ * 2, limits_.eager_max);
    slot.eager = false;
  }
  if (books_.ledger().pins(index) > 0) return Standing::kHeld;
  const bool once = limits_.retirement == Retirement::kOnce;
  const std::uint64_t enough = std::uint64_t{retires_at(books_[slot.splinter])} * readers();
  if (once && served >= enough) return Standing::kRetired;
  if (slot.spared_until == TimePoint::max()) slot.spared_until = now_ + kPatience;
  const bool untaken = served < slot.promised_bytes;
  if (untaken && now_ < slot.spared_until && (once || !slot.used)) return Standing::kPromised;
  if (slot.used) return Standing::kPartial;
  return slot.eager ? Standing::kUnasked : Standing::kUntaken;
}

void Schedule::survey() {
  ++clock_;
  counts_ = {};
  eager_outstanding_ = 0;
  for (std::uint32_t i = 0; i < slots(); ++i) {
    standing_[i] = survey_slot(i);
    ++counts_.at(static_cast<std::size_t>(standing_[i]));
    if (slots_[i].eager) ++eager_outstanding_;
    // In a cache "handed out" is about the last survey only.
    if (limits_.retirement == Retirement::kCache && standing_[i] == Standing::kPartial) {
      served_bytes_ += books_.restart_count(i);
      slots_[i].served_seen = 0;
    }
  }
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

std::optional<std::uint32_t> Schedule::slot_for(SplinterIndex splinter, Urgency urgency) const {
  const auto vacant = vacant_slot(splinter);
  return vacant ? vacant : victim(urgency);
}

void Schedule::mark(std::uint32_t slot, Standing standing) {
  --counts_.at(static_cast<std::size_t>(standing_[slot]));
  standing_[slot] = standing;
  ++counts_.at(static_cast<std::size_t>(standing));
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
  slots_[slot].busy = true;
  ++loads_under_way_;
  return Verdict::kLoad;
}

Schedule::Verdict Schedule::next_eager(Load& load) {
  if (eager_outstanding_ >= eager_limit_) return Verdict::kRest;
  const SplinterIndex count = geometry_.count();
  // What has been there once is not read ahead: who asked for it has had it.
  const auto was_loaded = [this](SplinterIndex splinter) {
    const shm::Splinter::Word word = books_[splinter].load();
    return word.residency() != Residency::kAbsent || word.generation() > 0;
  };
  while (eager_next_ < count && was_loaded(eager_next_))
    ++eager_next_;
  if (eager_next_ >= count) return Verdict::kRest;
  const std::optional<std::uint32_t> slot = vacant_slot(eager_next_);
  if (!slot || !vacate(*slot)) return Verdict::kRest;
  start(eager_next_, *slot, geometry_.whole(eager_next_), load);
  slots_[*slot].eager = true;
  ++eager_next_;
  return Verdict::kLoad;
}

std::optional<std::uint32_t> Schedule::vacant_slot(SplinterIndex splinter) const {
  if (count(Standing::kFree) + count(Standing::kRetired) == 0) return std::nullopt;
  const auto neighbour = neighbour_slot(splinter);
  return neighbour ? neighbour : roomiest_slot();
}

std::optional<std::uint32_t> Schedule::neighbour_slot(SplinterIndex splinter) const {
  const auto in_window = [&](SplinterIndex index) {
    return slots_[books_[index].slot()].splinter == index &&
           books_[index].load().residency() >= Residency::kLoading;
  };
  const auto ring = static_cast<std::uint32_t>(slots_.size());
  if (splinter > 0 && in_window(splinter - 1)) {
    const std::uint32_t after = (books_[splinter - 1].slot() + 1) % ring;
    if (vacant(after)) return after;
  }
  if (splinter + 1 < geometry_.count() && in_window(splinter + 1)) {
    const std::uint32_t before = (books_[splinter + 1].slot() + ring - 1) % ring;
    if (vacant(before)) return before;
  }
  return std::nullopt;
}

std::optional<std::uint32_t> Schedule::roomiest_slot() const {
  const std::size_t ring = slots_.size();
  std::size_t best_start = 0;
  std::size_t best_length = 0;
  std::size_t length = 0;
  for (std::size_t i = 0; i < 2 * ring && best_length < ring; ++i) {
    length = vacant(static_cast<std::uint32_t>(i % ring)) ? length + 1 : 0;
    if (length <= best_length) continue;
    best_length = length;
    best_start = i + 1 - length;
  }
  if (best_length == 0) return std::nullopt;
  // In the middle of the gap, so that the stream before it can go on without a break, and so can
  // this one.
  const std::size_t lead = best_length == ring ? 0 : best_length / 2;
  return static_cast<std::uint32_t>((best_start + lead) % ring);
}

std::optional<std::uint32_t> Schedule::oldest(Standing standing) const {
  std::optional<std::uint32_t> found;
  for (std::uint32_t i = 0; i < slots_.size(); ++i) {
    if (standing_[i] == standing && (!found || slots_[i].used_at < slots_[*found].used_at))
      found = i;
  }
  return found;
}

std::optional<std::uint32_t> Schedule::newest(Standing standing) const {
  std::optional<std::uint32_t> found;
  for (std::uint32_t i = 0; i < slots_.size(); ++i) {
    if (standing_[i] == standing && (!found || slots_[i].used_at >= slots_[*found].used_at))
      found = i;
  }
  return found;
}

std::optional<std::uint32_t> Schedule::victim(Urgency urgency) const {
  if (urgency == Urgency::kHint) return std::nullopt;
  // What was read ahead last is wanted last.
  if (const auto unasked = newest(Standing::kUnasked)) return unasked;
  if (growth_helps(urgency)) return std::nullopt;
  if (const auto partial = oldest_partial(urgency)) return partial;
  if (urgency < Urgency::kAwaited || count(Standing::kBusy) > 0) return std::nullopt;
  if (const auto untaken = oldest(Standing::kUntaken)) return untaken;
  return urgency == Urgency::kBlocked ? oldest(Standing::kPromised) : std::nullopt;
}

std::optional<std::uint32_t> Schedule::oldest_partial(Urgency urgency) const {
  const auto partial = oldest(Standing::kPartial);
  if (!partial || urgency >= Urgency::kAwaited) return partial;
  // Who merely asks spares what somebody may be in the middle of.
  return clock_ - slots_[*partial].used_at > 2 * slots_.size() ? partial : std::nullopt;
}

/// A larger window leaves the processor's cache: where reading again is mere copying, that is
/// dearer than doing so now and then.
bool Schedule::growth_pays() const {
  if (count(Standing::kHeld) == slots_.size()) return true;
  return losses_ >= limits_.losses_before_growth * slots_.size();
}

bool Schedule::growth_helps(Urgency urgency) const {
  if (urgency < Urgency::kAwaited || growth_refused_ || slots_.size() >= limits_.slots_max)
    return false;
  // What is arriving, and what its owner is about to take, will make room without more memory.
  if (count(Standing::kBusy) > 0 || !growth_pays()) return false;
  return urgency == Urgency::kBlocked || count(Standing::kPromised) == 0;
}

Schedule::Verdict Schedule::without_slot(Urgency urgency) const {
  if (growth_helps(urgency)) return Verdict::kGrow;
  const bool all_held = count(Standing::kHeld) == slots_.size();
  return all_held && urgency >= Urgency::kAwaited ? Verdict::kStarved : Verdict::kRest;
}

/// A splinter that was retired has no valid bytes for that reason.
void Schedule::note_return(const shm::Splinter& entry) {
  const shm::Splinter::Word word = entry.load();
  const bool is_gone = word.residency() == Residency::kAbsent && word.generation() > 0;
  if (is_gone && entry.valid().size() == 0) readers_.came_back();
}

void Schedule::note_departure(std::uint32_t slot, std::uint64_t served_bytes) {
  shm::Splinter& entry = books_[slots_[slot].splinter];
  const std::uint64_t kept_for = std::uint64_t{retires_at(entry)} * (readers() - 1);
  if (standing_[slot] == Standing::kRetired) {
    entry.set_valid({});
  } else if (served_bytes >= kept_for) {
    readers_.was_kept_in_vain();
  }
}

void Schedule::note_waste() { waste_ = std::min(waste_ + 1, kWasteMemory); }

void Schedule::forgive_waste() {
  if (waste_ > 0) --waste_;
}

bool Schedule::vacate(std::uint32_t slot) {
  Slot& taken = slots_[slot];
  if (taken.splinter == kNobody) return true;
  const bool asked = !taken.eager;
  const bool mostly_unused = standing_[slot] != Standing::kRetired &&
                             taken.served_seen < books_[taken.splinter].valid().size() / 2;
  if (!books_.ledger().try_evict(books_[taken.splinter])) return false;
  const std::uint64_t served = books_.served_bytes(slot);
  served_bytes_ += served;
  note_departure(slot, served);
  if (standing_[slot] != Standing::kRetired) ++losses_;
  if (asked && taken.whole && taken.used) mostly_unused ? note_waste() : forgive_waste();
  const SplinterIndex evicted = taken.splinter;
  taken = Slot{};
  // Somebody asked for more of it while it was here: the request goes on from the start.
  if (wants_.contains(evicted)) books_[evicted].set_residency(Residency::kWanted);
  return true;
}

bool Schedule::vacate_all() {
  bool all_vacant = true;
  for (std::uint32_t i = 0; i < slots_.size(); ++i) {
    const bool vacated = !slots_[i].busy && vacate(i);
    all_vacant = all_vacant && vacated;
  }
  return all_vacant;
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
  slots_[slot].busy = true;
  slots_[slot].whole = part == geometry_.whole(splinter);
  slots_[slot].used_at = clock_;
  mark(slot, Standing::kBusy);
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
  ++loads_under_way_;
}

std::uint64_t Schedule::served_bytes() const {
  std::uint64_t total = served_bytes_;
  for (std::uint32_t i = 0; i < slots(); ++i) {
    if (slots_[i].splinter != kNobody) total += books_.served_bytes(i);
  }
  return total;
}

void Schedule::grown(std::uint32_t slots) {
  growth_refused_ = slots <= slots_.size();
  if (growth_refused_) return;
  slots_.resize(slots);
  standing_.resize(slots);
  losses_ = 0;
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
  slot.busy = false;
  slot.promised_bytes += promised_bytes;
  if (promised_bytes > 0) slot.spared_until = TimePoint::max();  // counted from the next survey on
  --loads_under_way_;

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
  Slot& slot = slots_[load.slot];
  slot.busy = false;
  --loads_under_way_;
  wants_.erase(load.splinter);
  if (load.extends) return;
  books_[load.splinter].set_residency(Residency::kAbsent);
  slot = Slot{};
}

void Schedule::forget(SplinterIndex splinter) {
  shm::Splinter& entry = books_[splinter];
  if (entry.load().residency() == Residency::kWanted) entry.set_residency(Residency::kAbsent);
  wants_.erase(splinter);
}

void Schedule::clear() {
  while (!wants_.empty())
    forget(wants_.begin()->first);
  for (auto& queue : queues_)
    queue.clear();
  eager_next_ = geometry_.count();
}

}  // namespace forebay::read
