// SPDX-License-Identifier: Apache-2.0
// All sockets are non-blocking, closed on exec, and send small messages immediately (TCP_NODELAY).
// They detect a silent host: while bytes are in flight by TCP_USER_TIMEOUT, otherwise by keep-alive
// probes.
#include "comm/socket.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>

#include "base/checked_cast.hpp"

namespace forebay::comm {

namespace {

constexpr int kBacklog = 1024;        ///< pending connections; the system may allow fewer
constexpr int kKeepAliveProbes = 3;   ///< unanswered probes after which the host counts as gone
constexpr std::size_t kTextMax = 64;  ///< longer than any address

using Interfaces = std::unique_ptr<ifaddrs, void (*)(ifaddrs*)>;

bool is_v6(const SocketAddress& address) noexcept { return address.bytes.ss_family == AF_INET6; }

sockaddr_in v4_of(const SocketAddress& address) noexcept {
  sockaddr_in v4{};
  std::memcpy(&v4, &address.bytes, sizeof v4);
  return v4;
}

sockaddr_in6 v6_of(const SocketAddress& address) noexcept {
  sockaddr_in6 v6{};
  std::memcpy(&v6, &address.bytes, sizeof v6);
  return v6;
}

bool is_link_local(const SocketAddress& address) noexcept {
  if (!is_v6(address)) return false;
  const in6_addr host = v6_of(address).sin6_addr;
  return IN6_IS_ADDR_LINKLOCAL(&host) != 0;
}

/// Without the port.
std::string host_text(const SocketAddress& address) {
  std::array<char, kTextMax> text{};
  if (is_v6(address)) {
    const in6_addr host = v6_of(address).sin6_addr;
    ::inet_ntop(AF_INET6, &host, text.data(), text.size());
  } else {
    const in_addr host = v4_of(address).sin_addr;
    ::inet_ntop(AF_INET, &host, text.data(), text.size());
  }
  return text.data();
}

/// The address of an interface; length 0 if other hosts and processes cannot use it.
SocketAddress usable_address(const ifaddrs& interface) noexcept {
  if (interface.ifa_addr == nullptr || (interface.ifa_flags & IFF_UP) == 0) return {};
  SocketAddress address;
  if (interface.ifa_addr->sa_family == AF_INET) address.length = sizeof(sockaddr_in);
  if (interface.ifa_addr->sa_family == AF_INET6) address.length = sizeof(sockaddr_in6);
  std::memcpy(&address.bytes, interface.ifa_addr, address.length);
  if (address.length > 0 && is_link_local(address)) return {};
  return address;
}

void set_option(const Descriptor& socket, int level, int name, int value) noexcept {
  // An unknown option is ignored: all of these are optional.
  std::ignore = ::setsockopt(socket.get(), level, name, &value, sizeof value);
}

void set_options(const Descriptor& socket, const SocketOptions& options) noexcept {
  const auto silence_ms = static_cast<int>(options.peer_timeout_ms.count());
  const int probe_s = std::max(1, silence_ms / 1000 / (kKeepAliveProbes + 1));
  set_option(socket, IPPROTO_TCP, TCP_NODELAY, 1);
  set_option(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, silence_ms);
  set_option(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
  set_option(socket, IPPROTO_TCP, TCP_KEEPIDLE, probe_s);
  set_option(socket, IPPROTO_TCP, TCP_KEEPINTVL, probe_s);
  set_option(socket, IPPROTO_TCP, TCP_KEEPCNT, kKeepAliveProbes);
  if (options.buffer_bytes == 0) return;
  const auto buffer_bytes = checked_cast<int>(options.buffer_bytes);
  set_option(socket, SOL_SOCKET, SO_SNDBUF, buffer_bytes);
  set_option(socket, SOL_SOCKET, SO_RCVBUF, buffer_bytes);
}

Result<Descriptor> make_socket(const SocketAddress& address, const SocketOptions& options) {
  Descriptor socket(
      ::socket(address.bytes.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket) {
    return failure(system_error({.operation = "make a socket"}, errno));
  }
  if (is_v6(address)) set_option(socket, IPPROTO_IPV6, IPV6_V6ONLY, 1);
  set_options(socket, options);
  return socket;
}

tl::unexpected<Error> errno_failure(const char* operation,
                                    const SocketAddress& address,
                                    int error_number) {
  return failure(
      system_error({.operation = std::string(operation) + " " + text_of(address)}, error_number));
}

}  // namespace

bool is_loopback(const SocketAddress& address) noexcept {
  constexpr std::uint32_t kLoopbackNetwork = 127;
  if (!is_v6(address)) return ntohl(v4_of(address).sin_addr.s_addr) >> 24U == kLoopbackNetwork;
  const in6_addr host = v6_of(address).sin6_addr;
  return IN6_IS_ADDR_LOOPBACK(&host) != 0;
}

std::string text_of(const SocketAddress& address) {
  if (is_v6(address)) {
    return "[" + host_text(address) + "]:" + std::to_string(ntohs(v6_of(address).sin6_port));
  }
  return host_text(address) + ":" + std::to_string(ntohs(v4_of(address).sin_port));
}

Result<std::vector<SocketAddress>> local_addresses(const std::string& network) {
  ifaddrs* raw = nullptr;
  if (::getifaddrs(&raw) != 0) {
    return failure(system_error({.operation = "list network interfaces"}, errno));
  }
  const Interfaces interfaces(raw, ::freeifaddrs);
  std::vector<SocketAddress> found;
  std::vector<SocketAddress> loopback;
  std::string all;
  for (const ifaddrs* one = raw; one != nullptr; one = one->ifa_next) {
    const SocketAddress address = usable_address(*one);
    if (address.length == 0) continue;
    const std::string host = host_text(address);
    all += (all.empty() ? "" : ", ") + std::string(one->ifa_name) + " (" + host + ")";
    const bool is_wanted = network.empty() || network == one->ifa_name || network == host;
    if (is_wanted) (is_loopback(address) ? loopback : found).push_back(address);
  }
  found.insert(found.end(), loopback.begin(), loopback.end());
  if (!found.empty()) return found;
  const std::string wanted = network.empty() ? "a network" : "network " + network;
  return failure({.kind = ErrorClass::kNotFound,
                  .operation = "find " + wanted,
                  .cause = all.empty() ? "no interface is up" : "available: " + all});
}

Result<TcpListener> listen_at(const SocketAddress& address, const SocketOptions& options) {
  Result<Descriptor> socket = make_socket(address, options);
  if (!socket) return failure(socket.error());
  TcpListener listener{std::move(*socket), address};
  const int descriptor = listener.socket.get();
  if (::bind(descriptor, address.get(), address.length) != 0 ||
      ::listen(descriptor, kBacklog) != 0) {
    return errno_failure("listen at", address, errno);
  }
  socklen_t length = sizeof listener.address.bytes;
  if (::getsockname(descriptor, listener.address.get(), &length) != 0) {
    return errno_failure("listen at", address, errno);
  }
  return listener;
}

Descriptor accept_connection(const TcpListener& listener, const SocketOptions& options) {
  Descriptor socket(
      ::accept4(listener.socket.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (socket) set_options(socket, options);
  return socket;
}

Result<Descriptor> start_connect(const SocketAddress& address, const SocketOptions& options) {
  Result<Descriptor> socket = make_socket(address, options);
  if (!socket) return socket;
  if (::connect(socket->get(), address.get(), address.length) == 0) return socket;
  if (errno == EINPROGRESS || errno == EINTR) return socket;
  return errno_failure("connect to", address, errno);
}

int connect_errno(const Descriptor& socket) noexcept {
  int outcome = 0;
  socklen_t length = sizeof outcome;
  if (::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &outcome, &length) != 0) return errno;
  return outcome;
}

}  // namespace forebay::comm
