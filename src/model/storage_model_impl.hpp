// SPDX-License-Identifier: Apache-2.0
// StorageModel::Impl: queues, locks and requests of the model, and the steps of a request. The
// steps are in storage_model.cpp, those that take and release locks in storage_model_locks.cpp.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "model/cost_table.hpp"
#include "model/event_queue.hpp"
#include "model/extent_locks.hpp"
#include "model/lock_table.hpp"
#include "model/request_pool.hpp"
#include "model/server.hpp"
#include "model/storage_model.hpp"
#include "model/subrequests.hpp"

namespace forebay::model {

class StorageModel::Impl {
 public:
  explicit Impl(const Machine& machine);

  RequestId submit(Time now, const Request& request);
  void advance(Time until, ModelObserver& observer);
  void cancel(Time now, RequestId id);
  bool is_dropped(RequestId id);
  void set_condition(Time now, std::uint32_t station, ServerCondition condition);

  std::uint32_t server_index(ServerId server) const;
  void reset_counters();

  EventQueue& events() { return simulation_.events; }
  void remove_file(FileId file) {
    locks_.cancel_unused(file);
    extent_locks_.cancel_unused(file);
    unsynced_.erase(unsynced_.lower_bound({file, 0}), unsynced_.upper_bound({file, UINT32_MAX}));
  }
  std::uint64_t in_flight() const { return requests_.in_flight(); }
  ServerCounters counters(ServerId server) const {
    return servers_[server_index(server)].counters_at(advanced_to_);
  }
  const ClientCounters& counters(ClientId client) const { return clients_.at(client); }

 private:
  void add_servers();
  void dispatch(const Event& event);
  void handle_arrival(std::uint32_t slot);
  void send_metadata_request(std::uint32_t slot);
  void send_subrequest(std::uint32_t slot, const ServerRange& subrequest);
  void set_lock_units(Subrequest& state, const Layout& layout) const;
  void acquire_locks(SubrequestIndex subrequest);
  void handle_lock_transfer(SubrequestIndex subrequest);
  void release_locks(const Subrequest& state, const Request& request);
  bool has_extent_locks() const { return machine_.locks.unit == LockUnit::kObject; }
  void acquire_extent_lock(SubrequestIndex subrequest);
  void handle_lock_cancelled(std::uint32_t number);
  void schedule_cancels(const std::vector<std::uint32_t>& pending);
  void notify_revoked(SubrequestIndex subrequest, const std::vector<ClientId>& former_holders);
  void continue_granted(const std::vector<SubrequestIndex>& granted);
  void handle_locked(SubrequestIndex subrequest);
  void send_to_server(SubrequestIndex subrequest);
  void enqueue_on_link(SubrequestIndex subrequest);
  void handle_link_done(std::uint32_t link);
  void handle_served(SubrequestIndex subrequest);
  bool start_sync(std::uint32_t slot);
  void handle_commit_done(std::uint32_t server);
  void finish_subrequest(SubrequestIndex subrequest);
  void complete_request(std::uint32_t slot);
  void handle_cancel(std::uint32_t slot, std::uint32_t generation);
  void collect_dropped();

  Request& request_of(SubrequestIndex subrequest) {
    return requests_[simulation_.subrequests[subrequest].request].request;
  }

  Machine machine_;
  CostTable costs_;
  SimulationState simulation_;
  LockTable locks_{simulation_.subrequests};
  ExtentLockTable extent_locks_{simulation_.subrequests};  ///< instead of locks_, if locks grow
  std::vector<Server> servers_;                            ///< data servers, then metadata servers
  std::vector<SerialChannel> links_;  ///< two for each client: to the servers, and back
  RequestPool requests_;
  /// When the last write was completed, by file and server, if it was not synced since.
  std::map<std::pair<FileId, std::uint32_t>, Time> unsynced_;
  std::map<std::uint32_t, ServerCondition> conditions_;  ///< of pending events
  std::uint32_t condition_count_ = 0;
  std::vector<ClientCounters> clients_;
  Time now_ = Time::min();          ///< of the last event
  Time advanced_to_ = Time::min();  ///< end of the last advance(), at least now_
  ModelObserver* observer_ = nullptr;
};

}  // namespace forebay::model
