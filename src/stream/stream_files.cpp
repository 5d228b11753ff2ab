// SPDX-License-Identifier: Apache-2.0
// Files of a stream, and waits for them: create, drain, sync, publish, the end of the stream, and
// its report.
#include <algorithm>
#include <utility>

#include "model/gain.hpp"
#include "stream/open_output.hpp"
#include "stream/stream_core.hpp"

namespace forebay::stream {

Result<OutputFile> StreamCore::create(const std::string& path, const OutputFileOptions& options) {
  if (is_stopped()) return first_error();
  const bool is_published_later = options.visibility == FileVisibility::kOnPublish;
  if (is_published_later && options.existing_content == ExistingContent::kKeep) {
    return failure(
        {.kind = ErrorClass::kInvalidArgument,
         .operation = "create",
         .path = path,
         .cause = "a file that is published when complete cannot keep existing content"});
  }
  FileCore::Setup setup{.path = path, .plan = {}, .publication = options.visibility};
  if (is_published_later) {
    auto temporary = TemporaryFile::create_beside(path);
    if (!temporary) return failure(temporary.error());
    setup.temporary.emplace(std::move(*temporary));
  }
  const std::string& written = setup.temporary ? setup.temporary->path() : path;
  auto opened = open_output(written, options, setup_.plan, *setup_.queues);
  if (!opened) return failure(opened.error());
  auto device = device_for(opened->file_state->file(), opened->plan);
  if (!device) return failure(with_location(device.error(), path));
  setup.plan = std::move(opened->plan);
  setup.reserved_bytes = opened->reserved_bytes;
  const std::lock_guard lock(mutex_);
  setup.number = files_created_++;
  auto file = std::make_shared<FileCore>(std::move(setup), **device, std::move(opened->file_state));
  files_.push_back(file);
  return OutputFile(shared_from_this(), std::move(file));
}

/// The device for files with this queue; created for the first of them.
Result<StreamDevice*> StreamCore::device_for(const storage::File& file, const OutputPlan& plan) {
  auto queue = setup_.queues->queue_of(file);
  if (!queue) return failure(queue.error());
  const std::lock_guard lock(mutex_);
  for (const auto& device : devices_) {
    if (device->queue == *queue) return device.get();
  }
  const ClientLimits limits{.request_bytes = plan.request_bytes,
                            .requests = plan.queue_depth,
                            .bytes = plan.in_flight_bytes};
  devices_.push_back(
      std::make_unique<StreamDevice>(std::move(*queue), *this, pool_->arena(), limits));
  StreamDevice& device = *devices_.back();
  device.path = file.path();
  device.access = plan.access;
  device.reason = plan.reason;
  return &device;
}

std::vector<std::shared_ptr<FileCore>> StreamCore::files() const {
  const std::lock_guard lock(mutex_);
  return files_;
}

/// One barrier for each queue that the stream writes to.
std::shared_ptr<StreamCore::BarrierGroup> StreamCore::make_barrier_group(Durability durability) {
  auto group = std::make_shared<BarrierGroup>();
  const std::lock_guard lock(mutex_);
  group->barriers.resize(devices_.size());
  group->pending = devices_.size();
  for (std::size_t i = 0; i < devices_.size(); ++i) {
    group->barriers[i].client_state = &devices_[i]->client_state;
    group->barriers[i].durability = durability;
    group->queues.push_back(devices_[i]->queue);
  }
  if (durability == Durability::kSynced) add_files(*group);
  return group;
}

/// Files without pending writes need only the sync. Under the lock.
void StreamCore::add_files(BarrierGroup& group) const {
  for (const auto& file : files_) {
    const auto is_its = [&](const Barrier& one) {
      return one.client_state == &file->device().client_state;
    };
    std::ranges::find_if(group.barriers, is_its)
        ->files.push_back(file->file_state().shared_from_this());
  }
}

/// Not under the lock: a queue that has ended returns barriers at once.
void StreamCore::push_barriers(const std::shared_ptr<BarrierGroup>& group) {
  for (std::size_t i = 0; i < group->barriers.size(); ++i) {
    Barrier& barrier = group->barriers[i];
    barrier.kind = SubmissionKind::kBarrier;
    barrier.keep_alive = group;
    group->queues[i]->push(barrier);
  }
}

void StreamCore::complete_barrier(Barrier& barrier) noexcept {
  const std::shared_ptr<void> keep_alive = std::move(barrier.keep_alive);
  const std::lock_guard lock(mutex_);  // held to the end: the waiter, or `keep_alive`, may end the
                                       // stream
  if (--static_cast<BarrierGroup*>(keep_alive.get())->pending == 0) barrier_reached_.notify_all();
}

/// Waits until all are reached, or the stream is canceled.
Status StreamCore::wait_for(const std::shared_ptr<BarrierGroup>& group) {
  {
    std::unique_lock lock(mutex_);
    barrier_reached_.wait(lock, [&] { return group->pending == 0 || is_cancelled_.load(); });
    if (group->pending > 0) group->core = shared_from_this();
  }
  return is_stopped() ? Status(first_error()) : Status();
}

/// Files without a handle: no more submissions can follow.
std::vector<std::weak_ptr<FileCore>> StreamCore::unreferenced_files() const {
  std::vector<std::weak_ptr<FileCore>> unreferenced;
  const std::lock_guard lock(mutex_);
  for (const auto& file : files_) {
    if (file.use_count() == 1) unreferenced.emplace_back(file);
  }
  return unreferenced;
}

Status StreamCore::drain(Durability durability) {
  if (is_cancelled_.load()) return first_error();
  const auto unreferenced = unreferenced_files();
  const auto group = make_barrier_group(durability);
  push_barriers(group);
  if (const Status waited = wait_for(group); !waited) return waited;
  if (durability == Durability::kSynced) {
    for (const auto& file : files()) {
      if (const Status synced = file->sync_created_name(); !synced) return synced;
    }
  }
  close_files(unreferenced);
  return {};
}

/// Closes files that are written.
void StreamCore::close_files(const std::vector<std::weak_ptr<FileCore>>& unreferenced) {
  std::vector<std::shared_ptr<FileCore>> closing;  // destroyed after the lock is released
  const std::lock_guard lock(mutex_);
  for (const auto& weak : unreferenced) {
    if (auto file = weak.lock()) {
      std::erase(files_, file);
      closing.push_back(std::move(file));
    }
  }
}

Status StreamCore::drain_file(FileCore& file, Durability durability) {
  if (is_cancelled_.load()) return first_error();
  auto group = std::make_shared<BarrierGroup>();
  group->barriers.resize(1);
  group->pending = 1;
  Barrier& barrier = group->barriers.front();
  barrier.client_state = &file.device().client_state;
  barrier.file_state = &file.file_state();
  barrier.durability = durability;
  group->queues.push_back(file.device().queue);
  push_barriers(group);
  const Status waited = wait_for(group);
  if (!waited || durability == Durability::kWritten) return waited;
  return file.sync_created_name();
}

Status StreamCore::publish(FileCore& file) {
  if (const Status synced = drain_file(file, Durability::kSynced); !synced) return synced;
  return file.publish();
}

void StreamCore::close() noexcept {
  if (is_closed_.exchange(true)) return;
  const auto group = make_barrier_group(Durability::kWritten);
  for (Barrier& barrier : group->barriers)
    barrier.is_last = true;
  push_barriers(group);
  {
    std::unique_lock lock(mutex_);
    barrier_reached_.wait(lock, [&] { return group->pending == 0; });
  }
  log_unreported_error();
  fail(Error({.kind = ErrorClass::kClosed, .operation = "write", .cause = "the stream has ended"}));
}

void StreamCore::log_unreported_error() noexcept {
  const std::lock_guard lock(mutex_);
  if (setup_.log == nullptr || !error_ || is_error_reported_) return;
  const bool is_cancellation = error_->kind() == ErrorClass::kCancelled;
  if (!is_cancellation)
    setup_.log->write(LogLevel::kWarning, "a stream ended with an error: " + error_->message());
}

StreamReport StreamCore::report() const {
  const StreamTimer::Times times = clock_.times();
  StreamReport report{.buffers = times.buffers,
                      .bytes = times.bytes,
                      .producer_wait_s = times.wait_s,
                      .elapsed_s = times.elapsed_s};
  std::uint64_t queue_wait_ns = 0;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& device : devices_) {
      const ClientStatistics& counts = device->client_state.counts;
      report.devices.push_back({.path = device->path,
                                .access = device->access,
                                .backend = device->queue->backend_name(),
                                .reason = device->reason,
                                .bytes = counts.bytes,
                                .requests = counts.requests,
                                .is_registered = counts.registered});
      report.requests += counts.requests;
      report.copied_bytes += counts.copied_bytes;
      report.merged_blocks += counts.merged_blocks;
      report.partial_blocks += counts.partial_blocks;
      queue_wait_ns += counts.queue_wait_ns;
    }
  }
  if (times.buffers == 0) return report;
  const auto count = static_cast<double>(times.buffers);
  report.compute_s = times.producing_s / count;
  report.write_s = times.busy_s / count;
  report.queue_wait_s = static_cast<double>(queue_wait_ns) / 1e9 / count;
  // The model assumes two buffers and constant times. With more buffers and varying times, the
  // efficiency may exceed 1.
  const model::Pipeline pipeline{
      .compute_s = report.compute_s, .write_s = report.write_s, .count = times.buffers};
  if (const auto best = model::overlap(pipeline)) report.model_s = best->total_s;
  if (times.elapsed_s > 0) report.efficiency = report.model_s / times.elapsed_s;
  return report;
}

}  // namespace forebay::stream
