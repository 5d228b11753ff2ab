// SPDX-License-Identifier: Apache-2.0
// One round: look at the sources that were announced or had a completion, submit what they want as
// one batch, wait.
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

/// Operation `index` of a flight covers request_bytes from index * request_bytes on.
constexpr std::uint64_t tag_of(std::uint32_t flight, std::uint32_t index) {
  return std::uint64_t{flight} << 32U | index;
}

Deadline earlier_of(const Deadline& a, const Deadline& b) {
  if (!a || !b) return a ? a : b;
  return std::min(*a, *b);
}

}  // namespace

EngineAgent::EngineAgent(std::size_t operations_max) { batch_.reserve(operations_max); }

Result<std::shared_ptr<Agent>> EngineAgent::start(const storage::BackendOptions& options,
                                                  std::shared_ptr<Chores> chores) {
  std::shared_ptr<EngineAgent> agent(new EngineAgent(options.queue_depth));
  agent->chores_ = std::move(chores);
  std::promise<Status> started;
  std::future<Status> outcome = started.get_future();
  auto thread = start_service_thread(
      "forebay-agent", [raw = agent.get(), options, &started] { raw->live(options, started); });
  if (!thread) return failure(thread.error());
  agent->thread_ = std::move(*thread);
  if (auto status = outcome.get(); !status) {
    agent->thread_.join();
    return failure(status.error());
  }
  return agent;
}

/// All of the thread. The backend belongs to the thread that makes it.
void EngineAgent::live(const storage::BackendOptions& options, std::promise<Status>& started) {
  auto backend = storage::make_backend(options);
  if (!backend) {
    started.set_value(failure(backend.error()));
    return;
  }
  // The engine watches their descriptor, and may hand that to the kernel as late as at its end.
  const std::shared_ptr<Chores> outlives_engine = chores_;
  storage::Engine engine(std::move(*backend), {.queue_depth = options.queue_depth});
  backend_name_ = engine.backend_name();
  const Status watched = chores_ ? engine.watch(chores_->descriptor()) : Status();
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
    stopping_ = true;
    if (engine_ != nullptr) engine_->wake();
  }
  if (thread_.joinable()) thread_.join();
}

void EngineAgent::serve(const std::shared_ptr<TransferSource>& source) {
  if (source->announced.exchange(true, std::memory_order_acq_rel)) return;
  const std::lock_guard lock(mutex_);
  if (stopping_) return;
  inbox_.push_back(source);
  if (!asleep_) return;
  asleep_ = false;
  engine_->wake();
}

bool EngineAgent::take_inbox(std::size_t in_flight) {
  const std::lock_guard lock(mutex_);
  if (stopping_ && in_flight == 0) {
    engine_ = nullptr;
    return false;
  }
  ending_ = stopping_;
  for (auto& source : inbox_) {
    source->announced.store(false, std::memory_order_release);
    look_at(std::move(source));
  }
  inbox_.clear();
  // From here on whoever announces work makes the coming wait() return, even if it has not begun.
  asleep_ = true;
  return true;
}

void EngineAgent::run(storage::Engine& engine) {
  std::array<storage::Completion, kCompletionsMax> completions;
  operations_max_ = engine.capacity();
  while (take_inbox(engine.in_flight())) {
    if (!ending_) issue_due(engine);
    submit(engine);
    const Deadline due = chores_ ? chores_->due() : std::nullopt;
    const std::size_t count = engine.wait(completions, earlier_of(retries_.first(), due));
    for (std::size_t i = 0; i < count; ++i)
      complete(completions.at(i));
    if (engine.take_watched() || due) attend();
    retries_.take_due(
        std::chrono::steady_clock::now(),
        [this](std::shared_ptr<TransferSource> source) { look_at(std::move(source)); });
  }
  drop_sources();
}

/// What chores announce needs no wake-up: this thread looks at it next.
void EngineAgent::attend() {
  {
    const std::lock_guard lock(mutex_);
    asleep_ = false;
  }
  chores_->attend();
}

/// Sources own their agent: one that is left here would keep both alive for ever.
void EngineAgent::drop_sources() {
  due_.clear();
  retries_ = {};
  if (chores_) chores_->end();
  chores_.reset();
  const std::lock_guard lock(mutex_);
  inbox_.clear();
}

void EngineAgent::look_at(std::shared_ptr<TransferSource> source) {
  if (std::exchange(source->due, true)) return;
  due_.push_back(std::move(source));
}

void EngineAgent::issue_due(storage::Engine& engine) {
  auto next = due_.begin();
  while (next != due_.end() && issue(engine, *next)) {
    (*next)->due = false;
    ++next;
  }
  due_.erase(due_.begin(), next);
}

/// False if the engine has no room for what the source may want.
bool EngineAgent::issue(storage::Engine& engine, const std::shared_ptr<TransferSource>& source) {
  const std::uint64_t transfer_operations =
      std::max<std::uint64_t>(1, source->transfer_bytes_max() / operation_bytes(*source));
  while (true) {
    const std::size_t room = engine.capacity() - engine.in_flight() - batch_.size();
    if (room < transfer_operations) return false;
    TransferSource::Transfer transfer;
    if (!source->next_transfer(transfer)) {
      if (const auto when = source->retry_at()) retries_.add(source, *when);
      return true;
    }
    RemoteReader* const remote = source->remote();
    if (remote == nullptr || !remote->take(source, transfer)) begin(source, transfer);
  }
}

/// What the source says, or more where a transfer would take more than half of the engine's
/// operations. A private copy is one operation, however long: it must always find room.
std::uint64_t EngineAgent::operation_bytes(const TransferSource& source) const {
  const std::uint64_t bytes = source.operation_bytes();
  if (bytes == 0) return UINT64_MAX;
  const std::uint64_t transfer_operations_max = std::bit_floor(std::max(operations_max_ / 2, 1UL));
  return std::max(bytes, source.transfer_bytes_max() / transfer_operations_max);
}

void EngineAgent::begin(const std::shared_ptr<TransferSource>& source,
                        const TransferSource::Transfer& transfer) {
  FOREBAY_ASSERT(!transfer.memory.empty());
  const std::uint32_t index = free_flight();
  Flight& flight = flights_[index];
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

std::uint32_t EngineAgent::free_flight() {
  if (free_flights_.empty()) {
    flights_.emplace_back();
    return static_cast<std::uint32_t>(flights_.size() - 1);
  }
  const std::uint32_t index = free_flights_.back();
  free_flights_.pop_back();
  return index;
}

void EngineAgent::submit(storage::Engine& engine) {
  const std::size_t taken = engine.enqueue(batch_);  // the agent waits next
  FOREBAY_ASSERT(taken == batch_.size());
  batch_.clear();
}

void EngineAgent::complete(const storage::Completion& completion) {
  const auto index = static_cast<std::uint32_t>(completion.tag >> 32U);
  const auto operation = static_cast<std::uint32_t>(completion.tag);
  Flight& flight = flights_[index];
  const std::uint64_t first = operation * flight.operation_bytes;
  const std::uint64_t asked =
      std::min(flight.operation_bytes, flight.transfer.memory.size() - first);
  if (!completion.bytes) {
    flight.error = completion.bytes.error();
  } else if (*completion.bytes < asked) {
    flight.got_bytes = std::min(flight.got_bytes, first + *completion.bytes);
  }
  if (--flight.operations_left == 0) hang_up(index);
}

void EngineAgent::hang_up(std::uint32_t index) {
  Flight flight = std::exchange(flights_[index], Flight{});
  free_flights_.push_back(index);
  const Result<std::uint64_t> outcome = flight.error
                                            ? Result<std::uint64_t>(tl::unexpect, *flight.error)
                                            : Result<std::uint64_t>(flight.got_bytes);
  flight.source->finish(flight.transfer, outcome);
  look_at(std::move(flight.source));
}

}  // namespace forebay::read
