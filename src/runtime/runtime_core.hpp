// SPDX-License-Identifier: Apache-2.0
// RuntimeCore: what a Runtime, its files and its sessions share. Agents are started when the first
// session needs them, one for each way of reading: directly through the system's asynchronous
// interface, and from the page cache by a few threads. Where ranks share a node, one of them has
// the node's agent from the beginning, and all are its clients.
#pragma once

#include <forebay/origin_process.hpp>
#include <forebay/runtime.hpp>

#include <atomic>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "comm/communicator.hpp"
#include "comm/turns.hpp"
#include "read/copy_agent.hpp"
#include "read/engine_agent.hpp"
#include "read/node_agent.hpp"
#include "read/node_client.hpp"
#include "read/node_links.hpp"
#include "read/window_pool.hpp"
#include "runtime/datasets.hpp"
#include "runtime/division.hpp"
#include "runtime/known_storage.hpp"
#include "runtime/session_registry.hpp"
#include "runtime/streams.hpp"
#include "runtime/way.hpp"
#include "shm/buffer_source.hpp"

namespace forebay {

class RuntimeCore {
 public:
  /// Collective where there are several ranks.
  RuntimeCore(RuntimeOptions options, const Ranks& ranks);

  EventLoop& loop() noexcept { return loop_; }
  Executor& executor() noexcept {
    return options_.executor != nullptr ? *options_.executor : loop_;
  }
  const std::shared_ptr<read::WindowPool>& windows() const noexcept { return windows_; }
  Result<std::shared_ptr<read::Agent>> agent_for(Access access);

  /// While it is held nobody else opens a session: what a plan counts on is there when it is taken.
  std::unique_lock<std::mutex> take_turn() { return std::unique_lock(opening_); }

  /// The ranks of this one's role.
  const Result<std::shared_ptr<comm::Communicator>>& ranks() const noexcept { return ranks_; }
  Role role() const noexcept { return division_ ? division_->role : Role::kCompute; }
  Ranks compute() const { return division_ ? division_->application : Ranks(division_.error()); }
  /// kClosed in a child of fork().
  Status check_process(const char* operation, const std::string& path = {}) const {
    return origin_.check(operation, path);
  }
  /// Success where this rank may open files, which a child of fork() may not.
  Status check_role(const char* operation) const;
  /// As Runtime::serve().
  Status serve();

  SessionRegistry& registry() noexcept { return registry_; }
  /// The line to the agent of this node; null where this rank reads for itself.
  const std::shared_ptr<read::NodeClient>& node() const noexcept { return node_; }
  /// Nodes whose agents can read for each other; 1 if there are no others.
  std::uint32_t linked_nodes() const noexcept { return linked_nodes_; }
  /// Ranks that share the node's agent, its own included.
  std::uint32_t ranks_at_node() const noexcept { return ranks_at_node_; }

  const KnownStorage& storage() const noexcept { return storage_; }
  Streams& streams() noexcept { return streams_; }
  /// As Runtime::dataset().
  Result<std::shared_ptr<write::DatasetCore>> open_dataset(const std::string& path,
                                                           const std::optional<WritePlan>& wanted);
  shm::BufferSource& buffers() noexcept { return *buffers_; }
  /// For as long as other ranks may want some, at most until the Runtime ends.
  void keep(std::shared_ptr<comm::Turns> turns);
  const RuntimeOptions& options() const noexcept { return options_; }

  /// Who wonders why a file is read as it is finds the answer in the log.
  void tell_of(const std::string& path, const ReadPlan& plan) const;
  void log(LogLevel level, const std::string& text) const;

  /// Closes what is open, so that nobody waits for agents that are gone.
  void stop();

 private:
  Result<std::shared_ptr<read::Agent>> copy_agent();
  Result<std::shared_ptr<read::Agent>> engine_agent(std::shared_ptr<read::Chores> chores = nullptr);
  std::uint64_t name_together() const;
  /// Of this one, among those that compute; 1 if it is not known.
  std::uint32_t ranks_of_node() const;
  void join_node();
  comm::Links link_nodes();
  std::shared_ptr<comm::Communicator> bulk_communicator() const;
  Result<std::string> start_node_agent(std::uint32_t clients, read::NodeLinks::Setup links);
  Result<std::shared_ptr<read::Chores>> chores_of_node(std::uint32_t clients,
                                                       read::NodeLinks::Setup links);
  Result<std::shared_ptr<read::NodeClient>> connect_to_node(const std::string& own_name);
  Result<read::NodeAgent::Hosted> open_host(read::NodeAgent::Order order);
  Result<Way> way_of(const read::NodeAgent::Order& order) const;
  std::shared_ptr<read::RemoteReader> remote_of(const read::OpenRequest& request,
                                                const ReadPlan& plan,
                                                const std::shared_ptr<read::Agent>& agent) const;
  write::OpenRequest dataset_request() const;
  Result<std::unique_ptr<write::Summons>> connect_to_first() const;
  Status serve_datasets(write::Summons& summons);

  const detail::OriginProcess origin_;
  const RuntimeOptions options_;
  const KnownStorage storage_;
  EventLoop loop_;
  const Result<Division> division_;
  const Result<std::shared_ptr<comm::Communicator>> ranks_;
  const std::shared_ptr<read::WindowPool> windows_;
  const std::shared_ptr<shm::BufferSource> buffers_;
  SessionRegistry registry_;
  Streams streams_;
  Datasets datasets_;
  Result<std::unique_ptr<write::Summons>> summons_ = nullptr;  ///< null where all compute
  std::uint32_t ranks_at_node_ = 1;
  std::uint32_t linked_nodes_ = 1;
  // Where the node's agent is: set before it starts.
  std::uint32_t clients_at_node_ = 0;
  std::weak_ptr<read::NodeAgent> node_agent_;
  std::weak_ptr<read::NodeLinks> node_links_;
  std::shared_ptr<read::NodeClient> node_;
  std::promise<void> clients_left_;  // of the agent in this rank
  std::shared_future<void> served_;  // valid where this rank has something to serve
  std::mutex opening_;
  std::mutex mutex_;
  std::shared_ptr<read::Agent> direct_;
  std::shared_ptr<read::CopyAgent> buffered_;  // once made, never replaced
  std::vector<std::shared_ptr<comm::Turns>> turns_;
  std::atomic<bool> helps_when_idle_{false};
};

}  // namespace forebay
