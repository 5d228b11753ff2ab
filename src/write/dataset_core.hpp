// SPDX-License-Identifier: Apache-2.0
// DatasetCore: what is behind a Dataset: what the application's side counts (which step is next,
// how many are under way), the memory that put() copies into, and the agent that does the rest.
// StepCore: the same for one step until it is committed.
#pragma once

#include <forebay/dataset.hpp>
#include <forebay/executor.hpp>
#include <forebay/origin_process.hpp>

#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "base/clock.hpp"
#include "write/agent.hpp"
#include "write/packer.hpp"
#include "write/staging.hpp"

namespace forebay::write {

class DatasetCore : public std::enable_shared_from_this<DatasetCore> {
 public:
  struct Setup {
    std::string path;
    WritePlan plan;  ///< complete
    format::DatasetId dataset;
    std::uint64_t first_group = 0;
    std::optional<std::uint64_t> newest_step;
    std::uint32_t rank = 0;
    std::shared_ptr<Staging> staging;
    std::shared_ptr<const Staging> receiving = nullptr;  ///< for what comes from others, if any
    Executor* executor = nullptr;
  };
  explicit DatasetCore(Setup setup) : setup_(std::move(setup)), newest_(setup_.newest_step) {}
  /// Once, before anything else: `agent` reports to on_resolved().
  void employ(std::shared_ptr<Agent> agent) noexcept { agent_ = std::move(agent); }

  /// Any thread, called by the agent.
  void on_resolved(const StepName& step, const Status& outcome);

  // As Dataset has them.
  const std::string& path() const noexcept { return setup_.path; }
  const WritePlan& plan() const noexcept { return setup_.plan; }
  std::optional<std::uint64_t> newest_step() const;
  Result<std::shared_ptr<StepCore>> begin_step(std::uint64_t number);
  DatasetReport report() const;
  Status close();

  /// The end of the Runtime: close(), and then waits for the other ranks, whom the agent still
  /// serves, for stall_max() at most.
  void end() noexcept;
  bool is_closed() const;
  /// Nobody needs its agent any more.
  bool has_ended() const { return agent_->has_ended(); }

 private:
  friend class StepCore;
  Error error(ErrorClass kind, std::string operation, std::string cause) const;
  Status check_begin(std::uint64_t number) const;
  Result<StepName> count_step(std::uint64_t number);
  void step_is_over(const Packer& packer);
  void withdraw_open_step() noexcept;

  const detail::OriginProcess origin_;
  const Setup setup_;
  std::shared_ptr<Agent> agent_;

  mutable std::mutex mutex_;
  std::condition_variable resolved_;
  std::uint64_t begun_ = 0;
  std::uint32_t under_way_ = 0;
  std::optional<StepName> open_step_;  ///< begun and not committed
  bool is_closed_ = false;
  std::optional<std::uint64_t> last_begun_;
  std::optional<std::uint64_t> newest_;
  std::optional<Error> first_failure_;  ///< of a step; none for a step that was abandoned
  std::uint64_t failures_ = 0;          ///< steps that failed, abandoned ones not counted
  DatasetReport report_;
};

/// One thread at a time.
class StepCore {
 public:
  StepCore(std::shared_ptr<DatasetCore> dataset, const StepName& name, TimePoint begun_at);
  /// abandon(), unless it is committed.
  ~StepCore();
  StepCore(const StepCore&) = delete;
  StepCore& operator=(const StepCore&) = delete;

  std::uint64_t number() const noexcept { return name_.step; }
  Status put(const BlockPlace& place, std::span<const std::byte> bytes);
  Status adopt(const BlockPlace& place, AdoptedBuffer buffer);
  /// What was put cannot be: neither can the step.
  Status refuse(const Error& why);
  Future<Receipt> commit();
  void abandon() noexcept;

 private:
  Status check_process() const;
  Status keep(Status outcome);

  const std::shared_ptr<DatasetCore> dataset_;
  const StepName name_;
  const TimePoint begun_at_;
  std::chrono::nanoseconds held_up_;
  Packer packer_;
  std::optional<Error> failure_;  ///< the first
  bool is_over_ = false;
};

}  // namespace forebay::write
