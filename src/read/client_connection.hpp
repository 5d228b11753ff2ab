// SPDX-License-Identifier: Apache-2.0
// ClientConnection: the agent's side of a client: its channel, its rings, and the sessions that it
// has open. NodeServer owns one for each client.
#pragma once

#include <forebay/error.hpp>

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "base/descriptor.hpp"
#include "read/local_session.hpp"
#include "read/node_client.hpp"
#include "read/node_messages.hpp"
#include "read/node_server.hpp"
#include "shm/channel.hpp"
#include "shm/doorbell.hpp"
#include "shm/process_watch.hpp"
#include "shm/readiness.hpp"
#include "shm/ring_pair.hpp"
#include "shm/shared_memory.hpp"

namespace forebay::read {

/// The agent's thread uses it; any thread may call send().
class ClientConnection final : public SessionClient {
 public:
  using Rings = shm::RingPair<LoadNotification, LoadRequest>;

  static Result<std::unique_ptr<ClientConnection>> make(shm::Channel channel,
                                                        std::uint32_t client_index) {
    auto memory = shm::SharedMemory::create("forebay-rings", ConnectionLayout::bytes());
    if (!memory) return failure(memory.error());
    auto agent_doorbell = shm::Doorbell::create();
    if (!agent_doorbell) return failure(agent_doorbell.error());
    auto client_doorbell = shm::Doorbell::create();
    if (!client_doorbell) return failure(client_doorbell.error());
    auto duplicate = client_doorbell->descriptor().duplicate();
    if (!duplicate) return failure(duplicate.error());
    auto rings = Rings::attach(ConnectionLayout::to_client(*memory),
                               ConnectionLayout::to_agent(*memory), std::move(*client_doorbell));
    if (!rings) return failure(rings.error());
    auto connection = std::unique_ptr<ClientConnection>(new ClientConnection(
        std::move(channel), std::move(*memory), std::move(*agent_doorbell), std::move(*rings)));
    connection->client_index_ = client_index;
    if (auto sent = connection->send_connect_reply(*duplicate); !sent) return failure(sent.error());
    if (connection->channel_.peer().pid > 0) {
      if (auto process = shm::watch_process(connection->channel_.peer().pid))
        connection->process_descriptor_ = std::move(*process);
    }
    return connection;
  }

  std::uint32_t client_index() const noexcept { return client_index_; }
  shm::Channel& channel() noexcept { return channel_; }
  const shm::Doorbell& agent_doorbell() const noexcept { return agent_doorbell_; }
  int process_descriptor() const noexcept { return process_descriptor_.get(); }
  /// Whether its process has ended, as far as known.
  bool has_ended() const noexcept {
    const std::array<int, 1> process{process_descriptor_.get()};
    return process[0] >= 0 && shm::wait_readable(process, kDoNotBlock).has_value();
  }
  /// The same once rejected. Without a pidfd, the client ends when it closes the channel;
  /// messages that arrive until then are dropped.
  bool has_ended_after_rejection() {
    if (process_descriptor_) return has_ended();
    while (true) {
      const auto message = channel_.receive(kDoNotBlock);
      if (message && !*message) return false;
      if (!message && message.error().kind() == ErrorClass::kClosed) return true;
    }
  }
  std::array<int, 3> watched_descriptors() const noexcept {
    return {channel_.descriptor().get(), agent_doorbell_.descriptor().get(),
            process_descriptor_.get()};
  }
  bool is_rejected() const noexcept { return is_rejected_; }
  void set_rejected() noexcept { is_rejected_ = true; }
  /// Open sessions by number, each with the listener of the function that runs for it, if any.
  std::map<std::uint64_t, NodeServer::ReadListener>& sessions() noexcept { return sessions_; }

  void send(const LoadNotification& ring_message) noexcept override { enqueue(ring_message); }

  /// kBroken also after reject(), or if the ring to the client is damaged.
  shm::RingOutcome next_request(LoadRequest& ring_message) noexcept {
    const std::lock_guard lock(mutex_);
    return is_broken_ ? shm::RingOutcome::kBroken : rings_.try_pop(ring_message);
  }
  /// As RingPair::prepare_sleep(). Also sends kOverflow for dropped notifications, once there is
  /// room.
  bool prepare_sleep() noexcept {
    const std::lock_guard lock(mutex_);
    if (has_overflowed_) has_overflowed_ = !try_push({.kind = NotificationKind::kOverflow});
    if (is_broken_) return false;
    return rings_.prepare_sleep(has_overflowed_ ? shm::WakeCondition::kEither
                                                : shm::WakeCondition::kMessage);
  }
  /// After a malformed message: sends the reason to the client, and marks its ring as broken.
  void reject(const Error& why) {
    const Error sent = with_note(why, "sent by process " + std::to_string(channel_.peer().pid));
    static_cast<void>(channel_.send(to_bytes(ErrorReply{kAllSessions, sent})));
    const std::lock_guard lock(mutex_);
    is_broken_ = true;
  }
  bool take_released_flag() const noexcept {
    return ConnectionLayout::released_flag(memory_).exchange(0, std::memory_order_seq_cst) != 0;
  }

 private:
  ClientConnection(shm::Channel channel,
                   shm::SharedMemory memory,
                   shm::Doorbell agent_doorbell,
                   Rings rings)
      : channel_(std::move(channel)),
        memory_(std::move(memory)),
        agent_doorbell_(std::move(agent_doorbell)),
        rings_(std::move(rings)) {}

  Status send_connect_reply(const Descriptor& client_doorbell) {
    const auto memory = memory_.share(shm::Protection::kReadWrite);
    if (!memory) return failure(memory.error());
    const std::array<int, 3> descriptors{memory->get(), client_doorbell.get(),
                                         agent_doorbell_.descriptor().get()};
    return channel_.send(to_bytes(ConnectReply{.client_index = client_index_}), descriptors);
  }

  void enqueue(const LoadNotification& ring_message) noexcept {
    const std::lock_guard lock(mutex_);
    if (has_overflowed_ || !try_push(ring_message)) has_overflowed_ = true;
    if (has_overflowed_) agent_doorbell_.ring();  // prepare_sleep() then retries
  }
  /// Under the lock.
  bool try_push(const LoadNotification& ring_message) noexcept {
    const shm::RingOutcome outcome = rings_.try_push(ring_message);
    if (outcome == shm::RingOutcome::kBroken) is_broken_ = true;
    return outcome == shm::RingOutcome::kDone;
  }

  shm::Channel channel_;
  const shm::SharedMemory memory_;
  const shm::Doorbell agent_doorbell_;
  Descriptor process_descriptor_;
  std::uint32_t client_index_ = 0;
  std::map<std::uint64_t, NodeServer::ReadListener> sessions_;
  bool is_rejected_ = false;
  std::mutex mutex_;  // guards the members below: notifications may be sent by any thread
  Rings rings_;
  bool has_overflowed_ = false;
  bool is_broken_ = false;
};

}  // namespace forebay::read
