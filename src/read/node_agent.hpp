// SPDX-License-Identifier: Apache-2.0
// NodeAgent: the agent of a node as its clients know it. It opens sessions for them, lays the books
// where they can see them, passes on what they want, and lets go of what they held when they die.
// The reading itself is done by the sessions' agents, one of whose threads attends to this one.
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
#include "read/chores.hpp"
#include "read/host.hpp"
#include "read/node_messages.hpp"
#include "shm/channel.hpp"

namespace forebay::read {

/// All calls but start(), name() and descriptor() come from one thread: the one that attends.
class NodeAgent final : public Chores {
 public:
  /// Opens what a client asks for: `books` are laid out by the agent once the plan is complete.
  struct Order {
    OpenRequest request;
    Descriptor file;  ///< empty if it did not arrive, or is to be opened by its path
    MakeBooks make_books;
  };
  /// A session has one plan, that of the client which came first. Whether the plan of one that
  /// joins would have been good enough to open it, `check_plan` says: a mistake must not depend on
  /// who was faster.
  struct Hosted {
    std::shared_ptr<SessionHost> host;
    std::function<Status(const ReadPlan&)> check_plan = nullptr;  ///< null: any would have been
  };
  using OpenHost = std::function<Result<Hosted>(Order)>;

  /// For at most so many clients at a time; `open_host` is called by attend().
  static Result<std::shared_ptr<NodeAgent>> start(std::uint32_t clients_max, OpenHost open_host);
  ~NodeAgent() override;
  NodeAgent(const NodeAgent&) = delete;
  NodeAgent& operator=(const NodeAgent&) = delete;

  /// `tell` is called, once, by attend(), when as many clients as there may be have come and gone.
  /// To be said before the first attend().
  void tell_when_all_left(std::function<void()> tell) { all_left_ = std::move(tell); }

  /// What NodeClient::connect() takes, in any process of this node and user.
  const std::string& name() const noexcept { return name_; }

  /// For other nodes: opens a session here, or joins it, until leave() says that they are done.
  Result<std::shared_ptr<SessionHost>> join(OpenRequest request);
  void leave(const SessionHandle& handle);

  int descriptor() const noexcept override { return events_.get(); }
  void attend() override;
  Deadline due() const override { return look_again_; }
  void end() override;

  /// Clients that are connected, and sessions that have not ended, as of the last attend().
  std::size_t client_count() const noexcept { return clients_.size(); }
  std::size_t session_count() const noexcept { return sessions_.size() + draining_.size(); }

 private:
  class ClientLine;
  /// A session that clients have open, or whose memory they hold still.
  struct Shared;

  NodeAgent(std::uint32_t clients_max, OpenHost open_host);
  Status watch(int descriptor, std::uint64_t key);
  void accept_clients();
  Status welcome(shm::Channel channel);
  void hear(std::uint32_t row);
  bool receive_messages(ClientLine& client);
  Status take_message(ClientLine& client, shm::Message message);
  void open_session(ClientLine& client, OpenRequest request, shm::Message message);
  Result<Shared*> find_or_open(OpenRequest request, Descriptor file);
  Status share(ClientLine& client, const Shared& shared);
  void leave(ClientLine& client, const SessionHandle& handle);
  void drop_share(std::unordered_map<std::uint64_t, std::unique_ptr<Shared>>::iterator shared);
  bool take_words(ClientLine& client);
  Status take_word(ClientLine& client, const ClientWord& word);
  void take_released(ClientLine& client);
  void forget(std::uint32_t row);
  void hang_up(std::uint32_t row);
  void bury(std::uint32_t row);
  void stop_watching(const ClientLine& client) const;
  void end_unused();
  template <class Use>
  void for_all_hosts(Use use) const;

  const std::uint32_t clients_max_;
  const OpenHost open_host_;
  std::function<void()> all_left_;
  std::uint32_t left_ = 0;  // clients that have ended
  std::string name_;
  shm::Listener listener_;  // none once it fails
  Descriptor events_;
  std::unordered_map<std::uint32_t, std::unique_ptr<ClientLine>> clients_;  // by row
  std::unordered_map<std::uint64_t, std::unique_ptr<Shared>> sessions_;     // by number
  std::vector<std::unique_ptr<Shared>> draining_;  // closed; somebody holds their memory still
  Deadline look_again_;                            // at those, shortly after something happened
};

}  // namespace forebay::read
