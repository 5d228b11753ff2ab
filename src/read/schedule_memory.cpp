// SPDX-License-Identifier: Apache-2.0
// The part of the policy that is about memory: what stands in each slot of the window, which one a
// splinter gets, who may push out whom for it, and when the window should grow.
#include <algorithm>

#include "base/assert.hpp"
#include "read/schedule.hpp"

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

}  // namespace

std::optional<TimePoint> Schedule::end_of_patience() const {
  std::optional<TimePoint> first;
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    if (standing_[i] != Standing::kPromised) continue;
    if (!first || slots_[i].spared_until < *first) first = slots_[i].spared_until;
  }
  return first;
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

std::optional<std::uint32_t> Schedule::slot_for(SplinterIndex splinter, Urgency urgency) const {
  const auto vacant = vacant_slot(splinter);
  return vacant ? vacant : victim(urgency);
}

void Schedule::mark(std::uint32_t slot, Standing standing) {
  --counts_.at(static_cast<std::size_t>(standing_[slot]));
  standing_[slot] = standing;
  ++counts_.at(static_cast<std::size_t>(standing));
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

/// A splinter that was read ahead is pushed out before a request asked for it.
void Schedule::note_unasked_loss() {
  eager_limit_ /= 2;
  if (eager_limit_ == 0) is_eager_in_vain_ = true;
}

bool Schedule::is_wasteful() const { return waste_ >= kWasteLimit; }

void Schedule::note_waste() { waste_ = std::min(waste_ + 1, kWasteMemory); }

void Schedule::forgive_waste() {
  if (waste_ > 0) --waste_;
}

bool Schedule::vacate(std::uint32_t slot) {
  Slot& taken = slots_[slot];
  if (taken.splinter == kNobody) return true;
  const bool asked = !taken.eager;
  // Of tasks that each take half a splinter, in random order, the second comes too late.
  const bool mostly_unused = standing_[slot] != Standing::kRetired &&
                             taken.served_seen <= books_[taken.splinter].valid().size() / 2;
  if (!books_.ledger().try_evict(books_[taken.splinter])) return false;
  const std::uint64_t served = books_.served_bytes(slot);
  served_bytes_ += served;
  note_departure(slot, served);
  if (standing_[slot] != Standing::kRetired) ++losses_;
  if (standing_[slot] == Standing::kUnasked) note_unasked_loss();
  if (asked && taken.whole && taken.used) {
    if (mostly_unused) {
      note_waste();
    } else {
      forgive_waste();
    }
  }
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

void Schedule::grown(std::uint32_t slots) {
  growth_refused_ = slots <= slots_.size();
  if (growth_refused_) return;
  slots_.resize(slots);
  standing_.resize(slots);
  losses_ = 0;
}

}  // namespace forebay::read
