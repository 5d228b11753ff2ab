// SPDX-License-Identifier: Apache-2.0
// One system call sends several messages; one receives the rest of a payload and the next header.
#include "comm/link.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

#include <poll.h>
#include <sys/uio.h>

#include "base/assert.hpp"
#include "base/retry_on_eintr.hpp"

namespace forebay::comm {

namespace {

constexpr std::size_t kBytesPerPollMax = std::size_t{4} << 20U;  ///< in one call of
                                                                 ///< process_events()
constexpr std::size_t kMessagesPerCall = 16;
constexpr std::size_t kDiscardBytes = std::size_t{64} << 10U;

bool would_block(int error_number) noexcept {
  return error_number == EAGAIN || error_number == EWOULDBLOCK;
}

/// The peer has ended, so reading will reach the end as well.
bool is_peer_gone(int error_number) noexcept {
  return error_number == EPIPE || error_number == ECONNRESET || error_number == ETIMEDOUT;
}

iovec make_iovec(std::span<const std::byte> bytes) noexcept {
  return {const_cast<std::byte*>(bytes.data()), bytes.size()};
}

/// Builds a msghdr; skips empty pieces.
class IovecList {
 public:
  void add(std::span<const std::byte> bytes) noexcept {
    if (!bytes.empty()) pieces_.at(count_++) = make_iovec(bytes);
    total_bytes_ += bytes.size();
  }
  msghdr message() noexcept {
    msghdr all{};
    all.msg_iov = pieces_.data();
    all.msg_iovlen = count_;
    return all;
  }
  std::size_t total_bytes() const noexcept { return total_bytes_; }

 private:
  std::array<iovec, 2 * kMessagesPerCall> pieces_{};
  std::size_t count_ = 0;
  std::size_t total_bytes_ = 0;
};

}  // namespace

Status check_payload(std::size_t payload_bytes, const LinkLimits& limits, Rank peer) {
  if (payload_bytes <= limits.payload_bytes_max) return {};
  return failure({.kind = ErrorClass::kLimit,
                  .operation = "send to another rank",
                  .cause = std::to_string(payload_bytes) + " bytes exceed the limit of " +
                           std::to_string(limits.payload_bytes_max) + " bytes for a message",
                  .rank = peer.number});
}

Link::Link(Rank peer, Descriptor socket, LinkLimits limits)
    : peer_(peer), socket_(std::move(socket)), limits_(limits) {
  FOREBAY_ASSERT(socket_);
}

short Link::interest() const noexcept {
  return static_cast<short>(queue_.empty() || send_error_ ? POLLIN : POLLIN | POLLOUT);
}

Error Link::closed_error(int error_number, const char* cause) const {
  return Error({.kind = ErrorClass::kClosed,
                .operation = "exchange messages with another rank",
                .error_number = error_number,
                .cause = cause,
                .rank = peer_.number});
}

Status Link::send(LinkHeader header, std::span<const std::byte> payload, OnSent on_sent) {
  Status refused = check_payload(payload.size(), limits_, peer_);
  if (close_reason_) refused = failure(*close_reason_);
  if (!refused) {
    if (on_sent) on_sent(refused);
    return refused;
  }
  header.payload_bytes = static_cast<std::uint32_t>(payload.size());
  const bool is_first = queue_.empty();
  queue_.push_back({header, payload, std::move(on_sent)});
  queued_bytes_ += sizeof header + payload.size();
  if (is_first && !is_writing_ && !send_error_) write_queue();
  if (close_reason_) return failure(*close_reason_);
  return {};
}

Status Link::process_events(short events, LinkHandler& handler) {
  if (!close_reason_ && !send_error_ && (events & POLLOUT) != 0) write_queue();
  if (!close_reason_ && (events & ~POLLOUT) != 0) read_stream(handler);
  if (close_reason_) return failure(*close_reason_);
  return {};
}

void Link::write_queue() {
  is_writing_ = true;
  const std::uint64_t bytes_before = queued_bytes_;
  while (!close_reason_ && !queue_.empty() && write_some()) {
    // Messages added by on_sent can falsify the difference, which only ends this call early or
    // late.
    if (bytes_before - std::min(bytes_before, queued_bytes_) >= kBytesPerPollMax) break;
  }
  is_writing_ = false;
}

/// One system call; false if the kernel accepts no more for now.
bool Link::write_some() {
  IovecList pieces;
  const std::size_t count = std::min(queue_.size(), kMessagesPerCall);
  for (std::size_t i = 0; i < count; ++i) {
    const Outgoing& message = queue_[i];
    const auto header = std::as_bytes(std::span(&message.header, 1));
    const std::size_t header_sent = std::min(message.sent_bytes, header.size());
    pieces.add(header.subspan(header_sent));
    pieces.add(message.payload.subspan(message.sent_bytes - header_sent));
  }
  const msghdr all = pieces.message();
  const ssize_t sent =
      retry_on_eintr([&] { return ::sendmsg(descriptor(), &all, MSG_NOSIGNAL | MSG_DONTWAIT); });
  if (sent >= 0) {
    consume_sent(static_cast<std::size_t>(sent));
    return static_cast<std::size_t>(sent) == pieces.total_bytes();
  }
  // The last messages of the peer may contain the reason.
  if (is_peer_gone(errno))
    send_error_ = closed_error(errno, "");
  else if (!would_block(errno))
    fail(closed_error(errno, ""));
  return false;
}

/// Removes bytes that the kernel has accepted from the front of the queue.
void Link::consume_sent(std::size_t sent_bytes) {
  queued_bytes_ -= sent_bytes;
  while (sent_bytes > 0) {
    Outgoing& first = queue_.front();
    const std::size_t of_first = std::min(sent_bytes, first.unsent_bytes());
    first.sent_bytes += of_first;
    sent_bytes -= of_first;
    if (first.unsent_bytes() > 0) return;
    const OnSent on_sent = std::move(first.on_sent);
    queue_.pop_front();
    if (on_sent) on_sent(Status());
  }
}

void Link::read_stream(LinkHandler& handler) {
  std::size_t received_bytes = 0;
  while (!close_reason_ && received_bytes < kBytesPerPollMax) {
    IovecList pieces;
    const std::span<std::byte> target = payload_target();
    pieces.add(target);
    if (target.size() == payload_missing_) {
      pieces.add(std::as_writable_bytes(std::span(&partial_header_, 1)).subspan(header_received_));
    }
    msghdr all = pieces.message();
    const ssize_t got = retry_on_eintr([&] { return ::recvmsg(descriptor(), &all, MSG_DONTWAIT); });
    if (got < 0 && would_block(errno)) return;
    if (got <= 0) {
      const int error_number = got < 0 ? errno : 0;
      const char* const cause = is_at_boundary()
                                    ? "the peer has closed the connection"
                                    : "the connection ended in the middle of a message";
      return fail(send_error_.value_or(closed_error(error_number, cause)));
    }
    if (const Status processed = process_received(static_cast<std::size_t>(got), handler);
        !processed) {
      return fail(with_rank(processed.error(), peer_.number));
    }
    if (static_cast<std::size_t>(got) < pieces.total_bytes()) return;  // no more to read
    received_bytes += static_cast<std::size_t>(got);
  }
}

/// Destination of the next bytes of the payload; empty if none are missing.
std::span<std::byte> Link::payload_target() {
  if (payload_missing_ == 0) return {};
  if (!payload_.empty()) return payload_.last(payload_missing_);
  discard_buffer_.resize(kDiscardBytes);
  return std::span(discard_buffer_).first(std::min(payload_missing_, discard_buffer_.size()));
}

/// `bytes` have arrived at payload_target() and in partial_header_.
Status Link::process_received(std::size_t bytes, LinkHandler& handler) {
  const std::size_t of_payload = std::min(bytes, payload_missing_);
  const std::size_t of_header = bytes - of_payload;
  payload_missing_ -= of_payload;
  if (of_payload > 0 && payload_missing_ == 0) {
    if (Status ended = end_message(handler); !ended || close_reason_) return ended;
  }
  header_received_ += of_header;
  if (header_received_ < sizeof partial_header_) return {};
  header_received_ = 0;
  return begin_message(handler);
}

Status Link::begin_message(LinkHandler& handler) {
  payload_header_ = partial_header_;
  payload_ = {};
  if (payload_header_.payload_bytes == 0) return handler.handle_message(*this, payload_header_, {});
  if (payload_header_.payload_bytes > limits_.payload_bytes_max) {
    return failure({.kind = ErrorClass::kDamage,
                    .operation = "receive from another rank",
                    .cause = "a message claims " + std::to_string(payload_header_.payload_bytes) +
                             " bytes, more than the limit of " +
                             std::to_string(limits_.payload_bytes_max) + " bytes"});
  }
  const Result<std::span<std::byte>> buffer = handler.payload_buffer(*this, payload_header_);
  if (!buffer) return failure(buffer.error());
  FOREBAY_ASSERT(buffer->empty() || buffer->size() == payload_header_.payload_bytes);
  payload_ = *buffer;
  payload_missing_ = payload_header_.payload_bytes;
  return {};
}

Status Link::end_message(LinkHandler& handler) {
  return handler.handle_message(*this, payload_header_, std::exchange(payload_, {}));
}

/// After this the link does not access the owner's memory.
void Link::close(Error why) {
  ::shutdown(socket_.get(), SHUT_RDWR);
  fail(std::move(why));
}

void Link::fail(Error why) {
  if (close_reason_) return;
  close_reason_ = std::move(why);
  payload_ = {};
  payload_missing_ = 0;
  header_received_ = 0;
  queued_bytes_ = 0;
  std::deque<Outgoing> unsent;
  unsent.swap(queue_);
  const Status status = failure(*close_reason_);
  for (const Outgoing& message : unsent) {
    if (message.on_sent) message.on_sent(status);
  }
}

}  // namespace forebay::comm
