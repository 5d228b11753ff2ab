// SPDX-License-Identifier: Apache-2.0
// Each pending connection has a key that is never reused, so a late event of an ended connection is
// ignored.
#include "comm/connector.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include <sys/epoll.h>

#include "base/assert.hpp"

namespace forebay::comm {

namespace {

constexpr std::size_t kUnauthenticatedMax = 256;  ///< accepted, and not authenticated yet
constexpr int kEventsPerPollMax = 64;  ///< events in one poll(), and connections in one accept loop
constexpr std::size_t kRoundsMin = 2;  ///< attempts at each address before connecting fails
constexpr std::chrono::milliseconds kHandshakeTimeoutMin{150};  ///< above the shortest attempt
constexpr std::chrono::milliseconds kAcceptPause{100};

bool is_out_of_descriptors(int error_number) noexcept {
  return error_number == EMFILE || error_number == ENFILE;
}

/// True if a sandbox forbids accept(). That is permanent.
bool is_forbidden(int error_number) noexcept {
  return error_number == EPERM || error_number == EACCES || error_number == ENOSYS;
}

ErrorDetails out_of_descriptors(int error_number) {
  return {.kind = ErrorClass::kLimit,
          .error_number = error_number,
          .cause =
              "each connected rank takes one or two descriptors; raise the limit of open files "
              "(ulimit -n)"};
}

}  // namespace

Result<std::unique_ptr<Connector>> Connector::make(Setup setup) {
  std::unique_ptr<Connector> made(new Connector(std::move(setup)));
  if (Status opened = made->open(); !opened) return failure(opened.error());
  return made;
}

Status Connector::open() {
  const auto failed = [] {
    return failure(system_error({.operation = "listen for other ranks"}, errno));
  };
  events_ = Descriptor(::epoll_create1(EPOLL_CLOEXEC));
  if (!events_) return failed();
  for (const TcpListener& listener : setup_.listeners) {
    if (!watch(listener.socket, EPOLLIN, next_key_++, EPOLL_CTL_ADD)) return failed();
  }
  return {};
}

bool Connector::watch(const Descriptor& socket,
                      std::uint32_t events,
                      std::uint64_t key,
                      int operation) {
  epoll_event event{.events = events, .data = {.u64 = key}};
  return ::epoll_ctl(events_.get(), operation, socket.get(), &event) == 0;
}

void Connector::watch_listeners(std::uint32_t events) {
  for (std::size_t i = 0; i < setup_.listeners.size(); ++i)
    watch(setup_.listeners[i].socket, events, i, EPOLL_CTL_MOD);
}

void Connector::connect(Rank peer, std::vector<SocketAddress> addresses) {
  FOREBAY_ASSERT(!addresses.empty());
  const TimePoint now = SteadyClock::shared().now();
  const TimePoint deadline = now + setup_.timeout_ms;
  const bool is_new = targets_
                          .try_emplace(peer.number, ConnectTarget{.addresses = std::move(addresses),
                                                                  .deadline = deadline,
                                                                  .next_attempt = now})
                          .second;
  FOREBAY_ASSERT(is_new);
  try_next_address(peer, now);
  update_deadline();
}

void Connector::cancel(Rank peer) {
  const auto found = targets_.find(peer.number);
  if (found == targets_.end()) return;
  if (found->second.pending_key) pending_.erase(*found->second.pending_key);
  targets_.erase(found);
  update_deadline();
}

std::vector<Connector::ConnectResult> Connector::poll() {
  const TimePoint now = SteadyClock::shared().now();
  if (accept_paused_until_ && *accept_paused_until_ <= now) {
    accept_paused_until_.reset();
    watch_listeners(EPOLLIN);
  }
  std::array<epoll_event, kEventsPerPollMax> events{};
  const int count = ::epoll_wait(events_.get(), events.data(), kEventsPerPollMax, 0);
  for (int i = 0; i < count; ++i) {
    const std::uint64_t key = events.at(static_cast<std::size_t>(i)).data.u64;
    if (key < setup_.listeners.size()) {
      accept_connections(setup_.listeners[key], now);
    } else if (const auto connection = pending_.find(key); connection != pending_.end()) {
      process_connection(connection, now);
    }
  }
  drop_expired(now);
  start_due_attempts(now);
  std::vector<ConnectResult> results = std::exchange(results_, {});
  update_deadline();
  return results;
}

void Connector::start_due_attempts(TimePoint now) {
  std::vector<Rank> due;
  for (const auto& [rank, target] : targets_) {
    if (!target.pending_key && target.next_attempt <= now) due.push_back(Rank{rank});
  }
  for (const Rank peer : due)
    try_next_address(peer, now);
}

void Connector::try_next_address(Rank peer, TimePoint now) {
  ConnectTarget& target = targets_.at(peer.number);
  const std::size_t count = target.addresses.size();
  const SocketAddress& address = target.addresses[target.attempts++ % count];
  target.next_attempt = target.attempts % count == 0 ? now + kRetryDelay : now;
  target.failure_reason = text_of(address);
  Result<Descriptor> socket = start_connect(address, setup_.socket);
  const std::uint64_t key = next_key_++;
  if (socket && !watch(*socket, EPOLLOUT, key, EPOLL_CTL_ADD))
    socket = failure(system_error({}, errno));
  if (!socket) {
    const int error_number = socket.error().error_number();
    if (is_out_of_descriptors(error_number)) return fail(peer, out_of_descriptors(error_number));
    return handle_failed_attempt(peer, error_number, socket.error().message());
  }
  pending_.emplace(
      key, PendingConnection{.socket = std::move(*socket),
                             .deadline = now + connect_attempt_timeout(count, setup_.timeout_ms),
                             .handshake = Handshake::make_client(setup_.key, setup_.me, peer),
                             .initiator = Initiator::kSelf,
                             .is_connected = false});
  target.pending_key = key;
}

/// Retries later, or ends connecting to `peer` with an Error and removes its target.
void Connector::handle_failed_attempt(Rank peer, int error_number, const std::string& cause) {
  ConnectTarget& target = targets_.at(peer.number);
  target.pending_key.reset();
  target.consecutive_refusals = error_number == ECONNREFUSED ? target.consecutive_refusals + 1 : 0;
  target.failure_reason += ": " + cause;
  if (target.consecutive_refusals >= kRoundsMin * target.addresses.size()) {
    return fail(peer, {.kind = ErrorClass::kClosed,
                       .error_number = ECONNREFUSED,
                       .cause = "it has left: no listener at " + target.failure_reason});
  }
  if (!is_exhausted(target, SteadyClock::shared().now())) return;
  fail(peer,
       {.kind = ErrorClass::kClosed, .error_number = ETIMEDOUT, .cause = target.failure_reason});
}

/// Requires enough attempts, too: the deadline may have passed while poll() was not called.
bool Connector::is_exhausted(const ConnectTarget& target, TimePoint now) const {
  return target.deadline <= now && target.attempts >= kRoundsMin * target.addresses.size();
}

void Connector::fail(Rank peer, ErrorDetails details) {
  details.operation = "connect to another rank";
  details.rank = peer.number;
  targets_.erase(peer.number);
  results_.push_back({peer, Initiator::kSelf, failure(std::move(details))});
}

void Connector::accept_connections(const TcpListener& listener, TimePoint now) {
  for (int i = 0; i < kEventsPerPollMax; ++i) {
    Descriptor socket = accept_connection(listener, setup_.socket);
    if (socket) {
      add_incoming(std::move(socket), now);
    } else if (errno == EAGAIN || !recover_from_accept_error(now)) {
      return;
    }
  }
}

void Connector::add_incoming(Descriptor socket, TimePoint now) {
  if (unauthenticated_ >= kUnauthenticatedMax) drop_oldest_unauthenticated(now);
  const std::uint64_t key = next_key_++;
  if (!watch(socket, EPOLLIN, key, EPOLL_CTL_ADD)) return;
  pending_.emplace(
      key, PendingConnection{.socket = std::move(socket),
                             .deadline = now + std::clamp(setup_.timeout_ms, kHandshakeTimeoutMin,
                                                          kHandshakeTimeoutMax),
                             .handshake = Handshake::make_server(setup_.key, setup_.me)});
  ++unauthenticated_;
}

/// Handles a failed accept(); true if it may be called again now. Without free descriptors it
/// pauses accepting, because the readable listener would wake the owner continuously. If accept()
/// is forbidden, it closes the listeners, so that connects of other ranks fail immediately.
bool Connector::recover_from_accept_error(TimePoint now) {
  const bool is_transient = errno == ECONNABORTED || errno == EINTR;
  if (is_transient) return true;
  if (is_forbidden(errno)) {
    for (TcpListener& listener : setup_.listeners)
      listener.socket = {};
    return false;
  }
  if (unauthenticated_ > 0 && is_out_of_descriptors(errno)) {
    drop_oldest_unauthenticated(now);
    return true;
  }
  accept_paused_until_ = now + kAcceptPause;
  watch_listeners(0);
  return false;
}

/// Drops the oldest accepted connection, preferably one without hello. Reads its pending messages
/// first: if a proof has arrived, the peer already uses the connection, so it is kept.
void Connector::drop_oldest_unauthenticated(TimePoint now) {
  const auto is_incoming = [](const auto& connection) {
    return connection.second.initiator == Initiator::kPeer;
  };
  auto oldest = std::ranges::find_if(pending_, [&](const auto& connection) {
    return is_incoming(connection) && !connection.second.handshake.peer();
  });
  if (oldest == pending_.end()) oldest = std::ranges::find_if(pending_, is_incoming);
  FOREBAY_ASSERT(oldest != pending_.end());
  const std::uint64_t key = oldest->first;
  process_connection(oldest, now);
  if (const auto connection = pending_.find(key); connection != pending_.end())
    abort_connection(connection, 0, "");
}

void Connector::process_connection(PendingConnections::iterator connection, TimePoint now) {
  const bool is_outgoing = connection->second.initiator == Initiator::kSelf;
  // Send no proof after the deadline: the other side may have dropped the connection.
  if (is_outgoing && connection->second.deadline <= now)
    return abort_connection(connection, ETIMEDOUT, "no answer in time");
  if (!connection->second.is_connected) return start_handshake(connection);
  const auto accepts = [this](Rank from) {
    return from.number < setup_.ranks && from != setup_.me;
  };
  handle_state(connection,
               connection->second.handshake.advance(connection->second.socket, accepts));
}

/// connect() has completed or failed.
void Connector::start_handshake(PendingConnections::iterator connection) {
  const Descriptor& socket = connection->second.socket;
  if (const int error_number = connect_errno(socket); error_number != 0) {
    return abort_connection(connection, error_number, system_error({}, error_number).message());
  }
  connection->second.is_connected = true;
  if (!watch(socket, EPOLLIN, connection->first, EPOLL_CTL_MOD))
    return abort_connection(connection, errno, "epoll cannot watch the socket");
  handle_state(connection, connection->second.handshake.begin(socket));
}

void Connector::handle_state(PendingConnections::iterator connection, Handshake::State state) {
  if (state == Handshake::State::kDone) return complete_connection(connection);
  if (state == Handshake::State::kFailed)
    abort_connection(connection, 0, connection->second.handshake.failure_reason());
}

void Connector::complete_connection(PendingConnections::iterator connection) {
  PendingConnection done = std::move(connection->second);
  pending_.erase(connection);
  ::epoll_ctl(events_.get(), EPOLL_CTL_DEL, done.socket.get(), nullptr);
  if (done.initiator == Initiator::kSelf)
    targets_.erase(done.peer().number);
  else
    --unauthenticated_;
  results_.push_back({done.peer(), done.initiator, std::move(done.socket)});
}

void Connector::abort_connection(PendingConnections::iterator connection,
                                 int error_number,
                                 std::string cause) {
  const PendingConnection done = std::move(connection->second);
  pending_.erase(connection);
  if (done.initiator == Initiator::kSelf)
    handle_failed_attempt(done.peer(), error_number, cause);
  else
    --unauthenticated_;
}

/// Reads pending messages of accepted connections first: a proof may have arrived while poll() was
/// not called. The peer then already uses the connection, so it is kept.
void Connector::drop_expired(TimePoint now) {
  std::vector<std::uint64_t> expired;
  for (const auto& [key, connection] : pending_) {
    if (connection.deadline <= now) expired.push_back(key);
  }
  for (const std::uint64_t key : expired) {
    process_connection(pending_.find(key), now);
    if (const auto connection = pending_.find(key); connection != pending_.end())
      abort_connection(connection, 0, "");
  }
}

void Connector::update_deadline() {
  next_deadline_.reset();
  const auto consider = [this](TimePoint time) {
    next_deadline_ = next_deadline_ ? std::min(*next_deadline_, time) : time;
  };
  if (!results_.empty()) consider(kDoNotBlock);
  if (accept_paused_until_) consider(*accept_paused_until_);
  for (const auto& [key, connection] : pending_)
    consider(connection.deadline);
  for (const auto& [rank, target] : targets_) {
    if (!target.pending_key) consider(target.next_attempt);
  }
}

}  // namespace forebay::comm
