// SPDX-License-Identifier: Apache-2.0
// Connections to ranks one by one, when they are wanted, without waiting: meet() connects all of a
// group at once and blocks; this goes on for as long as the ranks talk. Calls time out, strangers
// that call are dropped, and nobody else pays for either.
#pragma once

#include <forebay/error.hpp>

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/clock.hpp"
#include "base/descriptor.hpp"
#include "comm/handshake.hpp"
#include "comm/nodes.hpp"
#include "comm/socket.hpp"

namespace forebay::comm {

enum class CallMadeBy : std::uint8_t { kUs, kPeer };

/// Belongs to one thread at a time. Nothing blocks.
class Switchboard {
 public:
  struct Setup {
    Rank me;
    std::uint32_t ranks = 1;
    JobKey key = {};
    std::vector<Listener> listeners;  ///< where the others expect this rank
    SocketOptions socket = {};
    std::chrono::milliseconds limit_ms{30'000};  ///< for each peer that is called
  };

  /// A peer is connected, by both sides' count; or was called in vain.
  struct Outcome {
    Rank peer;
    CallMadeBy made_by = CallMadeBy::kUs;
    Result<Descriptor> socket;
  };

  static Result<std::unique_ptr<Switchboard>> make(Setup setup);

  /// Readable when attend() has something to do; an epoll descriptor.
  int descriptor() const noexcept { return events_.get(); }
  /// When attend() must be called though the descriptor is silent. Changes in the calls below.
  std::optional<TimePoint> due() const noexcept { return due_; }

  /// Calls a peer that is not being called, at these addresses (not empty) by turns, until one
  /// answers or the limit has passed. A later attend() tells the outcome, unless it is given up. If
  /// nobody listens at any of them any more, or no descriptor is left, the outcome comes at once.
  void call(Rank peer, std::vector<Address> addresses);
  void give_up(Rank peer);

  /// Goes on with what is under way, and returns what has come to an end. The same peer may be
  /// connected twice, once by a call from each side.
  std::vector<Outcome> attend();

 private:
  /// A connection under way.
  struct Call {
    Descriptor socket;
    TimePoint ends;  ///< given up then
    Handshake handshake;
    CallMadeBy made_by = CallMadeBy::kPeer;
    bool is_connected = true;

    Rank peer() const { return *handshake.peer(); }
  };
  using Calls = std::map<std::uint64_t, Call>;  ///< by key, so by age

  /// A peer that is called.
  struct Wanted {
    std::vector<Address> addresses;
    TimePoint ends;
    TimePoint next_call;
    std::optional<std::uint64_t> call = {};  ///< the one under way
    std::size_t tries = 0;
    std::size_t refused_in_row = 0;  ///< tries that found nobody listening
    std::string trouble = {};
  };

  explicit Switchboard(Setup setup) : setup_(std::move(setup)) {}
  Status open();
  bool watch(const Descriptor& socket, std::uint32_t events, std::uint64_t key, int operation);
  void listen(std::uint32_t events);

  void make_calls(TimePoint now);
  void try_next_address(Rank peer, TimePoint now);
  void missed(Rank peer, int error_number, const std::string& trouble);
  bool is_in_vain(const Wanted& wanted, TimePoint now) const;
  void fail(Rank peer, ErrorDetails details);

  void answer(const Listener& listener, TimePoint now);
  void take_call(Descriptor socket, TimePoint now);
  bool make_room(TimePoint now);
  void drop_oldest_stranger(TimePoint now);

  void attend_call(Calls::iterator call, TimePoint now);
  void greet(Calls::iterator call);
  void follow(Calls::iterator call, Handshake::State state);
  void reached(Calls::iterator call);
  void hang_up(Calls::iterator call, int error_number, std::string trouble);
  void drop_late_calls(TimePoint now);
  void find_due();

  Setup setup_;
  Descriptor events_;
  std::optional<TimePoint> due_;
  std::optional<TimePoint> deaf_until_;  ///< no descriptor was left for who calls
  Calls calls_;
  std::size_t strangers_ = 0;  ///< answered, and have not proved themselves
  std::uint64_t next_key_ = 0;
  std::unordered_map<std::uint32_t, Wanted> wanted_;  ///< by rank
  std::vector<Outcome> outcomes_;
};

}  // namespace forebay::comm
