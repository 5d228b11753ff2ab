// SPDX-License-Identifier: Apache-2.0
// The way of a request through the queues: cut, locks, link, server, link, answer. Each step notes
// its end on the agenda; advance() takes the ends one by one and starts the next step.
#include "model/storage_model.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "base/assert.hpp"
#include "model/agenda.hpp"
#include "model/costs.hpp"
#include "model/locks.hpp"
#include "model/object_locks.hpp"
#include "model/parts.hpp"
#include "model/requests.hpp"
#include "model/station.hpp"

namespace forebay::model {

namespace {

constexpr std::uint32_t kLinksOfClient = 2;

}  // namespace

class StorageModel::Impl {
 public:
  explicit Impl(const Machine& machine);

  RequestId submit(Time now, const Request& request);
  void advance(Time until, Sink& sink);
  void forget(Time now, RequestId id);
  bool never_ends(RequestId id);
  void set_condition(Time now, std::uint32_t station, ServerCondition condition);

  std::uint32_t station_of(ServerName server) const;
  void reset_counters();

  Agenda& agenda() { return flow_.agenda; }
  void forget_file(FileId file) {
    locks_.forget_file(file);
    object_locks_.forget_file(file);
  }
  std::uint64_t under_way() const { return requests_.under_way(); }
  ServerCounters counters(ServerName server) const {
    return stations_[station_of(server)].counters_at(advanced_);
  }
  const ClientCounters& counters(ClientId client) const { return clients_.at(client); }

 private:
  void add_stations();
  void happen(const Event& event);
  void arrive(std::uint32_t slot);
  void send_name_operation(std::uint32_t slot);
  void send_part(std::uint32_t slot, const Part& part);
  void set_lock_units(PartState& state, const Layout& layout) const;
  std::uint64_t lock_unit_bytes(const Layout& layout) const;
  void take_locks(PartIndex part);
  void lock_changed(PartIndex part);
  void release_locks(const PartState& state, const Request& request);
  bool locks_grow() const { return machine_.locks.unit == LockUnit::kObject; }
  void take_object_lock(PartIndex part);
  void object_lock_given_up(std::uint32_t number);
  void note_going(const std::vector<std::uint32_t>& going);
  void tell_losers(PartIndex part, const std::vector<ClientId>& losers);
  void go_on(const std::vector<PartIndex>& granted);
  void locked(PartIndex part);
  void to_server(PartIndex part);
  void take_link(PartIndex part);
  void link_over(std::uint32_t link);
  void served(PartIndex part);
  void part_over(PartIndex part);
  void answer(std::uint32_t slot);
  void forget_now(std::uint32_t slot, std::uint32_t generation);
  void note_lost();

  Request& request_of(PartIndex part) { return requests_[flow_.parts[part].request].request; }

  Machine machine_;
  Costs costs_;
  Flow flow_;
  LockTable locks_{flow_.parts};
  ObjectLocks object_locks_{flow_.parts};  ///< instead of locks_, where locks grow
  std::vector<Station> stations_;          ///< of data, then of metadata
  std::vector<Path> links_;                ///< two of each client: to the servers, and back
  Requests requests_;
  std::map<std::uint32_t, ServerCondition> conditions_;  ///< that are on the agenda
  std::uint32_t conditions_noted_ = 0;
  std::vector<ClientCounters> clients_;
  Time now_ = Time::min();       ///< of the last event
  Time advanced_ = Time::min();  ///< how far advance() came, at least now_
  Sink* sink_ = nullptr;
};

StorageModel::Impl::Impl(const Machine& machine)
    : machine_(machine), costs_(machine), clients_(machine.client.count) {
  FOREBAY_ASSERT(!machine.servers.empty());
  add_stations();
  if (machine_.client.link_bandwidth_mb_per_s == 0) return;
  for (std::uint32_t link = 0; link < kLinksOfClient * machine_.client.count; ++link)
    links_.emplace_back(EventKind::kLinkOver, link);
}

void StorageModel::Impl::add_stations() {
  const auto add = [this](std::uint32_t concurrency) {
    const auto index = static_cast<std::uint32_t>(stations_.size());
    stations_.emplace_back(StationShape{.index = index, .concurrency = concurrency});
  };
  for (const ServerGroup& group : machine_.servers) {
    for (std::uint32_t i = 0; i < group.count; ++i)
      add(group.concurrency);
  }
  for (std::uint32_t i = 0; i < machine_.metadata.servers; ++i)
    add(machine_.metadata.concurrency);
}

std::uint32_t StorageModel::Impl::station_of(ServerName server) const {
  const bool is_data = server.kind == ServerName::Kind::kData;
  const std::uint32_t data_servers = machine_.server_count();
  FOREBAY_ASSERT(server.index < (is_data ? data_servers : machine_.metadata.servers));
  return is_data ? server.index : data_servers + server.index;
}

RequestId StorageModel::Impl::submit(Time now, const Request& request) {
  FOREBAY_ASSERT(request.client < machine_.client.count);
  const Time submitted = std::max(now, now_);
  const std::uint32_t slot = requests_.add(request, submitted);
  flow_.agenda.note({submitted, EventKind::kArrival, 0, slot});
  return requests_.id_of(slot);
}

void StorageModel::Impl::forget(Time now, RequestId id) {
  flow_.agenda.note({std::max(now, now_), EventKind::kForgotten, Requests::generation_of(id),
                     Requests::slot_of(id)});
}

bool StorageModel::Impl::never_ends(RequestId id) {
  const std::uint32_t slot = Requests::slot_of(id);
  if (!requests_.is_under_way(slot, Requests::generation_of(id))) return false;
  return !requests_[slot].lost.empty();
}

void StorageModel::Impl::set_condition(Time now, std::uint32_t station, ServerCondition condition) {
  FOREBAY_ASSERT(condition.slowness > 0);
  FOREBAY_ASSERT(condition.slowness <= kSlownessMax);
  const std::uint32_t number = ++conditions_noted_;
  conditions_[number] = condition;
  flow_.agenda.note({std::max(now, now_), EventKind::kCondition, station, number});
}

void StorageModel::Impl::advance(Time until, Sink& sink) {
  sink_ = &sink;
  while (!flow_.agenda.empty() && flow_.agenda.next().at <= until) {
    const Event event = flow_.agenda.take();
    now_ = event.at;
    happen(event);
    note_lost();
  }
  advanced_ = std::max(advanced_, until);
  sink_ = nullptr;
}

void StorageModel::Impl::happen(const Event& event) {
  switch (event.kind) {
    case EventKind::kArrival:
      return arrive(event.subject);
    case EventKind::kForgotten:
      return forget_now(event.subject, event.place);
    case EventKind::kCondition:
      return stations_[event.place].set_condition(flow_, now_,
                                                  conditions_.extract(event.subject).mapped());
    case EventKind::kLatencyOver:
      if (stations_[event.place].latency_over(flow_, now_, event.subject)) served(event.subject);
      return;
    case EventKind::kTransferOver:
      return served(stations_[event.place].transfer_over(flow_, now_));
    case EventKind::kLinkOver:
      return link_over(event.place);
    case EventKind::kLockChanged:
      return lock_changed(event.subject);
    case EventKind::kLockGivenUp:
      return object_lock_given_up(event.subject);
    case EventKind::kAnswered:
      return answer(event.subject);
  }
}

void StorageModel::Impl::arrive(std::uint32_t slot) {
  const Request request = requests_[slot].request;
  ClientCounters& client = clients_[request.client];
  ++client.under_way;
  client.under_way_most = std::max(client.under_way_most, client.under_way);
  if (!is_on_bytes(request.kind)) return send_name_operation(slot);
  const std::vector<Part> parts = cut(request.layout, request.locked(),
                                      {.server_count = machine_.server_count(),
                                       .request_bytes_max = machine_.client.request_bytes_max});
  if (parts.empty()) return answer(slot);
  requests_[slot].parts_left = parts.size();
  for (const Part& part : parts)
    send_part(slot, part);
}

void StorageModel::Impl::send_name_operation(std::uint32_t slot) {
  RequestState& state = requests_[slot];
  state.parts_left = 1;
  const std::uint32_t server = metadata_server_of(state.request.name, machine_.metadata);
  to_server(flow_.parts.add({.request = slot,
                             .station = machine_.server_count() + server,
                             .client = state.request.client}));
}

void StorageModel::Impl::send_part(std::uint32_t slot, const Part& part) {
  const Request& request = requests_[slot].request;
  const bool writes = request.kind == RequestKind::kWrite;
  PartState state{.request = slot,
                  .station = part.server,
                  .client = request.client,
                  .mode = writes ? LockMode::kExclusive : LockMode::kShared,
                  .range = part.range,
                  .bytes = intersect(part.range, request.range).size};
  if (locks_grow()) {
    state.lock_range = {object_offset_of(request.layout, part.range.offset), part.range.size};
    return take_object_lock(flow_.parts.add(state));
  }
  set_lock_units(state, request.layout);
  take_locks(flow_.parts.add(state));
}

std::uint64_t StorageModel::Impl::lock_unit_bytes(const Layout& layout) const {
  switch (machine_.locks.unit) {
    case LockUnit::kStripe:
      return layout.stripe_bytes;
    case LockUnit::kBytes:
      return machine_.locks.unit_bytes;
    case LockUnit::kNone:
    case LockUnit::kObject:
    case LockUnit::kFile:
      break;
  }
  return all;
}

void StorageModel::Impl::set_lock_units(PartState& state, const Layout& layout) const {
  if (machine_.locks.unit == LockUnit::kNone) return;
  const std::uint64_t unit_bytes = lock_unit_bytes(layout);
  state.first_unit = state.range.offset / unit_bytes;
  state.unit = state.first_unit;
  state.units_end = (state.range.end() - 1) / unit_bytes + 1;
}

void StorageModel::Impl::take_locks(PartIndex part) {
  while (flow_.parts[part].unit < flow_.parts[part].units_end) {
    PartState& state = flow_.parts[part];
    state.came = now_;
    const LockNews news = locks_.take({request_of(part).file, state.unit}, part);
    if (news.changing != kNoPart) {
      flow_.agenda.note({now_ + costs_.lock_change(), EventKind::kLockChanged, 0, part});
    }
    // Others in the queue cannot gain from a newcomer: if anybody is granted, it is this part.
    if (news.granted.empty()) return;
    ++state.unit;
  }
  locked(part);
}

void StorageModel::Impl::lock_changed(PartIndex part) {
  const PartState& state = flow_.parts[part];
  const LockNews news = locks_.changed({request_of(part).file, state.unit});
  ClientCounters& taker = clients_[state.client];
  ++taker.lock_changes;
  tell_losers(part, news.losers);
  go_on(news.granted);
  FOREBAY_ASSERT(news.changing == kNoPart);  // the lock is in use
}

void StorageModel::Impl::tell_losers(PartIndex part, const std::vector<ClientId>& losers) {
  const Request request = request_of(part);
  const std::uint64_t unit = flow_.parts[part].unit;
  const std::uint64_t unit_bytes = lock_unit_bytes(request.layout);
  const bool is_whole = unit_bytes == all;
  const ByteRange range = is_whole ? ByteRange{0, all} : ByteRange{unit * unit_bytes, unit_bytes};
  for (const ClientId loser : losers) {
    ++clients_[loser].locks_lost;
    sink_->on_lock_lost({loser, request.file, range, now_});
  }
}

void StorageModel::Impl::go_on(const std::vector<PartIndex>& granted) {
  for (const PartIndex part : granted) {
    PartState& state = flow_.parts[part];
    clients_[state.client].waited_for_locks += now_ - state.came;
    ++state.unit;
    take_locks(part);
  }
}

void StorageModel::Impl::take_object_lock(PartIndex part) {
  PartState& state = flow_.parts[part];
  state.came = now_;
  const Request& request = request_of(part);
  const ObjectNews news = object_locks_.take({request.file, state.station}, request.layout, part);
  note_going(news.going);
  if (!news.granted.empty()) locked(part);
}

void StorageModel::Impl::object_lock_given_up(std::uint32_t number) {
  const GivenUp gone = object_locks_.given_up(number);
  note_going(gone.news.going);
  ++clients_[gone.taker].lock_changes;
  ++clients_[gone.loser].locks_lost;
  sink_->on_lock_lost({gone.loser, gone.object.file, gone.range, now_});
  for (const PartIndex part : gone.news.granted) {
    clients_[flow_.parts[part].client].waited_for_locks += now_ - flow_.parts[part].came;
    locked(part);
  }
}

void StorageModel::Impl::note_going(const std::vector<std::uint32_t>& going) {
  for (const std::uint32_t number : going)
    flow_.agenda.note({now_ + costs_.lock_change(), EventKind::kLockGivenUp, 0, number});
}

void StorageModel::Impl::locked(PartIndex part) {
  if (flow_.parts[part].bytes == 0) return part_over(part);
  const bool writes = flow_.parts[part].mode == LockMode::kExclusive;
  if (writes && !links_.empty()) return take_link(part);
  to_server(part);
}

void StorageModel::Impl::take_link(PartIndex part) {
  PartState& state = flow_.parts[part];
  state.path_ns = static_cast<double>(state.bytes) * costs_.link_ns_per_byte();
  const bool writes = state.mode == LockMode::kExclusive;
  Path& link = links_[state.client * kLinksOfClient + (writes ? 0U : 1U)];
  link.enter(flow_, part);
  link.start_next(flow_, now_, 1);
}

void StorageModel::Impl::link_over(std::uint32_t link) {
  const PartIndex part = links_[link].finish();
  links_[link].start_next(flow_, now_, 1);
  const bool writes = flow_.parts[part].mode == LockMode::kExclusive;
  if (writes) return to_server(part);
  part_over(part);
}

void StorageModel::Impl::to_server(PartIndex part) {
  PartState& state = flow_.parts[part];
  const Cost& cost = costs_.of(request_of(part).kind, state.station);
  state.latency = cost.latency;
  state.path_ns = cost.turn_ns + static_cast<double>(state.bytes) * cost.turn_ns_per_byte;
  state.takes_path = cost.takes_path;
  stations_[state.station].arrive(flow_, now_, part);
}

void StorageModel::Impl::served(PartIndex part) {
  const PartState& state = flow_.parts[part];
  const RequestKind kind = request_of(part).kind;
  ServerCounters& server = stations_[state.station].counters();
  ++server.requests;
  if (kind == RequestKind::kRead) server.bytes_read += state.bytes;
  if (kind == RequestKind::kWrite) server.bytes_written += state.bytes;
  if (kind == RequestKind::kRead && !links_.empty()) return take_link(part);
  part_over(part);
}

void StorageModel::Impl::part_over(PartIndex part) {
  const PartState state = flow_.parts[part];
  const Request wanted = request_of(part);
  flow_.parts.release(part);
  RequestState& request = requests_[state.request];
  if (--request.parts_left == 0) {
    const bool moves_nothing = is_on_bytes(wanted.kind) && wanted.range.empty();
    const Time link = moves_nothing ? Time{} : costs_.link_latency();
    flow_.agenda.note({now_ + link, EventKind::kAnswered, 0, state.request});
  }
  release_locks(state, wanted);
}

void StorageModel::Impl::release_locks(const PartState& state, const Request& request) {
  if (locks_grow() && is_on_bytes(request.kind))
    return note_going(object_locks_.release({request.file, state.station}, state).going);
  for (std::uint64_t unit = state.first_unit; unit < state.units_end; ++unit) {
    const LockNews news = locks_.release({request.file, unit}, state.client);
    if (news.changing != kNoPart) {
      flow_.agenda.note({now_ + costs_.lock_change(), EventKind::kLockChanged, 0, news.changing});
    }
    go_on(news.granted);
  }
}

void StorageModel::Impl::answer(std::uint32_t slot) {
  const RequestState& state = requests_[slot];
  const Request request = state.request;
  const bool is_forgotten = state.is_forgotten;
  const Finished finished{requests_.id_of(slot), request.tag, state.submitted, now_};
  requests_.release(slot);
  ClientCounters& client = clients_[request.client];
  --client.under_way;
  ++client.requests;
  client.answered_in += now_ - finished.submitted;
  if (!is_on_bytes(request.kind)) ++client.name_operations;
  if (request.kind == RequestKind::kRead) client.bytes_read += request.range.size;
  if (request.kind == RequestKind::kWrite) client.bytes_written += request.range.size;
  if (!is_forgotten) sink_->on_finished(finished);
}

void StorageModel::Impl::forget_now(std::uint32_t slot, std::uint32_t generation) {
  if (!requests_.is_under_way(slot, generation)) return;
  RequestState& state = requests_[slot];
  state.is_forgotten = true;
  PartQueue lost = std::exchange(state.lost, {});
  while (!lost.empty())
    part_over(lost.pop(flow_.parts));
}

void StorageModel::Impl::note_lost() {
  // What is lost of a request that nobody waits for is over, which may lose further parts.
  while (!flow_.lost.empty()) {
    const PartIndex part = flow_.lost.back();
    flow_.lost.pop_back();
    RequestState& state = requests_[flow_.parts[part].request];
    if (state.is_forgotten) {
      part_over(part);
    } else {
      state.lost.push(flow_.parts, part);
    }
  }
}

void StorageModel::Impl::reset_counters() {
  for (Station& station : stations_)
    station.reset_counters(advanced_);
  for (ClientCounters& client : clients_)
    client = {.under_way = client.under_way, .under_way_most = client.under_way};
}

StorageModel::StorageModel(const Machine& machine) : impl_(std::make_unique<Impl>(machine)) {}
StorageModel::~StorageModel() = default;
StorageModel::StorageModel(StorageModel&&) noexcept = default;
StorageModel& StorageModel::operator=(StorageModel&&) noexcept = default;

RequestId StorageModel::submit(Time now, const Request& request) {
  return impl_->submit(now, request);
}

std::optional<Time> StorageModel::next_event() const {
  if (impl_->agenda().empty()) return std::nullopt;
  return impl_->agenda().next().at;
}

void StorageModel::advance(Time until, Sink& sink) { impl_->advance(until, sink); }

void StorageModel::forget(Time now, RequestId id) { impl_->forget(now, id); }

bool StorageModel::never_ends(RequestId id) const { return impl_->never_ends(id); }

void StorageModel::set_condition(Time now, ServerName server, ServerCondition condition) {
  impl_->set_condition(now, impl_->station_of(server), condition);
}

void StorageModel::forget_file(FileId file) { impl_->forget_file(file); }

std::uint64_t StorageModel::under_way() const { return impl_->under_way(); }

ServerCounters StorageModel::counters(ServerName server) const { return impl_->counters(server); }

ClientCounters StorageModel::counters(ClientId client) const { return impl_->counters(client); }

void StorageModel::reset_counters() { impl_->reset_counters(); }

}  // namespace forebay::model
