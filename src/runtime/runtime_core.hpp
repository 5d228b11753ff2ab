// SPDX-License-Identifier: Apache-2.0
// RuntimeCore: the state that a Runtime, its files and its sessions share. Agents start with the
// first session that needs them, one for each access: direct through the asynchronous interface of
// the system, buffered by a few threads. If ranks share a node, one of them has the node's agent
// from the beginning, and all ranks are its clients.
#pragma once

#include <forebay/detail/origin_process.hpp>
#include <forebay/runtime.hpp>

#include <atomic>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "comm/communicator.hpp"
#include "comm/concurrency_limiter.hpp"
#include "read/copy_agent.hpp"
#include "read/engine_agent.hpp"
#include "read/node_client.hpp"
#include "read/node_links.hpp"
#include "read/node_server.hpp"
#include "read/window_pool.hpp"
#include "runtime/access_method.hpp"
#include "runtime/dataset_writers.hpp"
#include "runtime/file_series.hpp"
#include "runtime/foresight.hpp"
#include "runtime/rank_split.hpp"
#include "runtime/session_registry.hpp"
#include "runtime/session_tuner.hpp"
#include "runtime/storage_info.hpp"
#include "runtime/streams.hpp"
#include "shm/buffer_allocator.hpp"

namespace forebay {

class RuntimeCore {
 public:
  /// Collective if there are several ranks.
  RuntimeCore(RuntimeOptions options, const Ranks& ranks);

  EventLoop& event_loop() noexcept { return loop_; }
  Executor& executor() noexcept {
    return options_.executor != nullptr ? *options_.executor : loop_;
  }
  const std::shared_ptr<read::WindowPool>& windows() const noexcept { return windows_; }
  /// The agent of a session. Few threads copy from the page cache; on demand, many small reads of
  /// files that are not there are in flight.
  Result<std::shared_ptr<read::ReadAgent>> agent_for(Access access, Mode mode = Mode::kDeclared);
  /// The Error of the hint file or the trace.
  SessionTuner& session_tuner() noexcept { return session_tuner_; }
  const Status& foresight_status() const noexcept { return foresight_.status(); }
  push::NamedFunctions& functions() noexcept { return *foresight_.functions(); }
  /// Sets the observer that a session needs.
  void observe(const std::shared_ptr<read::SessionCore>& core);

  /// Excludes other openings of sessions, so that memory found by a plan is still available when it
  /// is taken.
  std::unique_lock<std::mutex> lock_opening() { return std::unique_lock(open_mutex_); }

  /// The ranks with this rank's role.
  const Result<std::shared_ptr<comm::Communicator>>& ranks() const noexcept { return ranks_; }
  Role role() const noexcept { return rank_split_ ? rank_split_->role : Role::kCompute; }
  Ranks compute_ranks() const {
    return rank_split_ ? rank_split_->application : Ranks(rank_split_.error());
  }
  /// kClosed in a child of fork().
  Status check_process(const char* operation, const std::string& path = {}) const {
    return origin_.check(operation, path);
  }
  /// Success if this rank may open files. Fails on I/O ranks and in a child of fork().
  Status check_role(const char* operation) const;
  /// As Runtime::serve().
  Status serve();

  /// Null if there are several ranks.
  FileSeries* series() const noexcept { return series_.get(); }
  SessionRegistry& registry() noexcept { return registry_; }
  /// The connection to the agent of this node. Null if this rank reads for its own use.
  const std::shared_ptr<read::NodeClient>& node_client() const noexcept { return node_client_; }
  /// Number of nodes whose agents can read for each other; 1 if there are no others.
  std::uint32_t linked_nodes() const noexcept { return linked_nodes_; }
  /// Number of ranks that share the node's agent, including its own rank.
  std::uint32_t ranks_on_node() const noexcept { return ranks_on_node_; }

  const StorageInfoSource& storage() const noexcept { return storage_; }
  Streams& streams() noexcept { return streams_; }
  /// As RuntimeAccess::create_dataset(). `plan_chooser` of the first rank chooses plans of coming
  /// steps; null there: all steps have the plan at opening. Ignored on other ranks.
  Result<std::shared_ptr<write::DatasetWriterCore>> create_dataset(
      const std::string& path,
      const Result<DatasetOptions>& given,
      std::shared_ptr<write::PlanChooser> plan_chooser = nullptr);
  shm::BufferAllocator& buffers() noexcept { return *buffers_; }
  /// Keeps the limiter while other ranks may request permits, at most until the Runtime ends.
  void retain(std::shared_ptr<comm::ConcurrencyLimiter> limiter);
  const RuntimeOptions& options() const noexcept { return options_; }

  /// Logs the access of a file and its reason.
  void log_plan(const std::string& path, const ReadPlan& plan) const;
  void log(LogLevel level, const std::string& text) const;

  /// Closes all sessions, streams and datasets, so that no thread waits for agents that have ended.
  void stop();

 private:
  Result<std::shared_ptr<read::ReadAgent>> copy_agent();
  Result<std::shared_ptr<read::ReadAgent>> engine_agent(
      std::shared_ptr<read::EventSource> event_source = nullptr);
  std::uint64_t agree_on_id() const;
  /// Number of ranks with this rank's role on this node; 1 if unknown.
  std::uint32_t ranks_of_node() const;
  void connect_node();
  comm::Links connect_nodes();
  std::shared_ptr<comm::Communicator> bulk_communicator() const;
  Result<std::string> start_node_server(std::uint32_t clients, read::NodeLinks::Setup links);
  Result<std::shared_ptr<read::EventSource>> make_event_source(std::uint32_t clients,
                                                               read::NodeLinks::Setup links);
  Result<std::shared_ptr<read::NodeClient>> connect_to_agent(const std::string& agent_name);
  Result<read::NodeServer::ServedSession> open_served_session(read::NodeServer::OpenArgs args);
  Result<AccessMethod> access_method_for(const read::NodeServer::OpenArgs& args) const;
  std::shared_ptr<read::RemoteReader> make_remote_reader(
      const read::OpenSessionRequest& request,
      const ReadPlan& plan,
      const std::shared_ptr<read::ReadAgent>& agent) const;
  write::OpenRequest make_dataset_request() const;
  Result<std::unique_ptr<write::IoRankNotifier>> connect_io_ranks() const;
  Status serve_datasets(write::IoRankNotifier& notifier);

  const detail::OriginProcess origin_;
  const RuntimeOptions options_;
  const StorageInfoSource storage_;
  EventLoop loop_;
  const Result<RankSplit> rank_split_;
  const Result<std::shared_ptr<comm::Communicator>> ranks_;
  const std::shared_ptr<read::WindowPool> windows_;
  const std::shared_ptr<shm::BufferAllocator> buffers_;
  SessionRegistry registry_;
  std::unique_ptr<FileSeries> series_;
  Foresight foresight_;
  SessionTuner session_tuner_;
  Streams streams_;
  DatasetWriters dataset_writers_;
  Result<std::unique_ptr<write::IoRankNotifier>> io_rank_notifier_ =
      nullptr;  ///< null without I/O ranks
  std::uint32_t ranks_on_node_ = 1;
  std::uint32_t linked_nodes_ = 1;
  // On the rank with the node's agent: set before the agent starts.
  std::uint32_t clients_at_node_ = 0;
  std::weak_ptr<read::NodeServer> node_server_;
  std::weak_ptr<read::NodeLinks> node_links_;
  std::shared_ptr<read::NodeClient> node_client_;
  std::promise<void> clients_left_;  // of the agent in this rank
  std::shared_future<void> served_;  // valid if this rank serves clients
  std::mutex open_mutex_;
  std::mutex mutex_;
  std::shared_ptr<read::ReadAgent> engine_agent_;
  std::shared_ptr<read::CopyAgent> copy_agent_;  // never replaced once created
  std::vector<std::shared_ptr<comm::ConcurrencyLimiter>> limiters_;
  std::atomic<bool> is_idle_copy_enabled_{false};
};

}  // namespace forebay
