// SPDX-License-Identifier: Apache-2.0
#include "bench/cube/row_writer.hpp"

#include <array>
#include <cerrno>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <system_error>
#include <vector>

#include <aio.h>
#include <sched.h>
#include <unistd.h>

#include "bench/frame/cpu_affinity.hpp"

namespace forebay::bench::cube {

namespace {

class SynchronousWriter final : public RowWriter {
 public:
  explicit SynchronousWriter(RowMemory& memory) : memory_(memory) {}

  Result<std::span<std::byte>> acquire(std::uint64_t bytes) override {
    return std::span(memory_.acquire(bytes), bytes);
  }
  Status write(const RowTarget& target, std::span<std::byte> row) override {
    Status done = target.file->write(target.offset, row);
    memory_.release(row.data());
    return done;
  }
  Status finish() override { return {}; }

 private:
  RowMemory& memory_;
};

/// Pins this thread to the first core and all others of the process to the rest. glibc creates its
/// threads on demand, and they inherit the affinity of the creating thread.
class CoreSeparation {
 public:
  static Result<CoreSeparation> create() {
    CoreSeparation separation;
    const std::vector<unsigned> cores = usable_cores();
    if (cores.size() < 2) return separation;
    auto affinity = ScopedAffinity::pin(cores.front());
    if (!affinity) return failure(affinity.error());
    separation.affinity_ = std::move(*affinity);
    for (std::size_t i = 1; i < cores.size(); ++i)
      CPU_SET(cores[i], &separation.others_);
    return separation;
  }

  void move_other_threads() const {
    if (affinity_ == nullptr) return;
    std::error_code ended;  // threads may end during the iteration, which is harmless
    std::filesystem::directory_iterator thread("/proc/self/task", ended);
    for (; !ended && thread != std::filesystem::directory_iterator(); thread.increment(ended)) {
      const int id = std::atoi(thread->path().filename().c_str());
      if (id != ::gettid()) static_cast<void>(::sched_setaffinity(id, sizeof others_, &others_));
    }
  }

 private:
  CoreSeparation() { CPU_ZERO(&others_); }
  std::unique_ptr<ScopedAffinity> affinity_;
  cpu_set_t others_;
};

class AioWriter final : public RowWriter {
 public:
  AioWriter(RowMemory& memory, ThreadPlacement placement)
      : memory_(memory), placement_(placement) {}
  AioWriter(const AioWriter&) = delete;
  AioWriter& operator=(const AioWriter&) = delete;
  ~AioWriter() override { static_cast<void>(finish()); }

  Result<std::span<std::byte>> acquire(std::uint64_t bytes) override;
  Status write(const RowTarget& target, std::span<std::byte> row) override;
  Status finish() override;

 private:
  struct Write {
    const StdioTemporaryFile* file = nullptr;
    std::span<std::byte> row;
    aiocb block{};
  };

  Status separate_threads();
  void wait_for(const Write& write) const;
  Status collect();
  Status write_result(Write& write);

  RowMemory& memory_;
  const ThreadPlacement placement_;
  std::unique_ptr<CoreSeparation> separation_;
  std::deque<std::unique_ptr<Write>> writes_;
};

/// Releases memory of completed writes first, or new rows would take as much memory as the whole
/// output. Rows of a pool become free when their writes end; new memory is always available.
Result<std::span<std::byte>> AioWriter::acquire(std::uint64_t bytes) {
  if (auto collected = collect(); !collected) return failure(collected.error());
  std::byte* row = memory_.acquire(bytes);
  while (row == nullptr) {
    if (!writes_.empty()) wait_for(*writes_.front());
    if (auto collected = collect(); !collected) return failure(collected.error());
    row = memory_.acquire(bytes);
  }
  return std::span(row, bytes);
}

Status AioWriter::write(const RowTarget& target, std::span<std::byte> row) {
  if (auto placed = separate_threads(); !placed) return placed;
  auto& write = *writes_.emplace_back(std::make_unique<Write>());
  write.file = target.file;
  write.row = row;
  write.block.aio_fildes = target.file->descriptor();
  write.block.aio_buf = row.data();
  write.block.aio_nbytes = row.size();
  write.block.aio_offset = static_cast<off_t>(target.offset);
  if (::aio_write(&write.block) != 0) {
    const int error_number = errno;
    memory_.release(row.data());
    writes_.pop_back();
    return failure(system_error(
        {.operation = "start asynchronous write", .path = target.file->path()}, error_number));
  }
  if (separation_ != nullptr) separation_->move_other_threads();
  return {};
}

Status AioWriter::separate_threads() {
  if (placement_ == ThreadPlacement::kUnbound || separation_ != nullptr) return {};
  auto separation = CoreSeparation::create();
  if (!separation) return failure(separation.error());
  separation_ = std::make_unique<CoreSeparation>(std::move(*separation));
  return {};
}

Status AioWriter::finish() {
  Status done;
  while (!writes_.empty()) {
    wait_for(*writes_.front());
    if (auto collected = collect(); !collected) done = collected;
  }
  separation_.reset();  // allow later work to run on any core
  return done;
}

void AioWriter::wait_for(const Write& write) const {
  const std::array<const aiocb*, 1> one{&write.block};
  ::aio_suspend(one.data(), 1, nullptr);
}

/// Releases the memory of completed writes.
Status AioWriter::collect() {
  Status done;
  std::erase_if(writes_, [&](const std::unique_ptr<Write>& write) {
    if (::aio_error(&write->block) == EINPROGRESS) return false;
    if (Status wrote = write_result(*write); done) done = wrote;
    memory_.release(write->row.data());
    return true;
  });
  return done;
}

Status AioWriter::write_result(Write& write) {
  const int reason = ::aio_error(&write.block);
  const ssize_t count = ::aio_return(&write.block);
  if (count == static_cast<ssize_t>(write.row.size())) return {};
  return failure(system_error({.operation = "write",
                               .path = write.file->path(),
                               .offset_bytes = static_cast<std::uint64_t>(write.block.aio_offset)},
                              reason != 0 ? reason : EIO));
}

}  // namespace

std::unique_ptr<RowWriter> make_row_writer(RowWriteMode write_mode,
                                           ThreadPlacement placement,
                                           RowMemory& memory) {
  if (write_mode == RowWriteMode::kSynchronous) return std::make_unique<SynchronousWriter>(memory);
  return std::make_unique<AioWriter>(memory, placement);
}

}  // namespace forebay::bench::cube
