// SPDX-License-Identifier: Apache-2.0
// Exchanges a notification, an acknowledgment from each I/O rank, and the start. Notifications have
// numbers, so that a late acknowledgment is not taken for that of the next notification.
#include "write/io_rank_notifier.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <tuple>
#include <utility>

#include <poll.h>

#include "base/sleep_until_ready.hpp"
#include "comm/message_bytes.hpp"
#include "write/decision.hpp"

namespace forebay::write {

namespace {

enum class NotifierMessageKind : std::uint32_t {
  kNotify,       ///< first rank to I/O ranks: number of the notification, payload
  kAcknowledge,  ///< reply: that number
  kStart,        ///< first rank to I/O ranks: that number; all have acknowledged
};

constexpr std::uint32_t kNotifyBytesMax = std::uint32_t{1} << 20U;

/// By NotifierMessageKind.
constexpr std::array<comm::MessageRule, 3> kRules{{
    {"notify", 1, 0, kNotifyBytesMax},
    {.name = "acknowledge", .words = 1},
    {.name = "start", .words = 1},
}};

comm::LinkHeader make_header(NotifierMessageKind kind, std::uint64_t number) {
  return {.kind = static_cast<std::uint32_t>(kind), .words = {number}};
}

TimePoint now() { return std::chrono::steady_clock::now(); }

tl::unexpected<Error> notify_error(std::uint32_t rank, ErrorClass kind, std::string cause) {
  const Error error({.kind = kind,
                     .operation = "notify rank " + std::to_string(rank) + " to write",
                     .cause = std::move(cause)});
  return failure(with_rank(error, rank));
}

}  // namespace

Result<std::unique_ptr<IoRankNotifier>> IoRankNotifier::open(comm::Communicator& ranks,
                                                             std::uint32_t compute_ranks,
                                                             const comm::LinkOptions& options) {
  auto transport = comm::MessageTransport::open(ranks, options);
  if (!transport) return failure(transport.error());
  std::unique_ptr<IoRankNotifier> io_rank_notifier(
      new IoRankNotifier(std::move(*transport), compute_ranks));
  if (Status agreed = ranks.agree(io_rank_notifier->connect(options.connect_timeout_ms)); !agreed)
    return failure(agreed.error());
  const bool has_a_part = io_rank_notifier->is_first_rank() || io_rank_notifier->is_io_rank();
  if (!has_a_part) io_rank_notifier->transport_.reset();
  return io_rank_notifier;
}

/// Sends the first notification, which is empty. The connection then reports the end of the first
/// rank.
Status IoRankNotifier::connect(std::chrono::milliseconds timeout) {
  if (is_first_rank()) return request_acknowledgments({}, timeout);
  if (!is_io_rank()) return {};
  const TimePoint end = now() + timeout;
  while (!is_notified_ && lost_ranks_.empty() && now() < end)
    poll_until(end);
  if (is_notified_) return {};
  if (!lost_ranks_.empty()) return failure(lost_ranks_.begin()->second);
  return failure(
      {.kind = ErrorClass::kLimit,
       .operation = "connect to the first rank",
       .cause = "it has sent no notification within " + std::to_string(timeout.count()) + " ms"});
}

Status IoRankNotifier::notify(const comm::Bytes& payload, std::chrono::milliseconds timeout) {
  ++sequence_;
  if (Status all_acknowledged = request_acknowledgments(payload, timeout); !all_acknowledged)
    return all_acknowledged;
  // Each message is only a header and the queue of its connection is empty, so the kernel accepts
  // it at once.
  for (std::uint32_t rank = compute_rank_count_; rank < transport_->size(); ++rank)
    std::ignore = transport_->send({rank}, make_header(NotifierMessageKind::kStart, sequence_));
  return {};
}

Status IoRankNotifier::request_acknowledgments(const comm::Bytes& payload,
                                               std::chrono::milliseconds timeout) {
  acknowledged_.clear();
  for (std::uint32_t rank = compute_rank_count_; rank < transport_->size(); ++rank) {
    // A rank that cannot be reached is lost; handle_peer_lost() reports it.
    std::ignore =
        transport_->send({rank}, make_header(NotifierMessageKind::kNotify, sequence_), payload);
  }
  const TimePoint end = now() + timeout;
  const std::uint32_t notified = transport_->size() - compute_rank_count_;
  while (acknowledged_.size() < notified && lost_ranks_.empty() && now() < end)
    poll_until(end);
  return check_acknowledgments();
}

/// Reports a rank that has ended first, because the wait for the others then ended early.
Status IoRankNotifier::check_acknowledgments() const {
  if (!lost_ranks_.empty()) {
    const auto& [rank, why] = *lost_ranks_.begin();
    return notify_error(rank, ErrorClass::kClosed, "this I/O rank has ended: " + why.message());
  }
  for (std::uint32_t rank = compute_rank_count_; rank < transport_->size(); ++rank) {
    if (!acknowledged_.contains(rank))
      return notify_error(rank, ErrorClass::kLimit,
                          "this I/O rank does not answer; it must call serve()");
  }
  return {};
}

std::optional<comm::Bytes> IoRankNotifier::wait_for_notification() {
  while (!should_start_ && lost_ranks_.empty())
    poll_until(std::nullopt);
  if (!std::exchange(should_start_, false)) return std::nullopt;
  return std::exchange(payload_, {});
}

/// Sleeps until a message arrives, or until `end`.
void IoRankNotifier::poll_until(Deadline end) {
  const std::optional<TimePoint> due = transport_->next_deadline();
  if (due && (!end || *due < *end)) end = due;
  int wait_ms = -1;
  if (end) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(*end - now()).count();
    wait_ms = static_cast<int>(std::clamp<std::int64_t>(left, 0, 3'600'000));
  }
  pollfd entry{transport_->descriptor(), POLLIN, 0};
  sleep_until_ready_ms({&entry, 1}, wait_ms);
  transport_->poll(*this);
}

/// Notifications are sent by the first rank, acknowledgments by I/O ranks.
Status IoRankNotifier::check(comm::Rank from, const comm::LinkHeader& header) const {
  if (Status checked = comm::check_header(header, kRules); !checked) return checked;
  const bool is_acknowledgment =
      static_cast<NotifierMessageKind>(header.kind) == NotifierMessageKind::kAcknowledge;
  const bool may_send = is_acknowledgment ? is_first_rank() && from.number >= compute_rank_count_
                                          : is_io_rank() && from == comm::Rank{0};
  if (may_send) return {};
  return failure(
      comm::malformed_message(kRules.at(header.kind).name, "sender", from.number,
                              is_acknowledgment ? "must be an I/O rank" : "must be rank 0"));
}

Result<std::span<std::byte>> IoRankNotifier::payload_buffer(comm::Rank from,
                                                            const comm::LinkHeader& header) {
  if (Status checked = check(from, header); !checked) return failure(checked.error());
  payload_.resize(header.payload_bytes);
  return std::span(payload_);
}

Status IoRankNotifier::handle_message(comm::Rank from,
                                      const comm::LinkHeader& header,
                                      std::span<const std::byte> payload) {
  if (Status checked = check(from, header); !checked) return checked;
  const std::uint64_t number = header.words[0];
  switch (static_cast<NotifierMessageKind>(header.kind)) {
    case NotifierMessageKind::kNotify:
      // The first notification is empty.
      if (!payload.empty())
        if (const auto decision = decision_from_bytes(payload); !decision)
          return failure(decision.error());
      sequence_ = number;
      is_notified_ = true;
      return transport_->send(from, make_header(NotifierMessageKind::kAcknowledge, number));
    case NotifierMessageKind::kAcknowledge:
      if (number == sequence_) acknowledged_.insert(from.number);
      return {};
    case NotifierMessageKind::kStart:
      should_start_ = should_start_ || number == sequence_;
      return {};
  }
  return {};
}

void IoRankNotifier::handle_peer_lost(comm::Rank peer, const Error& why) {
  lost_ranks_.emplace(peer.number, why);
}

}  // namespace forebay::write
