// SPDX-License-Identifier: Apache-2.0
// NodeLinks: what the agents of different nodes do for each other. Whole splinters travel once,
// from the window of the agent that reads them into the window of the one that asked, so that tasks
// see nothing but their node's residency table. Nothing here waits: the agent's thread attends.
#pragma once

#include <forebay/executor.hpp>
#include <forebay/session.hpp>

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <unordered_map>
#include <vector>

#include "base/descriptor.hpp"
#include "comm/links.hpp"
#include "read/agent.hpp"
#include "read/chores.hpp"
#include "read/host.hpp"
#include "read/node_link_messages.hpp"
#include "read/node_messages.hpp"
#include "read/remote_reader.hpp"
#include "read/splinter_owners.hpp"

namespace forebay::read {

/// How often this process has given up memory for good, since MPI still sent from it when its agent
/// ended. None where all ranks come to their end.
std::uint64_t lost_sends() noexcept;

/// All calls but descriptor() come from the agent's thread.
class NodeLinks final : public Chores,
                        public comm::LinkReceiver,
                        public std::enable_shared_from_this<NodeLinks> {
 public:
  /// Where sessions that others want parts of come from, and go to.
  struct Sessions {
    std::function<Result<std::shared_ptr<SessionHost>>(OpenRequest)> open;
    std::function<void(const SessionHandle&)> leave;
  };

  struct Setup {
    comm::Links links;
    std::vector<std::uint32_t> nodes;  ///< where each of them leads to
    /// For the bytes of splinters, which are announced by a link: it may be used by any thread.
    /// Null: the links carry them as well.
    std::shared_ptr<comm::Communicator> bulk = nullptr;
  };
  static Result<std::shared_ptr<NodeLinks>> start(Setup setup);
  ~NodeLinks() override;

  /// Before anybody attends.
  void set_sessions(Sessions sessions) { sessions_ = std::move(sessions); }

  /// Reads for a session of this node what `owners` gives to other nodes, and has it opened there.
  /// `agent` is told when there is something new.
  std::shared_ptr<RemoteReader> reader(const OpenRequest& request,
                                       const SplinterOwners& owners,
                                       const std::shared_ptr<Agent>& agent);

  int descriptor() const noexcept override { return events_.get(); }
  void attend() override;
  Deadline due() const override;
  void end() override;

 private:
  class Reader;
  /// A transfer that another node does.
  struct Fetch {
    std::shared_ptr<TransferSource> source;
    TransferSource::Transfer transfer;
    std::shared_ptr<Agent> agent;
    std::uint64_t skipped_bytes = 0;  ///< of its memory: they lie before the session
    std::uint64_t size_bytes = 0;
    bool is_announced = false;  ///< its bytes come by `bulk`
  };
  /// A session of ours that a node wants parts of: a handle that closes nothing, or why not.
  using Served = Result<Session>;
  /// Bytes of a splinter on their way by `bulk`.
  struct Sending {
    comm::Transfer transfer;
    std::shared_ptr<View> view;
  };
  struct Receiving {
    comm::Transfer transfer;
    std::uint64_t id = 0;
  };
  struct Peer {
    std::unique_ptr<comm::Link> link;
    std::uint32_t node = 0;
    short interest = 0;
    std::unordered_map<std::uint64_t, Fetch> fetches;  // by what we call them
    std::unordered_map<std::uint64_t, Served> served;  // by the session's number
    std::vector<std::byte> text;                       // of a message that arrives
    std::deque<Sending> sending;
    std::deque<Receiving> receiving;
    std::uint64_t unconfirmed = 0;  // bulk that it announced and has not said to have left
  };

  NodeLinks() = default;
  Status watch_all();
  Peer* peer_at(std::uint32_t node);
  Peer& peer_of(const comm::Link& link);
  void send(Peer& peer,
            comm::LinkHeader header,
            std::span<const std::byte> payload,
            comm::Link::OnSent on_sent = {});
  void send_text(Peer& peer, comm::LinkHeader header, std::vector<std::byte> text);
  void follow_interest(Peer& peer);
  bool fetch(std::uint32_t node, const SessionHandle& session, Fetch fetch);
  static Result<Fetch*> fetch_of(Peer& peer, LinkKind kind, std::uint64_t id);
  Status receive_answer(Peer& peer, LinkKind kind, std::uint64_t id, const Status& outcome);
  void finish(Peer& peer, std::uint64_t id, const Status& outcome);
  Status serve(Peer& peer, std::uint64_t id, const SessionHandle& session, ByteRange range);
  void await(Future<View> view, const Session& session, std::uint32_t node, std::uint64_t id);
  void answer(std::uint32_t node, std::uint64_t id, Result<View> view);
  void refuse(Peer& peer, std::uint64_t id, const Error& why);
  void send_bytes(Peer& peer, std::uint64_t id, const std::shared_ptr<View>& view);
  Status receive_announced(Peer& peer, std::uint64_t id);
  bool has_bulk_under_way() const;
  void move_bulk();
  static std::uint64_t drop_sent(Peer& peer);
  void let_bulk_arrive();
  static void lose_bulk(Peer& peer);
  Status open(Peer& peer, std::span<const std::byte> text);
  void leave(Peer& peer, std::uint64_t number);
  void part(Peer& peer);

  Result<std::span<std::byte>> place(comm::Link& link, const comm::LinkHeader& header) override;
  Status received(comm::Link& link,
                  const comm::LinkHeader& header,
                  std::span<const std::byte> payload) override;

  std::shared_ptr<comm::Communicator> bulk_;
  Sessions sessions_;
  Descriptor events_;
  EventLoop loop_;  // where views of served sessions arrive
  /// The sessions of views under way, which may outlive the peers that asked for them: none when
  /// the loop ends.
  std::unordered_map<std::uint64_t, Session> awaited_;
  std::uint64_t next_awaited_ = 0;
  std::vector<Peer> peers_;
  std::uint64_t next_id_ = 0;
  bool ending_ = false;  // nothing new is begun
  bool ended_ = false;
};

}  // namespace forebay::read
