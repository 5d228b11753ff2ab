// SPDX-License-Identifier: Apache-2.0
#include "read/node_links.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <mutex>
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
constexpr comm::Tag kBulkTag{1};
/// While bulk is under way: MPI has nothing to sleep on.
constexpr std::chrono::microseconds kBulkPoll{50};
/// At the end, for what has been announced or asked for.
constexpr std::chrono::seconds kEndPatience{5};

std::atomic<std::uint64_t> lost_sends_of_process{0};

Error not_connected(std::uint32_t node) {
  return Error({.kind = ErrorClass::kClosed,
                .operation = "read",
                .cause = "the agent of node " + std::to_string(node) + " is gone"});
}

}  // namespace

std::uint64_t lost_sends() noexcept { return lost_sends_of_process; }

/// The parts of one session.
class NodeLinks::Reader final : public RemoteReader {
 public:
  Reader(std::weak_ptr<NodeLinks> links,
         const OpenRequest& request,
         const SplinterOwners& owners,
         std::shared_ptr<Agent> agent)
      : links_(std::move(links)),
        handle_(request.handle),
        extent_(request.extent),
        owners_(owners),
        agent_(std::move(agent)) {}
  ~Reader() override {
    const auto links = links_.lock();
    if (!links) return;
    for (const std::uint32_t node : owners_.nodes()) {
      if (Peer* const peer = links->peer_at(node))
        links->send(*peer, header_of(LinkKind::kLeave, {handle_.number}), {});
    }
  }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  bool take(const std::shared_ptr<TransferSource>& source,
            const TransferSource::Transfer& transfer) override {
    const auto links = links_.lock();
    if (!links) return false;
    // What is read is rounded to what a device likes; the session is all that others know of.
    const ByteRange wanted = intersect({transfer.file_offset, transfer.memory.size()}, extent_);
    return links->fetch(owners_.of(wanted.offset).number, handle_,
                        {.source = source,
                         .transfer = transfer,
                         .agent = agent_,
                         .skipped_bytes = wanted.offset - transfer.file_offset,
                         .size_bytes = wanted.size});
  }

 private:
  const std::weak_ptr<NodeLinks> links_;  // which hold views of sessions, and those hold this
  const SessionHandle handle_;
  const ByteRange extent_;
  const SplinterOwners owners_;
  const std::shared_ptr<Agent> agent_;
};

Result<std::shared_ptr<NodeLinks>> NodeLinks::start(Setup setup) {
  std::shared_ptr<NodeLinks> made(new NodeLinks());
  made->bulk_ = std::move(setup.bulk);
  for (std::size_t i = 0; i < setup.links.size(); ++i) {
    made->peers_.emplace_back();
    made->peers_.back().link = std::move(setup.links[i]);
    made->peers_.back().node = setup.nodes[i];
  }
  if (auto watched = made->watch_all(); !watched) return failure(watched.error());
  return made;
}

NodeLinks::~NodeLinks() { FOREBAY_ASSERT(awaited_.empty()); }

Status NodeLinks::watch_all() {
  const auto failed = [] {
    return failure(system_error({.operation = "listen to the agents of other nodes"}, errno));
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

/// Null if it cannot be asked for anything.
NodeLinks::Peer* NodeLinks::peer_at(std::uint32_t node) {
  const auto found = std::find_if(peers_.begin(), peers_.end(),
                                  [&](const Peer& peer) { return peer.node == node; });
  return found == peers_.end() || found->link->end() || ended_ ? nullptr : &*found;
}

NodeLinks::Peer& NodeLinks::peer_of(const comm::Link& link) {
  return *std::find_if(peers_.begin(), peers_.end(),
                       [&](const Peer& peer) { return peer.link.get() == &link; });
}

void NodeLinks::follow_interest(Peer& peer) {
  if (peer.link->end()) return;
  const short interest = peer.link->interest();
  if (std::exchange(peer.interest, interest) == interest) return;
  epoll_event event{.events = static_cast<std::uint32_t>(interest),
                    .data = {.u64 = static_cast<std::uint64_t>(&peer - peers_.data())}};
  ::epoll_ctl(events_.get(), EPOLL_CTL_MOD, peer.link->descriptor(), &event);
}

/// A link that ends meanwhile tells so when it is attended to.
void NodeLinks::send(Peer& peer,
                     comm::LinkHeader header,
                     std::span<const std::byte> payload,
                     comm::Link::OnSent on_sent) {
  static_cast<void>(peer.link->send(header, payload, std::move(on_sent)));
  follow_interest(peer);
}

void NodeLinks::send_text(Peer& peer, comm::LinkHeader header, std::vector<std::byte> text) {
  const auto kept = std::make_shared<const std::vector<std::byte>>(std::move(text));
  send(peer, header, *kept, [kept](const Status&) {});
}

std::shared_ptr<RemoteReader> NodeLinks::reader(const OpenRequest& request,
                                                const SplinterOwners& owners,
                                                const std::shared_ptr<Agent>& agent) {
  OpenRequest for_others = request;
  for_others.access.reset();
  for (const std::uint32_t node : owners.nodes()) {
    if (Peer* const peer = peer_at(node))
      send_text(*peer, header_of(LinkKind::kOpen, {}), to_bytes(NodeMessage(for_others)));
  }
  return std::make_shared<Reader>(weak_from_this(), request, owners, agent);
}

bool NodeLinks::fetch(std::uint32_t node, const SessionHandle& session, Fetch fetch) {
  Peer* const peer = peer_at(node);
  if (peer == nullptr || ending_) return false;
  const std::uint64_t id = next_id_++;
  const std::uint64_t offset = fetch.transfer.file_offset + fetch.skipped_bytes;
  const auto header = header_of(LinkKind::kRequest, {id, session.number, offset, fetch.size_bytes});
  peer->fetches.emplace(id, std::move(fetch));
  send(*peer, header, {});
  return true;
}

void NodeLinks::finish(Peer& peer, std::uint64_t id, const Status& outcome) {
  const auto found = peer.fetches.find(id);
  Fetch fetch = std::move(found->second);
  peer.fetches.erase(found);
  fetch.transfer.by_other_node = true;
  const Result<std::uint64_t> bytes =
      outcome ? Result<std::uint64_t>(fetch.skipped_bytes + fetch.size_bytes)
              : Result<std::uint64_t>(tl::unexpect, outcome.error());
  fetch.source->finish(fetch.transfer, bytes);
  fetch.agent->serve(fetch.source);
}

/// The transfer that bytes or an Error arrive for.
Result<NodeLinks::Fetch*> NodeLinks::fetch_of(Peer& peer, LinkKind kind, std::uint64_t id) {
  const auto found = peer.fetches.find(id);
  if (found == peer.fetches.end())
    return failure(malformed(kind, "id", id, "must be that of a request without an answer"));
  if (found->second.is_announced)
    return failure(malformed(kind, "id", id, "its bytes were announced, and come by MPI"));
  return &found->second;
}

Result<std::span<std::byte>> NodeLinks::place(comm::Link& link, const comm::LinkHeader& header) {
  if (Status good = comm::check_header(header, kLinkRules); !good) return failure(good.error());
  Peer& peer = peer_of(link);
  if (header.kind != static_cast<std::uint32_t>(LinkKind::kData)) {
    peer.text.resize(header.payload_bytes);
    return std::span(peer.text);
  }
  const auto fetch = fetch_of(peer, LinkKind::kData, header.words[0]);
  if (!fetch) return failure(fetch.error());
  if ((*fetch)->size_bytes != header.payload_bytes)
    return failure(malformed(LinkKind::kData, "payload bytes", header.payload_bytes,
                             "must be as many as were requested"));
  return (*fetch)->transfer.memory.subspan((*fetch)->skipped_bytes, (*fetch)->size_bytes);
}

Status NodeLinks::received(comm::Link& link,
                           const comm::LinkHeader& header,
                           std::span<const std::byte> payload) {
  if (Status good = comm::check_header(header, kLinkRules); !good) return good;
  Peer& peer = peer_of(link);
  const auto& words = header.words;
  switch (static_cast<LinkKind>(header.kind)) {
    case LinkKind::kOpen:
      return open(peer, payload);
    case LinkKind::kRequest:
      return serve(peer, words[0], {.number = words[1]}, {words[2], words[3]});
    case LinkKind::kData:
      return receive_answer(peer, LinkKind::kData, words[0], {});
    case LinkKind::kFailed: {
      const auto why = comm::error_from(payload);
      if (!why) return failure(why.error());
      return receive_answer(peer, LinkKind::kFailed, words[0], failure(*why));
    }
    case LinkKind::kLeave:
      leave(peer, words[0]);
      return {};
    case LinkKind::kAnnounce:
      return receive_announced(peer, words[0]);
    case LinkKind::kSent:
      if (words[0] > peer.unconfirmed)
        return failure(malformed(LinkKind::kSent, "count", words[0], "fewer were announced"));
      peer.unconfirmed -= words[0];
      return {};
  }
  return {};
}

Status NodeLinks::receive_answer(Peer& peer,
                                 LinkKind kind,
                                 std::uint64_t id,
                                 const Status& outcome) {
  if (const auto fetch = fetch_of(peer, kind, id); !fetch) return failure(fetch.error());
  finish(peer, id, outcome);
  return {};
}

Status NodeLinks::open(Peer& peer, std::span<const std::byte> text) {
  auto message = message_from(text);
  if (!message) return failure(message.error());
  auto* const request = std::get_if<OpenRequest>(&*message);
  if (request == nullptr)
    return failure(malformed(LinkKind::kOpen, "payload kind", message->index(), "must be 1, open"));
  if (request->access)
    return failure(malformed(LinkKind::kOpen, "access",
                             static_cast<std::uint64_t>(*request->access),
                             "must be absent between nodes"));
  const std::uint64_t number = request->handle.number;
  if (ending_ || peer.served.contains(number)) return {};
  Served served = sessions_.open(std::move(*request)).map([](std::shared_ptr<SessionHost> host) {
    // A handle that closes nothing: the session ends when all have left.
    return HandleAccess::session(std::move(host), std::make_shared<int>());
  });
  peer.served.emplace(number, std::move(served));
  return {};
}

void NodeLinks::leave(Peer& peer, std::uint64_t number) {
  const auto found = peer.served.find(number);
  if (found == peer.served.end()) return;
  const bool was_open = found->second.has_value();
  peer.served.erase(found);
  if (was_open) sessions_.leave({.number = number});
}

void NodeLinks::refuse(Peer& peer, std::uint64_t id, const Error& why) {
  send_text(peer, header_of(LinkKind::kFailed, {id}), comm::to_bytes(why));
}

Status NodeLinks::serve(Peer& peer,
                        std::uint64_t id,
                        const SessionHandle& session,
                        ByteRange range) {
  if (range.empty()) return failure(malformed(LinkKind::kRequest, "size", 0, "must not be 0"));
  const auto found = peer.served.find(session.number);
  if (found == peer.served.end()) {
    refuse(peer, id, not_connected(peer.node));
    return {};
  }
  if (!found->second || ending_) {
    refuse(peer, id, ending_ ? not_connected(peer.node) : found->second.error());
    return {};
  }
  if (!found->second->extent().contains(range))
    return failure(
        malformed(LinkKind::kRequest, "offset", range.offset, "must begin a range of the session"));
  Future<View> view = found->second->view(range);
  if (view.poll()) {
    answer(peer.node, id, view.wait());
    return {};
  }
  await(std::move(view), *found->second, peer.node, id);
  return {};
}

void NodeLinks::await(Future<View> view,
                      const Session& session,
                      std::uint32_t node,
                      std::uint64_t id) {
  const std::uint64_t key = next_awaited_++;
  awaited_.emplace(key, session);
  std::move(view).then(loop_, [this, key, node, id](Result<View> result) {
    awaited_.erase(key);
    answer(node, id, std::move(result));
  });
}

void NodeLinks::answer(std::uint32_t node, std::uint64_t id, Result<View> view) {
  Peer* const peer = peer_at(node);
  if (peer == nullptr) return;
  if (!view) {
    refuse(*peer, id, view.error());
    return;
  }
  send_bytes(*peer, id, std::make_shared<View>(std::move(*view)));
}

void NodeLinks::send_bytes(Peer& peer, std::uint64_t id, const std::shared_ptr<View>& view) {
  if (!bulk_) {
    send(peer, header_of(LinkKind::kData, {id}), view->bytes(),
         [view](const Status&) { view->release(); });
    return;
  }
  peer.sending.push_back({bulk_->send(view->bytes(), peer.link->peer(), kBulkTag), view});
  send(peer, header_of(LinkKind::kAnnounce, {id}), {});
}

Status NodeLinks::receive_announced(Peer& peer, std::uint64_t id) {
  const auto fetch = fetch_of(peer, LinkKind::kAnnounce, id);
  if (!fetch) return failure(fetch.error());
  if (!bulk_)
    return failure(malformed(LinkKind::kAnnounce, "id", id, "bytes come by links in this job"));
  (*fetch)->is_announced = true;
  const auto memory =
      (*fetch)->transfer.memory.subspan((*fetch)->skipped_bytes, (*fetch)->size_bytes);
  peer.receiving.push_back({bulk_->receive(memory, peer.link->peer(), kBulkTag), id});
  ++peer.unconfirmed;
  return {};
}

bool NodeLinks::has_bulk_under_way() const {
  return std::any_of(peers_.begin(), peers_.end(), [](const Peer& peer) {
    return !peer.sending.empty() || !peer.receiving.empty() || peer.unconfirmed > 0;
  });
}

Deadline NodeLinks::due() const {
  if (!has_bulk_under_way()) return std::nullopt;
  return std::chrono::steady_clock::now() + kBulkPoll;
}

/// Messages of one pair of ranks arrive in order: the first one tells for those after it.
void NodeLinks::move_bulk() {
  for (Peer& peer : peers_) {
    if (const std::uint64_t sent = drop_sent(peer); sent > 0)
      send(peer, header_of(LinkKind::kSent, {sent}), {});
    while (!peer.receiving.empty()) {
      const auto came = peer.receiving.front().transfer.test();
      if (came && !*came) break;
      const std::uint64_t id = peer.receiving.front().id;
      peer.receiving.pop_front();
      finish(peer, id, came ? Status() : failure(came.error()));
    }
    // What has come may not have left: its sender waits for a word that MPI says inside its calls.
    if (peer.receiving.empty() && peer.unconfirmed > 0) bulk_->progress();
  }
}

/// Lets go of what has left; returns how many.
std::uint64_t NodeLinks::drop_sent(Peer& peer) {
  std::uint64_t count = 0;
  while (!peer.sending.empty()) {
    const auto sent = peer.sending.front().transfer.test();
    if (sent && !*sent) break;
    peer.sending.pop_front();
    ++count;
  }
  return count;
}

/// A send that nobody receives never ends: what others may have sent already is received, and what
/// was sent is waited for, as long as they live and not without end.
void NodeLinks::let_bulk_arrive() {
  if (!bulk_) return;
  const TimePoint limit = std::chrono::steady_clock::now() + kEndPatience;
  const auto awaits = [](const Peer& peer) {
    const bool is_asked = !peer.fetches.empty() || peer.unconfirmed > 0;
    return (is_asked && !peer.link->end()) || !peer.sending.empty() || !peer.receiving.empty();
  };
  while (std::any_of(peers_.begin(), peers_.end(), awaits)) {
    if (std::chrono::steady_clock::now() > limit) break;
    attend();
    std::this_thread::sleep_for(kBulkPoll);
  }
}

/// Ending a send that nobody receives would wait for ever: better to lose its memory.
void NodeLinks::lose_bulk(Peer& peer) {
  drop_sent(peer);
  if (peer.sending.empty()) return;
  // Reachable, so that nobody takes it for a mistake.
  static std::mutex mutex;
  static auto* const lost = new std::deque<std::deque<Sending>>;  // NOLINT
  const std::lock_guard lock(mutex);
  lost_sends_of_process += peer.sending.size();
  lost->push_back(std::exchange(peer.sending, {}));
}

/// What it was asked for is read by somebody else, and what it wanted is forgotten.
void NodeLinks::part(Peer& peer) {
  peer.receiving.clear();  // takes them back: their memory is not ours any more
  peer.unconfirmed = 0;
  ::epoll_ctl(events_.get(), EPOLL_CTL_DEL, peer.link->descriptor(), nullptr);
  const Error why = peer.link->end() ? *peer.link->end() : not_connected(peer.node);
  // Views that wait to be sent are let go of, and the other node learns that nobody answers.
  peer.link->close(why);
  lose_bulk(peer);
  while (!peer.fetches.empty())
    finish(peer, peer.fetches.begin()->first, failure(why));
  while (!peer.served.empty())
    leave(peer, peer.served.begin()->first);
}

void NodeLinks::attend() {
  move_bulk();
  std::array<epoll_event, kLinkEventsMax> events{};
  const int count = ::epoll_wait(events_.get(), events.data(), kLinkEventsMax, 0);
  for (int i = 0; i < count; ++i) {
    const epoll_event& event = events.at(static_cast<std::size_t>(i));
    if (event.data.u64 == kLoopKey) {
      loop_.poll();
      continue;
    }
    Peer& peer = peers_[event.data.u64];
    const auto attended = peer.link->attend(checked_cast<short>(event.events), *this);
    if (attended) {
      follow_interest(peer);
    } else {
      part(peer);
    }
  }
}

/// Our own ranks may have sessions open still, and others have left some of which a view is under
/// way. One that waited on would arrive at a loop that is gone, and this agent reads nothing for it
/// any more: the other node learns that, and may wait for us no more than we for it.
void NodeLinks::end() {
  ending_ = true;
  for (Peer& peer : peers_) {
    for (auto& [number, session] : peer.served) {
      if (session) session->close();
    }
  }
  for (const auto& [key, session] : awaited_)
    session.close();
  loop_.poll();  // views that came to nothing
  let_bulk_arrive();
  ended_ = true;
  for (Peer& peer : peers_)
    part(peer);
  // Those that waited for a peer in turn, and copies that threads of another agent are reading:
  // these end, as that agent is stopped after this one.
  loop_.poll();
  while (!awaited_.empty())
    loop_.wait();
}

}  // namespace forebay::read
