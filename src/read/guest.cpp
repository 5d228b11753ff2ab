// SPDX-License-Identifier: Apache-2.0
// Everything here is about misses; one lock of this process guards it. The table, which others
// write, is looked at without it: whatever it says may have changed, and then a word comes.
#include "read/guest.hpp"

#include <algorithm>
#include <utility>

namespace forebay::read {

namespace {

/// Who polls asks again after this time: an agent that was short of memory may have put the request
/// aside.
constexpr std::chrono::milliseconds kAskAgain{1};
/// More is not remembered; asking twice costs little.
constexpr std::size_t kAskedMax = 4096;

}  // namespace

Result<std::shared_ptr<SessionGuest>> SessionGuest::open(Seat seat, Share share) {
  std::shared_ptr<SessionGuest> guest(new SessionGuest(std::move(seat)), detail::DeleteAtOrigin());
  if (auto attached = guest->attach(std::move(share)); !attached) return failure(attached.error());
  return guest;
}

SessionGuest::SessionGuest(Seat seat)
    : SessionCore({.file = seat.file,
                   .extent = seat.extent,
                   .plan = std::move(seat.plan),
                   .executor = seat.executor,
                   .handle = seat.handle}),
      line_(std::move(seat.line)),
      own_agent_(std::move(seat.own_agent)),
      file_(std::move(seat.file)) {}

SessionGuest::~SessionGuest() = default;

Status SessionGuest::attach(Share share) {
  const auto damaged = [&](const char* cause) -> Status {
    return failure({.kind = ErrorClass::kDamage,
                    .operation = "open a read session",
                    .path = path(),
                    .cause = cause});
  };
  const auto table_bytes = shm::memfd_bytes(share.table);
  const auto ledger_bytes = shm::memfd_bytes(share.ledger);
  if (!table_bytes || !ledger_bytes) return damaged("what the node's agent sent is no memory");
  auto table =
      shm::SharedMemory::attach(std::move(share.table), *table_bytes, shm::Protection::kReadOnly);
  if (!table) return failure(table.error());
  auto ledger = shm::SharedMemory::attach(std::move(share.ledger), *ledger_bytes,
                                          shm::Protection::kReadWrite);
  if (!ledger) return failure(ledger.error());
  table_ = std::move(*table);
  ledger_ = std::move(*ledger);

  shm::SessionBooks books;
  if (!books.attach(table_.bytes(), ledger_.bytes()))
    return damaged("the books that the node's agent sent are of another version");
  const shm::BooksShape& shape = books.header().shape;
  if (shape.splinters != geometry().count() || share.row >= shape.clients)
    return damaged("the books that the node's agent sent are those of another session");
  set_books(books, share.row);
  for (std::uint32_t slot = 0; slot < shape.slots_max; ++slot)
    served_before_.push_back(books.ledger().at(share.row, slot).load().served_bytes());

  const std::uint64_t slots_bytes = std::uint64_t{shape.slots_max} * plan().splinter_bytes;
  if (slots_bytes == 0 || slots_bytes % shm::page_bytes() != 0)
    return damaged("the books that the node's agent sent have no room for whole pages");
  auto slots = shm::DoubleMapping::make(share.window, slots_bytes, shm::Protection::kReadOnly);
  if (!slots) return failure(slots.error());
  slots_ = std::move(*slots);
  set_slots_base(slots_.base());
  auto window = shm::WindowView::attach(std::move(share.window));
  if (!window) return failure(window.error());
  window_ = std::move(*window);
  const std::uint32_t now = books.header().slots.load(std::memory_order_acquire);
  shm::populate(slots_.base(), std::uint64_t{now} * plan().splinter_bytes,
                shm::Protection::kReadOnly);
  add_ring({slots_.base(), 1});  // runs of one, until a longer one is asked for
  return {};
}

/// Where this fails, views of several splinters are copies.
void SessionGuest::follow_growth(std::uint32_t slots) noexcept {
  const std::lock_guard lock(mutex_);
  const auto base = window_.map(std::uint64_t{slots} * plan().splinter_bytes);
  if (base) add_ring({*base, slots});
}

bool SessionGuest::is_ready(SplinterIndex splinter, ValidBytes part) const {
  const shm::Splinter& entry = books()[splinter];
  return entry.load().residency() == shm::Residency::kReady && entry.valid().covers(part);
}

/// Under the lock.
bool SessionGuest::takes_privately(const Need& need) const {
  return is_orphan_ || unreadable_.contains(need.splinter) || needs_.is_starved(need);
}

/// Under the lock.
void SessionGuest::ask(const Need& need, Urgency urgency, Insistence insistence) {
  const TimePoint now = std::chrono::steady_clock::now();
  if (asked_.size() >= kAskedMax) asked_.clear();
  const auto [found, is_new] = asked_.try_emplace(need.splinter);
  Asked& asked = found->second;
  const bool is_known = !is_new && insistence == Insistence::kOnce && asked.urgency >= urgency &&
                        asked.part.covers(need.part) && now < asked.at + kAskAgain;
  if (is_known) return;
  const bool is_answered = urgency >= Urgency::kAwaited;
  // The answer is for all needs that are numbered so far.
  const std::uint64_t number = is_answered ? needs_.last() : 0;
  asked = {
      .part = need.part, .urgency = urgency, .at = now, .number = std::max(number, asked.number)};
  line_->send({.session = handle().number,
               .number = number,
               .splinter = need.splinter,
               .part = need.part,
               .kind = is_answered ? ClientWord::Kind::kAwait : ClientWord::Kind::kWant,
               .urgency = urgency,
               .precision = need.precision});
}

Result<Presence> SessionGuest::want(Need& need, Urgency urgency) {
  const std::lock_guard lock(mutex_);
  if (closed()) return failure(closed_error());
  if (is_ready(need.splinter, need.part)) {
    const std::uint32_t slot = books()[need.splinter].slot();
    const std::uint32_t pins = books().ledger().at(row(), slot).load().pins();
    return pins < shm::Mark::kPinsMax ? Presence::kReady : Presence::kStarved;
  }
  if (takes_privately(need)) return Presence::kStarved;
  // A request that returns without a wait polls: it needs the answer that a waiter receives.
  if (urgency >= Urgency::kAwaited) needs_.number(need);
  ask(need, urgency, Insistence::kOnce);
  return Presence::kComing;
}

void SessionGuest::hint(const Need& need, Urgency urgency) {
  if (is_ready(need.splinter, need.part)) return;
  const std::lock_guard lock(mutex_);
  if (closed() || is_orphan_ || unreadable_.contains(need.splinter)) return;
  ask(need, urgency, Insistence::kOnce);
}

bool SessionGuest::arm(Need& need, detail::Waiter& waiter) {
  const std::lock_guard lock(mutex_);
  if (closed() || takes_privately(need) || is_ready(need.splinter, need.part)) return false;
  needs_.number(need);
  waiters_[need.splinter].push_back({.waiter = &waiter, .number = need.number});
  ask(need, Urgency::kAwaited, Insistence::kAlways);
  return true;
}

void SessionGuest::disarm(SplinterIndex splinter, detail::Waiter& waiter) noexcept {
  const std::lock_guard lock(mutex_);
  const auto found = waiters_.find(splinter);
  if (found == waiters_.end()) return;
  std::erase_if(found->second, [&](const Waiting& one) { return one.waiter == &waiter; });
  if (found->second.empty()) waiters_.erase(found);
}

/// Under the lock. Those with a number up to `last`.
void SessionGuest::signal(SplinterIndex splinter, std::uint64_t last) {
  if (const auto asked = asked_.find(splinter);
      asked != asked_.end() && asked->second.number <= last)
    asked_.erase(asked);
  const auto found = waiters_.find(splinter);
  if (found == waiters_.end()) return;
  std::erase_if(found->second, [&](const Waiting& one) {
    if (one.number > last) return false;
    one.waiter->signal();
    return true;
  });
  if (found->second.empty()) waiters_.erase(found);
}

/// Under the lock.
void SessionGuest::signal_all() {
  asked_.clear();
  for (const auto& [splinter, waiters] : waiters_) {
    for (const Waiting& one : waiters)
      one.waiter->signal();
  }
  waiters_.clear();
}

Status SessionGuest::tell(const AgentWord& word) {
  const std::lock_guard lock(mutex_);
  if (word.news == News::kMissed) {
    signal_all();
    return {};
  }
  if (Status good = check_word(word, geometry(), needs_.last()); !good) return good;
  if (word.news == News::kUnreadable) unreadable_.insert(word.splinter);
  const bool is_for_all = word.news != News::kStarved;
  if (!is_for_all) needs_.starve(word.splinter, word.number);
  signal(word.splinter, is_for_all ? needs_.last() : word.number);
  return {};
}

void SessionGuest::orphan() {
  const std::lock_guard lock(mutex_);
  is_orphan_ = true;
  signal_all();
}

std::shared_ptr<PrivateRead> SessionGuest::read_privately(ByteRange range) {
  std::shared_ptr<PrivateLane> lane;
  {
    const std::lock_guard lock(mutex_);
    if (closed()) return std::make_shared<PrivateRead>(range, closed_error());
    if (!lane_) {
      auto agent = own_agent_();
      if (!agent) return std::make_shared<PrivateRead>(range, agent.error());
      lane_ = std::make_shared<PrivateLane>(file_, geometry().extent(), std::move(*agent));
    }
    lane = lane_;
  }
  return lane->read(range);
}

void SessionGuest::count_copied(std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  ++copies_;
  copied_bytes_ += bytes;
}

std::uint64_t SessionGuest::served_bytes() const {
  std::uint64_t sum = 0;
  for (std::uint32_t slot = 0; slot < served_before_.size(); ++slot) {
    const std::uint64_t now = books().ledger().at(row(), slot).load().served_bytes();
    sum += shm::Ledger::difference(now, served_before_[slot]);
  }
  return sum;
}

SessionReport SessionGuest::report() const {
  const shm::TableHeader& node = books().header();
  SessionReport report{
      .bytes_served = served_bytes(),
      .bytes_read = node.bytes_read,
      .bytes_from_nodes = node.bytes_from_nodes,
      .splinters_loaded = node.splinters_loaded,
      .splinters_reread = node.splinters_reread,
      .window_bytes = node.window_bytes,
      .eager_bytes = node.eager_bytes,
  };
  const std::lock_guard lock(mutex_);
  const PrivateLane::Counts own = lane_ ? lane_->counts() : PrivateLane::Counts();
  report.bytes_served += own.bytes_asked;
  report.bytes_read += own.bytes_read;
  report.private_copies = copies_ + own.reads;
  report.private_copy_bytes = copied_bytes_ + own.bytes_asked;
  return report;
}

void SessionGuest::close() {
  std::shared_ptr<PrivateLane> lane;
  {
    const std::lock_guard lock(mutex_);
    if (closed()) return;
    closed_ = true;
    signal_all();
    lane = lane_;
  }
  if (lane) lane->close(closed_error());
  line_->leave(handle());
}

}  // namespace forebay::read
