// SPDX-License-Identifier: Apache-2.0
// When answers are due, and the threads that send them then. Requests are handed to the storage
// model; nobody sleeps for one request, so no number of threads bounds how many wait.
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
#include "tools/emufs/alarm.hpp"
#include "tools/emufs/answer.hpp"
#include "tools/emufs/dropper.hpp"
#include "tools/emufs/processors.hpp"

namespace forebay::emufs {

/// The system's monotonic clock, in the model's unit.
model::Time monotonic_now() noexcept;

/// What FUSE itself takes of a request's time, as clients see it.
struct Allowance {
  model::Time before = {};  ///< from the client's call until we have its request
  model::Time after = {};   ///< from when we begin to answer until the client goes on
};

/// A request and its answer.
struct Job {
  model::Request request;
  model::Time taken = {};  ///< when we had it
  Allowance allowance = {};
  /// Of an operation on names: whose pages were dropped for it, which its answer waits for.
  std::optional<model::FileId> changed = {};
  std::unique_ptr<Answer> answer;
};

enum class Delays : std::uint8_t { kKept, kNone };

/// Which request to interrupt; any number that its owner can find again.
using Ticket = std::uint64_t;

class Timekeeper {
 public:
  struct Setup {
    model::Machine machine;
    Delays delays = Delays::kKept;
    DropPages drop_pages = {};  ///< absent: pages are not dropped
    unsigned answer_threads = 2;
    Processors processors = {};  ///< that may be kept awake while requests wait
    /// How long the answer to a write waits for pages of others at most. A page that is locked for
    /// a request that waits behind this answer would be waited for in a ring.
    model::Time pages_patience = std::chrono::milliseconds(10);
    /// The same for what changes a file otherwise: all reads under way are waited for, as they
    /// may bring bytes from before.
    model::Time change_patience = std::chrono::seconds(1);
    /// How often it is looked whether somebody who was sent a signal is still to be served.
    model::Time interrupt_period = std::chrono::seconds(1);
  };

  /// Starts the threads that send answers, and one for each client whose pages may be dropped.
  static Result<std::unique_ptr<Timekeeper>> start(Setup setup);
  /// Stops them. What waits is answered first, without waiting for its time.
  ~Timekeeper();
  Timekeeper(const Timekeeper&) = delete;
  Timekeeper& operator=(const Timekeeper&) = delete;

  Delays delays() const noexcept { return setup_.delays; }

  /// The answer is sent when the model has it done, maybe within the call.
  void submit(Ticket ticket, Job job);
  /// Sends an answer at this moment, without the model. For measurements of FUSE itself.
  void answer_at(model::Time when, std::unique_ptr<Answer> answer);
  /// The client's program was sent a signal. Reading and writing files is not interrupted, as on
  /// local disks: what a request does is done. If it has no answer a second from now, or later, it
  /// is refused with EINTR once `is_dying()`, or if a server has dropped it.
  void interrupt(Ticket ticket, std::function<bool()> is_dying);
  /// The page caches of all clients but one forget a file; answers to writes of it wait for that.
  void drop_pages_of_others(model::ClientId client, model::FileId file);
  /// One client has the size of a file as it is now; answers to changes of the file wait for that.
  void tell_size(model::ClientId client, model::FileId file);
  /// The page cache of one client forgets a file; `then` is called afterwards, in another thread.
  void drop_pages_then(model::ClientId client, model::FileId file, std::function<void()> then);
  /// Uses the model while nothing else does, advanced to now.
  void with_model(const std::function<void(model::StorageModel&, model::Time now)>& use);

 private:
  struct Waiting {
    model::RequestId id = {};
    model::Request request;
    model::Time credit = {};  ///< what it waited before the model knew of it
    model::Time after = {};
    std::optional<model::FileId> changed = {};
    std::unique_ptr<Answer> answer;
  };
  struct Due {
    bool changes_bytes = false;
    model::FileId file = 0;
    model::Time when = {};           ///< unless it waits for pages
    std::uint64_t drops_before = 0;  ///< the last of those that it waits for
    model::Time wait_no_longer = {};
    std::unique_ptr<Answer> answer;
  };
  struct Interrupted {
    Ticket ticket = 0;
    std::function<bool()> is_dying;
  };
  /// Pages of requests under way come with bytes that are new, or with what was before.
  enum class UnderWay : std::uint8_t { kNew, kOld };
  class Ends;

  explicit Timekeeper(Setup setup);
  Status start_threads();
  void answer_what_is_due();
  void send_next(std::unique_lock<std::mutex>& lock);
  std::multimap<model::Time, Due>::node_type wait_for_next(std::unique_lock<std::mutex>& lock);
  void advance(model::Time now);
  void finish(const model::Finished& finished);
  void refuse_interrupted(model::Time now);
  void rest(model::Time now);
  bool delay_until_pages_are_dropped();
  model::Time next_wake() const;
  model::Time look_ahead() const;
  void wake_leader_if_earlier();
  void drop_pages_of(const model::LockLost& lost, UnderWay under_way);
  std::vector<ByteRange> pages_under_way(const model::LockLost& lost) const;
  void drop(const model::LockLost& lost, ByteRange range);
  void drop_unseen(const model::LockLost& lost, ByteRange range);
  bool waits_for_pages(const Due& due) const;
  void pages_dropped(model::FileId file, std::uint64_t number);

  Setup setup_;
  std::mutex mutex_;
  std::condition_variable leader_wakes_;
  std::condition_variable follower_wakes_;
  model::StorageModel model_;
  model::Time advanced_to_ = {};
  std::unordered_map<Ticket, Waiting> waiting_;
  std::multiset<model::Time> afters_;  ///< of what waits
  std::multimap<model::Time, Due> due_;
  std::multimap<model::Time, Interrupted> interrupted_;
  std::unordered_map<model::FileId, std::set<std::uint64_t>> dropping_;  ///< by number
  std::uint64_t last_drop_ = 0;
  Alarm alarm_;
  model::Time wakes_at_ = model::Time::max();
  bool has_leader_ = false;
  bool stopping_ = false;
  std::vector<std::unique_ptr<Dropper>> droppers_;
  std::vector<std::thread> threads_;
};

}  // namespace forebay::emufs
