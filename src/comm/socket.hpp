// SPDX-License-Identifier: Apache-2.0
// TCP sockets and their addresses. Only this code creates, configures and connects TCP sockets;
// Link and Handshake send and receive on them.
#pragma once

#include <forebay/error.hpp>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include <sys/socket.h>

#include "base/descriptor.hpp"

namespace forebay::comm {

/// An IPv4 or IPv6 address with a port. Its bytes may be sent to other ranks unchanged.
struct SocketAddress {
  sockaddr_storage bytes = {};
  std::uint32_t length = 0;

  const sockaddr* get() const noexcept { return reinterpret_cast<const sockaddr*>(&bytes); }
  sockaddr* get() noexcept { return reinterpret_cast<sockaddr*>(&bytes); }
};

/// "10.0.0.1:4711", "[fd00::1]:4711".
std::string text_of(const SocketAddress& address);

/// True for addresses by which every host reaches itself: 127.0.0.0/8 and ::1.
bool is_loopback(const SocketAddress& address) noexcept;

/// Addresses at which other processes can reach this host, with port 0. `network` is the name of an
/// interface, or an address; empty: all addresses of the host. Loopback addresses come last, as
/// only processes of one host can use them. IPv6 link-local addresses are left out: they are valid
/// on one interface only. If none matches, fails with kNotFound and names the available addresses.
Result<std::vector<SocketAddress>> local_addresses(const std::string& network);

struct SocketOptions {
  /// A connection counts as broken after this time without a response of the other host.
  std::chrono::milliseconds peer_timeout_ms{30'000};
  /// For tests: size of the kernel's buffer in each direction; 0: the system's default.
  std::uint32_t buffer_bytes = 0;
};

/// A listening socket and its address, with the port that the system has chosen.
struct TcpListener {
  Descriptor socket;
  SocketAddress address;
};
Result<TcpListener> listen_at(const SocketAddress& address, const SocketOptions& options);

/// The next connection of `listener`. On failure an empty Descriptor, with errno: EAGAIN if none is
/// pending.
Descriptor accept_connection(const TcpListener& listener, const SocketOptions& options);

/// Starts a connect(). The socket is writable once it has completed or failed (connect_errno()).
/// Fails if connect() fails immediately.
Result<Descriptor> start_connect(const SocketAddress& address, const SocketOptions& options);

/// The outcome of start_connect(): 0 if the socket is connected, else errno (SO_ERROR).
int connect_errno(const Descriptor& socket) noexcept;

}  // namespace forebay::comm
