// SPDX-License-Identifier: Apache-2.0
// Messages between any two ranks, without MPI: what an agent sleeps on while all others may have
// something to say to it. connect_agents() connects all with all, which suits one agent for each
// node; a post office connects two ranks when one of them first has something for the other, so
// that thousands of ranks of which each talks to a few need few descriptors.
#pragma once

#include <forebay/error.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/clock.hpp"
#include "comm/communicator.hpp"
#include "comm/link.hpp"
#include "comm/links.hpp"
#include "comm/nodes.hpp"

namespace forebay::comm {

/// The owner of a post office, as what arrives sees it. Called from within attend() alone. May
/// send() and close(); must not call attend() or destroy the office.
class PostReceiver {
 public:
  virtual ~PostReceiver() = default;

  /// A message with a payload has begun: returns the memory of header.payload_bytes that it goes
  /// to, which must stay until received(), or until lost(); or nothing, if it is to be dropped.
  /// Parts of several peers' messages arrive by turns, so each needs memory of its own. An Error
  /// ends all there is to `from`, as close() does.
  virtual Result<std::span<std::byte>> place(Rank from, const LinkHeader& header) = 0;

  /// A message is there. `payload` is the memory that place() gave; empty if there is no payload or
  /// it was dropped. An Error ends all there is to `from`, as close() does.
  virtual Status received(Rank from,
                          const LinkHeader& header,
                          std::span<const std::byte> payload) = 0;

  /// At most once for each peer: nothing more comes from it, nothing more reaches it, and what was
  /// queued for it has been told `why`, which names its rank. The reason is the peer's (it has
  /// closed, has died, cannot be reached, sends what makes no sense), or what place(), received()
  /// or close() gave.
  virtual void lost(Rank peer, const Error& why) = 0;
};

class Switchboard;
struct Whereabouts;

/// The connections of one rank to those it talks with. One thread at a time uses it. Nothing but
/// open() blocks.
///
/// A peer that nobody has talked with may come and go unseen. One that was talked with is lost when
/// it closes its office, dies or falls silent (see SocketOptions). What had arrived from it before
/// is received first, as a rule all that it sent; who must be sure says goodbye, and closes when
/// all have.
class PostOffice {
 public:
  /// Collective: makes a listener on each rank and sends all ranks its addresses, and the key of
  /// this job by which both ends of each connection are authenticated (see connect_agents()). No
  /// connection is made yet. `ranks` is not used afterwards. The options should be the same on all
  /// ranks; `connect_ms_max` is for each connection. Where one rank fails, all get its Error.
  static Result<std::unique_ptr<PostOffice>> open(Communicator& ranks, const LinkOptions& options);

  PostOffice(const PostOffice&) = delete;
  PostOffice& operator=(const PostOffice&) = delete;
  /// Drops what is queued, and what was to be told, without telling it. What the kernel has taken
  /// still arrives, as a rule.
  ~PostOffice();

  Rank rank() const noexcept { return me_; }
  std::uint32_t size() const noexcept { return size_; }

  /// Queues a message. The first one to a peer that has not called connects: attend() drives that,
  /// and if it takes longer than `connect_ms_max` the peer is lost(). One to the own rank is
  /// delivered by the next attend(). Messages to one peer arrive in the order in which they were
  /// sent.
  ///
  /// `payload` stays until `on_sent` was called, which is exactly once (success when the kernel has
  /// all of it, or the own receiver; or why the peer was lost), maybe from within. `on_sent` may
  /// send() and close(). `header.payload_bytes` is set here. Fails, and tells `on_sent` so, if the
  /// peer is lost, the payload too long, or there is no such rank.
  Status send(Rank to,
              LinkHeader header,
              std::span<const std::byte> payload,
              Link::OnSent on_sent = {});
  /// The same for a payload that the office keeps until it is sent.
  Status send(Rank to, LinkHeader header, Bytes payload);
  /// The same for a header alone.
  Status send(Rank to, LinkHeader header) { return send(to, header, std::span<const std::byte>()); }

  /// Readable when attend() has something to do. An epoll descriptor: watch it for reading only.
  int descriptor() const noexcept { return events_.get(); }

  /// When attend() must be called at the latest though the descriptor is silent (time-outs of
  /// connections); no value: never. Changes in send() and attend() only.
  std::optional<TimePoint> due() const noexcept;

  /// Does what can be done without blocking: connects, sends, receives, hands over. A few MiB for
  /// each peer and call, so that all get their turn; the descriptor stays readable while there is
  /// more. Call it often: a peer that waits for this rank longer than its `connect_ms_max`, or
  /// `silence_ms_max`, counts this rank as lost.
  void attend(PostReceiver& receiver);

  /// Header and payload bytes that the kernel, or the own receiver, has not taken yet.
  std::uint64_t queued_bytes() const noexcept;

  /// Ends all there is to `peer` from this side, for good. Nothing more is received from it; the
  /// next attend() tells what is queued for it `why`, and lost(). The peer loses this rank then, if
  /// it was connected, and cannot call it any more. Does nothing if the peer is lost already.
  void close(Rank peer, Error why);

 private:
  struct Peer;
  struct Letter;
  class Clerk;

  PostOffice(Communicator& ranks, const LinkOptions& options);
  Status furnish(Whereabouts whereabouts, std::vector<Listener> listeners);

  Peer& peer_at(Rank rank);
  Status check(Rank to, std::size_t payload_bytes) const;
  Status post(Peer& peer, Link& link, Letter letter);
  void call(Rank peer);
  void deliver_own(PostReceiver& receiver);
  Status hand_over(const Letter& letter, PostReceiver& receiver);
  void attend_events(PostReceiver& receiver);
  void attend_calls();
  void connected(Peer& peer, std::size_t side, Descriptor socket);
  void attend_link(std::uint64_t key, short events, PostReceiver& receiver);
  void follow_interest(Peer& peer, const Link& link);
  void end(Peer& peer, Error why);
  void look_at(Peer& peer);
  void settle(Peer& peer, PostReceiver& receiver);
  void lose(Peer& peer, const Error& why, PostReceiver& receiver);
  void ring();
  void silence_bell();

  const Rank me_;
  const std::uint32_t size_;
  const LinkOptions options_;
  const Nodes nodes_;
  std::unique_ptr<const Whereabouts> whereabouts_;
  std::unique_ptr<Switchboard> switchboard_;
  Descriptor events_;  ///< epoll: the bell, the switchboard, the links
  Descriptor bell_;    ///< rung for what attend() is to do without an event
  bool is_rung_ = false;
  bool is_attending_ = false;
  std::unordered_map<std::uint32_t, std::unique_ptr<Peer>> peers_;  ///< by rank; never shrinks
  std::vector<Peer*> to_settle_;                                    ///< something has ended there
  std::vector<Peer*> fading_;  ///< one of two connections has ended, the other is read to its end
};

}  // namespace forebay::comm
