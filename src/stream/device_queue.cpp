// SPDX-License-Identifier: Apache-2.0
// The queue's thread: one round takes what came, asks for what may be asked for, and sleeps in one
// place, the engine's, until something is finished or somebody rings.
#include "stream/device_queue.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "base/assert.hpp"
#include "base/service_thread.hpp"

namespace forebay::stream {

namespace {

constexpr std::size_t kCompletionsMax = 64;
/// Operations that no parcel waits for find room, however many parcels there are.
constexpr std::size_t kEngineDepth = 128;

}  // namespace

Result<std::shared_ptr<DeviceQueue>> DeviceQueue::start(const MakeBackend& make_backend,
                                                        std::shared_ptr<Budget> budget) {
  std::shared_ptr<DeviceQueue> queue(new DeviceQueue(std::move(budget)));
  std::promise<Status> started;
  std::future<Status> outcome = started.get_future();
  auto thread = start_service_thread(
      "forebay-writer",
      [raw = queue.get(), &make_backend, &started] { raw->live(make_backend, started); });
  if (!thread) return failure(thread.error());
  queue->thread_ = std::move(*thread);
  if (auto status = outcome.get(); !status) return failure(status.error());
  const std::weak_ptr<DeviceQueue> weak = queue;
  queue->budget_->add_bell([weak] {
    if (const auto alive = weak.lock()) alive->ring();
  });
  return queue;
}

DeviceQueue::~DeviceQueue() { stop(); }

/// All of the thread. The backend belongs to the thread that makes it.
void DeviceQueue::live(const MakeBackend& make_backend, std::promise<Status>& started) {
  auto backend = make_backend();
  if (!backend) {
    ended_.store(true);
    started.set_value(failure(backend.error()));
    return;
  }
  storage::Engine engine(std::move(*backend), {.queue_depth = kEngineDepth});
  backend_name_ = engine.backend_name();
  batch_.reserve(engine.capacity());
  {
    const std::lock_guard lock(bell_);
    engine_ = &engine;
  }
  started.set_value({});
  run();
  {
    const std::lock_guard lock(bell_);
    engine_ = nullptr;
  }
  ended_.store(true);
  drop_inbox();
}

void DeviceQueue::run() {
  std::array<storage::Completion, kCompletionsMax> completions;
  for (;;) {
    take_inbox();
    issue();
    advance_barriers();
    if (!errands_.empty() && room() > 0) continue;  // a barrier wants something done
    if (is_done()) return;
    if (!sleep_until_something_happens()) continue;
    const std::size_t count = engine_->wait(completions, std::nullopt);
    asleep_.store(false);
    for (storage::Completion& completion : std::span(completions).first(count))
      complete(completion);
  }
}

/// False if something came meanwhile: whoever pushes after this sees that the thread sleeps.
bool DeviceQueue::sleep_until_something_happens() {
  asleep_.store(true);
  if (inbox_.empty()) return true;
  asleep_.store(false);
  return false;
}

bool DeviceQueue::is_done() const noexcept {
  const bool is_idle = turns_.empty() && held_up_.empty() && errands_.empty() &&
                       barriers_.empty() && engine_->in_flight() == 0;
  return stopping_.load() && is_idle && inbox_.empty();
}

void DeviceQueue::push(Parcel& parcel) noexcept {
  inbox_.push(parcel);
  if (asleep_.exchange(false)) ring();
  if (ended_.load()) drop_inbox();
}

void DeviceQueue::ring() noexcept {
  const std::lock_guard lock(bell_);
  if (engine_ != nullptr) engine_->wake();
}

void DeviceQueue::stop() noexcept {
  stopping_.store(true);
  ring();
  if (thread_.joinable()) thread_.join();
}

}  // namespace forebay::stream
