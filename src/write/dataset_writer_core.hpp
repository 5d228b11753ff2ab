// SPDX-License-Identifier: Apache-2.0
// DatasetWriterCore: implementation of a DatasetWriter. It has the counters of the application's
// side (steps begun, steps in flight), the staging memory and the agent. StepWriterCore:
// implementation of a StepWriter.
#pragma once

#include <forebay/dataset_writer.hpp>
#include <forebay/detail/origin_process.hpp>
#include <forebay/executor.hpp>

#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "base/clock.hpp"
#include "write/dataset_agent.hpp"
#include "write/packer.hpp"
#include "write/staging_pool.hpp"
#include "write/tuning_request.hpp"

namespace forebay::write {

class DatasetWriterCore : public std::enable_shared_from_this<DatasetWriterCore> {
 public:
  struct Setup {
    std::string path;
    std::shared_ptr<const WritePlan> plan;  ///< at opening; complete
    std::uint64_t begin_end = kAllGroups;   ///< steps of groups below this one may begin
    format::DatasetId dataset;
    std::uint64_t first_group = 0;
    std::optional<std::uint64_t> newest_step;
    std::uint32_t rank = 0;
    std::shared_ptr<StagingPool> staging;
    /// For bytes of other ranks; null if none sends bytes here.
    std::shared_ptr<const StagingPool> receive_staging = nullptr;
    Executor* executor = nullptr;
    std::shared_ptr<const PlanTuner> tuner = nullptr;  ///< null: not tuned, or not the first rank
    std::string profile_path = {};  ///< to which close() adds what `tuner` has measured
  };
  explicit DatasetWriterCore(Setup setup)
      : setup_(std::move(setup)), begin_end_(setup_.begin_end), newest_(setup_.newest_step) {}
  /// Must be called once, before anything else. `agent` reports to on_resolved().
  void set_agent(std::shared_ptr<DatasetAgent> agent) noexcept { agent_ = std::move(agent); }

  /// Called by the agent for each resolved step. Any thread.
  void on_resolved(const StepId& step, const Status& outcome);
  /// Called by the agent when steps of more groups may begin. Any thread.
  void on_plans_decided(const PlanSchedule& plans, std::uint64_t begin_end);

  // As in DatasetWriter.
  const std::string& path() const noexcept { return setup_.path; }
  const WritePlan& plan() const noexcept { return *setup_.plan; }
  std::optional<std::uint64_t> newest_step() const;
  Result<std::shared_ptr<StepWriterCore>> begin_step(std::uint64_t number);
  Status set_attribute(std::string_view name, const AttributeValue& value);
  /// The attributes of the dataset as set until now.
  format::AttributeTable attributes() const;
  DatasetReport report() const;
  Status close();

  /// Called at the end of the Runtime: cancels an open step, and closes. Then waits until all ranks
  /// have left, which the agent serves until then, but at most stall_max().
  void shut_down() noexcept;
  bool is_closed() const;
  /// True if the agent has ended.
  bool has_ended() const { return agent_->has_ended(); }

 private:
  friend class StepWriterCore;
  Error error(ErrorClass kind, std::string operation, std::string cause) const;
  Status check_begin(std::uint64_t number) const;
  std::uint64_t next_group() const;
  bool may_begin() const;
  std::shared_ptr<const WritePlan> take_plan(std::uint64_t group);
  Result<StepId> register_step(std::uint64_t number);
  void handle_step_closed(const Packer& packer);
  void cancel_open_step() noexcept;
  Status failures_of_steps() const;

  const detail::OriginProcess origin_;
  const Setup setup_;
  std::shared_ptr<DatasetAgent> agent_;

  mutable std::mutex mutex_;
  std::condition_variable resolved_;
  std::uint64_t begin_end_;
  /// Of groups that are decided and not before the one of the newest step. Others have the plan at
  /// opening.
  std::map<std::uint64_t, std::shared_ptr<const WritePlan>> plans_;
  std::uint64_t steps_begun_ = 0;
  std::uint32_t steps_in_flight_ = 0;
  std::optional<StepId> open_step_;  ///< begun and not committed
  bool is_closed_ = false;
  bool is_tuning_saved_ = false;
  std::optional<std::uint64_t> last_begun_;
  std::optional<std::uint64_t> newest_;
  std::optional<Error> first_failure_;  ///< of a step; aborted steps do not count
  format::AttributeTable attributes_;
  std::uint64_t failures_ = 0;  ///< failed steps; aborted ones do not count
  DatasetReport report_;
};

/// One thread at a time.
class StepWriterCore {
 public:
  StepWriterCore(std::shared_ptr<DatasetWriterCore> dataset,
                 const StepId& step,
                 std::shared_ptr<const WritePlan> plan,
                 TimePoint begun_at);
  /// Calls abort_step().
  ~StepWriterCore();
  StepWriterCore(const StepWriterCore&) = delete;
  StepWriterCore& operator=(const StepWriterCore&) = delete;

  std::uint64_t number() const noexcept { return step_.step; }
  Status put(const BlockDescriptor& descriptor,
             std::span<const std::byte> memory,
             const MemoryLayout& layout);
  Status adopt(const BlockDescriptor& descriptor,
               AdoptedBuffer&& buffer,
               const MemoryLayout& layout);
  Status set_attribute(const format::AttributeKey& key, const AttributeValue& value);
  /// Records that put() failed: commit() then fails, too. Returns the Error.
  Status fail(const Error& why);
  Future<Receipt> commit();
  /// Aborts the step, unless it was committed or aborted before.
  void abort_step() noexcept;

 private:
  Status check_process() const;
  Status record_failure(Status outcome);

  const std::shared_ptr<DatasetWriterCore> dataset_;
  const StepId step_;
  const std::shared_ptr<const WritePlan> plan_;
  const TimePoint begun_at_;
  std::chrono::nanoseconds blocked_time_;
  Packer packer_;
  std::optional<Error> failure_;  ///< the first
  bool is_closed_ = false;
};

}  // namespace forebay::write
