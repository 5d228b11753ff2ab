// SPDX-License-Identifier: Apache-2.0
// One round: checks the sources that were notified or had a completion, submits their transfers as
// one batch, waits.
#include "read/engine_agent.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <future>
#include <utility>

#include "base/assert.hpp"
#include "base/service_thread.hpp"
#include "read/remote_reader.hpp"

namespace forebay::read {

namespace {

constexpr std::size_t kCompletionsMax = 64;

/// Operation k of a transfer begins at byte k * operation_bytes of the transfer.
constexpr std::uint64_t tag_of(std::uint32_t transfer_index, std::uint32_t operation_index) {
  return std::uint64_t{transfer_index} << 32U | operation_index;
}

Deadline earlier_of(const Deadline& a, const Deadline& b) {
  if (!a || !b) return a ? a : b;
  return std::min(*a, *b);
}

}  // namespace

EngineAgent::EngineAgent(std::size_t operations_max) { batch_.reserve(operations_max); }

Result<std::shared_ptr<ReadAgent>> EngineAgent::start(const storage::BackendOptions& options,
                                                      std::shared_ptr<EventSource> event_source) {
  std::shared_ptr<EngineAgent> agent(new EngineAgent(options.queue_depth));
  agent->event_source_ = std::move(event_source);
  std::promise<Status> started;
  std::future<Status> outcome = started.get_future();
  auto thread = start_service_thread("forebay-agent", [raw = agent.get(), options, &started] {
    raw->thread_main(options, started);
  });
  if (!thread) return failure(thread.error());
  agent->thread_ = std::move(*thread);
  if (auto status = outcome.get(); !status) {
    agent->thread_.join();
    return failure(status.error());
  }
  return agent;
}

/// Main function of the thread. A backend belongs to the thread that creates it.
void EngineAgent::thread_main(const storage::BackendOptions& options,
                              std::promise<Status>& started) {
  auto backend = storage::make_backend(options);
  if (!backend) {
    started.set_value(failure(backend.error()));
    return;
  }
  // The engine watches the descriptor of the event sources, and may pass it to the kernel until the
  // engine ends.
  const std::shared_ptr<EventSource> outlives_engine = event_source_;
  storage::Engine engine(std::move(*backend), {.queue_depth = options.queue_depth});
  backend_name_ = engine.backend_name();
  const Status watched = event_source_ ? engine.watch(event_source_->descriptor()) : Status();
  if (!watched) {
    started.set_value(watched);
    return;
  }
  engine_ = &engine;
  started.set_value({});
  run(engine);
}

EngineAgent::~EngineAgent() { stop(); }

void EngineAgent::stop() {
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
    if (engine_ != nullptr) engine_->wake();
  }
  if (thread_.joinable()) thread_.join();
}

void EngineAgent::notify(const std::shared_ptr<TransferSource>& source) {
  if (source->is_notified.exchange(true, std::memory_order_acq_rel)) return;
  const std::lock_guard lock(mutex_);
  if (is_stopping_) return;
  notified_.push_back(source);
  if (!is_sleeping_) return;
  is_sleeping_ = false;
  engine_->wake();
}

bool EngineAgent::drain_notified(std::size_t in_flight) {
  const std::lock_guard lock(mutex_);
  if (is_stopping_ && in_flight == 0) {
    engine_ = nullptr;
    return false;
  }
  is_draining_ = is_stopping_;
  for (auto& source : notified_) {
    source->is_notified.store(false, std::memory_order_release);
    add_to_run_queue(std::move(source));
  }
  notified_.clear();
  // From here on, a notification makes the following wait() return, even if wait() has not begun.
  is_sleeping_ = true;
  return true;
}

void EngineAgent::run(storage::Engine& engine) {
  std::array<storage::Completion, kCompletionsMax> completions;
  operations_max_ = engine.capacity();
  while (drain_notified(engine.in_flight())) {
    if (!is_draining_) issue_queued(engine);
    submit(engine);
    const Deadline due = event_source_ ? event_source_->next_deadline() : std::nullopt;
    const std::size_t count = engine.wait(completions, earlier_of(timers_.next_deadline(), due));
    for (std::size_t i = 0; i < count; ++i)
      complete_operation(completions.at(i));
    if (engine.consume_watch_event() || due) poll_event_sources();
    timers_.pop_expired(
        std::chrono::steady_clock::now(),
        [this](std::shared_ptr<TransferSource> source) { add_to_run_queue(std::move(source)); });
  }
  drop_sources();
}

/// Event sources run on this thread, so their notifications need no wake-up: run() takes them next.
void EngineAgent::poll_event_sources() {
  {
    const std::lock_guard lock(mutex_);
    is_sleeping_ = false;
  }
  event_source_->poll();
}

/// Sources own their agent: a source left here would keep both alive without limit.
void EngineAgent::drop_sources() {
  run_queue_.clear();
  timers_ = {};
  if (event_source_) event_source_->shutdown();
  event_source_.reset();
  const std::lock_guard lock(mutex_);
  notified_.clear();
}

void EngineAgent::add_to_run_queue(std::shared_ptr<TransferSource> source) {
  if (std::exchange(source->is_in_run_queue, true)) return;
  run_queue_.push_back(std::move(source));
}

void EngineAgent::issue_queued(storage::Engine& engine) {
  auto next = run_queue_.begin();
  while (next != run_queue_.end() && issue(engine, *next)) {
    (*next)->is_in_run_queue = false;
    ++next;
  }
  run_queue_.erase(run_queue_.begin(), next);
}

/// False if the engine has no room for the largest transfer of the source.
bool EngineAgent::issue(storage::Engine& engine, const std::shared_ptr<TransferSource>& source) {
  const std::uint64_t transfer_operations =
      std::max<std::uint64_t>(1, source->transfer_bytes_max() / operation_bytes(*source));
  while (true) {
    const std::size_t room = engine.capacity() - engine.in_flight() - batch_.size();
    if (room < transfer_operations) return false;
    TransferSource::Transfer transfer;
    if (!source->next_transfer(transfer)) {
      if (const auto when = source->retry_at()) timers_.add(source, *when);
      return true;
    }
    RemoteReader* const remote = source->remote_reader();
    if (remote == nullptr || !remote->try_fetch(source, transfer)) begin(source, transfer);
  }
}

/// The operation size of the source, or a larger one if a transfer would take more than half of the
/// engine's operations. A private copy is one operation of any length, so it always finds room.
std::uint64_t EngineAgent::operation_bytes(const TransferSource& source) const {
  const std::uint64_t bytes = source.operation_bytes();
  if (bytes == 0) return UINT64_MAX;
  const std::uint64_t transfer_operations_max = std::bit_floor(std::max(operations_max_ / 2, 1UL));
  return std::max(bytes, source.transfer_bytes_max() / transfer_operations_max);
}

void EngineAgent::begin(const std::shared_ptr<TransferSource>& source,
                        const TransferSource::Transfer& transfer) {
  FOREBAY_ASSERT(!transfer.memory.empty());
  const std::uint32_t index = allocate_transfer();
  InFlightTransfer& flight = transfers_[index];
  flight.source = source;
  flight.transfer = transfer;
  flight.operation_bytes =
      std::min<std::uint64_t>(operation_bytes(*source), transfer.memory.size());
  flight.got_bytes = transfer.memory.size();
  for (std::uint64_t done = 0; done < transfer.memory.size(); done += flight.operation_bytes) {
    const std::uint64_t size =
        std::min<std::uint64_t>(flight.operation_bytes, transfer.memory.size() - done);
    batch_.push_back(storage::read_operation(source->file(), transfer.file_offset + done,
                                             transfer.memory.subspan(done, size),
                                             tag_of(index, flight.operations_left)));
    ++flight.operations_left;
  }
}

std::uint32_t EngineAgent::allocate_transfer() {
  if (free_transfers_.empty()) {
    transfers_.emplace_back();
    return static_cast<std::uint32_t>(transfers_.size() - 1);
  }
  const std::uint32_t index = free_transfers_.back();
  free_transfers_.pop_back();
  return index;
}

void EngineAgent::submit(storage::Engine& engine) {
  const std::size_t accepted = engine.enqueue(batch_);  // the next wait() submits them
  FOREBAY_ASSERT(accepted == batch_.size());
  batch_.clear();
}

void EngineAgent::complete_operation(const storage::Completion& completion) {
  const auto index = static_cast<std::uint32_t>(completion.tag >> 32U);
  const auto operation = static_cast<std::uint32_t>(completion.tag);
  InFlightTransfer& flight = transfers_[index];
  const std::uint64_t first = operation * flight.operation_bytes;
  const std::uint64_t requested =
      std::min(flight.operation_bytes, flight.transfer.memory.size() - first);
  if (!completion.bytes) {
    flight.error = completion.bytes.error();
  } else if (*completion.bytes < requested) {
    flight.got_bytes = std::min(flight.got_bytes, first + *completion.bytes);
  }
  if (--flight.operations_left == 0) complete_transfer(index);
}

void EngineAgent::complete_transfer(std::uint32_t index) {
  InFlightTransfer flight = std::exchange(transfers_[index], InFlightTransfer{});
  free_transfers_.push_back(index);
  const Result<std::uint64_t> outcome = flight.error
                                            ? Result<std::uint64_t>(tl::unexpect, *flight.error)
                                            : Result<std::uint64_t>(flight.got_bytes);
  flight.source->finish(flight.transfer, outcome);
  add_to_run_queue(std::move(flight.source));
}

}  // namespace forebay::read
