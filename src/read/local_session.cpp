// SPDX-License-Identifier: Apache-2.0
// One lock guards scheduler, waiters and errors. It is taken for each splinter that is missed,
// loaded or waited for, never for a hit. Under it no storage is accessed, and memory is mapped only
// when the window grows.
#include "read/local_session.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <string>
#include <utility>

#include "base/assert.hpp"
#include "read/read_agent.hpp"

namespace forebay::read {

namespace {

/// Used if reading again is a copy from the page cache.
constexpr std::uint32_t kEvictionsBeforeGrowth = 8;
/// 1 / this of the loads in flight are not for hints.
constexpr std::uint32_t kDemandShare = 8;

LoadScheduler::Limits limits_of(const LocalSession::OpenArgs& args) {
  const ReadPlan& plan = args.plan;
  const std::uint64_t unit = plan.tuning.splinter_bytes;
  const std::uint64_t readahead = plan.readahead_bytes.value_or(0);
  const auto depth = splinter_count(plan.tuning.queue_depth * plan.tuning.request_bytes, unit);
  const bool is_on_demand = plan.mode == Mode::kOnDemand;
  const std::uint32_t readahead_max =
      readahead == 0 || is_on_demand ? 0 : splinter_count(readahead, unit);
  // The readahead limit grows as tasks take bytes, but not while they compute. Storage catches up
  // later; an idle link does not. So a session with a remote reader begins with the maximum.
  const std::uint32_t readahead_initial =
      args.remote_reader ? readahead_max : std::min(depth, readahead_max);
  return {
      .slots = splinter_count(plan.tuning.window_bytes, unit),
      .slots_max = splinter_count(plan.budget_bytes, unit),
      .loads_max = depth,
      .striping = {.stripe_bytes = plan.tuning.stripe_bytes, .servers = plan.tuning.stripe_count},
      .readahead_initial = readahead_initial,
      .readahead_max = readahead_max,
      .alignment_bytes = load_alignment_of(*args.file),
      .eviction = plan.eviction,
      .evictions_before_growth = args.is_cached ? kEvictionsBeforeGrowth : 0,
      .readers_max = args.clients,
      .hint_loads_max = is_on_demand ? depth - depth / kDemandShare : depth,
      .is_push_cache = is_on_demand};
}

/// Control block on the heap, for a session whose tasks are in this process.
ControlBlockMemory heap_control_block(const shm::ControlBlockShape& shape) {
  const std::size_t table_bytes = shm::SessionControlBlock::table_bytes(shape);
  const std::size_t bytes = table_bytes + shm::SessionControlBlock::ref_count_bytes(shape);
  constexpr std::align_val_t kAlignment{shm::SessionControlBlock::kAlignment};
  auto* const raw = static_cast<std::byte*>(::operator new(bytes, kAlignment));
  std::shared_ptr<void> memory(raw, [](void* pointer) { ::operator delete(pointer, kAlignment); });
  std::memset(raw, 0, bytes);
  const std::span<std::byte> all(raw, bytes);
  return {std::move(memory), shm::SessionControlBlock::create(shape, all.first(table_bytes),
                                                              all.subspan(table_bytes))};
}

}  // namespace

shm::ControlBlockShape control_block_shape(ByteRange extent,
                                           const ReadPlan& plan,
                                           std::uint32_t clients) {
  return {.splinters = Geometry(extent, plan.tuning.splinter_bytes).count(),
          .slots_max = splinter_count(plan.budget_bytes, plan.tuning.splinter_bytes),
          .clients = clients};
}

Result<std::shared_ptr<LocalSession>> LocalSession::open(const OpenArgs& args) try {
  auto allocation = args.windows->allocate(args.plan.tuning.window_bytes);
  if (!allocation) return failure(allocation.error());
  const shm::ControlBlockShape shape = control_block_shape(args.extent, args.plan, args.clients);
  auto control_block =
      args.create_control_block ? args.create_control_block(shape) : heap_control_block(shape);
  if (!control_block) return failure(control_block.error());
  std::shared_ptr<LocalSession> session(
      new LocalSession(args, std::move(*allocation), std::move(*control_block)),
      detail::OriginDeleter());
  if (auto mapped = session->map_window(session->scheduler_.slots()); !mapped)
    return failure(mapped.error());
  return session;
} catch (const std::bad_alloc&) {
  return failure({.kind = ErrorClass::kLimit,
                  .operation = "open a read session",
                  .path = args.file->path(),
                  .cause = "no memory for the table of " +
                           std::to_string(args.extent.size / args.plan.tuning.splinter_bytes + 1) +
                           " splinters; choose larger ones"});
}

LocalSession::LocalSession(const OpenArgs& args,
                           WindowPool::Allocation allocation,
                           ControlBlockMemory control_block)
    : SessionCore({.file = args.file,
                   .extent = args.extent,
                   .plan = args.plan,
                   .executor = args.executor,
                   .handle = args.handle}),
      control_block_memory_(std::move(control_block.memory)),
      agent_(args.agent),
      is_cached_(args.is_cached),
      bypass_queue_(std::make_shared<BypassQueue>(args.file, args.extent, args.agent)),
      remote_reader_(args.remote_reader),
      window_allocation_(std::move(allocation)),
      scheduler_(geometry(), control_block.control_block, limits_of(args)) {
  set_control_block(control_block.control_block, args.clients - 1);
}

Status LocalSession::map_window(std::uint32_t slots) {
  auto base = window_allocation_.map(std::uint64_t{slots} * plan().tuning.splinter_bytes);
  if (!base) return failure(base.error());
  window_ = *base;
  set_slots_base(*base);
  add_mapping({*base, slots});
  control_block().header().slots.store(slots, std::memory_order_release);
  return {};
}

void LocalSession::notify_memory_released() noexcept {
  auto& memory_wait = control_block().header().memory_wait;
  if (memory_wait.exchange(shm::MemoryWait::kNone, std::memory_order_seq_cst) ==
      shm::MemoryWait::kNone)
    return;
  agent_->notify_memory_released(shared_local());
}

Result<Availability> LocalSession::request(SplinterRequest& request, LoadPriority priority) {
  Result<Availability> availability = [&] {
    const std::lock_guard lock(mutex_);
    return request_locked(request, priority);
  }();
  if (availability && *availability == Availability::kPending) agent_->notify(shared_local());
  return availability;
}

Result<Availability> LocalSession::request_locked(SplinterRequest& request, LoadPriority priority) {
  if (is_closed_) return failure(closed_error());
  const shm::ResidencyEntry& entry = control_block()[request.splinter];
  const shm::ResidencyEntry::Word word = entry.load();
  if (word.residency() == shm::Residency::kReady && entry.valid().covers(request.part)) {
    const std::uint32_t pins =
        control_block().ref_counts().at(client_index(), word.slot()).load().pins();
    return pins < shm::SlotRefCount::kPinsMax ? Availability::kReady
                                              : Availability::kBypassRequired;
  }
  // Each request reads exactly its own bytes, so only requests for the bad bytes fail.
  if (unreadable_.contains(request.splinter) || sequencer_.has_failed_for_memory(request))
    return Availability::kBypassRequired;
  if (priority >= LoadPriority::kAwaited) sequencer_.assign_sequence(request);
  scheduler_.add_request(request.splinter, request.part, priority, request.granularity);
  return Availability::kPending;
}

void LocalSession::enqueue_load(const SplinterRequest& request, LoadPriority priority) {
  {
    const std::lock_guard lock(mutex_);
    const shm::ResidencyEntry& entry = control_block()[request.splinter];
    const bool ready =
        entry.load().residency() == shm::Residency::kReady && entry.valid().covers(request.part);
    if (ready || is_closed_ || unreadable_.contains(request.splinter)) return;
    scheduler_.add_request(request.splinter, request.part, priority, request.granularity);
  }
  agent_->notify(shared_local());
}

void LocalSession::push(std::span<const SplinterRequest> requests,
                        std::uint64_t position,
                        std::uint32_t client) {
  bool is_new = false;
  {
    const std::lock_guard lock(mutex_);
    if (is_closed_) return;
    scheduler_.set_position(position, client);
    for (const SplinterRequest& request : requests) {
      if (unreadable_.contains(request.splinter)) continue;
      const shm::ResidencyEntry& entry = control_block()[request.splinter];
      const bool is_ready = entry.load().residency() == shm::Residency::kReady;
      const PredictedUse use{request.use, client};
      if (is_ready) scheduler_.expect_use(request.splinter, use);
      if (is_ready && entry.valid().covers(request.part)) continue;
      scheduler_.add_request(request.splinter, request.part, LoadPriority::kHint,
                             request.granularity, use);
      is_new = true;
    }
  }
  if (is_new) agent_->notify(shared_local());
}

void LocalSession::cancel_push(std::span<const SplinterIndex> splinters, std::uint32_t client) {
  const std::lock_guard lock(mutex_);
  for (const SplinterIndex splinter : splinters)
    scheduler_.cancel_hint(splinter, client);
}

/// A splinter that a View pins cannot be loaded again: further requests read private copies.
void LocalSession::invalidate(ByteRange range) {
  const std::lock_guard lock(mutex_);
  const ByteRange inside = intersect(range, geometry().extent());
  if (is_closed_ || inside.empty()) return;
  const SplinterIndex last = geometry().index_at(inside.end() - 1);
  for (SplinterIndex splinter = geometry().index_at(inside.offset); splinter <= last; ++splinter) {
    const LoadScheduler::Invalidation outcome = scheduler_.invalidate(splinter);
    if (outcome != LoadScheduler::Invalidation::kDone) outdated_loads_.insert(splinter);
    if (outcome != LoadScheduler::Invalidation::kPinned) continue;
    unreadable_.insert(splinter);
    signal_waiters(splinter, NotificationKind::kUnreadable);
  }
}

void LocalSession::record_view_copy(std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  ++report_.private_copies;
  report_.private_copy_bytes += bytes;
}

bool LocalSession::arm(SplinterRequest& request, detail::Waiter& waiter) {
  // Once registered, the waiter may be signaled and its owner may drop the last handle before this
  // returns.
  const auto self = shared_local();
  {
    const std::lock_guard lock(mutex_);
    const LoadPriority priority =
        waiter.has_helpers() ? LoadPriority::kAwaited : LoadPriority::kAwaitedUnassisted;
    const auto availability = request_locked(request, priority);
    if (!availability || *availability != Availability::kPending) return false;
    waiters_[request.splinter].push_back({.waiter = &waiter, .bytes = request.part.size()});
  }
  agent_->notify(self);
  return true;
}

void LocalSession::disarm(SplinterIndex splinter, detail::Waiter& waiter) noexcept {
  const std::lock_guard lock(mutex_);
  const auto found = waiters_.find(splinter);
  if (found == waiters_.end()) return;
  std::erase_if(found->second, [&](const WaiterEntry& one) { return one.waiter == &waiter; });
  if (found->second.empty()) waiters_.erase(found);
}

void LocalSession::add_client_waiter(const LoadRequest& ring_message, SessionClient& client) {
  {
    const std::lock_guard lock(mutex_);
    SplinterRequest request{.splinter = ring_message.splinter,
                            .part = ring_message.part,
                            .granularity = ring_message.granularity};
    const auto availability = request_locked(request, LoadPriority::kAwaitedUnassisted);
    if (!availability || *availability != Availability::kPending) {
      const bool unreadable = unreadable_.contains(ring_message.splinter);
      client.send(
          {.session = handle().number,
           .sequence = ring_message.sequence,
           .splinter = ring_message.splinter,
           .kind = unreadable ? NotificationKind::kUnreadable : NotificationKind::kChanged});
      return;
    }
    waiters_[ring_message.splinter].push_back(
        {.client = &client, .bytes = ring_message.part.size(), .sequence = ring_message.sequence});
  }
  agent_->notify(shared_local());
}

void LocalSession::remove_waiters(const SessionClient& client) {
  const std::lock_guard lock(mutex_);
  for (auto entry = waiters_.begin(); entry != waiters_.end();) {
    std::erase_if(entry->second, [&](const WaiterEntry& one) { return one.client == &client; });
    entry = entry->second.empty() ? waiters_.erase(entry) : std::next(entry);
  }
}

void LocalSession::clear_pins(std::uint32_t client_index) {
  for (std::uint32_t slot = 0; slot < control_block().header().shape.slots_max; ++slot)
    control_block().ref_counts().at(client_index, slot).drop_pins();
  notify_memory_released();
}

Result<Descriptor> LocalSession::share_window() const {
  const std::lock_guard lock(mutex_);
  return window_allocation_.share();
}

bool LocalSession::has_memory() const {
  const std::lock_guard lock(mutex_);
  return window_allocation_.size_bytes() > 0;
}

/// Under the lock. `kind` is for clients; a waiter of this process checks the session again.
void LocalSession::signal_waiters(SplinterIndex splinter, NotificationKind kind) {
  const auto found = waiters_.find(splinter);
  if (found == waiters_.end()) return;
  for (const WaiterEntry& one : found->second) {
    if (one.client != nullptr) {
      one.client->send({.session = handle().number,
                        .sequence = one.sequence,
                        .splinter = splinter,
                        .kind = kind});
    } else {
      one.waiter->signal();
    }
  }
  waiters_.erase(found);
}

LoadScheduler::Decision LocalSession::next_load(Load& load, LoadPriority least) {
  while (true) {
    const LoadScheduler::Decision decision =
        scheduler_.next(load, std::chrono::steady_clock::now(), least);
    if (decision == LoadScheduler::Decision::kGrow) {
      grow();
    } else if (decision == LoadScheduler::Decision::kNoMemory) {
      fail_for_memory(load.splinter);
    } else {
      return decision;
    }
  }
}

void LocalSession::grow() {
  const std::uint32_t slots_max = splinter_count(plan().budget_bytes, plan().tuning.splinter_bytes);
  const std::uint32_t slots = std::min(2 * scheduler_.slots(), slots_max);
  scheduler_.set_slot_count(map_window(slots) ? slots : scheduler_.slots());
}

void LocalSession::fail_for_memory(SplinterIndex splinter) {
  scheduler_.cancel_request(splinter);
  sequencer_.fail_for_memory(splinter, sequencer_.last_sequence());
  signal_waiters(splinter, NotificationKind::kNoMemory);
}

bool LocalSession::next_transfer(Transfer& transfer, LoadPriority least) {
  const std::lock_guard lock(mutex_);
  set_memory_wait(shm::MemoryWait::kNone);
  if (is_closed_) {
    release_window();
    return false;
  }
  Load load;
  for (int round = 0; round < 2; ++round) {
    if (next_load(load, least) == LoadScheduler::Decision::kLoad) {
      set_memory_wait(shm::MemoryWait::kNone);
      transfer = make_transfer(load);
      return true;
    }
    // The state is set before the second attempt. So that attempt finds memory that is released in
    // between, or the task that releases it notifies the agent.
    update_memory_wait();
  }
  return false;
}

std::optional<TimePoint> LocalSession::retry_at() const {
  const std::lock_guard lock(mutex_);
  return is_closed_ ? std::nullopt : scheduler_.retry_at();
}

void LocalSession::update_memory_wait() {
  shm::MemoryWait memory_wait = shm::MemoryWait::kNone;
  if (scheduler_.is_waiting_for_slot()) {
    memory_wait = shm::MemoryWait::kUntilReleased;
  } else if (scheduler_.can_read_ahead()) {
    memory_wait = shm::MemoryWait::kUntilConsumed;
  }
  set_memory_wait(memory_wait);
}

LocalSession::Transfer LocalSession::make_transfer(const Load& load) const {
  std::byte* const slot = window_ + std::uint64_t{load.slot} * plan().tuning.splinter_bytes;
  return {.file_offset = geometry().start_of(load.splinter) + load.bytes.first,
          .memory = {slot + load.bytes.first, load.bytes.size()},
          .load = load,
          .bypass_read = nullptr,
          .begin = std::chrono::steady_clock::now()};
}

bool LocalSession::help(SplinterRequest& request, detail::Help how) {
  const bool is_direct = file().access() == Access::kDirect;
  if (how != detail::Help::kAny && (!is_cached_ || is_direct)) return false;
  // A transfer of several operations is left to the agent, which has them in flight at once.
  if (is_direct && plan().tuning.splinter_bytes > plan().tuning.request_bytes) return false;
  Transfer transfer;
  {
    const std::lock_guard lock(mutex_);
    const auto availability = request_locked(request, LoadPriority::kBlocked);
    if (!availability || *availability != Availability::kPending) return false;
    const TimePoint now = std::chrono::steady_clock::now();
    Load load;
    LoadScheduler::Decision decision = scheduler_.next_for_splinter(request.splinter, load, now);
    if (decision == LoadScheduler::Decision::kGrow) {
      grow();
      decision = scheduler_.next_for_splinter(request.splinter, load, now);
    }
    if (decision == LoadScheduler::Decision::kIdle && is_cached_)
      decision = next_load(load, LoadPriority::kHint);
    if (decision != LoadScheduler::Decision::kLoad) return false;
    ++report_.loads_by_waiters;
    transfer = make_transfer(load);
  }
  read_synchronously(transfer);
  if (how != detail::Help::kOpportunisticCopy) record_help();
  agent_->notify(shared_local());
  return true;
}

std::shared_ptr<BypassRead> LocalSession::start_bypass_read(ByteRange range) {
  return bypass_queue_->read(range);
}

void LocalSession::finish(const Transfer& transfer, const Result<std::uint64_t>& bytes) {
  const Load& load = transfer.load;
  const std::lock_guard lock(mutex_);
  std::uint32_t reserved = 0;
  if (const auto waiting = waiters_.find(load.splinter); waiting != waiters_.end()) {
    for (const WaiterEntry& one : waiting->second)
      reserved += one.bytes;
  }
  latency_.record_end(transfer.begin);
  ++report_.splinters_loaded;
  report_.bytes_read += bytes.value_or(0);
  if (transfer.is_remote) report_.bytes_from_nodes += bytes.value_or(0);
  publish_report();  // before any task finds the bytes
  if (outdated_loads_.erase(load.splinter) > 0) {
    scheduler_.fail_load(load);  // its waiters request it again
  } else if (!bytes) {
    scheduler_.fail_load(load);
    unreadable_.insert(load.splinter);
  } else if (!scheduler_.complete_load(load, static_cast<std::uint32_t>(*bytes), reserved)) {
    unreadable_.insert(load.splinter);
  }
  signal_waiters(load.splinter, unreadable_.contains(load.splinter) ? NotificationKind::kUnreadable
                                                                    : NotificationKind::kChanged);
  if (is_closed_) release_window();
  publish_report();
}

/// Stores the totals of the node in the table, for the reports of clients.
void LocalSession::publish_report() const {
  shm::TableHeader& header = control_block().header();
  header.bytes_read.store(report_.bytes_read, std::memory_order_relaxed);
  header.bytes_from_nodes.store(report_.bytes_from_nodes, std::memory_order_relaxed);
  header.splinters_loaded.store(report_.splinters_loaded, std::memory_order_relaxed);
  header.splinters_reread.store(scheduler_.rereads(), std::memory_order_relaxed);
  header.window_bytes.store(
      window_allocation_.size_bytes() > 0 ? scheduler_.slots() * plan().tuning.splinter_bytes : 0,
      std::memory_order_relaxed);
  header.readahead_bytes.store(
      std::uint64_t{scheduler_.readahead_limit()} * plan().tuning.splinter_bytes,
      std::memory_order_relaxed);
  header.bytes_pushed.store(scheduler_.pushed_bytes(), std::memory_order_relaxed);
  header.bytes_wasted.store(scheduler_.wasted_bytes(), std::memory_order_relaxed);
  header.load_latency_ns.store(latency_.value().count(), std::memory_order_relaxed);
}

SessionReport LocalSession::make_report() const {
  const std::lock_guard lock(mutex_);
  const BypassQueue::Counts copies = bypass_queue_->counts();
  SessionReport report = report_;
  report.bytes_served = scheduler_.served_bytes() + copies.bytes_requested;
  report.bytes_read += copies.bytes_read;
  report.private_copies += copies.reads;
  report.private_copy_bytes += copies.bytes_requested;
  report.splinters_reread = scheduler_.rereads();
  report.prefetch.bytes_pushed = scheduler_.pushed_bytes();
  report.prefetch.bytes_wasted = scheduler_.wasted_bytes();
  const bool has_memory = window_allocation_.size_bytes() > 0;  // a closed session releases it
  report.window_bytes = has_memory ? scheduler_.slots() * plan().tuning.splinter_bytes : 0;
  report.readahead_bytes =
      std::uint64_t{scheduler_.readahead_limit()} * plan().tuning.splinter_bytes;
  return report;
}

/// Returns the window of a closed session to the budget as soon as no View and no transfer uses it,
/// even while handles exist. Under the lock.
void LocalSession::release_window() {
  // Set first: a View that is released meanwhile is found by this call, or it notifies the agent.
  set_memory_wait(shm::MemoryWait::kUntilReleased);
  if (scheduler_.loads_in_flight() > 0 || !scheduler_.evict_all()) return;
  set_memory_wait(shm::MemoryWait::kNone);
  window_allocation_ = {};
  publish_report();
}

void LocalSession::close_session() {
  {
    const std::lock_guard lock(mutex_);
    if (is_closed_) return;
    is_closed_ = true;
    scheduler_.cancel_all();
    while (!waiters_.empty())
      signal_waiters(waiters_.begin()->first, NotificationKind::kChanged);
    release_window();
  }
  bypass_queue_->close(closed_error());
}

}  // namespace forebay::read
