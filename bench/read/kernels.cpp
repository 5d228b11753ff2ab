// SPDX-License-Identifier: Apache-2.0
#include "bench/read/kernels.hpp"

#include <cerrno>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

#include "base/descriptor.hpp"
#include "bench/read/background_computation.hpp"
#include "runner/task.hpp"

namespace forebay::bench::read {

namespace {

constexpr int kHitPasses = 20;

/// A PreparedRun of a function.
template <class F>
class FunctionRun final : public PreparedRun {
 public:
  explicit FunctionRun(F run) : run_(std::move(run)) {}
  Status run() override { return run_(); }

 private:
  F run_;
};

template <class F>
std::unique_ptr<PreparedRun> make_run(F run) {
  return std::make_unique<FunctionRun<F>>(std::move(run));
}

/// A PreparedRun of a function with a computation in the background; its result is the
/// computation's rate.
template <class F>
class OverlappedRun final : public PreparedRun {
 public:
  OverlappedRun(EventLoop& loop, std::uint64_t readers, F run)
      : computation_(loop, readers), run_(std::move(run)) {}
  Status run() override { return run_(computation_); }
  double rank_result() const override { return computation_.slices_per_second(); }

 private:
  BackgroundComputation computation_;
  F run_;
};

template <class F>
std::unique_ptr<PreparedRun> make_overlapped_run(EventLoop& loop, std::uint64_t readers, F run) {
  return std::make_unique<OverlappedRun<F>>(loop, readers, std::move(run));
}

/// The same computation without other work.
class ComputeOnlyRun final : public PreparedRun {
 public:
  explicit ComputeOnlyRun(std::chrono::milliseconds time) : computation_(loop_, time) {}
  Status run() override {
    runner::TaskGroup group(loop_);
    group.spawn(computation_.task());
    return group.run();
  }
  double rank_result() const override { return computation_.slices_per_second(); }

 private:
  EventLoop loop_;
  BackgroundComputation computation_;
};

/// Shared by the tasks of one rank.
struct LocalTasks {
  explicit LocalTasks(const KernelContext& context)
      : partition(context.job.partition()),
        tasks(tasks_of(context.job, context.ranks)),
        share(share_of(context.job, context.ranks)),
        memory(context.memory) {}

  /// The buffer of a task: its part of the memory, or the only buffer.
  std::span<std::byte> buffer(std::uint64_t task) const {
    const ByteRange slice = partition.slice(task);
    if (memory.size() < share.size) return memory.first(slice.size);
    return memory.subspan(slice.offset - share.offset, slice.size);
  }

  FilePartition partition;
  TaskRange tasks;
  ByteRange share;
  std::span<std::byte> memory;
  /// The same, with a computation in the background.
  LocalTasks with_background(BackgroundComputation& computation) const {
    LocalTasks result = *this;
    result.background = &computation;
    return result;
  }

  BackgroundComputation* background = nullptr;  ///< null: no computation
};

Descriptor open_to_read(const FilePartition& partition) {
  return Descriptor(::open(partition.path.c_str(), O_RDONLY | O_CLOEXEC));
}

Status pread_slice(int descriptor, const LocalTasks& local, std::uint64_t task) {
  const ByteRange slice = local.partition.slice(task);
  const auto into = local.buffer(task);
  std::size_t done = 0;
  while (done < slice.size) {  // one call transfers less than 2 GiB
    const auto got = ::pread(descriptor, into.data() + done, slice.size - done,
                             static_cast<off_t>(slice.offset + done));
    if (got <= 0) {
      return failure(system_error({.operation = "pread",
                                   .path = local.partition.path.string(),
                                   .offset_bytes = slice.offset},
                                  got == 0 ? EIO : errno));
    }
    done += static_cast<std::size_t>(got);
  }
  return verify_words(into, slice.offset);
}

/// How naive tasks get their descriptor.
enum class DescriptorSharing : std::uint8_t { kPerTask, kPerRank };

runner::Task naive_task(const LocalTasks& local, std::uint64_t task, int shared) {
  const BackgroundComputation::ActiveReader reader(local.background);
  if (shared >= 0) co_return pread_slice(shared, local, task);
  const Descriptor own = open_to_read(local.partition);
  co_return pread_slice(own.get(), local, task);
}

Status run_naive(EventLoop& loop, const LocalTasks& local, DescriptorSharing descriptors) {
  runner::TaskGroup group(loop);
  if (local.background != nullptr) group.spawn(local.background->task());
  Descriptor shared;
  if (descriptors == DescriptorSharing::kPerRank) shared = open_to_read(local.partition);
  for (std::uint64_t task = local.tasks.first; task < local.tasks.last; ++task)
    group.spawn(naive_task(local, task, shared.get()));
  return group.run();
}

/// Slices may be larger than the session's memory.
runner::Task view_task(const Session& session, ByteRange slice, BackgroundComputation* background) {
  const BackgroundComputation::ActiveReader reader(background);
  ViewSequence pieces = session.views(slice);
  while (!pieces.is_done()) {
    const Result<View> piece = co_await pieces.next();
    if (!piece) co_return failure(piece.error());
    if (auto touched = verify_words(piece->bytes(), piece->range().offset); !touched)
      co_return touched;
  }
  co_return Status();
}

Status run_tasks(EventLoop& loop, const Session& session, const LocalTasks& local) {
  runner::TaskGroup group(loop);
  if (local.background != nullptr) group.spawn(local.background->task());
  for (std::uint64_t task = local.tasks.first; task < local.tasks.last; ++task)
    group.spawn(view_task(session, local.partition.slice(task), local.background));
  return group.run();
}

Status run_session(EventLoop& loop, const File& file, const LocalTasks& local) {
  const auto session = file.read_session({0, local.partition.file_bytes});
  if (!session) return failure(session.error());
  return run_tasks(loop, *session, local);
}

/// Everything that a session needs, including the Runtime.
Status run_bare_session(const Ranks& ranks, const LocalTasks& local) {
  Runtime runtime(ranks);
  const auto file = runtime.open_file(local.partition.path.string());
  if (!file) return failure(file.error());
  return run_session(runtime.event_loop(), *file, local);
}

/// From no Runtime to the first bytes: one-time costs of a program. The end of the Runtime is not
/// included.
class StartupRun final : public PreparedRun {
 public:
  explicit StartupRun(const KernelContext& context)
      : ranks_(context.team.to_ranks()), local_(context) {}

  Status run() override {
    runtime_.emplace(ranks_);
    const auto file = runtime_->open_file(local_.partition.path.string());
    if (!file) return failure(file.error());
    const auto session = file->read_session({0, local_.partition.file_bytes});
    if (!session) return failure(session.error());
    const ByteRange first{local_.share.offset, 4_KiB};
    const Result<View> view = session->view(first).wait();
    if (!view) return failure(view.error());
    return verify_words(view->bytes(), first.offset);
  }

 private:
  Ranks ranks_;
  LocalTasks local_;
  std::optional<Runtime> runtime_;
};

Status run_bare_naive(EventLoop& loop, LocalTasks local) {
  std::vector<std::byte> buffer(local.partition.task_bytes());
  local.memory = buffer;
  return run_naive(loop, local, DescriptorSharing::kPerRank);
}

Status visit_all(const Session& session, const LocalTasks& local) {
  for (std::uint64_t task = local.tasks.first; task < local.tasks.last; ++task) {
    const ByteRange slice = local.partition.slice(task);
    const Result<View> view = session.view(slice).wait();
    if (!view) return failure(view.error());
    if (auto touched = verify_words(view->bytes(), slice.offset); !touched) return touched;
  }
  return {};
}

Status run_fetch(const File& file, const LocalTasks& local) {
  const auto session = file.read_session({0, local.partition.file_bytes});
  if (!session) return failure(session.error());
  return visit_all(*session, local);
}

/// Views alone: touching the bytes would time the cache.
Status run_hits(const Session& session, const LocalTasks& local) {
  std::uint64_t bytes = 0;
  for (int pass = 0; pass < kHitPasses; ++pass) {
    for (std::uint64_t task = local.tasks.first; task < local.tasks.last; ++task) {
      const Result<View> view = session.view(local.partition.slice(task)).wait();
      if (!view) return failure(view.error());
      bytes += view->bytes().size();
    }
  }
  if (bytes == kHitPasses * local.share.size) return {};
  return failure({.kind = ErrorClass::kDamage, .operation = "time hits"});
}

Result<std::unique_ptr<PreparedRun>> prepare_hits(const File& file, const LocalTasks& local) {
  auto session =
      file.read_session({0, local.partition.file_bytes},
                        {.eviction = EvictionPolicy::kLru,
                         .tuning = {.window_bytes = local.partition.file_bytes + 1_MiB}});
  if (!session) return failure(session.error());
  if (auto filled = visit_all(*session, local); !filled) return failure(filled.error());
  return make_run([session = std::move(*session), local] { return run_hits(session, local); });
}

/// A program without Forebay has a separate event loop.
std::unique_ptr<PreparedRun> prepare_naive(const KernelContext& context) {
  const LocalTasks local(context);
  const auto loop = std::make_shared<EventLoop>();
  switch (context.job.kernel) {
    case Kernel::kBareNaive:
      return make_run([loop, local] { return run_bare_naive(*loop, local); });
    case Kernel::kNaiveDescriptor:
      return make_run(
          [loop, local] { return run_naive(*loop, local, DescriptorSharing::kPerRank); });
    case Kernel::kNaiveComputing:
      return make_overlapped_run(
          *loop, local.tasks.count(), [loop, local](BackgroundComputation& background) {
            return run_naive(*loop, local.with_background(background), DescriptorSharing::kPerTask);
          });
    default:
      return make_run(
          [loop, local] { return run_naive(*loop, local, DescriptorSharing::kPerTask); });
  }
}

/// All kernels that use a session of the active ranks' Runtime.
Result<std::unique_ptr<PreparedRun>> prepare_with_file(const KernelContext& context) {
  const LocalTasks local(context);
  EventLoop& loop = context.team.runtime().event_loop();
  auto file = context.team.runtime().open_file(local.partition.path.string());
  if (!file) return failure(file.error());
  switch (context.job.kernel) {
    case Kernel::kHits:
      return prepare_hits(*file, local);
    case Kernel::kMisses:
    case Kernel::kMissesPread:
      return prepare_misses(context, *file);
    case Kernel::kIdle:
      return prepare_idle(context, *file);
    case Kernel::kFetch:
      return make_run([file = *file, local] { return run_fetch(file, local); });
    case Kernel::kSessionComputing:
      return make_overlapped_run(loop, local.tasks.count(),
                                 [&loop, file = *file, local](BackgroundComputation& background) {
                                   return run_session(loop, file,
                                                      local.with_background(background));
                                 });
    default:
      return make_run([&loop, file = *file, local] { return run_session(loop, file, local); });
  }
}

}  // namespace

bool has_task_buffers(Kernel kernel) {
  switch (kernel) {
    case Kernel::kNaive:
    case Kernel::kNaiveDescriptor:
    case Kernel::kNaiveComputing:
    case Kernel::kMpiIndependent:
    case Kernel::kMpiCollective:
      return true;
    default:
      return false;
  }
}

bool is_bare(Kernel kernel) {
  return kernel == Kernel::kBareSession || kernel == Kernel::kBareNaive ||
         kernel == Kernel::kRelease;
}

TaskRange tasks_of(const Job& job, const comm::Communicator& ranks) {
  const std::uint64_t rank = ranks.rank().number;
  return {job.task_count * rank / ranks.size(), job.task_count * (rank + 1) / ranks.size()};
}

ByteRange share_of(const Job& job, const comm::Communicator& ranks) {
  const TaskRange tasks = tasks_of(job, ranks);
  const std::uint64_t task_bytes = job.file_bytes / job.task_count;
  return {tasks.first * task_bytes, (tasks.last - tasks.first) * task_bytes};
}

Result<std::unique_ptr<PreparedRun>> prepare_kernel(const KernelContext& context) {
  switch (context.job.kernel) {
    case Kernel::kNaive:
    case Kernel::kNaiveDescriptor:
    case Kernel::kNaiveComputing:
    case Kernel::kBareNaive:
      return prepare_naive(context);
    case Kernel::kComputing:
      return std::make_unique<ComputeOnlyRun>(std::chrono::milliseconds(context.job.pause_ms));
    case Kernel::kRelease:
      return make_run([] { return Status(); });
    case Kernel::kBareSession:
      return make_run([ranks = context.team.to_ranks(), local = LocalTasks(context)] {
        return run_bare_session(ranks, local);
      });
    case Kernel::kStart:
      return std::make_unique<StartupRun>(context);
    case Kernel::kTipsySession:
    case Kernel::kTipsyChanga:
      return prepare_tipsy(context);
    case Kernel::kMpiIndependent:
    case Kernel::kMpiCollective:
      return prepare_collective_file(context);
    case Kernel::kLinkSession:
    case Kernel::kLinkAutoPlan:
    case Kernel::kLinkComputing:
    case Kernel::kLinkMpiIo:
    case Kernel::kLinkSend:
      return prepare_link(context);
    case Kernel::kPushSession:
    case Kernel::kPushAgentEnds:
    case Kernel::kPushPlain:
    case Kernel::kChainSession:
    case Kernel::kChainPlain:
      return prepare_push(context);
    default:
      return prepare_with_file(context);
  }
}

}  // namespace forebay::bench::read
