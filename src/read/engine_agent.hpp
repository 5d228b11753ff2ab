// SPDX-License-Identifier: Apache-2.0
// EngineAgent: a service thread that moves bytes from storage for any number of sources. It waits
// only in Engine::wait(), for completions and notifications. An idle agent uses practically no
// processor time.
#pragma once

#include <forebay/error.hpp>

#include <cstdint>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "read/event_source.hpp"
#include "read/read_agent.hpp"
#include "read/timer_queue.hpp"
#include "read/transfer_source.hpp"
#include "storage/engine.hpp"
#include "storage/probe.hpp"

namespace forebay::read {

class EngineAgent final : public ReadAgent {
 public:
  /// Starts the thread and its engine. Fails if no backend is available. The thread polls
  /// `event_source`, if not null; stop() releases it.
  static Result<std::shared_ptr<ReadAgent>> start(
      const storage::BackendOptions& options, std::shared_ptr<EventSource> event_source = nullptr);
  ~EngineAgent() override;
  EngineAgent(const EngineAgent&) = delete;
  EngineAgent& operator=(const EngineAgent&) = delete;

  void notify(const std::shared_ptr<TransferSource>& source) override;
  /// Waits for the operations in flight.
  void stop() override;

  const std::string& backend_name() const noexcept { return backend_name_; }

 private:
  /// A transfer of a source, split into operations.
  struct InFlightTransfer {
    std::shared_ptr<TransferSource> source;
    TransferSource::Transfer transfer;
    std::uint64_t operation_bytes = 0;
    std::uint32_t operations_left = 0;
    std::uint64_t got_bytes = 0;  ///< contiguous from the beginning, as far as known
    std::optional<Error> error;
  };

  explicit EngineAgent(std::size_t operations_max);
  void thread_main(const storage::BackendOptions& options, std::promise<Status>& started);
  void run(storage::Engine& engine);
  void poll_event_sources();
  bool drain_notified(std::size_t in_flight);
  void drop_sources();
  void add_to_run_queue(std::shared_ptr<TransferSource> source);
  void issue_queued(storage::Engine& engine);
  bool issue(storage::Engine& engine, const std::shared_ptr<TransferSource>& source);
  std::uint64_t operation_bytes(const TransferSource& source) const;
  void begin(const std::shared_ptr<TransferSource>& source,
             const TransferSource::Transfer& transfer);
  void submit(storage::Engine& engine);
  void complete_operation(const storage::Completion& completion);
  void complete_transfer(std::uint32_t transfer_index);
  std::uint32_t allocate_transfer();

  std::string backend_name_;
  std::thread thread_;
  std::mutex mutex_;  // guards the next four members
  std::vector<std::shared_ptr<TransferSource>> notified_;
  storage::Engine* engine_ = nullptr;
  bool is_sleeping_ = false;
  bool is_stopping_ = false;
  // Used by the thread alone:
  bool is_draining_ = false;  // waits for operations in flight; begins none
  std::shared_ptr<EventSource> event_source_;
  std::size_t operations_max_ = 1;
  // Sources to check, each once, in order. The first one may be waiting for room in the engine.
  std::vector<std::shared_ptr<TransferSource>> run_queue_;
  TimerQueue timers_;
  std::vector<InFlightTransfer> transfers_;
  std::vector<std::uint32_t> free_transfers_;
  std::vector<storage::Operation> batch_;
};

}  // namespace forebay::read
