// SPDX-License-Identifier: Apache-2.0
// SessionHost: a session where it is read: the window's memory, the schedule behind one lock, and
// those who wait. Its tasks are in this process; or it serves clients in several processes of the
// node, who reach it by messages (node_agent.hpp), and has no tasks of its own.
#pragma once

#include <forebay/log.hpp>

#include <functional>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "read/core.hpp"
#include "read/node_messages.hpp"
#include "read/private_lane.hpp"
#include "read/remote_reader.hpp"
#include "read/transfer_source.hpp"
#include "read/window_pool.hpp"

namespace forebay::read {

/// Memory for the books of a session, and the books in it.
struct Books {
  std::shared_ptr<void> memory;
  shm::SessionBooks books;
};

/// Makes Books of a shape.
using MakeBooks = std::function<Result<Books>(const shm::BooksShape&)>;

/// Somebody in another process who takes data from a session.
class Client {
 public:
  virtual ~Client() = default;
  /// Called by any thread, under the session's lock: must not block and must not call back.
  virtual void tell(const AgentWord& word) noexcept = 0;
};

/// What the books of a session on `extent` must hold.
shm::BooksShape shape_of_books(ByteRange extent, const ReadPlan& plan, std::uint32_t clients);

class SessionHost final : public SessionCore, public TransferSource {
 public:
  struct Setup {
    std::shared_ptr<storage::File> file;
    ByteRange extent;
    ReadPlan plan;  ///< complete
    std::shared_ptr<WindowPool> windows;
    std::shared_ptr<Agent> agent;
    Executor* executor = nullptr;
    bool cached = false;  ///< reading it is copying from the page cache, as far as can be told
    SessionHandle handle = {};
    /// For a session whose tasks are clients; null: they are in this process.
    MakeBooks make_books = nullptr;
    /// Rows of the ledger; the last one is that of this process.
    std::uint32_t clients = 1;
    std::shared_ptr<RemoteReader> remote = nullptr;
  };

  /// Takes memory from the pool. Reading starts when the agent is told (Agent::serve).
  static Result<std::shared_ptr<SessionHost>> open(const Setup& setup);

  Result<Presence> want(Need& need, Urgency urgency) override;
  void hint(const Need& need, Urgency urgency) override;
  bool arm(Need& need, detail::Waiter& waiter) override;
  void disarm(SplinterIndex splinter, detail::Waiter& waiter) noexcept override;
  bool help(Need& need, detail::Help how) override;
  std::shared_ptr<PrivateRead> read_privately(ByteRange range) override;
  void count_copied(std::uint64_t bytes) override;
  SessionReport report() const override;
  void close() override;

  // For clients in other processes.

  /// Sends `client` one AgentWord, now or later, when the splinter of `word` has changed.
  void await(const ClientWord& word, Client& client);
  /// Whoever has `row` of the ledger gave memory back. It is told to the agent if that waits for
  /// it.
  void tell_of_released_memory() noexcept override;
  /// `client` waits for nothing any more.
  void forget(const Client& client);
  /// The client of `row` is gone, and so is what it held.
  void drop_pins_of(std::uint32_t row);
  /// A descriptor of the window, to be mapped for reading.
  Result<Descriptor> share_window() const;
  /// False once a closed session has given its memory back.
  bool holds_memory() const;

  // For the agent.

  storage::File& file() const noexcept override { return SessionCore::file(); }
  std::uint64_t operation_bytes() const noexcept override { return plan().request_bytes; }
  std::uint64_t transfer_bytes_max() const noexcept override { return plan().splinter_bytes; }
  using TransferSource::next_transfer;
  bool next_transfer(Transfer& transfer, Urgency least) override;
  std::optional<TimePoint> retry_at() const override;
  void finish(const Transfer& transfer, const Result<std::uint64_t>& bytes) override;
  bool cached() const noexcept override { return cached_; }
  RemoteReader* remote() const noexcept override { return remote_.get(); }

 private:
  /// Somebody who waits for a splinter, and for how much of it.
  struct Waiting {
    detail::Waiter* waiter = nullptr;
    Client* client = nullptr;  ///< instead
    std::uint32_t bytes = 0;
    std::uint64_t number = 0;  ///< of the client's word
  };

  SessionHost(const Setup& setup, WindowPool::Lease lease, Books books);
  Status map_window(std::uint32_t slots);
  Schedule::Verdict next_load(Load& load, Urgency least);
  void grow();
  void starve(SplinterIndex splinter);
  void signal_waiters(SplinterIndex splinter, News news);
  Result<Presence> want_locked(Need& need, Urgency urgency);
  Transfer transfer_of(const Load& load) const;
  void rest();
  void give_memory_back();
  void publish_counts() const;
  void set_stall(shm::Stall stall) const noexcept {
    books().header().stall.store(stall, std::memory_order_seq_cst);
  }
  std::shared_ptr<SessionHost> shared_host() {
    return std::static_pointer_cast<SessionHost>(shared_from_this());
  }

  const std::shared_ptr<void> books_memory_;
  const std::shared_ptr<Agent> agent_;
  const bool cached_;
  const std::shared_ptr<PrivateLane> lane_;
  const std::shared_ptr<RemoteReader> remote_;

  mutable std::mutex mutex_;  // guards all that follows
  WindowPool::Lease lease_;
  std::byte* window_ = nullptr;  // as it is mapped now
  Schedule schedule_;
  std::unordered_map<SplinterIndex, std::vector<Waiting>> waiters_;
  std::unordered_set<SplinterIndex> unreadable_;
  NumberedNeeds needs_;
  SessionReport counts_;
};

}  // namespace forebay::read
