// SPDX-License-Identifier: Apache-2.0
// How agents that know each other's addresses come to be connected, each pair by one socket, on
// which both have authenticated each other (handshake.hpp).
#pragma once

#include <forebay/error.hpp>

#include <chrono>
#include <vector>

#include "comm/handshake.hpp"
#include "comm/nodes.hpp"
#include "comm/socket.hpp"

namespace forebay::comm {

struct MeetingPeer {
  Rank rank;
  std::vector<Address> addresses;  ///< tried in this order, again and again; not empty
};

struct Meeting {
  Rank me;
  JobKey key = {};
  std::vector<MeetingPeer> peers;  ///< those of lower rank are called, the others call
  SocketOptions socket = {};
  std::chrono::milliseconds limit_ms{30'000};
};

/// Blocks until there is a socket to each peer, in the order of `meeting.peers`, or until the limit
/// has passed: then the Error names a peer that was not reached and what was in the way. All peers
/// call this at about the same time; `listeners` are where the others expect this rank.
Result<std::vector<Descriptor>> meet(const Meeting& meeting,
                                     const std::vector<Listener>& listeners);

}  // namespace forebay::comm
