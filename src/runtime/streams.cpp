// SPDX-License-Identifier: Apache-2.0
#include "runtime/streams.hpp"

#include <algorithm>
#include <thread>
#include <utility>
#include <vector>

#include "base/processors.hpp"
#include "model/profile.hpp"
#include "model/profile_place.hpp"

namespace forebay {

namespace {

/// What one device has under way by all streams, at most.
constexpr std::size_t kDeviceDepth = 128;
/// Threads that keep a device busy where io_uring cannot be used.
constexpr std::size_t kQueueThreads = 8;
/// Copying into the page cache takes a core each, and waits for the others that write to the same
/// file: so one, unless there are many cores.
constexpr unsigned kCoresPerCopier = 4;
constexpr unsigned kCopiersMax = 4;

unsigned copiers(unsigned wanted) {
  if (wanted != 0) return wanted;
  return std::clamp(std::thread::hardware_concurrency() / kCoresPerCopier, 1U, kCopiersMax);
}

/// Where the user has said where service threads run, there. Else, on the thread of a queue, which
/// runs where the thread may run that made it: away from there, if that one is bound to less than
/// the process was given. A thread that is not bound leaves it to the system.
std::vector<int> cores_for_copying(WriterCores wanted) {
  if (!service_processors().empty()) return {};
  const std::vector<int> bound = processors_of_this_thread();
  if (wanted == WriterCores::kAnywhere || bound == processors_at_start()) return {};
  return processors_apart(processors_of_machine(), processors_at_start(), bound);
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
  const std::vector<int> cores = cores_for_copying(options.writer_cores);
  run_this_thread_on(cores);
  return storage::make_backend({.choice = storage::BackendChoice::kThreads,
                                .queue_depth = kDeviceDepth,
                                .worker_count = copiers(options.copy_threads),
                                .worker_cpus = cores,
                                .log = options.log});
}

Result<std::shared_ptr<stream::DeviceQueues>> make_queues(const Streams::Options& options) {
  const std::string path =
      options.profile ? *options.profile : model::profile_in_force(process_environment());
  auto profile =
      path.empty() ? Result<model::Profile>(model::Profile()) : model::load_profile(path);
  if (!profile) return failure(profile.error());
  stream::DeviceQueues::Options setup{
      .make_backend = [options](Access access) { return make_backend(options, access); },
      .profile = std::move(*profile)};
  if (const KnownStorage* const storage = options.storage) {
    if (const Status known = storage->status(); !known) return failure(known.error());
    setup.needs_of = [storage](const storage::File& file) {
      return storage->needs_of_writing(storage::place_of(file)).value_or(stream::StorageNeeds{});
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
  if (queues_) (*queues_)->stop();
}

}  // namespace forebay
