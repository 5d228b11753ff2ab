// SPDX-License-Identifier: Apache-2.0
#include "read/node_links.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <string>
#include <thread>
#include <utility>

#include <poll.h>
#include <sys/epoll.h>

#include "base/assert.hpp"
#include "base/checked_cast.hpp"
#include "read/node_link_messages.hpp"
#include "read/requests.hpp"

namespace forebay::read {

namespace {

constexpr std::size_t kLinkEventsMax = 64;
constexpr std::uint64_t kLoopKey = UINT64_MAX;
/// Poll interval while bulk transfers are in flight: MPI has no descriptor to wait for.
constexpr std::chrono::microseconds kBulkPollInterval{50};
/// At the end, bound of the wait for announced and requested bytes.
constexpr std::chrono::seconds kShutdownTimeout{5};

Error not_connected_error(std::uint32_t node) {
  return Error({.kind = ErrorClass::kClosed,
                .operation = "read",
                .cause = "the agent of node " + std::to_string(node) + " has ended"});
}

}  // namespace

/// Requests the parts of one session that other nodes read.
class NodeLinks::Reader final : public RemoteReader {
 public:
  Reader(std::weak_ptr<NodeLinks> links,
         const OpenSessionRequest& request,
         const SplinterOwners& owners,
         std::shared_ptr<ReadAgent> agent)
      : links_(std::move(links)),
        handle_(request.handle),
        extent_(request.extent),
        owners_(owners),
        agent_(std::move(agent)) {}
  ~Reader() override {
    if (const auto links = links_.lock()) links->post_close(handle_.number, owners_.nodes());
  }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  bool try_fetch(const std::shared_ptr<TransferSource>& source,
                 const TransferSource::Transfer& transfer) override {
    const auto links = links_.lock();
    if (!links) return false;
    // A read is rounded to the device's units, but other nodes serve only bytes of the session.
    const ByteRange inside = intersect({transfer.file_offset, transfer.memory.size()}, extent_);
    return links->fetch(owners_.owner_of(inside.offset).number, handle_,
                        {.source = source,
                         .transfer = transfer,
                         .agent = agent_,
                         .skipped_bytes = inside.offset - transfer.file_offset,
                         .size_bytes = inside.size});
  }

 private:
  // weak: the links hold views of sessions, and those hold this object.
  const std::weak_ptr<NodeLinks> links_;
  const SessionHandle handle_;
  const ByteRange extent_;
  const SplinterOwners owners_;
  const std::shared_ptr<ReadAgent> agent_;
};

Result<std::shared_ptr<NodeLinks>> NodeLinks::start(Setup setup) {
  std::shared_ptr<NodeLinks> made(new NodeLinks());
  made->own_node_ = setup.own_node;
  for (std::size_t i = 0; i < setup.links.size(); ++i) {
    BulkTransfers bulk(setup.bulk, setup.links[i]->peer());
    made->peers_.push_back(
        {.link = std::move(setup.links[i]), .bulk = std::move(bulk), .node = setup.nodes[i]});
  }
  if (auto watched = made->watch_all(); !watched) return failure(watched.error());
  return made;
}

NodeLinks::~NodeLinks() { FOREBAY_ASSERT(pending_views_.empty()); }

Status NodeLinks::watch_all() {
  const auto failed = [] {
    return failure(system_error({.operation = "watch the links to other nodes"}, errno));
  };
  events_ = Descriptor(::epoll_create1(EPOLL_CLOEXEC));
  if (!events_) return failed();
  epoll_event event{.events = EPOLLIN, .data = {.u64 = kLoopKey}};
  if (::epoll_ctl(events_.get(), EPOLL_CTL_ADD, loop_.event_fd(), &event) != 0) return failed();
  for (std::size_t i = 0; i < peers_.size(); ++i) {
    Peer& peer = peers_[i];
    peer.interest = peer.link->interest();
    event = {.events = static_cast<std::uint32_t>(peer.interest), .data = {.u64 = i}};
    if (::epoll_ctl(events_.get(), EPOLL_CTL_ADD, peer.link->descriptor(), &event) != 0)
      return failed();
  }
  return {};
}

/// Null if the peer accepts no requests.
NodeLinks::Peer* NodeLinks::find_peer(std::uint32_t node) {
  const auto found = std::find_if(peers_.begin(), peers_.end(),
                                  [&](const Peer& peer) { return peer.node == node; });
  return found == peers_.end() || found->link->close_reason() || is_shut_down_ ? nullptr : &*found;
}

NodeLinks::Peer& NodeLinks::peer_of(const comm::Link& link) {
  return *std::find_if(peers_.begin(), peers_.end(),
                       [&](const Peer& peer) { return peer.link.get() == &link; });
}

void NodeLinks::update_interest(Peer& peer) {
  if (peer.link->close_reason()) return;
  const short interest = peer.link->interest();
  if (std::exchange(peer.interest, interest) == interest) return;
  epoll_event event{.events = static_cast<std::uint32_t>(interest),
                    .data = {.u64 = static_cast<std::uint64_t>(&peer - peers_.data())}};
  ::epoll_ctl(events_.get(), EPOLL_CTL_MOD, peer.link->descriptor(), &event);
}

/// If the link ends meanwhile, poll() notices.
void NodeLinks::send(Peer& peer,
                     comm::LinkHeader header,
                     std::span<const std::byte> payload,
                     comm::Link::OnSent on_sent) {
  static_cast<void>(peer.link->send(header, payload, std::move(on_sent)));
  update_interest(peer);
}

void NodeLinks::send_payload(Peer& peer, comm::LinkHeader header, std::vector<std::byte> payload) {
  const auto kept = std::make_shared<const std::vector<std::byte>>(std::move(payload));
  send(peer, header, *kept, [kept](const Status&) {});
}

std::shared_ptr<RemoteReader> NodeLinks::create_reader(const OpenSessionRequest& request,
                                                       const SplinterOwners& owners,
                                                       const std::shared_ptr<ReadAgent>& agent) {
  OpenSessionRequest for_others = request;
  for_others.access.reset();
  for (const std::uint32_t node : owners.nodes()) {
    if (Peer* const peer = find_peer(node))
      send_payload(*peer, header_of(LinkMessage::kOpen, {}), to_bytes(NodeMessage(for_others)));
  }
  return std::make_shared<Reader>(weak_from_this(), request, owners, agent);
}

bool NodeLinks::fetch(std::uint32_t node, const SessionHandle& session, Fetch fetch) {
  Peer* const peer = find_peer(node);
  if (peer == nullptr || is_draining_) return false;
  const std::uint64_t id = next_id_++;
  const std::uint64_t offset = fetch.transfer.file_offset + fetch.skipped_bytes;
  const auto header =
      header_of(LinkMessage::kRequest, {id, session.number, offset, fetch.size_bytes});
  peer->fetches.emplace(id, std::move(fetch));
  send(*peer, header, {});
  return true;
}

void NodeLinks::invalidate(const SessionHandle& session, ByteRange range) {
  const auto header =
      header_of(LinkMessage::kInvalidate, {session.number, range.offset, range.size, 0});
  for (const Peer& peer : peers_) {
    if (Peer* const open = find_peer(peer.node)) send(*open, header, {});
  }
}

void NodeLinks::post_close(std::uint64_t session, const std::vector<std::uint32_t>& nodes) {
  const std::lock_guard lock(closing_mutex_);
  closing_.emplace_back(session, nodes);
  if (closing_.size() == 1) loop_.post(close_work_);
}

/// On the agent's thread.
void NodeLinks::send_closes() {
  std::vector<std::pair<std::uint64_t, std::vector<std::uint32_t>>> closing;
  {
    const std::lock_guard lock(closing_mutex_);
    closing.swap(closing_);
  }
  for (const auto& [session, nodes] : closing) {
    for (const std::uint32_t node : nodes) {
      if (Peer* const peer = find_peer(node))
        send(*peer, header_of(LinkMessage::kClose, {session}), {});
    }
  }
}

void NodeLinks::complete_fetch(Peer& peer, std::uint64_t id, const Status& outcome) {
  const auto found = peer.fetches.find(id);
  Fetch fetch = std::move(found->second);
  peer.fetches.erase(found);
  fetch.transfer.is_remote = true;
  const Result<std::uint64_t> bytes =
      outcome ? Result<std::uint64_t>(fetch.skipped_bytes + fetch.size_bytes)
              : Result<std::uint64_t>(tl::unexpect, outcome.error());
  fetch.source->finish(fetch.transfer, bytes);
  fetch.agent->notify(fetch.source);
}

/// The pending transfer to which bytes or an Error belong.
Result<NodeLinks::Fetch*> NodeLinks::find_fetch(Peer& peer, LinkMessage kind, std::uint64_t id) {
  const auto found = peer.fetches.find(id);
  if (found == peer.fetches.end())
    return failure(malformed(kind, "id", id, "must be that of a pending request"));
  if (found->second.is_bulk)
    return failure(malformed(kind, "id", id, "its bytes were announced to arrive by MPI"));
  return &found->second;
}

Result<std::span<std::byte>> NodeLinks::payload_buffer(comm::Link& link,
                                                       const comm::LinkHeader& header) {
  if (Status checked = comm::check_header(header, kLinkMessageRules); !checked)
    return failure(checked.error());
  Peer& peer = peer_of(link);
  if (header.kind != static_cast<std::uint32_t>(LinkMessage::kData)) {
    peer.payload.resize(header.payload_bytes);
    return std::span(peer.payload);
  }
  const auto fetch = find_fetch(peer, LinkMessage::kData, header.words[0]);
  if (!fetch) return failure(fetch.error());
  if ((*fetch)->size_bytes != header.payload_bytes)
    return failure(malformed(LinkMessage::kData, "payload bytes", header.payload_bytes,
                             "must be as many as were requested"));
  return (*fetch)->transfer.memory.subspan((*fetch)->skipped_bytes, (*fetch)->size_bytes);
}

Status NodeLinks::handle_message(comm::Link& link,
                                 const comm::LinkHeader& header,
                                 std::span<const std::byte> payload) {
  if (Status checked = comm::check_header(header, kLinkMessageRules); !checked) return checked;
  Peer& peer = peer_of(link);
  const auto& words = header.words;
  switch (static_cast<LinkMessage>(header.kind)) {
    case LinkMessage::kOpen:
      return handle_open(peer, payload);
    case LinkMessage::kRequest:
      return handle_request(peer, words[0], {.number = words[1]}, {words[2], words[3]});
    case LinkMessage::kData:
      return handle_reply(peer, LinkMessage::kData, words[0], {});
    case LinkMessage::kError: {
      const auto why = comm::error_from_bytes(payload);
      if (!why) return failure(why.error());
      return handle_reply(peer, LinkMessage::kError, words[0], failure(*why));
    }
    case LinkMessage::kClose:
      handle_close(peer, words[0]);
      return {};
    case LinkMessage::kInvalidate:
      return handle_invalidate(peer, words);
    case LinkMessage::kBulkData:
      return post_bulk_receive(peer, words[0]);
    case LinkMessage::kBulkSent:
      if (peer.bulk.confirm_sends(words[0])) return {};
      return failure(malformed(LinkMessage::kBulkSent, "count", words[0], "fewer were announced"));
  }
  return {};
}

Status NodeLinks::handle_reply(Peer& peer, LinkMessage kind, std::uint64_t id, const Status& sent) {
  if (const auto fetch = find_fetch(peer, kind, id); !fetch) return failure(fetch.error());
  complete_fetch(peer, id, sent);
  return {};
}

Status NodeLinks::handle_open(Peer& peer, std::span<const std::byte> payload) {
  auto message = message_from(payload);
  if (!message) return failure(message.error());
  auto* const request = std::get_if<OpenSessionRequest>(&*message);
  if (request == nullptr)
    return failure(malformed(LinkMessage::kOpen, "payload kind", message->index(),
                             "must be 1, OpenSessionRequest"));
  if (request->access)
    return failure(malformed(LinkMessage::kOpen, "access",
                             static_cast<std::uint64_t>(*request->access),
                             "must be absent between nodes"));
  const std::uint64_t number = request->handle.number;
  if (is_draining_ || peer.served.contains(number)) return {};
  ServedResult served =
      session_callbacks_.open(std::move(*request)).map([](std::shared_ptr<LocalSession> session) {
        // This handle does not close the session, which ends when all have closed it.
        return HandleAccess::make_session(std::move(session), std::make_shared<int>());
      });
  peer.served.emplace(number, std::move(served));
  return {};
}

void NodeLinks::handle_close(Peer& peer, std::uint64_t number) {
  const auto found = peer.served.find(number);
  if (found == peer.served.end()) return;
  const bool was_open = found->second.has_value();
  peer.served.erase(found);
  if (was_open) session_callbacks_.close({.number = number});
}

Status NodeLinks::handle_invalidate(const Peer& peer, const std::array<std::uint64_t, 4>& words) {
  const ByteRange range{words[1], words[2]};
  if (range.size > INT64_MAX || range.offset > INT64_MAX - range.size)
    return failure(
        malformed(LinkMessage::kInvalidate, "offset", range.offset, "no file is that long"));
  if (session_callbacks_.invalidate) session_callbacks_.invalidate({.number = words[0]}, range);
  const bool is_passed_on = words[3] != 0;
  for (Peer& other : peers_) {
    if (is_passed_on || other.node == peer.node || !other.served.contains(words[0])) continue;
    if (Peer* const open = find_peer(other.node))
      send(*open, header_of(LinkMessage::kInvalidate, {words[0], words[1], words[2], 1}), {});
  }
  return {};
}

void NodeLinks::send_error(Peer& peer, std::uint64_t id, const Error& why) {
  send_payload(peer, header_of(LinkMessage::kError, {id}), comm::to_bytes(why));
}

Status NodeLinks::handle_request(Peer& peer,
                                 std::uint64_t id,
                                 const SessionHandle& session,
                                 ByteRange range) {
  if (range.empty()) return failure(malformed(LinkMessage::kRequest, "size", 0, "must not be 0"));
  const auto found = peer.served.find(session.number);
  if (found == peer.served.end()) {
    send_error(peer, id, not_connected_error(own_node_));
    return {};
  }
  if (!found->second || is_draining_) {
    send_error(peer, id, is_draining_ ? not_connected_error(own_node_) : found->second.error());
    return {};
  }
  if (!found->second->extent().contains(range))
    return failure(malformed(LinkMessage::kRequest, "offset", range.offset,
                             "must begin a range of the session"));
  Future<View> view = found->second->view(range);
  if (view.poll()) {
    reply(peer.node, id, view.wait());
    return {};
  }
  reply_when_ready(std::move(view), *found->second, peer.node, id);
  return {};
}

void NodeLinks::reply_when_ready(Future<View> view,
                                 const Session& session,
                                 std::uint32_t node,
                                 std::uint64_t id) {
  const std::uint64_t key = next_view_key_++;
  pending_views_.emplace(key, session);
  std::move(view).then(loop_, [this, key, node, id](Result<View> result) {
    pending_views_.erase(key);
    reply(node, id, std::move(result));
  });
}

void NodeLinks::reply(std::uint32_t node, std::uint64_t id, Result<View> view) {
  Peer* const peer = find_peer(node);
  if (peer == nullptr) return;
  if (!view) {
    send_error(*peer, id, view.error());
    return;
  }
  send_view(*peer, id, std::make_shared<View>(std::move(*view)));
}

void NodeLinks::send_view(Peer& peer, std::uint64_t id, const std::shared_ptr<View>& view) {
  if (!peer.bulk.is_enabled()) {
    send(peer, header_of(LinkMessage::kData, {id}), view->bytes(),
         [view](const Status&) { view->release(); });
    return;
  }
  peer.bulk.send(view);
  send(peer, header_of(LinkMessage::kBulkData, {id}), {});
}

Status NodeLinks::post_bulk_receive(Peer& peer, std::uint64_t id) {
  const auto fetch = find_fetch(peer, LinkMessage::kBulkData, id);
  if (!fetch) return failure(fetch.error());
  if (!peer.bulk.is_enabled())
    return failure(malformed(LinkMessage::kBulkData, "id", id, "this job sends bytes by links"));
  (*fetch)->is_bulk = true;
  peer.bulk.receive(
      (*fetch)->transfer.memory.subspan((*fetch)->skipped_bytes, (*fetch)->size_bytes), id);
  return {};
}

bool NodeLinks::has_bulk_in_flight() const {
  return std::any_of(peers_.begin(), peers_.end(),
                     [](const Peer& peer) { return peer.bulk.is_in_flight(); });
}

Deadline NodeLinks::next_deadline() const {
  if (!has_bulk_in_flight()) return std::nullopt;
  return std::chrono::steady_clock::now() + kBulkPollInterval;
}

void NodeLinks::progress_bulk() {
  for (Peer& peer : peers_) {
    if (const std::uint64_t sent = peer.bulk.release_completed_sends(); sent > 0)
      send(peer, header_of(LinkMessage::kBulkSent, {sent}), {});
    while (const auto received = peer.bulk.take_received())
      complete_fetch(peer, received->id, received->status);
    peer.bulk.progress();
  }
}

/// A send that is never received never completes. So this receives all announced bytes while the
/// peers live, and waits for its own sends; at most kShutdownTimeout.
void NodeLinks::drain_bulk() {
  const TimePoint limit = std::chrono::steady_clock::now() + kShutdownTimeout;
  const auto is_busy = [](const Peer& peer) {
    if (!peer.bulk.is_enabled()) return false;
    const bool has_requests = !peer.fetches.empty() || peer.bulk.has_unconfirmed_sends();
    return (has_requests && !peer.link->close_reason()) || peer.bulk.has_sends() ||
           peer.bulk.has_receives();
  };
  while (std::any_of(peers_.begin(), peers_.end(), is_busy)) {
    if (std::chrono::steady_clock::now() > limit) break;
    poll();
    std::this_thread::sleep_for(kBulkPollInterval);
  }
}

/// Fails the requests sent to the peer, and closes the sessions that it opened.
void NodeLinks::disconnect(Peer& peer) {
  ::epoll_ctl(events_.get(), EPOLL_CTL_DEL, peer.link->descriptor(), nullptr);
  const Error why =
      peer.link->close_reason() ? *peer.link->close_reason() : not_connected_error(peer.node);
  // Releases views that wait to be sent, and shows the other node that no replies follow.
  peer.link->close(why);
  peer.bulk.abandon();
  while (!peer.fetches.empty())
    complete_fetch(peer, peer.fetches.begin()->first, failure(why));
  while (!peer.served.empty())
    handle_close(peer, peer.served.begin()->first);
}

void NodeLinks::poll() {
  progress_bulk();
  std::array<epoll_event, kLinkEventsMax> events{};
  const int count = ::epoll_wait(events_.get(), events.data(), kLinkEventsMax, 0);
  for (int i = 0; i < count; ++i) {
    const epoll_event& event = events.at(static_cast<std::size_t>(i));
    if (event.data.u64 == kLoopKey) {
      loop_.poll();
      continue;
    }
    Peer& peer = peers_[event.data.u64];
    const auto processed = peer.link->process_events(checked_cast<short>(event.events), *this);
    if (processed) {
      update_interest(peer);
    } else {
      disconnect(peer);
    }
  }
}

/// Peers may have views pending, also of sessions that they have closed. This agent no longer reads
/// for such views, and they must not complete after `loop_` is destroyed. So all sessions that
/// serve peers are closed, even if ranks of this node still use them. The other node receives an
/// Error, and neither side waits for the other.
void NodeLinks::shutdown() {
  is_draining_ = true;
  for (Peer& peer : peers_) {
    for (auto& [number, session] : peer.served) {
      if (session) session->close();
    }
  }
  for (const auto& [key, session] : pending_views_)
    session.close();
  loop_.poll();  // views that failed
  drain_bulk();
  is_shut_down_ = true;
  for (Peer& peer : peers_)
    disconnect(peer);
  // Remaining: views whose bytes a peer was to send, and private copies that threads of another
  // agent are reading. They end, because that agent is stopped after this one.
  loop_.poll();
  while (!pending_views_.empty())
    loop_.wait();
}

}  // namespace forebay::read
