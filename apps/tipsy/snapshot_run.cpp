// SPDX-License-Identifier: Apache-2.0
#include "tipsy/snapshot_run.hpp"

#include <algorithm>
#include <cerrno>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace forebay::tipsy {

Json to_json(const RunTimes& times) {
  return {{"open", times.open_s},
          {"sample", times.sample_s},
          {"first_particle", times.first_particle_s},
          {"waiting", times.waiting_s},
          {"computing_cpu", times.computing_cpu_s},
          {"total", times.total_s}};
}

namespace {

/// Rejects pipes and devices: the layout depends on the file size, and tasks read at offsets.
Status require_regular_file(const std::string& path) {
  struct stat found{};
  if (::stat(path.c_str(), &found) != 0 || S_ISREG(found.st_mode) || S_ISDIR(found.st_mode))
    return {};
  return failure({.kind = ErrorClass::kInvalidArgument,
                  .operation = "open",
                  .path = path,
                  .cause = std::string("the file is a ") +
                           (S_ISFIFO(found.st_mode) ? "pipe" : "device") +
                           ", but tasks read a snapshot at many offsets at once; copy it to a "
                           "regular file first"});
}

}  // namespace

Result<std::unique_ptr<SnapshotRun>> SnapshotRun::open(const RunOptions& options) {
  if (const Status is_file = require_regular_file(options.path); !is_file)
    return failure(is_file.error());
  if (options.cache == PageCacheMode::kDrop) {
    if (const Status dropped = drop_from_cache(options.path); !dropped) {
      return failure(dropped.error());
    }
  }
  std::unique_ptr<SnapshotRun> run(new SnapshotRun(options));
  auto source = open_source(options.path, options.source);
  if (!source) return failure(source.error());
  run->source_ = std::move(*source);
  if (const Status read = run->read_header(); !read) return failure(read.error());
  run->times.open_s = run->stopwatch_.elapsed_s();
  return run;
}

Status SnapshotRun::read_header() {
  HeaderBytes head{};
  const std::uint64_t size_bytes = std::min(source_->file_bytes(), kHeaderBytes);
  const ByteRange range{0, size_bytes};
  const auto bytes = std::span(head).first(size_bytes);
  if (!range.empty()) {
    if (const Status read_status = source_->read_ranges({&range, 1}, bytes); !read_status)
      return read_status;
  }
  auto snapshot =
      identify_snapshot({options_.path, source_->file_bytes(), bytes, options_.count_source},
                        options_.named_precision);
  if (!snapshot) return failure(snapshot.error());
  snapshot_.emplace(std::move(*snapshot));
  return {};
}

void SnapshotRun::record_times(const CpuTimer& meter, double start_s) {
  times.total_s = stopwatch_.elapsed_s();
  const bool computed = meter.first_start() != CpuTimer::Clock::time_point{};
  times.first_particle_s = computed ? stopwatch_.since_start_s(meter.first_start()) : times.total_s;
  times.computing_cpu_s = meter.cpu_time_s() / options_.threads;
  times.waiting_s = std::max(0.0, times.total_s - start_s - times.computing_cpu_s);
}

Json SnapshotRun::describe() {
  return {{"source", name_of(options_.source.kind)},
          {"tasks", options_.tasks},
          {"threads", options_.threads},
          {"cold", options_.cache == PageCacheMode::kDrop},
          {"budget_bytes",
           options_.source.budget_bytes ? Json(*options_.source.budget_bytes) : Json(nullptr)},
          {"times_s", to_json(times)},
          {"memory", to_json(memory_.stop())},
          {"session", to_json(source_->report())}};
}

Status drop_from_cache(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) {
    const int reason = errno;
    return failure(system_error({.operation = "open", .path = path}, reason));
  }
  const int sync_errno = ::fsync(descriptor) == 0 ? 0 : errno;  // dirty pages cannot be dropped
  const int drop_errno = ::posix_fadvise(descriptor, 0, 0, POSIX_FADV_DONTNEED);
  ::close(descriptor);
  const int reason = sync_errno != 0 ? sync_errno : drop_errno;
  if (reason == 0) return {};
  return failure(system_error({.operation = "drop from the page cache", .path = path}, reason));
}

}  // namespace forebay::tipsy
