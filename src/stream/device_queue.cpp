// SPDX-License-Identifier: Apache-2.0
// The queue's thread. One round takes new submissions, issues requests within the limits, and
// sleeps only in the engine's wait(), until a completion or wake().
#include "stream/device_queue.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "base/assert.hpp"
#include "base/service_thread.hpp"

namespace forebay::stream {

namespace {

constexpr std::size_t kCompletionsMax = 64;
/// Leaves room for auxiliary operations beside those of any number of submissions.
constexpr std::size_t kEngineDepth = 128;

}  // namespace

Result<std::shared_ptr<DeviceQueue>> DeviceQueue::start(const MakeBackend& make_backend,
                                                        std::shared_ptr<InFlightBudget> budget) {
  std::shared_ptr<DeviceQueue> queue(new DeviceQueue(std::move(budget)));
  std::promise<Status> started;
  std::future<Status> outcome = started.get_future();
  auto thread = start_service_thread(
      "forebay-writer",
      [raw = queue.get(), &make_backend, &started] { raw->thread_main(make_backend, started); });
  if (!thread) return failure(thread.error());
  queue->thread_ = std::move(*thread);
  if (auto status = outcome.get(); !status) return failure(status.error());
  const std::weak_ptr<DeviceQueue> weak = queue;
  queue->budget_->add_listener([weak] {
    if (const auto alive = weak.lock()) alive->wake();
  });
  return queue;
}

DeviceQueue::~DeviceQueue() { stop(); }

/// The whole thread. The thread that creates the backend owns it.
void DeviceQueue::thread_main(const MakeBackend& make_backend, std::promise<Status>& started) {
  auto backend = make_backend();
  if (!backend) {
    has_ended_.store(true);
    started.set_value(failure(backend.error()));
    return;
  }
  storage::Engine engine(std::move(*backend), {.queue_depth = kEngineDepth});
  backend_name_ = engine.backend_name();
  batch_.reserve(engine.capacity());
  {
    const std::lock_guard lock(engine_mutex_);
    engine_ = &engine;
  }
  started.set_value({});
  run();
  {
    const std::lock_guard lock(engine_mutex_);
    engine_ = nullptr;
  }
  has_ended_.store(true);
  reject_submissions();
}

void DeviceQueue::run() {
  std::array<storage::Completion, kCompletionsMax> completions;
  for (;;) {
    take_submissions();
    issue();
    advance_barriers();
    if (!auxiliary_.empty() && free_capacity() > 0) continue;  // a barrier has added operations
    if (is_done()) return;
    if (!prepare_to_wait()) continue;
    const std::size_t count = engine_->wait(completions, std::nullopt);
    is_sleeping_.store(false);
    for (storage::Completion& completion : std::span(completions).first(count))
      complete(completion);
  }
}

/// False if a submission arrived meanwhile: a later push sees that the thread sleeps.
bool DeviceQueue::prepare_to_wait() {
  is_sleeping_.store(true);
  if (incoming_.empty()) return true;
  is_sleeping_.store(false);
  return false;
}

bool DeviceQueue::is_done() const noexcept {
  const bool is_idle = active_clients_.empty() && suspended_clients_.empty() &&
                       auxiliary_.empty() && barriers_.empty() && engine_->in_flight() == 0;
  return is_stopping_.load() && is_idle && incoming_.empty();
}

void DeviceQueue::push(Submission& submission) noexcept {
  incoming_.push(submission);
  if (is_sleeping_.exchange(false)) wake();
  if (has_ended_.load()) reject_submissions();
}

void DeviceQueue::wake() noexcept {
  const std::lock_guard lock(engine_mutex_);
  if (engine_ != nullptr) engine_->wake();
}

void DeviceQueue::stop() noexcept {
  is_stopping_.store(true);
  wake();
  if (thread_.joinable()) thread_.join();
}

}  // namespace forebay::stream
