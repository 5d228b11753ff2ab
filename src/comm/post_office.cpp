// SPDX-License-Identifier: Apache-2.0
// The first connection with a peer, whoever made it, carries all that this rank sends to it; a
// second one, of two ranks that called each other at the same moment, is read only. What ends is
// looked at once at the end of attend(), when nobody is inside a link any more.
#include "comm/post_office.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

#include "base/assert.hpp"
#include "base/checked_cast.hpp"
#include "comm/switchboard.hpp"
#include "comm/whereabouts.hpp"

namespace forebay::comm {

namespace {

constexpr int kEventsMax = 64;                               ///< in one call of attend()
constexpr std::size_t kOwnBytesMax = std::size_t{4} << 20U;  ///< the same, to the own rank
constexpr std::size_t kSides = 2;                            ///< called by us, by the peer

constexpr std::uint64_t kBellKey = 0;
constexpr std::uint64_t kSwitchboardKey = 1;
constexpr std::uint64_t kFirstLinkKey = 2;

/// A peer has at most two links in its life, so no key is ever used again.
std::uint64_t link_key(Rank peer, std::size_t side) {
  return kFirstLinkKey + std::uint64_t{kSides} * peer.number + side;
}

bool watch(const Descriptor& set, int descriptor, short events, std::uint64_t key) {
  epoll_event event{.events = static_cast<std::uint32_t>(events), .data = {.u64 = key}};
  return ::epoll_ctl(set.get(), EPOLL_CTL_ADD, descriptor, &event) == 0;
}

Status status_of(const Error& error) { return failure(error); }

tl::unexpected<Error> cannot_open(int error_number) {
  return failure(system_error({.operation = "open a post office"}, error_number));
}

struct OfficePreparation {
  std::vector<Listener> listeners;
  JobKey key = {};  ///< of rank 0
};

Status prepare(const Communicator& ranks, const LinkOptions& options, OfficePreparation& mine) {
  if (ranks.size() == 1) return {};
  if (ranks.rank() == Rank{0}) {
    const Result<JobKey> key = draw_job_key();
    if (!key) return failure(key.error());
    mine.key = *key;
  }
  Result<std::vector<Listener>> listeners =
      listen_on(options.network, options.socket, ranks.nodes());
  if (!listeners) return failure(listeners.error());
  mine.listeners = std::move(*listeners);
  return {};
}

}  // namespace

struct PostOffice::Letter {
  LinkHeader header;
  std::span<const std::byte> payload;
  Link::OnSent on_sent;

  std::uint64_t bytes() const noexcept { return sizeof header + payload.size(); }
  void tell(const Status& outcome) const {
    if (on_sent) on_sent(outcome);
  }
};

struct PostOffice::Peer {
  Rank rank;
  std::array<std::unique_ptr<Link>, kSides> links = {};  ///< until lost, ended or not
  std::array<short, kSides> interest = {};
  Link* sender = nullptr;             ///< carries what is sent, once the letters have left
  const Link* receives_by = nullptr;  ///< the only one that messages come by
  std::deque<Letter> letters = {};    ///< wait for a connection, or for the own receiver
  std::uint64_t letter_bytes = 0;
  bool is_called = false;
  bool is_to_settle = false;
  std::optional<Error> verdict = {};       ///< it is to be lost for this reason
  std::optional<TimePoint> fades_at = {};  ///< one connection has ended; then it is lost
  std::optional<Error> end = {};           ///< it is lost

  const std::optional<Error>& why_not() const noexcept { return end ? end : verdict; }
  void put(Letter letter) {
    letter_bytes += letter.bytes();
    letters.push_back(std::move(letter));
  }
  Letter take() {
    Letter letter = std::move(letters.front());
    letters.pop_front();
    letter_bytes -= letter.bytes();
    return letter;
  }
};

/// The owner, as a link of one peer sees it.
class PostOffice::Clerk final : public LinkReceiver {
 public:
  Clerk(Peer& peer, PostReceiver& receiver) : peer_(peer), receiver_(receiver) {}

  Result<std::span<std::byte>> place(Link& link, const LinkHeader& header) override {
    if (Status good = check(link, header); !good) return failure(good.error());
    Result<std::span<std::byte>> place = receiver_.place(peer_.rank, header);
    if (!place) refusal_ = place.error();
    return place;
  }
  Status received(Link& link,
                  const LinkHeader& header,
                  std::span<const std::byte> payload) override {
    if (Status good = check(link, header); !good) return good;
    Status good = receiver_.received(peer_.rank, header, payload);
    if (!good) refusal_ = good.error();
    return good;
  }
  const std::optional<Error>& refusal() const noexcept { return refusal_; }

 private:
  /// A rank sends by one connection. The receiver has one place for messages of each peer, which
  /// two that arrive at once would share.
  Status check(const Link& link, const LinkHeader& header) {
    if (peer_.verdict) return failure(*peer_.verdict);
    if (peer_.receives_by == nullptr) peer_.receives_by = &link;
    if (peer_.receives_by == &link) return {};
    refusal_ = Error({.kind = ErrorClass::kDamage,
                      .operation = "receive from another rank",
                      .cause = "it sent a message of kind " + std::to_string(header.kind) +
                               " by a second connection"});
    return failure(*refusal_);
  }

  Peer& peer_;
  PostReceiver& receiver_;
  std::optional<Error> refusal_;
};

Result<std::unique_ptr<PostOffice>> PostOffice::open(Communicator& ranks,
                                                     const LinkOptions& options) {
  OfficePreparation mine;
  if (Status all = ranks.agree(prepare(ranks, options, mine)); !all) {
    return failure(all.error());
  }
  std::unique_ptr<PostOffice> office(new PostOffice(ranks, options));
  auto whereabouts = exchange_whereabouts(ranks, mine.listeners, mine.key);
  const Status furnished = whereabouts
                               ? office->furnish(std::move(*whereabouts), std::move(mine.listeners))
                               : status_of(whereabouts.error());
  if (Status all = ranks.agree(furnished); !all) return failure(all.error());
  return office;
}

PostOffice::PostOffice(Communicator& ranks, const LinkOptions& options)
    : me_(ranks.rank()), size_(ranks.size()), options_(options), nodes_(ranks.nodes()) {}

PostOffice::~PostOffice() = default;

Status PostOffice::furnish(Whereabouts whereabouts, std::vector<Listener> listeners) {
  Switchboard::Setup setup{.me = me_,
                           .ranks = size_,
                           .key = whereabouts.key,
                           .listeners = std::move(listeners),
                           .socket = options_.socket,
                           .limit_ms = options_.connect_ms_max};
  whereabouts_ = std::make_unique<const Whereabouts>(std::move(whereabouts));
  auto switchboard = Switchboard::make(std::move(setup));
  if (!switchboard) return failure(switchboard.error());
  switchboard_ = std::move(*switchboard);
  events_ = Descriptor(::epoll_create1(EPOLL_CLOEXEC));
  if (!events_) return cannot_open(errno);
  bell_ = Descriptor(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  const bool is_watched = bell_ && watch(events_, bell_.get(), POLLIN, kBellKey) &&
                          watch(events_, switchboard_->descriptor(), POLLIN, kSwitchboardKey);
  if (!is_watched) return cannot_open(errno);
  return {};
}

PostOffice::Peer& PostOffice::peer_at(Rank rank) {
  std::unique_ptr<Peer>& peer = peers_[rank.number];
  if (!peer) peer = std::make_unique<Peer>(Peer{.rank = rank});
  return *peer;
}

Status PostOffice::check(Rank to, std::size_t payload_bytes) const {
  if (to.number >= size_) {
    return failure({.kind = ErrorClass::kInvalidArgument,
                    .operation = "send to rank " + std::to_string(to.number),
                    .cause = "there are " + std::to_string(size_) + " ranks"});
  }
  const auto found = peers_.find(to.number);
  if (found != peers_.end() && found->second->why_not())
    return status_of(*found->second->why_not());
  return check_payload(payload_bytes, options_.limits, to);
}

Status PostOffice::send(Rank to,
                        LinkHeader header,
                        std::span<const std::byte> payload,
                        Link::OnSent on_sent) {
  if (Status good = check(to, payload.size()); !good) {
    if (on_sent) on_sent(good);
    return good;
  }
  header.payload_bytes = checked_cast<std::uint32_t>(payload.size());
  Letter letter{header, payload, std::move(on_sent)};
  Peer& peer = peer_at(to);
  if (peer.sender != nullptr) return post(peer, *peer.sender, std::move(letter));
  peer.put(std::move(letter));
  if (to == me_) {
    ring();
  } else if (!peer.is_called) {
    peer.is_called = true;
    call(to);
  }
  return {};
}

Status PostOffice::send(Rank to, LinkHeader header, Bytes payload) {
  const auto kept = std::make_shared<const Bytes>(std::move(payload));
  return send(to, header, *kept, [kept](const Status&) {});
}

Status PostOffice::post(Peer& peer, Link& link, Letter letter) {
  Status sent = link.send(letter.header, letter.payload, std::move(letter.on_sent));
  if (link.end()) {
    look_at(peer);
  } else {
    follow_interest(peer, link);
  }
  return sent;
}

/// A rank of this host is nearest by loopback, which comes last among its addresses.
void PostOffice::call(Rank peer) {
  std::vector<Address> addresses = whereabouts_->addresses_of(peer);
  if (nodes_.node_of(peer) == nodes_.node_of(me_)) {
    std::ranges::rotate(addresses, std::ranges::find_if(addresses, is_loopback));
  }
  switchboard_->call(peer, std::move(addresses));
  if (switchboard_->due() == kDoNotBlock) ring();
}

std::optional<TimePoint> PostOffice::due() const noexcept {
  std::optional<TimePoint> first = switchboard_->due();
  for (const Peer* peer : fading_)
    first = first ? std::min(*first, *peer->fades_at) : *peer->fades_at;
  return first;
}

std::uint64_t PostOffice::queued_bytes() const noexcept {
  std::uint64_t bytes = 0;
  for (const auto& [rank, peer] : peers_) {
    bytes += peer->letter_bytes;
    for (const auto& link : peer->links)
      bytes += link ? link->queued_bytes() : 0;
  }
  return bytes;
}

void PostOffice::close(Rank peer, Error why) {
  FOREBAY_ASSERT(peer.number < size_);
  end(peer_at(peer), std::move(why));
}

void PostOffice::attend(PostReceiver& receiver) {
  FOREBAY_ASSERT(!is_attending_);
  is_attending_ = true;
  silence_bell();
  deliver_own(receiver);
  attend_events(receiver);
  const TimePoint now = SteadyClock::shared().now();
  for (Peer* peer : fading_) {
    if (*peer->fades_at <= now) look_at(*peer);
  }
  while (!to_settle_.empty()) {
    for (Peer* peer : std::exchange(to_settle_, {})) {
      peer->is_to_settle = false;
      settle(*peer, receiver);
    }
  }
  is_attending_ = false;
}

void PostOffice::attend_events(PostReceiver& receiver) {
  std::array<epoll_event, kEventsMax> events{};
  const int count = ::epoll_wait(events_.get(), events.data(), kEventsMax, 0);
  const std::optional<TimePoint> due = switchboard_->due();
  bool has_calls = due && *due <= SteadyClock::shared().now();
  for (int i = 0; i < count; ++i) {
    const epoll_event& event = events.at(static_cast<std::size_t>(i));
    const std::uint64_t key = event.data.u64;
    has_calls = has_calls || key == kSwitchboardKey;
    if (key >= kFirstLinkKey) attend_link(key, checked_cast<short>(event.events), receiver);
  }
  if (has_calls) attend_calls();
}

void PostOffice::deliver_own(PostReceiver& receiver) {
  const auto found = peers_.find(me_.number);
  if (found == peers_.end()) return;
  Peer& self = *found->second;
  std::size_t count = self.letters.size();  // what is sent meanwhile waits for the next turn
  std::uint64_t bytes = 0;
  while (count > 0 && bytes < kOwnBytesMax && !self.why_not()) {
    const Letter letter = self.take();
    bytes += letter.bytes();
    --count;
    if (const Status good = hand_over(letter, receiver); !good) end(self, good.error());
  }
  if (!self.letters.empty()) ring();
}

/// To the own rank.
Status PostOffice::hand_over(const Letter& letter, PostReceiver& receiver) {
  std::span<std::byte> place;
  if (!letter.payload.empty()) {
    const Result<std::span<std::byte>> found = receiver.place(me_, letter.header);
    if (!found) {
      letter.tell(status_of(found.error()));
      return status_of(found.error());
    }
    FOREBAY_ASSERT(found->empty() || found->size() == letter.payload.size());
    place = *found;
  }
  if (!place.empty()) std::memcpy(place.data(), letter.payload.data(), place.size());
  letter.tell(Status());
  return receiver.received(me_, letter.header, place);
}

void PostOffice::attend_calls() {
  for (Switchboard::Outcome& outcome : switchboard_->attend()) {
    Peer& peer = peer_at(outcome.peer);
    const std::size_t side = outcome.made_by == CallMadeBy::kUs ? 0 : 1;
    if (outcome.socket) {
      connected(peer, side, std::move(*outcome.socket));
    } else if (peer.sender == nullptr) {
      end(peer, outcome.socket.error());
    }
  }
}

/// One who is lost already, and calls, finds the connection closed.
void PostOffice::connected(Peer& peer, std::size_t side, Descriptor socket) {
  if (peer.why_not() || peer.links.at(side)) return;
  if (!watch(events_, socket.get(), POLLIN, link_key(peer.rank, side))) {
    return end(peer, system_error({.operation = "listen to another rank"}, errno));
  }
  peer.interest.at(side) = POLLIN;
  peer.links.at(side) = std::make_unique<Link>(peer.rank, std::move(socket), options_.limits);
  if (peer.sender != nullptr) return;
  peer.is_called = true;  // and need not be
  switchboard_->give_up(peer.rank);
  Link& link = *peer.links.at(side);
  // What is sent from within on_sent queues up behind the others.
  while (!peer.letters.empty())
    std::ignore = post(peer, link, peer.take());  // who sent it is told
  peer.sender = &link;
}

void PostOffice::attend_link(std::uint64_t key, short events, PostReceiver& receiver) {
  const Rank rank{checked_cast<std::uint32_t>((key - kFirstLinkKey) / kSides)};
  Peer& peer = peer_at(rank);
  Link* const link = peer.links.at((key - kFirstLinkKey) % kSides).get();
  if (link == nullptr || link->end() || peer.why_not()) return;
  Clerk clerk(peer, receiver);
  const auto incoming = static_cast<short>(events & ~POLLOUT);
  // First what has come: if the peer has left, the attempt to write ends the link.
  if (incoming != 0) std::ignore = link->attend(incoming, clerk);
  if (!link->end() && (events & POLLOUT) != 0) std::ignore = link->attend(POLLOUT, clerk);
  if (clerk.refusal()) return end(peer, *clerk.refusal());
  if (link->end()) return look_at(peer);
  follow_interest(peer, *link);
}

void PostOffice::follow_interest(Peer& peer, const Link& link) {
  const std::size_t side = &link == peer.links[0].get() ? 0 : 1;
  const short interest = link.interest();
  if (std::exchange(peer.interest.at(side), interest) == interest) return;
  epoll_event event{.events = static_cast<std::uint32_t>(interest),
                    .data = {.u64 = link_key(peer.rank, side)}};
  ::epoll_ctl(events_.get(), EPOLL_CTL_MOD, link.descriptor(), &event);
}

void PostOffice::end(Peer& peer, Error why) {
  if (peer.why_not()) return;
  peer.verdict = on_rank(why, peer.rank.number);
  look_at(peer);
}

void PostOffice::look_at(Peer& peer) {
  if (std::exchange(peer.is_to_settle, true)) return;
  to_settle_.push_back(&peer);
  if (!is_attending_) ring();
}

/// A peer that closes its office closes both connections; the other may hold what it sent last, so
/// it is read until it ends as well.
void PostOffice::settle(Peer& peer, PostReceiver& receiver) {
  if (peer.end) return;
  if (peer.verdict) return lose(peer, *peer.verdict, receiver);
  const Link* ended = nullptr;
  bool is_one_alive = false;
  for (const auto& link : peer.links) {
    if (!link) continue;
    is_one_alive = is_one_alive || !link->end();
    if (!link->end()) continue;
    ended = link.get();
    ::epoll_ctl(events_.get(), EPOLL_CTL_DEL, link->descriptor(), nullptr);
  }
  if (ended == nullptr) return;
  const TimePoint now = SteadyClock::shared().now();
  const bool is_over = peer.fades_at && *peer.fades_at <= now;
  const bool has_left = ended->end()->kind() == ErrorClass::kClosed;
  if (!is_one_alive || is_over || !has_left) return lose(peer, *ended->end(), receiver);
  if (peer.fades_at) return;
  peer.fades_at = now + options_.socket.silence_ms_max;
  fading_.push_back(&peer);
}

void PostOffice::lose(Peer& peer, const Error& why, PostReceiver& receiver) {
  // `why` may be one of these: they go when all has been told.
  const auto links = std::exchange(peer.links, {});
  peer.end = why;
  peer.sender = nullptr;
  std::erase(fading_, &peer);
  switchboard_->give_up(peer.rank);
  for (const std::unique_ptr<Link>& link : links)
    if (link) link->close(why);
  peer.letter_bytes = 0;
  for (const Letter& letter : std::exchange(peer.letters, {}))
    letter.tell(status_of(why));
  receiver.lost(peer.rank, why);
}

void PostOffice::ring() {
  if (std::exchange(is_rung_, true)) return;
  const std::uint64_t one = 1;
  std::ignore = ::write(bell_.get(), &one, sizeof one);
}

void PostOffice::silence_bell() {
  if (!std::exchange(is_rung_, false)) return;
  std::uint64_t count = 0;
  std::ignore = ::read(bell_.get(), &count, sizeof count);
}

}  // namespace forebay::comm
