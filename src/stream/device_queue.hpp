// SPDX-License-Identifier: Apache-2.0
// DeviceQueue: the one place from which a device is written in one way (directly, or through the
// page cache). A thread with an engine takes parcels of any number of streams, cuts them into
// requests, shares the device out fairly among the streams, and keeps no more bytes under way than
// the device's budget allows.
#pragma once

#include <forebay/access.hpp>
#include <forebay/error.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "storage/backend.hpp"
#include "storage/engine.hpp"
#include "stream/budget.hpp"
#include "stream/inbox.hpp"
#include "stream/parcel.hpp"
#include "stream/target.hpp"

namespace forebay::stream {

class DeviceQueue {
 public:
  /// Called on the queue's thread, which becomes the backend's issuer.
  using MakeBackend = std::function<Result<std::unique_ptr<storage::Backend>>()>;

  /// Starts the thread. Fails if there is no backend or no thread.
  static Result<std::shared_ptr<DeviceQueue>> start(const MakeBackend& make_backend,
                                                    std::shared_ptr<Budget> budget);
  /// As stop().
  ~DeviceQueue();
  DeviceQueue(const DeviceQueue&) = delete;
  DeviceQueue& operator=(const DeviceQueue&) = delete;

  /// Hands over a parcel or a barrier of an account, both of which live until the client has it
  /// back. Those of one thread arrive in their order. Any thread; never blocks.
  void push(Parcel& parcel) noexcept;

  /// Makes the queue look again: a client has given up. Any thread; never blocks.
  void ring() noexcept;

  /// Ends the thread when nothing is left to do: all clients must have given up. What is pushed
  /// later is given back at once.
  void stop() noexcept;

  const std::string& backend_name() const noexcept { return backend_name_; }
  const Budget& budget() const noexcept { return *budget_; }

 private:
  enum class FlightKind : std::uint8_t { kData, kSpace, kBlockWrite, kSync };
  /// An operation under way, or about to be.
  struct Flight {
    FlightKind kind = FlightKind::kData;
    Target* target = nullptr;
    ByteRange range = {};
    Parcel* parcel = nullptr;    ///< data: whose
    Account* account = nullptr;  ///< space: who waits for it
    ByteRange wanted = {};       ///< space: what it is needed for
    EdgeBlock* block = nullptr;
    Barrier* barrier = nullptr;  ///< sync: whose
  };

  explicit DeviceQueue(std::shared_ptr<Budget> budget) : budget_(std::move(budget)) {}
  void live(const MakeBackend& make_backend, std::promise<Status>& started);
  void run();
  bool sleep_until_something_happens();
  bool is_done() const noexcept;

  // arrivals.cpp
  void take_inbox();
  void welcome(Account& account);
  void arrive(Parcel& parcel);
  void arrive(Barrier& barrier);
  void use(Account& account, Target& target);
  void drop_inbox() noexcept;

  void issue();
  void issue_errands();
  void issue_data();
  bool has_request(Account& account);
  void send_request(Account& account);
  static void begin_work(Account& account) noexcept;
  static void end_work(Account& account) noexcept;
  void add_turn(Account& account);
  void end_turn(Account& account) noexcept;
  void start(const Flight& flight, const storage::Operation& operation);
  void run_errand(const Flight& flight);
  storage::Operation operation_of(const Flight& flight) const;
  std::size_t room() const noexcept;

  bool prepare(Parcel& parcel);
  void reserve_space(const Parcel& parcel);
  bool cut_at_edges(Parcel& parcel);
  void put_edge(Parcel& parcel, ByteRange edge);
  void write_block(Target& target, EdgeBlock& block, Account& account);
  void align(Parcel& parcel, ByteRange middle) noexcept;
  void flush_blocks(Target& target);
  bool hold_up(Account& account);
  void let_go_on();

  void complete(const storage::Completion& completion);
  void complete_data(const Flight& flight);
  void complete_errand(const Flight& flight, const Result<std::uint64_t>& outcome);
  void complete_space(const Flight& flight, const Result<std::uint64_t>& outcome);
  void cut_back(Target& target);
  void finish(Parcel& parcel);
  static void fail_users(const Target& target, const Error& error) noexcept;

  // barriers.cpp
  void advance_barriers();
  bool advance(Barrier& barrier);
  void settle_blocks(Barrier& barrier);
  bool start_syncs(Barrier& barrier);
  static void cut(Target& target);
  void count_off(const Parcel& parcel) noexcept;
  std::vector<std::shared_ptr<Target>> targets_of(const Barrier& barrier) const;
  void leave(Barrier& barrier);

  const std::shared_ptr<Budget> budget_;
  std::string backend_name_;
  Inbox<Parcel> inbox_;
  alignas(storage::kHotAtomicBytes) std::atomic<bool> asleep_{false};
  std::atomic<bool> stopping_{false};
  std::atomic<bool> ended_{false};
  std::mutex bell_;
  storage::Engine* engine_ = nullptr;  // guarded by bell_, except for the thread's own use
  std::thread thread_;

  // The thread's own:
  std::uint64_t arrivals_ = 0;
  std::deque<Account*> turns_;
  std::vector<Account*> held_up_;
  std::deque<Flight> errands_;
  std::vector<Barrier*> barriers_;
  std::vector<Flight> flights_;
  std::vector<std::uint32_t> free_flights_;
  std::vector<storage::Operation> batch_;
  std::size_t data_in_flight_ = 0;
};

}  // namespace forebay::stream
