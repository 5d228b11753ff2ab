// SPDX-License-Identifier: Apache-2.0
// One lock guards schedule, waiters and errors. It is taken for each splinter that is missed,
// loaded or waited for, never for one that is there; no storage is touched and no memory mapped-in
// page by page while it is held, except when the window grows.
#include "read/host.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <string>
#include <utility>

#include "base/assert.hpp"
#include "read/agent.hpp"

namespace forebay::read {

namespace {

/// Where reading again is copying from the page cache.
constexpr std::uint32_t kLossesBeforeGrowth = 8;

Schedule::Limits limits_of(const SessionHost::Setup& setup) {
  const ReadPlan& plan = setup.plan;
  const std::uint64_t unit = plan.splinter_bytes;
  const std::uint64_t eager = plan.eager_bytes.value_or(0);
  const auto depth = in_splinters(plan.queue_depth * plan.request_bytes, unit);
  const std::uint32_t eager_max = eager == 0 ? 0 : in_splinters(eager, unit);
  // What is taken makes it more. Whoever computes takes nothing, and a link that stood still
  // meanwhile has lost that time, where storage makes up for it: so a link begins with all.
  const std::uint32_t eager_first = setup.remote ? eager_max : std::min(depth, eager_max);
  return {.slots = in_splinters(plan.window_bytes, unit),
          .slots_max = in_splinters(plan.budget_bytes, unit),
          .loads_max = depth,
          .striping = {.stripe_bytes = plan.stripe_bytes, .servers = plan.servers},
          .eager_first = eager_first,
          .eager_max = eager_max,
          .alignment_bytes = load_alignment_of(*setup.file),
          .retirement = plan.retirement,
          .losses_before_growth = setup.cached ? kLossesBeforeGrowth : 0,
          .readers_max = setup.clients};
}

/// Books on the heap, for a session whose tasks are in this process.
Books private_books(const shm::BooksShape& shape) {
  const std::size_t table_bytes = shm::SessionBooks::table_bytes(shape);
  const std::size_t bytes = table_bytes + shm::SessionBooks::ledger_bytes(shape);
  constexpr std::align_val_t kAlignment{shm::SessionBooks::kAlignment};
  auto* const raw = static_cast<std::byte*>(::operator new(bytes, kAlignment));
  std::shared_ptr<void> memory(raw, [](void* gone) { ::operator delete(gone, kAlignment); });
  std::memset(raw, 0, bytes);
  const std::span<std::byte> all(raw, bytes);
  return {std::move(memory),
          shm::SessionBooks::begin(shape, all.first(table_bytes), all.subspan(table_bytes))};
}

}  // namespace

shm::BooksShape shape_of_books(ByteRange extent, const ReadPlan& plan, std::uint32_t clients) {
  return {.splinters = Geometry(extent, plan.splinter_bytes).count(),
          .slots_max = in_splinters(plan.budget_bytes, plan.splinter_bytes),
          .clients = clients};
}

Result<std::shared_ptr<SessionHost>> SessionHost::open(const Setup& setup) try {
  auto lease = setup.windows->lease(setup.plan.window_bytes);
  if (!lease) return failure(lease.error());
  const shm::BooksShape shape = shape_of_books(setup.extent, setup.plan, setup.clients);
  auto books = setup.make_books ? setup.make_books(shape) : private_books(shape);
  if (!books) return failure(books.error());
  std::shared_ptr<SessionHost> host(new SessionHost(setup, std::move(*lease), std::move(*books)),
                                    detail::DeleteAtOrigin());
  if (auto mapped = host->map_window(host->schedule_.slots()); !mapped)
    return failure(mapped.error());
  return host;
} catch (const std::bad_alloc&) {
  return failure({.kind = ErrorClass::kLimit,
                  .operation = "open a read session",
                  .path = setup.file->path(),
                  .cause = "no memory for the table of " +
                           std::to_string(setup.extent.size / setup.plan.splinter_bytes + 1) +
                           " splinters; choose larger ones"});
}

SessionHost::SessionHost(const Setup& setup, WindowPool::Lease lease, Books books)
    : SessionCore({.file = setup.file,
                   .extent = setup.extent,
                   .plan = setup.plan,
                   .executor = setup.executor,
                   .handle = setup.handle}),
      books_memory_(std::move(books.memory)),
      agent_(setup.agent),
      cached_(setup.cached),
      lane_(std::make_shared<PrivateLane>(setup.file, setup.extent, setup.agent)),
      remote_(setup.remote),
      lease_(std::move(lease)),
      schedule_(geometry(), books.books, limits_of(setup)) {
  set_books(books.books, setup.clients - 1);
}

Status SessionHost::map_window(std::uint32_t slots) {
  auto base = lease_.map(std::uint64_t{slots} * plan().splinter_bytes);
  if (!base) return failure(base.error());
  window_ = *base;
  set_slots_base(*base);
  add_ring({*base, slots});
  books().header().slots.store(slots, std::memory_order_release);
  return {};
}

void SessionHost::tell_of_released_memory() noexcept {
  auto& stall = books().header().stall;
  if (stall.exchange(shm::Stall::kNone, std::memory_order_seq_cst) == shm::Stall::kNone) return;
  agent_->resume(shared_host());
}

Result<Presence> SessionHost::want(Need& need, Urgency urgency) {
  Result<Presence> presence = [&] {
    const std::lock_guard lock(mutex_);
    return want_locked(need, urgency);
  }();
  if (presence && *presence == Presence::kComing) agent_->serve(shared_host());
  return presence;
}

Result<Presence> SessionHost::want_locked(Need& need, Urgency urgency) {
  if (closed_) return failure(closed_error());
  const shm::Splinter& entry = books()[need.splinter];
  const shm::Splinter::Word word = entry.load();
  if (word.residency() == shm::Residency::kReady && entry.valid().covers(need.part)) {
    const std::uint32_t pins = books().ledger().at(row(), word.slot()).load().pins();
    return pins < shm::Mark::kPinsMax ? Presence::kReady : Presence::kStarved;
  }
  // Whose bytes are the bad ones shows when each request reads exactly its own.
  if (unreadable_.contains(need.splinter) || needs_.is_starved(need)) return Presence::kStarved;
  if (urgency >= Urgency::kAwaited) needs_.number(need);
  schedule_.want(need.splinter, need.part, urgency, need.precision);
  return Presence::kComing;
}

void SessionHost::hint(const Need& need, Urgency urgency) {
  {
    const std::lock_guard lock(mutex_);
    const shm::Splinter& entry = books()[need.splinter];
    const bool ready =
        entry.load().residency() == shm::Residency::kReady && entry.valid().covers(need.part);
    if (ready || closed_ || unreadable_.contains(need.splinter)) return;
    schedule_.want(need.splinter, need.part, urgency, need.precision);
  }
  agent_->serve(shared_host());
}

void SessionHost::count_copied(std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  ++counts_.private_copies;
  counts_.private_copy_bytes += bytes;
}

bool SessionHost::arm(Need& need, detail::Waiter& waiter) {
  // Once registered, the waiter may be signalled, and its owner drop the last handle, before this
  // returns.
  const auto self = shared_host();
  {
    const std::lock_guard lock(mutex_);
    const Urgency urgency = waiter.has_helpers() ? Urgency::kAwaited : Urgency::kAwaitedHelpless;
    const auto presence = want_locked(need, urgency);
    if (!presence || *presence != Presence::kComing) return false;
    waiters_[need.splinter].push_back({.waiter = &waiter, .bytes = need.part.size()});
  }
  agent_->serve(self);
  return true;
}

void SessionHost::disarm(SplinterIndex splinter, detail::Waiter& waiter) noexcept {
  const std::lock_guard lock(mutex_);
  const auto found = waiters_.find(splinter);
  if (found == waiters_.end()) return;
  std::erase_if(found->second, [&](const Waiting& one) { return one.waiter == &waiter; });
  if (found->second.empty()) waiters_.erase(found);
}

void SessionHost::await(const ClientWord& word, Client& client) {
  {
    const std::lock_guard lock(mutex_);
    Need need{.splinter = word.splinter, .part = word.part, .precision = word.precision};
    const auto presence = want_locked(need, Urgency::kAwaitedHelpless);
    if (!presence || *presence != Presence::kComing) {
      const bool unreadable = unreadable_.contains(word.splinter);
      client.tell({.session = handle().number,
                   .number = word.number,
                   .splinter = word.splinter,
                   .news = unreadable ? News::kUnreadable : News::kChanged});
      return;
    }
    waiters_[word.splinter].push_back(
        {.client = &client, .bytes = word.part.size(), .number = word.number});
  }
  agent_->serve(shared_host());
}

void SessionHost::forget(const Client& client) {
  const std::lock_guard lock(mutex_);
  for (auto entry = waiters_.begin(); entry != waiters_.end();) {
    std::erase_if(entry->second, [&](const Waiting& one) { return one.client == &client; });
    entry = entry->second.empty() ? waiters_.erase(entry) : std::next(entry);
  }
}

void SessionHost::drop_pins_of(std::uint32_t row) {
  for (std::uint32_t slot = 0; slot < books().header().shape.slots_max; ++slot)
    books().ledger().at(row, slot).drop_pins();
  tell_of_released_memory();
}

Result<Descriptor> SessionHost::share_window() const {
  const std::lock_guard lock(mutex_);
  return lease_.share();
}

bool SessionHost::holds_memory() const {
  const std::lock_guard lock(mutex_);
  return lease_.size_bytes() > 0;
}

/// Under the lock. Those in this process ask what happened.
void SessionHost::signal_waiters(SplinterIndex splinter, News news) {
  const auto found = waiters_.find(splinter);
  if (found == waiters_.end()) return;
  for (const Waiting& one : found->second) {
    if (one.client != nullptr) {
      one.client->tell(
          {.session = handle().number, .number = one.number, .splinter = splinter, .news = news});
    } else {
      one.waiter->signal();
    }
  }
  waiters_.erase(found);
}

Schedule::Verdict SessionHost::next_load(Load& load, Urgency least) {
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

void SessionHost::grow() {
  const std::uint32_t slots_max = in_splinters(plan().budget_bytes, plan().splinter_bytes);
  const std::uint32_t slots = std::min(2 * schedule_.slots(), slots_max);
  schedule_.grown(map_window(slots) ? slots : schedule_.slots());
}

void SessionHost::starve(SplinterIndex splinter) {
  schedule_.forget(splinter);
  needs_.starve(splinter, needs_.last());
  signal_waiters(splinter, News::kStarved);
}

bool SessionHost::next_transfer(Transfer& transfer, Urgency least) {
  const std::lock_guard lock(mutex_);
  set_stall(shm::Stall::kNone);
  if (closed_) {
    give_memory_back();
    return false;
  }
  Load load;
  for (int round = 0; round < 2; ++round) {
    if (next_load(load, least) == Schedule::Verdict::kLoad) {
      set_stall(shm::Stall::kNone);
      transfer = transfer_of(load);
      return true;
    }
    // Say so before looking again: memory that is given back in between is seen by one side or the
    // other.
    rest();
  }
  return false;
}

std::optional<TimePoint> SessionHost::retry_at() const {
  const std::lock_guard lock(mutex_);
  return closed_ ? std::nullopt : schedule_.retry_at();
}

void SessionHost::rest() {
  shm::Stall stall = shm::Stall::kNone;
  if (schedule_.needs_slot()) {
    stall = shm::Stall::kUntilReleased;
  } else if (schedule_.reads_ahead()) {
    stall = shm::Stall::kUntilRetired;
  }
  set_stall(stall);
}

SessionHost::Transfer SessionHost::transfer_of(const Load& load) const {
  std::byte* const slot = window_ + std::uint64_t{load.slot} * plan().splinter_bytes;
  return {.file_offset = geometry().start_of(load.splinter) + load.bytes.first,
          .memory = {slot + load.bytes.first, load.bytes.size()},
          .load = load,
          .copy = nullptr};
}

bool SessionHost::help(Need& need, detail::Help how) {
  const bool is_direct = file().access() == Access::kDirect;
  if (how != detail::Help::kAny && (!cached_ || is_direct)) return false;
  // A transfer of several operations is for the agent, which has them under way at once.
  if (is_direct && plan().splinter_bytes > plan().request_bytes) return false;
  Transfer transfer;
  {
    const std::lock_guard lock(mutex_);
    const auto presence = want_locked(need, Urgency::kBlocked);
    if (!presence || *presence != Presence::kComing) return false;
    const TimePoint now = std::chrono::steady_clock::now();
    Load load;
    Schedule::Verdict verdict = schedule_.next_for(need.splinter, load, now);
    if (verdict == Schedule::Verdict::kGrow) {
      grow();
      verdict = schedule_.next_for(need.splinter, load, now);
    }
    if (verdict == Schedule::Verdict::kRest && cached_) verdict = next_load(load, Urgency::kHint);
    if (verdict != Schedule::Verdict::kLoad) return false;
    ++counts_.loads_by_waiters;
    transfer = transfer_of(load);
  }
  copy(transfer);
  if (how != detail::Help::kCopyInPassing) note_help();
  agent_->serve(shared_host());
  return true;
}

std::shared_ptr<PrivateRead> SessionHost::read_privately(ByteRange range) {
  return lane_->read(range);
}

void SessionHost::finish(const Transfer& transfer, const Result<std::uint64_t>& bytes) {
  const Load& load = transfer.load;
  const std::lock_guard lock(mutex_);
  std::uint32_t promised = 0;
  if (const auto waiting = waiters_.find(load.splinter); waiting != waiters_.end()) {
    for (const Waiting& one : waiting->second)
      promised += one.bytes;
  }
  ++counts_.splinters_loaded;
  counts_.bytes_read += bytes.value_or(0);
  if (transfer.by_other_node) counts_.bytes_from_nodes += bytes.value_or(0);
  publish_counts();  // before anybody finds the bytes
  if (!bytes) {
    schedule_.failed(load);
    unreadable_.insert(load.splinter);
  } else if (!schedule_.loaded(load, static_cast<std::uint32_t>(*bytes), promised)) {
    unreadable_.insert(load.splinter);
  }
  signal_waiters(load.splinter,
                 unreadable_.contains(load.splinter) ? News::kUnreadable : News::kChanged);
  if (closed_) give_memory_back();
  publish_counts();
}

/// Clients report what the node did.
void SessionHost::publish_counts() const {
  shm::TableHeader& header = books().header();
  header.bytes_read.store(counts_.bytes_read, std::memory_order_relaxed);
  header.bytes_from_nodes.store(counts_.bytes_from_nodes, std::memory_order_relaxed);
  header.splinters_loaded.store(counts_.splinters_loaded, std::memory_order_relaxed);
  header.splinters_reread.store(schedule_.rereads(), std::memory_order_relaxed);
  header.window_bytes.store(lease_.size_bytes() > 0 ? schedule_.slots() * plan().splinter_bytes : 0,
                            std::memory_order_relaxed);
  header.eager_bytes.store(std::uint64_t{schedule_.eager_limit()} * plan().splinter_bytes,
                           std::memory_order_relaxed);
}

SessionReport SessionHost::report() const {
  const std::lock_guard lock(mutex_);
  const PrivateLane::Counts copies = lane_->counts();
  SessionReport report = counts_;
  report.bytes_served = schedule_.served_bytes() + copies.bytes_asked;
  report.bytes_read += copies.bytes_read;
  report.private_copies += copies.reads;
  report.private_copy_bytes += copies.bytes_asked;
  report.splinters_reread = schedule_.rereads();
  const bool has_memory = lease_.size_bytes() > 0;  // a closed session gives it back
  report.window_bytes = has_memory ? schedule_.slots() * plan().splinter_bytes : 0;
  report.eager_bytes = std::uint64_t{schedule_.eager_limit()} * plan().splinter_bytes;
  return report;
}

/// The window of a closed session goes back to the budget as soon as no View and no transfer uses
/// it, even while handles are still about. Under the lock.
void SessionHost::give_memory_back() {
  // Said first: a View that is released meanwhile is seen by one side or the other.
  set_stall(shm::Stall::kUntilReleased);
  if (schedule_.loads_under_way() > 0 || !schedule_.vacate_all()) return;
  set_stall(shm::Stall::kNone);
  lease_ = {};
  publish_counts();
}

void SessionHost::close() {
  {
    const std::lock_guard lock(mutex_);
    if (closed_) return;
    closed_ = true;
    schedule_.clear();
    while (!waiters_.empty())
      signal_waiters(waiters_.begin()->first, News::kChanged);
    give_memory_back();
  }
  lane_->close(closed_error());
}

}  // namespace forebay::read
