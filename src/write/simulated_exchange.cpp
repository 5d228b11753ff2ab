// SPDX-License-Identifier: Apache-2.0
// Moves pieces of one unit from rank to rank, in the order in which they are ready. A transfer
// begins when the links of both nodes are free; a copy begins when the receiving rank is free.
#include "write/simulated_exchange.hpp"

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

/// Time for `bytes` at this rate; 0 MB/s: no limit. 1 MB/s is one byte in a microsecond.
Time time_at(std::uint64_t bytes, double mb_per_s) {
  if (mb_per_s == 0) return {};
  return Time(std::llround(static_cast<double>(bytes) * kNsPerUs / mb_per_s));
}

/// Bytes that a rank has from time `at` on.
struct Piece {
  Time at = {};
  std::uint64_t order = 0;
  RankNumber rank = 0;
  std::uint64_t bytes = 0;

  bool operator>(const Piece& other) const {
    return at != other.at ? at > other.at : order > other.order;
  }
};

class ExchangeSimulator {
 public:
  ExchangeSimulator(const WriteFacts& facts, const WritePlan& plan)
      : facts_(facts), plan_(plan), aggregation_(facts.rank_layout, plan) {
    for (std::uint32_t i = 0; i < aggregation_.writer_count(); ++i)
      numbers_[aggregation_.writers()[i]] = i;
    for (RankNumber rank = 0; rank < facts.rank_layout.compute_rank_count(); ++rank)
      split(rank);
  }

  std::vector<Arrival> run() {
    while (!pieces_.empty()) {
      const Piece piece = pieces_.top();
      pieces_.pop();
      const auto next = aggregation_.next_hop(piece.rank);
      if (next) {
        forward(piece, *next);
      } else {
        arrivals_.push_back({piece.at, numbers_.at(piece.rank), piece.bytes});
      }
    }
    if (plan_.tuning.exchange == Exchange::kGather) delay_until_last();
    std::ranges::sort(arrivals_, {},
                      [](const Arrival& one) { return std::tuple{one.at, one.writer, one.bytes}; });
    return std::move(arrivals_);
  }

 private:
  void split(RankNumber rank) {
    for (std::uint64_t left = facts_.bytes_of(rank); left > 0;) {
      const std::uint64_t bytes = std::min(left, plan_.tuning.unit_bytes);
      pieces_.push({.order = ++piece_count_, .rank = rank, .bytes = bytes});
      left -= bytes;
    }
  }
  bool is_shared_memory(RankNumber from, RankNumber to) const {
    return plan_.tuning.exchange == Exchange::kSharedMemory &&
           facts_.rank_layout.node_of(from) == facts_.rank_layout.node_of(to);
  }
  void forward(const Piece& piece, RankNumber next) {
    Time at = piece.at;
    if (!is_shared_memory(piece.rank, next)) {
      at = arrival_over_link(piece, next);
      Time& copied = copy_free_at_[next];
      copied = std::max(at, copied) + time_at(piece.bytes, kCopyMbPerS);
      at = copied;
    }
    pieces_.push({at, ++piece_count_, next, piece.bytes});
  }
  /// Time at which the piece is on the node of `next`.
  Time arrival_over_link(const Piece& piece, RankNumber next) {
    const std::uint32_t here = facts_.rank_layout.node_of(piece.rank);
    const std::uint32_t there = facts_.rank_layout.node_of(next);
    if (here == there) return piece.at;
    const model::Clients& client = facts_.machine->client;
    const Time takes = time_at(piece.bytes, client.link_bandwidth_mb_per_s);
    Time& sent = send_free_at_[here];
    Time& got = receive_free_at_[there];
    sent = std::max(piece.at, sent) + takes;
    got = std::max(sent, got + takes);
    return got + Time(std::llround(client.link_latency_us * kNsPerUs));
  }
  /// With kGather, a writer writes nothing before it has all bytes of its group.
  void delay_until_last() {
    std::vector<Time> last(aggregation_.writer_count());
    for (const Arrival& one : arrivals_)
      last[one.writer] = std::max(last[one.writer], one.at);
    for (Arrival& one : arrivals_)
      one.at = last[one.writer];
  }

  const WriteFacts& facts_;
  const WritePlan& plan_;
  const AggregationMap aggregation_;
  std::map<RankNumber, std::uint32_t> numbers_;  ///< indexes of writers
  std::priority_queue<Piece, std::vector<Piece>, std::greater<>> pieces_;
  std::uint64_t piece_count_ = 0;
  std::map<std::uint32_t, Time>
      send_free_at_;  ///< when the link of a node is free again, by direction
  std::map<std::uint32_t, Time> receive_free_at_;
  std::map<RankNumber, Time> copy_free_at_;  ///< when a rank has copied all previous pieces
  std::vector<Arrival> arrivals_;
};

}  // namespace

std::vector<Arrival> simulate_arrivals(const WriteFacts& facts, const WritePlan& plan) {
  FOREBAY_ASSERT(facts.machine != nullptr);
  return ExchangeSimulator(facts, plan).run();
}

}  // namespace forebay::write
