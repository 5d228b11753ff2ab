// SPDX-License-Identifier: Apache-2.0
// One pass over all particles by many tasks. Each task owns a contiguous share, computes as soon as
// bytes arrive, and returns a partial result. Partial results are added in the order of tasks, so
// the sum does not depend on the order of arrival.
#pragma once

#include <forebay/error.hpp>

#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <utility>

#include "command/progress.hpp"
#include "runner/task.hpp"
#include "tipsy/cpu_timer.hpp"
#include "tipsy/layout.hpp"
#include "tipsy/record.hpp"
#include "tipsy/record_splitter.hpp"
#include "tipsy/snapshot_source.hpp"

namespace forebay::tipsy {

/// Decoded particles of one family, and their place in the file.
struct Batch {
  Family family = Family::kGas;
  std::uint64_t offset_bytes = 0;  ///< of the first record in the file
  std::uint64_t record_bytes = 0;
  std::span<const Particle> particles;
  bool has_ids = false;  ///< see Snapshot::has_ids
};

/// Accumulator of a task: copied from an empty one, fed with batches, merged in task order.
template <class Accumulator>
concept BatchAccumulator =
    std::copy_constructible<Accumulator> &&
    requires(Accumulator& accumulator, const Accumulator& other, const Batch& batch) {
      accumulator.add(batch);
      accumulator.merge(other);
    };

struct ScanPlan {
  Layout layout;
  std::uint64_t tasks = 1;
  unsigned threads = 1;
  bool has_ids = false;
};

/// Adds partial results in the order of their index, in whatever order they arrive. Thread-safe.
/// Results that arrive early are kept, so memory grows only as far as tasks overtake each other.
template <BatchAccumulator Accumulator>
class OrderedReduction {
 public:
  explicit OrderedReduction(const Accumulator& empty) : total_(empty) {}

  /// Call with each index from 0 exactly once; null adds nothing.
  void add(std::uint64_t index, std::unique_ptr<Accumulator> accumulator) {
    const std::lock_guard lock(mutex_);
    pending_.emplace(index, std::move(accumulator));
    while (!pending_.empty() && pending_.begin()->first == next_) {
      if (pending_.begin()->second) total_.merge(*pending_.begin()->second);
      pending_.erase(pending_.begin());
      ++next_;
    }
  }
  /// The sum of the results up to the first missing index. Must not be called during add().
  const Accumulator& total() const { return total_; }

 private:
  std::mutex mutex_;
  Accumulator total_;
  std::map<std::uint64_t, std::unique_ptr<Accumulator>> pending_;
  std::uint64_t next_ = 0;
};

/// Runs one pass. Must outlive run().
template <BatchAccumulator Accumulator>
class ParticleScan {
 public:
  /// The session of `source` must have begun. `source` and `empty` must outlive this object.
  ParticleScan(const ScanPlan& plan, SnapshotSource& source, const Accumulator& empty)
      : plan_(plan), source_(source), empty_(empty), sum_(empty), group_(source.loop()) {}

  /// Blocks until all tasks have ended. Returns the Error of the first task that failed, else the
  /// sum.
  Result<Accumulator> run(command::Progress& progress) {
    progress.advance(0);  // a scan without particles is complete now
    for (std::uint64_t i = 0; i < plan_.tasks; ++i)
      group_.spawn(scan_share(i, progress));
    if (const Status ran = group_.run(plan_.threads); !ran) {
      return failure(ran.error());
    }
    return sum_.total();
  }

  const CpuTimer& meter() const { return meter_; }

 private:
  /// Particles between decoding and computing; they stay in the L1 cache.
  static constexpr std::size_t kBatchParticles = 128;

  runner::Task scan_share(std::uint64_t index, command::Progress& progress) {
    const ParticleRange share = share_of(plan_.layout.counts.total(), index, plan_.tasks);
    std::unique_ptr<Accumulator> accumulator;
    RecordSplitter splitter(plan_.layout, share);
    const std::unique_ptr<TaskReader> reader = source_.make_reader(plan_.layout.bytes_of(share));
    while (!reader->is_done() && !group_.has_failed()) {
      const Result<DataChunk> chunk = co_await reader->next_chunk();
      if (!chunk) co_return failure(chunk.error());
      if (!accumulator) accumulator = std::make_unique<Accumulator>(empty_);
      compute(chunk->bytes(), splitter, *accumulator, progress);
    }
    sum_.add(index, std::move(accumulator));
    co_return Status{};
  }

  void compute(std::span<const std::byte> bytes,
               RecordSplitter& splitter,
               Accumulator& accumulator,
               command::Progress& progress) {
    const std::uint64_t before = splitter.remaining().count();
    {
      const CpuTimer::Scope spell(meter_);
      splitter.feed(bytes, [&](const RecordRun& run, std::span<const std::byte> records) {
        add_records(run, records, accumulator);
      });
    }
    progress.advance(before - splitter.remaining().count());
  }

  void add_records(const RecordRun& run,
                   std::span<const std::byte> records,
                   Accumulator& accumulator) const {
    const RecordFormat shape{run.family, plan_.layout.precision, plan_.layout.order};
    std::array<Particle, kBatchParticles> buffer;
    for (std::uint64_t done = 0; done < run.count; done += kBatchParticles) {
      const auto particles =
          std::span(buffer).first(std::min<std::uint64_t>(kBatchParticles, run.count - done));
      const std::uint64_t skip_bytes = done * shape.size_bytes();
      decode_records(shape, records.subspan(skip_bytes), particles);
      accumulator.add({run.family, run.bytes.offset + skip_bytes, shape.size_bytes(), particles,
                       plan_.has_ids});
    }
  }

  const ScanPlan plan_;
  SnapshotSource& source_;
  const Accumulator& empty_;
  OrderedReduction<Accumulator> sum_;
  CpuTimer meter_;
  runner::TaskGroup group_;
};

}  // namespace forebay::tipsy
