// SPDX-License-Identifier: Apache-2.0
// IoRankNotifier: wakes I/O ranks that are needed to open a dataset. Opening is collective, and MPI
// has no call that sleeps. So I/O ranks sleep on a connection to the first rank, which notifies
// them before the compute ranks begin. The first rank sends the start after all I/O ranks have
// acknowledged. Collective calls begin only then, so no rank waits for one that has ended or does
// not serve.
#pragma once

#include <forebay/error.hpp>

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>

#include "base/clock.hpp"
#include "comm/communicator.hpp"
#include "comm/links.hpp"
#include "comm/message_transport.hpp"

namespace forebay::write {

/// One thread at a time.
class IoRankNotifier final : private comm::MessageHandler {
 public:
  /// Collective. `ranks` has compute ranks first; it is not used after the call. Connects the first
  /// rank with all I/O ranks; other ranks keep no connection.
  static Result<std::unique_ptr<IoRankNotifier>> open(comm::Communicator& ranks,
                                                      std::uint32_t compute_ranks,
                                                      const comm::LinkOptions& options);
  IoRankNotifier(const IoRankNotifier&) = delete;
  IoRankNotifier& operator=(const IoRankNotifier&) = delete;
  /// On the first rank: ends wait_for_notification() of all I/O ranks, without a value.
  ~IoRankNotifier() override = default;

  /// On the first rank: notifies all I/O ranks. Returns when each has acknowledged and was sent the
  /// start. kClosed if one has ended, kLimit if one does not serve within `timeout`. The Error
  /// names that rank, and no rank starts.
  Status notify(const comm::Bytes& payload, std::chrono::milliseconds timeout);

  /// On an I/O rank: sleeps until the start, and returns the payload of the notification. No value
  /// once the first rank has ended.
  std::optional<comm::Bytes> wait_for_notification();

 private:
  IoRankNotifier(std::unique_ptr<comm::MessageTransport> transport, std::uint32_t compute_ranks)
      : transport_(std::move(transport)), compute_rank_count_(compute_ranks) {}
  Status connect(std::chrono::milliseconds timeout);
  Status request_acknowledgments(const comm::Bytes& payload, std::chrono::milliseconds timeout);
  Status check_acknowledgments() const;
  void poll_until(Deadline end);

  bool is_first_rank() const noexcept { return transport_->rank() == comm::Rank{0}; }
  bool is_io_rank() const noexcept { return transport_->rank().number >= compute_rank_count_; }

  Status check(comm::Rank from, const comm::LinkHeader& header) const;
  Result<std::span<std::byte>> payload_buffer(comm::Rank from,
                                              const comm::LinkHeader& header) override;
  Status handle_message(comm::Rank from,
                        const comm::LinkHeader& header,
                        std::span<const std::byte> payload) override;
  void handle_peer_lost(comm::Rank peer, const Error& why) override;

  std::unique_ptr<comm::MessageTransport>
      transport_;  ///< null on ranks that neither notify nor are notified
  const std::uint32_t compute_rank_count_;
  std::uint64_t sequence_ = 0;                 ///< of the last notification
  std::set<std::uint32_t> acknowledged_;       ///< ranks that acknowledged the last notification
  std::map<std::uint32_t, Error> lost_ranks_;  ///< never cleared
  comm::Bytes payload_;                        ///< of the notification
  bool is_notified_ = false;
  bool should_start_ = false;
};

}  // namespace forebay::write
