// SPDX-License-Identifier: Apache-2.0
// BulkTransfers: bytes of splinters between two agents as messages of MPI, each announced by their
// link. Bytes arrive in the order of their announcements.
#pragma once

#include <forebay/error.hpp>
#include <forebay/session.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>

#include "comm/communicator.hpp"

namespace forebay::read {

/// Number of sends whose memory this process has leaked because MPI was still sending from it when
/// the agent ended. 0 if all ranks end normally.
std::uint64_t leaked_sends() noexcept;

/// Between this rank and one other. One thread at a time.
class BulkTransfers {
 public:
  /// Without ranks, it is disabled: there is no send() and no receive().
  BulkTransfers(std::shared_ptr<comm::Communicator> ranks, comm::Rank peer)
      : ranks_(std::move(ranks)), peer_(peer) {}

  bool is_enabled() const noexcept { return ranks_ != nullptr; }
  /// Sends the bytes of the view, and releases it when they are sent.
  void send(std::shared_ptr<View> view);
  /// Releases views whose bytes are sent. Returns their number.
  std::uint64_t release_completed_sends();

  /// Receives bytes that the peer has announced.
  void receive(std::span<std::byte> memory, std::uint64_t id);
  struct Received {
    std::uint64_t id = 0;  ///< as in receive()
    Status status;
  };
  /// The next receive, once it is complete.
  std::optional<Received> take_received();
  /// The peer has released `count` views. False if it had not announced as many.
  bool confirm_sends(std::uint64_t count) noexcept;
  /// Lets the peer's MPI complete its sends.
  void progress();

  bool has_sends() const noexcept { return !sends_.empty(); }
  bool has_receives() const noexcept { return !receives_.empty(); }
  /// Announced sends to this rank that are not confirmed. Until then it must call MPI.
  bool has_unconfirmed_sends() const noexcept { return unconfirmed_ > 0; }
  bool is_in_flight() const noexcept {
    return has_sends() || has_receives() || has_unconfirmed_sends();
  }
  /// Ends all transfers. Completing a send that is never received would wait without limit, so its
  /// memory is leaked.
  void abandon();

 private:
  struct Send {
    comm::MessageRequest transfer;
    std::shared_ptr<View> view;
  };
  struct Receive {
    comm::MessageRequest transfer;
    std::uint64_t id = 0;
  };

  std::shared_ptr<comm::Communicator> ranks_;
  comm::Rank peer_;
  std::deque<Send> sends_;
  std::deque<Receive> receives_;
  std::uint64_t unconfirmed_ = 0;
};

}  // namespace forebay::read
