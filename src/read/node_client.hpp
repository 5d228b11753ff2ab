// SPDX-License-Identifier: Apache-2.0
// NodeClient: the connection of a process to its node's agent. It opens sessions there, transfers
// ring messages both ways, and detects the end of the agent.
#pragma once

#include <forebay/error.hpp>

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <unordered_map>

#include "read/mapped_session.hpp"
#include "read/node_messages.hpp"
#include "shm/channel.hpp"
#include "shm/doorbell.hpp"
#include "shm/ring_pair.hpp"
#include "shm/shared_memory.hpp"

namespace forebay::read {

/// Memory that a client and the agent share besides control blocks and windows: two rings, and a
/// flag that is set when the client has released memory.
struct ConnectionLayout {
  static std::size_t bytes() noexcept;
  static std::span<std::byte> to_agent(const shm::SharedMemory& memory) noexcept;
  static std::span<std::byte> to_client(const shm::SharedMemory& memory) noexcept;
  static std::atomic<std::uint32_t>& released_flag(const shm::SharedMemory& memory) noexcept;
};

class NodeClient final : public AgentConnection, public std::enable_shared_from_this<NodeClient> {
 public:
  /// Connects to the agent of that name, and starts a thread that sleeps until messages arrive.
  /// Fails with kNotFound, kPermission, kLimit, kDamage; kUnsupported if the agent has another
  /// version.
  static Result<std::shared_ptr<NodeClient>> connect(const std::string& name, Deadline deadline);
  ~NodeClient() override;

  /// Opens a session at the agent, or joins it there. Blocks until the agent replies or ends
  /// (kClosed). `args.plan` is the requested plan; the session has the complete one.
  Result<std::shared_ptr<MappedSession>> open(MappedSession::OpenArgs args);

  /// Ends the thread. From now on, open sessions read with their fallback agents.
  void stop();

  void send(const LoadRequest& ring_message) noexcept override;
  void notify_memory_released() noexcept override;
  void close_session(const SessionHandle& session) noexcept override;
  bool invalidate(const SessionHandle& session, ByteRange range) override;
  Status start_function(const SessionHandle& session,
                        std::string_view name,
                        std::span<const std::byte> argument) override;

  /// The memory of both rings.
  const shm::SharedMemory& memory_for_testing() const noexcept { return memory_; }

 private:
  using Rings = shm::RingPair<LoadRequest, LoadNotification>;
  /// A message about a session that awaits its reply.
  struct PendingReply {
    bool is_open = false;  ///< of an OpenSessionRequest, which may be lost with its descriptor
    std::optional<NodeMessage> reply;
    std::vector<Descriptor> descriptors;
  };

  NodeClient(shm::Channel channel,
             shm::SharedMemory memory,
             shm::Doorbell doorbell,
             Rings rings,
             std::uint32_t client_index);
  Status start();
  Status send_request(const SessionHandle& handle,
                      const NodeMessage& message,
                      std::span<const int> descriptors = {});
  Result<PendingReply> wait_for_reply(const SessionHandle& handle);
  Result<NodeMessage> call(const SessionHandle& session, const NodeMessage& message);
  void run();
  bool receive_messages();
  bool exchange_messages();
  bool drain_ring();
  Status handle_message(shm::ChannelMessage message);
  void fail_pending_opens(const Error& why);
  Status dispatch(const LoadNotification& ring_message);
  void disconnect(const Error& why);

  const shm::SharedMemory memory_;
  const shm::Doorbell doorbell_;
  const std::uint32_t client_index_;
  shm::Doorbell stop_doorbell_;
  Descriptor agent_process_;  // empty if the system has no pidfd
  std::thread thread_;

  std::mutex call_mutex_;     // one call() at a time
  std::mutex channel_mutex_;  // for sending
  shm::Channel channel_;

  std::mutex mutex_;  // guards all members below
  std::condition_variable reply_arrived_;
  Rings rings_;
  std::deque<LoadRequest> backlog_;  // messages that found no room
  std::optional<Error> disconnect_error_;
  std::unordered_map<std::uint64_t, PendingReply> pending_replies_;  // by session number
  std::unordered_map<std::uint64_t, std::weak_ptr<MappedSession>> sessions_;
};

}  // namespace forebay::read
