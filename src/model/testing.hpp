// SPDX-License-Identifier: Apache-2.0
// Shared by tests of the model: small machines, observers that record, and clients that repeat
// requests. For tests only.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "model/storage_model.hpp"

namespace forebay::model {

constexpr Time us(std::int64_t count) { return std::chrono::microseconds(count); }

/// Later than any time in a test.
inline constexpr Time kTimeMax = std::chrono::hours(100'000);

/// One server without limits except those that a test adds.
inline Machine plain_machine() {
  Machine machine;
  machine.name = "test";
  machine.servers = {
      {.latency_us = 1000, .concurrency = 4, .bandwidth_mb_per_s = 0, .write_latency_us = 1000}};
  return machine;
}

/// Records all events.
class RecordingObserver final : public ModelObserver {
 public:
  void on_complete(const RequestCompletion& one) override { finished.push_back(one); }
  void on_lock_revoked(const LockRevoked& one) override { lost.push_back(one); }

  /// Time at which the request with this tag was completed; Time::min() if it was not.
  Time completion_time(std::uint64_t tag) const {
    for (const RequestCompletion& one : finished) {
      if (one.tag == tag) return one.finished;
    }
    return Time::min();
  }

  std::vector<RequestCompletion> finished;
  std::vector<LockRevoked> lost;
};

/// Clients that submit `next(client)` as soon as their previous request is completed, until a given
/// number of requests is completed.
class ClosedLoop final : public ModelObserver {
 public:
  ClosedLoop(StorageModel& model, std::function<Request(ClientId)> next)
      : model_(model), next_(std::move(next)) {}

  /// All completions, in order.
  std::vector<RequestCompletion> run(std::uint32_t clients, std::size_t answers) {
    for (ClientId client = 0; client < clients; ++client)
      submit_next(Time{}, client);
    while (answers_.size() < answers) {
      const auto next = model_.next_event();
      if (!next) break;
      model_.advance(*next, *this);
    }
    return answers_;
  }
  void on_complete(const RequestCompletion& one) override {
    answers_.push_back(one);
    submit_next(one.finished, static_cast<ClientId>(one.tag));
  }
  void on_lock_revoked(const LockRevoked& one) override { lost.push_back(one); }

  std::vector<LockRevoked> lost;

 private:
  void submit_next(Time now, ClientId client) {
    Request request = next_(client);
    request.tag = client;
    model_.submit(now, request);
  }

  StorageModel& model_;
  std::function<Request(ClientId)> next_;
  std::vector<RequestCompletion> answers_;
};

}  // namespace forebay::model
