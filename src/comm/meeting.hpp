// SPDX-License-Identifier: Apache-2.0
// How agents that know each other's addresses come to be connected, each pair by one socket. An
// address may lead to a stranger: hosts have the same private addresses, ports are used again. So
// nobody counts as reached before both ends have shown what only ranks of this job know.
#pragma once

#include <forebay/error.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <vector>

#include "comm/nodes.hpp"
#include "comm/socket.hpp"

namespace forebay::comm {

/// The secret of one job. Who calls shows the first half, who answers the second: a stranger that
/// was called by mistake cannot answer with what it has heard.
struct MeetingToken {
  std::array<std::byte, 16> caller = {};
  std::array<std::byte, 16> answerer = {};
};

struct MeetingPeer {
  Rank rank;
  std::vector<Address> addresses;  ///< tried in this order, again and again; not empty
};

struct Meeting {
  Rank me;
  MeetingToken token;
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
