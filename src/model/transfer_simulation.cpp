// SPDX-License-Identifier: Apache-2.0
// Simulates a transfer: requests each byte of a file once, in virtual time from 0.
#include "model/transfer_simulation.hpp"

#include <algorithm>
#include <deque>
#include <optional>
#include <vector>

#include "base/assert.hpp"

namespace forebay::model {

namespace {

/// The remaining requests of a file. In file order there is one cursor; by server, one for each
/// server of the layout, with its share of the requests in flight.
class RequestGenerator {
 public:
  explicit RequestGenerator(const TransferPlan& plan)
      : plan_(plan),
        cursors_(plan.order == RequestOrder::kByServer ? plan.layout.stripe_count : 1),
        in_flight_max_(std::uint64_t{plan.agents} * plan.depth),
        per_server_max_((in_flight_max_ + cursors_.size() - 1) / cursors_.size()) {
    for (std::size_t cursor = 0; cursor < cursors_.size(); ++cursor)
      cursors_[cursor].next_bytes = cursor * plan.layout.stripe_bytes;
  }

  /// The first range in the file that may be requested now; none at the limit.
  std::optional<ByteRange> next() {
    if (in_flight_ == in_flight_max_) return std::nullopt;
    ServerCursor* first = nullptr;
    for (ServerCursor& cursor : cursors_) {
      const bool may = cursor.next_bytes < plan_.bytes && cursor.in_flight < per_server_max_;
      if (may && (first == nullptr || cursor.next_bytes < first->next_bytes)) first = &cursor;
    }
    if (first == nullptr) return std::nullopt;
    ++in_flight_;
    ++first->in_flight;
    return take(*first);
  }
  void complete(std::uint64_t cursor) {
    --in_flight_;
    --cursors_[cursor].in_flight;
  }
  std::uint64_t cursor_of(ByteRange range) const {
    return range.offset / plan_.layout.stripe_bytes % cursors_.size();
  }

 private:
  struct ServerCursor {
    std::uint64_t next_bytes = 0;
    std::uint64_t in_flight = 0;
  };

  ByteRange take(ServerCursor& cursor) {
    const std::uint64_t begin = cursor.next_bytes;
    std::uint64_t end = std::min(begin + plan_.request_bytes, plan_.bytes);
    if (cursors_.size() > 1) {
      const std::uint64_t stripe = plan_.layout.stripe_bytes;
      end = std::min(end, (begin / stripe + 1) * stripe);
      const bool in_stripe = end % stripe != 0;
      cursor.next_bytes = in_stripe ? end : end + (cursors_.size() - 1) * stripe;
    } else {
      cursor.next_bytes = end;
    }
    return {begin, end - begin};
  }

  const TransferPlan& plan_;
  std::vector<ServerCursor> cursors_;
  const std::uint64_t in_flight_max_;
  const std::uint64_t per_server_max_;
  std::uint64_t in_flight_ = 0;
};

class TransferSimulation final : public ModelObserver {
 public:
  TransferSimulation(const Machine& machine, const TransferPlan& plan)
      : model_(machine), plan_(plan), cursors_(plan_) {}

  Time run() {
    submit_next(Time{});
    while (true) {
      const auto event = model_.next_event();
      const bool is_resubmission_first =
          !resubmissions_.empty() && (!event || resubmissions_.front().at <= *event);
      if (is_resubmission_first) {
        resubmit();
      } else if (event) {
        model_.advance(*event, *this);
      } else {
        return end_;
      }
    }
  }
  void on_complete(const RequestCompletion& one) override {
    end_ = one.finished;
    const auto pause = std::chrono::duration<double, std::micro>(plan_.think_time_us);
    resubmissions_.push_back({one.finished + std::chrono::duration_cast<Time>(pause), one.tag});
  }
  void on_lock_revoked(const LockRevoked&) override {}

 private:
  /// A client that has a completion sends the next request.
  struct Resubmission {
    Time at = {};
    std::uint64_t cursor = 0;
  };

  void resubmit() {
    const Resubmission resubmission = resubmissions_.front();
    resubmissions_.pop_front();
    cursors_.complete(resubmission.cursor);
    submit_next(resubmission.at);
  }
  void submit_next(Time now) {
    while (const auto range = cursors_.next()) {
      model_.submit(now, {.client = next_client_,
                          .kind = plan_.kind,
                          .range = *range,
                          .layout = plan_.layout,
                          .tag = cursors_.cursor_of(*range)});
      next_client_ = (next_client_ + 1) % plan_.clients;
    }
  }

  StorageModel model_;
  const TransferPlan plan_;
  RequestGenerator cursors_;
  // In the order of completions, which is that of their times.
  std::deque<Resubmission> resubmissions_;
  ClientId next_client_ = 0;
  Time end_ = {};
};

}  // namespace

Time simulate_transfer(const Machine& machine, const TransferPlan& plan) {
  FOREBAY_ASSERT(is_data_request(plan.kind));
  FOREBAY_ASSERT(plan.request_bytes >= 1);
  FOREBAY_ASSERT(plan.clients >= 1);
  FOREBAY_ASSERT(plan.clients <= machine.client.count);
  return TransferSimulation(machine, plan).run();
}

}  // namespace forebay::model
