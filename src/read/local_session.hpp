// SPDX-License-Identifier: Apache-2.0
// LocalSession: a session in the process of its agent. It holds the memory of the window, the load
// scheduler behind one lock, and the waiters. Either its tasks are in this process, or it has no
// tasks and serves clients in several processes of the node by messages (node_server.hpp).
#pragma once

#include <forebay/log.hpp>

#include <functional>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "read/bypass_queue.hpp"
#include "read/mean_latency.hpp"
#include "read/node_messages.hpp"
#include "read/remote_reader.hpp"
#include "read/session_core.hpp"
#include "read/transfer_source.hpp"
#include "read/window_pool.hpp"

namespace forebay::read {

/// A session control block and its memory.
struct ControlBlockMemory {
  std::shared_ptr<void> memory;
  shm::SessionControlBlock control_block;
};

/// Creates ControlBlockMemory of a shape.
using ControlBlockFactory =
    std::function<Result<ControlBlockMemory>(const shm::ControlBlockShape&)>;

/// A client of a session, in another process.
class SessionClient {
 public:
  virtual ~SessionClient() = default;
  /// Called by any thread, under the session's lock: must not block and must not call the session.
  virtual void send(const LoadNotification& ring_message) noexcept = 0;
};

/// Shape of the control block of a session on `extent`.
shm::ControlBlockShape control_block_shape(ByteRange extent,
                                           const ReadPlan& plan,
                                           std::uint32_t clients);

class LocalSession final : public SessionCore, public TransferSource {
 public:
  struct OpenArgs {
    std::shared_ptr<storage::File> file;
    ByteRange extent;
    ReadPlan plan;  ///< no open values
    std::shared_ptr<WindowPool> windows;
    std::shared_ptr<ReadAgent> agent;
    Executor* executor = nullptr;
    bool is_cached = false;  ///< reads are copies from the page cache, as far as known
    SessionHandle handle = {};
    /// For a session whose tasks are clients. Null: its tasks are in this process.
    ControlBlockFactory create_control_block = nullptr;
    /// Rows of the reference counts; the last one is that of this process.
    std::uint32_t clients = 1;
    std::shared_ptr<RemoteReader> remote_reader = nullptr;
  };

  /// Takes memory from the pool. Reading starts when the agent is notified (ReadAgent::notify()).
  static Result<std::shared_ptr<LocalSession>> open(const OpenArgs& args);

  Result<Availability> request(SplinterRequest& request, LoadPriority priority) override;
  void enqueue_load(const SplinterRequest& request, LoadPriority priority) override;
  void push(std::span<const SplinterRequest> requests, std::uint64_t position) override {
    push(requests, position, client_index());
  }
  void cancel_push(std::span<const SplinterIndex> splinters) override {
    cancel_push(splinters, client_index());
  }
  void invalidate(ByteRange range) override;
  std::chrono::nanoseconds load_latency() const override { return latency_.value(); }
  bool arm(SplinterRequest& request, detail::Waiter& waiter) override;
  void disarm(SplinterIndex splinter, detail::Waiter& waiter) noexcept override;
  bool help(SplinterRequest& request, detail::Help how) override;
  std::shared_ptr<BypassRead> start_bypass_read(ByteRange range) override;
  void record_view_copy(std::uint64_t bytes) override;
  SessionReport make_report() const override;
  void close_session() override;

  // For clients in other processes.

  /// SessionCore::push() and cancel_push() of a client.
  void push(std::span<const SplinterRequest> requests,
            std::uint64_t position,
            std::uint32_t client);
  void cancel_push(std::span<const SplinterIndex> splinters, std::uint32_t client);

  /// Sends one LoadNotification to `client`, now or later, when the splinter of `ring_message` has
  /// changed.
  void add_client_waiter(const LoadRequest& ring_message, SessionClient& client);
  /// This process or a client released memory. Notifies the agent if it waits for memory.
  void notify_memory_released() noexcept override;
  /// The client makes no more accesses: memory is not kept for its predicted uses.
  void forget_uses(std::uint32_t client) {
    const std::lock_guard lock(mutex_);
    scheduler_.forget_uses(client);
  }
  /// Removes all waiters of `client`.
  void remove_waiters(const SessionClient& client);
  /// The client of `client_index` has died: drops its pins.
  void clear_pins(std::uint32_t client_index);
  /// A descriptor of the window, to be mapped read-only.
  Result<Descriptor> share_window() const;
  /// False once a closed session has released its memory.
  bool has_memory() const;

  // For the agent.

  storage::File& file() const noexcept override { return SessionCore::file(); }
  std::uint64_t operation_bytes() const noexcept override { return plan().tuning.request_bytes; }
  std::uint64_t transfer_bytes_max() const noexcept override {
    return plan().tuning.splinter_bytes;
  }
  using TransferSource::next_transfer;
  bool next_transfer(Transfer& transfer, LoadPriority least) override;
  std::optional<TimePoint> retry_at() const override;
  void finish(const Transfer& transfer, const Result<std::uint64_t>& bytes) override;
  bool is_cached() const noexcept override { return is_cached_; }
  RemoteReader* remote_reader() const noexcept override { return remote_reader_.get(); }

 private:
  /// A waiter for a splinter, and for how many of its bytes.
  struct WaiterEntry {
    detail::Waiter* waiter = nullptr;
    SessionClient* client = nullptr;  ///< set instead of `waiter`
    std::uint32_t bytes = 0;
    std::uint64_t sequence = 0;  ///< of the client's message
  };

  LocalSession(const OpenArgs& args,
               WindowPool::Allocation allocation,
               ControlBlockMemory control_block);
  Status map_window(std::uint32_t slots);
  LoadScheduler::Decision next_load(Load& load, LoadPriority least);
  void grow();
  void fail_for_memory(SplinterIndex splinter);
  void signal_waiters(SplinterIndex splinter, NotificationKind kind);
  Result<Availability> request_locked(SplinterRequest& request, LoadPriority priority);
  Transfer make_transfer(const Load& load) const;
  void update_memory_wait();
  void release_window();
  void publish_report() const;
  void set_memory_wait(shm::MemoryWait memory_wait) const noexcept {
    control_block().header().memory_wait.store(memory_wait, std::memory_order_seq_cst);
  }
  std::shared_ptr<LocalSession> shared_local() {
    return std::static_pointer_cast<LocalSession>(shared_from_this());
  }

  const std::shared_ptr<void> control_block_memory_;
  const std::shared_ptr<ReadAgent> agent_;
  const bool is_cached_;
  const std::shared_ptr<BypassQueue> bypass_queue_;
  const std::shared_ptr<RemoteReader> remote_reader_;

  MeanLatency latency_;

  mutable std::mutex mutex_;  // guards all members below
  WindowPool::Allocation window_allocation_;
  std::byte* window_ = nullptr;  // present mapping
  LoadScheduler scheduler_;
  std::unordered_map<SplinterIndex, std::vector<WaiterEntry>> waiters_;
  std::unordered_set<SplinterIndex> unreadable_;
  std::unordered_set<SplinterIndex> outdated_loads_;  ///< in flight, of bytes that have changed
  RequestSequencer sequencer_;
  SessionReport report_;
};

}  // namespace forebay::read
