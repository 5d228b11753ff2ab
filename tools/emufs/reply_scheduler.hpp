// SPDX-License-Identifier: Apache-2.0
// Computes when replies are due, and sends them then. Requests go to the storage model. No thread
// sleeps for a single request, so the number of threads does not bound the number of waiting
// requests.
#pragma once

#include <forebay/error.hpp>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <thread>
#include <unordered_map>
#include <vector>

#include "model/storage_model.hpp"
#include "tools/emufs/cache_invalidator.hpp"
#include "tools/emufs/cpu_latency.hpp"
#include "tools/emufs/reply.hpp"
#include "tools/emufs/wakeup_compensation.hpp"

namespace forebay::emufs {

/// The system's monotonic clock, in the model's unit.
model::Time monotonic_now() noexcept;

/// The time that FUSE adds to a request, as clients see it.
struct FuseOverhead {
  model::Time before = {};  ///< from the client's call until emufs has its request
  model::Time after = {};   ///< from the start of the reply until the client continues
};

/// A request and its reply.
struct ScheduledRequest {
  model::Request request;
  model::Time arrival = {};  ///< when emufs received it
  FuseOverhead overhead = {};
  /// Set for an operation on names: the file whose pages were dropped for it, which the reply waits
  /// for.
  std::optional<model::FileId> changed_file = {};
  std::unique_ptr<Reply> reply;
};

enum class DelayMode : std::uint8_t { kEnabled, kDisabled };

/// Identifies a request to interrupt; any number that its owner can find again.
using Ticket = std::uint64_t;

class ReplyScheduler {
 public:
  struct Setup {
    model::Machine machine;
    DelayMode delay_mode = DelayMode::kEnabled;
    InvalidatePages invalidate_pages = {};  ///< absent: pages are not dropped
    unsigned reply_threads = 2;
    CpuLatency cpu_latency = {};  ///< may be kept awake while requests wait
    /// How long the reply to a write waits for pages of other clients at most. A bound is needed: a
    /// page may be locked for a request that waits behind this reply, which is a deadlock.
    model::Time invalidation_timeout = std::chrono::milliseconds(10);
    /// The same for other changes of a file. They wait for all reads in flight, which may return
    /// bytes from before.
    model::Time change_timeout = std::chrono::seconds(1);
    /// How often an interrupted request is checked again.
    model::Time interrupt_period = std::chrono::seconds(1);
  };

  /// Starts the threads that send replies, and one for each client whose pages may be dropped.
  static Result<std::unique_ptr<ReplyScheduler>> start(Setup setup);
  /// Stops them. Waiting replies are sent first, without waiting for their time.
  ~ReplyScheduler();
  ReplyScheduler(const ReplyScheduler&) = delete;
  ReplyScheduler& operator=(const ReplyScheduler&) = delete;

  DelayMode delay_mode() const noexcept { return setup_.delay_mode; }

  /// The reply is sent when the model has completed the request, maybe within the call.
  void submit(Ticket ticket, ScheduledRequest job);
  /// Sends a reply at the given time, without the model. For measurements of FUSE itself.
  void reply_at(model::Time when, std::unique_ptr<Reply> reply);
  /// The client's program received a signal. Reads and writes of files are not interrupted, as on
  /// local disks: the request has been carried out. A request without a reply one second from now
  /// or later fails with EINTR once `is_dying` returns true, or if a server has dropped it.
  void interrupt(Ticket ticket, std::function<bool()> is_dying);
  /// Invalidates a file in the page caches of all clients but one. Replies to writes of the file
  /// wait for that.
  void invalidate_other_clients(model::ClientId client, model::FileId file);
  /// Sends the present size of a file to one client. Replies to changes of the file wait for that.
  void notify_size(model::ClientId client, model::FileId file);
  /// Invalidates a file in the page cache of one client, then calls `on_done` in another thread.
  void invalidate_then(model::ClientId client, model::FileId file, std::function<void()> on_done);
  /// Calls `use` with exclusive access to the model, advanced to now.
  void with_model(const std::function<void(model::StorageModel&, model::Time now)>& use);

 private:
  struct PendingRequest {
    model::RequestId id = {};
    model::Request request;
    model::Time submit_delay = {};  ///< what it waited before the model received it
    model::Time after = {};
    std::optional<model::FileId> changed_file = {};
    std::unique_ptr<Reply> reply;
  };
  struct DueReply {
    bool changes_bytes = false;
    model::FileId file = 0;
    model::Time when = {};                ///< unless it waits for pages
    std::uint64_t last_invalidation = 0;  ///< the last invalidation that it waits for
    model::Time deadline = {};
    std::unique_ptr<Reply> reply;
  };
  struct Interrupted {
    Ticket ticket = 0;
    std::function<bool()> has_pending_fatal_signal;
  };
  /// Pages of requests in flight will hold new bytes, or may hold old ones.
  enum class InFlightPages : std::uint8_t { kNew, kOld };
  class CompletionSink;

  explicit ReplyScheduler(Setup setup);
  Status start_threads();
  void send_due_replies();
  void send_next(std::unique_lock<std::mutex>& lock);
  std::multimap<model::Time, DueReply>::node_type wait_for_next(std::unique_lock<std::mutex>& lock);
  void advance(model::Time now);
  void finish(const model::RequestCompletion& finished);
  void fail_interrupted(model::Time now);
  void update_cpu_latency(model::Time now);
  bool delay_for_invalidation();
  model::Time next_wake() const;
  model::Time look_ahead() const;
  void wake_leader_if_earlier();
  void invalidate_lost_range(const model::LockRevoked& lost, InFlightPages in_flight);
  std::vector<ByteRange> in_flight_pages(const model::LockRevoked& lost) const;
  void invalidate(const model::LockRevoked& lost, ByteRange range);
  void invalidate_untracked(const model::LockRevoked& lost, ByteRange range);
  bool is_awaiting_invalidation(const DueReply& due) const;
  void on_invalidated(model::FileId file, std::uint64_t number);

  Setup setup_;
  std::mutex mutex_;
  std::condition_variable leader_wakes_;
  std::condition_variable follower_wakes_;
  model::StorageModel model_;
  model::Time advanced_to_ = {};
  std::unordered_map<Ticket, PendingRequest> pending_;
  std::multiset<model::Time> reply_overheads_;  ///< of pending requests
  std::multimap<model::Time, DueReply> due_;
  std::multimap<model::Time, Interrupted> interrupted_;
  std::unordered_map<model::FileId, std::set<std::uint64_t>> invalidations_;  ///< by number
  std::uint64_t last_invalidation_ = 0;
  WakeupCompensation wakeup_;
  model::Time wake_time_ = model::Time::max();
  bool has_leader_ = false;
  bool stopping_ = false;
  std::vector<std::unique_ptr<CacheInvalidator>> invalidators_;
  std::vector<std::thread> threads_;
};

}  // namespace forebay::emufs
