// SPDX-License-Identifier: Apache-2.0
// Several messages leave with one system call; the rest of a payload and the next header arrive
// with one.
#include "comm/link.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

#include <poll.h>
#include <sys/uio.h>

#include "base/assert.hpp"
#include "base/uninterrupted.hpp"

namespace forebay::comm {

namespace {

constexpr std::size_t kTurnBytesMax = std::size_t{4} << 20U;  ///< in one call of attend()
constexpr std::size_t kMessagesAtOnce = 16;
constexpr std::size_t kDroppedBytes = std::size_t{64} << 10U;

bool would_block(int error_number) noexcept {
  return error_number == EAGAIN || error_number == EWOULDBLOCK;
}

/// The other end is not there any more, so that reading comes to an end as well.
bool is_peer_gone(int error_number) noexcept {
  return error_number == EPIPE || error_number == ECONNRESET || error_number == ETIMEDOUT;
}

iovec piece(std::span<const std::byte> bytes) noexcept {
  return {const_cast<std::byte*>(bytes.data()), bytes.size()};
}

/// A message of the kernel with these pieces, without the empty ones.
class MessagePieces {
 public:
  void add(std::span<const std::byte> bytes) noexcept {
    if (!bytes.empty()) pieces_.at(count_++) = piece(bytes);
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
  std::array<iovec, 2 * kMessagesAtOnce> pieces_{};
  std::size_t count_ = 0;
  std::size_t total_bytes_ = 0;
};

}  // namespace

Status check_payload(std::size_t payload_bytes, const LinkLimits& limits, Rank peer) {
  if (payload_bytes <= limits.payload_bytes_max) return {};
  return failure({.kind = ErrorClass::kLimit,
                  .operation = "send to another agent",
                  .cause = std::to_string(payload_bytes) + " bytes, and at most " +
                           std::to_string(limits.payload_bytes_max) + " may be sent at once",
                  .rank = peer.number});
}

Link::Link(Rank peer, Descriptor socket, LinkLimits limits)
    : peer_(peer), socket_(std::move(socket)), limits_(limits) {
  FOREBAY_ASSERT(socket_);
}

short Link::interest() const noexcept {
  return static_cast<short>(queue_.empty() || cut_ ? POLLIN : POLLIN | POLLOUT);
}

Error Link::closed(int error_number, const char* cause) const {
  return Error({.kind = ErrorClass::kClosed,
                .operation = "talk to another agent",
                .error_number = error_number,
                .cause = cause,
                .rank = peer_.number});
}

Status Link::send(LinkHeader header, std::span<const std::byte> payload, OnSent on_sent) {
  Status refused = check_payload(payload.size(), limits_, peer_);
  if (end_) refused = failure(*end_);
  if (!refused) {
    if (on_sent) on_sent(refused);
    return refused;
  }
  header.payload_bytes = static_cast<std::uint32_t>(payload.size());
  const bool is_first = queue_.empty();
  queue_.push_back({header, payload, std::move(on_sent)});
  queued_bytes_ += sizeof header + payload.size();
  if (is_first && !writing_ && !cut_) write_queue();
  if (end_) return failure(*end_);
  return {};
}

Status Link::attend(short events, LinkReceiver& receiver) {
  if (!end_ && !cut_ && (events & POLLOUT) != 0) write_queue();
  if (!end_ && (events & ~POLLOUT) != 0) read_stream(receiver);
  if (end_) return failure(*end_);
  return {};
}

void Link::write_queue() {
  writing_ = true;
  const std::uint64_t bytes_before = queued_bytes_;
  while (!end_ && !queue_.empty() && write_some()) {
    // What on_sent adds may make the difference wrong, and only ends this turn early or late.
    if (bytes_before - std::min(bytes_before, queued_bytes_) >= kTurnBytesMax) break;
  }
  writing_ = false;
}

/// One system call; false if the kernel takes no more for now.
bool Link::write_some() {
  MessagePieces pieces;
  const std::size_t count = std::min(queue_.size(), kMessagesAtOnce);
  for (std::size_t i = 0; i < count; ++i) {
    const Outgoing& message = queue_[i];
    const auto header = std::as_bytes(std::span(&message.header, 1));
    const std::size_t header_sent = std::min(message.sent_bytes, header.size());
    pieces.add(header.subspan(header_sent));
    pieces.add(message.payload.subspan(message.sent_bytes - header_sent));
  }
  const msghdr all = pieces.message();
  const ssize_t sent =
      uninterrupted([&] { return ::sendmsg(descriptor(), &all, MSG_NOSIGNAL | MSG_DONTWAIT); });
  if (sent >= 0) {
    take_off(static_cast<std::size_t>(sent));
    return static_cast<std::size_t>(sent) == pieces.total_bytes();
  }
  // What the peer sent before it went may say why.
  if (is_peer_gone(errno))
    cut_ = closed(errno, "");
  else if (!would_block(errno))
    finish(closed(errno, ""));
  return false;
}

/// The first bytes of the queue have left.
void Link::take_off(std::size_t sent_bytes) {
  queued_bytes_ -= sent_bytes;
  while (sent_bytes > 0) {
    Outgoing& first = queue_.front();
    const std::size_t of_first = std::min(sent_bytes, first.left_bytes());
    first.sent_bytes += of_first;
    sent_bytes -= of_first;
    if (first.left_bytes() > 0) return;
    const OnSent on_sent = std::move(first.on_sent);
    queue_.pop_front();
    if (on_sent) on_sent(Status());
  }
}

void Link::read_stream(LinkReceiver& receiver) {
  std::size_t turn_bytes = 0;
  while (!end_ && turn_bytes < kTurnBytesMax) {
    MessagePieces pieces;
    const std::span<std::byte> target = payload_target();
    pieces.add(target);
    if (target.size() == payload_left_) {
      pieces.add(std::as_writable_bytes(std::span(&header_, 1)).subspan(header_filled_));
    }
    msghdr all = pieces.message();
    const ssize_t got = uninterrupted([&] { return ::recvmsg(descriptor(), &all, MSG_DONTWAIT); });
    if (got < 0 && would_block(errno)) return;
    if (got <= 0) {
      const int error_number = got < 0 ? errno : 0;
      const char* const cause = at_boundary() ? "it has closed the connection"
                                              : "the connection ended in the middle of a message";
      return finish(cut_.value_or(closed(error_number, cause)));
    }
    if (const Status good = digest(static_cast<std::size_t>(got), receiver); !good) {
      return finish(on_rank(good.error(), peer_.number));
    }
    if (static_cast<std::size_t>(got) < pieces.total_bytes()) return;  // there is no more
    turn_bytes += static_cast<std::size_t>(got);
  }
}

/// Where the next bytes of the payload go; empty if there are none to come.
std::span<std::byte> Link::payload_target() {
  if (payload_left_ == 0) return {};
  if (!payload_.empty()) return payload_.last(payload_left_);
  dropped_.resize(kDroppedBytes);
  return std::span(dropped_).first(std::min(payload_left_, dropped_.size()));
}

/// So many bytes have arrived, where payload_target() and header_ said.
Status Link::digest(std::size_t bytes, LinkReceiver& receiver) {
  const std::size_t of_payload = std::min(bytes, payload_left_);
  const std::size_t of_header = bytes - of_payload;
  payload_left_ -= of_payload;
  if (of_payload > 0 && payload_left_ == 0) {
    if (Status good = end_message(receiver); !good || end_) return good;
  }
  header_filled_ += of_header;
  if (header_filled_ < sizeof header_) return {};
  header_filled_ = 0;
  return begin_message(receiver);
}

Status Link::begin_message(LinkReceiver& receiver) {
  arriving_ = header_;
  payload_ = {};
  if (arriving_.payload_bytes == 0) return receiver.received(*this, arriving_, {});
  if (arriving_.payload_bytes > limits_.payload_bytes_max) {
    return failure({.kind = ErrorClass::kDamage,
                    .operation = "receive from another agent",
                    .cause = "a message claims " + std::to_string(arriving_.payload_bytes) +
                             " bytes, and at most " + std::to_string(limits_.payload_bytes_max) +
                             " may be sent at once"});
  }
  const Result<std::span<std::byte>> place = receiver.place(*this, arriving_);
  if (!place) return failure(place.error());
  FOREBAY_ASSERT(place->empty() || place->size() == arriving_.payload_bytes);
  payload_ = *place;
  payload_left_ = arriving_.payload_bytes;
  return {};
}

Status Link::end_message(LinkReceiver& receiver) {
  return receiver.received(*this, arriving_, std::exchange(payload_, {}));
}

/// After this nothing of the owner's memory is touched any more.
void Link::close(Error why) {
  ::shutdown(socket_.get(), SHUT_RDWR);
  finish(std::move(why));
}

void Link::finish(Error why) {
  if (end_) return;
  end_ = std::move(why);
  payload_ = {};
  payload_left_ = 0;
  header_filled_ = 0;
  queued_bytes_ = 0;
  std::deque<Outgoing> unsent;
  unsent.swap(queue_);
  const Status told = failure(*end_);
  for (const Outgoing& message : unsent) {
    if (message.on_sent) message.on_sent(told);
  }
}

}  // namespace forebay::comm
