// SPDX-License-Identifier: Apache-2.0
// One lock guards schedule, waiters and errors. It is taken for each splinter that is missed,
// loaded or waited for, never for one that is there; no storage is touched and no memory mapped-in
// page by page while it is held, except when the window grows.
#include "read/core.hpp"

#include <algorithm>
#include <new>
#include <string>
#include <utility>

#include "base/assert.hpp"
#include "read/agent.hpp"

namespace forebay::read {

namespace {

/// Splinters are loaded in multiples of this even where the device would allow less: one page.
constexpr std::uint64_t kLoadAlignmentMin = 4096;

/// Where reading again is copying from the page cache.
constexpr std::uint32_t kLossesBeforeGrowth = 8;

std::uint32_t in_splinters(std::uint64_t bytes, std::uint64_t splinter_bytes) {
  return static_cast<std::uint32_t>(std::max<std::uint64_t>(1, bytes / splinter_bytes));
}

std::uint32_t alignment_of(const storage::File& file) {
  return static_cast<std::uint32_t>(
      std::max<std::uint64_t>(kLoadAlignmentMin, file.alignment_bytes()));
}

/// Three times what the device works on, so that it never waits for the request's owner to wake up;
/// but never all of the window.
std::uint32_t splinters_ahead(const ReadPlan& plan) {
  const std::uint32_t under_way =
      in_splinters(plan.queue_depth * plan.request_bytes, plan.splinter_bytes);
  const std::uint32_t slots = in_splinters(plan.window_bytes, plan.splinter_bytes);
  return std::max(1U, std::min(3 * under_way, slots / 4 * 3));
}

Schedule::Limits limits_of(const SessionCore::Setup& setup) {
  const ReadPlan& plan = setup.plan;
  const std::uint64_t unit = plan.splinter_bytes;
  const std::uint64_t eager = plan.eager_bytes.value_or(0);
  const auto depth = in_splinters(plan.queue_depth * plan.request_bytes, unit);
  const std::uint32_t eager_max = eager == 0 ? 0 : in_splinters(eager, unit);
  return {.slots = in_splinters(plan.window_bytes, unit),
          .slots_max = in_splinters(plan.budget_bytes, unit),
          .loads_max = depth,
          .eager_first = std::min(depth, eager_max),
          .eager_max = eager_max,
          .alignment_bytes = alignment_of(*setup.file),
          .retirement = plan.retirement,
          .losses_before_growth = setup.cached ? kLossesBeforeGrowth : 0};
}

}  // namespace

Result<std::shared_ptr<SessionCore>> SessionCore::open(const Setup& setup) try {
  auto lease = setup.windows->lease(setup.plan.window_bytes);
  if (!lease) return tl::unexpected<Error>(lease.error());
  std::shared_ptr<SessionCore> core(new SessionCore(setup, std::move(*lease)));
  if (auto mapped = core->map_first(); !mapped) return tl::unexpected<Error>(mapped.error());
  return core;
} catch (const std::bad_alloc&) {
  return failure({.kind = ErrorClass::kLimit,
                  .operation = "open a read session",
                  .path = setup.file->path(),
                  .cause = "no memory for the table of " +
                           std::to_string(setup.extent.size / setup.plan.splinter_bytes + 1) +
                           " splinters; choose larger ones"});
}

SessionCore::SessionCore(const Setup& setup, WindowPool::Lease lease)
    : file_(setup.file),
      plan_(setup.plan),
      geometry_(setup.extent, plan_.splinter_bytes),
      agent_(setup.agent),
      executor_(setup.executor),
      cached_(setup.cached),
      handle_(setup.handle),
      ahead_splinters_(splinters_ahead(plan_)),
      table_(geometry_.count()),
      lease_(std::move(lease)),
      schedule_(geometry_, table_, limits_of(setup)) {}

SessionCore::~SessionCore() = default;

Status SessionCore::map_first() {
  const std::uint64_t size_bytes = std::uint64_t{schedule_.slots()} * plan_.splinter_bytes;
  auto base = lease_.map(size_bytes);
  if (!base) return tl::unexpected<Error>(base.error());
  mappings_.push_back({*base, schedule_.slots()});
  mapping_.store(&mappings_.back(), std::memory_order_release);
  return {};
}

bool SessionCore::pin(SplinterIndex splinter, ValidBytes part) noexcept {
  shm::Splinter& entry = table_[splinter];
  if (!entry.try_pin()) return false;
  if (entry.valid().covers(part)) return true;
  unpin(splinter, 0);
  return false;
}

void SessionCore::unpin(SplinterIndex splinter, std::uint32_t served_bytes) noexcept {
  shm::Splinter& entry = table_[splinter];
  const shm::Splinter::Word after = entry.unpin(served_bytes);
  if (after.pins() != 0) return;
  const Stall stall = stall_.load(std::memory_order_seq_cst);
  if (stall == Stall::kNone) return;
  if (stall == Stall::kUntilRetired && after.served_bytes() < Schedule::retires_at(entry)) return;
  wake_agent();
}

const std::byte* SessionCore::address(SplinterIndex splinter) const noexcept {
  const Mapping& mapping = *mapping_.load(std::memory_order_acquire);
  return mapping.base + std::uint64_t{table_[splinter].slot()} * plan_.splinter_bytes;
}

const std::byte* SessionCore::run_address(SplinterIndex first, SplinterIndex last) const noexcept {
  const Mapping& mapping = *mapping_.load(std::memory_order_acquire);
  const std::uint32_t start = table_[first].slot();
  for (SplinterIndex splinter = first; splinter <= last; ++splinter) {
    if (table_[splinter].slot() != (start + (splinter - first)) % mapping.slots) return nullptr;
  }
  // The slots after the last one are mapped again behind it: a run that wraps around needs no
  // special case.
  return mapping.base + std::uint64_t{start} * plan_.splinter_bytes;
}

void SessionCore::wake_agent() {
  if (stall_.exchange(Stall::kNone, std::memory_order_seq_cst) == Stall::kNone) return;
  agent_->resume(shared_from_this());
}

Result<Presence> SessionCore::want(SplinterIndex splinter,
                                   ValidBytes part,
                                   Urgency urgency,
                                   Precision precision) {
  Result<Presence> presence = [&] {
    const std::lock_guard lock(mutex_);
    return want_locked(splinter, part, urgency, precision);
  }();
  if (presence && *presence == Presence::kComing) agent_->serve(shared_from_this());
  return presence;
}

Result<Presence> SessionCore::want_locked(SplinterIndex splinter,
                                          ValidBytes part,
                                          Urgency urgency,
                                          Precision precision) {
  if (closed_) return tl::unexpected<Error>(closed_error());
  const shm::Splinter& entry = table_[splinter];
  const shm::Splinter::Word word = entry.load();
  if (word.residency() == shm::Residency::kReady && entry.valid().covers(part)) {
    return word.pins() < shm::Splinter::kPinsMax ? Presence::kReady : Presence::kStarved;
  }
  // Whose bytes are the bad ones shows when each request reads exactly its own.
  if (unreadable_.contains(splinter)) return Presence::kStarved;
  if (const auto starved = starved_.find(splinter); starved != starved_.end()) {
    if (--starved->second == 0) starved_.erase(starved);
    return Presence::kStarved;
  }
  schedule_.want(splinter, part, urgency, precision);
  return Presence::kComing;
}

void SessionCore::hint(SplinterIndex splinter,
                       ValidBytes part,
                       Urgency urgency,
                       Precision precision) {
  {
    const std::lock_guard lock(mutex_);
    const shm::Splinter& entry = table_[splinter];
    const bool ready =
        entry.load().residency() == shm::Residency::kReady && entry.valid().covers(part);
    if (ready || closed_ || unreadable_.contains(splinter)) return;
    schedule_.want(splinter, part, urgency, precision);
  }
  agent_->serve(shared_from_this());
}

void SessionCore::count_copied(std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  ++counts_.private_copies;
  counts_.private_copy_bytes += bytes;
}

bool SessionCore::arm(SplinterIndex splinter,
                      ValidBytes part,
                      Precision precision,
                      detail::Waiter& waiter) {
  // Once registered, the waiter may be signalled, and its owner drop the last handle, before this
  // returns.
  const auto self = shared_from_this();
  {
    const std::lock_guard lock(mutex_);
    // kStarved is not taken here: it belongs to the next want().
    if (starved_.contains(splinter)) return false;
    const auto presence = want_locked(splinter, part, Urgency::kAwaited, precision);
    if (!presence || *presence != Presence::kComing) return false;
    waiters_[splinter].push_back({&waiter, part.size()});
  }
  agent_->serve(self);
  return true;
}

void SessionCore::disarm(SplinterIndex splinter, detail::Waiter& waiter) noexcept {
  const std::lock_guard lock(mutex_);
  const auto found = waiters_.find(splinter);
  if (found == waiters_.end()) return;
  std::erase_if(found->second, [&](const Waiting& one) { return one.waiter == &waiter; });
  if (found->second.empty()) waiters_.erase(found);
}

void SessionCore::signal_waiters(SplinterIndex splinter) {
  const auto found = waiters_.find(splinter);
  if (found == waiters_.end()) return;
  for (const Waiting& one : found->second)
    one.waiter->signal();
  waiters_.erase(found);
}

Schedule::Verdict SessionCore::next_load(Load& load, Urgency least) {
  while (true) {
    const Schedule::Verdict verdict = schedule_.next(load, std::chrono::steady_clock::now(), least);
    if (verdict == Schedule::Verdict::kGrow) {
      grow();
    } else if (verdict == Schedule::Verdict::kStarved) {
      starve(load.splinter);
    } else {
      return verdict;
    }
  }
}

void SessionCore::grow() {
  const std::uint32_t slots_max = in_splinters(plan_.budget_bytes, plan_.splinter_bytes);
  const std::uint32_t slots = std::min(2 * schedule_.slots(), slots_max);
  auto base = lease_.map(std::uint64_t{slots} * plan_.splinter_bytes);
  if (!base) {
    schedule_.grown(schedule_.slots());
    return;
  }
  mappings_.push_back({*base, slots});
  mapping_.store(&mappings_.back(), std::memory_order_release);
  schedule_.grown(slots);
}

void SessionCore::starve(SplinterIndex splinter) {
  schedule_.forget(splinter);
  const auto found = waiters_.find(splinter);
  starved_[splinter] =
      found == waiters_.end() ? 1 : static_cast<std::uint32_t>(found->second.size());
  signal_waiters(splinter);
}

bool SessionCore::next_transfer(Transfer& transfer, Urgency least) {
  const std::lock_guard lock(mutex_);
  stall_.store(Stall::kNone, std::memory_order_seq_cst);
  if (closed_) {
    give_memory_back();
    return false;
  }
  if (!private_reads_.empty()) {
    const auto& copy = private_reads_.front();
    transfer = {
        .file_offset = copy->file_offset(), .memory = copy->memory(), .load = {}, .copy = copy};
    private_reads_.pop_front();
    return true;
  }
  Load load;
  for (int round = 0; round < 2; ++round) {
    if (next_load(load, least) == Schedule::Verdict::kLoad) {
      stall_.store(Stall::kNone, std::memory_order_seq_cst);
      transfer = transfer_of(load);
      return true;
    }
    // Say so before looking again: memory that is given back in between is seen by one side or the
    // other.
    rest();
  }
  return false;
}

std::optional<TimePoint> SessionCore::retry_at() const {
  const std::lock_guard lock(mutex_);
  return closed_ ? std::nullopt : schedule_.retry_at();
}

void SessionCore::rest() {
  Stall stall = Stall::kNone;
  if (schedule_.needs_slot()) {
    stall = Stall::kUntilReleased;
  } else if (schedule_.reads_ahead()) {
    stall = Stall::kUntilRetired;
  }
  stall_.store(stall, std::memory_order_seq_cst);
}

SessionCore::Transfer SessionCore::transfer_of(const Load& load) const {
  const Mapping& mapping = *mapping_.load(std::memory_order_acquire);
  std::byte* const slot = mapping.base + std::uint64_t{load.slot} * plan_.splinter_bytes;
  return {.file_offset = geometry_.start_of(load.splinter) + load.bytes.first,
          .memory = {slot + load.bytes.first, load.bytes.size()},
          .load = load,
          .copy = nullptr};
}

bool SessionCore::help(SplinterIndex splinter, ValidBytes part, Precision precision) {
  Transfer transfer;
  {
    const std::lock_guard lock(mutex_);
    const auto presence = want_locked(splinter, part, Urgency::kBlocked, precision);
    if (!presence || *presence != Presence::kComing) return false;
    if (file_->access() == Access::kDirect) return false;
    const TimePoint now = std::chrono::steady_clock::now();
    Load load;
    Schedule::Verdict verdict = schedule_.next_for(splinter, load, now);
    if (verdict == Schedule::Verdict::kGrow) {
      grow();
      verdict = schedule_.next_for(splinter, load, now);
    }
    if (verdict == Schedule::Verdict::kRest && cached_) verdict = next_load(load, Urgency::kHint);
    if (verdict != Schedule::Verdict::kLoad) return false;
    ++counts_.loads_by_waiters;
    transfer = transfer_of(load);
  }
  copy(transfer);
  note_help();
  agent_->serve(shared_from_this());
  return true;
}

void SessionCore::copy(const Transfer& transfer) {
  const Result<std::size_t> got = file_->read_at(transfer.memory, transfer.file_offset);
  finish(transfer, got.map([](std::size_t bytes) { return std::uint64_t{bytes}; }));
}

void SessionCore::note_help() noexcept {
  helped_at_.store(std::chrono::steady_clock::now(), std::memory_order_relaxed);
}

bool SessionCore::helped_since(TimePoint time) const noexcept {
  return helped_at_.load(std::memory_order_relaxed) >= time;
}

std::shared_ptr<PrivateRead> SessionCore::read_privately(ByteRange range) try {
  auto copy = std::make_shared<PrivateRead>(range, alignment_of(*file_));
  {
    const std::lock_guard lock(mutex_);
    if (closed_) return std::make_shared<PrivateRead>(range, closed_error());
    private_reads_.push_back(copy);
    ++counts_.private_copies;
    counts_.private_copy_bytes += range.size;
    counts_.bytes_served += range.size;
  }
  agent_->serve(shared_from_this());
  return copy;
} catch (const std::bad_alloc&) {
  return std::make_shared<PrivateRead>(range, no_memory_error(range));
}

Error SessionCore::no_memory_error(const ByteRange& range) const {
  return Error({.kind = ErrorClass::kLimit,
                .operation = "read",
                .path = path(),
                .offset_bytes = range.offset,
                .cause = "no memory for a copy of " + std::to_string(range.size) +
                         " bytes; views of others hold the session's window"});
}

void SessionCore::finish(const Transfer& transfer, const Result<std::uint64_t>& bytes) {
  if (!transfer.copy) {
    finish_load(transfer.load, bytes);
    return;
  }
  const ByteRange& range = transfer.copy->range();
  const std::uint64_t reached = transfer.file_offset + bytes.value_or(0);
  std::optional<Error> error;
  if (!bytes) {
    error = bytes.error();
  } else if (reached < range.end()) {
    error = short_file_error(std::max(reached, range.offset));
  }
  {
    const std::lock_guard lock(mutex_);
    counts_.bytes_read += bytes.value_or(0);
  }
  transfer.copy->finish(std::move(error));
}

void SessionCore::finish_load(const Load& load, const Result<std::uint64_t>& bytes) {
  const std::lock_guard lock(mutex_);
  std::uint32_t promised = 0;
  if (const auto waiting = waiters_.find(load.splinter); waiting != waiters_.end()) {
    for (const Waiting& one : waiting->second)
      promised += one.bytes;
  }
  ++counts_.splinters_loaded;
  counts_.bytes_read += bytes.value_or(0);
  if (!bytes) {
    schedule_.failed(load);
    unreadable_.insert(load.splinter);
  } else if (!schedule_.loaded(load, static_cast<std::uint32_t>(*bytes), promised)) {
    unreadable_.insert(load.splinter);
  }
  signal_waiters(load.splinter);
  if (closed_) give_memory_back();
}

Error SessionCore::short_file_error(std::uint64_t missing_byte) const {
  const Result<std::uint64_t> size = file_->size();
  const std::string now = size ? " and has " + std::to_string(*size) + " bytes now" : "";
  return Error({.kind = ErrorClass::kShortFile,
                .operation = "read",
                .path = path(),
                .offset_bytes = missing_byte,
                .cause = "the file was cut while it was open" + now +
                         ", but the session reaches to " +
                         std::to_string(geometry_.extent().end())});
}

Error SessionCore::closed_error() const {
  return Error({.kind = ErrorClass::kClosed,
                .operation = "read",
                .path = path(),
                .cause = "the session was closed"});
}

SessionReport SessionCore::report() const {
  const std::lock_guard lock(mutex_);
  SessionReport report = counts_;
  report.bytes_served += schedule_.served_bytes();
  report.splinters_reread = schedule_.rereads();
  const bool has_memory = lease_.size_bytes() > 0;  // a closed session gives it back
  report.window_bytes = has_memory ? schedule_.slots() * plan_.splinter_bytes : 0;
  report.eager_bytes = std::uint64_t{schedule_.eager_limit()} * plan_.splinter_bytes;
  return report;
}

/// The window of a closed session goes back to the budget as soon as no View and no transfer uses
/// it, even while handles are still about. Under the lock.
void SessionCore::give_memory_back() {
  // Said first: a View that is released meanwhile is seen by one side or the other.
  stall_.store(Stall::kUntilReleased, std::memory_order_seq_cst);
  if (schedule_.loads_under_way() > 0 || !schedule_.vacate_all()) return;
  stall_.store(Stall::kNone, std::memory_order_seq_cst);
  lease_ = {};
}

void SessionCore::close() {
  std::deque<std::shared_ptr<PrivateRead>> dropped;
  {
    const std::lock_guard lock(mutex_);
    if (closed_) return;
    closed_ = true;
    schedule_.clear();
    dropped.swap(private_reads_);
    for (const auto& [splinter, waiters] : waiters_) {
      for (const Waiting& one : waiters)
        one.waiter->signal();
    }
    waiters_.clear();
    give_memory_back();
  }
  for (const auto& copy : dropped)
    copy->finish(closed_error());
}

}  // namespace forebay::read
