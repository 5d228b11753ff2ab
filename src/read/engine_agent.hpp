// SPDX-License-Identifier: Apache-2.0
// EngineAgent: a service thread that moves bytes from storage for any number of sources. It waits
// in one place, the engine's, for completions and for being told of work; idle, it costs nothing.
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

#include "read/agent.hpp"
#include "read/chores.hpp"
#include "read/retries.hpp"
#include "read/transfer_source.hpp"
#include "storage/engine.hpp"
#include "storage/probe.hpp"

namespace forebay::read {

class EngineAgent final : public Agent {
 public:
  /// Starts the thread and its engine. Fails if no backend can be had.
  /// `chores`, if there are any, are attended to by its thread, and are dropped by stop().
  static Result<std::shared_ptr<Agent>> start(const storage::BackendOptions& options,
                                              std::shared_ptr<Chores> chores = nullptr);
  ~EngineAgent() override;
  EngineAgent(const EngineAgent&) = delete;
  EngineAgent& operator=(const EngineAgent&) = delete;

  void serve(const std::shared_ptr<TransferSource>& source) override;
  /// What is under way at storage is waited for.
  void stop() override;

  const std::string& backend_name() const noexcept { return backend_name_; }

 private:
  /// A transfer of a source, cut into operations.
  struct Flight {
    std::shared_ptr<TransferSource> source;
    TransferSource::Transfer transfer;
    std::uint64_t operation_bytes = 0;
    std::uint32_t operations_left = 0;
    std::uint64_t got_bytes = 0;  ///< contiguous from the beginning, as far as known
    std::optional<Error> error;
  };

  explicit EngineAgent(std::size_t operations_max);
  void live(const storage::BackendOptions& options, std::promise<Status>& started);
  void run(storage::Engine& engine);
  void attend();
  bool take_inbox(std::size_t in_flight);
  void drop_sources();
  void look_at(std::shared_ptr<TransferSource> source);
  void issue_due(storage::Engine& engine);
  bool issue(storage::Engine& engine, const std::shared_ptr<TransferSource>& source);
  std::uint64_t operation_bytes(const TransferSource& source) const;
  void begin(const std::shared_ptr<TransferSource>& source,
             const TransferSource::Transfer& transfer);
  void submit(storage::Engine& engine);
  void complete(const storage::Completion& completion);
  void hang_up(std::uint32_t flight);
  std::uint32_t free_flight();

  std::string backend_name_;
  std::thread thread_;
  std::mutex mutex_;  // guards the next four
  std::vector<std::shared_ptr<TransferSource>> inbox_;
  storage::Engine* engine_ = nullptr;
  bool asleep_ = false;
  bool stopping_ = false;
  // The thread's own:
  bool ending_ = false;  // what is under way is waited for; nothing is begun
  std::shared_ptr<Chores> chores_;
  std::size_t operations_max_ = 1;
  // Those to look at, each once. The first one may be waiting for room in the engine; nobody
  // passes it.
  std::vector<std::shared_ptr<TransferSource>> due_;
  Retries retries_;
  std::vector<Flight> flights_;
  std::vector<std::uint32_t> free_flights_;
  std::vector<storage::Operation> batch_;
};

}  // namespace forebay::read
