// SPDX-License-Identifier: Apache-2.0
// Where messages between ranks of one process find each other. A message goes from memory to memory
// when the second of its two sides arrives: a program that counts on buffers in between hangs here,
// as it may under MPI.
#pragma once

#include <forebay/error.hpp>

#include <cstddef>
#include <list>
#include <memory>
#include <optional>
#include <span>

#include "comm/communicator.hpp"

namespace forebay::comm {

/// One side of a message: waiting, or over.
struct Letter {
  Rank from = {};
  Tag tag = {};
  std::span<const std::byte> bytes = {};  ///< of a send
  std::span<std::byte> into = {};         ///< of a receive
  std::optional<Status> outcome = {};     ///< once it is over
};

/// The messages to one rank. The caller holds the lock of the job around every call.
class Mailbox {
 public:
  /// Completes the first receive that fits, or waits for one.
  void send(const std::shared_ptr<Letter>& letter);

  /// Completes the first send that fits, or waits for one.
  void receive(const std::shared_ptr<Letter>& letter);

  /// Forgets a letter that is not over.
  void take_back(const std::shared_ptr<Letter>& letter);

 private:
  using Letters = std::list<std::shared_ptr<Letter>>;
  static std::shared_ptr<Letter> take_match(Letters& letters, const Letter& other);

  Letters sends_;
  Letters receives_;
};

}  // namespace forebay::comm
