// SPDX-License-Identifier: Apache-2.0
// DeviceQueues: the queues of a Runtime, one for each device and access method, created when the
// first file needs it. It also records the files being written. So two streams that write one file
// share its state and its access method.
#pragma once

#include <forebay/access.hpp>
#include <forebay/error.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "model/profile.hpp"
#include "storage/file_system.hpp"
#include "stream/device_queue.hpp"
#include "stream/in_flight_budget.hpp"
#include "stream/in_flight_limit.hpp"
#include "stream/output_file_state.hpp"

namespace forebay::stream {

/// Any thread.
class DeviceQueues {
 public:
  struct Options {
    /// The backend of files with this access.
    std::function<Result<std::unique_ptr<storage::Backend>>(Access)> make_backend;
    /// Measured limits of storage; empty: none.
    model::Profile profile = {};
    /// Further facts about the storage of a file; empty: none. Called once for each device.
    std::function<StorageNeeds(const storage::File&)> storage_needs = {};
    /// Called after each write and truncation of a file, also a failed one, before it is reported,
    /// by the thread of a queue or the one that opens the file. Must not block. May be empty.
    std::function<void(const storage::FileIdentity&, ByteRange)> on_written = {};
  };
  explicit DeviceQueues(Options options) : options_(std::move(options)) {}
  ~DeviceQueues();
  DeviceQueues(const DeviceQueues&) = delete;
  DeviceQueues& operator=(const DeviceQueues&) = delete;

  /// The budget of the file's device.
  std::shared_ptr<InFlightBudget> budget_of(const storage::File& file);
  /// The queue for the file's device and access; kClosed after stop().
  Result<std::shared_ptr<DeviceQueue>> queue_of(const storage::File& file);

  /// The state of a file that is being written already; null if it is not.
  std::shared_ptr<OutputFileState> find(const storage::FileIdentity& identity);
  /// Records a file as being written. False if another thread has recorded it meanwhile.
  bool register_file(const storage::FileIdentity& identity,
                     const std::shared_ptr<OutputFileState>& file_state);

  const Options& options() const noexcept { return options_; }

  /// As DeviceQueue::stop(), for all.
  void stop() noexcept;

 private:
  using Key = std::pair<std::uint64_t, Access>;
  std::shared_ptr<InFlightBudget> budget_of_device(const storage::File& file, std::uint64_t device);

  const Options options_;
  std::mutex mutex_;
  bool is_stopped_ = false;
  std::map<std::uint64_t, std::shared_ptr<InFlightBudget>> budgets_;
  std::map<Key, std::shared_ptr<DeviceQueue>> queues_;
  std::map<storage::FileIdentity, std::weak_ptr<OutputFileState>> file_states_;
};

}  // namespace forebay::stream
