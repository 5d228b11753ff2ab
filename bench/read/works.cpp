// SPDX-License-Identifier: Apache-2.0
#include "bench/read/works.hpp"

#include <cerrno>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

#include "base/descriptor.hpp"
#include "bench/read/computing.hpp"
#include "runner/task.hpp"

namespace forebay::bench::read {

namespace {

constexpr int kHitPasses = 20;

/// A Performance of a function.
template <class F>
class Performed final : public Performance {
 public:
  explicit Performed(F run) : run_(std::move(run)) {}
  Status run() override { return run_(); }

 private:
  F run_;
};

template <class F>
std::unique_ptr<Performance> performed(F run) {
  return std::make_unique<Performed<F>>(std::move(run));
}

/// A Performance of a function with a computation in the background, that finds how fast the latter
/// was.
template <class F>
class PerformedBeside final : public Performance {
 public:
  PerformedBeside(EventLoop& loop, std::uint64_t readers, F run)
      : computing_(loop, readers), run_(std::move(run)) {}
  Status run() override { return run_(computing_); }
  double found() const override { return computing_.slices_per_second(); }

 private:
  Computing computing_;
  F run_;
};

template <class F>
std::unique_ptr<Performance> performed_beside(EventLoop& loop, std::uint64_t readers, F run) {
  return std::make_unique<PerformedBeside<F>>(loop, readers, std::move(run));
}

/// The same computation with nothing beside it.
class ComputingAlone final : public Performance {
 public:
  explicit ComputingAlone(std::chrono::milliseconds time) : computing_(loop_, time) {}
  Status run() override {
    runner::TaskGroup group(loop_);
    group.spawn(computing_.task());
    return group.run();
  }
  double found() const override { return computing_.slices_per_second(); }

 private:
  EventLoop loop_;
  Computing computing_;
};

/// What the tasks of one rank share.
struct Mine {
  explicit Mine(const WorkSite& site)
      : cut(site.job.cut()),
        tasks(tasks_of(site.job, site.ranks)),
        share(share_of(site.job, site.ranks)),
        memory(site.memory) {}

  /// Where a task reads to: a place of its own, or the one there is.
  std::span<std::byte> buffer(std::uint64_t task) const {
    const ByteRange slice = cut.slice(task);
    if (memory.size() < share.size) return memory.first(slice.size);
    return memory.subspan(slice.offset - share.offset, slice.size);
  }

  Cut cut;
  TaskRange tasks;
  ByteRange share;
  std::span<std::byte> memory;
  /// The same, while `background` computes.
  Mine beside(Computing& background) const {
    Mine result = *this;
    result.computing = &background;
    return result;
  }

  Computing* computing = nullptr;  ///< in the background; null: none
};

Descriptor open_to_read(const Cut& cut) {
  return Descriptor(::open(cut.path.c_str(), O_RDONLY | O_CLOEXEC));
}

Status pread_slice(int descriptor, const Mine& mine, std::uint64_t task) {
  const ByteRange slice = mine.cut.slice(task);
  const auto into = mine.buffer(task);
  std::size_t done = 0;
  while (done < slice.size) {  // one call gives less than 2 GiB
    const auto got = ::pread(descriptor, into.data() + done, slice.size - done,
                             static_cast<off_t>(slice.offset + done));
    if (got <= 0) {
      return failure(system_error(
          {.operation = "pread", .path = mine.cut.path.string(), .offset_bytes = slice.offset},
          got == 0 ? EIO : errno));
    }
    done += static_cast<std::size_t>(got);
  }
  return touch(into, slice.offset);
}

/// How the naive reader gets its descriptor.
enum class Descriptors : std::uint8_t { kOneForTask, kOneForRank };

runner::Task naive_task(const Mine& mine, std::uint64_t task, int shared) {
  const Computing::Reader reader(mine.computing);
  if (shared >= 0) co_return pread_slice(shared, mine, task);
  const Descriptor own = open_to_read(mine.cut);
  co_return pread_slice(own.get(), mine, task);
}

Status run_naive(EventLoop& loop, const Mine& mine, Descriptors descriptors) {
  runner::TaskGroup group(loop);
  if (mine.computing != nullptr) group.spawn(mine.computing->task());
  Descriptor shared;
  if (descriptors == Descriptors::kOneForRank) shared = open_to_read(mine.cut);
  for (std::uint64_t task = mine.tasks.first; task < mine.tasks.last; ++task)
    group.spawn(naive_task(mine, task, shared.get()));
  return group.run();
}

/// Slices may be larger than the session's memory.
runner::Task view_task(const Session& session, ByteRange slice, Computing* computing) {
  const Computing::Reader reader(computing);
  Views pieces = session.views(slice);
  while (!pieces.done()) {
    const Result<View> piece = co_await pieces.next();
    if (!piece) co_return failure(piece.error());
    if (auto touched = touch(piece->bytes(), piece->range().offset); !touched) co_return touched;
  }
  co_return Status();
}

Status run_tasks(EventLoop& loop, const Session& session, const Mine& mine) {
  runner::TaskGroup group(loop);
  if (mine.computing != nullptr) group.spawn(mine.computing->task());
  for (std::uint64_t task = mine.tasks.first; task < mine.tasks.last; ++task)
    group.spawn(view_task(session, mine.cut.slice(task), mine.computing));
  return group.run();
}

Status run_session(EventLoop& loop, const File& file, const Mine& mine) {
  const auto session = file.read_session({0, mine.cut.file_bytes});
  if (!session) return failure(session.error());
  return run_tasks(loop, *session, mine);
}

/// The same by a plan of which some is given, that can be looked at afterwards.
class PlannedSession final : public Performance {
 public:
  PlannedSession(const WorkSite& site, File file)
      : loop_(site.team.runtime().loop()),
        file_(std::move(file)),
        mine_(site),
        wanted_(site.job.given.as_plan()) {}

  Status run() override {
    const auto session = file_.read_session({0, mine_.cut.file_bytes}, wanted_);
    if (!session) return failure(session.error());
    plan_ = session->plan();
    return run_tasks(loop_, *session, mine_);
  }
  ReadPlan plan() const override { return plan_; }

 private:
  EventLoop& loop_;
  File file_;
  Mine mine_;
  ReadPlan wanted_;
  ReadPlan plan_;
};

/// All of what a session takes, from the Runtime on.
Status run_bare_session(const Ranks& ranks, const Mine& mine) {
  Runtime runtime(ranks);
  const auto file = runtime.open(mine.cut.path.string());
  if (!file) return failure(file.error());
  return run_session(runtime.loop(), *file, mine);
}

/// From nothing to the first bytes: what a program pays once. The end of the Runtime is no part of
/// it.
class Starting final : public Performance {
 public:
  explicit Starting(const WorkSite& site) : ranks_(site.team.as_ranks()), mine_(site) {}

  Status run() override {
    runtime_.emplace(ranks_);
    const auto file = runtime_->open(mine_.cut.path.string());
    if (!file) return failure(file.error());
    const auto session = file->read_session({0, mine_.cut.file_bytes});
    if (!session) return failure(session.error());
    const ByteRange first{mine_.share.offset, 4_KiB};
    const Result<View> view = session->view(first).wait();
    if (!view) return failure(view.error());
    return touch(view->bytes(), first.offset);
  }

 private:
  Ranks ranks_;
  Mine mine_;
  std::optional<Runtime> runtime_;
};

Status run_bare_naive(EventLoop& loop, Mine mine) {
  std::vector<std::byte> buffer(mine.cut.task_bytes());
  mine.memory = buffer;
  return run_naive(loop, mine, Descriptors::kOneForRank);
}

Status visit_all(const Session& session, const Mine& mine) {
  for (std::uint64_t task = mine.tasks.first; task < mine.tasks.last; ++task) {
    const ByteRange slice = mine.cut.slice(task);
    const Result<View> view = session.view(slice).wait();
    if (!view) return failure(view.error());
    if (auto touched = touch(view->bytes(), slice.offset); !touched) return touched;
  }
  return {};
}

Status run_fetch(const File& file, const Mine& mine) {
  const auto session = file.read_session({0, mine.cut.file_bytes});
  if (!session) return failure(session.error());
  return visit_all(*session, mine);
}

/// Views alone: touching the bytes would time the cache.
Status run_hits(const Session& session, const Mine& mine) {
  std::uint64_t bytes = 0;
  for (int pass = 0; pass < kHitPasses; ++pass) {
    for (std::uint64_t task = mine.tasks.first; task < mine.tasks.last; ++task) {
      const Result<View> view = session.view(mine.cut.slice(task)).wait();
      if (!view) return failure(view.error());
      bytes += view->bytes().size();
    }
  }
  if (bytes == kHitPasses * mine.share.size) return {};
  return failure({.kind = ErrorClass::kDamage, .operation = "time hits"});
}

Result<std::unique_ptr<Performance>> prepare_hits(const File& file, const Mine& mine) {
  auto session =
      file.read_session({0, mine.cut.file_bytes}, {.window_bytes = mine.cut.file_bytes + 1_MiB,
                                                   .retirement = Retirement::kCache,
                                                   .reason = {}});
  if (!session) return failure(session.error());
  if (auto filled = visit_all(*session, mine); !filled) return failure(filled.error());
  return performed([session = std::move(*session), mine] { return run_hits(session, mine); });
}

/// A program without Forebay: its loop is its own.
std::unique_ptr<Performance> prepare_naive(const WorkSite& site) {
  const Mine mine(site);
  const auto loop = std::make_shared<EventLoop>();
  switch (site.job.work) {
    case Work::kBareNaive:
      return performed([loop, mine] { return run_bare_naive(*loop, mine); });
    case Work::kNaiveDescriptor:
      return performed([loop, mine] { return run_naive(*loop, mine, Descriptors::kOneForRank); });
    case Work::kNaiveComputing:
      return performed_beside(*loop, mine.tasks.count(), [loop, mine](Computing& computing) {
        return run_naive(*loop, mine.beside(computing), Descriptors::kOneForTask);
      });
    default:
      return performed([loop, mine] { return run_naive(*loop, mine, Descriptors::kOneForTask); });
  }
}

/// All ways through a session of the crew's Runtime.
Result<std::unique_ptr<Performance>> prepare_with_file(const WorkSite& site) {
  const Mine mine(site);
  EventLoop& loop = site.team.runtime().loop();
  auto file = site.team.runtime().open(mine.cut.path.string());
  if (!file) return failure(file.error());
  switch (site.job.work) {
    case Work::kHits:
      return prepare_hits(*file, mine);
    case Work::kMisses:
    case Work::kMissesPlainly:
      return prepare_misses(site, *file);
    case Work::kIdle:
      return prepare_idling(site, *file);
    case Work::kFetch:
      return performed([file = *file, mine] { return run_fetch(file, mine); });
    case Work::kSessionComputing:
      return performed_beside(loop, mine.tasks.count(),
                              [&loop, file = *file, mine](Computing& computing) {
                                return run_session(loop, file, mine.beside(computing));
                              });
    default:
      return std::make_unique<PlannedSession>(site, std::move(*file));
  }
}

}  // namespace

bool reads_into_buffers(Work work) {
  switch (work) {
    case Work::kNaive:
    case Work::kNaiveDescriptor:
    case Work::kNaiveComputing:
    case Work::kMpiIndependent:
    case Work::kMpiCollective:
      return true;
    default:
      return false;
  }
}

bool is_bare(Work work) {
  return work == Work::kBareSession || work == Work::kBareNaive || work == Work::kForget;
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

Result<std::unique_ptr<Performance>> prepare_work(const WorkSite& site) {
  switch (site.job.work) {
    case Work::kNaive:
    case Work::kNaiveDescriptor:
    case Work::kNaiveComputing:
    case Work::kBareNaive:
      return prepare_naive(site);
    case Work::kComputing:
      return std::make_unique<ComputingAlone>(std::chrono::milliseconds(site.job.pause_ms));
    case Work::kForget:
      return performed([] { return Status(); });
    case Work::kBareSession:
      return performed([ranks = site.team.as_ranks(), mine = Mine(site)] {
        return run_bare_session(ranks, mine);
      });
    case Work::kStart:
      return std::make_unique<Starting>(site);
    case Work::kTipsySession:
    case Work::kTipsyChanga:
      return prepare_tipsy(site);
    case Work::kMpiIndependent:
    case Work::kMpiCollective:
      return prepare_collective_file(site);
    case Work::kLinkSession:
    case Work::kLinkAsPlanned:
    case Work::kLinkComputing:
    case Work::kLinkMpiIo:
    case Work::kLinkSend:
      return prepare_over_link(site);
    default:
      return prepare_with_file(site);
  }
}

}  // namespace forebay::bench::read
