// SPDX-License-Identifier: Apache-2.0
// What the roles that an agent plays (member, writer, owner of files, coordinator) know of their
// surroundings: who they are, the plan, how to say something to other ranks, how to use files. All
// of it belongs to the agent's thread but post().
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
#include "write/file_lane.hpp"
#include "write/letters.hpp"
#include "write/round_caller.hpp"
#include "write/routes.hpp"

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
  virtual const WritePlan& plan() const noexcept = 0;
  virtual const Routes& routes() const noexcept = 0;
  virtual bool is_on_my_node(comm::Rank other) const noexcept = 0;
  virtual FileLane& lane() noexcept = 0;
  /// Null unless the schedule is collective.
  virtual RoundCaller* round_caller() noexcept = 0;

  /// Never blocks. What cannot be sent is dropped: its reader's end was told to all roles, or is
  /// about to be.
  virtual void send(comm::Rank to, LetterKind kind, const Words& words, comm::Bytes payload) = 0;
  /// The same for bytes that stay where they are until `on_sent` was called, which is once.
  virtual void send_in_place(comm::Rank to,
                             LetterKind kind,
                             const Words& words,
                             std::span<const std::byte> payload,
                             comm::Link::OnSent on_sent) = 0;
  /// As letters of at most kPieceBytesMax, which arrive in their order; one letter if there is
  /// nothing.
  void send_in_pieces(comm::Rank to,
                      LetterKind kind,
                      const Words& words,
                      std::span<const std::byte> payload);
  /// Any thread: runs `work` on the agent's thread soon; drops it if the agent has ended.
  virtual void post(std::function<void()> work) = 0;

  /// An Error of this dataset, for the cause given.
  Error error(ErrorClass kind, std::string operation, std::string cause) const {
    return Error({.kind = kind,
                  .operation = std::move(operation),
                  .path = path(),
                  .cause = std::move(cause)});
  }
  /// To the coordinator: this step cannot be.
  void report_failure(const StepName& step, const Error& why);
};

inline AgentContext::Words words_of(const StepName& step,
                                    std::uint64_t third = 0,
                                    std::uint64_t fourth = 0) {
  return {step.step, step.group, third, fourth};
}
inline StepName step_of(const comm::LinkHeader& header) {
  return {header.words[0], header.words[1]};
}

}  // namespace forebay::write
