// SPDX-License-Identifier: Apache-2.0
// MappedSession: a session that the node's agent reads, perhaps in another process. Resident bytes
// are read from shared memory. A miss sends a message to the agent, which sends a notification
// back. If the agent ends before its clients, they read what they still need on their own.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "read/bypass_queue.hpp"
#include "read/node_messages.hpp"
#include "read/read_agent.hpp"
#include "read/session_core.hpp"
#include "shm/double_mapping.hpp"
#include "shm/shared_memory.hpp"
#include "shm/window.hpp"

namespace forebay::read {

/// Connection of a client to the agent. Any thread; only invalidate() and start_function() block.
class AgentConnection {
 public:
  virtual ~AgentConnection() = default;
  virtual void send(const LoadRequest& ring_message) noexcept = 0;
  /// This process released memory.
  virtual void notify_memory_released() noexcept = 0;
  virtual void close_session(const SessionHandle& session) noexcept = 0;
  /// Waits until the agent has discarded these bytes. False if it has ended.
  virtual bool invalidate(const SessionHandle& session, ByteRange range) = 0;
  /// As RemotePreExecution::start().
  virtual Status start_function(const SessionHandle& session,
                                std::string_view name,
                                std::span<const std::byte> argument) = 0;
};

class MappedSession final : public SessionCore, private RemotePreExecution {
 public:
  /// Arguments that the client's process supplies.
  struct OpenArgs {
    std::shared_ptr<storage::File> file;
    ByteRange extent;
    ReadPlan plan;  ///< no open values
    Executor* executor = nullptr;
    SessionHandle handle = {};
    std::shared_ptr<AgentConnection> connection = nullptr;  ///< set by NodeClient::open()
    /// Creates the agent that makes private copies for this process, and reads everything once the
    /// node's agent has ended; called at first need.
    std::function<Result<std::shared_ptr<ReadAgent>>()> fallback_agent = nullptr;
    /// How this process would access the file, and why. The node's agent uses this value.
    Access access = Access::kBuffered;
    std::string access_reason = {};
  };
  /// Sent by the agent.
  struct AttachInfo {
    Descriptor window;
    Descriptor table;
    Descriptor ref_counts;
    std::uint32_t client_index = 0;
  };

  static Result<std::shared_ptr<MappedSession>> open(OpenArgs args, AttachInfo info);
  ~MappedSession() override;

  Result<Availability> request(SplinterRequest& request, LoadPriority priority) override;
  void enqueue_load(const SplinterRequest& request, LoadPriority priority) override;
  void push(std::span<const SplinterRequest> requests, std::uint64_t position) override;
  void cancel_push(std::span<const SplinterIndex> splinters) override;
  void invalidate(ByteRange range) override;
  std::chrono::nanoseconds load_latency() const override;
  RemotePreExecution* remote_preexecution() noexcept override { return this; }
  bool arm(SplinterRequest& request, detail::Waiter& waiter) override;
  void disarm(SplinterIndex splinter, detail::Waiter& waiter) noexcept override;
  bool help(SplinterRequest&, detail::Help) override { return false; }
  std::shared_ptr<BypassRead> start_bypass_read(ByteRange range) override;
  void record_view_copy(std::uint64_t bytes) override;
  SessionReport make_report() const override;
  void close_session() override;

  // For NodeClient.

  /// Fails if the message is malformed.
  Status handle_notification(const LoadNotification& ring_message);
  /// The agent has ended and sends no more notifications.
  void handle_agent_exit();

 private:
  enum class ResendPolicy : std::uint8_t {
    kIfExpired,  ///< not again within the resend interval
    kAlways,     ///< send one message for each waiter
  };
  /// The last request sent for a splinter, so that polling does not send the same one again.
  struct SentRequest {
    SplinterPart part;
    LoadPriority priority = LoadPriority::kHint;
    TimePoint sent_at;
    std::uint64_t sequence = 0;  ///< of the last message of kind kNotify
  };
  struct WaiterEntry {
    detail::Waiter* waiter = nullptr;
    std::uint64_t sequence = 0;  ///< of its request
  };

  Status start(std::string_view name, std::span<const std::byte> argument) override {
    return connection_->start_function(handle(), name, argument);
  }
  void observe(const ByteRange& read, std::uint64_t position) override;
  explicit MappedSession(OpenArgs args);
  Status attach(AttachInfo info);
  bool is_ready(SplinterIndex splinter, SplinterPart part) const;
  bool should_bypass(const SplinterRequest& request) const;
  void send_request(const SplinterRequest& request, LoadPriority priority, ResendPolicy policy);
  void signal_waiters(SplinterIndex splinter, std::uint64_t last);
  void signal_all_waiters();
  void map_grown_window(std::uint32_t slots) noexcept override;
  void notify_memory_released() noexcept override { connection_->notify_memory_released(); }
  std::uint64_t served_bytes() const;

  const std::shared_ptr<AgentConnection> connection_;
  const std::function<Result<std::shared_ptr<ReadAgent>>()> fallback_agent_;
  const std::shared_ptr<storage::File> file_;
  shm::SharedMemory table_;
  shm::SharedMemory ref_counts_;
  shm::DoubleMapping slots_;  // address space for the largest window
  std::vector<std::uint64_t> served_at_open_;

  mutable std::mutex mutex_;  // guards all members below
  shm::WindowView window_;
  std::unordered_map<SplinterIndex, std::vector<WaiterEntry>> waiters_;
  std::unordered_map<SplinterIndex, SentRequest> sent_requests_;
  std::unordered_set<SplinterIndex> unreadable_;
  RequestSequencer sequencer_;
  bool has_lost_agent_ = false;
  std::shared_ptr<BypassQueue> bypass_queue_;  // created at first need
  std::uint64_t copies_ = 0;
  std::uint64_t copied_bytes_ = 0;
};

}  // namespace forebay::read
