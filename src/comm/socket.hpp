// SPDX-License-Identifier: Apache-2.0
// TCP sockets and their addresses, as agents need them. Only this code uses the socket calls of the
// operating system.
#pragma once

#include <forebay/error.hpp>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include <sys/socket.h>

#include "base/descriptor.hpp"

namespace forebay::comm {

/// An IPv4 or IPv6 address with a port. Plain bytes, which may be sent to other ranks as they are.
struct SocketAddress {
  sockaddr_storage bytes = {};
  std::uint32_t length = 0;

  const sockaddr* get() const noexcept { return reinterpret_cast<const sockaddr*>(&bytes); }
  sockaddr* get() noexcept { return reinterpret_cast<sockaddr*>(&bytes); }
};

/// "10.0.0.1:4711", "[fd00::1]:4711".
std::string text_of(const SocketAddress& address);

/// True for addresses that mean the local host on every host.
bool is_loopback(const SocketAddress& address) noexcept;

/// Addresses at which this host can be reached, port 0: those of `network`, the name of an
/// interface or an address; all of the host if it is empty. Loopback comes last, as only processes
/// of one host can use it. Addresses without meaning outside their interface (IPv6 link-local) are
/// left out. Fails with kNotFound, naming the available addresses, if none matches.
Result<std::vector<SocketAddress>> local_addresses(const std::string& network);

struct SocketOptions {
  /// A connection without response of the other host for this time counts as broken.
  std::chrono::milliseconds peer_timeout_ms{30'000};
  /// For tests: size of the kernel's buffer in each direction; 0: as tuned by the system.
  std::uint32_t buffer_bytes = 0;
};

/// A socket that listens at `address`, on a port that the system chooses, and the address with that
/// port.
struct TcpListener {
  Descriptor socket;
  SocketAddress address;
};
Result<TcpListener> listen_at(const SocketAddress& address, const SocketOptions& options);

/// The next connection of `listener`; an empty Descriptor if none is pending.
Descriptor accept_connection(const TcpListener& listener, const SocketOptions& options);

/// Starts to connect. The socket is writable once that has completed or failed (connect_errno()).
/// Fails at once if the system already detects a failure.
Result<Descriptor> start_connect(const SocketAddress& address, const SocketOptions& options);

/// 0 if the connection was accepted, else errno.
int connect_errno(const Descriptor& socket) noexcept;

}  // namespace forebay::comm
