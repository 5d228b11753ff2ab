// SPDX-License-Identifier: Apache-2.0
#include "comm/concurrency_limiter.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/assert.hpp"
#include "base/service_thread.hpp"
#include "base/sleep_until_ready.hpp"
#include "comm/message_bytes.hpp"

namespace forebay::comm {

namespace {

std::uint32_t group_of(Rank rank, std::uint32_t size, std::uint32_t groups) {
  return static_cast<std::uint32_t>(std::uint64_t{rank.number} * groups / size);
}

std::uint32_t first_rank_of(std::uint32_t group, std::uint32_t size, std::uint32_t groups) {
  return static_cast<std::uint32_t>((std::uint64_t{group} * size + groups - 1) / groups);
}

Rank server_of(Rank rank, std::uint32_t size, std::uint32_t groups) {
  return {first_rank_of(group_of(rank, size, groups), size, groups)};
}

std::uint32_t group_size(Rank rank, std::uint32_t size, std::uint32_t groups) {
  const std::uint32_t group = group_of(rank, size, groups);
  return first_rank_of(group + 1, size, groups) - first_rank_of(group, size, groups);
}

/// By MessageKind.
constexpr std::array<MessageRule, 6> kRules{{{.name = "hello", .words = 1},
                                             {.name = "request", .words = 1},
                                             {.name = "grant", .words = 1},
                                             {.name = "recall", .words = 1},
                                             {.name = "return", .words = 1},
                                             {.name = "expired", .words = 1}}};

TimePoint now() { return std::chrono::steady_clock::now(); }

}  // namespace

Result<std::shared_ptr<ConcurrencyLimiter>> ConcurrencyLimiter::open(Communicator& ranks,
                                                                     const LinkOptions& links,
                                                                     const Setup& setup) {
  FOREBAY_ASSERT(setup.permit_count > 0);
  auto transport = MessageTransport::open(ranks, links);
  if (!transport) return failure(transport.error());
  Status outcome;
  std::shared_ptr<ConcurrencyLimiter> limiter;
  Descriptor wakeup(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (wakeup) {
    limiter.reset(new ConcurrencyLimiter(std::move(*transport), setup, std::move(wakeup)));
    auto thread = start_service_thread("fb-limiter", [raw = limiter.get()] { raw->run(); });
    if (thread)
      limiter->thread_ = std::move(*thread);
    else
      outcome = failure(thread.error());
  } else {
    outcome = failure(system_error({.operation = "create an eventfd"}, errno));
  }
  if (const Status agreed = ranks.agree(outcome); !agreed) return failure(agreed.error());
  return limiter;
}

ConcurrencyLimiter::ConcurrencyLimiter(std::unique_ptr<MessageTransport> transport,
                                       const Setup& setup,
                                       Descriptor wakeup)
    : setup_(setup),
      me_(transport->rank()),
      server_(server_of(me_, transport->size(), std::min(setup.permit_count, transport->size()))),
      group_ranks_(
          group_size(me_, transport->size(), std::min(setup.permit_count, transport->size()))),
      wakeup_(std::move(wakeup)),
      transport_(std::move(transport)) {}

ConcurrencyLimiter::~ConcurrencyLimiter() { stop(); }

void ConcurrencyLimiter::stop() noexcept {
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
  }
  wake();
  if (thread_.joinable()) thread_.join();
}

void ConcurrencyLimiter::leave() noexcept {
  {
    const std::lock_guard lock(mutex_);
    is_leaving_ = true;
  }
  wake();
}

bool ConcurrencyLimiter::has_ended() const noexcept {
  const std::lock_guard lock(mutex_);
  return has_ended_;
}

void ConcurrencyLimiter::wake() const noexcept {
  const std::uint64_t once = 1;
  std::ignore = ::write(wakeup_.get(), &once, sizeof once);
}

void ConcurrencyLimiter::run() noexcept {
  send(server_, MessageKind::kHello, 0);
  while (!should_stop()) {
    wait();
    std::uint64_t count = 0;
    std::ignore = ::read(wakeup_.get(), &count, sizeof count);
    send_changes();
    transport_->poll(*this);
    expire_permit(now());
  }
  transport_.reset();  // so that other ranks detect the end of this one
  release_waiters();
}

/// After leave(), the server continues until all other ranks of its group have ended. Other ranks
/// end immediately; their server detects it.
bool ConcurrencyLimiter::should_stop() {
  const std::lock_guard lock(mutex_);
  if (is_stopping_) return true;
  if (!is_leaving_) return false;
  return me_ != server_ || departed_.size() + 1 == group_ranks_;
}

void ConcurrencyLimiter::wait() const {
  std::array<pollfd, 2> entries{
      {{transport_->descriptor(), POLLIN, 0}, {wakeup_.get(), POLLIN, 0}}};
  Deadline due = transport_->next_deadline();
  if (holder_ && !queue_.empty()) {
    const TimePoint end = granted_at_ + setup_.lease;
    due = due ? std::min(*due, end) : end;
  }
  int wait_ms = -1;
  if (due) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(*due - now()).count();
    wait_ms = static_cast<int>(std::clamp<std::int64_t>(left, 0, 3'600'000));
  }
  sleep_until_ready_ms(entries, wait_ms);
}

/// Sends the permit requests and returns of this rank.
void ConcurrencyLimiter::send_changes() {
  std::optional<std::uint64_t> returned;
  bool has_request = false;
  {
    const std::lock_guard lock(mutex_);
    has_request = std::exchange(is_request_pending_, false);
    if (state_ == State::kHeld && user_count_ == 0 && (is_recalled_ || is_leaving_)) {
      returned = own_grant_id_;
      state_ = State::kNone;
    }
  }
  if (has_request) send(server_, MessageKind::kRequest, 0);
  if (returned) send(server_, MessageKind::kReturn, *returned);
}

void ConcurrencyLimiter::send(Rank to, MessageKind kind, std::uint64_t grant_id) {
  // A send to an unreachable rank fails; handle_peer_lost() reports that.
  std::ignore = transport_->send(
      to, LinkHeader{.kind = static_cast<std::uint32_t>(kind), .words = {grant_id}});
}

void ConcurrencyLimiter::release_waiters() {
  const std::lock_guard lock(mutex_);
  is_unlimited_ = true;
  has_ended_ = true;
  signal_all();
}

void ConcurrencyLimiter::signal_all() {
  for (detail::Waiter* const waiter : std::exchange(waiters_, {}))
    waiter->signal();
}

/// No message has a payload.
Result<std::span<std::byte>> ConcurrencyLimiter::payload_buffer(Rank from,
                                                                const LinkHeader& header) {
  if (Status checked = check(from, header); !checked) return failure(checked.error());
  return std::span<std::byte>();
}

Status ConcurrencyLimiter::check(Rank from, const LinkHeader& header) const {
  if (Status checked = check_header(header, kRules); !checked) return checked;
  const auto kind = static_cast<MessageKind>(header.kind);
  const bool is_to_server =
      kind == MessageKind::kHello || kind == MessageKind::kRequest || kind == MessageKind::kReturn;
  const std::uint32_t groups = std::min(setup_.permit_count, transport_->size());
  const bool may_send =
      is_to_server ? server_of(from, transport_->size(), groups) == me_ : from == server_;
  if (may_send) return {};
  return failure(malformed_message(kRules.at(header.kind).name, "sender", from.number,
                                   is_to_server
                                       ? "must be a rank of this group"
                                       : "must be rank " + std::to_string(server_.number)));
}

Status ConcurrencyLimiter::handle_message(Rank from,
                                          const LinkHeader& header,
                                          std::span<const std::byte> /*payload*/) {
  if (Status checked = check(from, header); !checked) return checked;
  const std::uint64_t grant_id = header.words[0];
  const auto kind = static_cast<MessageKind>(header.kind);
  if (kind == MessageKind::kRequest) handle_request(from);
  if (kind == MessageKind::kReturn) handle_return(from, grant_id);
  const std::lock_guard lock(mutex_);
  if (kind == MessageKind::kGrant) {
    state_ = State::kHeld;
    own_grant_id_ = grant_id;
    is_recalled_ = false;
    signal_all();
  }
  const bool is_own_permit = state_ == State::kHeld && grant_id == own_grant_id_;
  if (kind == MessageKind::kRecall && is_own_permit) {
    is_recalled_ = true;
    wake();
  }
  if (kind == MessageKind::kExpired && is_own_permit) state_ = State::kNone;
  return {};
}

void ConcurrencyLimiter::handle_peer_lost(Rank peer, const Error& /*why*/) {
  departed_.insert(peer);
  std::erase(queue_, peer);
  if (holder_ == peer) grant_next();
  if (peer != server_) return;
  const std::lock_guard lock(mutex_);
  is_unlimited_ = true;
  signal_all();
}

void ConcurrencyLimiter::handle_request(Rank from) {
  if (holder_ == from || std::ranges::find(queue_, from) != queue_.end()) return;
  queue_.push_back(from);
  if (!holder_) return grant_next();
  send(*holder_, MessageKind::kRecall, grant_id_);
}

void ConcurrencyLimiter::handle_return(Rank from, std::uint64_t grant_id) {
  if (holder_ == from && grant_id == grant_id_) grant_next();
}

void ConcurrencyLimiter::grant_next() {
  holder_.reset();
  if (queue_.empty()) return;
  holder_ = queue_.front();
  queue_.pop_front();
  granted_at_ = now();
  send(*holder_, MessageKind::kGrant, ++grant_id_);
  if (!queue_.empty()) send(*holder_, MessageKind::kRecall, grant_id_);
}

void ConcurrencyLimiter::expire_permit(TimePoint time) {
  if (!holder_ || queue_.empty() || time < granted_at_ + setup_.lease) return;
  send(*holder_, MessageKind::kExpired, grant_id_);
  grant_next();
}

bool ConcurrencyLimiter::Permit::try_acquire() {
  if (!limiter_) return true;
  const std::lock_guard lock(limiter_->mutex_);
  if (!std::exchange(is_registered_, true)) ++limiter_->user_count_;
  if (limiter_->is_unlimited_ || limiter_->state_ == State::kHeld) return true;
  if (limiter_->state_ == State::kNone) {
    limiter_->state_ = State::kRequested;
    limiter_->is_request_pending_ = true;
    limiter_->wake();
  }
  return false;
}

bool ConcurrencyLimiter::Permit::arm(detail::Waiter& waiter) {
  if (!limiter_) return false;
  const std::lock_guard lock(limiter_->mutex_);
  if (limiter_->is_unlimited_ || limiter_->state_ != State::kRequested) return false;
  limiter_->waiters_.push_back(&waiter);
  return true;
}

void ConcurrencyLimiter::Permit::disarm(detail::Waiter& waiter) noexcept {
  if (!limiter_) return;
  const std::lock_guard lock(limiter_->mutex_);
  std::erase(limiter_->waiters_, &waiter);
}

void ConcurrencyLimiter::Permit::release() noexcept {
  if (!std::exchange(is_registered_, false)) return;
  const std::lock_guard lock(limiter_->mutex_);
  if (--limiter_->user_count_ == 0) limiter_->wake();
}

}  // namespace forebay::comm
