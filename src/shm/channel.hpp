// SPDX-License-Identifier: Apache-2.0
// Channel: messages and descriptors between two processes of one user on one node. This is how a
// client gets what it then shares with the agent; what is frequent goes through rings. The name has
// no entry in any file system, so nothing is left behind by a crash.
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

/// What was received in one piece.
struct Message {
  std::vector<std::byte> bytes;
  std::vector<Descriptor> descriptors;  ///< closed on exec
};

/// Who is at the other end, as the kernel says: nobody can lie about it. For a connection that was
/// accepted or connected this is who connected or listened, even if the socket is passed on.
struct PeerIdentity {
  pid_t pid = 0;  ///< 0 if it cannot be seen from here (another PID namespace)
  uid_t uid = 0;
};

/// Only processes of user `own` may talk to us: kPermission, naming both, for others.
Status check_peer(const PeerIdentity& peer, uid_t own);

/// One end of a connection that keeps messages apart. Not thread-safe; no call raises SIGPIPE.
class Channel {
 public:
  /// An empty one; only to be assigned to.
  Channel() noexcept = default;

  /// Connects to the Listener of that name in this network namespace. Blocks, while others are
  /// waiting to be accepted, until the deadline: kLimit. Does not wait for accept(). Fails with
  /// kNotFound if nobody listens, with kPermission if a process of another user does.
  static Result<Channel> connect(const std::string& name, Deadline deadline);
  /// Two ends that are connected with each other.
  static Result<std::pair<Channel, Channel>> pair();

  /// Sends one message of 1 to kMessageBytesMax bytes with at most kMessageDescriptorsMax
  /// descriptors, of which the receiver gets duplicates. All of it or nothing. Blocks until there
  /// is room for it: kLimit if the deadline passes. Fails with kClosed if the other end is gone,
  /// with kInvalidArgument for too much or nothing.
  Status send(std::span<const std::byte> bytes,
              std::span<const int> descriptors = {},
              Deadline deadline = kDoNotBlock);

  /// The next message; nothing if the deadline passed. Blocks until then. Fails with kClosed when
  /// the other end is gone and all that it sent has been received. What does not fit (kDamage) or
  /// brought descriptors that this process has no room for (kLimit) is dropped as a whole.
  Result<std::optional<Message>> receive(Deadline deadline);

  /// Ends the connection for both sides, even if a forked child holds the socket, too.
  void end() noexcept;

  const PeerIdentity& peer() const noexcept { return peer_; }
  /// Readable when receive() would not block. To wait for.
  const Descriptor& descriptor() const noexcept { return socket_; }

 private:
  friend class Listener;
  Channel(Descriptor socket, PeerIdentity peer) noexcept
      : socket_(std::move(socket)), peer_(peer) {}
  static Result<Channel> checked(Descriptor socket);
  Result<Message> receive_now(std::size_t size_bytes);

  Descriptor socket_;
  PeerIdentity peer_;
};

/// Where clients of this node connect. Not thread-safe.
class Listener {
 public:
  /// An empty one; only to be assigned to.
  Listener() noexcept = default;

  /// Listens under a name that nobody can guess. Fails with kLimit.
  static Result<Listener> open();

  /// What to hand to Channel::connect(), in another process. Printable.
  const std::string& name() const noexcept { return name_; }

  /// The next connection, or nothing if none is waiting; never blocks. A process of another user is
  /// refused with kPermission: that connection is closed, and the next one can be accepted.
  Result<std::optional<Channel>> accept();

  /// Readable when accept() has something to give. To wait for.
  const Descriptor& descriptor() const noexcept { return socket_; }

 private:
  Descriptor socket_;
  std::string name_;
};

}  // namespace forebay::shm
