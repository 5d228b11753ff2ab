// SPDX-License-Identifier: Apache-2.0
// Moves chunks of one unit from rank to rank, in the order in which they are ready. A transfer
// occupies the sending link as soon as that is free. It ends when the receiving link, which serves
// one transfer after the other, has taken it too. A copy begins when the receiving rank is free.
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
struct SimulatedChunk {
  Time at = {};
  std::uint64_t order = 0;
  RankNumber rank = 0;
  std::uint64_t bytes = 0;

  bool operator>(const SimulatedChunk& other) const {
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
    while (!chunks_.empty()) {
      const SimulatedChunk chunk = chunks_.top();
      chunks_.pop();
      const auto next = aggregation_.next_hop(chunk.rank);
      if (next) {
        forward(chunk, *next);
      } else {
        arrivals_.push_back({chunk.at, numbers_.at(chunk.rank), chunk.bytes});
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
      const std::uint64_t bytes = std::min(left, segment_bytes_of(plan_));
      chunks_.push({.order = ++next_order_, .rank = rank, .bytes = bytes});
      left -= bytes;
    }
  }
  bool is_shared_memory(RankNumber from, RankNumber to) const {
    return plan_.tuning.exchange == Exchange::kSharedMemory &&
           facts_.rank_layout.node_of(from) == facts_.rank_layout.node_of(to);
  }
  void forward(const SimulatedChunk& chunk, RankNumber next) {
    Time at = chunk.at;
    if (!is_shared_memory(chunk.rank, next)) {
      at = arrival_over_link(chunk, next);
      Time& copied = copy_free_at_[next];
      copied = std::max(at, copied) + time_at(chunk.bytes, facts_.machine->client.copy_mb_per_s);
      at = copied;
    }
    chunks_.push({at, ++next_order_, next, chunk.bytes});
  }
  /// Time at which the chunk is on the node of `next`.
  Time arrival_over_link(const SimulatedChunk& chunk, RankNumber next) {
    const std::uint32_t here = facts_.rank_layout.node_of(chunk.rank);
    const std::uint32_t there = facts_.rank_layout.node_of(next);
    if (here == there) return chunk.at;
    const model::Clients& client = facts_.machine->client;
    const Time takes = time_at(chunk.bytes, client.link_bandwidth_mb_per_s);
    Time& sent = send_free_at_[here];
    Time& got = receive_free_at_[there];
    sent = std::max(chunk.at, sent) + takes;
    got = std::max(sent, got + takes);
    return got + Time(std::llround(client.link_latency_us * kNsPerUs));
  }
  /// A model of kGather: a writer writes nothing before it has the bytes of all its ranks.
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
  std::priority_queue<SimulatedChunk, std::vector<SimulatedChunk>, std::greater<>> chunks_;
  std::uint64_t next_order_ = 0;
  std::map<std::uint32_t, Time>
      send_free_at_;  ///< when the link of a node is free again, by direction
  std::map<std::uint32_t, Time> receive_free_at_;
  std::map<RankNumber, Time> copy_free_at_;  ///< when a rank has copied all previous chunks
  std::vector<Arrival> arrivals_;
};

}  // namespace

std::vector<Arrival> simulate_arrivals(const WriteFacts& facts, const WritePlan& plan) {
  FOREBAY_ASSERT(facts.machine != nullptr);
  return ExchangeSimulator(facts, plan).run();
}

}  // namespace forebay::write
