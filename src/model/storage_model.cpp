// SPDX-License-Identifier: Apache-2.0
// The path of a request through the queues: split, locks, link, server, link, response. Each step
// pushes an event for its end; advance() handles the events in order and starts the next step.
#include "model/storage_model.hpp"

#include <algorithm>
#include <utility>

#include "base/assert.hpp"
#include "model/storage_model_impl.hpp"

namespace forebay::model {

namespace {

constexpr std::uint32_t kLinksPerClient = 2;

}  // namespace

StorageModel::Impl::Impl(const Machine& machine)
    : machine_(machine), costs_(machine), clients_(machine.client.count) {
  FOREBAY_ASSERT(!machine.servers.empty());
  add_servers();
  if (machine_.client.link_bandwidth_mb_per_s == 0) return;
  for (std::uint32_t link = 0; link < kLinksPerClient * machine_.client.count; ++link)
    links_.emplace_back(EventKind::kLinkDone, link);
}

void StorageModel::Impl::add_servers() {
  const auto add = [this](std::uint32_t concurrency) {
    const auto index = static_cast<std::uint32_t>(servers_.size());
    servers_.emplace_back(ServerConfig{.index = index, .concurrency = concurrency});
  };
  for (const ServerGroup& group : machine_.servers) {
    for (std::uint32_t i = 0; i < group.count; ++i)
      add(group.concurrency);
  }
  for (std::uint32_t i = 0; i < machine_.metadata.servers; ++i)
    add(machine_.metadata.concurrency);
}

std::uint32_t StorageModel::Impl::server_index(ServerId server) const {
  const bool is_data = server.kind == ServerId::Kind::kData;
  const std::uint32_t data_servers = machine_.server_count();
  FOREBAY_ASSERT(server.index < (is_data ? data_servers : machine_.metadata.servers));
  return is_data ? server.index : data_servers + server.index;
}

RequestId StorageModel::Impl::submit(Time now, const Request& request) {
  FOREBAY_ASSERT(request.client < machine_.client.count);
  const Time submitted = std::max(now, now_);
  const std::uint32_t slot = requests_.add(request, submitted);
  simulation_.events.push({submitted, EventKind::kArrival, 0, slot});
  return requests_.id_of(slot);
}

void StorageModel::Impl::cancel(Time now, RequestId id) {
  simulation_.events.push({std::max(now, now_), EventKind::kCancelled,
                           RequestPool::generation_of(id), RequestPool::slot_of(id)});
}

bool StorageModel::Impl::is_dropped(RequestId id) {
  const std::uint32_t slot = RequestPool::slot_of(id);
  if (!requests_.is_in_flight(slot, RequestPool::generation_of(id))) return false;
  return !requests_[slot].dropped.empty();
}

void StorageModel::Impl::set_condition(Time now, std::uint32_t station, ServerCondition condition) {
  FOREBAY_ASSERT(condition.slowness > 0);
  FOREBAY_ASSERT(condition.slowness <= kSlownessMax);
  const std::uint32_t number = ++condition_count_;
  conditions_[number] = condition;
  simulation_.events.push({std::max(now, now_), EventKind::kServerCondition, station, number});
}

void StorageModel::Impl::advance(Time until, ModelObserver& observer) {
  observer_ = &observer;
  while (!simulation_.events.empty() && simulation_.events.front().at <= until) {
    const Event event = simulation_.events.pop();
    now_ = event.at;
    dispatch(event);
    collect_dropped();
  }
  advanced_to_ = std::max(advanced_to_, until);
  observer_ = nullptr;
}

void StorageModel::Impl::dispatch(const Event& event) {
  switch (event.kind) {
    case EventKind::kArrival:
      return handle_arrival(event.entity);
    case EventKind::kCancelled:
      return handle_cancel(event.entity, event.resource);
    case EventKind::kServerCondition:
      return servers_[event.resource].set_condition(simulation_, now_,
                                                    conditions_.extract(event.entity).mapped());
    case EventKind::kLatencyDone:
      if (servers_[event.resource].finish_latency(simulation_, now_, event.entity))
        handle_served(event.entity);
      return;
    case EventKind::kTransferDone:
      return handle_served(servers_[event.resource].finish_transfer(simulation_, now_));
    case EventKind::kCommitDone:
      return handle_commit_done(event.resource);
    case EventKind::kLinkDone:
      return handle_link_done(event.resource);
    case EventKind::kLockTransferred:
      return handle_lock_transfer(event.entity);
    case EventKind::kLockCancelled:
      return handle_lock_cancelled(event.entity);
    case EventKind::kResponse:
      return complete_request(event.entity);
  }
}

void StorageModel::Impl::handle_arrival(std::uint32_t slot) {
  const Request request = requests_[slot].request;
  ClientCounters& client = clients_[request.client];
  ++client.in_flight;
  client.in_flight_max = std::max(client.in_flight_max, client.in_flight);
  if (request.kind == RequestKind::kSync) {
    if (!start_sync(slot)) complete_request(slot);
    return;
  }
  if (is_metadata_request(request.kind)) return send_metadata_request(slot);
  const std::vector<ServerRange> parts =
      split_by_server(request.layout, request.locked_range(),
                      {.server_count = machine_.server_count(),
                       .request_bytes_max = machine_.client.request_bytes_max});
  if (parts.empty()) return complete_request(slot);
  requests_[slot].pending_subrequests = parts.size();
  for (const ServerRange& subrequest : parts)
    send_subrequest(slot, subrequest);
}

void StorageModel::Impl::send_metadata_request(std::uint32_t slot) {
  RequestState& state = requests_[slot];
  const bool is_free_sync =
      state.request.kind == RequestKind::kSyncDirectory && machine_.metadata.sync_us == 0;
  if (is_free_sync) return complete_request(slot);
  state.pending_subrequests = 1;
  const std::uint32_t server = metadata_server_of(state.request.name, machine_.metadata);
  send_to_server(simulation_.subrequests.add({.request = slot,
                                              .server = machine_.server_count() + server,
                                              .client = state.request.client}));
}

void StorageModel::Impl::send_subrequest(std::uint32_t slot, const ServerRange& subrequest) {
  const Request& request = requests_[slot].request;
  const bool writes = request.kind == RequestKind::kWrite;
  Subrequest state{.request = slot,
                   .server = subrequest.server,
                   .client = request.client,
                   .mode = writes ? LockMode::kExclusive : LockMode::kShared,
                   .range = subrequest.range,
                   .bytes = intersect(subrequest.range, request.range).size};
  if (has_extent_locks()) {
    state.lock_range = {object_offset_of(request.layout, subrequest.range.offset),
                        subrequest.range.size};
    return acquire_extent_lock(simulation_.subrequests.add(state));
  }
  set_lock_units(state, request.layout);
  acquire_locks(simulation_.subrequests.add(state));
}

void StorageModel::Impl::handle_locked(SubrequestIndex subrequest) {
  if (simulation_.subrequests[subrequest].bytes == 0) return finish_subrequest(subrequest);
  const bool writes = simulation_.subrequests[subrequest].mode == LockMode::kExclusive;
  if (writes && !links_.empty()) return enqueue_on_link(subrequest);
  send_to_server(subrequest);
}

void StorageModel::Impl::enqueue_on_link(SubrequestIndex subrequest) {
  Subrequest& state = simulation_.subrequests[subrequest];
  state.transfer_ns = static_cast<double>(state.bytes) * costs_.link_ns_per_byte();
  const bool writes = state.mode == LockMode::kExclusive;
  SerialChannel& link = links_[state.client * kLinksPerClient + (writes ? 0U : 1U)];
  link.enqueue(simulation_, subrequest);
  link.start_next(simulation_, now_, 1);
}

void StorageModel::Impl::handle_link_done(std::uint32_t link) {
  const SubrequestIndex subrequest = links_[link].finish();
  links_[link].start_next(simulation_, now_, 1);
  const bool writes = simulation_.subrequests[subrequest].mode == LockMode::kExclusive;
  if (writes) return send_to_server(subrequest);
  finish_subrequest(subrequest);
}

void StorageModel::Impl::send_to_server(SubrequestIndex subrequest) {
  Subrequest& state = simulation_.subrequests[subrequest];
  const Cost& cost = costs_.lookup(request_of(subrequest).kind, state.server);
  state.latency = cost.latency;
  state.transfer_ns =
      cost.transfer_ns + static_cast<double>(state.bytes) * cost.transfer_ns_per_byte;
  state.has_transfer = cost.has_transfer;
  servers_[state.server].arrive(simulation_, now_, subrequest);
}

void StorageModel::Impl::handle_served(SubrequestIndex subrequest) {
  const Subrequest& state = simulation_.subrequests[subrequest];
  const RequestKind kind = request_of(subrequest).kind;
  ServerCounters& server = servers_[state.server].counters();
  ++server.requests;
  if (kind == RequestKind::kRead) server.bytes_read += state.bytes;
  if (kind == RequestKind::kWrite) server.bytes_written += state.bytes;
  if (kind == RequestKind::kWrite && costs_.sync_time(state.server) > Time{})
    unsynced_[{request_of(subrequest).file, state.server}] = now_;
  if (kind == RequestKind::kRead && !links_.empty()) return enqueue_on_link(subrequest);
  finish_subrequest(subrequest);
}

/// Sends a sync to the servers with unsynced data of the file. False if there is none.
bool StorageModel::Impl::start_sync(std::uint32_t slot) {
  RequestState& state = requests_[slot];
  const FileId file = state.request.file;
  for (auto data = unsynced_.lower_bound({file, 0});
       data != unsynced_.end() && data->first.first == file; ++data) {
    const std::uint32_t server = data->first.second;
    ++state.pending_subrequests;
    const SubrequestIndex part = simulation_.subrequests.add({.request = slot,
                                                              .server = server,
                                                              .client = state.request.client,
                                                              .latency = costs_.sync_time(server),
                                                              .is_sync = true});
    servers_[server].sync(simulation_, now_, part);
  }
  return state.pending_subrequests > 0;
}

void StorageModel::Impl::handle_commit_done(std::uint32_t server) {
  SubrequestQueue committed = servers_[server].finish_commit(simulation_, now_);
  while (!committed.empty()) {
    const SubrequestIndex part = committed.pop(simulation_.subrequests);
    const auto data = unsynced_.find({request_of(part).file, server});
    // Data that was written after the sync waits for the next one.
    const bool is_covered =
        data != unsynced_.end() && data->second <= simulation_.subrequests[part].queued_at;
    if (is_covered) unsynced_.erase(data);
    ++servers_[server].counters().syncs;
    finish_subrequest(part);
  }
}

void StorageModel::Impl::finish_subrequest(SubrequestIndex subrequest) {
  const Subrequest state = simulation_.subrequests[subrequest];
  const Request submitted_request = request_of(subrequest);
  simulation_.subrequests.release(subrequest);
  RequestState& request = requests_[state.request];
  const bool is_last = --request.pending_subrequests == 0;
  const bool must_sync = is_last && submitted_request.is_durable && !state.is_sync;
  if (is_last && !(must_sync && start_sync(state.request))) {
    const bool moves_nothing =
        is_data_request(submitted_request.kind) && submitted_request.range.empty();
    const Time link = moves_nothing ? Time{} : costs_.link_latency();
    simulation_.events.push({now_ + link, EventKind::kResponse, 0, state.request});
  }
  release_locks(state, submitted_request);
}

void StorageModel::Impl::complete_request(std::uint32_t slot) {
  const RequestState& state = requests_[slot];
  const Request request = state.request;
  const bool is_cancelled = state.is_cancelled;
  const RequestCompletion finished{requests_.id_of(slot), request.tag, state.submitted, now_};
  requests_.release(slot);
  ClientCounters& client = clients_[request.client];
  --client.in_flight;
  ++client.requests;
  client.response_time += now_ - finished.submitted;
  if (is_metadata_request(request.kind)) ++client.metadata_operations;
  if (request.kind == RequestKind::kRead) client.bytes_read += request.range.size;
  if (request.kind == RequestKind::kWrite) client.bytes_written += request.range.size;
  if (!is_cancelled) observer_->on_complete(finished);
}

void StorageModel::Impl::handle_cancel(std::uint32_t slot, std::uint32_t generation) {
  if (!requests_.is_in_flight(slot, generation)) return;
  RequestState& state = requests_[slot];
  state.is_cancelled = true;
  SubrequestQueue lost = std::exchange(state.dropped, {});
  while (!lost.empty())
    finish_subrequest(lost.pop(simulation_.subrequests));
}

void StorageModel::Impl::collect_dropped() {
  // A lost part of a cancelled request is finished here, which may drop further parts.
  while (!simulation_.dropped.empty()) {
    const SubrequestIndex subrequest = simulation_.dropped.back();
    simulation_.dropped.pop_back();
    RequestState& state = requests_[simulation_.subrequests[subrequest].request];
    if (state.is_cancelled) {
      finish_subrequest(subrequest);
    } else {
      state.dropped.push(simulation_.subrequests, subrequest);
    }
  }
}

void StorageModel::Impl::reset_counters() {
  for (Server& station : servers_)
    station.reset_counters(advanced_to_);
  for (ClientCounters& client : clients_)
    client = {.in_flight = client.in_flight, .in_flight_max = client.in_flight};
}

StorageModel::StorageModel(const Machine& machine) : impl_(std::make_unique<Impl>(machine)) {}
StorageModel::~StorageModel() = default;
StorageModel::StorageModel(StorageModel&&) noexcept = default;
StorageModel& StorageModel::operator=(StorageModel&&) noexcept = default;

RequestId StorageModel::submit(Time now, const Request& request) {
  return impl_->submit(now, request);
}

std::optional<Time> StorageModel::next_event() const {
  if (impl_->events().empty()) return std::nullopt;
  return impl_->events().front().at;
}

void StorageModel::advance(Time until, ModelObserver& observer) { impl_->advance(until, observer); }

void StorageModel::cancel(Time now, RequestId id) { impl_->cancel(now, id); }

bool StorageModel::is_dropped(RequestId id) const { return impl_->is_dropped(id); }

void StorageModel::set_condition(Time now, ServerId server, ServerCondition condition) {
  impl_->set_condition(now, impl_->server_index(server), condition);
}

void StorageModel::remove_file(FileId file) { impl_->remove_file(file); }

std::uint64_t StorageModel::in_flight() const { return impl_->in_flight(); }

ServerCounters StorageModel::counters(ServerId server) const { return impl_->counters(server); }

ClientCounters StorageModel::counters(ClientId client) const { return impl_->counters(client); }

void StorageModel::reset_counters() { impl_->reset_counters(); }

}  // namespace forebay::model
