// SPDX-License-Identifier: Apache-2.0
#include "tools/emufs/overhead_probe.hpp"

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

/// Typical durations of such requests on emulated storages: threads sleep and processor caches cool
/// down as in real use.
struct ProbeSettings {
  Time delay = 1ms;
  int samples = 41;
};
constexpr ProbeSettings kForSmall{};
constexpr ProbeSettings kForLarge{8ms, 15};

Error measure_error(const std::string& path, int error_number) {
  return system_error({.operation = "measure FUSE with", .path = path}, error_number);
}

/// Installs the probe in place of the model while it exists.
class ProbeInstallation {
 public:
  explicit ProbeInstallation(EmulatedFileSystem& file_system) : file_system_(file_system) {
    file_system_.probe = &probe_;
  }
  ~ProbeInstallation() { file_system_.probe = nullptr; }
  ProbeInstallation(const ProbeInstallation&) = delete;
  ProbeInstallation& operator=(const ProbeInstallation&) = delete;

  OverheadProbe& probe() { return probe_; }

 private:
  EmulatedFileSystem& file_system_;
  OverheadProbe probe_;
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

/// `use(i)` makes one request, and returns whether it succeeded.
FuseOverhead measure(OverheadProbe& probe,
                     ProbeSettings settings,
                     const std::function<bool(int)>& use) {
  probe.set_delay(settings.delay);
  std::vector<Time> before;
  std::vector<Time> after;
  for (int i = 0; i < settings.samples; ++i) {
    const Time begin = monotonic_now();
    if (!use(i)) return {};
    const Time end = monotonic_now();
    before.push_back(probe.arrival() - begin);
    after.push_back(end - probe.due());
  }
  return {median(before), median(after)};
}

FuseOverheadBySize measure_reads(OverheadProbe& probe, const ProbeFile& file, char* memory) {
  const Descriptor cached(::open(file.path(), O_RDONLY | O_CLOEXEC));
  const Descriptor direct(::open(file.path(), O_RDONLY | O_CLOEXEC | O_DIRECT));
  ::posix_fadvise(cached.get(), 0, 0, POSIX_FADV_RANDOM);
  FuseOverheadBySize line;
  line.small = measure(probe, kForSmall, [&](int i) {
    const auto at = static_cast<off_t>(2 * kSmallRequestBytes) * i;
    return ::pread(cached.get(), memory, kSmallRequestBytes, at) > 0;
  });
  line.large = measure(probe, kForLarge, [&](int) {
    return ::pread(direct.get(), memory, kLargeRequestBytes, 0) > 0;
  });
  return line;
}

FuseOverheadBySize measure_writes(OverheadProbe& probe, const ProbeFile& file, const char* memory) {
  const Descriptor descriptor(::open(file.path(), O_WRONLY | O_CLOEXEC));
  const auto write = [&](std::uint64_t bytes, ProbeSettings settings) {
    return measure(probe, settings, [&descriptor, memory, bytes](int) {
      return ::pwrite(descriptor.get(), memory, bytes, 0) > 0;
    });
  };
  return {write(kSmallRequestBytes, kForSmall), write(kLargeRequestBytes, kForLarge)};
}

}  // namespace

void OverheadProbe::schedule(ReplyScheduler& scheduler,
                             Time arrival,
                             std::unique_ptr<Reply> reply) {
  arrival_ = arrival.count();
  const Time due = arrival + Time(delay_.load());
  due_ = due.count();
  scheduler.reply_at(due, std::move(reply));
}

namespace {

Result<FuseOverheads> measure_in_thread(EmulatedFileSystem& file_system,
                                        const std::string& mount_point) {
  const ProbeFile file(mount_point + "/.forebay-emufs-" + std::to_string(::getpid()));
  const Descriptor made(::open(file.path(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!made) return failure(measure_error(file.path(), errno));
  auto memory = file_system.buffers.acquire(kLargeRequestBytes);
  std::fill_n(memory.get(), kLargeRequestBytes, 'f');
  if (::pwrite(made.get(), memory.get(), kLargeRequestBytes, 0) !=
      static_cast<ssize_t>(kLargeRequestBytes)) {
    return failure(measure_error(file.path(), errno));
  }
  ::posix_fadvise(made.get(), 0, 0, POSIX_FADV_DONTNEED);
  ProbeInstallation installation(file_system);
  FuseOverheads overheads;
  overheads.read = measure_reads(installation.probe(), file, memory.get());
  overheads.write = measure_writes(installation.probe(), file, memory.get());
  overheads.name = measure(installation.probe(), kForSmall, [&file](int) {
    struct stat attributes{};
    return ::stat(file.path(), &attributes) == 0;
  });
  return overheads;
}

}  // namespace

Result<FuseOverheads> measure_fuse_overheads(EmulatedFileSystem& file_system,
                                             const std::string& mount_point) {
  Result<FuseOverheads> overheads;
  // At the priority of the threads that send replies. Delays from processors that others use belong
  // to the programs, and are not part of the overhead to be subtracted.
  auto thread = start_service_thread("emufs-probe", [&] {
    raise_thread_priority();
    overheads = measure_in_thread(file_system, mount_point);
  });
  if (!thread) return failure(thread.error());
  thread->join();
  return overheads;
}

}  // namespace forebay::emufs
