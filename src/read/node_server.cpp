// SPDX-License-Identifier: Apache-2.0
// A client is identified by its row of the reference counts (`client_index`), in all sessions. A
// client ends when its channel or its process ends, whichever is noticed first.
#include "read/node_server.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include <sys/epoll.h>

#include "comm/message_bytes.hpp"
#include "read/client_connection.hpp"
#include "read/shared_control_block.hpp"

namespace forebay::read {

namespace {

constexpr std::uint64_t kListenerKey = UINT64_MAX;
constexpr std::size_t kEventsMax = 64;
constexpr std::chrono::milliseconds kDrainCheckDelay{2};

Error open_error(const SessionHandle& handle, std::string cause) {
  return Error({.kind = ErrorClass::kInvalidArgument,
                .operation = "open session " + std::to_string(handle.number) + " of this node",
                .cause = std::move(cause)});
}

}  // namespace

struct NodeServer::SessionEntry {
  /// Success if the request matches this session.
  Status check_compatible(const OpenSessionRequest& request) const {
    if (session->geometry().extent() == request.extent)
      return check_plan ? check_plan(request.plan) : Status();
    return failure(
        open_error(request.handle,
                   "ranks of this node give it different extents; open sessions in the same "
                   "order on all ranks"));
  }

  std::shared_ptr<LocalSession> session;
  std::function<Status(const ReadPlan&)> check_plan;
  std::shared_ptr<SharedControlBlock> control_block;
  std::uint32_t client_count = 0;  ///< clients that have it open
};

Result<std::shared_ptr<NodeServer>> NodeServer::start(std::uint32_t clients_max,
                                                      SessionOpener session_opener) {
  std::shared_ptr<NodeServer> agent(new NodeServer(clients_max, std::move(session_opener)));
  auto listener = shm::ChannelListener::open();
  if (!listener) return failure(listener.error());
  agent->name_ = listener->name();
  agent->listener_ = std::move(*listener);
  agent->events_ = Descriptor(::epoll_create1(EPOLL_CLOEXEC));
  if (!agent->events_) {
    return failure(
        system_error({.operation = "create an epoll descriptor for clients of this node"}, errno));
  }
  if (auto watched = agent->watch(agent->listener_.descriptor().get(), kListenerKey); !watched)
    return failure(watched.error());
  return agent;
}

NodeServer::NodeServer(std::uint32_t clients_max, SessionOpener session_opener)
    : clients_max_(clients_max), session_opener_(std::move(session_opener)) {}

NodeServer::~NodeServer() {
  for_each_session([](LocalSession& session) { session.close(); });
}

Status NodeServer::watch(int descriptor, std::uint64_t key) {
  epoll_event event{.events = EPOLLIN, .data = {.u64 = key}};
  if (::epoll_ctl(events_.get(), EPOLL_CTL_ADD, descriptor, &event) == 0) return {};
  return failure(system_error({.operation = "watch a client of this node"}, errno));
}

void NodeServer::poll() {
  std::array<epoll_event, kEventsMax> events{};
  const int count = ::epoll_wait(events_.get(), events.data(), kEventsMax, 0);
  for (int i = 0; i < count; ++i) {
    const std::uint64_t key = events.at(static_cast<std::size_t>(i)).data.u64;
    if (key == kListenerKey) {
      accept_clients();
    } else {
      handle_client_events(static_cast<std::uint32_t>(key));
    }
  }
  destroy_drained_sessions();
  // After the last pin is removed, the session returns its memory a little later.
  next_check_.reset();
  if (count > 0 && !draining_.empty())
    next_check_ = std::chrono::steady_clock::now() + kDrainCheckDelay;
}

void NodeServer::accept_clients() {
  while (true) {
    auto channel = listener_.accept();
    if (channel && !*channel) return;
    // A refused client notices the end of its channel.
    if (channel) static_cast<void>(add_client(std::move(**channel)));
    // No descriptors are left, or accept() is not permitted: it would fail again. Clients that wait
    // notice the end of the listener.
    const bool cannot_accept = !channel && channel.error().error_number() != 0;
    if (cannot_accept) {
      listener_ = {};
      return;
    }
  }
}

Status NodeServer::add_client(shm::Channel channel) {
  std::uint32_t client_index = 0;
  while (clients_.contains(client_index))
    ++client_index;
  if (client_index >= clients_max_) {
    return failure(
        {.kind = ErrorClass::kLimit,
         .operation = "accept a client",
         .cause = "the maximum of " + std::to_string(client_index) + " clients is connected"});
  }
  auto connection = ClientConnection::make(std::move(channel), client_index);
  if (!connection) return failure(connection.error());
  for (const int descriptor : (*connection)->watched_descriptors()) {
    if (descriptor < 0) continue;
    if (auto watched = watch(descriptor, client_index); !watched) {
      stop_watching(**connection);
      return watched;
    }
  }
  clients_[client_index] = std::move(*connection);
  handle_client_events(client_index);  // it may have sent messages already
  return {};
}

void NodeServer::handle_client_events(std::uint32_t client_index) {
  const auto found = clients_.find(client_index);
  if (found == clients_.end()) return;  // it ended in this round
  ClientConnection& client = *found->second;
  if (client.is_rejected()) {
    if (client.has_ended_after_rejection()) remove_client(client_index);
    return;
  }
  client.agent_doorbell().clear();
  do {
    if (!receive_messages(client)) {
      remove_client(client_index);
      return;
    }
    if (!drain_ring(client)) {
      reject_client(client_index);
      return;
    }
    handle_memory_released(client);
  } while (!client.prepare_sleep());
}

/// False if the client has ended.
bool NodeServer::receive_messages(ClientConnection& client) {
  while (true) {
    auto message = client.channel().receive(kDoNotBlock);
    if (!message) {
      if (message.error().kind() == ErrorClass::kClosed) return false;
      // A message was lost, perhaps because no descriptors are left: pending opens receive this
      // Error.
      const auto answer = to_bytes(ErrorReply{kAllSessions, message.error()});
      static_cast<void>(client.channel().send(answer));
      continue;
    }
    if (!*message) return !client.has_ended();
    if (const Status handled = handle_message(client, std::move(**message)); !handled) {
      client.reject(handled.error());
      return true;  // drain_ring() finds it broken
    }
  }
}

/// Sends an Error if the message cannot be sent. Fails if that cannot be sent either: then the
/// client must not wait for a reply.
Status NodeServer::reply(ClientConnection& client,
                         const SessionHandle& handle,
                         const NodeMessage& message) {
  Status sent = client.channel().send(to_bytes(message));
  if (!sent) sent = client.channel().send(to_bytes(ErrorReply{handle, sent.error()}));
  const bool has_ended = !sent && sent.error().kind() == ErrorClass::kClosed;
  return has_ended ? Status() : sent;  // receive_messages() notices the end
}

/// Fails if the message is malformed, or if the client would wait for a reply that cannot be sent.
Status NodeServer::handle_message(ClientConnection& client, shm::ChannelMessage message) {
  auto decoded = message_from(message.bytes);
  if (!decoded) return failure(decoded.error());
  if (auto* const request = std::get_if<OpenSessionRequest>(&*decoded)) {
    return handle_open_request(client, std::move(*request), std::move(message));
  } else if (const auto* const close_request = std::get_if<CloseSessionRequest>(&*decoded)) {
    close_session(client, close_request->handle);
  } else if (const auto* const changed = std::get_if<InvalidateRequest>(&*decoded)) {
    invalidate(changed->handle, changed->range);
    if (on_invalidated_) on_invalidated_(changed->handle, changed->range);
    return reply(client, changed->handle, DoneReply{changed->handle});
  } else if (auto* const function = std::get_if<StartFunctionRequest>(&*decoded)) {
    return handle_start_function(client, std::move(*function));
  } else {
    return failure(comm::malformed_message("from a client", "kind", decoded->index(),
                                           "only agents send messages of this kind"));
  }
  return {};
}

Status NodeServer::handle_open_request(ClientConnection& client,
                                       OpenSessionRequest request,
                                       shm::ChannelMessage message) {
  const SessionHandle handle = request.handle;
  const auto refuse = [&](const Error& why) {
    return reply(client, handle, ErrorReply{handle, why});
  };
  Descriptor file;
  if (!message.descriptors.empty()) file = std::move(message.descriptors.front());
  auto entry = find_or_open(std::move(request), std::move(file));
  if (!entry) return refuse(entry.error());
  if (!client.sessions().try_emplace(handle.number).second)
    return refuse(open_error(handle, "this rank has opened it already; close it first"));
  ++(*entry)->client_count;
  const Status sent = send_open_reply(client, **entry);
  if (sent) return {};
  close_session(client, handle);
  return refuse(sent.error());
}

Status NodeServer::handle_start_function(ClientConnection& client, StartFunctionRequest request) {
  const SessionHandle handle = request.handle;
  const auto open = client.sessions().find(handle.number);
  Result<ReadListener> started =
      failure(open_error(handle, "the agent of this node runs no functions for it"));
  if (open != client.sessions().end() && function_starter_) {
    open->second = nullptr;  // ends the function before
    started = function_starter_({.session = sessions_.at(handle.number)->session,
                                 .client_index = client.client_index(),
                                 .name = std::move(request.name),
                                 .argument = std::move(request.argument)});
  }
  if (started) open->second = std::move(*started);
  return reply(
      client, handle,
      started ? NodeMessage(DoneReply{handle}) : NodeMessage(ErrorReply{handle, started.error()}));
}

Result<NodeServer::SessionEntry*> NodeServer::find_or_open(OpenSessionRequest request,
                                                           Descriptor file) {
  destroy_drained_sessions();
  const SessionHandle handle = request.handle;
  if (const auto known = sessions_.find(handle.number); known != sessions_.end()) {
    const Status compatible = known->second->check_compatible(request);
    if (!compatible) return failure(compatible.error());
    return known->second.get();
  }
  auto entry = std::make_unique<SessionEntry>();
  auto served = session_opener_({.request = std::move(request),
                                 .file = std::move(file),
                                 .create_control_block = [&](const shm::ControlBlockShape& shape) {
                                   return create_shared_control_block(shape, entry->control_block);
                                 }});
  if (!served) return failure(served.error());
  entry->session = std::move(served->session);
  entry->check_plan = std::move(served->check_plan);
  return (sessions_[handle.number] = std::move(entry)).get();
}

Status NodeServer::send_open_reply(ClientConnection& client, const SessionEntry& entry) {
  const auto window = entry.session->share_window();
  if (!window) return failure(window.error());
  const auto table = entry.control_block->table.share(shm::Protection::kReadOnly);
  if (!table) return failure(table.error());
  const auto ref_counts = entry.control_block->ref_counts.share(shm::Protection::kReadWrite);
  if (!ref_counts) return failure(ref_counts.error());
  const std::array<int, 3> descriptors{window->get(), table->get(), ref_counts->get()};
  return client.channel().send(
      to_bytes(OpenSessionReply{entry.session->handle(), entry.session->plan()}), descriptors);
}

void NodeServer::close_session(ClientConnection& client, const SessionHandle& handle) {
  if (client.sessions().erase(handle.number) == 0) return;
  const auto found = sessions_.find(handle.number);
  if (found == sessions_.end()) return;
  SessionEntry& entry = *found->second;
  entry.session->remove_waiters(client);
  entry.session->forget_uses(client.client_index());
  // The client may still hold pins; it removes them later, in its row of the reference counts.
  release_session(found);
}

Result<std::shared_ptr<LocalSession>> NodeServer::open_session(OpenSessionRequest request) {
  auto entry = find_or_open(std::move(request), {});
  if (!entry) return failure(entry.error());
  ++(*entry)->client_count;
  return (*entry)->session;
}

void NodeServer::close_session(const SessionHandle& handle) {
  const auto found = sessions_.find(handle.number);
  if (found != sessions_.end()) release_session(found);
}

void NodeServer::invalidate(const SessionHandle& handle, ByteRange range) {
  const auto found = sessions_.find(handle.number);
  if (found != sessions_.end()) found->second->session->invalidate(range);
}

/// The session ends when its last client has closed it.
void NodeServer::release_session(
    std::unordered_map<std::uint64_t, std::unique_ptr<SessionEntry>>::iterator entry) {
  if (--entry->second->client_count > 0) return;
  entry->second->session->close();
  draining_.push_back(std::move(entry->second));
  sessions_.erase(entry);
}

template <class Use>
void NodeServer::for_each_session(Use use) const {
  for (const auto& [number, entry] : sessions_)
    use(*entry->session);
  for (const auto& entry : draining_)
    use(*entry->session);
}

/// False if the ring is damaged, or a message malformed.
bool NodeServer::drain_ring(ClientConnection& client) {
  LoadRequest ring_message;
  while (true) {
    const shm::RingOutcome outcome = client.next_request(ring_message);
    if (outcome == shm::RingOutcome::kEmpty) return true;
    if (outcome != shm::RingOutcome::kDone) return false;
    if (const Status handled = handle_request(client, ring_message); !handled) {
      client.reject(handled.error());
      return false;
    }
  }
}

/// Fails if the message is malformed.
Status NodeServer::handle_request(ClientConnection& client, const LoadRequest& ring_message) {
  const auto open = client.sessions().find(ring_message.session);
  if (open == client.sessions().end()) return {};
  LocalSession& session = *sessions_.at(ring_message.session)->session;
  if (Status checked = check_ring_message(ring_message, session.geometry()); !checked)
    return checked;
  const SplinterRequest request{.splinter = ring_message.splinter,
                                .part = ring_message.part,
                                .granularity = ring_message.granularity,
                                .use = ring_message.use};
  if (ring_message.kind == LoadRequest::Kind::kNotify) {
    session.add_client_waiter(ring_message, client);
  } else if (ring_message.kind == LoadRequest::Kind::kCancel) {
    session.cancel_push({&request.splinter, 1}, client.client_index());
  } else if (ring_message.kind == LoadRequest::Kind::kObserve) {
    const std::uint64_t start = session.geometry().start_of(request.splinter);
    if (open->second)
      open->second({start + request.part.first, request.part.size()}, ring_message.position);
  } else if (ring_message.use != kUseUnknown) {
    session.push({&request, 1}, ring_message.position, client.client_index());
  } else {
    session.enqueue_load(request, ring_message.priority);
  }
  return {};
}

/// Sessions that this client has closed may also wait for its pins.
void NodeServer::handle_memory_released(ClientConnection& client) {
  if (!client.take_released_flag()) return;
  for_each_session([](LocalSession& session) { session.notify_memory_released(); });
}

/// Closes its sessions and removes its waiters.
void NodeServer::close_all_sessions(std::uint32_t client_index) {
  ClientConnection& client = *clients_.at(client_index);
  while (!client.sessions().empty())
    close_session(client, {.number = client.sessions().begin()->first});
  for_each_session([&](LocalSession& session) { session.remove_waiters(client); });
}

/// For a client that sent a malformed message but may be alive and hold views. Its pins stay until
/// its process has ended. Without a pidfd, they stay until it closes its end of the channel.
void NodeServer::reject_client(std::uint32_t client_index) {
  ClientConnection& client = *clients_.at(client_index);
  close_all_sessions(client_index);
  stop_watching(client);
  client.set_rejected();
  const bool has_pidfd = client.process_descriptor() >= 0;
  if (has_pidfd)
    client.channel().shutdown();
  else
    client.channel().shutdown_sending();
  const int end_of_client =
      has_pidfd ? client.process_descriptor() : client.channel().descriptor().get();
  if (!watch(end_of_client, client_index)) remove_client(client_index);
}

/// For a client that has ended.
void NodeServer::remove_client(std::uint32_t client_index) {
  close_all_sessions(client_index);
  const auto found = clients_.find(client_index);
  const std::unique_ptr<ClientConnection> client = std::move(found->second);
  clients_.erase(found);
  stop_watching(*client);
  client->channel().shutdown();
  for_each_session([&](LocalSession& session) { session.clear_pins(client_index); });
  if (++ended_count_ == clients_max_ && on_all_clients_ended_) on_all_clients_ended_();
}

/// Closing the descriptors does not end epoll's watch if a forked child also holds them.
void NodeServer::stop_watching(const ClientConnection& client) const {
  for (const int descriptor : client.watched_descriptors()) {
    if (descriptor >= 0) ::epoll_ctl(events_.get(), EPOLL_CTL_DEL, descriptor, nullptr);
  }
}

void NodeServer::shutdown() {
  for (const auto& [client_index, client] : clients_)
    client->channel().shutdown();
}

void NodeServer::destroy_drained_sessions() {
  std::erase_if(draining_, [](const auto& entry) { return !entry->session->has_memory(); });
}

}  // namespace forebay::read
