// SPDX-License-Identifier: Apache-2.0
// Schedule: which splinter is read next, and into which slot of the window. All of a session's
// policy is here (demand before eager reading, retirement, who may push whom out, when the window
// grows) and nothing else is: no files, no threads, no memory but the residency table. The
// session's lock is held for every call.
#pragma once

#include <forebay/plan.hpp>

#include <array>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/clock.hpp"
#include "read/geometry.hpp"
#include "read/reader_count.hpp"
#include "read/server_lanes.hpp"
#include "read/want_queues.hpp"
#include "shm/session_books.hpp"

namespace forebay::read {

/// Whether a request wants just its own bytes of a splinter, or takes it for part of a longer run.
enum class Precision : std::uint8_t { kWhole, kExact };

/// One transfer from storage into a slot.
struct Load {
  SplinterIndex splinter = 0;
  std::uint32_t slot = 0;
  ValidBytes bytes;      ///< what to read, aligned; relative to the splinter
  bool extends = false;  ///< the splinter is ready already; this adds bytes to it
  std::uint32_t generation = 0;
};

class Schedule {
 public:
  struct Limits {
    std::uint32_t slots = 0;  ///< to begin with
    std::uint32_t slots_max = 0;
    std::uint32_t loads_max = 1;  ///< under way at once, each server of the file its share
    ServerLanes::Striping striping = {};
    std::uint32_t eager_first = 0;  ///< splinters read ahead unasked to begin with
    std::uint32_t eager_max = 0;
    std::uint32_t alignment_bytes = 4096;
    Retirement retirement = Retirement::kOnce;
    /// Splinters that must have been pushed out before they were used up, for each slot there is,
    /// before the window grows although some of it is not held by anybody. 0 where reading again is
    /// dear.
    std::uint32_t losses_before_growth = 0;
    /// How many clients may each want all bytes once (kOnce): how many do is found out.
    std::uint32_t readers_max = 1;
  };

  enum class Verdict : std::uint8_t {
    kLoad,  ///< do the load, then call loaded() or failed()
    kGrow,  ///< the window should grow: call grown() with its new size, or its old one if it cannot
    kStarved,  ///< all memory is held by views and `load.splinter` is waited for: its requests need
               ///< private copies
    kRest,     ///< nothing to do until something changes
  };

  /// `books` have geometry.count() splinters and at least limits.slots_max slots.
  Schedule(const Geometry& geometry, const shm::SessionBooks& books, const Limits& limits);

  /// Asks for bytes of a splinter that are not in the window. Merges with what is asked for
  /// already.
  void want(SplinterIndex splinter, ValidBytes part, Urgency urgency, Precision precision);

  /// What to do next for wants of at least this urgency; hints and eager reading are the least.
  Verdict next(Load& load, TimePoint now, Urgency least = Urgency::kHint);
  /// The same for one wanted splinter, out of turn, for a thread that would do it itself.
  Verdict next_for(SplinterIndex splinter, Load& load, TimePoint now);

  /// The window has `slots` slots now.
  void grown(std::uint32_t slots);

  /// The bytes of `load` from its beginning up to `got_bytes` are in the slot. `promised_bytes` is
  /// how much of them those want who are told now. True if all that was asked for is there;
  /// otherwise the file is shorter than it was.
  bool loaded(const Load& load, std::uint32_t got_bytes, std::uint32_t promised_bytes);
  void failed(const Load& load);

  /// Nobody wants this splinter any more.
  void forget(SplinterIndex splinter);

  /// Nothing is wanted any more, and nothing is read ahead.
  void clear();

  /// Takes every slot away from its splinter. False if some are pinned or busy: those stay.
  bool vacate_all();

  bool wants(SplinterIndex splinter) const { return wants_.contains(splinter); }
  std::uint32_t slots() const noexcept { return static_cast<std::uint32_t>(slots_.size()); }
  std::uint32_t loads_under_way() const noexcept { return loads_under_way_; }
  std::uint32_t eager_limit() const noexcept { return eager_limit_; }
  std::uint64_t rereads() const noexcept { return rereads_; }
  /// Bytes handed out from the window so far.
  std::uint64_t served_bytes() const;
  /// True if the last next() rested although something is wanted: it needs memory. Then, if
  /// somebody waits for it, next() should be called again at retry_at() at the latest.
  std::optional<TimePoint> retry_at() const noexcept { return retry_at_; }
  bool needs_slot() const noexcept { return needs_slot_; }
  /// True if it rested because enough is read ahead.
  bool reads_ahead() const noexcept { return eager_next_ < geometry_.count(); }
  /// How many times each byte is wanted, as it looks now.
  std::uint32_t readers() const noexcept { return readers_.value(); }
  /// Bytes of a splinter after which one reader has all of it: what was loaded of it.
  static std::uint32_t retires_at(const shm::Splinter& splinter) noexcept {
    return splinter.valid().size();
  }

 private:
  /// What can be done with a slot; each can be pushed out by those that may push out the ones
  /// before it.
  enum class Standing : std::uint8_t {
    kFree,
    kRetired,   ///< all of it was handed out
    kUnasked,   ///< read ahead, nobody has asked yet
    kPartial,   ///< some of it was handed out
    kUntaken,   ///< asked for, not taken yet
    kPromised,  ///< somebody was told that it is there, and has not taken all of it yet
    kHeld,      ///< pinned
    kBusy,      ///< a load is under way
  };
  static constexpr std::size_t kStandings = 8;

  struct Slot {
    SplinterIndex splinter = kNobody;
    bool busy = false;
    bool eager = false;  ///< loaded unasked and not used since
    bool whole = false;  ///< all of the splinter was read
    bool used = false;   ///< some of it was handed out
    std::uint64_t served_seen = 0;
    std::uint32_t promised_bytes = 0;  ///< wanted by those who were told that it is there
    std::uint64_t used_at = 0;
    TimePoint spared_until = {};  ///< until then nobody else who waits takes it from those told
  };
  struct Want {
    ValidBytes part;
    Urgency urgency = Urgency::kHint;
  };
  using Wants = std::unordered_map<SplinterIndex, Want>;
  static constexpr SplinterIndex kNobody = UINT32_MAX;

  Standing survey_slot(std::uint32_t index);
  void survey();
  Verdict place(SplinterIndex splinter, Urgency urgency, Load& load);
  Verdict extend(SplinterIndex splinter, ValidBytes part, Load& load);
  Verdict next_eager(Load& load);
  Verdict next_wanted(Load& load, Urgency least);
  std::optional<SplinterIndex> first_wanted(Urgency urgency);
  bool was_loaded(SplinterIndex splinter) const;
  SplinterIndex first_ahead() const;
  void enqueue(SplinterIndex splinter, Urgency urgency);
  void begin_load(const Load& load);
  void end_load(const Load& load);
  std::optional<std::uint32_t> vacant_slot(SplinterIndex splinter) const;
  std::optional<std::uint32_t> neighbour_slot(SplinterIndex splinter) const;
  std::optional<std::uint32_t> roomiest_slot() const;
  std::optional<std::uint32_t> oldest(Standing standing) const;
  std::optional<std::uint32_t> oldest_partial(Urgency urgency) const;
  std::optional<std::uint32_t> newest(Standing standing) const;
  std::optional<std::uint32_t> slot_for(SplinterIndex splinter, Urgency urgency) const;
  std::optional<TimePoint> end_of_patience() const;
  std::optional<std::uint32_t> victim(Urgency urgency) const;
  bool drop_if_there(Wants::iterator want);
  bool under_way(SplinterIndex splinter) const;
  void mark(std::uint32_t slot, Standing standing);
  bool growth_helps(Urgency urgency) const;
  bool growth_pays() const;
  Verdict without_slot(Urgency urgency) const;
  void note_return(const shm::Splinter& entry);
  void note_departure(std::uint32_t slot, std::uint64_t served_bytes);
  void note_order(SplinterIndex splinter);
  void note_unasked_loss();
  bool is_wasteful() const;
  void note_waste();
  void forgive_waste();
  bool vacate(std::uint32_t slot);
  void start(SplinterIndex splinter, std::uint32_t slot, ValidBytes part, Load& load);
  ValidBytes aligned(ValidBytes part) const;
  bool vacant(std::uint32_t slot) const { return standing_[slot] <= Standing::kRetired; }
  std::uint32_t count(Standing standing) const {
    return counts_[static_cast<std::size_t>(standing)];
  }

  const Geometry& geometry_;
  const shm::SessionBooks books_;
  Limits limits_;
  std::vector<Slot> slots_;
  std::vector<Standing> standing_;
  std::array<std::uint32_t, kStandings> counts_{};
  std::uint32_t eager_outstanding_ = 0;
  Wants wants_;
  ServerLanes lanes_;
  WantQueues queues_;
  std::uint32_t loads_under_way_ = 0;
  std::uint32_t eager_limit_ = 0;
  SplinterIndex eager_next_ = 0;
  bool is_eager_in_vain_ =
      false;  // splinters read ahead were pushed out before they were asked for
  SplinterIndex last_wanted_ = 0;
  std::uint32_t forward_wants_ = 0;  // in a row, each of the splinter after the one before
  std::uint64_t clock_ = 0;
  std::uint64_t rereads_ = 0;
  std::uint64_t losses_ = 0;        // splinters pushed out before they were used up, since it grew
  std::uint64_t served_bytes_ = 0;  // of splinters that have left the window
  ReaderCount readers_;
  std::uint32_t waste_ = 0;  // how many of the last splinters were pushed out mostly unused
  TimePoint now_;            // of the current call
  std::optional<TimePoint> retry_at_;  // when those who wait may push out more
  bool growth_refused_ = false;
  bool needs_slot_ = false;
};

}  // namespace forebay::read
