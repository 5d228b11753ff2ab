// SPDX-License-Identifier: Apache-2.0
// One round: look at the sessions that were announced or had a completion, submit what they want as
// one batch, wait.
#include "read/engine_agent.hpp"

#include <algorithm>
#include <array>
#include <future>
#include <utility>

#include "base/assert.hpp"

namespace forebay::read {

namespace {

constexpr std::size_t kCompletionsMax = 64;

/// Operation `index` of a flight covers request_bytes from index * request_bytes on.
constexpr std::uint64_t tag_of(std::uint32_t flight, std::uint32_t index) {
  return std::uint64_t{flight} << 32U | index;
}

}  // namespace

EngineAgent::EngineAgent(std::size_t operations_max) { batch_.reserve(operations_max); }

Result<std::shared_ptr<Agent>> EngineAgent::start(const storage::BackendOptions& options) {
  std::shared_ptr<EngineAgent> agent(new EngineAgent(options.queue_depth));
  std::promise<Status> started;
  std::future<Status> outcome = started.get_future();
  agent->thread_ = std::thread([raw = agent.get(), options, &started] {
    // The backend belongs to the thread that makes it.
    auto backend = storage::make_backend(options);
    if (!backend) {
      started.set_value(tl::unexpected<Error>(backend.error()));
      return;
    }
    storage::Engine engine(std::move(*backend), {.queue_depth = options.queue_depth});
    raw->backend_name_ = engine.backend_name();
    raw->engine_ = &engine;
    started.set_value({});
    raw->run(engine);
  });
  if (auto status = outcome.get(); !status) {
    agent->thread_.join();
    return tl::unexpected<Error>(status.error());
  }
  return agent;
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

void EngineAgent::serve(const std::shared_ptr<SessionCore>& session) {
  if (session->announced_.exchange(true, std::memory_order_acq_rel)) return;
  const std::lock_guard lock(mutex_);
  if (stopping_) return;
  inbox_.push_back(session);
  if (!asleep_) return;
  asleep_ = false;
  engine_->wake();
}

bool EngineAgent::take_inbox(bool idle) {
  const std::lock_guard lock(mutex_);
  if (stopping_ && idle) {
    engine_ = nullptr;
    return false;
  }
  for (auto& session : inbox_) {
    session->announced_.store(false, std::memory_order_release);
    due_.push_back(std::move(session));
  }
  inbox_.clear();
  // From here on whoever announces work makes the coming wait() return, even if it has not begun.
  asleep_ = true;
  return true;
}

void EngineAgent::run(storage::Engine& engine) {
  std::array<storage::Completion, kCompletionsMax> completions;
  while (take_inbox(engine.in_flight() == 0)) {
    std::sort(due_.begin(), due_.end());
    due_.erase(std::unique(due_.begin(), due_.end()), due_.end());
    for (const auto& session : due_)
      issue(engine, session);
    due_.clear();
    submit(engine);
    const std::size_t count = engine.wait(completions, retries_.first());
    for (std::size_t i = 0; i < count; ++i)
      complete(completions.at(i));
    retries_.take_due(
        std::chrono::steady_clock::now(),
        [this](std::shared_ptr<SessionCore> session) { due_.push_back(std::move(session)); });
    if (count > 0) due_.insert(due_.end(), hungry_.begin(), hungry_.end());
    if (count > 0) hungry_.clear();
  }
}

void EngineAgent::issue(storage::Engine& engine, const std::shared_ptr<SessionCore>& session) {
  const std::size_t request = session->plan().request_bytes;
  const std::size_t splinter_operations = (session->plan().splinter_bytes + request - 1) / request;
  while (true) {
    const std::size_t room = engine.capacity() - engine.in_flight() - batch_.size();
    if (room < splinter_operations) {
      hungry_.push_back(session);
      return;
    }
    SessionCore::Transfer transfer;
    if (!session->next_transfer(transfer)) {
      if (const auto when = session->retry_at()) retries_.add(session, *when);
      return;
    }
    begin(session, transfer);
  }
}

void EngineAgent::begin(const std::shared_ptr<SessionCore>& session,
                        const SessionCore::Transfer& transfer) {
  const std::uint32_t index = free_flight();
  // A private copy is one operation, however long: it must always find room.
  const std::uint64_t request =
      transfer.copy ? transfer.memory.size() : session->plan().request_bytes;
  FOREBAY_ASSERT(!transfer.memory.empty());
  Flight& flight = flights_[index];
  flight.session = session;
  flight.transfer = transfer;
  flight.got_bytes = transfer.memory.size();
  for (std::uint64_t done = 0; done < transfer.memory.size(); done += request) {
    const std::uint64_t size = std::min<std::uint64_t>(request, transfer.memory.size() - done);
    batch_.push_back(storage::read_operation(session->file(), transfer.file_offset + done,
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
  const std::size_t taken = engine.submit(batch_);
  FOREBAY_ASSERT(taken == batch_.size());
  batch_.clear();
}

void EngineAgent::complete(const storage::Completion& completion) {
  const auto index = static_cast<std::uint32_t>(completion.tag >> 32U);
  const auto operation = static_cast<std::uint32_t>(completion.tag);
  Flight& flight = flights_[index];
  const std::uint64_t size = flight.transfer.memory.size();
  const std::uint64_t request = flight.transfer.copy ? size : flight.session->plan().request_bytes;
  const std::uint64_t first = operation * request;
  const std::uint64_t asked = std::min(request, size - first);
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
  flight.session->finish(flight.transfer, outcome);
  due_.push_back(std::move(flight.session));
}

}  // namespace forebay::read
