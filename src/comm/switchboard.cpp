// SPDX-License-Identifier: Apache-2.0
// Each connection under way has a key, which is never used again: an event of one that has ended
// meanwhile finds nothing.
#include "comm/switchboard.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include <sys/epoll.h>

#include "base/assert.hpp"

namespace forebay::comm {

namespace {

constexpr std::size_t kCallersMax = 256;  ///< answered, and have not proved themselves
constexpr int kAttendedMax = 64;          ///< in one call of attend(), as are calls answered
constexpr std::size_t kRoundsMin = 2;     ///< tries of all addresses before a peer is given up
constexpr std::chrono::milliseconds kAnswerMin{150};  ///< more than a try with a short limit takes
constexpr std::chrono::milliseconds kDeafFor{100};

bool is_out_of_descriptors(int error_number) noexcept {
  return error_number == EMFILE || error_number == ENFILE;
}

/// A sandbox that lets no process answer calls will not change its mind.
bool is_forbidden(int error_number) noexcept {
  return error_number == EPERM || error_number == EACCES || error_number == ENOSYS;
}

ErrorDetails out_of_descriptors(int error_number) {
  return {.kind = ErrorClass::kLimit,
          .error_number = error_number,
          .cause =
              "each rank that is talked to takes a descriptor, or two: allow this process "
              "more of them (ulimit -n)"};
}

}  // namespace

Result<std::unique_ptr<Switchboard>> Switchboard::make(Setup setup) {
  std::unique_ptr<Switchboard> made(new Switchboard(std::move(setup)));
  if (Status opened = made->open(); !opened) return failure(opened.error());
  return made;
}

Status Switchboard::open() {
  const auto failed = [] {
    return failure(system_error({.operation = "wait for calls of ranks"}, errno));
  };
  events_ = Descriptor(::epoll_create1(EPOLL_CLOEXEC));
  if (!events_) return failed();
  for (const Listener& listener : setup_.listeners) {
    if (!watch(listener.socket, EPOLLIN, next_key_++, EPOLL_CTL_ADD)) return failed();
  }
  return {};
}

bool Switchboard::watch(const Descriptor& socket,
                        std::uint32_t events,
                        std::uint64_t key,
                        int operation) {
  epoll_event event{.events = events, .data = {.u64 = key}};
  return ::epoll_ctl(events_.get(), operation, socket.get(), &event) == 0;
}

void Switchboard::listen(std::uint32_t events) {
  for (std::size_t i = 0; i < setup_.listeners.size(); ++i)
    watch(setup_.listeners[i].socket, events, i, EPOLL_CTL_MOD);
}

void Switchboard::call(Rank peer, std::vector<Address> addresses) {
  FOREBAY_ASSERT(!addresses.empty());
  const TimePoint now = SteadyClock::shared().now();
  const TimePoint ends = now + setup_.limit_ms;
  const bool is_new =
      wanted_
          .try_emplace(peer.number,
                       Wanted{.addresses = std::move(addresses), .ends = ends, .next_call = now})
          .second;
  FOREBAY_ASSERT(is_new);
  try_next_address(peer, now);
  find_due();
}

void Switchboard::give_up(Rank peer) {
  const auto found = wanted_.find(peer.number);
  if (found == wanted_.end()) return;
  if (found->second.call) calls_.erase(*found->second.call);
  wanted_.erase(found);
  find_due();
}

std::vector<Switchboard::Outcome> Switchboard::attend() {
  const TimePoint now = SteadyClock::shared().now();
  if (deaf_until_ && *deaf_until_ <= now) {
    deaf_until_.reset();
    listen(EPOLLIN);
  }
  std::array<epoll_event, kAttendedMax> events{};
  const int count = ::epoll_wait(events_.get(), events.data(), kAttendedMax, 0);
  for (int i = 0; i < count; ++i) {
    const std::uint64_t key = events.at(static_cast<std::size_t>(i)).data.u64;
    if (key < setup_.listeners.size()) {
      answer(setup_.listeners[key], now);
    } else if (const auto call = calls_.find(key); call != calls_.end()) {
      attend_call(call, now);
    }
  }
  drop_late_calls(now);
  make_calls(now);
  std::vector<Outcome> outcomes = std::exchange(outcomes_, {});
  find_due();
  return outcomes;
}

void Switchboard::make_calls(TimePoint now) {
  std::vector<Rank> due;
  for (const auto& [rank, wanted] : wanted_) {
    if (!wanted.call && wanted.next_call <= now) due.push_back(Rank{rank});
  }
  for (const Rank peer : due)
    try_next_address(peer, now);
}

void Switchboard::try_next_address(Rank peer, TimePoint now) {
  Wanted& wanted = wanted_.at(peer.number);
  const std::size_t count = wanted.addresses.size();
  const Address& address = wanted.addresses[wanted.tries++ % count];
  wanted.next_call = wanted.tries % count == 0 ? now + kPauseBetweenRounds : now;
  wanted.trouble = text_of(address);
  Result<Descriptor> socket = begin_call(address, setup_.socket);
  const std::uint64_t key = next_key_++;
  if (socket && !watch(*socket, EPOLLOUT, key, EPOLL_CTL_ADD))
    socket = failure(system_error({}, errno));
  if (!socket) {
    const int error_number = socket.error().error_number();
    if (is_out_of_descriptors(error_number)) return fail(peer, out_of_descriptors(error_number));
    return missed(peer, error_number, socket.error().message());
  }
  calls_.emplace(key, Call{.socket = std::move(*socket),
                           .ends = now + try_limit(count, setup_.limit_ms),
                           .handshake = Handshake::of_caller(setup_.key, setup_.me, peer),
                           .made_by = CallMadeBy::kUs,
                           .is_connected = false});
  wanted.call = key;
}

/// A try was in vain. May forget the peer.
void Switchboard::missed(Rank peer, int error_number, const std::string& trouble) {
  Wanted& wanted = wanted_.at(peer.number);
  wanted.call.reset();
  wanted.refused_in_row = error_number == ECONNREFUSED ? wanted.refused_in_row + 1 : 0;
  wanted.trouble += ": " + trouble;
  if (wanted.refused_in_row >= kRoundsMin * wanted.addresses.size()) {
    return fail(peer, {.kind = ErrorClass::kClosed,
                       .error_number = ECONNREFUSED,
                       .cause = "it has left: nobody listens at " + wanted.trouble});
  }
  if (!is_in_vain(wanted, SteadyClock::shared().now())) return;
  fail(peer, {.kind = ErrorClass::kClosed, .error_number = ETIMEDOUT, .cause = wanted.trouble});
}

/// Time alone does not count: it may have passed while nobody called attend().
bool Switchboard::is_in_vain(const Wanted& wanted, TimePoint now) const {
  return wanted.ends <= now && wanted.tries >= kRoundsMin * wanted.addresses.size();
}

void Switchboard::fail(Rank peer, ErrorDetails details) {
  details.operation = "connect to another rank";
  details.rank = peer.number;
  wanted_.erase(peer.number);
  outcomes_.push_back({peer, CallMadeBy::kUs, failure(std::move(details))});
}

void Switchboard::answer(const Listener& listener, TimePoint now) {
  for (int i = 0; i < kAttendedMax; ++i) {
    Descriptor socket = accept_call(listener, setup_.socket);
    if (socket) {
      take_call(std::move(socket), now);
    } else if (errno == EAGAIN || !make_room(now)) {
      return;
    }
  }
}

void Switchboard::take_call(Descriptor socket, TimePoint now) {
  if (strangers_ >= kCallersMax) drop_oldest_stranger(now);
  const std::uint64_t key = next_key_++;
  if (!watch(socket, EPOLLIN, key, EPOLL_CTL_ADD)) return;
  calls_.emplace(key, Call{.socket = std::move(socket),
                           .ends = now + std::clamp(setup_.limit_ms, kAnswerMin, kAnswerMax),
                           .handshake = Handshake::of_answerer(setup_.key, setup_.me)});
  ++strangers_;
}

/// After a call could not be answered: may the next be tried now? Where no descriptor is left,
/// nobody is answered for a while, as the listener would wake its owner on and on. Where calls may
/// not be answered at all nobody listens any more, so that callers know at once.
bool Switchboard::make_room(TimePoint now) {
  const bool is_one_lost = errno == ECONNABORTED || errno == EINTR;
  if (is_one_lost) return true;
  if (is_forbidden(errno)) {
    for (Listener& listener : setup_.listeners)
      listener.socket = {};
    return false;
  }
  if (strangers_ > 0 && is_out_of_descriptors(errno)) {
    drop_oldest_stranger(now);
    return true;
  }
  deaf_until_ = now + kDeafFor;
  listen(0);
  return false;
}

/// One that has sent no hello, if there is one. Its last words are read first: it may have proved
/// itself just now, and counts this rank as reached then.
void Switchboard::drop_oldest_stranger(TimePoint now) {
  const auto is_answered = [](const auto& call) {
    return call.second.made_by == CallMadeBy::kPeer;
  };
  auto oldest = std::ranges::find_if(
      calls_, [&](const auto& call) { return is_answered(call) && !call.second.handshake.peer(); });
  if (oldest == calls_.end()) oldest = std::ranges::find_if(calls_, is_answered);
  FOREBAY_ASSERT(oldest != calls_.end());
  const std::uint64_t key = oldest->first;
  attend_call(oldest, now);
  if (const auto call = calls_.find(key); call != calls_.end()) hang_up(call, 0, "");
}

void Switchboard::attend_call(Calls::iterator call, TimePoint now) {
  const bool is_ours = call->second.made_by == CallMadeBy::kUs;
  // Never confirm late: the other side may have given us up.
  if (is_ours && call->second.ends <= now) return hang_up(call, ETIMEDOUT, "no answer in time");
  if (!call->second.is_connected) return greet(call);
  const auto accepts = [this](Rank from) {
    return from.number < setup_.ranks && from != setup_.me;
  };
  follow(call, call->second.handshake.advance(call->second.socket, accepts));
}

/// The connection is made, or not.
void Switchboard::greet(Calls::iterator call) {
  const Descriptor& socket = call->second.socket;
  if (const int error_number = call_outcome(socket); error_number != 0) {
    return hang_up(call, error_number, system_error({}, error_number).message());
  }
  call->second.is_connected = true;
  if (!watch(socket, EPOLLIN, call->first, EPOLL_CTL_MOD))
    return hang_up(call, errno, "not watched");
  follow(call, call->second.handshake.begin(socket));
}

void Switchboard::follow(Calls::iterator call, Handshake::State state) {
  if (state == Handshake::State::kDone) return reached(call);
  if (state == Handshake::State::kFailed) hang_up(call, 0, call->second.handshake.trouble());
}

void Switchboard::reached(Calls::iterator call) {
  Call done = std::move(call->second);
  calls_.erase(call);
  ::epoll_ctl(events_.get(), EPOLL_CTL_DEL, done.socket.get(), nullptr);
  if (done.made_by == CallMadeBy::kUs)
    wanted_.erase(done.peer().number);
  else
    --strangers_;
  outcomes_.push_back({done.peer(), done.made_by, std::move(done.socket)});
}

void Switchboard::hang_up(Calls::iterator call, int error_number, std::string trouble) {
  const Call done = std::move(call->second);
  calls_.erase(call);
  if (done.made_by == CallMadeBy::kUs)
    missed(done.peer(), error_number, trouble);
  else
    --strangers_;
}

/// One that was answered is heard once more before: it may have confirmed while nobody called
/// attend(), and counts this rank as reached then.
void Switchboard::drop_late_calls(TimePoint now) {
  std::vector<std::uint64_t> late;
  for (const auto& [key, call] : calls_) {
    if (call.ends <= now) late.push_back(key);
  }
  for (const std::uint64_t key : late) {
    attend_call(calls_.find(key), now);
    if (const auto call = calls_.find(key); call != calls_.end()) hang_up(call, 0, "");
  }
}

void Switchboard::find_due() {
  due_.reset();
  const auto at_the_latest = [this](TimePoint time) { due_ = due_ ? std::min(*due_, time) : time; };
  if (!outcomes_.empty()) at_the_latest(kDoNotBlock);
  if (deaf_until_) at_the_latest(*deaf_until_);
  for (const auto& [key, call] : calls_)
    at_the_latest(call.ends);
  for (const auto& [rank, wanted] : wanted_) {
    if (!wanted.call) at_the_latest(wanted.next_call);
  }
}

}  // namespace forebay::comm
