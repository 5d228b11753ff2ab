// SPDX-License-Identifier: Apache-2.0
// NodeServer: serves sessions to the clients of a node. It opens sessions for them, creates control
// blocks in memory that they can map, and forwards their requests. When a client dies, it releases
// the memory that the client held. The engine agent's thread calls poll(); the agents of the
// sessions read.
#pragma once

#include <forebay/error.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/descriptor.hpp"
#include "read/event_source.hpp"
#include "read/local_session.hpp"
#include "read/node_messages.hpp"
#include "shm/channel.hpp"

namespace forebay::read {

class ClientConnection;

/// Calls come from one thread, the one that calls poll(); except start(), name(), descriptor() and
/// set_on_all_clients_ended().
class NodeServer final : public EventSource {
 public:
  /// Arguments for opening a session that a client requests. The agent calls `create_control_block`
  /// once the plan is complete.
  struct OpenArgs {
    OpenSessionRequest request;
    Descriptor file;  ///< empty if it was not received, or if the file must be opened by its path
    ControlBlockFactory create_control_block;
  };
  /// A session has one plan, that of its first client. `check_plan` checks whether the plan of a
  /// later client could have opened the session: an invalid plan must fail whichever client is
  /// first.
  struct ServedSession {
    std::shared_ptr<LocalSession> session;
    std::function<Status(const ReadPlan&)> check_plan = nullptr;  ///< null: all plans are valid
  };
  using SessionOpener = std::function<Result<ServedSession>(OpenArgs)>;

  /// For at most `clients_max` clients at a time; poll() calls `session_opener`.
  static Result<std::shared_ptr<NodeServer>> start(std::uint32_t clients_max,
                                                   SessionOpener session_opener);
  ~NodeServer() override;
  NodeServer(const NodeServer&) = delete;
  NodeServer& operator=(const NodeServer&) = delete;

  /// poll() calls `on_all_clients_ended` once, when `clients_max` clients have connected and ended.
  /// Set it before the first poll().
  void set_on_all_clients_ended(std::function<void()> on_all_clients_ended) {
    on_all_clients_ended_ = std::move(on_all_clients_ended);
  }

  /// Receives the reads of a client for which a function runs, with their numbers. The function
  /// ends when this is destroyed.
  using ReadListener = std::function<void(ByteRange read, std::uint64_t position)>;
  /// A function that a client starts by name.
  struct FunctionCall {
    std::shared_ptr<LocalSession> session;
    std::uint32_t client_index = 0;
    std::string name;
    std::vector<std::byte> argument;
  };
  using FunctionStarter = std::function<Result<ReadListener>(FunctionCall)>;
  /// Set it before the first poll(), which calls it.
  void set_function_starter(FunctionStarter starter) { function_starter_ = std::move(starter); }

  /// poll() calls `on_invalidated` with what a client has invalidated. Set it before the first
  /// poll().
  using InvalidationListener = std::function<void(const SessionHandle&, ByteRange)>;
  void set_on_invalidated(InvalidationListener on_invalidated) {
    on_invalidated_ = std::move(on_invalidated);
  }

  /// Name for NodeClient::connect(), in any process of this node and user.
  const std::string& name() const noexcept { return name_; }

  /// For other nodes: opens a session here, or joins it, until close_session().
  Result<std::shared_ptr<LocalSession>> open_session(OpenSessionRequest request);
  void close_session(const SessionHandle& handle);
  /// Bytes of the file have changed. Does nothing if no session has this handle.
  void invalidate(const SessionHandle& handle, ByteRange range);

  int descriptor() const noexcept override { return events_.get(); }
  void poll() override;
  Deadline next_deadline() const override { return next_check_; }
  void shutdown() override;

  /// Connected clients, and sessions that have not ended, as of the last poll().
  std::size_t client_count() const noexcept { return clients_.size(); }
  std::size_t session_count() const noexcept { return sessions_.size() + draining_.size(); }

 private:
  /// A session that clients have open, or whose memory they still hold.
  struct SessionEntry;

  NodeServer(std::uint32_t clients_max, SessionOpener session_opener);
  Status watch(int descriptor, std::uint64_t key);
  void accept_clients();
  Status add_client(shm::Channel channel);
  void handle_client_events(std::uint32_t client_index);
  bool receive_messages(ClientConnection& client);
  Status handle_message(ClientConnection& client, shm::ChannelMessage message);
  static Status reply(ClientConnection& client,
                      const SessionHandle& handle,
                      const NodeMessage& message);
  Status handle_open_request(ClientConnection& client,
                             OpenSessionRequest request,
                             shm::ChannelMessage message);
  Status handle_start_function(ClientConnection& client, StartFunctionRequest request);
  Result<SessionEntry*> find_or_open(OpenSessionRequest request, Descriptor file);
  Status send_open_reply(ClientConnection& client, const SessionEntry& entry);
  void close_session(ClientConnection& client, const SessionHandle& handle);
  void release_session(
      std::unordered_map<std::uint64_t, std::unique_ptr<SessionEntry>>::iterator entry);
  bool drain_ring(ClientConnection& client);
  Status handle_request(ClientConnection& client, const LoadRequest& ring_message);
  void handle_memory_released(ClientConnection& client);
  void close_all_sessions(std::uint32_t client_index);
  void reject_client(std::uint32_t client_index);
  void remove_client(std::uint32_t client_index);
  void stop_watching(const ClientConnection& client) const;
  void destroy_drained_sessions();
  template <class Use>
  void for_each_session(Use use) const;

  const std::uint32_t clients_max_;
  const SessionOpener session_opener_;
  std::function<void()> on_all_clients_ended_;
  InvalidationListener on_invalidated_;
  FunctionStarter function_starter_;
  std::uint32_t ended_count_ = 0;  // clients that have ended
  std::string name_;
  shm::ChannelListener listener_;  // empty once it has failed
  Descriptor events_;
  std::unordered_map<std::uint32_t, std::unique_ptr<ClientConnection>> clients_;  // by row
  std::unordered_map<std::uint64_t, std::unique_ptr<SessionEntry>> sessions_;     // by number
  std::vector<std::unique_ptr<SessionEntry>>
      draining_;         // closed, but clients still hold their memory
  Deadline next_check_;  // time of the next check of draining_
};

}  // namespace forebay::read
