// SPDX-License-Identifier: Apache-2.0
// AgentContext: what the roles of an agent (StepProducer, Aggregator, FileOwner, CommitCoordinator)
// use: rank, plans, messages to other ranks, files. Belongs to the agent's thread, except post().
#pragma once

#include <forebay/error.hpp>
#include <forebay/write_plan.hpp>

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "comm/communicator.hpp"
#include "comm/link.hpp"
#include "write/aggregation_map.hpp"
#include "write/async_file_writer.hpp"
#include "write/collective_io_thread.hpp"
#include "write/messages.hpp"
#include "write/plan_schedule.hpp"

namespace forebay::write {

class AgentContext {
 public:
  using Words = std::array<std::uint64_t, 4>;

  AgentContext() = default;
  AgentContext(const AgentContext&) = delete;
  AgentContext& operator=(const AgentContext&) = delete;
  virtual ~AgentContext() = default;

  virtual comm::Rank rank() const noexcept = 0;
  virtual std::uint32_t rank_count() const noexcept = 0;
  virtual const std::string& path() const noexcept = 0;  ///< of the dataset
  virtual const PlanSchedule& plans() const noexcept = 0;
  virtual bool is_same_node(comm::Rank other) const noexcept = 0;
  virtual AsyncFileWriter& file_writer() noexcept = 0;
  /// Null unless the transfer mode of the plan at opening is collective.
  virtual CollectiveIoThread* collective_io_thread() noexcept = 0;

  /// Sends a message. Never blocks. Drops a message whose recipient is lost; handle_rank_lost() of
  /// the roles reports that loss.
  virtual void send(comm::Rank to, MessageKind kind, const Words& words, comm::Bytes payload) = 0;
  /// As send(), without a copy: `payload` must stay unchanged until `on_sent` is called. It is
  /// called exactly once, or never if the agent ends first.
  virtual void send_in_place(comm::Rank to,
                             MessageKind kind,
                             const Words& words,
                             std::span<const std::byte> payload,
                             comm::Link::OnSent on_sent) = 0;
  /// Sends `payload` as messages of at most kFragmentBytesMax, which arrive in order. An empty
  /// payload is one message.
  void send_fragmented(comm::Rank to,
                       MessageKind kind,
                       const Words& words,
                       std::span<const std::byte> payload);
  /// Any thread: runs `work` on the agent's thread soon. Drops it if the agent has ended.
  virtual void post(std::function<void()> work) = 0;

  /// The plan at opening, for values that do not change (PlanSchedule::complete()).
  const WritePlan& plan() const { return plans().plan_at_opening(); }
  const WritePlan& plan(const StepId& step) const { return *plans().plan(step.group); }
  const AggregationMap& aggregation(const StepId& step) const {
    return plans().aggregation(step.group);
  }
  std::uint32_t compute_rank_count() const { return plans().compute_rank_count(); }

  /// Returns an Error of this dataset with this cause.
  Error error(ErrorClass kind, std::string operation, std::string cause) const {
    return Error({.kind = kind,
                  .operation = std::move(operation),
                  .path = path(),
                  .cause = std::move(cause)});
  }
  /// Reports to the coordinator that this step cannot be completed, and why.
  void report_failure(const StepId& step, const Error& why);
};

inline AgentContext::Words message_words(const StepId& step,
                                         std::uint64_t third = 0,
                                         std::uint64_t fourth = 0) {
  return {step.step, step.group, third, fourth};
}
inline StepId step_id_of(const comm::LinkHeader& header) {
  return {header.words[0], header.words[1]};
}

}  // namespace forebay::write
