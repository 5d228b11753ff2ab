// SPDX-License-Identifier: Apache-2.0
#include "tools/calibrate/observe.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/descriptor.hpp"
#include "storage/engine.hpp"
#include "storage/file.hpp"
#include "storage/probe.hpp"
#include "storage/stripe_layout.hpp"
#include "tools/calibrate/offset_sampler.hpp"
#include "tools/calibrate/scratch_directory.hpp"

namespace forebay::calibrate {

namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kSmallBytes = 4096;
constexpr std::uint64_t kLargeBytes = 1ULL << 20U;
constexpr std::uint64_t kSyncedBytesMax = 64ULL << 20U;
constexpr std::size_t kAlignment = 4096;

double observe_clock_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Aligned for direct access, and prefaulted.
class AlignedBuffer {
 public:
  explicit AlignedBuffer(std::size_t bytes)
      : memory_(static_cast<std::byte*>(std::aligned_alloc(kAlignment, bytes))), bytes_(bytes) {
    if (memory_) std::fill_n(memory_.get(), bytes, std::byte{1});
  }
  std::span<std::byte> part(std::size_t at, std::size_t size) { return {memory_.get() + at, size}; }
  bool is_allocated() const { return memory_ != nullptr; }
  std::size_t size() const { return bytes_; }

 private:
  struct Free {
    void operator()(std::byte* memory) const { std::free(memory); }
  };
  std::unique_ptr<std::byte, Free> memory_;
  std::size_t bytes_;
};

enum class Direction : std::uint8_t { kRead, kWrite };

struct RequestLoad {
  Direction direction = Direction::kRead;
  std::uint64_t request_bytes = 0;
  std::uint32_t depth = 1;
  double seconds = 0;
};

/// Requests random offsets at a depth of `depth` until the time is over, then waits for the
/// remaining completions.
class LoadRunner {
 public:
  LoadRunner(storage::Engine& engine,
             storage::File& file,
             const OffsetSampler& offsets,
             AlignedBuffer& memory)
      : engine_(engine), file_(file), offsets_(offsets), memory_(memory) {}

  /// Returns the requests a second that completed in time. Called once.
  Result<double> run(const RequestLoad& request_load) {
    request_load_ = request_load;
    // Before the first request: it may complete before the last one is submitted.
    const double began = observe_clock_s();
    end_ = began + request_load.seconds;
    last_ = began;
    for (std::uint32_t i = 0; i < request_load.depth; ++i)
      start(i);
    while (engine_.in_flight() > 0) {
      const std::size_t ended = engine_.wait(completions_, std::nullopt);
      const double now = observe_clock_s();
      for (const auto& one : std::span(completions_).first(ended))
        complete(one, now);
    }
    if (!done_) return failure(done_.error());
    return static_cast<double>(count_) / std::max(last_ - began, 1e-9);
  }

 private:
  void complete(const storage::Completion& one, double now) {
    if (done_) done_ = check(one);
    // The first requests met an idle storage.
    if (now < end_ || count_ == 0) {
      ++count_;
      last_ = now;
    }
    if (done_ && now < end_) start(static_cast<std::uint32_t>(one.tag));
  }
  /// A short transfer costs less than the request, and measures nothing.
  Status check(const storage::Completion& one) const {
    if (!one.bytes) return failure(one.bytes.error());
    if (*one.bytes == request_load_.request_bytes) return {};
    return failure(
        {.kind = ErrorClass::kShortFile,
         .operation = "calibrate",
         .path = file_.path(),
         .cause = fmt::format(
             "{} of {} bytes were transferred; keep other programs from changing the file",
             *one.bytes, request_load_.request_bytes)});
  }
  void start(std::uint32_t slot) {
    const auto memory =
        memory_.part(slot * request_load_.request_bytes, request_load_.request_bytes);
    const std::uint64_t at = offsets_.random_offset(random_, request_load_.request_bytes);
    const std::array operations = {request_load_.direction == Direction::kRead
                                       ? storage::read_operation(file_, at, memory, slot)
                                       : storage::write_operation(file_, at, memory, slot)};
    engine_.submit(operations);
  }

  storage::Engine& engine_;
  storage::File& file_;
  const OffsetSampler offsets_;
  AlignedBuffer& memory_;
  RequestLoad request_load_;
  std::mt19937_64 random_{1};
  std::array<storage::Completion, 64> completions_;
  double end_ = 0;
  double last_ = 0;  ///< when the last counted request completed
  std::uint64_t count_ = 0;
  Status done_;
};

/// Counts steps, and reports each to the callback.
class ProgressSteps {
 public:
  ProgressSteps(const ProgressCallback& on_progress, std::uint64_t total)
      : on_progress_(on_progress), total_(total) {}
  void next(const std::string& what) {
    if (on_progress_) on_progress_({done_, total_, "loads", what});
    ++done_;
  }
  void end() {
    if (on_progress_) on_progress_({total_, total_, "loads", "measured"});
  }

 private:
  const ProgressCallback& on_progress_;
  std::uint64_t total_;
  std::uint64_t done_ = 0;
};

/// All measurements on one open file.
class FileObserver {
 public:
  FileObserver(storage::File& file, const ObserveLimits& limits, ProgressSteps& steps)
      : file_(file), limits_(limits), steps_(steps), memory_(limits.depth_max * kLargeBytes) {}

  Status prepare() {
    if (!memory_.is_allocated())
      return failure({.kind = ErrorClass::kLimit,
                      .operation = "calibrate",
                      .cause = "out of memory; close other programs"});
    auto backend = storage::make_backend({.queue_depth = limits_.depth_max});
    if (!backend) return failure(backend.error());
    engine_ = std::make_unique<storage::Engine>(
        std::move(*backend), storage::EngineOptions{.queue_depth = limits_.depth_max});
    if (engine_->can_submit(file_)) return {};
    return failure({.kind = ErrorClass::kUnsupported,
                    .operation = "calibrate",
                    .path = file_.path(),
                    .cause = "no backend can use this file; choose another directory"});
  }

  Result<LoadCurve> load(Direction direction, const OffsetSampler& offsets) {
    LoadCurve load{.small_bytes = kSmallBytes,
                   .large_bytes = offsets.server_count > 1
                                      ? std::min(kLargeBytes, offsets.stripe_bytes)
                                      : kLargeBytes};
    auto small = points(direction, load.small_bytes, offsets);
    if (!small) return failure(small.error());
    auto large = points(direction, load.large_bytes, offsets);
    if (!large) return failure(large.error());
    load.small = std::move(*small);
    load.large = std::move(*large);
    return load;
  }

  /// Returns bytes a second.
  Result<SampleSummary> measure_all_servers(const OffsetSampler& offsets) {
    steps_.next("reading from all servers");
    return requests_per_second({.request_bytes = kLargeBytes, .depth = limits_.depth_max}, offsets)
        .map([](SampleSummary rate) {
          const auto bytes = static_cast<double>(kLargeBytes);
          return SampleSummary{rate.median * bytes, rate.low * bytes, rate.high * bytes};
        });
  }

  /// Returns the seconds of a sync after the first `bytes` of the file were written.
  Result<SampleSummary> measure_sync(std::uint64_t bytes) {
    steps_.next(fmt::format("syncing after {} KiB", bytes >> 10U));
    std::vector<double> seconds;
    for (unsigned round = 0; round < limits_.syncs; ++round) {
      for (std::uint64_t at = 0; at < bytes; at += kLargeBytes) {
        const auto put = file_.write_at(memory_.part(0, std::min(bytes, kLargeBytes)), at);
        if (!put) return failure(put.error());
      }
      const double began = observe_clock_s();
      if (const auto synced = file_.sync(); !synced) return failure(synced.error());
      seconds.push_back(observe_clock_s() - began);
    }
    return summarize(std::move(seconds));
  }

  Result<SyncTimes> measure_syncs() {
    SyncTimes times{.clean = {},
                    .small_bytes = kSmallBytes,
                    .small = {},
                    .large_bytes = std::min(kSyncedBytesMax, limits_.file_bytes),
                    .large = {},
                    .directory = {}};
    for (const auto& [bytes, time] :
         {std::pair{std::uint64_t{0}, &times.clean}, std::pair{times.small_bytes, &times.small},
          std::pair{times.large_bytes, &times.large}}) {
      const auto measured = measure_sync(bytes);
      if (!measured) return failure(measured.error());
      *time = *measured;
    }
    return times;
  }

 private:
  Result<std::vector<LoadPoint>> points(Direction direction,
                                        std::uint64_t request_bytes,
                                        const OffsetSampler& offsets) {
    std::vector<LoadPoint> points;
    for (std::uint32_t depth = 1; depth <= limits_.depth_max; depth *= 2) {
      steps_.next(fmt::format("{} {} KiB, {} in flight",
                              direction == Direction::kRead ? "reading" : "writing",
                              request_bytes >> 10U, depth));
      const auto rate = requests_per_second(
          {.direction = direction, .request_bytes = request_bytes, .depth = depth}, offsets);
      if (!rate) return failure(rate.error());
      points.push_back({depth, *rate});
    }
    return points;
  }

  Result<SampleSummary> requests_per_second(RequestLoad request_load,
                                            const OffsetSampler& offsets) {
    request_load.seconds = limits_.seconds_each;
    std::vector<double> rates;
    for (unsigned round = 0; round < limits_.rounds; ++round) {
      const auto rate = LoadRunner(*engine_, file_, offsets, memory_).run(request_load);
      if (!rate) return failure(rate.error());
      rates.push_back(*rate);
    }
    return summarize(std::move(rates));
  }

  storage::File& file_;
  const ObserveLimits limits_;
  ProgressSteps& steps_;
  AlignedBuffer memory_;
  std::unique_ptr<storage::Engine> engine_;
};

Status fill(storage::File& file, std::uint64_t bytes) {
  AlignedBuffer memory(kLargeBytes);
  if (!memory.is_allocated())
    return failure({.kind = ErrorClass::kLimit,
                    .operation = "calibrate",
                    .cause = "out of memory; close other programs"});
  for (std::uint64_t at = 0; at < bytes; at += kLargeBytes) {
    const auto put = file.write_at(memory.part(0, kLargeBytes), at);
    if (!put) return failure(put.error());
  }
  return file.sync();
}

/// Times one operation on each of many names.
template <class Operation>
Result<SampleSummary> time_metadata(const ScratchDirectory& directory,
                                    const std::vector<std::string>& names,
                                    const Operation& operation) {
  std::vector<double> seconds;
  for (const std::string& name : names) {
    const std::string path = (directory / name).string();
    const double began = observe_clock_s();
    const bool done = operation(path);
    if (!done) return failure(system_error({.operation = "use", .path = path}, errno));
    seconds.push_back(observe_clock_s() - began);
  }
  return summarize(std::move(seconds));
}

bool open_and_close(const std::string& path, int flags) {
  const int descriptor = ::open(path.c_str(), flags | O_CLOEXEC, 0600);
  return descriptor >= 0 && ::close(descriptor) == 0;
}

Result<MetadataTimes> observe_metadata(const ScratchDirectory& directory, unsigned count) {
  std::vector<std::string> names;
  for (unsigned i = 0; i < count; ++i)
    names.push_back(fmt::format("name-{}", i));
  const auto create = time_metadata(
      directory, names, [](const auto& path) { return open_and_close(path, O_CREAT | O_WRONLY); });
  if (!create) return failure(create.error());
  const auto open = time_metadata(directory, names,
                                  [](const auto& path) { return open_and_close(path, O_RDONLY); });
  if (!open) return failure(open.error());
  const auto stat = time_metadata(directory, names, [](const auto& path) {
    struct stat status{};
    return ::stat(path.c_str(), &status) == 0;
  });
  if (!stat) return failure(stat.error());
  const auto unlink =
      time_metadata(directory, names, [](const auto& path) { return ::unlink(path.c_str()) == 0; });
  if (!unlink) return failure(unlink.error());
  return MetadataTimes{.create = *create, .open = *open, .stat = *stat, .unlink = *unlink};
}

/// Syncs of a directory, each after a file was created in it.
Result<SampleSummary> observe_directory_syncs(const ScratchDirectory& directory, unsigned count) {
  const std::string path = (directory / ".").string();
  const Descriptor opened(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  std::vector<double> seconds;
  for (unsigned i = 0; i < count; ++i) {
    const std::string name = (directory / fmt::format("synced-{}", i)).string();
    const bool is_created = open_and_close(name, O_CREAT | O_WRONLY);
    const double began = observe_clock_s();
    if (!is_created || ::fsync(opened.get()) != 0)
      return failure(system_error({.operation = "sync", .path = path}, errno));
    seconds.push_back(observe_clock_s() - began);
  }
  return summarize(std::move(seconds));
}

/// The system's readahead for the storage of `path`; the kernel's default if unknown.
std::uint64_t read_ahead_of(const std::string& path) {
  constexpr std::uint64_t kUsualKib = 128;
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0) return kUsualKib << 10U;
  std::ifstream setting(fmt::format("/sys/class/bdi/{}:{}/read_ahead_kb", major(status.st_dev),
                                    minor(status.st_dev)));
  std::uint64_t kib = kUsualKib;
  if (!(setting >> kib)) kib = kUsualKib;
  return kib << 10U;
}

Status observe_file(storage::File& file,
                    const ObserveLimits& limits,
                    ProgressSteps& steps,
                    Observations& observations) {
  const OffsetSampler anywhere{.file_bytes = limits.file_bytes};
  OffsetSampler one_server = anywhere;
  if (const auto stripes = storage::stripe_layout_of(file)) {
    observations.stripe_bytes = one_server.stripe_bytes = stripes->stripe_bytes;
    observations.server_count = one_server.server_count = stripes->stripe_count;
  }
  FileObserver observer(file, limits, steps);
  if (auto ready = observer.prepare(); !ready) return ready;
  auto read = observer.load(Direction::kRead, one_server);
  if (!read) return failure(read.error());
  auto write = observer.load(Direction::kWrite, one_server);
  if (!write) return failure(write.error());
  auto all = observer.measure_all_servers(anywhere);
  if (!all) return failure(all.error());
  const auto sync = observer.measure_syncs();
  if (!sync) return failure(sync.error());
  observations.sync = *sync;
  observations.read = std::move(*read);
  observations.write = std::move(*write);
  // A file shorter than a stripe round does not use all servers.
  const bool covers_all_servers = one_server.row_bytes() <= limits.file_bytes;
  if (observations.server_count > 1 && covers_all_servers)
    observations.aggregate_bytes_per_second = *all;
  return {};
}

}  // namespace

Result<Observations> observe(const fs::path& directory,
                             const ObserveLimits& limits,
                             const ProgressCallback& on_progress) {
  auto scratch = ScratchDirectory::make(directory);
  if (!scratch) return failure(scratch.error());
  std::uint64_t depths = 0;
  for (std::uint32_t depth = 1; depth <= limits.depth_max; depth *= 2)
    ++depths;
  constexpr std::uint64_t kOtherSteps = 6;
  ProgressSteps steps(on_progress, 4 * depths + kOtherSteps);
  steps.next("writing a file");
  const std::string path = (**scratch / "data").string();
  auto file =
      storage::open_file(path, {.intent = storage::Intent::kCreate, .access = Access::kDirect});
  if (!file) return failure(file.error());
  if (auto filled = fill(**file, limits.file_bytes); !filled) return failure(filled.error());
  Observations observations;
  if (auto done = observe_file(**file, limits, steps, observations); !done)
    return failure(done.error());
  steps.next("names");
  auto names = observe_metadata(**scratch, limits.metadata_files);
  if (!names) return failure(names.error());
  observations.metadata = *names;
  const auto directory_syncs = observe_directory_syncs(**scratch, limits.syncs);
  if (!directory_syncs) return failure(directory_syncs.error());
  observations.sync.directory = *directory_syncs;
  observations.read_ahead_bytes = read_ahead_of(path);
  steps.end();
  return observations;
}

}  // namespace forebay::calibrate
