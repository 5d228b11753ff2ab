// SPDX-License-Identifier: Apache-2.0
#include "stream/device_queues.hpp"

#include <filesystem>
#include <system_error>
#include <utility>

#include "stream/in_flight_limit.hpp"

namespace forebay::stream {

namespace {

/// The limit as measured, as the storage needs it, or the default.
std::shared_ptr<InFlightBudget> make_budget(const storage::File& file,
                                            const DeviceQueues::Options& options) {
  std::error_code failed;
  const auto path = std::filesystem::weakly_canonical(file.path(), failed);
  const StorageNeeds needs = options.storage_needs ? options.storage_needs(file) : StorageNeeds{};
  InFlightLimit limit =
      in_flight_limit(options.profile, path.parent_path(), file.file_system(), needs);
  return std::make_shared<InFlightBudget>(limit.bytes, std::move(limit.reason),
                                          needs.saturation_bytes);
}

}  // namespace

DeviceQueues::~DeviceQueues() { stop(); }

std::shared_ptr<InFlightBudget> DeviceQueues::budget_of(const storage::File& file) {
  const std::lock_guard lock(mutex_);
  return budget_of_device(file, storage::identity_of(file).device);
}

std::shared_ptr<InFlightBudget> DeviceQueues::budget_of_device(const storage::File& file,
                                                               std::uint64_t device) {
  std::shared_ptr<InFlightBudget>& budget = budgets_[device];
  if (!budget) {
    budget = make_budget(file, options_);
  }
  return budget;
}

Result<std::shared_ptr<DeviceQueue>> DeviceQueues::queue_of(const storage::File& file) {
  const std::uint64_t device = storage::identity_of(file).device;
  const Access access = file.access();
  const std::lock_guard lock(mutex_);
  if (is_stopped_) {
    return failure({.kind = ErrorClass::kClosed,
                    .operation = "write",
                    .path = file.path(),
                    .cause = "the Runtime has ended"});
  }
  const auto known = queues_.find({device, access});
  if (known != queues_.end()) return known->second;
  auto queue = DeviceQueue::start([this, access] { return options_.make_backend(access); },
                                  budget_of_device(file, device));
  if (queue) queues_.emplace(Key{device, access}, *queue);
  return queue;
}

std::shared_ptr<OutputFileState> DeviceQueues::find(const storage::FileIdentity& identity) {
  const std::lock_guard lock(mutex_);
  const auto known = file_states_.find(identity);
  return known == file_states_.end() ? nullptr : known->second.lock();
}

bool DeviceQueues::register_file(const storage::FileIdentity& identity,
                                 const std::shared_ptr<OutputFileState>& file_state) {
  const std::lock_guard lock(mutex_);
  std::erase_if(file_states_, [](const auto& entry) { return entry.second.expired(); });
  return file_states_.try_emplace(identity, file_state).second;
}

void DeviceQueues::stop() noexcept {
  std::map<Key, std::shared_ptr<DeviceQueue>> queues;
  {
    const std::lock_guard lock(mutex_);
    is_stopped_ = true;
    queues = queues_;
  }
  for (const auto& [key, queue] : queues)
    queue->stop();
}

}  // namespace forebay::stream
