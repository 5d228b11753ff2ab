// SPDX-License-Identifier: Apache-2.0
#include "bench/engine/writers.hpp"

#include <forebay/output_stream.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include <aio.h>
#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include "base/assert.hpp"
#include "base/descriptor.hpp"
#include "bench/engine/pages.hpp"
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
  static Result<Files> open(const WriteLoop& loop) {
    Files files;
    const int direct = loop.access == Access::kDirect ? O_DIRECT : 0;
    for (const std::string& path : loop.paths) {
      files.descriptors_.emplace_back(::open(path.c_str(), O_WRONLY | O_CLOEXEC | direct));
      if (!files.descriptors_.back()) return io_failure("open", path, errno);
    }
    return files;
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

Result<LoopTimes> run_synchronous(const WriteLoop& loop) {
  const auto files = Files::open(loop);
  if (!files) return failure(files.error());
  const AlignedAllocation memory = allocate_buffer(loop.buffer_bytes);
  std::fill_n(memory.get(), loop.buffer_bytes, std::byte{1});
  ComputeTimer computing(loop);
  for (std::uint64_t i = 0; i < loop.count; ++i) {
    computing.fill({memory.get(), loop.buffer_bytes});
    if (auto done = write_all(files->of(i), loop, i, memory.get()); !done)
      return failure(done.error());
  }
  return computing.times();
}

namespace {

/// Writes in flight in glibc's asynchronous I/O.
class AioWrites {
 public:
  explicit AioWrites(const WriteLoop& loop) : loop_(loop) {}
  ~AioWrites() { static_cast<void>(wait_for_all()); }
  AioWrites(const AioWrites&) = delete;
  AioWrites& operator=(const AioWrites&) = delete;

  Status begin(int file, std::uint64_t number, AlignedAllocation memory) {
    auto& write = writes_.emplace_back(std::make_unique<Write>(std::move(memory)));
    write->block.aio_fildes = file;
    write->block.aio_buf = write->memory.get();
    write->block.aio_nbytes = loop_.buffer_bytes;
    write->block.aio_offset = static_cast<off_t>(offset_of(loop_, number));
    if (::aio_write(&write->block) == 0) return {};
    const int error_number = errno;
    writes_.pop_back();
    return io_failure("begin to write", path_of(loop_, number), error_number);
  }

  /// Frees the memory of completed writes.
  Status collect() {
    Status done;
    std::erase_if(writes_, [&](const std::unique_ptr<Write>& write) {
      const int state = ::aio_error(&write->block);
      if (state == EINPROGRESS) return false;
      if (done) done = write_result(*write, state);
      return true;
    });
    return done;
  }

  Status wait_for_all() {
    Status done;
    while (!writes_.empty()) {
      const std::array<const aiocb*, 1> first{&writes_.front()->block};
      ::aio_suspend(first.data(), 1, nullptr);
      if (auto collected = collect(); !collected) done = collected;
    }
    return done;
  }

 private:
  struct Write {
    explicit Write(AlignedAllocation with) : memory(std::move(with)) {}
    AlignedAllocation memory;
    aiocb block{};
  };

  Status write_result(Write& write, int state) const {
    const ssize_t count = ::aio_return(&write.block);
    if (count == static_cast<ssize_t>(loop_.buffer_bytes)) return {};
    return io_failure("write", loop_.paths.front(), state != 0 ? state : EIO);
  }

  const WriteLoop& loop_;
  std::deque<std::unique_ptr<Write>> writes_;
};

}  // namespace

Result<LoopTimes> run_with_aio(const WriteLoop& loop) {
  const auto files = Files::open(loop);
  if (!files) return failure(files.error());
  AioWrites writes(loop);
  ComputeTimer computing(loop);
  for (std::uint64_t i = 0; i < loop.count; ++i) {
    AlignedAllocation memory = allocate_buffer(loop.buffer_bytes);
    computing.fill({memory.get(), loop.buffer_bytes});
    Status done = writes.begin(files->of(i), i, std::move(memory));
    if (done) done = writes.collect();
    if (!done) return failure(done.error());
  }
  if (auto done = writes.wait_for_all(); !done) return failure(done.error());
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

Result<LoopTimes> run_with_thread(const WriteLoop& loop) {
  constexpr int kBuffers = 2;
  const auto files = Files::open(loop);
  if (!files) return failure(files.error());
  WriterThread writer(loop, *files);
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
  if (auto done = writer.finish(); !done) return failure(done.error());
  return computing.times();
}

namespace {

Status write_behind(const WriteLoop& loop,
                    OutputStream& out,
                    const std::vector<OutputFile>& files,
                    BufferMemory memory,
                    ComputeTimer& computing) {
  for (std::uint64_t i = 0; i < loop.count; ++i) {
    auto buffer = out.acquire();
    if (!buffer) return failure(buffer.error());
    if (memory == BufferMemory::kFresh) {
      if (auto discarded = discard_pages(buffer->bytes()); !discarded) return discarded;
    }
    computing.fill(buffer->bytes());
    auto taken = out.submit(std::move(*buffer), files[i % files.size()], offset_of(loop, i));
    if (!taken) return taken;
  }
  return out.drain();
}

}  // namespace

Result<LoopTimes> run_with_forebay(Runtime& runtime, const WriteLoop& loop, StreamOptions options) {
  // Pages that are registered with a device queue would be written instead of the new ones.
  FOREBAY_ASSERT(options.memory == BufferMemory::kReused || loop.access == Access::kBuffered);
  auto out = runtime.create_output_stream({.access = loop.access,
                                           .buffer_bytes = loop.buffer_bytes,
                                           .buffers = options.buffers,
                                           .tuning = {.preallocation = Preallocation::kNone}});
  if (!out) return failure(out.error());
  std::vector<OutputFile> files;
  for (const std::string& path : loop.paths) {
    auto file = out->create(path, {.existing_content = ExistingContent::kKeep});
    if (!file) return failure(file.error());
    files.push_back(std::move(*file));
  }
  ComputeTimer computing(loop);
  if (auto done = write_behind(loop, *out, files, options.memory, computing); !done)
    return failure(done.error());
  return computing.times();
}

}  // namespace forebay::bench::engine
