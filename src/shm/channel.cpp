// SPDX-License-Identifier: Apache-2.0
// Each call of the kernel is made without blocking, and readiness is waited for apart, so that the
// mode of a descriptor which another process shares with us does not matter.
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
#include "base/uninterrupted.hpp"
#include "shm/readiness.hpp"

namespace forebay::shm {

namespace {

constexpr std::size_t kNameRandomBytes = 16;

Error channel_error(const char* operation, int error_number) {
  return system_error({.operation = operation}, error_number);
}

Error closed(const char* operation, int error_number) {
  return Error({.kind = ErrorClass::kClosed,
                .operation = operation,
                .error_number = error_number,
                .cause = "the other end is gone"});
}

bool would_block(int error_number) noexcept {
  return error_number == EAGAIN || error_number == EWOULDBLOCK;
}

struct Address {
  sockaddr_un socket{};
  socklen_t size_bytes = 0;

  const sockaddr* generic() const noexcept { return reinterpret_cast<const sockaddr*>(&socket); }
};

/// An abstract name: a zero byte first, and no zero at the end.
Result<Address> address_of(const std::string& name) {
  Address address;
  constexpr std::size_t kNameBytesMax = sizeof(address.socket.sun_path) - 1;
  if (name.empty() || name.size() > kNameBytesMax) {
    return failure({.kind = ErrorClass::kInvalidArgument,
                    .operation = "connect to an agent",
                    .cause = "its name has " + std::to_string(name.size()) + " bytes"});
  }
  address.socket.sun_family = AF_UNIX;
  std::memcpy(address.socket.sun_path + 1, name.data(), name.size());
  address.size_bytes = checked_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  return address;
}

Result<std::string> random_name() {
  std::array<std::uint8_t, kNameRandomBytes> random{};
  const ssize_t got = ::getrandom(random.data(), random.size(), 0);
  if (got != static_cast<ssize_t>(random.size()))  // so few bytes are never cut short
    return failure(channel_error("draw a random name", got < 0 ? errno : EIO));
  std::string name = "forebay-";
  for (const std::uint8_t byte : random) {
    constexpr const char* kDigits = "0123456789abcdef";
    name += kDigits[byte >> 4U];
    name += kDigits[byte & 0xFU];
  }
  return name;
}

Result<PeerIdentity> identity_of(const Descriptor& socket) {
  ucred credentials{};
  socklen_t size_bytes = sizeof credentials;
  if (::getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &credentials, &size_bytes) != 0)
    return failure(channel_error("ask who is at the other end", errno));
  return PeerIdentity{.pid = credentials.pid, .uid = credentials.uid};
}

/// How long the kernel may keep us in connect(), for which there is no poll().
timeval connect_patience(const Deadline& deadline) {
  if (!deadline) return {};  // for ever
  const TimePoint now = SteadyClock::shared().now();
  const auto left = *deadline <= now
                        ? std::chrono::microseconds(1)  // 0 would be for ever
                        : std::chrono::ceil<std::chrono::microseconds>(*deadline - now);
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(left);
  return {.tv_sec = seconds.count(), .tv_usec = (left - seconds).count()};
}

/// 0 or errno.
int connect_until(const Descriptor& socket, const Address& address, const Deadline& deadline) {
  for (;;) {
    const timeval patience = connect_patience(deadline);
    if (::setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience) != 0)
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
    details.cause = "nobody listens under this name here";
    return Error(std::move(details));
  }
  if (would_block(error_number)) {
    details.kind = ErrorClass::kLimit;
    details.cause = "it did not get around to it in time: others are waiting, too";
    return Error(std::move(details));
  }
  return system_error(std::move(details), error_number);
}

/// Room for the descriptors of one message, in the form that the kernel wants.
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

/// Takes over whatever the kernel has put into our table of descriptors.
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
  return failure({.kind = ErrorClass::kInvalidArgument,
                  .operation = "send a message",
                  .cause = std::to_string(bytes.size()) + " bytes and " +
                           std::to_string(descriptors.size()) + " descriptors; from 1 to " +
                           std::to_string(kMessageBytesMax) + " bytes and up to " +
                           std::to_string(kMessageDescriptorsMax) + " descriptors are possible"});
}

/// 0 or errno; EAGAIN if there is no room now.
int send_once(const Descriptor& socket,
              std::span<const std::byte> bytes,
              std::span<const int> descriptors) noexcept {
  // sendmsg does not write to it.
  iovec piece{.iov_base = const_cast<std::byte*>(bytes.data()), .iov_len = bytes.size()};
  msghdr header{};
  header.msg_iov = &piece;
  header.msg_iovlen = 1;
  ControlBuffer control;
  attach_descriptors(header, control, descriptors);
  const ssize_t sent =
      uninterrupted([&] { return ::sendmsg(socket.get(), &header, MSG_NOSIGNAL | MSG_DONTWAIT); });
  return sent < 0 ? errno : 0;
}

Error send_error(int error_number) {
  constexpr const char* kOperation = "send a message";
  if (error_number == EPIPE || error_number == ECONNRESET || error_number == ENOTCONN)
    return closed(kOperation, error_number);
  ErrorDetails details{.operation = kOperation, .error_number = error_number};
  if (would_block(error_number)) {
    details.kind = ErrorClass::kLimit;
    details.cause = "the other end does not take what was sent before";
    return Error(std::move(details));
  }
  if (error_number == ETOOMANYREFS) {
    details.kind = ErrorClass::kLimit;
    details.cause = "too many descriptors are under way and not received yet";
    return Error(std::move(details));
  }
  return system_error(std::move(details), error_number);
}

constexpr const char* kReceive = "receive a message";

Error receive_error(int error_number) {
  if (error_number == ECONNRESET) return closed(kReceive, error_number);
  return channel_error(kReceive, error_number);
}

}  // namespace

Status check_peer(const PeerIdentity& peer, uid_t own) {
  if (peer.uid == own) return {};
  return failure({.kind = ErrorClass::kPermission,
                  .operation = "talk to process " + std::to_string(peer.pid),
                  .cause = "it belongs to user " + std::to_string(peer.uid) +
                           ", this one to user " + std::to_string(own)});
}

Result<Channel> Channel::checked(Descriptor socket) {
  auto peer = identity_of(socket);
  if (!peer) return failure(peer.error());
  if (auto known = check_peer(*peer, ::geteuid()); !known) return failure(known.error());
  return Channel(std::move(socket), *peer);
}

Result<Channel> Channel::connect(const std::string& name, Deadline deadline) {
  auto address = address_of(name);
  if (!address) return failure(address.error());
  Descriptor socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  if (!socket) return failure(channel_error("make a socket", errno));
  const int error_number = connect_until(socket, *address, deadline);
  if (error_number != 0) return failure(connect_error(name, error_number));
  return checked(std::move(socket));
}

Result<std::pair<Channel, Channel>> Channel::pair() {
  std::array<int, 2> numbers{};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, numbers.data()) != 0)
    return failure(channel_error("make a pair of sockets", errno));
  auto first = Descriptor(numbers[0]);
  auto second = Descriptor(numbers[1]);
  const PeerIdentity self{.pid = ::getpid(), .uid = ::geteuid()};
  return std::pair(Channel(std::move(first), self), Channel(std::move(second), self));
}

Status Channel::send(std::span<const std::byte> bytes,
                     std::span<const int> descriptors,
                     Deadline deadline) {
  if (auto fits = check_message(bytes, descriptors); !fits) return fits;
  for (;;) {
    const int error_number = send_once(socket_, bytes, descriptors);
    if (error_number == 0) return {};
    const bool may_wait = would_block(error_number) && wait_writable(socket_.get(), deadline);
    if (!may_wait) return failure(send_error(error_number));
  }
}

void Channel::end() noexcept {
  if (socket_) ::shutdown(socket_.get(), SHUT_RDWR);
}

Result<std::optional<Message>> Channel::receive(Deadline deadline) {
  const std::array<int, 1> descriptors{socket_.get()};
  while (wait_readable(descriptors, deadline)) {
    const ssize_t size_bytes =
        ::recv(socket_.get(), nullptr, 0, MSG_PEEK | MSG_TRUNC | MSG_DONTWAIT);
    if (size_bytes >= 0) return receive_now(checked_cast<std::size_t>(size_bytes));
    if (errno == EINTR || would_block(errno)) continue;
    return failure(receive_error(errno));
  }
  return std::nullopt;
}

/// Takes the message that is the next one: `size_bytes` long, 0 at the end of all.
Result<Message> Channel::receive_now(std::size_t size_bytes) {
  Message message;
  message.bytes.resize(std::min(size_bytes, kMessageBytesMax));
  iovec piece{.iov_base = message.bytes.data(), .iov_len = message.bytes.size()};
  ControlBuffer control;
  msghdr header{};
  header.msg_iov = &piece;
  header.msg_iovlen = 1;
  header.msg_control = control.bytes.data();
  header.msg_controllen = control.bytes.size();
  const ssize_t received = ::recvmsg(socket_.get(), &header, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
  const int error_number = errno;
  if (received >= 0) message.descriptors = take_descriptors(header);  // now they are closed, too
  if (received < 0) return failure(receive_error(error_number));
  if (received == 0) return failure(closed(kReceive, 0));
  if ((header.msg_flags & MSG_TRUNC) != 0) {
    return failure({.kind = ErrorClass::kDamage,
                    .operation = kReceive,
                    .cause = "it has more than " + std::to_string(kMessageBytesMax) + " bytes"});
  }
  if ((header.msg_flags & MSG_CTRUNC) != 0) {
    return failure({.kind = ErrorClass::kLimit,
                    .operation = kReceive,
                    .cause = "it brings more than " + std::to_string(kMessageDescriptorsMax) +
                             " descriptors, or this process has none left (ulimit -n)"});
  }
  return message;
}

Result<Listener> Listener::open() {
  constexpr const char* kOperation = "listen for clients";
  auto name = random_name();
  if (!name) return failure(name.error());
  auto address = address_of(*name);
  if (!address) return failure(address.error());
  Listener listener;
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

Result<std::optional<Channel>> Listener::accept() {
  for (;;) {
    Descriptor socket(::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (socket) return Channel::checked(std::move(socket));
    if (would_block(errno)) return std::nullopt;
    const bool passes = errno == EINTR || errno == ECONNABORTED;
    if (!passes) return failure(channel_error("accept a client", errno));
  }
}

}  // namespace forebay::shm
