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

#include "bench/frame/cores.hpp"

namespace forebay::bench::cube {

namespace {

class SynchronousWriter final : public RowWriter {
 public:
  explicit SynchronousWriter(RowMemory& memory) : memory_(memory) {}

  Result<std::span<std::byte>> take(std::uint64_t bytes) override {
    return std::span(memory_.take(bytes), bytes);
  }
  Status write(const RowTarget& target, std::span<std::byte> row) override {
    Status done = target.file->write(target.offset, row);
    memory_.give_back(row.data());
    return done;
  }
  Status finish() override { return {}; }

 private:
  RowMemory& memory_;
};

/// Keeps this thread on the first core and sends all others of the process to the rest: glibc makes
/// its threads when it needs them, and they begin where the one is that asks.
class Apart {
 public:
  static Result<Apart> begin() {
    Apart apart;
    const std::vector<unsigned> cores = usable_cores();
    if (cores.size() < 2) return apart;
    auto here = OnCore::take(cores.front());
    if (!here) return failure(here.error());
    apart.here_ = std::move(*here);
    for (std::size_t i = 1; i < cores.size(); ++i)
      CPU_SET(cores[i], &apart.others_);
    return apart;
  }

  void send_others_away() const {
    if (here_ == nullptr) return;
    std::error_code ended;  // threads may end while we look, and that does not matter
    std::filesystem::directory_iterator thread("/proc/self/task", ended);
    for (; !ended && thread != std::filesystem::directory_iterator(); thread.increment(ended)) {
      const int id = std::atoi(thread->path().filename().c_str());
      if (id != ::gettid()) static_cast<void>(::sched_setaffinity(id, sizeof others_, &others_));
    }
  }

 private:
  Apart() { CPU_ZERO(&others_); }
  std::unique_ptr<OnCore> here_;
  cpu_set_t others_;
};

class AioWriter final : public RowWriter {
 public:
  AioWriter(RowMemory& memory, Placement placement) : memory_(memory), placement_(placement) {}
  AioWriter(const AioWriter&) = delete;
  AioWriter& operator=(const AioWriter&) = delete;
  ~AioWriter() override { static_cast<void>(finish()); }

  Result<std::span<std::byte>> take(std::uint64_t bytes) override;
  Status write(const RowTarget& target, std::span<std::byte> row) override;
  Status finish() override;

 private:
  struct Write {
    const TemporaryFile* file = nullptr;
    std::span<std::byte> row;
    aiocb block{};
  };

  Status go_apart();
  void await(const Write& write) const;
  Status collect();
  Status result_of(Write& write);

  RowMemory& memory_;
  const Placement placement_;
  std::unique_ptr<Apart> apart_;
  std::deque<std::unique_ptr<Write>> writes_;
};

/// Memory of writes that have ended is given back first, or fresh rows would take as much of it as
/// the whole output. Rows of a pool come back when their writes end; fresh memory is always there.
Result<std::span<std::byte>> AioWriter::take(std::uint64_t bytes) {
  if (auto collected = collect(); !collected) return failure(collected.error());
  std::byte* row = memory_.take(bytes);
  while (row == nullptr) {
    if (!writes_.empty()) await(*writes_.front());
    if (auto collected = collect(); !collected) return failure(collected.error());
    row = memory_.take(bytes);
  }
  return std::span(row, bytes);
}

Status AioWriter::write(const RowTarget& target, std::span<std::byte> row) {
  if (auto placed = go_apart(); !placed) return placed;
  auto& write = *writes_.emplace_back(std::make_unique<Write>());
  write.file = target.file;
  write.row = row;
  write.block.aio_fildes = target.file->descriptor();
  write.block.aio_buf = row.data();
  write.block.aio_nbytes = row.size();
  write.block.aio_offset = static_cast<off_t>(target.offset);
  if (::aio_write(&write.block) != 0) {
    const int refused = errno;
    memory_.give_back(row.data());
    writes_.pop_back();
    return failure(
        system_error({.operation = "begin to write", .path = target.file->path()}, refused));
  }
  if (apart_ != nullptr) apart_->send_others_away();
  return {};
}

Status AioWriter::go_apart() {
  if (placement_ == Placement::kAnywhere || apart_ != nullptr) return {};
  auto apart = Apart::begin();
  if (!apart) return failure(apart.error());
  apart_ = std::make_unique<Apart>(std::move(*apart));
  return {};
}

Status AioWriter::finish() {
  Status done;
  while (!writes_.empty()) {
    await(*writes_.front());
    if (auto collected = collect(); !collected) done = collected;
  }
  apart_.reset();  // what follows may run wherever there is room
  return done;
}

void AioWriter::await(const Write& write) const {
  const std::array<const aiocb*, 1> one{&write.block};
  ::aio_suspend(one.data(), 1, nullptr);
}

/// What is written gives its memory back.
Status AioWriter::collect() {
  Status done;
  std::erase_if(writes_, [&](const std::unique_ptr<Write>& write) {
    if (::aio_error(&write->block) == EINPROGRESS) return false;
    if (Status wrote = result_of(*write); done) done = wrote;
    memory_.give_back(write->row.data());
    return true;
  });
  return done;
}

Status AioWriter::result_of(Write& write) {
  const int reason = ::aio_error(&write.block);
  const ssize_t count = ::aio_return(&write.block);
  if (count == static_cast<ssize_t>(write.row.size())) return {};
  return failure(system_error({.operation = "write",
                               .path = write.file->path(),
                               .offset_bytes = static_cast<std::uint64_t>(write.block.aio_offset)},
                              reason != 0 ? reason : EIO));
}

}  // namespace

std::unique_ptr<RowWriter> make_row_writer(Writing writing,
                                           Placement placement,
                                           RowMemory& memory) {
  if (writing == Writing::kSynchronous) return std::make_unique<SynchronousWriter>(memory);
  return std::make_unique<AioWriter>(memory, placement);
}

}  // namespace forebay::bench::cube
