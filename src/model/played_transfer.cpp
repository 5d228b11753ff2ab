// SPDX-License-Identifier: Apache-2.0
// Plays a transfer: asks for a file once, in a virtual time that begins at 0.
#include "model/played_transfer.hpp"

#include <algorithm>
#include <deque>
#include <optional>
#include <vector>

#include "base/assert.hpp"

namespace forebay::model {

namespace {

/// What is left of a file to ask for. In the order of the file it is one lane; by servers, one for
/// each of the layout, of which each has its share of what may be under way.
class Lanes {
 public:
  explicit Lanes(const TransferPlan& plan)
      : plan_(plan),
        lanes_(plan.order == AskingOrder::kByServer ? plan.layout.stripe_count : 1),
        under_way_max_(std::uint64_t{plan.agents} * plan.depth),
        each_max_((under_way_max_ + lanes_.size() - 1) / lanes_.size()) {
    for (std::size_t lane = 0; lane < lanes_.size(); ++lane)
      lanes_[lane].next_bytes = lane * plan.layout.stripe_bytes;
  }

  /// The first of the file that may be asked for now.
  std::optional<ByteRange> next() {
    if (under_way_ == under_way_max_) return std::nullopt;
    Lane* first = nullptr;
    for (Lane& lane : lanes_) {
      const bool may = lane.next_bytes < plan_.bytes && lane.under_way < each_max_;
      if (may && (first == nullptr || lane.next_bytes < first->next_bytes)) first = &lane;
    }
    if (first == nullptr) return std::nullopt;
    ++under_way_;
    ++first->under_way;
    return take(*first);
  }
  void end(std::uint64_t lane) {
    --under_way_;
    --lanes_[lane].under_way;
  }
  std::uint64_t lane_of(ByteRange range) const {
    return range.offset / plan_.layout.stripe_bytes % lanes_.size();
  }

 private:
  struct Lane {
    std::uint64_t next_bytes = 0;
    std::uint64_t under_way = 0;
  };

  ByteRange take(Lane& lane) {
    const std::uint64_t begin = lane.next_bytes;
    std::uint64_t end = std::min(begin + plan_.request_bytes, plan_.bytes);
    if (lanes_.size() > 1) {
      const std::uint64_t stripe = plan_.layout.stripe_bytes;
      end = std::min(end, (begin / stripe + 1) * stripe);
      const bool in_stripe = end % stripe != 0;
      lane.next_bytes = in_stripe ? end : end + (lanes_.size() - 1) * stripe;
    } else {
      lane.next_bytes = end;
    }
    return {begin, end - begin};
  }

  const TransferPlan& plan_;
  std::vector<Lane> lanes_;
  const std::uint64_t under_way_max_;
  const std::uint64_t each_max_;
  std::uint64_t under_way_ = 0;
};

class Player final : public Sink {
 public:
  Player(const Machine& machine, const TransferPlan& plan)
      : model_(machine), plan_(plan), lanes_(plan_) {}

  Time play() {
    ask(Time{});
    while (true) {
      const auto event = model_.next_event();
      const bool turn_first = !turns_.empty() && (!event || turns_.front().at <= *event);
      if (turn_first) {
        take_turn();
      } else if (event) {
        model_.advance(*event, *this);
      } else {
        return end_;
      }
    }
  }
  void on_finished(const Finished& one) override {
    end_ = one.finished;
    const auto pause = std::chrono::duration<double, std::micro>(plan_.turnaround_us);
    turns_.push_back({one.finished + std::chrono::duration_cast<Time>(pause), one.tag});
  }
  void on_lock_lost(const LockLost&) override {}

 private:
  /// Somebody has an answer in hand, and asks again.
  struct Turn {
    Time at = {};
    std::uint64_t lane = 0;
  };

  void take_turn() {
    const Turn turn = turns_.front();
    turns_.pop_front();
    lanes_.end(turn.lane);
    ask(turn.at);
  }
  void ask(Time now) {
    while (const auto range = lanes_.next()) {
      model_.submit(now, {.client = next_client_,
                          .kind = plan_.kind,
                          .range = *range,
                          .layout = plan_.layout,
                          .tag = lanes_.lane_of(*range)});
      next_client_ = (next_client_ + 1) % plan_.clients;
    }
  }

  StorageModel model_;
  const TransferPlan plan_;
  Lanes lanes_;
  std::deque<Turn> turns_;  // in the order of answers, which is that of their times
  ClientId next_client_ = 0;
  Time end_ = {};
};

}  // namespace

Time played_transfer_time(const Machine& machine, const TransferPlan& plan) {
  FOREBAY_ASSERT(is_on_bytes(plan.kind));
  FOREBAY_ASSERT(plan.request_bytes >= 1);
  FOREBAY_ASSERT(plan.clients >= 1);
  FOREBAY_ASSERT(plan.clients <= machine.client.count);
  return Player(machine, plan).play();
}

}  // namespace forebay::model
