// SPDX-License-Identifier: Apache-2.0
// Pieces of one unit go from rank to rank, each hop as soon as the link and the rank that takes
// them are free, in the order in which they are ready to go.
#include "write/played_hand_over.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <queue>
#include <tuple>

#include "base/assert.hpp"
#include "write/cost.hpp"

namespace forebay::write {

namespace {

using model::Time;

constexpr double kNsPerUs = 1000;

/// 10^6 bytes a second are a byte in a microsecond; 0 is no limit.
Time time_at(std::uint64_t bytes, double mb_per_s) {
  if (mb_per_s == 0) return {};
  return Time(std::llround(static_cast<double>(bytes) * kNsPerUs / mb_per_s));
}

/// Some bytes that are at a rank.
struct Piece {
  Time at = {};
  std::uint64_t order = 0;
  Rank rank = 0;
  std::uint64_t bytes = 0;

  bool operator>(const Piece& other) const {
    return at != other.at ? at > other.at : order > other.order;
  }
};

class HandOverPlayer {
 public:
  HandOverPlayer(const WriteFacts& facts, const WritePlan& plan)
      : facts_(facts), plan_(plan), routes_(facts.crew, plan) {
    for (std::uint32_t i = 0; i < routes_.writer_count(); ++i)
      numbers_[routes_.writers()[i]] = i;
    for (Rank rank = 0; rank < facts.crew.computing(); ++rank)
      cut(rank);
  }

  std::vector<Arrival> play() {
    while (!pieces_.empty()) {
      const Piece piece = pieces_.top();
      pieces_.pop();
      const auto next = routes_.next_of(piece.rank);
      if (next) {
        pass_on(piece, *next);
      } else {
        arrivals_.push_back({piece.at, numbers_.at(piece.rank), piece.bytes});
      }
    }
    if (plan_.hand_off == HandOff::kGather) wait_for_all();
    std::ranges::sort(arrivals_, {},
                      [](const Arrival& one) { return std::tuple{one.at, one.writer, one.bytes}; });
    return std::move(arrivals_);
  }

 private:
  void cut(Rank rank) {
    for (std::uint64_t left = facts_.bytes_of(rank); left > 0;) {
      const std::uint64_t bytes = std::min(left, plan_.unit_bytes);
      pieces_.push({.order = ++pieces_noted_, .rank = rank, .bytes = bytes});
      left -= bytes;
    }
  }
  bool reads_where_it_is(Rank from, Rank to) const {
    return plan_.hand_off == HandOff::kSharedMemory &&
           facts_.crew.node_of(from) == facts_.crew.node_of(to);
  }
  void pass_on(const Piece& piece, Rank next) {
    Time at = piece.at;
    if (!reads_where_it_is(piece.rank, next)) {
      at = over_link(piece, next);
      Time& copied = copied_[next];
      copied = std::max(at, copied) + time_at(piece.bytes, kCopyMbPerS);
      at = copied;
    }
    pieces_.push({at, ++pieces_noted_, next, piece.bytes});
  }
  /// When it is on the node of `next`.
  Time over_link(const Piece& piece, Rank next) {
    const std::uint32_t here = facts_.crew.node_of(piece.rank);
    const std::uint32_t there = facts_.crew.node_of(next);
    if (here == there) return piece.at;
    const model::Clients& client = facts_.machine->client;
    const Time takes = time_at(piece.bytes, client.link_bandwidth_mb_per_s);
    Time& sent = sent_[here];
    Time& got = got_[there];
    sent = std::max(piece.at, sent) + takes;
    got = std::max(sent, got + takes);
    return got + Time(std::llround(client.link_latency_us * kNsPerUs));
  }
  /// Who gathers writes nothing before it has all.
  void wait_for_all() {
    std::vector<Time> last(routes_.writer_count());
    for (const Arrival& one : arrivals_)
      last[one.writer] = std::max(last[one.writer], one.at);
    for (Arrival& one : arrivals_)
      one.at = last[one.writer];
  }

  const WriteFacts& facts_;
  const WritePlan& plan_;
  const Routes routes_;
  std::map<Rank, std::uint32_t> numbers_;  ///< of writers
  std::priority_queue<Piece, std::vector<Piece>, std::greater<>> pieces_;
  std::uint64_t pieces_noted_ = 0;
  std::map<std::uint32_t, Time> sent_;  ///< when the link of a node is free again, by direction
  std::map<std::uint32_t, Time> got_;
  std::map<Rank, Time> copied_;  ///< when a rank has copied all that came before
  std::vector<Arrival> arrivals_;
};

}  // namespace

std::vector<Arrival> played_arrivals(const WriteFacts& facts, const WritePlan& plan) {
  FOREBAY_ASSERT(facts.machine != nullptr);
  return HandOverPlayer(facts, plan).play();
}

}  // namespace forebay::write
