// SPDX-License-Identifier: Apache-2.0
// Channel: messages and descriptors between two processes of one user on one node. Through it a
// client receives the memory that it shares with the agent. Frequent messages use rings instead.
// The name has no entry in any file system, so a crash leaves nothing behind.
#pragma once

#include <forebay/error.hpp>

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <sys/types.h>

#include "base/clock.hpp"
#include "base/descriptor.hpp"

namespace forebay::shm {

inline constexpr std::size_t kMessageBytesMax = 64U << 10U;
inline constexpr std::size_t kMessageDescriptorsMax = 8;

/// One received message.
struct ChannelMessage {
  std::vector<std::byte> bytes;
  std::vector<Descriptor> descriptors;  ///< closed on exec
};

/// Process and user at the other end, as reported by the kernel, so they cannot be forged. At the
/// accepting end, this is the process that called connect(); at the connecting end, the one that
/// called listen(). Passing the socket on does not change it.
struct PeerCredentials {
  pid_t pid = 0;  ///< 0 if not visible (another PID namespace)
  uid_t uid = 0;
};

/// Fails with kPermission, naming both users, unless the peer's user is `own`.
Status check_peer(const PeerCredentials& peer, uid_t own);

/// One end of a connection that preserves message boundaries. Not thread-safe; no call raises
/// SIGPIPE.
class Channel {
 public:
  /// Empty; only for assignment.
  Channel() noexcept = default;

  /// Connects to the ChannelListener with this name in this network namespace. Blocks while the
  /// listener's queue is full, until the deadline: kLimit. Does not wait for accept(). Fails with
  /// kNotFound if there is no listener, with kPermission if it belongs to a process of another
  /// user.
  static Result<Channel> connect(const std::string& name, Deadline deadline);
  /// Two connected ends.
  static Result<std::pair<Channel, Channel>> pair();

  /// Sends one message of 1 to kMessageBytesMax bytes with at most kMessageDescriptorsMax
  /// descriptors, of which the receiver gets duplicates. All or nothing. Blocks until there is
  /// room: kLimit if the deadline passes. Fails with kClosed if the other end is closed, with
  /// kInvalidArgument for an empty or too large message.
  Status send(std::span<const std::byte> bytes,
              std::span<const int> descriptors = {},
              Deadline deadline = kDoNotBlock);

  /// Blocks until a message arrives, and returns it; no value if the deadline passed. Fails with
  /// kClosed when the other end is closed and all its messages have been received. A message that
  /// is too long (kDamage), or has more descriptors than this process can open (kLimit), is dropped
  /// as a whole.
  Result<std::optional<ChannelMessage>> receive(Deadline deadline);

  /// Ends the connection for both sides, even if a forked child also has the socket open.
  void shutdown() noexcept;
  /// Ends sending: the other end receives kClosed. receive() still detects that the other end is
  /// closed.
  void shutdown_sending() noexcept;

  const PeerCredentials& peer() const noexcept { return peer_; }
  /// Readable when receive() would not block. For poll().
  const Descriptor& descriptor() const noexcept { return socket_; }

 private:
  friend class ChannelListener;
  Channel(Descriptor socket, PeerCredentials peer) noexcept
      : socket_(std::move(socket)), peer_(peer) {}
  static Result<Channel> from_socket(Descriptor socket);
  Result<ChannelMessage> receive_message(std::size_t size_bytes);

  Descriptor socket_;
  PeerCredentials peer_;
};

/// Accepts connections of clients of this node. Not thread-safe.
class ChannelListener {
 public:
  /// Empty; only for assignment.
  ChannelListener() noexcept = default;

  /// Listens under a random name that cannot be guessed. Fails with kLimit.
  static Result<ChannelListener> open();

  /// The argument of Channel::connect(), in another process. Printable.
  const std::string& name() const noexcept { return name_; }

  /// The next connection, or no value if none is pending; never blocks. A process of another user
  /// is refused with kPermission: that connection is closed, and the next one can be accepted.
  Result<std::optional<Channel>> accept();

  /// Readable when accept() has a connection. For poll().
  const Descriptor& descriptor() const noexcept { return socket_; }

 private:
  Descriptor socket_;
  std::string name_;
};

}  // namespace forebay::shm
