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
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "storage/engine.hpp"
#include "storage/file.hpp"
#include "storage/probe.hpp"
#include "storage/stripes.hpp"
#include "tools/calibrate/own_folder.hpp"
#include "tools/calibrate/places.hpp"

namespace forebay::calibrate {

namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kSmallBytes = 4096;
constexpr std::uint64_t kLargeBytes = 1ULL << 20U;
constexpr std::size_t kAlignment = 4096;

double observed_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Aligned for direct access and touched.
class Memory {
 public:
  explicit Memory(std::size_t bytes)
      : memory_(static_cast<std::byte*>(std::aligned_alloc(kAlignment, bytes))), bytes_(bytes) {
    if (memory_) std::fill_n(memory_.get(), bytes, std::byte{1});
  }
  std::span<std::byte> part(std::size_t at, std::size_t size) { return {memory_.get() + at, size}; }
  bool is_there() const { return memory_ != nullptr; }
  std::size_t size() const { return bytes_; }

 private:
  struct Free {
    void operator()(std::byte* memory) const { std::free(memory); }
  };
  std::unique_ptr<std::byte, Free> memory_;
  std::size_t bytes_;
};

enum class Direction : std::uint8_t { kRead, kWrite };

struct Asked {
  Direction direction = Direction::kRead;
  std::uint64_t request_bytes = 0;
  std::uint32_t depth = 1;
  double seconds = 0;
};

/// Asks for random places, `depth` at a time, until the time is over; then waits for the rest.
class LoadRunner {
 public:
  LoadRunner(storage::Engine& engine, storage::File& file, const Places& places, Memory& memory)
      : engine_(engine), file_(file), places_(places), memory_(memory) {}

  /// Requests a second, of those that ended in time. To be called once.
  Result<double> run(const Asked& asked) {
    asked_ = asked;
    // Before the first is asked for: some may be answered before the last of them is.
    const double began = observed_s();
    end_ = began + asked.seconds;
    last_ = began;
    for (std::uint32_t i = 0; i < asked.depth; ++i)
      start(i);
    while (engine_.in_flight() > 0) {
      const std::size_t ended = engine_.wait(completions_, std::nullopt);
      const double now = observed_s();
      for (const auto& one : std::span(completions_).first(ended))
        take(one, now);
    }
    if (!done_) return failure(done_.error());
    return static_cast<double>(count_) / std::max(last_ - began, 1e-9);
  }

 private:
  void take(const storage::Completion& one, double now) {
    if (done_) done_ = check(one);
    // The first ones found nothing in their way.
    if (now < end_ || count_ == 0) {
      ++count_;
      last_ = now;
    }
    if (done_ && now < end_) start(static_cast<std::uint32_t>(one.tag));
  }
  /// What is answered in part costs less than was asked for, and measures nothing.
  Status check(const storage::Completion& one) const {
    if (!one.bytes) return failure(one.bytes.error());
    if (*one.bytes == asked_.request_bytes) return {};
    return failure({.kind = ErrorClass::kShortFile,
                    .operation = "calibrate",
                    .path = file_.path(),
                    .cause = fmt::format("{} bytes of {} came; did somebody change the file?",
                                         *one.bytes, asked_.request_bytes)});
  }
  void start(std::uint32_t slot) {
    const auto memory = memory_.part(slot * asked_.request_bytes, asked_.request_bytes);
    const std::uint64_t at = places_.random(random_, asked_.request_bytes);
    const std::array operations = {asked_.direction == Direction::kRead
                                       ? storage::read_operation(file_, at, memory, slot)
                                       : storage::write_operation(file_, at, memory, slot)};
    engine_.submit(operations);
  }

  storage::Engine& engine_;
  storage::File& file_;
  const Places places_;
  Memory& memory_;
  Asked asked_;
  std::mt19937_64 random_{1};
  std::array<storage::Completion, 64> completions_;
  double end_ = 0;
  double last_ = 0;  ///< when the last that counts was answered
  std::uint64_t count_ = 0;
  Status done_;
};

/// Counts steps for whoever watches.
class Steps {
 public:
  Steps(const Tell& tell, std::uint64_t total) : tell_(tell), total_(total) {}
  void next(const std::string& what) {
    if (tell_) tell_({done_, total_, "loads", what});
    ++done_;
  }
  void end() {
    if (tell_) tell_({total_, total_, "loads", "measured"});
  }

 private:
  const Tell& tell_;
  std::uint64_t total_;
  std::uint64_t done_ = 0;
};

/// All that is measured on one open file.
class FileObserver {
 public:
  FileObserver(storage::File& file, const ObserveLimits& limits, Steps& steps)
      : file_(file), limits_(limits), steps_(steps), memory_(limits.depth_max * kLargeBytes) {}

  Status prepare() {
    if (!memory_.is_there())
      return failure({.kind = ErrorClass::kLimit, .operation = "calibrate", .cause = "no memory"});
    auto backend = storage::make_backend({.queue_depth = limits_.depth_max});
    if (!backend) return failure(backend.error());
    engine_ = std::make_unique<storage::Engine>(
        std::move(*backend), storage::EngineOptions{.queue_depth = limits_.depth_max});
    if (engine_->accepts(file_)) return {};
    return failure({.kind = ErrorClass::kUnsupported,
                    .operation = "calibrate",
                    .path = file_.path(),
                    .cause = "no backend takes this file"});
  }

  Result<Load> load(Direction direction, const Places& places) {
    Load load{.small_bytes = kSmallBytes,
              .large_bytes = places.server_count > 1 ? std::min(kLargeBytes, places.stripe_bytes)
                                                     : kLargeBytes};
    auto small = points(direction, load.small_bytes, places);
    if (!small) return failure(small.error());
    auto large = points(direction, load.large_bytes, places);
    if (!large) return failure(large.error());
    load.small = std::move(*small);
    load.large = std::move(*large);
    return load;
  }

  /// Bytes a second.
  Result<Measured> all_servers(const Places& places) {
    steps_.next("reading from all servers");
    return requests_per_second({.request_bytes = kLargeBytes, .depth = limits_.depth_max}, places)
        .map([](Measured rate) {
          const auto bytes = static_cast<double>(kLargeBytes);
          return Measured{rate.median * bytes, rate.low * bytes, rate.high * bytes};
        });
  }

 private:
  Result<std::vector<LoadPoint>> points(Direction direction,
                                        std::uint64_t request_bytes,
                                        const Places& places) {
    std::vector<LoadPoint> points;
    for (std::uint32_t depth = 1; depth <= limits_.depth_max; depth *= 2) {
      steps_.next(fmt::format("{} {} KiB, {} at once",
                              direction == Direction::kRead ? "reading" : "writing",
                              request_bytes >> 10U, depth));
      const auto rate = requests_per_second(
          {.direction = direction, .request_bytes = request_bytes, .depth = depth}, places);
      if (!rate) return failure(rate.error());
      points.push_back({depth, *rate});
    }
    return points;
  }

  Result<Measured> requests_per_second(Asked asked, const Places& places) {
    asked.seconds = limits_.seconds_each;
    std::vector<double> rates;
    for (unsigned round = 0; round < limits_.rounds; ++round) {
      const auto rate = LoadRunner(*engine_, file_, places, memory_).run(asked);
      if (!rate) return failure(rate.error());
      rates.push_back(*rate);
    }
    return summarise(std::move(rates));
  }

  storage::File& file_;
  const ObserveLimits limits_;
  Steps& steps_;
  Memory memory_;
  std::unique_ptr<storage::Engine> engine_;
};

Status fill(storage::File& file, std::uint64_t bytes) {
  Memory memory(kLargeBytes);
  if (!memory.is_there())
    return failure({.kind = ErrorClass::kLimit, .operation = "calibrate", .cause = "no memory"});
  for (std::uint64_t at = 0; at < bytes; at += kLargeBytes) {
    const auto put = file.write_at(memory.part(0, kLargeBytes), at);
    if (!put) return failure(put.error());
  }
  return file.sync();
}

/// One operation on each of many names, and how long each took.
template <class Operation>
Result<Measured> time_names(const OwnFolder& folder,
                            const std::vector<std::string>& names,
                            const Operation& operation) {
  std::vector<double> seconds;
  for (const std::string& name : names) {
    const std::string path = (folder / name).string();
    const double began = observed_s();
    const bool done = operation(path);
    if (!done) return failure(system_error({.operation = "use", .path = path}, errno));
    seconds.push_back(observed_s() - began);
  }
  return summarise(std::move(seconds));
}

bool open_and_close(const std::string& path, int flags) {
  const int descriptor = ::open(path.c_str(), flags | O_CLOEXEC, 0600);
  return descriptor >= 0 && ::close(descriptor) == 0;
}

Result<NameTimes> observe_names(const OwnFolder& folder, unsigned count) {
  std::vector<std::string> names;
  for (unsigned i = 0; i < count; ++i)
    names.push_back(fmt::format("name-{}", i));
  const auto create = time_names(
      folder, names, [](const auto& path) { return open_and_close(path, O_CREAT | O_WRONLY); });
  if (!create) return failure(create.error());
  const auto open =
      time_names(folder, names, [](const auto& path) { return open_and_close(path, O_RDONLY); });
  if (!open) return failure(open.error());
  const auto stat = time_names(folder, names, [](const auto& path) {
    struct stat status{};
    return ::stat(path.c_str(), &status) == 0;
  });
  if (!stat) return failure(stat.error());
  const auto unlink =
      time_names(folder, names, [](const auto& path) { return ::unlink(path.c_str()) == 0; });
  if (!unlink) return failure(unlink.error());
  return NameTimes{.create = *create, .open = *open, .stat = *stat, .unlink = *unlink};
}

/// The system's read-ahead for what `path` lies on; the kernel's usual one where it does not tell.
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
                    Steps& steps,
                    Observations& seen) {
  const Places anywhere{.file_bytes = limits.file_bytes};
  Places one_server = anywhere;
  if (const auto stripes = storage::stripes_of(file)) {
    seen.stripe_bytes = one_server.stripe_bytes = stripes->stripe_bytes;
    seen.server_count = one_server.server_count = stripes->server_count;
  }
  FileObserver observer(file, limits, steps);
  if (auto ready = observer.prepare(); !ready) return ready;
  auto read = observer.load(Direction::kRead, one_server);
  if (!read) return failure(read.error());
  auto write = observer.load(Direction::kWrite, one_server);
  if (!write) return failure(write.error());
  auto all = observer.all_servers(anywhere);
  if (!all) return failure(all.error());
  seen.read = std::move(*read);
  seen.write = std::move(*write);
  // A file that ends in its first row does not lie on all of them.
  const bool lies_on_all = one_server.row_bytes() <= limits.file_bytes;
  if (seen.server_count > 1 && lies_on_all) seen.bytes_per_second_of_all = *all;
  return {};
}

}  // namespace

Result<Observations> observe(const fs::path& folder,
                             const ObserveLimits& limits,
                             const Tell& tell) {
  auto own = OwnFolder::make(folder);
  if (!own) return failure(own.error());
  std::uint64_t depths = 0;
  for (std::uint32_t depth = 1; depth <= limits.depth_max; depth *= 2)
    ++depths;
  Steps steps(tell, 4 * depths + 3);
  steps.next("writing a file");
  const std::string path = (**own / "data").string();
  auto file =
      storage::open_file(path, {.intent = storage::Intent::kCreate, .access = Access::kDirect});
  if (!file) return failure(file.error());
  if (auto filled = fill(**file, limits.file_bytes); !filled) return failure(filled.error());
  Observations seen;
  if (auto done = observe_file(**file, limits, steps, seen); !done) return failure(done.error());
  steps.next("names");
  auto names = observe_names(**own, limits.names);
  if (!names) return failure(names.error());
  seen.names = *names;
  seen.read_ahead_bytes = read_ahead_of(path);
  steps.end();
  return seen;
}

}  // namespace forebay::calibrate
