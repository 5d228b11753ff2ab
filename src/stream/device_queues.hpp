// SPDX-License-Identifier: Apache-2.0
// The queues of a Runtime: one for each device and way of writing there, made when the first file
// needs it. Also knows which files are being written, so that two streams that write to one file
// share what is known of it, and never write it in two ways.
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
#include "stream/budget.hpp"
#include "stream/device_queue.hpp"
#include "stream/in_flight_limit.hpp"
#include "stream/target.hpp"

namespace forebay::stream {

/// Any thread.
class DeviceQueues {
 public:
  struct Options {
    /// For files that are written in this way.
    std::function<Result<std::unique_ptr<storage::Backend>>(Access)> make_backend;
    /// What was measured of storage; empty: nothing.
    model::Profile profile = {};
    /// What is known of the storage of a file besides; empty: nothing. Called once for each device.
    std::function<StorageNeeds(const storage::File&)> needs_of = {};
  };
  explicit DeviceQueues(Options options) : options_(std::move(options)) {}
  ~DeviceQueues();
  DeviceQueues(const DeviceQueues&) = delete;
  DeviceQueues& operator=(const DeviceQueues&) = delete;

  /// The limit of the device on which the file lies.
  std::shared_ptr<Budget> budget_of(const storage::File& file);
  /// The queue for the file's device and access; kClosed after stop().
  Result<std::shared_ptr<DeviceQueue>> queue_of(const storage::File& file);

  /// The target of a file that is being written already; null if it is not.
  std::shared_ptr<Target> find(const storage::FileIdentity& identity);
  /// From now on this one is. False if somebody else was quicker.
  bool enlist(const storage::FileIdentity& identity, const std::shared_ptr<Target>& target);

  /// As DeviceQueue::stop(), for all.
  void stop() noexcept;

 private:
  using Key = std::pair<std::uint64_t, Access>;
  std::shared_ptr<Budget> budget_of_device(const storage::File& file, std::uint64_t device);

  const Options options_;
  std::mutex mutex_;
  bool stopped_ = false;
  std::map<std::uint64_t, std::shared_ptr<Budget>> budgets_;
  std::map<Key, std::shared_ptr<DeviceQueue>> queues_;
  std::map<storage::FileIdentity, std::weak_ptr<Target>> targets_;
};

}  // namespace forebay::stream
