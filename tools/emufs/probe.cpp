// SPDX-License-Identifier: Apache-2.0
#include "tools/emufs/probe.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <functional>
#include <string>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/service_thread.hpp"
#include "tools/emufs/file_system.hpp"
#include "tools/emufs/priority.hpp"

namespace forebay::emufs {

namespace {

using namespace std::chrono_literals;
using model::Time;

/// As long as such requests take on a storage that somebody emulates: threads sleep, and caches of
/// the processor cool down, as they will.
struct Effort {
  Time delay = 1ms;
  int samples = 41;
};
constexpr Effort kForSmall{};
constexpr Effort kForLarge{8ms, 15};

Error cannot_measure(const std::string& path, int error_number) {
  return system_error({.operation = "measure FUSE with", .path = path}, error_number);
}

/// The stand-in for the model, as long as this lives.
class Standing {
 public:
  explicit Standing(FileSystem& file_system) : file_system_(file_system) {
    file_system_.probe = &probe_;
  }
  ~Standing() { file_system_.probe = nullptr; }
  Standing(const Standing&) = delete;
  Standing& operator=(const Standing&) = delete;

  Probe& probe() { return probe_; }

 private:
  FileSystem& file_system_;
  Probe probe_;
};

class ProbeFile {
 public:
  explicit ProbeFile(std::string path) : path_(std::move(path)) {}
  ~ProbeFile() { ::unlink(path_.c_str()); }
  ProbeFile(const ProbeFile&) = delete;
  ProbeFile& operator=(const ProbeFile&) = delete;
  const char* path() const { return path_.c_str(); }

 private:
  std::string path_;
};

Time median(std::vector<Time>& times) {
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::ranges::nth_element(times, middle);
  return std::max(*middle, Time{});
}

/// `use(i)` makes one request, and is true if that went well.
Allowance measure(Probe& probe, Effort effort, const std::function<bool(int)>& use) {
  probe.set_delay(effort.delay);
  std::vector<Time> before;
  std::vector<Time> after;
  for (int i = 0; i < effort.samples; ++i) {
    const Time begin = monotonic_now();
    if (!use(i)) return {};
    const Time end = monotonic_now();
    before.push_back(probe.taken() - begin);
    after.push_back(end - probe.due());
  }
  return {median(before), median(after)};
}

AllowanceLine measure_reads(Probe& probe, const ProbeFile& file, char* memory) {
  const Descriptor cached(::open(file.path(), O_RDONLY | O_CLOEXEC));
  const Descriptor direct(::open(file.path(), O_RDONLY | O_CLOEXEC | O_DIRECT));
  ::posix_fadvise(cached.get(), 0, 0, POSIX_FADV_RANDOM);
  AllowanceLine line;
  line.small = measure(probe, kForSmall, [&](int i) {
    const auto at = static_cast<off_t>(2 * kSmallRequestBytes) * i;
    return ::pread(cached.get(), memory, kSmallRequestBytes, at) > 0;
  });
  line.large = measure(probe, kForLarge, [&](int) {
    return ::pread(direct.get(), memory, kLargeRequestBytes, 0) > 0;
  });
  return line;
}

AllowanceLine measure_writes(Probe& probe, const ProbeFile& file, const char* memory) {
  const Descriptor descriptor(::open(file.path(), O_WRONLY | O_CLOEXEC));
  const auto write = [&](std::uint64_t bytes, Effort effort) {
    return measure(probe, effort, [&descriptor, memory, bytes](int) {
      return ::pwrite(descriptor.get(), memory, bytes, 0) > 0;
    });
  };
  return {write(kSmallRequestBytes, kForSmall), write(kLargeRequestBytes, kForLarge)};
}

}  // namespace

void Probe::take(Timekeeper& time, Time taken, std::unique_ptr<Answer> answer) {
  taken_ = taken.count();
  const Time due = taken + Time(delay_.load());
  due_ = due.count();
  time.answer_at(due, std::move(answer));
}

namespace {

Result<Allowances> measure_here(FileSystem& file_system, const std::string& mount_point) {
  const ProbeFile file(mount_point + "/.forebay-emufs-" + std::to_string(::getpid()));
  const Descriptor made(::open(file.path(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!made) return failure(cannot_measure(file.path(), errno));
  auto memory = file_system.buffers.take(kLargeRequestBytes);
  std::fill_n(memory.get(), kLargeRequestBytes, 'f');
  if (::pwrite(made.get(), memory.get(), kLargeRequestBytes, 0) !=
      static_cast<ssize_t>(kLargeRequestBytes)) {
    return failure(cannot_measure(file.path(), errno));
  }
  ::posix_fadvise(made.get(), 0, 0, POSIX_FADV_DONTNEED);
  Standing standing(file_system);
  Allowances allowances;
  allowances.read = measure_reads(standing.probe(), file, memory.get());
  allowances.write = measure_writes(standing.probe(), file, memory.get());
  allowances.name = measure(standing.probe(), kForSmall, [&file](int) {
    struct stat attributes{};
    return ::stat(file.path(), &attributes) == 0;
  });
  return allowances;
}

}  // namespace

Result<Allowances> measure_allowances(FileSystem& file_system, const std::string& mount_point) {
  Result<Allowances> allowances;
  // Woken like the threads that answer: what programs wait for a processor that others use is
  // theirs, and no cost of FUSE to be taken off.
  auto thread = start_service_thread("emufs-probe", [&] {
    prefer_this_thread();
    allowances = measure_here(file_system, mount_point);
  });
  if (!thread) return failure(thread.error());
  thread->join();
  return allowances;
}

}  // namespace forebay::emufs
