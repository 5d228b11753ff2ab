// SPDX-License-Identifier: Apache-2.0
// Files of a stream, and waiting for them: create, drain, sync, publish, the stream's end, and the
// report about all of it.
#include <algorithm>
#include <utility>

#include "model/gain.hpp"
#include "stream/opening.hpp"
#include "stream/stream_core.hpp"

namespace forebay::stream {

Result<OutputFile> StreamCore::create(const std::string& path, const CreateOptions& options) {
  if (gives_up()) return first_error();
  const bool is_published_later = options.publication == Publication::kWhenComplete;
  if (is_published_later && options.existing == Existing::kKeep) {
    return failure({.kind = ErrorClass::kInvalidArgument,
                    .operation = "create",
                    .path = path,
                    .cause = "a file that is published when complete cannot keep what it has"});
  }
  FileCore::Setup setup{.path = path, .plan = {}, .publication = options.publication};
  if (is_published_later) {
    auto temporary = TemporaryFile::create_beside(path);
    if (!temporary) return failure(temporary.error());
    setup.temporary.emplace(std::move(*temporary));
  }
  const std::string& written = setup.temporary ? setup.temporary->path() : path;
  auto opened = open_output(written, options, setup_.plan, *setup_.queues);
  if (!opened) return failure(opened.error());
  auto lane = lane_for(opened->target->file(), opened->plan);
  if (!lane) return failure(located(lane.error(), path));
  setup.plan = std::move(opened->plan);
  setup.reserved_bytes = opened->reserved_bytes;
  const std::lock_guard lock(mutex_);
  setup.number = files_created_++;
  auto file = std::make_shared<FileCore>(std::move(setup), **lane, std::move(opened->target));
  files_.push_back(file);
  return OutputFile(shared_from_this(), std::move(file));
}

/// Where files of this device and access go; made for the first of them.
Result<Lane*> StreamCore::lane_for(const storage::File& file, const OutputPlan& plan) {
  auto queue = setup_.queues->queue_of(file);
  if (!queue) return failure(queue.error());
  const std::lock_guard lock(mutex_);
  for (const auto& lane : lanes_) {
    if (lane->queue == *queue) return lane.get();
  }
  const AccountLimits limits{.request_bytes = plan.request_bytes,
                             .requests = plan.queue_depth,
                             .bytes = plan.in_flight_bytes};
  lanes_.push_back(std::make_unique<Lane>(std::move(*queue), *this, pool_->arena(), limits));
  Lane& lane = *lanes_.back();
  lane.path = file.path();
  lane.access = plan.access;
  lane.reason = plan.reason;
  return &lane;
}

std::vector<std::shared_ptr<FileCore>> StreamCore::files() const {
  const std::lock_guard lock(mutex_);
  return files_;
}

/// One barrier for each queue that the stream writes to.
std::shared_ptr<StreamCore::Gathering> StreamCore::gather(Durability durability) {
  auto gathering = std::make_shared<Gathering>();
  const std::lock_guard lock(mutex_);
  gathering->barriers.resize(lanes_.size());
  gathering->left = lanes_.size();
  for (std::size_t i = 0; i < lanes_.size(); ++i) {
    gathering->barriers[i].account = &lanes_[i]->account;
    gathering->barriers[i].durability = durability;
    gathering->queues.push_back(lanes_[i]->queue);
  }
  if (durability == Durability::kSynced) add_files(*gathering);
  return gathering;
}

/// Those that are written already need nothing but the sync. Under the lock.
void StreamCore::add_files(Gathering& gathering) const {
  for (const auto& file : files_) {
    const auto is_its = [&](const Barrier& one) { return one.account == &file->lane().account; };
    std::ranges::find_if(gathering.barriers, is_its)
        ->files.push_back(file->target().shared_from_this());
  }
}

/// Not under the lock: a queue that has ended gives barriers back at once.
void StreamCore::push(const std::shared_ptr<Gathering>& gathering) {
  for (std::size_t i = 0; i < gathering->barriers.size(); ++i) {
    Barrier& barrier = gathering->barriers[i];
    barrier.kind = ParcelKind::kBarrier;
    barrier.keeps = gathering;
    gathering->queues[i]->push(barrier);
  }
}

void StreamCore::reached(Barrier& barrier) noexcept {
  const std::shared_ptr<void> kept = std::move(barrier.keeps);
  const std::lock_guard lock(mutex_);  // to the end: who waits, or `kept`, may end the stream
  if (--static_cast<Gathering*>(kept.get())->left == 0) barrier_reached_.notify_all();
}

/// Until they are reached, or the stream is cancelled.
Status StreamCore::wait_for(const std::shared_ptr<Gathering>& gathering) {
  {
    std::unique_lock lock(mutex_);
    barrier_reached_.wait(lock, [&] { return gathering->left == 0 || cancelled_.load(); });
    if (gathering->left > 0) gathering->core = shared_from_this();
  }
  return gives_up() ? Status(first_error()) : Status();
}

/// Of which nothing more can come.
std::vector<std::weak_ptr<FileCore>> StreamCore::files_without_handles() const {
  std::vector<std::weak_ptr<FileCore>> unheld;
  const std::lock_guard lock(mutex_);
  for (const auto& file : files_) {
    if (file.use_count() == 1) unheld.emplace_back(file);
  }
  return unheld;
}

Status StreamCore::drain(Durability durability) {
  if (cancelled_.load()) return first_error();
  const auto unheld = files_without_handles();
  const auto gathering = gather(durability);
  push(gathering);
  if (const Status waited = wait_for(gathering); !waited) return waited;
  if (durability == Durability::kSynced) {
    for (const auto& file : files()) {
      if (const Status synced = file->sync_created_name(); !synced) return synced;
    }
  }
  let_go_of(unheld);
  return {};
}

/// Closes files that are written.
void StreamCore::let_go_of(const std::vector<std::weak_ptr<FileCore>>& unheld) {
  std::vector<std::shared_ptr<FileCore>> closing;  // not under the lock
  const std::lock_guard lock(mutex_);
  for (const auto& weak : unheld) {
    if (auto file = weak.lock()) {
      std::erase(files_, file);
      closing.push_back(std::move(file));
    }
  }
}

Status StreamCore::drain_file(FileCore& file, Durability durability) {
  if (cancelled_.load()) return first_error();
  auto gathering = std::make_shared<Gathering>();
  gathering->barriers.resize(1);
  gathering->left = 1;
  Barrier& barrier = gathering->barriers.front();
  barrier.account = &file.lane().account;
  barrier.target = &file.target();
  barrier.durability = durability;
  gathering->queues.push_back(file.lane().queue);
  push(gathering);
  const Status waited = wait_for(gathering);
  if (!waited || durability == Durability::kWritten) return waited;
  return file.sync_created_name();
}

Status StreamCore::publish(FileCore& file) {
  if (const Status synced = drain_file(file, Durability::kSynced); !synced) return synced;
  return file.publish();
}

void StreamCore::close() noexcept {
  if (closed_.exchange(true)) return;
  const auto gathering = gather(Durability::kWritten);
  for (Barrier& barrier : gathering->barriers)
    barrier.is_last = true;
  push(gathering);
  {
    std::unique_lock lock(mutex_);
    barrier_reached_.wait(lock, [&] { return gathering->left == 0; });
  }
  log_untold_error();
  fail(Error({.kind = ErrorClass::kClosed, .operation = "write", .cause = "the stream has ended"}));
}

void StreamCore::log_untold_error() noexcept {
  const std::lock_guard lock(mutex_);
  if (setup_.log == nullptr || !error_ || error_was_told_) return;
  const bool is_wanted = error_->kind() == ErrorClass::kCancelled;
  if (!is_wanted)
    setup_.log->write(LogLevel::kWarning, "a stream ended with an error: " + error_->message());
}

StreamReport StreamCore::report() const {
  const StreamClock::Times times = clock_.times();
  StreamReport report{.buffers = times.buffers,
                      .bytes = times.bytes,
                      .producer_wait_s = times.wait_s,
                      .elapsed_s = times.elapsed_s};
  std::uint64_t queue_wait_ns = 0;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& lane : lanes_) {
      const AccountCounts& counts = lane->account.counts;
      report.devices.push_back({.path = lane->path,
                                .access = lane->access,
                                .backend = lane->queue->backend_name(),
                                .reason = lane->reason,
                                .bytes = counts.bytes,
                                .requests = counts.requests,
                                .registered = counts.registered});
      report.requests += counts.requests;
      report.copied_bytes += counts.copied_bytes;
      report.edge_blocks += counts.edge_blocks;
      report.partial_blocks += counts.partial_blocks;
      queue_wait_ns += counts.queue_wait_ns;
    }
  }
  if (times.buffers == 0) return report;
  const auto count = static_cast<double>(times.buffers);
  report.compute_s = times.producing_s / count;
  report.write_s = times.busy_s / count;
  report.queue_wait_s = static_cast<double>(queue_wait_ns) / 1e9 / count;
  // Two buffers: the law is about overlap as such. More of them help where times vary, which is
  // then to be seen as an efficiency above 1.
  const model::Pipeline pipeline{
      .compute_s = report.compute_s, .write_s = report.write_s, .count = times.buffers};
  if (const auto best = model::overlap(pipeline)) report.model_s = best->total_s;
  if (times.elapsed_s > 0) report.efficiency = report.model_s / times.elapsed_s;
  return report;
}

}  // namespace forebay::stream
