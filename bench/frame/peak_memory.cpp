// SPDX-License-Identifier: Apache-2.0
// The sampling thread, and the parser of Pss in /proc.
#include "bench/frame/peak_memory.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <string>
#include <thread>

#include <fmt/format.h>
#include <pthread.h>
#include <unistd.h>

#include "bench/frame/cpu_affinity.hpp"
#include "tools/probe/text_file.hpp"

namespace forebay::bench {
namespace {

constexpr std::chrono::milliseconds kPeriod{20};

}  // namespace

Result<std::uint64_t> pss_bytes(pid_t process) {
  const std::string path = fmt::format("/proc/{}/smaps_rollup", process);
  // The first line names a mapping; "Pss:" is on a later line.
  const std::string value = probe::value_after(probe::read_text(path), "Pss:");
  if (value.empty()) {
    const int error_number = access(path.c_str(), R_OK) == 0 ? ESRCH : errno;
    return tl::unexpected(
        system_error({.operation = "read memory of a process", .path = path}, error_number));
  }
  return std::strtoull(value.c_str(), nullptr, 10) * 1024;
}

class PeakMemory::Sampler {
 public:
  explicit Sampler(std::vector<pid_t> processes) : processes_(std::move(processes)) {
    thread_ = std::thread([this] { run(); });
  }

  std::uint64_t stop() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    wake_.notify_all();
    if (thread_.joinable()) thread_.join();
    return peak_bytes_;
  }

  std::uint64_t samples() const noexcept { return samples_; }

 private:
  void run() {
    pthread_setname_np(pthread_self(), "pss-sampler");
    // Benchmarks use processors from the first one on: the sampler avoids them while the last one
    // is free.
    const std::vector<unsigned> cores = usable_cores();
    const auto affinity = ScopedAffinity::pin(cores.empty() ? 0 : cores.back());
    std::unique_lock lock(mutex_);
    do {
      lock.unlock();
      sample();
      lock.lock();
    } while (!wake_.wait_for(lock, kPeriod, [this] { return stopping_; }));
    sample();
  }

  void sample() {
    std::uint64_t sum_bytes = 0;
    for (const pid_t process : processes_)
      sum_bytes += pss_bytes(process).value_or(0);
    peak_bytes_ = std::max(peak_bytes_, sum_bytes);
    ++samples_;
  }

  std::vector<pid_t> processes_;
  std::uint64_t peak_bytes_ = 0;  // written by the thread until it is joined
  std::atomic<std::uint64_t> samples_ = 0;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;
  std::thread thread_;
};

Result<std::unique_ptr<PeakMemory>> PeakMemory::start(std::vector<pid_t> processes) {
  if (processes.empty()) processes.push_back(getpid());
  for (const pid_t process : processes) {
    if (const auto now = pss_bytes(process); !now) return tl::unexpected(now.error());
  }
  auto sampler = std::make_unique<Sampler>(std::move(processes));
  return std::unique_ptr<PeakMemory>(new PeakMemory(std::move(sampler)));
}

PeakMemory::PeakMemory(std::unique_ptr<Sampler> sampler) : sampler_(std::move(sampler)) {}
PeakMemory::~PeakMemory() { stop(); }

std::uint64_t PeakMemory::stop() { return sampler_->stop(); }

std::uint64_t PeakMemory::samples() const noexcept { return sampler_->samples(); }

}  // namespace forebay::bench
