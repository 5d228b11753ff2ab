// SPDX-License-Identifier: Apache-2.0
// NodeLinks: transfers splinters between the agents of different nodes. The bytes of each load are
// sent once, from the window of the agent that reads it into the window of the one that requested
// it. Tasks see only their node's residency table. The agent's thread polls. Only shutdown() waits:
// up to 5 s for bytes in transfer by MPI, then for reads in progress.
#pragma once

#include <forebay/executor.hpp>
#include <forebay/session.hpp>

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/descriptor.hpp"
#include "comm/links.hpp"
#include "read/bulk_transfers.hpp"
#include "read/event_source.hpp"
#include "read/local_session.hpp"
#include "read/node_link_messages.hpp"
#include "read/node_messages.hpp"
#include "read/read_agent.hpp"
#include "read/remote_reader.hpp"
#include "read/splinter_owners.hpp"

namespace forebay::read {

/// After start() and set_session_callbacks(), all calls but descriptor() come from the agent's
/// thread.
class NodeLinks final : public EventSource,
                        public comm::LinkHandler,
                        public std::enable_shared_from_this<NodeLinks> {
 public:
  /// For sessions of this node that other nodes use.
  struct SessionCallbacks {
    std::function<Result<std::shared_ptr<LocalSession>>(OpenSessionRequest)> open;
    std::function<void(const SessionHandle&)> close;
    std::function<void(const SessionHandle&, ByteRange)> invalidate;
  };

  struct Setup {
    comm::Links links;
    std::vector<std::uint32_t> nodes;  ///< node at the other end of each link
    std::uint32_t own_node = 0;
    /// Transfers the bytes of splinters, which are announced by a link; any thread may use it.
    /// Null: the links carry the bytes.
    std::shared_ptr<comm::Communicator> bulk = nullptr;
  };
  static Result<std::shared_ptr<NodeLinks>> start(Setup setup);
  ~NodeLinks() override;

  /// Call it before the first poll().
  void set_session_callbacks(SessionCallbacks sessions) {
    session_callbacks_ = std::move(sessions);
  }

  /// Creates the reader of those parts of a session that `owners` assigns to other nodes, and opens
  /// the session there. `agent` is notified of results.
  std::shared_ptr<RemoteReader> create_reader(const OpenSessionRequest& request,
                                              const SplinterOwners& owners,
                                              const std::shared_ptr<ReadAgent>& agent);

  /// A client of this node has changed bytes of a file: notifies all other nodes, without waiting.
  void invalidate(const SessionHandle& session, ByteRange range);

  int descriptor() const noexcept override { return events_.get(); }
  void poll() override;
  Deadline next_deadline() const override;
  void shutdown() override;

 private:
  class Reader;
  struct CloseWork final : Work {
    NodeLinks* links = nullptr;
  };
  /// A transfer that another node does.
  struct Fetch {
    std::shared_ptr<TransferSource> source;
    TransferSource::Transfer transfer;
    std::shared_ptr<ReadAgent> agent;
    std::uint64_t skipped_bytes = 0;  ///< of its memory, before the session's extent begins
    std::uint64_t size_bytes = 0;
    bool is_bulk = false;  ///< its bytes are a message of MPI
  };
  /// A session of this node whose parts another node requests: a handle that does not close it, or
  /// an Error.
  using ServedResult = Result<Session>;
  struct Peer {
    std::unique_ptr<comm::Link> link;
    BulkTransfers bulk;
    std::uint32_t node = 0;
    short interest = 0;
    std::unordered_map<std::uint64_t, Fetch> fetches;        // by request id
    std::unordered_map<std::uint64_t, ServedResult> served;  // by session number
    std::vector<std::byte> payload;                          // of an arriving message
  };

  NodeLinks() {
    close_work_.links = this;
    close_work_.run = [](Work& work) noexcept {
      static_cast<CloseWork&>(work).links->send_closes();
    };
  }
  Status watch_all();
  Peer* find_peer(std::uint32_t node);
  Peer& peer_of(const comm::Link& link);
  void send(Peer& peer,
            comm::LinkHeader header,
            std::span<const std::byte> payload,
            comm::Link::OnSent on_sent = {});
  void send_payload(Peer& peer, comm::LinkHeader header, std::vector<std::byte> payload);
  void update_interest(Peer& peer);
  /// From any thread: the last reference to a session may be that of a function's thread.
  void post_close(std::uint64_t session, const std::vector<std::uint32_t>& nodes);
  void send_closes();
  bool fetch(std::uint32_t node, const SessionHandle& session, Fetch fetch);
  static Result<Fetch*> find_fetch(Peer& peer, LinkMessage kind, std::uint64_t id);
  Status handle_reply(Peer& peer, LinkMessage kind, std::uint64_t id, const Status& sent);
  void complete_fetch(Peer& peer, std::uint64_t id, const Status& outcome);
  Status handle_request(Peer& peer,
                        std::uint64_t id,
                        const SessionHandle& session,
                        ByteRange range);
  void reply_when_ready(Future<View> view,
                        const Session& session,
                        std::uint32_t node,
                        std::uint64_t id);
  void reply(std::uint32_t node, std::uint64_t id, Result<View> view);
  void send_error(Peer& peer, std::uint64_t id, const Error& why);
  void send_view(Peer& peer, std::uint64_t id, const std::shared_ptr<View>& view);
  Status post_bulk_receive(Peer& peer, std::uint64_t id);
  bool has_bulk_in_flight() const;
  void progress_bulk();
  void drain_bulk();
  Status handle_open(Peer& peer, std::span<const std::byte> payload);
  void handle_close(Peer& peer, std::uint64_t number);
  Status handle_invalidate(const Peer& peer, const std::array<std::uint64_t, 4>& words);
  void disconnect(Peer& peer);

  Result<std::span<std::byte>> payload_buffer(comm::Link& link,
                                              const comm::LinkHeader& header) override;
  Status handle_message(comm::Link& link,
                        const comm::LinkHeader& header,
                        std::span<const std::byte> payload) override;

  std::uint32_t own_node_ = 0;
  SessionCallbacks session_callbacks_;
  Descriptor events_;
  EventLoop loop_;  // runs continuations of views of served sessions
  /// Sessions of pending views, which may outlive the connections to the peers that requested them.
  /// Empty before `loop_` is destroyed.
  std::unordered_map<std::uint64_t, Session> pending_views_;
  std::uint64_t next_view_key_ = 0;
  std::vector<Peer> peers_;
  std::uint64_t next_id_ = 0;
  CloseWork close_work_;
  std::mutex closing_mutex_;
  /// Sessions to close at other nodes. Guarded by the mutex.
  std::vector<std::pair<std::uint64_t, std::vector<std::uint32_t>>> closing_;
  bool is_draining_ = false;  // no new work is begun
  bool is_shut_down_ = false;
};

}  // namespace forebay::read
