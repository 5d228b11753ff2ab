// SPDX-License-Identifier: Apache-2.0
// TCP sockets and their addresses, as far as agents need them to find each other. Only this knows
// what the operating system calls them.
#pragma once

#include <forebay/error.hpp>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include <sys/socket.h>

#include "base/descriptor.hpp"

namespace forebay::comm {

/// An IPv4 or IPv6 address with a port. Plain bytes: may be told to other ranks as it is.
struct Address {
  sockaddr_storage bytes = {};
  std::uint32_t length = 0;

  const sockaddr* get() const noexcept { return reinterpret_cast<const sockaddr*>(&bytes); }
  sockaddr* get() noexcept { return reinterpret_cast<sockaddr*>(&bytes); }
};

/// "10.0.0.1:4711", "[fd00::1]:4711".
std::string text_of(const Address& address);

/// Means this host wherever it is used.
bool is_loopback(const Address& address) noexcept;

/// Where this host can be reached, port 0: the addresses of `network`, which is the name of an
/// interface or an address; all of the host if it is empty. Loopback comes last, as it is of use
/// between processes of one host alone. Addresses that mean nothing without their interface (IPv6
/// link-local) are left out. Fails with kNotFound, naming what there is, if there is none.
Result<std::vector<Address>> local_addresses(const std::string& network);

struct SocketOptions {
  /// After this time without a sign of life of the other host the connection counts as broken.
  std::chrono::milliseconds silence_ms_max{30'000};
  /// For tests: how much the kernel holds in each direction; 0: as the system tunes it.
  std::uint32_t buffer_bytes = 0;
};

/// A socket that waits for calls at `address`, on a port that the system chooses, and the address
/// with that port.
struct Listener {
  Descriptor socket;
  Address address;
};
Result<Listener> listen_at(const Address& address, const SocketOptions& options);

/// The next call that waits at `listener`; an empty Descriptor if there is none.
Descriptor accept_call(const Listener& listener, const SocketOptions& options);

/// Begins to call. The socket is writable once that has come to an end, good or bad
/// (call_outcome()). Fails at once where the system knows that it cannot work.
Result<Descriptor> begin_call(const Address& address, const SocketOptions& options);

/// 0 if a call was answered, else errno.
int call_outcome(const Descriptor& socket) noexcept;

}  // namespace forebay::comm
