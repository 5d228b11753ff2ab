// SPDX-License-Identifier: Apache-2.0
#include "runtime/streams.hpp"

#include <algorithm>
#include <thread>
#include <utility>

namespace forebay {

namespace {

/// What one device has under way by all streams, at most.
constexpr std::size_t kDeviceDepth = 128;
/// Threads that keep a device busy where io_uring cannot be used.
constexpr std::size_t kDirectThreads = 8;
/// Copying into the page cache takes a core each, and waits for the others that write to the same
/// file: so one, unless there are many cores.
constexpr unsigned kCoresPerCopier = 4;
constexpr unsigned kCopiersMax = 4;

unsigned copiers(unsigned wanted) {
  if (wanted != 0) return wanted;
  return std::clamp(std::thread::hardware_concurrency() / kCoresPerCopier, 1U, kCopiersMax);
}

stream::DeviceQueues::Options queue_options(const Streams::Options& options) {
  const auto make_backend = [options](Access access) {
    const bool direct = access == Access::kDirect;
    return storage::make_backend(
        {.choice = direct ? options.choice : storage::BackendChoice::kThreads,
         .queue_depth = kDeviceDepth,
         .worker_count = direct ? kDirectThreads : copiers(options.copy_threads),
         .worker_cpus = {},
         .log = options.log});
  };
  return {.make_backend = make_backend};
}

}  // namespace

Streams::Streams(const Options& options)
    : options_(options), queues_(std::make_shared<stream::DeviceQueues>(queue_options(options))) {}

Result<OutputStream> Streams::open(const StreamPlan& plan, Executor& executor) {
  auto complete = plan_stream(plan);
  if (!complete) return tl::unexpected<Error>(complete.error());
  auto core = stream::StreamCore::make({.plan = std::move(*complete),
                                        .queues = queues_,
                                        .executor = &executor,
                                        .log = options_.log});
  if (!core) return tl::unexpected<Error>(core.error());
  const std::lock_guard lock(mutex_);
  std::erase_if(open_, [](const auto& weak) { return weak.expired(); });
  open_.push_back(*core);
  return stream::StreamCore::face_of(std::move(*core));
}

void Streams::stop() {
  std::vector<std::weak_ptr<stream::StreamCore>> open;
  {
    const std::lock_guard lock(mutex_);
    open = open_;
  }
  for (const auto& weak : open) {
    if (const auto core = weak.lock()) core->abandon();
  }
  queues_->stop();
}

}  // namespace forebay
