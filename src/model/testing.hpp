// SPDX-License-Identifier: Apache-2.0
// What tests of the model share: small machines, sinks that remember, and clients that ask again
// and again. For tests only.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "model/storage_model.hpp"

namespace forebay::model {

constexpr Time us(std::int64_t count) { return std::chrono::microseconds(count); }

/// Later than anything in a test.
inline constexpr Time kEnd = std::chrono::hours(100'000);

/// One server without limits but those that a test adds.
inline Machine plain_machine() {
  Machine machine;
  machine.name = "test";
  machine.servers = {
      {.latency_us = 1000, .concurrency = 4, .bandwidth_mb_per_s = 0, .write_latency_us = 1000}};
  return machine;
}

/// Remembers all that it is told.
class Recorder final : public Sink {
 public:
  void on_finished(const Finished& one) override { finished.push_back(one); }
  void on_lock_lost(const LockLost& one) override { lost.push_back(one); }

  /// When the request with this tag was answered; Time::min() if it was not.
  Time answered(std::uint64_t tag) const {
    for (const Finished& one : finished) {
      if (one.tag == tag) return one.finished;
    }
    return Time::min();
  }

  std::vector<Finished> finished;
  std::vector<LockLost> lost;
};

/// Clients that ask again as soon as they are answered, each what `next(client)` says, until so
/// many answers have come.
class ClosedLoop final : public Sink {
 public:
  ClosedLoop(StorageModel& model, std::function<Request(ClientId)> next)
      : model_(model), next_(std::move(next)) {}

  /// All answers in their order.
  std::vector<Finished> run(std::uint32_t clients, std::size_t answers) {
    for (ClientId client = 0; client < clients; ++client)
      ask(Time{}, client);
    while (answers_.size() < answers) {
      const auto next = model_.next_event();
      if (!next) break;
      model_.advance(*next, *this);
    }
    return answers_;
  }
  void on_finished(const Finished& one) override {
    answers_.push_back(one);
    ask(one.finished, static_cast<ClientId>(one.tag));
  }
  void on_lock_lost(const LockLost& one) override { lost.push_back(one); }

  std::vector<LockLost> lost;

 private:
  void ask(Time now, ClientId client) {
    Request request = next_(client);
    request.tag = client;
    model_.submit(now, request);
  }

  StorageModel& model_;
  std::function<Request(ClientId)> next_;
  std::vector<Finished> answers_;
};

}  // namespace forebay::model
