// SPDX-License-Identifier: Apache-2.0
// One thread waits for the doorbell, the channel, the agent's end and stop(). It signals the
// waiters of this process. Any thread sends its messages directly.
#include "read/node_client.hpp"

#include <array>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/service_thread.hpp"
#include "comm/message_bytes.hpp"
#include "shm/process_watch.hpp"
#include "shm/readiness.hpp"

namespace forebay::read {

namespace {

constexpr std::size_t kFlagBytes = shm::kFalseSharingBytes;
constexpr std::size_t kConnectReplyDescriptors = 3;
constexpr std::size_t kOpenReplyDescriptors = 3;
/// Bound for one send to a process of this machine.
constexpr std::chrono::seconds kSendTimeout{10};

Error disconnected_error(std::string cause) {
  return Error({.kind = ErrorClass::kClosed,
                .operation = "request from the agent of this node",
                .cause = std::move(cause)});
}

tl::unexpected<Error> connect_error(ErrorClass kind, std::string cause) {
  return failure(
      {.kind = kind, .operation = "connect to the agent of this node", .cause = std::move(cause)});
}

/// Agents of other nodes open the file by this path.
std::string absolute_path(const std::string& path) {
  std::error_code failed;
  const std::filesystem::path absolute = std::filesystem::absolute(path, failed);
  return failed ? path : absolute.string();
}

Result<shm::ChannelMessage> first_message(shm::Channel& channel, Deadline deadline) {
  auto message = channel.receive(deadline);
  if (!message) return failure(message.error());
  if (!*message) return connect_error(ErrorClass::kLimit, "no reply before the deadline");
  return std::move(**message);
}

}  // namespace

std::size_t ConnectionLayout::bytes() noexcept {
  return kFlagBytes + shm::ring_bytes<LoadRequest>(kNodeRingEntries) +
         shm::ring_bytes<LoadNotification>(kNodeRingEntries);
}

std::span<std::byte> ConnectionLayout::to_agent(const shm::SharedMemory& memory) noexcept {
  return memory.bytes().subspan(kFlagBytes, shm::ring_bytes<LoadRequest>(kNodeRingEntries));
}

std::span<std::byte> ConnectionLayout::to_client(const shm::SharedMemory& memory) noexcept {
  return memory.bytes().subspan(kFlagBytes + shm::ring_bytes<LoadRequest>(kNodeRingEntries),
                                shm::ring_bytes<LoadNotification>(kNodeRingEntries));
}

std::atomic<std::uint32_t>& ConnectionLayout::released_flag(
    const shm::SharedMemory& memory) noexcept {
  return *reinterpret_cast<std::atomic<std::uint32_t>*>(memory.bytes().data());
}

Result<std::shared_ptr<NodeClient>> NodeClient::connect(const std::string& name,
                                                        Deadline deadline) {
  auto channel = shm::Channel::connect(name, deadline);
  if (!channel) return failure(channel.error());
  auto message = first_message(*channel, deadline);
  if (!message) return failure(message.error());
  const auto decoded = message_from(message->bytes);
  if (!decoded) return failure(decoded.error());
  const auto* const connect_reply = std::get_if<ConnectReply>(&*decoded);
  if (connect_reply == nullptr || message->descriptors.size() != kConnectReplyDescriptors)
    return connect_error(ErrorClass::kDamage,
                         "its first message is not a ConnectReply with 3 descriptors");
  if (connect_reply->protocol != kNodeProtocolVersion) {
    return connect_error(
        ErrorClass::kUnsupported,
        "it has another version of Forebay; load the same version on all ranks of a node");
  }
  auto& descriptors = message->descriptors;
  auto memory = shm::SharedMemory::attach(std::move(descriptors[0]), ConnectionLayout::bytes(),
                                          shm::Protection::kReadWrite);
  if (!memory) return failure(memory.error());
  auto doorbell = shm::Doorbell::from(std::move(descriptors[1]));
  if (!doorbell) return failure(doorbell.error());
  auto other = shm::Doorbell::from(std::move(descriptors[2]));
  if (!other) return failure(other.error());
  auto rings = Rings::attach(ConnectionLayout::to_agent(*memory),
                             ConnectionLayout::to_client(*memory), std::move(*other));
  if (!rings) return failure(rings.error());
  std::shared_ptr<NodeClient> client(new NodeClient(std::move(*channel), std::move(*memory),
                                                    std::move(*doorbell), std::move(*rings),
                                                    connect_reply->client_index));
  if (auto started = client->start(); !started) return failure(started.error());
  return client;
}

NodeClient::NodeClient(shm::Channel channel,
                       shm::SharedMemory memory,
                       shm::Doorbell doorbell,
                       Rings rings,
                       std::uint32_t client_index)
    : memory_(std::move(memory)),
      doorbell_(std::move(doorbell)),
      client_index_(client_index),
      channel_(std::move(channel)),
      rings_(std::move(rings)) {}

Status NodeClient::start() {
  auto bell = shm::Doorbell::create();
  if (!bell) return failure(bell.error());
  stop_doorbell_ = std::move(*bell);
  // Without it, the end of the channel shows the agent's end, unless the agent has forked.
  if (channel_.peer().pid > 0) {
    if (auto watched = shm::watch_process(channel_.peer().pid))
      agent_process_ = std::move(*watched);
  }
  auto thread = start_service_thread("forebay-client", [this] { run(); });
  if (!thread) return failure(thread.error());
  thread_ = std::move(*thread);
  return {};
}

NodeClient::~NodeClient() { stop(); }

void NodeClient::stop() {
  if (thread_.joinable()) {
    stop_doorbell_.ring();
    thread_.join();
  }
  disconnect(disconnected_error("this Runtime has ended"));
}

void NodeClient::run() {
  const std::array<int, 4> descriptors{stop_doorbell_.descriptor().get(),
                                       doorbell_.descriptor().get(), channel_.descriptor().get(),
                                       agent_process_.get()};
  while (exchange_messages()) {
    const auto ready = shm::wait_readable(descriptors, {});
    if (!ready || *ready == 0) return;
    if (*ready == 1) doorbell_.clear();
    if (*ready >= 2 && !receive_messages()) {
      drain_ring();  // messages that it sent before it ended
      disconnect(disconnected_error("the agent has ended"));
      return;
    }
  }
  disconnect(disconnected_error("the ring of the agent is damaged"));
}

/// Takes arrived messages, and sends those of this process that found no room. False if a ring is
/// damaged or a message is malformed.
bool NodeClient::exchange_messages() {
  while (true) {
    if (!drain_ring()) return false;
    const std::lock_guard lock(mutex_);
    while (!backlog_.empty()) {
      const shm::RingOutcome outcome = rings_.try_push(backlog_.front());
      if (outcome == shm::RingOutcome::kBroken) return false;
      if (outcome == shm::RingOutcome::kFull) break;
      backlog_.pop_front();
    }
    const auto awaited =
        backlog_.empty() ? shm::WakeCondition::kMessage : shm::WakeCondition::kEither;
    if (rings_.prepare_sleep(awaited)) return true;
  }
}

bool NodeClient::drain_ring() {
  while (true) {
    LoadNotification ring_message;
    {
      const std::lock_guard lock(mutex_);
      const shm::RingOutcome outcome = rings_.try_pop(ring_message);
      if (outcome != shm::RingOutcome::kDone) return outcome == shm::RingOutcome::kEmpty;
    }
    if (const Status dispatched = dispatch(ring_message); !dispatched) {
      disconnect(dispatched.error());
      return false;
    }
  }
}

/// Fails if the message is malformed.
Status NodeClient::dispatch(const LoadNotification& ring_message) {
  std::vector<std::shared_ptr<MappedSession>> recipients;
  {
    const std::lock_guard lock(mutex_);
    if (ring_message.kind == NotificationKind::kOverflow) {
      for (const auto& [number, session] : sessions_)
        recipients.push_back(session.lock());
    } else if (const auto found = sessions_.find(ring_message.session); found != sessions_.end()) {
      recipients.push_back(found->second.lock());
    }
  }
  for (const auto& session : recipients) {
    if (!session) continue;
    if (Status handled = session->handle_notification(ring_message); !handled) return handled;
  }
  return {};
}

/// False if the agent has ended or sent a malformed message. The channel stays open, because the
/// agent clears the pins of a client that closes it, and this process may hold views.
bool NodeClient::receive_messages() {
  while (true) {
    auto message = channel_.receive(kDoNotBlock);
    if (message && !*message) break;
    if (message) {
      const Status handled = handle_message(std::move(**message));
      if (handled) continue;
      disconnect(with_note(handled.error(), "sent by the agent of this node, process " +
                                                std::to_string(channel_.peer().pid)));
      return false;
    }
    if (message.error().kind() == ErrorClass::kClosed) return false;
    // A reply was lost, perhaps because no descriptors are left.
    fail_pending_opens(message.error());
  }
  // The agent's process may have ended while another process holds its socket.
  const std::array<int, 1> process{agent_process_.get()};
  return process[0] < 0 || !shm::wait_readable(process, kDoNotBlock);
}

/// Only messages with descriptors are lost. The session that the Error concerns is unknown, so each
/// pending open fails and may be repeated.
void NodeClient::fail_pending_opens(const Error& why) {
  const std::lock_guard lock(mutex_);
  for (auto& [number, pending] : pending_replies_) {
    if (pending.is_open && !pending.reply) pending.reply = ErrorReply{{.number = number}, why};
  }
  reply_arrived_.notify_all();
}

/// Fails if the message is malformed.
Status NodeClient::handle_message(shm::ChannelMessage message) {
  auto decoded = message_from(message.bytes);
  if (!decoded) return failure(decoded.error());
  std::optional<SessionHandle> handle;
  if (const auto* const opened = std::get_if<OpenSessionReply>(&*decoded)) handle = opened->handle;
  if (const auto* const done = std::get_if<DoneReply>(&*decoded)) handle = done->handle;
  if (const auto* const refused = std::get_if<ErrorReply>(&*decoded)) {
    if (refused->handle == kAllSessions) {
      fail_pending_opens(refused->error);
      return {};
    }
    handle = refused->handle;
  }
  if (!handle)
    return failure(comm::malformed_message("from an agent", "kind", decoded->index(),
                                           "only clients send messages of this kind"));
  const std::lock_guard lock(mutex_);
  const auto pending = pending_replies_.find(handle->number);
  if (pending == pending_replies_.end()) return {};
  pending->second.reply = std::move(*decoded);
  pending->second.descriptors = std::move(message.descriptors);
  reply_arrived_.notify_all();
  return {};
}

void NodeClient::disconnect(const Error& why) {
  std::unordered_map<std::uint64_t, std::weak_ptr<MappedSession>> sessions;
  {
    const std::lock_guard lock(mutex_);
    if (!disconnect_error_) disconnect_error_ = why;
    sessions.swap(sessions_);
    reply_arrived_.notify_all();
  }
  for (const auto& [number, weak] : sessions) {
    if (const auto session = weak.lock()) session->handle_agent_exit();
  }
}

/// Sends a message to which the agent replies.
Status NodeClient::send_request(const SessionHandle& handle,
                                const NodeMessage& message,
                                std::span<const int> descriptors) {
  {
    const std::lock_guard lock(mutex_);
    if (disconnect_error_) return failure(*disconnect_error_);
    const bool is_open = std::holds_alternative<OpenSessionRequest>(message);
    pending_replies_.try_emplace(handle.number).first->second.is_open = is_open;
  }
  const auto bytes = to_bytes(message);
  const Status sent = [&] {
    const std::lock_guard lock(channel_mutex_);
    return channel_.send(bytes, descriptors, std::chrono::steady_clock::now() + kSendTimeout);
  }();
  if (sent) return {};
  const std::lock_guard lock(mutex_);
  pending_replies_.erase(handle.number);
  return sent;
}

Result<NodeClient::PendingReply> NodeClient::wait_for_reply(const SessionHandle& handle) {
  std::unique_lock lock(mutex_);
  PendingReply& pending = pending_replies_[handle.number];
  reply_arrived_.wait(lock,
                      [&] { return pending.reply.has_value() || disconnect_error_.has_value(); });
  PendingReply completed = std::move(pending);
  pending_replies_.erase(handle.number);
  if (!completed.reply) return failure(*disconnect_error_);
  return completed;
}

Result<std::shared_ptr<MappedSession>> NodeClient::open(MappedSession::OpenArgs args) {
  const OpenSessionRequest request{.handle = args.handle,
                                   .extent = args.extent,
                                   .plan = args.plan,
                                   .path = absolute_path(args.file->path()),
                                   .access = args.access,
                                   .access_reason = args.access_reason};
  const std::array<int, 1> file{args.file->descriptor()};
  const std::span<const int> to_send(file.data(), file[0] >= 0 ? 1 : 0);
  if (auto requested = send_request(args.handle, request, to_send); !requested)
    return failure(requested.error());
  auto completed = wait_for_reply(args.handle);
  if (!completed) return failure(completed.error());
  if (const auto* const refused = std::get_if<ErrorReply>(&*completed->reply)) {
    const Error why = refused->error;
    close_session(args.handle);  // the agent may have it open for this client
    return failure(why);
  }
  auto* const opened = std::get_if<OpenSessionReply>(&*completed->reply);
  if (opened == nullptr) {
    close_session(args.handle);
    return connect_error(ErrorClass::kDamage, "it replied to a request that was not made");
  }
  if (completed->descriptors.size() != kOpenReplyDescriptors) {
    close_session(args.handle);
    return failure({.kind = ErrorClass::kLimit,
                    .operation = "open a read session",
                    .cause = "the descriptors from the node's agent were lost; raise this "
                             "process's limit of open files"});
  }
  args.plan = std::move(opened->plan);
  args.connection = shared_from_this();
  auto& descriptors = completed->descriptors;
  const SessionHandle handle = args.handle;
  auto session = MappedSession::open(std::move(args), {.window = std::move(descriptors[0]),
                                                       .table = std::move(descriptors[1]),
                                                       .ref_counts = std::move(descriptors[2]),
                                                       .client_index = client_index_});
  if (!session) {
    close_session(handle);
    return session;
  }
  std::unique_lock lock(mutex_);
  sessions_[handle.number] = *session;
  const bool has_lost_agent = disconnect_error_.has_value();
  lock.unlock();
  if (has_lost_agent) (*session)->handle_agent_exit();
  return session;
}

/// Messages keep their order; the thread sends those that found no room. Reads that a program
/// reports or predicts can be faster than the agent: those without room are dropped.
void NodeClient::send(const LoadRequest& ring_message) noexcept {
  const std::lock_guard lock(mutex_);
  if (disconnect_error_) return;
  if (backlog_.empty() && rings_.try_push(ring_message) == shm::RingOutcome::kDone) return;
  const bool is_about_foresight = ring_message.kind == LoadRequest::Kind::kObserve ||
                                  ring_message.kind == LoadRequest::Kind::kCancel ||
                                  ring_message.use != kUseUnknown;
  if (is_about_foresight) return;
  backlog_.push_back(ring_message);
  if (backlog_.size() == 1) doorbell_.ring();
}

void NodeClient::notify_memory_released() noexcept {
  if (ConnectionLayout::released_flag(memory_).exchange(1, std::memory_order_seq_cst) != 0) return;
  // A message for no session wakes the agent, which then checks the flag.
  send({.session = UINT64_MAX});
}

void NodeClient::close_session(const SessionHandle& session) noexcept {
  {
    const std::lock_guard lock(mutex_);
    sessions_.erase(session.number);
    if (disconnect_error_) return;
  }
  const std::lock_guard lock(channel_mutex_);
  static_cast<void>(channel_.send(to_bytes(CloseSessionRequest{session}), {},
                                  std::chrono::steady_clock::now() + kSendTimeout));
}

Result<NodeMessage> NodeClient::call(const SessionHandle& session, const NodeMessage& message) {
  const std::lock_guard one_at_a_time(call_mutex_);
  if (auto sent = send_request(session, message); !sent) return failure(sent.error());
  auto completed = wait_for_reply(session);
  if (!completed) return failure(completed.error());
  return std::move(*completed->reply);
}

/// Repeated if an agent that is late does not receive it, or cannot send the reply.
bool NodeClient::invalidate(const SessionHandle& session, ByteRange range) {
  while (true) {
    const auto reply = call(session, InvalidateRequest{session, range});
    if (reply && std::holds_alternative<DoneReply>(*reply)) return true;
    if (!reply && reply.error().kind() != ErrorClass::kLimit) return false;
  }
}

Status NodeClient::start_function(const SessionHandle& session,
                                  std::string_view name,
                                  std::span<const std::byte> argument) {
  auto reply = call(session, StartFunctionRequest{
                                 session, std::string(name), {argument.begin(), argument.end()}});
  if (!reply) return failure(reply.error());
  const auto* const refused = std::get_if<ErrorReply>(&*reply);
  return refused == nullptr ? Status() : failure(refused->error);
}

}  // namespace forebay::read
