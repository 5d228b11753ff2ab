// SPDX-License-Identifier: Apache-2.0
// DeviceQueue: the only place that writes to a device with one access method (direct, or through
// the page cache). A thread with an engine takes submissions of any number of streams, and splits
// them into requests. It shares the device fairly among the streams, and keeps at most the bytes of
// the device's budget in flight.
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
#include "stream/in_flight_budget.hpp"
#include "stream/mpsc_queue.hpp"
#include "stream/output_file_state.hpp"
#include "stream/submission.hpp"

namespace forebay::stream {

class DeviceQueue {
 public:
  /// Called on the queue's thread, which becomes the backend's issuer.
  using MakeBackend = std::function<Result<std::unique_ptr<storage::Backend>>()>;

  /// Starts the thread. Fails if the backend or the thread cannot be created.
  static Result<std::shared_ptr<DeviceQueue>> start(const MakeBackend& make_backend,
                                                    std::shared_ptr<InFlightBudget> budget);
  /// As stop().
  ~DeviceQueue();
  DeviceQueue(const DeviceQueue&) = delete;
  DeviceQueue& operator=(const DeviceQueue&) = delete;

  /// Passes a submission or a barrier of a client to the queue. It and its ClientState live until
  /// the client gets it back. Those of one thread arrive in order. Any thread; never blocks.
  void push(Submission& submission) noexcept;

  /// Makes the queue check its clients: one has stopped. Any thread; never blocks.
  void wake() noexcept;

  /// Ends the thread once it has no work left: all clients must have stopped. Later pushes are
  /// returned at once.
  void stop() noexcept;

  const std::string& backend_name() const noexcept { return backend_name_; }
  const InFlightBudget& budget() const noexcept { return *budget_; }

 private:
  enum class InFlightKind : std::uint8_t { kData, kReservation, kBlockWrite, kSync };
  /// An operation in flight, or about to be.
  struct InFlight {
    InFlightKind kind = InFlightKind::kData;
    OutputFileState* file_state = nullptr;
    ByteRange range = {};
    Submission* submission = nullptr;     ///< data: its submission
    ClientState* client_state = nullptr;  ///< reservation: the client that waits for it
    ByteRange required = {};              ///< reservation: the range that needs it
    PartialBlock* block = nullptr;
    Barrier* barrier = nullptr;  ///< sync: its barrier
  };

  explicit DeviceQueue(std::shared_ptr<InFlightBudget> budget) : budget_(std::move(budget)) {}
  void thread_main(const MakeBackend& make_backend, std::promise<Status>& started);
  void run();
  bool prepare_to_wait();
  bool is_done() const noexcept;

  // submissions.cpp
  void take_submissions();
  void attach_client(ClientState& client_state);
  void enqueue(Submission& submission);
  void enqueue(Barrier& barrier);
  void attach_file(ClientState& client_state, OutputFileState& file_state);
  void reject_submissions() noexcept;

  void issue();
  void issue_auxiliary();
  void issue_data();
  bool has_request(ClientState& client_state);
  void send_request(ClientState& client_state);
  static void begin_work(ClientState& client_state) noexcept;
  static void end_work(ClientState& client_state) noexcept;
  void activate_client(ClientState& client_state);
  void deactivate_client(ClientState& client_state) noexcept;
  void start(const InFlight& entry, const storage::Operation& operation);
  void enqueue_auxiliary(const InFlight& entry);
  storage::Operation operation_of(const InFlight& entry) const;
  std::size_t free_capacity() const noexcept;

  bool prepare(Submission& submission);
  void reserve_space(const Submission& submission);
  bool stage_partial_blocks(Submission& submission);
  void stage_partial_block(Submission& submission, ByteRange edge);
  void write_block(OutputFileState& file_state, PartialBlock& block, ClientState& client_state);
  void align(Submission& submission, ByteRange middle) noexcept;
  void flush_blocks(OutputFileState& file_state);
  bool suspend_client(ClientState& client_state);
  void resume_clients();

  void complete(const storage::Completion& completion);
  void complete_data(const InFlight& entry);
  void complete_auxiliary(const InFlight& entry, const Result<std::uint64_t>& outcome);
  void complete_reservation(const InFlight& entry, const Result<std::uint64_t>& outcome);
  void trim_reservation(OutputFileState& file_state);
  void finish(Submission& submission);
  static void fail_clients(const OutputFileState& file_state, const Error& error) noexcept;

  // barriers.cpp
  void advance_barriers();
  bool advance(Barrier& barrier);
  void flush_partial_blocks(Barrier& barrier);
  bool start_syncs(Barrier& barrier);
  static void set_final_size(OutputFileState& file_state);
  void count_completed(const Submission& submission) noexcept;
  std::vector<std::shared_ptr<OutputFileState>> files_of(const Barrier& barrier) const;
  void finish_barrier(Barrier& barrier);

  const std::shared_ptr<InFlightBudget> budget_;
  std::string backend_name_;
  MpscQueue<Submission> incoming_;
  alignas(storage::kFalseSharingBytes) std::atomic<bool> is_sleeping_{false};
  std::atomic<bool> is_stopping_{false};
  std::atomic<bool> has_ended_{false};
  std::mutex engine_mutex_;
  storage::Engine* engine_ = nullptr;  // guarded by engine_mutex_, except in the thread itself
  std::thread thread_;

  // Used by the thread only:
  std::uint64_t sequence_ = 0;
  std::deque<ClientState*> active_clients_;
  std::vector<ClientState*> suspended_clients_;
  std::deque<InFlight> auxiliary_;
  std::vector<Barrier*> barriers_;
  std::vector<InFlight> in_flight_;
  std::vector<std::uint32_t> free_slots_;
  std::vector<storage::Operation> batch_;
  std::size_t data_in_flight_ = 0;
};

}  // namespace forebay::stream
