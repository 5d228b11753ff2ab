// SPDX-License-Identifier: Apache-2.0
#include "bench/engine/writers.hpp"

#include <forebay/output_stream.hpp>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include "base/assert.hpp"
#include "base/descriptor.hpp"
#include "bench/engine/pages.hpp"
#include "bench/frame/aio_writes.hpp"
#include "bench/frame/check.hpp"
#include "bench/frame/clock.hpp"

namespace forebay::bench::engine {

namespace {

constexpr std::size_t kAlignment = 4096;

using AlignedAllocation = std::unique_ptr<std::byte, decltype(&std::free)>;

AlignedAllocation allocate_buffer(std::uint64_t bytes) {
  return {static_cast<std::byte*>(std::aligned_alloc(kAlignment, bytes)), &std::free};
}

tl::unexpected<Error> io_failure(const std::string& what,
                                 const std::string& path,
                                 int error_number) {
  return failure(system_error({.operation = what, .path = path}, error_number));
}

/// The open files of a loop.
class Files {
 public:
  explicit Files(const WriteLoop& loop) {
    const int direct = loop.access == Access::kDirect ? O_DIRECT : 0;
    for (const std::string& path : loop.paths) {
      descriptors_.emplace_back(::open(path.c_str(), O_WRONLY | O_CLOEXEC | direct));
      if (!descriptors_.back()) check(io_failure("open", path, errno));
    }
  }

  int of(std::uint64_t number) const { return descriptors_[number % descriptors_.size()].get(); }

 private:
  std::vector<Descriptor> descriptors_;
};

std::uint64_t offset_of(const WriteLoop& loop, std::uint64_t number) {
  return number / loop.paths.size() * loop.buffer_bytes;
}

const std::string& path_of(const WriteLoop& loop, std::uint64_t number) {
  return loop.paths[number % loop.paths.size()];
}

Status write_all(int file, const WriteLoop& loop, std::uint64_t number, const std::byte* from) {
  for (std::uint64_t done = 0; done < loop.buffer_bytes;) {
    const auto at = static_cast<off_t>(offset_of(loop, number) + done);
    const ssize_t count = ::pwrite(file, from + done, loop.buffer_bytes - done, at);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return io_failure("write", path_of(loop, number), errno);
    done += static_cast<std::uint64_t>(count);
  }
  return {};
}

/// Sums the computing time.
class ComputeTimer {
 public:
  explicit ComputeTimer(const WriteLoop& loop) : loop_(loop) {}

  void fill(std::span<std::byte> memory) {
    const Stopwatch watch;
    loop_.computation.run(memory);
    compute_s_ += watch.seconds();
  }

  LoopTimes times() const { return {.total_s = total_.seconds(), .compute_s = compute_s_}; }

 private:
  const WriteLoop& loop_;
  Stopwatch total_;
  double compute_s_ = 0;
};

}  // namespace

LoopTimes run_synchronous(const WriteLoop& loop) {
  const Files files(loop);
  const AlignedAllocation memory = allocate_buffer(loop.buffer_bytes);
  std::fill_n(memory.get(), loop.buffer_bytes, std::byte{1});
  ComputeTimer computing(loop);
  for (std::uint64_t i = 0; i < loop.count; ++i) {
    computing.fill({memory.get(), loop.buffer_bytes});
    check(write_all(files.of(i), loop, i, memory.get()));
  }
  return computing.times();
}

LoopTimes run_with_aio(const WriteLoop& loop) {
  const Files files(loop);
  AioWrites writes;
  ComputeTimer computing(loop);
  for (std::uint64_t i = 0; i < loop.count; ++i) {
    const std::shared_ptr<std::byte> memory = allocate_buffer(loop.buffer_bytes);
    const std::span bytes(memory.get(), loop.buffer_bytes);
    computing.fill(bytes);
    check(writes.begin(files.of(i), path_of(loop, i), offset_of(loop, i), bytes, memory));
    check(writes.collect());
  }
  check(writes.wait_for_all());
  return computing.times();
}

namespace {

/// The computing thread is pinned to one core; a thread that it starts would inherit that.
void clear_affinity() {
  cpu_set_t all;
  std::memset(&all, 0xff, sizeof all);
  static_cast<void>(::sched_setaffinity(0, sizeof all, &all));
}

/// A thread that writes buffers in order of submission.
class WriterThread {
 public:
  WriterThread(const WriteLoop& loop, const Files& files)
      : loop_(loop), files_(files), thread_([this] { write_submitted(); }) {}
  ~WriterThread() { static_cast<void>(finish()); }
  WriterThread(const WriterThread&) = delete;
  WriterThread& operator=(const WriterThread&) = delete;

  void release_buffer(AlignedAllocation memory) {
    const std::lock_guard lock(mutex_);
    free_.push_back(std::move(memory));
  }

  AlignedAllocation acquire_buffer() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !free_.empty(); });
    AlignedAllocation memory = std::move(free_.front());
    free_.pop_front();
    return memory;
  }

  void submit_buffer(AlignedAllocation memory) {
    {
      const std::lock_guard lock(mutex_);
      full_.push_back(std::move(memory));
    }
    changed_.notify_all();
  }

  Status finish() {
    {
      const std::lock_guard lock(mutex_);
      ended_ = true;
    }
    changed_.notify_all();
    if (thread_.joinable()) thread_.join();
    return done_;
  }

 private:
  void write_submitted() {
    clear_affinity();
    std::unique_lock lock(mutex_);
    for (std::uint64_t number = 0;; ++number) {
      changed_.wait(lock, [this] { return !full_.empty() || ended_; });
      if (full_.empty()) return;
      AlignedAllocation memory = std::move(full_.front());
      full_.pop_front();
      lock.unlock();
      const Status wrote = write_all(files_.of(number), loop_, number, memory.get());
      lock.lock();
      if (done_) done_ = wrote;
      free_.push_back(std::move(memory));
      changed_.notify_all();
    }
  }

  const WriteLoop& loop_;
  const Files& files_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<AlignedAllocation> free_;
  std::deque<AlignedAllocation> full_;
  bool ended_ = false;
  Status done_;
  std::thread thread_;
};

}  // namespace

LoopTimes run_with_thread(const WriteLoop& loop) {
  constexpr int kBuffers = 2;
  const Files files(loop);
  WriterThread writer(loop, files);
  for (int i = 0; i < kBuffers; ++i) {
    AlignedAllocation memory = allocate_buffer(loop.buffer_bytes);
    std::fill_n(memory.get(), loop.buffer_bytes, std::byte{1});
    writer.release_buffer(std::move(memory));
  }
  ComputeTimer computing(loop);
  for (std::uint64_t i = 0; i < loop.count; ++i) {
    AlignedAllocation memory = writer.acquire_buffer();
    computing.fill({memory.get(), loop.buffer_bytes});
    writer.submit_buffer(std::move(memory));
  }
  check(writer.finish());
  return computing.times();
}

LoopTimes run_with_forebay(Runtime& runtime, const WriteLoop& loop, StreamOptions options) {
  // Pages that are registered with a device queue would be written instead of the new ones.
  FOREBAY_ASSERT(options.memory == BufferMemory::kReused || loop.access == Access::kBuffered);
  auto out = runtime
                 .create_output_stream({.access = loop.access,
                                        .buffer_bytes = loop.buffer_bytes,
                                        .buffers = options.buffers,
                                        .tuning = {.preallocation = Preallocation::kNone}})
                 .value();
  std::vector<OutputFile> files;
  for (const std::string& path : loop.paths)
    files.push_back(out.create(path, {.existing_content = ExistingContent::kKeep}).value());
  ComputeTimer computing(loop);
  for (std::uint64_t i = 0; i < loop.count; ++i) {
    auto buffer = out.acquire().value();
    if (options.memory == BufferMemory::kFresh) check(discard_pages(buffer.bytes()));
    computing.fill(buffer.bytes());
    check(out.submit(std::move(buffer), files[i % files.size()], offset_of(loop, i)));
  }
  check(out.drain());
  return computing.times();
}

}  // namespace forebay::bench::engine
