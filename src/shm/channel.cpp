// SPDX-License-Identifier: Apache-2.0
// Sending and receiving never block (MSG_DONTWAIT); a separate call waits for readiness. So the
// mode of a descriptor that another process shares does not matter. Only connect() blocks, bounded
// by SO_SNDTIMEO.
#include "shm/channel.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>

#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/assert.hpp"
#include "base/checked_cast.hpp"
#include "base/retry_on_eintr.hpp"
#include "shm/readiness.hpp"

namespace forebay::shm {

namespace {

constexpr std::size_t kNameRandomBytes = 16;

Error channel_error(const char* operation, int error_number) {
  return system_error({.operation = operation}, error_number);
}

Error closed_error(const char* operation, int error_number) {
  return Error({.kind = ErrorClass::kClosed,
                .operation = operation,
                .error_number = error_number,
                .cause = "the other end is closed"});
}

bool would_block(int error_number) noexcept {
  return error_number == EAGAIN || error_number == EWOULDBLOCK;
}

struct UnixAddress {
  sockaddr_un socket{};
  socklen_t size_bytes = 0;

  const sockaddr* generic() const noexcept { return reinterpret_cast<const sockaddr*>(&socket); }
};

/// An abstract name: a leading zero byte, and no trailing zero.
Result<UnixAddress> address_of(const std::string& name) {
  UnixAddress address;
  constexpr std::size_t kNameBytesMax = sizeof(address.socket.sun_path) - 1;
  if (name.empty() || name.size() > kNameBytesMax) {
    return failure(
        {.kind = ErrorClass::kInvalidArgument,
         .operation = "connect to an agent",
         .cause = "the name of the agent has " + std::to_string(name.size()) + " bytes"});
  }
  address.socket.sun_family = AF_UNIX;
  std::memcpy(address.socket.sun_path + 1, name.data(), name.size());
  address.size_bytes = checked_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  return address;
}

Result<std::string> random_name() {
  std::array<std::uint8_t, kNameRandomBytes> random{};
  const ssize_t got = ::getrandom(random.data(), random.size(), 0);
  // getrandom() is never short for at most 256 bytes.
  if (got != static_cast<ssize_t>(random.size()))
    return failure(channel_error("generate a random name", got < 0 ? errno : EIO));
  std::string name = "forebay-";
  for (const std::uint8_t byte : random) {
    constexpr const char* kDigits = "0123456789abcdef";
    name += kDigits[byte >> 4U];
    name += kDigits[byte & 0xFU];
  }
  return name;
}

Result<PeerCredentials> credentials_of(const Descriptor& socket) {
  ucred credentials{};
  socklen_t size_bytes = sizeof credentials;
  if (::getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &credentials, &size_bytes) != 0)
    return failure(channel_error("get the credentials of the other end", errno));
  return PeerCredentials{.pid = credentials.pid, .uid = credentials.uid};
}

/// Timeout for the kernel's connect(), which poll() cannot bound.
timeval connect_timeout(const Deadline& deadline) {
  if (!deadline) return {};  // without limit
  const TimePoint now = SteadyClock::shared().now();
  const auto left = *deadline <= now
                        ? std::chrono::microseconds(1)  // 0 would be without limit
                        : std::chrono::ceil<std::chrono::microseconds>(*deadline - now);
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(left);
  return {.tv_sec = seconds.count(), .tv_usec = (left - seconds).count()};
}

/// Returns 0 or errno.
int connect_until(const Descriptor& socket, const UnixAddress& address, const Deadline& deadline) {
  for (;;) {
    const timeval timeout = connect_timeout(deadline);
    if (::setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof timeout) != 0)
      return errno;
    if (::connect(socket.get(), address.generic(), address.size_bytes) == 0) return 0;
    if (errno != EINTR) return errno;
  }
}

Error connect_error(const std::string& name, int error_number) {
  ErrorDetails details{
      .operation = "connect to an agent", .path = name, .error_number = error_number};
  if (error_number == ECONNREFUSED) {
    details.kind = ErrorClass::kNotFound;
    details.cause = "no process listens under this name in this network namespace";
    return Error(std::move(details));
  }
  if (would_block(error_number)) {
    details.kind = ErrorClass::kLimit;
    details.cause = "timeout: the agent's queue of connections is full";
    return Error(std::move(details));
  }
  return system_error(std::move(details), error_number);
}

/// Memory for the descriptors of one message, in the layout of the kernel.
struct ControlBuffer {
  static constexpr std::size_t kPayloadBytes = kMessageDescriptorsMax * sizeof(int);
  alignas(cmsghdr) std::array<char, CMSG_SPACE(kPayloadBytes)> bytes{};
};

void attach_descriptors(msghdr& header,
                        ControlBuffer& control,
                        std::span<const int> descriptors) noexcept {
  if (descriptors.empty()) return;
  header.msg_control = control.bytes.data();
  header.msg_controllen = CMSG_SPACE(descriptors.size_bytes());
  cmsghdr* const entry = CMSG_FIRSTHDR(&header);
  entry->cmsg_level = SOL_SOCKET;
  entry->cmsg_type = SCM_RIGHTS;
  entry->cmsg_len = CMSG_LEN(descriptors.size_bytes());
  std::memcpy(CMSG_DATA(entry), descriptors.data(), descriptors.size_bytes());
}

/// Takes ownership of all descriptors that the kernel has added to this process.
std::vector<Descriptor> take_descriptors(msghdr& header) {
  std::array<int, kMessageDescriptorsMax> numbers{};
  std::size_t count = 0;
  for (cmsghdr* entry = CMSG_FIRSTHDR(&header); entry != nullptr;
       entry = CMSG_NXTHDR(&header, entry)) {
    if (entry->cmsg_level != SOL_SOCKET || entry->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t size_bytes = entry->cmsg_len - CMSG_LEN(0);
    FOREBAY_ASSERT(count * sizeof(int) + size_bytes <= sizeof numbers);
    std::memcpy(numbers.data() + count, CMSG_DATA(entry), size_bytes);
    count += size_bytes / sizeof(int);
  }
  std::vector<Descriptor> descriptors;
  descriptors.reserve(count);
  for (std::size_t i = 0; i < count; ++i)
    descriptors.emplace_back(numbers[i]);
  return descriptors;
}

Status check_message(std::span<const std::byte> bytes, std::span<const int> descriptors) {
  const bool fits = !bytes.empty() && bytes.size() <= kMessageBytesMax &&
                    descriptors.size() <= kMessageDescriptorsMax;
  if (fits) return {};
  return failure(
      {.kind = ErrorClass::kInvalidArgument,
       .operation = "send a message",
       .cause = std::to_string(bytes.size()) + " bytes and " + std::to_string(descriptors.size()) +
                " descriptors; a message has 1 to " + std::to_string(kMessageBytesMax) +
                " bytes and up to " + std::to_string(kMessageDescriptorsMax) + " descriptors"});
}

/// Returns 0 or errno; EAGAIN if there is no room now.
int send_once(const Descriptor& socket,
              std::span<const std::byte> bytes,
              std::span<const int> descriptors) noexcept {
  // sendmsg() does not write to it.
  iovec piece{.iov_base = const_cast<std::byte*>(bytes.data()), .iov_len = bytes.size()};
  msghdr header{};
  header.msg_iov = &piece;
  header.msg_iovlen = 1;
  ControlBuffer control;
  attach_descriptors(header, control, descriptors);
  const ssize_t sent =
      retry_on_eintr([&] { return ::sendmsg(socket.get(), &header, MSG_NOSIGNAL | MSG_DONTWAIT); });
  return sent < 0 ? errno : 0;
}

Error send_error(int error_number) {
  constexpr const char* kOperation = "send a message";
  if (error_number == EPIPE || error_number == ECONNRESET || error_number == ENOTCONN)
    return closed_error(kOperation, error_number);
  ErrorDetails details{.operation = kOperation, .error_number = error_number};
  if (would_block(error_number)) {
    details.kind = ErrorClass::kLimit;
    details.cause = "timeout: the other end does not receive earlier messages";
    return Error(std::move(details));
  }
  if (error_number == ETOOMANYREFS) {
    details.kind = ErrorClass::kLimit;
    details.cause = "too many sent descriptors are not received yet";
    return Error(std::move(details));
  }
  return system_error(std::move(details), error_number);
}

constexpr const char* kReceive = "receive a message";

/// A peer that closes its end before it has received all messages resets the connection: one call
/// fails. What the peer sent before can still be received.
template <class Call>
ssize_t retry_after_reset(Call call) {
  const ssize_t result = call();
  return result < 0 && errno == ECONNRESET ? call() : result;
}

Error receive_error(int error_number) {
  if (error_number == ECONNRESET) return closed_error(kReceive, error_number);
  return channel_error(kReceive, error_number);
}

}  // namespace

Status check_peer(const PeerCredentials& peer, uid_t own) {
  if (peer.uid == own) return {};
  return failure({.kind = ErrorClass::kPermission,
                  .operation = "connect to process " + std::to_string(peer.pid),
                  .cause = "the process belongs to user " + std::to_string(peer.uid) +
                           ", this one to user " + std::to_string(own)});
}

Result<Channel> Channel::from_socket(Descriptor socket) {
  auto peer = credentials_of(socket);
  if (!peer) return failure(peer.error());
  if (auto known = check_peer(*peer, ::geteuid()); !known) return failure(known.error());
  return Channel(std::move(socket), *peer);
}

Result<Channel> Channel::connect(const std::string& name, Deadline deadline) {
  auto address = address_of(name);
  if (!address) return failure(address.error());
  Descriptor socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  if (!socket) return failure(channel_error("create a socket", errno));
  const int error_number = connect_until(socket, *address, deadline);
  if (error_number != 0) return failure(connect_error(name, error_number));
  return from_socket(std::move(socket));
}

Result<std::pair<Channel, Channel>> Channel::pair() {
  std::array<int, 2> numbers{};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, numbers.data()) != 0)
    return failure(channel_error("create a pair of sockets", errno));
  auto first = Descriptor(numbers[0]);
  auto second = Descriptor(numbers[1]);
  const PeerCredentials self{.pid = ::getpid(), .uid = ::geteuid()};
  return std::pair(Channel(std::move(first), self), Channel(std::move(second), self));
}

Status Channel::send(std::span<const std::byte> bytes,
                     std::span<const int> descriptors,
                     Deadline deadline) {
  if (auto fits = check_message(bytes, descriptors); !fits) return fits;
  for (;;) {
    const int error_number = send_once(socket_, bytes, descriptors);
    if (error_number == 0) return {};
    const bool should_wait = would_block(error_number) && wait_writable(socket_.get(), deadline);
    if (!should_wait) return failure(send_error(error_number));
  }
}

void Channel::shutdown() noexcept {
  if (socket_) ::shutdown(socket_.get(), SHUT_RDWR);
}

void Channel::shutdown_sending() noexcept {
  if (socket_) ::shutdown(socket_.get(), SHUT_WR);
}

Result<std::optional<ChannelMessage>> Channel::receive(Deadline deadline) {
  const std::array<int, 1> descriptors{socket_.get()};
  while (wait_readable(descriptors, deadline)) {
    const ssize_t size_bytes = retry_after_reset(
        [&] { return ::recv(socket_.get(), nullptr, 0, MSG_PEEK | MSG_TRUNC | MSG_DONTWAIT); });
    if (size_bytes >= 0) return receive_message(checked_cast<std::size_t>(size_bytes));
    if (errno == EINTR || would_block(errno)) continue;
    return failure(receive_error(errno));
  }
  return std::nullopt;
}

/// Receives the next message: `size_bytes` long, 0 at the end of the connection.
Result<ChannelMessage> Channel::receive_message(std::size_t size_bytes) {
  ChannelMessage message;
  message.bytes.resize(std::min(size_bytes, kMessageBytesMax));
  iovec piece{.iov_base = message.bytes.data(), .iov_len = message.bytes.size()};
  ControlBuffer control;
  msghdr header{};
  header.msg_iov = &piece;
  header.msg_iovlen = 1;
  header.msg_control = control.bytes.data();
  header.msg_controllen = control.bytes.size();
  const ssize_t received = retry_after_reset(
      [&] { return ::recvmsg(socket_.get(), &header, MSG_CMSG_CLOEXEC | MSG_DONTWAIT); });
  const int error_number = errno;
  if (received >= 0) message.descriptors = take_descriptors(header);  // closes them on failure
  if (received < 0) return failure(receive_error(error_number));
  if (received == 0) return failure(closed_error(kReceive, 0));
  if ((header.msg_flags & MSG_TRUNC) != 0) {
    return failure(
        {.kind = ErrorClass::kDamage,
         .operation = kReceive,
         .cause = "the message has more than " + std::to_string(kMessageBytesMax) + " bytes"});
  }
  if ((header.msg_flags & MSG_CTRUNC) != 0) {
    return failure(
        {.kind = ErrorClass::kLimit,
         .operation = kReceive,
         .cause = "the message has more than " + std::to_string(kMessageDescriptorsMax) +
                  " descriptors, or this process cannot open more; raise the limit (ulimit -n)"});
  }
  return message;
}

Result<ChannelListener> ChannelListener::open() {
  constexpr const char* kOperation = "listen for clients";
  auto name = random_name();
  if (!name) return failure(name.error());
  auto address = address_of(*name);
  if (!address) return failure(address.error());
  ChannelListener listener;
  listener.name_ = std::move(*name);
  listener.socket_ =
      Descriptor(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const int socket = listener.socket_.get();
  if (socket < 0) return failure(channel_error(kOperation, errno));
  if (::bind(socket, address->generic(), address->size_bytes) != 0)
    return failure(channel_error(kOperation, errno));
  if (::listen(socket, SOMAXCONN) != 0) return failure(channel_error(kOperation, errno));
  return listener;
}

Result<std::optional<Channel>> ChannelListener::accept() {
  for (;;) {
    Descriptor socket(::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (socket) return Channel::from_socket(std::move(socket));
    if (would_block(errno)) return std::nullopt;
    const bool is_transient = errno == EINTR || errno == ECONNABORTED;
    if (!is_transient) return failure(channel_error("accept a client", errno));
  }
}

}  // namespace forebay::shm
