// SPDX-License-Identifier: Apache-2.0
// SessionGuest: a session that the agent of this node reads, perhaps in another process. Bytes that
// are there are found in shared memory; for others a word goes to the agent, and one comes back.
// If the agent ends before its guests, they read what they still need for themselves.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "read/agent.hpp"
#include "read/core.hpp"
#include "read/node_messages.hpp"
#include "read/private_lane.hpp"
#include "shm/double_mapping.hpp"
#include "shm/shared_memory.hpp"
#include "shm/window.hpp"

namespace forebay::read {

/// How a guest reaches the agent. Any thread; none of these blocks.
class AgentLine {
 public:
  virtual ~AgentLine() = default;
  virtual void send(const ClientWord& word) noexcept = 0;
  /// Some memory that this process held was given back.
  virtual void tell_of_released_memory() noexcept = 0;
  virtual void leave(const SessionHandle& session) noexcept = 0;
};

class SessionGuest final : public SessionCore {
 public:
  /// What a process has to bring.
  struct Seat {
    std::shared_ptr<storage::File> file;
    ByteRange extent;
    ReadPlan plan;  ///< complete
    Executor* executor = nullptr;
    SessionHandle handle = {};
    std::shared_ptr<AgentLine> line = nullptr;  ///< filled in by NodeClient::open()
    /// Who reads for this process when the agent cannot; asked for when that happens first.
    std::function<Result<std::shared_ptr<Agent>>()> own_agent = nullptr;
    /// How this process would read the file, and why: the agent does as it says.
    Access access = Access::kBuffered;
    std::string access_reason = {};
  };
  /// What the agent has sent.
  struct Share {
    Descriptor window;
    Descriptor table;
    Descriptor ledger;
    std::uint32_t row = 0;
  };

  static Result<std::shared_ptr<SessionGuest>> open(Seat seat, Share share);
  ~SessionGuest() override;

  Result<Presence> want(Need& need, Urgency urgency) override;
  void hint(const Need& need, Urgency urgency) override;
  bool arm(Need& need, detail::Waiter& waiter) override;
  void disarm(SplinterIndex splinter, detail::Waiter& waiter) noexcept override;
  bool help(Need&, detail::Help) override { return false; }
  std::shared_ptr<PrivateRead> read_privately(ByteRange range) override;
  void count_copied(std::uint64_t bytes) override;
  SessionReport report() const override;
  void close() override;

  // For the line.

  /// Fails if the word is malformed.
  Status tell(const AgentWord& word);
  /// Nobody answers any more.
  void orphan();

 private:
  enum class Insistence : std::uint8_t {
    kOnce,    ///< not again if it was asked for just now
    kAlways,  ///< each of those who wait counts
  };
  /// What was asked for, so that who polls does not ask the same again and again.
  struct Asked {
    ValidBytes part;
    Urgency urgency = Urgency::kHint;
    TimePoint at;
    std::uint64_t number = 0;  ///< of the last word of kind kAwait
  };
  struct Waiting {
    detail::Waiter* waiter = nullptr;
    std::uint64_t number = 0;  ///< of its need
  };

  explicit SessionGuest(Seat seat);
  Status attach(Share share);
  bool is_ready(SplinterIndex splinter, ValidBytes part) const;
  bool takes_privately(const Need& need) const;
  void ask(const Need& need, Urgency urgency, Insistence insistence);
  void signal(SplinterIndex splinter, std::uint64_t last);
  void signal_all();
  void follow_growth(std::uint32_t slots) noexcept override;
  void tell_of_released_memory() noexcept override { line_->tell_of_released_memory(); }
  std::uint64_t served_bytes() const;

  const std::shared_ptr<AgentLine> line_;
  const std::function<Result<std::shared_ptr<Agent>>()> own_agent_;
  const std::shared_ptr<storage::File> file_;
  shm::SharedMemory table_;
  shm::SharedMemory ledger_;
  shm::DoubleMapping slots_;  // all that there ever can be
  std::vector<std::uint64_t> served_before_;

  mutable std::mutex mutex_;  // guards all that follows
  shm::WindowView window_;
  std::unordered_map<SplinterIndex, std::vector<Waiting>> waiters_;
  std::unordered_map<SplinterIndex, Asked> asked_;
  std::unordered_set<SplinterIndex> unreadable_;
  NumberedNeeds needs_;
  bool is_orphan_ = false;
  std::shared_ptr<PrivateLane> lane_;  // made when needed first
  std::uint64_t copies_ = 0;
  std::uint64_t copied_bytes_ = 0;
};

}  // namespace forebay::read
