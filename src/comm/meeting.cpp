// SPDX-License-Identifier: Apache-2.0
// Everybody calls those of lower rank, again and again, and answers the others.
#include "comm/meeting.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <list>
#include <optional>
#include <span>
#include <string>

#include <poll.h>

#include "base/assert.hpp"
#include "base/clock.hpp"
#include "base/sleep_until_ready.hpp"

namespace forebay::comm {

namespace {

/// Answered calls that have not proved themselves, besides two for each peer.
constexpr std::size_t kStrangersMax = 64;

/// A call under way, made or answered by this rank.
struct Call {
  Descriptor socket;
  TimePoint ends;  ///< given up then
  Handshake handshake;
  std::optional<std::size_t> peer = {};  ///< index; of an answered call unknown before its end
  bool is_ours = false;                  ///< made by this rank
  bool is_connected = true;
};

/// What is known of a peer while it is not reached.
struct Progress {
  Descriptor socket;  ///< set once it is reached
  std::size_t next_address = 0;
  TimePoint next_call;
  bool is_called = false;  ///< a call of ours is under way
  std::string trouble = {};
};

enum class Outcome : std::uint8_t { kGoesOn, kReached, kOver };

class MeetingRoom {
 public:
  MeetingRoom(const Meeting& meeting, const std::vector<Listener>& listeners)
      : meeting_(meeting), listeners_(listeners), progress_(meeting.peers.size()) {}

  Result<std::vector<Descriptor>> run();

 private:
  bool calls(std::size_t peer) const { return meeting_.peers[peer].rank < meeting_.me; }
  void make_calls(TimePoint now);
  void begin_call_to(std::size_t peer, TimePoint now);
  void wait(TimePoint now);
  void attend();
  void answer(const Listener& listener);
  void drop_oldest_stranger();
  bool accepts(Rank from) const;
  std::optional<std::size_t> index_of(Rank rank) const;
  std::list<Call>::iterator settle(std::list<Call>::iterator call, Outcome outcome);
  Outcome advance(Call& call);
  Outcome outcome_of(Call& call, Handshake::State state);
  void end_call(Call& call, const std::string& trouble);
  void drop_late_calls(TimePoint now);
  Error not_reached() const;

  const Meeting& meeting_;
  const std::vector<Listener>& listeners_;
  std::vector<Progress> progress_;
  std::size_t reached_ = 0;
  std::list<Call> calls_;
  std::vector<pollfd> entries_;  ///< of the listeners, then of the calls
  TimePoint ends_;
};

Result<std::vector<Descriptor>> MeetingRoom::run() {
  ends_ = SteadyClock::shared().now() + meeting_.limit_ms;
  while (reached_ < progress_.size()) {
    const TimePoint now = SteadyClock::shared().now();
    if (now >= ends_) return failure(not_reached());
    drop_late_calls(now);
    make_calls(now);
    wait(now);
    attend();
  }
  std::vector<Descriptor> sockets;
  for (Progress& peer : progress_)
    sockets.push_back(std::move(peer.socket));
  return sockets;
}

void MeetingRoom::make_calls(TimePoint now) {
  for (std::size_t peer = 0; peer < progress_.size(); ++peer) {
    const Progress& progress = progress_[peer];
    const bool is_due = !progress.socket && !progress.is_called && progress.next_call <= now;
    if (calls(peer) && is_due) begin_call_to(peer, now);
  }
}

void MeetingRoom::begin_call_to(std::size_t peer, TimePoint now) {
  Progress& progress = progress_[peer];
  const std::vector<Address>& addresses = meeting_.peers[peer].addresses;
  FOREBAY_ASSERT(!addresses.empty());
  const Address& address = addresses[progress.next_address];
  progress.next_address = (progress.next_address + 1) % addresses.size();
  progress.next_call = progress.next_address == 0 ? now + kPauseBetweenRounds : now;
  Result<Descriptor> socket = begin_call(address, meeting_.socket);
  if (!socket) {
    progress.trouble = socket.error().message();
    return;
  }
  progress.trouble = "no answer from " + text_of(address);
  const auto limit = try_limit(addresses.size(), meeting_.limit_ms);
  progress.is_called = true;
  calls_.push_back(
      {.socket = std::move(*socket),
       .ends = now + limit,
       .handshake = Handshake::of_caller(meeting_.key, meeting_.me, meeting_.peers[peer].rank),
       .peer = peer,
       .is_ours = true,
       .is_connected = false});
}

/// Sleeps until somebody calls, answers or speaks, or until the next thing is due.
void MeetingRoom::wait(TimePoint now) {
  TimePoint until = ends_;
  entries_.clear();
  for (const Listener& listener : listeners_)
    entries_.push_back({listener.socket.get(), POLLIN, 0});
  for (const Call& call : calls_) {
    const bool is_calling = call.is_ours && !call.is_connected;
    const short events = is_calling ? POLLOUT : POLLIN;
    entries_.push_back({call.socket.get(), events, 0});
    until = std::min(until, call.ends);
  }
  for (std::size_t peer = 0; peer < progress_.size(); ++peer) {
    const Progress& progress = progress_[peer];
    const bool waits = calls(peer) && !progress.socket && !progress.is_called;
    if (waits) until = std::min(until, progress.next_call);
  }
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - now);
  sleep_until_ready(entries_, left);
}

void MeetingRoom::attend() {
  auto entry = entries_.begin() + static_cast<std::ptrdiff_t>(listeners_.size());
  for (auto call = calls_.begin(); call != calls_.end(); ++entry) {
    const Outcome outcome = entry->revents == 0 ? Outcome::kGoesOn : advance(*call);
    call = settle(call, outcome);
  }
  for (std::size_t i = 0; i < listeners_.size(); ++i) {
    if (entries_[i].revents != 0) answer(listeners_[i]);
  }
}

/// The call after it.
std::list<Call>::iterator MeetingRoom::settle(std::list<Call>::iterator call, Outcome outcome) {
  if (outcome == Outcome::kGoesOn) return std::next(call);
  if (outcome == Outcome::kReached) {
    progress_[*call->peer].socket = std::move(call->socket);
    ++reached_;
  }
  return calls_.erase(call);
}

void MeetingRoom::answer(const Listener& listener) {
  Descriptor socket = accept_call(listener, meeting_.socket);
  if (!socket) return;
  const auto is_stranger = [](const Call& call) { return !call.is_ours; };
  const auto strangers = static_cast<std::size_t>(std::ranges::count_if(calls_, is_stranger));
  if (strangers >= kStrangersMax + 2 * progress_.size()) drop_oldest_stranger();
  calls_.push_back({.socket = std::move(socket),
                    .ends = SteadyClock::shared().now() + kAnswerMax,
                    .handshake = Handshake::of_answerer(meeting_.key, meeting_.me)});
}

/// One that has sent no hello, if there is one. Its last words are read first: it may have proved
/// itself just now, and counts this rank as reached then.
void MeetingRoom::drop_oldest_stranger() {
  const auto is_silent = [](const Call& call) { return !call.is_ours && !call.handshake.peer(); };
  const auto is_stranger = [](const Call& call) { return !call.is_ours; };
  auto oldest = std::ranges::find_if(calls_, is_silent);
  if (oldest == calls_.end()) oldest = std::ranges::find_if(calls_, is_stranger);
  const Outcome outcome = advance(*oldest);
  settle(oldest, outcome == Outcome::kReached ? outcome : Outcome::kOver);
}

Outcome MeetingRoom::advance(Call& call) {
  if (call.is_connected) {
    return outcome_of(
        call, call.handshake.advance(call.socket, [this](Rank from) { return accepts(from); }));
  }
  if (const int error_number = call_outcome(call.socket); error_number != 0) {
    const Error error = system_error({.operation = "connect"}, error_number);
    end_call(call, progress_[*call.peer].trouble + ": " + error.message());
    return Outcome::kOver;
  }
  call.is_connected = true;
  return outcome_of(call, call.handshake.begin(call.socket));
}

Outcome MeetingRoom::outcome_of(Call& call, Handshake::State state) {
  if (state == Handshake::State::kUnderWay) return Outcome::kGoesOn;
  if (state == Handshake::State::kFailed) {
    end_call(call, call.handshake.trouble());
    return Outcome::kOver;
  }
  call.peer = index_of(*call.handshake.peer());
  return progress_[*call.peer].socket ? Outcome::kOver : Outcome::kReached;
}

std::optional<std::size_t> MeetingRoom::index_of(Rank rank) const {
  const auto found = std::ranges::find(meeting_.peers, rank, &MeetingPeer::rank);
  if (found == meeting_.peers.end()) return std::nullopt;
  return static_cast<std::size_t>(found - meeting_.peers.begin());
}

/// Ranks of lower number are called, and do not call.
bool MeetingRoom::accepts(Rank from) const {
  return from > meeting_.me && index_of(from).has_value();
}

/// The caller tries the next address.
void MeetingRoom::end_call(Call& call, const std::string& trouble) {
  if (!call.is_ours) return;
  Progress& peer = progress_[*call.peer];
  peer.is_called = false;
  peer.trouble = trouble;
}

void MeetingRoom::drop_late_calls(TimePoint now) {
  for (Call& call : calls_) {
    if (call.ends <= now && call.is_ours) end_call(call, progress_[*call.peer].trouble);
  }
  calls_.remove_if([now](const Call& call) { return call.ends <= now; });
}

Error MeetingRoom::not_reached() const {
  const auto missing = std::ranges::find_if(progress_, [](const Progress& p) { return !p.socket; });
  const auto peer = static_cast<std::size_t>(missing - progress_.begin());
  const std::string name = "rank " + std::to_string(meeting_.peers[peer].rank.number);
  const std::string cause =
      calls(peer) ? "cannot reach " + name + ": " + missing->trouble : name + " did not call";
  return system_error({.operation = "connect the agents of all nodes", .cause = cause}, ETIMEDOUT);
}

}  // namespace

Result<std::vector<Descriptor>> meet(const Meeting& meeting,
                                     const std::vector<Listener>& listeners) {
  return MeetingRoom(meeting, listeners).run();
}

}  // namespace forebay::comm
