// SPDX-License-Identifier: Apache-2.0
#include "bench/cube/row_writer.hpp"

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <system_error>
#include <vector>

#include <sched.h>
#include <unistd.h>

#include "bench/frame/aio_writes.hpp"
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

  /// Releases memory of completed writes first, or new rows would take as much memory as the whole
  /// output. Rows of a pool become free when their writes end; new memory is always available.
  Result<std::span<std::byte>> acquire(std::uint64_t bytes) override {
    for (;;) {
      if (auto collected = writes_.collect(); !collected) return failure(collected.error());
      if (std::byte* const row = memory_.acquire(bytes)) return std::span(row, bytes);
      writes_.wait_for_oldest();
    }
  }

  Status write(const RowTarget& target, std::span<std::byte> row) override {
    const std::shared_ptr<std::byte> owner(row.data(),
                                           [this](std::byte* held) { memory_.release(held); });
    if (placement_ == ThreadPlacement::kSeparateCores && !separation_) {
      auto separation = CoreSeparation::create();
      if (!separation) return failure(separation.error());
      separation_ = std::move(*separation);
    }
    const Status begun =
        writes_.begin(target.file->descriptor(), target.file->path(), target.offset, row, owner);
    if (begun && separation_) separation_->move_other_threads();
    return begun;
  }

  Status finish() override {
    const Status done = writes_.wait_for_all();
    separation_.reset();  // allow later work to run on any core
    return done;
  }

 private:
  RowMemory& memory_;
  const ThreadPlacement placement_;
  std::optional<CoreSeparation> separation_;
  AioWrites writes_;
};

}  // namespace

std::unique_ptr<RowWriter> make_row_writer(RowWriteMode write_mode,
                                           ThreadPlacement placement,
                                           RowMemory& memory) {
  if (write_mode == RowWriteMode::kSynchronous) return std::make_unique<SynchronousWriter>(memory);
  return std::make_unique<AioWriter>(memory, placement);
}

}  // namespace forebay::bench::cube
