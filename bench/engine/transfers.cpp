// SPDX-License-Identifier: Apache-2.0
#include "bench/engine/transfers.hpp"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "bench/engine/pages.hpp"
#include "bench/frame/clock.hpp"
#include "storage/ring_backend.hpp"

namespace forebay::bench::engine {

namespace {

/// Small, so that each request is replaced while storage still has the others. With 64, ten small
/// requests were reaped at a time, and the device had ten fewer in flight: it lost an eighth of its
/// rate.
constexpr std::size_t kCompletionsAtOnce = 4;

/// The offset of each request of a load.
class Offsets {
 public:
  explicit Offsets(const TransferLoad& load) : load_(load) {}

  std::uint64_t next() {
    if (load_.access_order == AccessOrder::kSequential) {
      return std::exchange(at_, (at_ + load_.request_bytes) % load_.file_bytes);
    }
    const std::uint64_t places = load_.file_bytes / load_.request_bytes;
    return random() % places * load_.request_bytes;
  }

 private:
  /// SplitMix64 (Steele, Lea and Flood 2014): without a pattern that a device could recognize.
  std::uint64_t random() {
    std::uint64_t word = state_ += 0x9E3779B97F4A7C15U;
    word = (word ^ (word >> 30U)) * 0xBF58476D1CE4E5B9U;
    word = (word ^ (word >> 27U)) * 0x94D049BB133111EBU;
    return word ^ (word >> 31U);
  }

  const TransferLoad& load_;
  std::uint64_t at_ = 0;
  std::uint64_t state_ = 42;
};

/// A load in progress: each completed buffer is submitted with the next request.
class TransferRun {
 public:
  TransferRun(storage::Engine& engine, storage::File& file, const TransferLoad& load)
      : engine_(engine), file_(file), load_(load), offsets_(load) {}

  Status run(std::vector<storage::Buffer>& buffers) {
    std::vector<storage::Operation> batch;
    for (std::size_t i = 0; i < buffers.size() && issued_ < requests(); ++i)
      batch.push_back(operation(buffers[i].bytes(), i));
    engine_.enqueue(batch);
    std::array<storage::Completion, kCompletionsAtOnce> completions;
    while (engine_.in_flight() > 0) {
      batch.clear();
      const std::size_t count = engine_.wait(completions, std::nullopt);
      for (std::size_t i = 0; i < count; ++i) {
        const auto& [tag, bytes] = completions.at(i);
        if (!bytes) failure_ = failure(bytes.error());
        if (issued_ < requests() && failure_) batch.push_back(operation(buffers[tag].bytes(), tag));
      }
      engine_.enqueue(batch);
    }
    return failure_;
  }

 private:
  std::uint64_t requests() const { return load_.total_bytes / load_.request_bytes; }

  storage::Operation operation(std::span<std::byte> memory, std::uint64_t tag) {
    ++issued_;
    const std::span<std::byte> part = memory.first(load_.request_bytes);
    return load_.direction == Direction::kRead
               ? storage::read_operation(file_, offsets_.next(), part, tag)
               : storage::write_operation(file_, offsets_.next(), part, tag);
  }

  storage::Engine& engine_;
  storage::File& file_;
  const TransferLoad& load_;
  Offsets offsets_;
  std::uint64_t issued_ = 0;
  Status failure_;
};

}  // namespace

Result<std::unique_ptr<EngineTransfers>> EngineTransfers::make(std::uint64_t request_bytes,
                                                               std::uint32_t depth,
                                                               TransferMemory memory) {
  auto pool = storage::BufferPool::create({.buffer_bytes = request_bytes, .count = depth});
  if (!pool) return failure(pool.error());
  if (memory.pages == TransferMemory::Pages::kSmall) {
    if (auto split = split_huge_pages((*pool)->arena()); !split) return failure(split.error());
  }
  auto backend = storage::make_ring_backend(depth, silent_log());
  if (!backend) return failure(backend.error());
  std::unique_ptr<EngineTransfers> transfers(
      new EngineTransfers(std::move(*pool), std::move(*backend)));
  // If the memlock limit forbids registration, transfers work without it, as in an application.
  if (memory.registration == TransferMemory::Registration::kWhereAllowed)
    transfers->is_registered_ =
        transfers->engine_.register_buffers(transfers->pool_->arena()).has_value();
  return transfers;
}

EngineTransfers::EngineTransfers(std::unique_ptr<storage::BufferPool> pool,
                                 std::unique_ptr<storage::Backend> backend)
    : pool_(std::move(pool)), engine_(std::move(backend), {.queue_depth = pool_->count()}) {}

Result<TransferCost> EngineTransfers::run(const TransferLoad& load, const std::string& path) {
  const auto intent =
      load.direction == Direction::kRead ? storage::Intent::kRead : storage::Intent::kWrite;
  const auto file = storage::open_file(path, {.intent = intent, .access = Access::kDirect}).value();
  std::vector<storage::Buffer> buffers;
  for (std::uint32_t i = 0; i < load.depth; ++i)
    buffers.push_back(std::move(*pool_->try_acquire()));
  const double cpu_before = process_cpu_seconds();
  const Stopwatch watch;
  auto done = TransferRun(engine_, *file, load).run(buffers);
  const TransferCost cost{.seconds = watch.seconds(),
                          .cpu_seconds = process_cpu_seconds() - cpu_before};
  if (!done) return failure(done.error());
  return cost;
}

}  // namespace forebay::bench::engine
