// SPDX-License-Identifier: Apache-2.0
#include "tipsy/run.hpp"

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

/// Refuses pipes and devices: the layout follows from the file size, and tasks read at offsets.
Status refuse_streams(const std::string& path) {
  struct stat found{};
  if (::stat(path.c_str(), &found) != 0 || S_ISREG(found.st_mode) || S_ISDIR(found.st_mode))
    return {};
  return failure({.kind = ErrorClass::kInvalidArgument,
                  .operation = "open",
                  .path = path,
                  .cause = std::string("it is a ") + (S_ISFIFO(found.st_mode) ? "pipe" : "device") +
                           ", and a snapshot is read at many places at once: write it to a file "
                           "first"});
}

}  // namespace

Result<std::unique_ptr<Run>> Run::open(const RunOptions& options) {
  if (const Status is_file = refuse_streams(options.path); !is_file)
    return failure(is_file.error());
  if (options.cache == Cache::kCold) {
    if (const Status dropped = drop_from_cache(options.path); !dropped) {
      return failure(dropped.error());
    }
  }
  std::unique_ptr<Run> run(new Run(options));
  auto source = open_source(options.path, options.source);
  if (!source) return failure(source.error());
  run->source_ = std::move(*source);
  if (const Status read = run->read_header(); !read) return failure(read.error());
  run->times.open_s = run->watch_.elapsed_s();
  return run;
}

Status Run::read_header() {
  HeaderBytes head{};
  const std::uint64_t size_bytes = std::min(source_->file_bytes(), kHeaderBytes);
  const ByteRange range{0, size_bytes};
  const auto bytes = std::span(head).first(size_bytes);
  if (!range.empty()) {
    if (const Status looked = source_->look({&range, 1}, bytes); !looked) return looked;
  }
  auto snapshot =
      recognise({options_.path, source_->file_bytes(), bytes, options_.counts_from}, options_.word);
  if (!snapshot) return failure(snapshot.error());
  snapshot_.emplace(std::move(*snapshot));
  return {};
}

void Run::account(const ComputeMeter& meter, double start_s) {
  times.total_s = watch_.elapsed_s();
  const bool computed = meter.first() != ComputeMeter::Clock::time_point{};
  times.first_particle_s = computed ? watch_.since_start_s(meter.first()) : times.total_s;
  times.computing_cpu_s = meter.spent_cpu_s() / options_.threads;
  times.waiting_s = std::max(0.0, times.total_s - start_s - times.computing_cpu_s);
}

Json Run::describe() {
  return {{"source", name_of(options_.source.kind)},
          {"tasks", options_.tasks},
          {"threads", options_.threads},
          {"cold", options_.cache == Cache::kCold},
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
