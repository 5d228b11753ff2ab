// SPDX-License-Identifier: Apache-2.0
// Only misses are handled here, under one lock of this process. The residency table, which the
// agent writes, is read without a lock. An entry may have changed after it was read; then a
// notification follows.
#include "read/mapped_session.hpp"

#include <algorithm>
#include <utility>

namespace forebay::read {

namespace {

/// A polling request is sent again after this time: an agent that was short of memory may have
/// deferred it.
constexpr std::chrono::milliseconds kResendInterval{1};
/// Beyond this number, the records of sent requests are dropped: sending one twice costs little.
constexpr std::size_t kSentRequestsMax = 4096;

}  // namespace

Result<std::shared_ptr<MappedSession>> MappedSession::open(OpenArgs args, AttachInfo info) {
  std::shared_ptr<MappedSession> session(new MappedSession(std::move(args)),
                                         detail::OriginDeleter());
  if (auto attached = session->attach(std::move(info)); !attached) return failure(attached.error());
  return session;
}

MappedSession::MappedSession(OpenArgs args)
    : SessionCore({.file = args.file,
                   .extent = args.extent,
                   .plan = std::move(args.plan),
                   .executor = args.executor,
                   .handle = args.handle}),
      connection_(std::move(args.connection)),
      fallback_agent_(std::move(args.fallback_agent)),
      file_(std::move(args.file)) {}

MappedSession::~MappedSession() = default;

Status MappedSession::attach(AttachInfo info) {
  const auto damaged = [&](const char* cause) -> Status {
    return failure({.kind = ErrorClass::kDamage,
                    .operation = "open a read session",
                    .path = path(),
                    .cause = cause});
  };
  const auto table_bytes = shm::memfd_bytes(info.table);
  const auto ref_count_bytes = shm::memfd_bytes(info.ref_counts);
  if (!table_bytes || !ref_count_bytes)
    return damaged(
        "the node's agent sent a descriptor that is not a memfd; use the same build of Forebay on "
        "all ranks");
  auto table =
      shm::SharedMemory::attach(std::move(info.table), *table_bytes, shm::Protection::kReadOnly);
  if (!table) return failure(table.error());
  auto ref_counts = shm::SharedMemory::attach(std::move(info.ref_counts), *ref_count_bytes,
                                              shm::Protection::kReadWrite);
  if (!ref_counts) return failure(ref_counts.error());
  table_ = std::move(*table);
  ref_counts_ = std::move(*ref_counts);

  shm::SessionControlBlock control_block;
  if (!control_block.attach(table_.bytes(), ref_counts_.bytes()))
    return damaged(
        "the control block from the node's agent has another version; use the same build of "
        "Forebay on all ranks");
  const shm::ControlBlockShape& shape = control_block.header().shape;
  if (shape.splinters != geometry().count() || info.client_index >= shape.clients)
    return damaged("the control block from the node's agent belongs to another session");
  set_control_block(control_block, info.client_index);
  for (std::uint32_t slot = 0; slot < shape.slots_max; ++slot)
    served_at_open_.push_back(
        control_block.ref_counts().at(info.client_index, slot).load().served_bytes());

  const std::uint64_t slots_bytes = std::uint64_t{shape.slots_max} * plan().tuning.splinter_bytes;
  if (slots_bytes == 0 || slots_bytes % shm::page_bytes() != 0)
    return damaged("the control block from the node's agent has slots that are not whole pages");
  auto slots = shm::DoubleMapping::make(info.window, slots_bytes, shm::Protection::kReadOnly);
  if (!slots) return failure(slots.error());
  slots_ = std::move(*slots);
  set_slots_base(slots_.base());
  auto window = shm::WindowView::attach(std::move(info.window));
  if (!window) return failure(window.error());
  window_ = std::move(*window);
  const std::uint32_t now = control_block.header().slots.load(std::memory_order_acquire);
  shm::populate(slots_.base(), std::uint64_t{now} * plan().tuning.splinter_bytes,
                shm::Protection::kReadOnly);
  add_mapping({slots_.base(), 1});  // runs of one splinter, until a longer one is requested
  return {};
}

/// If this fails, views of several splinters are copies.
void MappedSession::map_grown_window(std::uint32_t slots) noexcept {
  const std::lock_guard lock(mutex_);
  const auto base = window_.map(std::uint64_t{slots} * plan().tuning.splinter_bytes);
  if (base) add_mapping({*base, slots});
}

bool MappedSession::is_ready(SplinterIndex splinter, SplinterPart part) const {
  const shm::ResidencyEntry& entry = control_block()[splinter];
  return is_window_current() && entry.load().residency() == shm::Residency::kReady &&
         entry.valid().covers(part);
}

/// Under the lock.
bool MappedSession::should_bypass(const SplinterRequest& request) const {
  return has_lost_agent_ || !is_window_current() || unreadable_.contains(request.splinter) ||
         sequencer_.has_failed_for_memory(request);
}

/// Under the lock.
void MappedSession::send_request(const SplinterRequest& request,
                                 LoadPriority priority,
                                 ResendPolicy policy) {
  const TimePoint now = std::chrono::steady_clock::now();
  if (sent_requests_.size() >= kSentRequestsMax) sent_requests_.clear();
  const auto [found, is_new] = sent_requests_.try_emplace(request.splinter);
  SentRequest& sent = found->second;
  const bool is_known = !is_new && policy == ResendPolicy::kIfExpired &&
                        sent.priority >= priority && sent.part.covers(request.part) &&
                        now < sent.sent_at + kResendInterval;
  if (is_known) return;
  const bool needs_reply = priority >= LoadPriority::kAwaited;
  // The reply is for all requests numbered so far.
  const std::uint64_t number = needs_reply ? sequencer_.last_sequence() : 0;
  sent = {.part = request.part,
          .priority = priority,
          .sent_at = now,
          .sequence = std::max(number, sent.sequence)};
  connection_->send({.session = handle().number,
                     .sequence = number,
                     .splinter = request.splinter,
                     .part = request.part,
                     .kind = needs_reply ? LoadRequest::Kind::kNotify : LoadRequest::Kind::kNoReply,
                     .priority = priority,
                     .granularity = request.granularity});
}

Result<Availability> MappedSession::request(SplinterRequest& request, LoadPriority priority) {
  const std::lock_guard lock(mutex_);
  if (is_closed()) return failure(closed_error());
  if (is_ready(request.splinter, request.part)) {
    const std::uint32_t slot = control_block()[request.splinter].slot();
    const std::uint32_t pins = control_block().ref_counts().at(client_index(), slot).load().pins();
    return pins < shm::SlotRefCount::kPinsMax ? Availability::kReady
                                              : Availability::kBypassRequired;
  }
  if (should_bypass(request)) return Availability::kBypassRequired;
  // The owner may poll without a waiter. Its request needs a number too, so that kNoMemory applies
  // to it.
  if (priority >= LoadPriority::kAwaited) sequencer_.assign_sequence(request);
  send_request(request, priority, ResendPolicy::kIfExpired);
  return Availability::kPending;
}

void MappedSession::enqueue_load(const SplinterRequest& request, LoadPriority priority) {
  if (is_ready(request.splinter, request.part)) return;
  const std::lock_guard lock(mutex_);
  if (is_closed() || has_lost_agent_ || unreadable_.contains(request.splinter)) return;
  send_request(request, priority, ResendPolicy::kIfExpired);
}

/// The agent also needs the uses of resident splinters, for eviction.
void MappedSession::push(std::span<const SplinterRequest> requests, std::uint64_t position) {
  const std::lock_guard lock(mutex_);
  if (is_closed() || has_lost_agent_) return;
  for (const SplinterRequest& request : requests) {
    if (unreadable_.contains(request.splinter)) continue;
    connection_->send({.session = handle().number,
                       .splinter = request.splinter,
                       .part = request.part,
                       .granularity = request.granularity,
                       .position = position,
                       .use = request.use});
  }
}

void MappedSession::cancel_push(std::span<const SplinterIndex> splinters) {
  const std::lock_guard lock(mutex_);
  if (is_closed() || has_lost_agent_) return;
  for (const SplinterIndex splinter : splinters) {
    connection_->send({.session = handle().number,
                       .splinter = splinter,
                       .part = geometry().full_part(splinter),
                       .kind = LoadRequest::Kind::kCancel});
  }
}

/// Only the bytes in the first splinter: they identify the read.
void MappedSession::observe(const ByteRange& read, std::uint64_t position) {
  const std::lock_guard lock(mutex_);
  if (is_closed() || has_lost_agent_) return;
  const SplinterIndex splinter = geometry().index_at(read.offset);
  connection_->send({.session = handle().number,
                     .splinter = splinter,
                     .part = geometry().part_of(read, splinter),
                     .kind = LoadRequest::Kind::kObserve,
                     .position = position});
}

void MappedSession::invalidate(ByteRange range) {
  const ByteRange inside = intersect(range, geometry().extent());
  if (is_closed() || inside.empty()) return;
  if (!connection_->invalidate(handle(), inside)) abandon_window();
}

std::chrono::nanoseconds MappedSession::load_latency() const {
  return std::chrono::nanoseconds(
      control_block().header().load_latency_ns.load(std::memory_order_relaxed));
}

bool MappedSession::arm(SplinterRequest& request, detail::Waiter& waiter) {
  const std::lock_guard lock(mutex_);
  if (is_closed() || should_bypass(request) || is_ready(request.splinter, request.part))
    return false;
  sequencer_.assign_sequence(request);
  waiters_[request.splinter].push_back({.waiter = &waiter, .sequence = request.sequence});
  send_request(request, LoadPriority::kAwaited, ResendPolicy::kAlways);
  return true;
}

void MappedSession::disarm(SplinterIndex splinter, detail::Waiter& waiter) noexcept {
  const std::lock_guard lock(mutex_);
  const auto found = waiters_.find(splinter);
  if (found == waiters_.end()) return;
  std::erase_if(found->second, [&](const WaiterEntry& one) { return one.waiter == &waiter; });
  if (found->second.empty()) waiters_.erase(found);
}

/// Signals waiters with a number up to `last`. Under the lock.
void MappedSession::signal_waiters(SplinterIndex splinter, std::uint64_t last) {
  if (const auto sent = sent_requests_.find(splinter);
      sent != sent_requests_.end() && sent->second.sequence <= last)
    sent_requests_.erase(sent);
  const auto found = waiters_.find(splinter);
  if (found == waiters_.end()) return;
  std::erase_if(found->second, [&](const WaiterEntry& one) {
    if (one.sequence > last) return false;
    one.waiter->signal();
    return true;
  });
  if (found->second.empty()) waiters_.erase(found);
}

/// Under the lock.
void MappedSession::signal_all_waiters() {
  sent_requests_.clear();
  for (const auto& [splinter, waiters] : waiters_) {
    for (const WaiterEntry& one : waiters)
      one.waiter->signal();
  }
  waiters_.clear();
}

Status MappedSession::handle_notification(const LoadNotification& ring_message) {
  const std::lock_guard lock(mutex_);
  if (ring_message.kind == NotificationKind::kOverflow) {
    signal_all_waiters();
    return {};
  }
  if (Status checked = check_ring_message(ring_message, geometry(), sequencer_.last_sequence());
      !checked)
    return checked;
  if (ring_message.kind == NotificationKind::kUnreadable) unreadable_.insert(ring_message.splinter);
  const bool is_for_all = ring_message.kind != NotificationKind::kNoMemory;
  if (!is_for_all) sequencer_.fail_for_memory(ring_message.splinter, ring_message.sequence);
  signal_waiters(ring_message.splinter,
                 is_for_all ? sequencer_.last_sequence() : ring_message.sequence);
  return {};
}

/// From now on, no agent discards bytes that any rank writes.
void MappedSession::handle_agent_exit() {
  const std::lock_guard lock(mutex_);
  has_lost_agent_ = true;
  if (plan().mode == Mode::kOnDemand) abandon_window();
  signal_all_waiters();
}

std::shared_ptr<BypassRead> MappedSession::start_bypass_read(ByteRange range) {
  std::shared_ptr<BypassQueue> bypass_queue;
  {
    const std::lock_guard lock(mutex_);
    if (is_closed()) return std::make_shared<BypassRead>(range, closed_error());
    if (!bypass_queue_) {
      auto agent = fallback_agent_();
      if (!agent) return std::make_shared<BypassRead>(range, agent.error());
      bypass_queue_ = std::make_shared<BypassQueue>(file_, geometry().extent(), std::move(*agent));
    }
    bypass_queue = bypass_queue_;
  }
  return bypass_queue->read(range);
}

void MappedSession::record_view_copy(std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  ++copies_;
  copied_bytes_ += bytes;
}

std::uint64_t MappedSession::served_bytes() const {
  std::uint64_t sum = 0;
  for (std::uint32_t slot = 0; slot < served_at_open_.size(); ++slot) {
    const std::uint64_t now =
        control_block().ref_counts().at(client_index(), slot).load().served_bytes();
    sum += shm::RefCounts::wrapped_difference(now, served_at_open_[slot]);
  }
  return sum;
}

SessionReport MappedSession::make_report() const {
  const shm::TableHeader& node = control_block().header();
  SessionReport report{
      .bytes_served = served_bytes(),
      .bytes_read = node.bytes_read,
      .bytes_from_nodes = node.bytes_from_nodes,
      .splinters_loaded = node.splinters_loaded,
      .splinters_reread = node.splinters_reread,
      .window_bytes = node.window_bytes,
      .readahead_bytes = node.readahead_bytes,
      .prefetch = {.bytes_pushed = node.bytes_pushed, .bytes_wasted = node.bytes_wasted},
  };
  const std::lock_guard lock(mutex_);
  const BypassQueue::Counts own = bypass_queue_ ? bypass_queue_->counts() : BypassQueue::Counts();
  report.bytes_served += own.bytes_requested;
  report.bytes_read += own.bytes_read;
  report.private_copies = copies_ + own.reads;
  report.private_copy_bytes = copied_bytes_ + own.bytes_requested;
  return report;
}

void MappedSession::close_session() {
  std::shared_ptr<BypassQueue> bypass_queue;
  {
    const std::lock_guard lock(mutex_);
    if (is_closed()) return;
    is_closed_ = true;
    signal_all_waiters();
    bypass_queue = bypass_queue_;
  }
  if (bypass_queue) bypass_queue->close(closed_error());
  connection_->close_session(handle());
}

}  // namespace forebay::read
