// SPDX-License-Identifier: Apache-2.0
#include "runtime/streams.hpp"

#include <algorithm>
#include <thread>
#include <utility>
#include <vector>

#include "base/config.hpp"
#include "base/processors.hpp"
#include "model/profile.hpp"
#include "model/profile_path.hpp"
#include "stream/plan.hpp"

namespace forebay {

namespace {

/// Requests in flight of one device, for all streams.
constexpr std::size_t kDeviceDepth = 128;
/// Threads that keep a device busy without io_uring.
constexpr std::size_t kQueueThreads = 8;
/// A copy into the page cache takes a core, and waits for other copies into the same file. So one
/// thread, unless there are many cores.
constexpr unsigned kCoresPerCopyThread = 4;
constexpr unsigned kAutoCopyThreadsMax = 4;

unsigned copy_thread_count(unsigned requested) {
  if (requested != 0) return requested;
  return std::clamp(std::thread::hardware_concurrency() / kCoresPerCopyThread, 1U,
                    kAutoCopyThreadsMax);
}

/// Processors of the copying threads; empty: inherited. service_processors() of the user have
/// precedence. Called on the thread of a queue, which has the affinity of the thread that created
/// it. If that affinity is smaller than that of the process, returns other processors. An unbound
/// thread leaves the choice to the system.
std::vector<int> copy_cores(WriteThreadAffinity requested) {
  if (!service_processors().empty()) return {};
  const std::vector<int> bound = thread_affinity();
  if (requested == WriteThreadAffinity::kInherited || bound == initial_affinity()) return {};
  return spare_processors(machine_processors(), initial_affinity(), bound);
}

Result<std::unique_ptr<storage::Backend>> make_backend(const Streams::Options& options,
                                                       Access access) {
  if (access == Access::kDirect) {
    return storage::make_backend({.choice = options.choice,
                                  .queue_depth = kDeviceDepth,
                                  .worker_count = kQueueThreads,
                                  .worker_cpus = {},
                                  .log = options.log});
  }
  const std::vector<int> cores = copy_cores(options.write_thread_affinity);
  set_thread_affinity(cores);
  return storage::make_backend({.choice = BackendChoice::kThreads,
                                .queue_depth = kDeviceDepth,
                                .worker_count = copy_thread_count(options.copy_threads),
                                .worker_cpus = cores,
                                .log = options.log});
}

Result<std::shared_ptr<stream::DeviceQueues>> make_queues(const Streams::Options& options) {
  const std::string path =
      options.profile ? *options.profile : model::active_profile_path(process_environment());
  auto profile =
      path.empty() ? Result<model::Profile>(model::Profile()) : model::load_profile(path);
  if (!profile) return failure(profile.error());
  stream::DeviceQueues::Options setup{
      .make_backend = [options](Access access) { return make_backend(options, access); },
      .profile = std::move(*profile),
      .on_written = options.on_written};
  if (const StorageInfoSource* const storage = options.storage) {
    if (const Status known = storage->status(); !known) return failure(known.error());
    setup.storage_needs = [storage](const storage::File& file) {
      return storage->write_needs(storage::storage_object_of(file))
          .value_or(stream::StorageNeeds{});
    };
  }
  return std::make_shared<stream::DeviceQueues>(std::move(setup));
}

}  // namespace

Streams::Streams(const Options& options) : options_(options), queues_(make_queues(options)) {}

Result<OutputStream> Streams::open(const StreamPlan& plan, Executor& executor) {
  if (!queues_) return failure(queues_.error());
  auto complete = plan_stream(plan);
  if (!complete) return failure(complete.error());
  auto core = stream::StreamCore::make({.plan = std::move(*complete),
                                        .queues = *queues_,
                                        .executor = &executor,
                                        .log = options_.log});
  if (!core) return failure(core.error());
  const std::lock_guard lock(mutex_);
  std::erase_if(open_, [](const auto& weak) { return weak.expired(); });
  open_.push_back(*core);
  return stream::StreamCore::make_handle(std::move(*core));
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
  if (queues_) (*queues_)->stop();
}

}  // namespace forebay
