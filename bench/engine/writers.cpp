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

using Memory = std::unique_ptr<std::byte, decltype(&std::free)>;

Memory fresh(std::uint64_t bytes) {
  return {static_cast<std::byte*>(std::aligned_alloc(kAlignment, bytes)), &std::free};
}

tl::unexpected<Error> refuse(const std::string& what, const std::string& path, int error_number) {
  return failure(system_error({.operation = what, .path = path}, error_number));
}

/// The files of a loop, open.
class Files {
 public:
  static Result<Files> open(const Loop& loop) {
    Files files;
    const int direct = loop.access == Access::kDirect ? O_DIRECT : 0;
    for (const std::string& path : loop.paths) {
      files.descriptors_.emplace_back(::open(path.c_str(), O_WRONLY | O_CLOEXEC | direct));
      if (!files.descriptors_.back()) return refuse("open", path, errno);
    }
    return files;
  }

  int of(std::uint64_t number) const { return descriptors_[number % descriptors_.size()].get(); }

 private:
  std::vector<Descriptor> descriptors_;
};

std::uint64_t offset_of(const Loop& loop, std::uint64_t number) {
  return number / loop.paths.size() * loop.buffer_bytes;
}

const std::string& path_of(const Loop& loop, std::uint64_t number) {
  return loop.paths[number % loop.paths.size()];
}

Status write_all(int file, const Loop& loop, std::uint64_t number, const std::byte* from) {
  for (std::uint64_t done = 0; done < loop.buffer_bytes;) {
    const auto at = static_cast<off_t>(offset_of(loop, number) + done);
    const ssize_t count = ::pwrite(file, from + done, loop.buffer_bytes - done, at);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return refuse("write", path_of(loop, number), errno);
    done += static_cast<std::uint64_t>(count);
  }
  return {};
}

/// Adds up what is computed.
class Computing {
 public:
  explicit Computing(const Loop& loop) : loop_(loop) {}

  void fill(std::span<std::byte> memory) {
    const Stopwatch watch;
    loop_.computation.run(memory);
    compute_s_ += watch.seconds();
  }

  LoopTimes times() const { return {.total_s = total_.seconds(), .compute_s = compute_s_}; }

 private:
  const Loop& loop_;
  Stopwatch total_;
  double compute_s_ = 0;
};

}  // namespace

Result<LoopTimes> run_synchronously(const Loop& loop) {
  const auto files = Files::open(loop);
  if (!files) return failure(files.error());
  const Memory memory = fresh(loop.buffer_bytes);
  std::fill_n(memory.get(), loop.buffer_bytes, std::byte{1});
  Computing computing(loop);
  for (std::uint64_t i = 0; i < loop.count; ++i) {
    computing.fill({memory.get(), loop.buffer_bytes});
    if (auto done = write_all(files->of(i), loop, i, memory.get()); !done)
      return failure(done.error());
  }
  return computing.times();
}

namespace {

/// Writes under way in glibc's asynchronous I/O.
class AioWrites {
 public:
  explicit AioWrites(const Loop& loop) : loop_(loop) {}
  ~AioWrites() { static_cast<void>(wait_for_all()); }
  AioWrites(const AioWrites&) = delete;
  AioWrites& operator=(const AioWrites&) = delete;

  Status begin(int file, std::uint64_t number, Memory memory) {
    auto& write = writes_.emplace_back(std::make_unique<Write>(std::move(memory)));
    write->block.aio_fildes = file;
    write->block.aio_buf = write->memory.get();
    write->block.aio_nbytes = loop_.buffer_bytes;
    write->block.aio_offset = static_cast<off_t>(offset_of(loop_, number));
    if (::aio_write(&write->block) == 0) return {};
    const int refused = errno;
    writes_.pop_back();
    return refuse("begin to write", path_of(loop_, number), refused);
  }

  /// What is done gives its memory back.
  Status collect() {
    Status done;
    std::erase_if(writes_, [&](const std::unique_ptr<Write>& write) {
      const int state = ::aio_error(&write->block);
      if (state == EINPROGRESS) return false;
      if (done) done = result_of(*write, state);
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
    explicit Write(Memory with) : memory(std::move(with)) {}
    Memory memory;
    aiocb block{};
  };

  Status result_of(Write& write, int state) const {
    const ssize_t count = ::aio_return(&write.block);
    if (count == static_cast<ssize_t>(loop_.buffer_bytes)) return {};
    return refuse("write", loop_.paths.front(), state != 0 ? state : EIO);
  }

  const Loop& loop_;
  std::deque<std::unique_ptr<Write>> writes_;
};

}  // namespace

Result<LoopTimes> run_with_aio(const Loop& loop) {
  const auto files = Files::open(loop);
  if (!files) return failure(files.error());
  AioWrites writes(loop);
  Computing computing(loop);
  for (std::uint64_t i = 0; i < loop.count; ++i) {
    Memory memory = fresh(loop.buffer_bytes);
    computing.fill({memory.get(), loop.buffer_bytes});
    Status done = writes.begin(files->of(i), i, std::move(memory));
    if (done) done = writes.collect();
    if (!done) return failure(done.error());
  }
  if (auto done = writes.wait_for_all(); !done) return failure(done.error());
  return computing.times();
}

namespace {

/// The thread that computes is kept on one core; one that it starts would be kept there, too.
void go_anywhere() {
  cpu_set_t all;
  std::memset(&all, 0xff, sizeof all);
  static_cast<void>(::sched_setaffinity(0, sizeof all, &all));
}

/// A thread that writes buffers in the order in which they come.
class Writer {
 public:
  Writer(const Loop& loop, const Files& files)
      : loop_(loop), files_(files), thread_([this] { write_what_comes(); }) {}
  ~Writer() { static_cast<void>(finish()); }
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  void give_free(Memory memory) {
    const std::lock_guard lock(mutex_);
    free_.push_back(std::move(memory));
  }

  Memory take_free() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !free_.empty(); });
    Memory memory = std::move(free_.front());
    free_.pop_front();
    return memory;
  }

  void hand_over(Memory memory) {
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
  void write_what_comes() {
    go_anywhere();
    std::unique_lock lock(mutex_);
    for (std::uint64_t number = 0;; ++number) {
      changed_.wait(lock, [this] { return !full_.empty() || ended_; });
      if (full_.empty()) return;
      Memory memory = std::move(full_.front());
      full_.pop_front();
      lock.unlock();
      const Status wrote = write_all(files_.of(number), loop_, number, memory.get());
      lock.lock();
      if (done_) done_ = wrote;
      free_.push_back(std::move(memory));
      changed_.notify_all();
    }
  }

  const Loop& loop_;
  const Files& files_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Memory> free_;
  std::deque<Memory> full_;
  bool ended_ = false;
  Status done_;
  std::thread thread_;
};

}  // namespace

Result<LoopTimes> run_with_thread(const Loop& loop) {
  constexpr int kBuffers = 2;
  const auto files = Files::open(loop);
  if (!files) return failure(files.error());
  Writer writer(loop, *files);
  for (int i = 0; i < kBuffers; ++i) {
    Memory memory = fresh(loop.buffer_bytes);
    std::fill_n(memory.get(), loop.buffer_bytes, std::byte{1});
    writer.give_free(std::move(memory));
  }
  Computing computing(loop);
  for (std::uint64_t i = 0; i < loop.count; ++i) {
    Memory memory = writer.take_free();
    computing.fill({memory.get(), loop.buffer_bytes});
    writer.hand_over(std::move(memory));
  }
  if (auto done = writer.finish(); !done) return failure(done.error());
  return computing.times();
}

namespace {

Status write_behind(const Loop& loop,
                    OutputStream& out,
                    const std::vector<OutputFile>& files,
                    BufferMemory memory,
                    Computing& computing) {
  for (std::uint64_t i = 0; i < loop.count; ++i) {
    auto buffer = out.acquire();
    if (!buffer) return failure(buffer.error());
    if (memory == BufferMemory::kFresh) {
      if (auto renewed = renew_pages(buffer->bytes()); !renewed) return renewed;
    }
    computing.fill(buffer->bytes());
    auto taken = out.submit(std::move(*buffer), files[i % files.size()], offset_of(loop, i));
    if (!taken) return taken;
  }
  return out.drain();
}

}  // namespace

Result<LoopTimes> run_with_forebay(Runtime& runtime, const Loop& loop, StreamWay way) {
  // Pages that a device's queue has registered would be written in place of the new ones.
  FOREBAY_ASSERT(way.memory == BufferMemory::kKept || loop.access == Access::kBuffered);
  auto out = runtime.output_stream({.access = loop.access,
                                    .buffer_bytes = loop.buffer_bytes,
                                    .buffers = way.buffers,
                                    .preallocation = Preallocation::kNone});
  if (!out) return failure(out.error());
  std::vector<OutputFile> files;
  for (const std::string& path : loop.paths) {
    auto file = out->create(path, {.existing = Existing::kKeep});
    if (!file) return failure(file.error());
    files.push_back(std::move(*file));
  }
  Computing computing(loop);
  if (auto done = write_behind(loop, *out, files, way.memory, computing); !done)
    return failure(done.error());
  return computing.times();
}

}  // namespace forebay::bench::engine
