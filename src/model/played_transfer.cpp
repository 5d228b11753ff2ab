// SPDX-License-Identifier: Apache-2.0
// Plays a transfer: asks for a file in order, in a virtual time that begins at 0.
#include "model/played_transfer.hpp"

#include <algorithm>

#include "base/assert.hpp"

namespace forebay::model {

namespace {

class Player final : public Sink {
 public:
  Player(const Machine& machine, const TransferPlan& plan) : model_(machine), plan_(plan) {}

  Time play() {
    for (std::uint64_t i = std::uint64_t{plan_.agents} * plan_.depth; i > 0; --i)
      ask(Time{});
    while (const auto next = model_.next_event())
      model_.advance(*next, *this);
    return end_;
  }
  void on_finished(const Finished& one) override {
    end_ = one.finished;
    ask(one.finished);
  }
  void on_lock_lost(const LockLost&) override {}

 private:
  void ask(Time now) {
    const std::uint64_t size = std::min(plan_.request_bytes, plan_.bytes - asked_bytes_);
    if (size == 0) return;
    model_.submit(now, {.client = next_client_,
                        .kind = plan_.kind,
                        .range = {asked_bytes_, size},
                        .layout = plan_.layout});
    asked_bytes_ += size;
    next_client_ = (next_client_ + 1) % plan_.clients;
  }

  StorageModel model_;
  TransferPlan plan_;
  std::uint64_t asked_bytes_ = 0;
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
