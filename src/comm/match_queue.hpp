// SPDX-License-Identifier: Apache-2.0
// MatchQueue: matches sends and receives between ranks of one process. The second of the two calls
// copies the bytes to the receiver's memory; nothing is buffered. A program that relies on
// buffering hangs here, as it may under MPI.
#pragma once

#include <forebay/error.hpp>

#include <cstddef>
#include <list>
#include <memory>
#include <optional>
#include <span>

#include "comm/communicator.hpp"

namespace forebay::comm {

/// One side of a message: waiting, or complete.
struct PendingMessage {
  Rank from = {};
  Tag tag = {};
  std::span<const std::byte> bytes = {};  ///< of a send
  std::span<std::byte> into = {};         ///< of a receive
  std::optional<Status> outcome = {};     ///< set once it is complete
};

/// The messages to one rank of a communicator. The caller holds InProcessJob::mutex.
class MatchQueue {
 public:
  /// Completes the first matching receive, or queues the send.
  void send(const std::shared_ptr<PendingMessage>& message);

  /// Completes the first matching send, or queues the receive.
  void receive(const std::shared_ptr<PendingMessage>& message);

  /// Removes a message that is not complete; does nothing for others.
  void cancel(const std::shared_ptr<PendingMessage>& message);

 private:
  using PendingMessages = std::list<std::shared_ptr<PendingMessage>>;
  static std::shared_ptr<PendingMessage> take_match(PendingMessages& messages,
                                                    const PendingMessage& other);

  PendingMessages sends_;
  PendingMessages receives_;
};

}  // namespace forebay::comm
