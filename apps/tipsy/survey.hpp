// SPDX-License-Identifier: Apache-2.0
// One pass over all particles by many tasks: each owns a contiguous share, computes as soon as its
// block is there, and hands in a partial result. Partial results are added in the order of tasks,
// so that the outcome does not depend on who was first.
#pragma once

#include <forebay/error.hpp>

#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <utility>

#include "command/progress.hpp"
#include "runner/task.hpp"
#include "tipsy/compute_meter.hpp"
#include "tipsy/layout.hpp"
#include "tipsy/record.hpp"
#include "tipsy/record_cutter.hpp"
#include "tipsy/source.hpp"

namespace forebay::tipsy {

/// Decoded particles of one family and where they came from.
struct Batch {
  Family family = Family::kGas;
  std::uint64_t offset_bytes = 0;  ///< of the first record in the file
  std::uint64_t record_bytes = 0;
  std::span<const Particle> particles;
  bool has_ids = false;  ///< see Snapshot::has_ids
};

/// What a task accumulates: copied from an empty one, fed with batches, merged in task order.
template <class Part>
concept SurveyPart =
    std::copy_constructible<Part> && requires(Part& part, const Part& other, const Batch& batch) {
      part.add(batch);
      part.merge(other);
    };

struct SurveyPlan {
  Layout layout;
  std::uint64_t tasks = 1;
  unsigned threads = 1;
  bool has_ids = false;
};

/// Adds partial results in the order of their index, whatever order they come in. Thread-safe. What
/// came too early is kept, so memory grows only as far as tasks overtake each other.
template <SurveyPart Part>
class OrderedSum {
 public:
  explicit OrderedSum(const Part& empty) : total_(empty) {}

  /// Each index from 0 exactly once; null adds nothing.
  void hand_in(std::uint64_t index, std::unique_ptr<Part> part) {
    const std::lock_guard lock(mutex_);
    early_.emplace(index, std::move(part));
    while (!early_.empty() && early_.begin()->first == next_) {
      if (early_.begin()->second) total_.merge(*early_.begin()->second);
      early_.erase(early_.begin());
      ++next_;
    }
  }
  /// The sum of what has been handed in without a gap. Not while others hand in.
  const Part& total() const { return total_; }

 private:
  std::mutex mutex_;
  Part total_;
  std::map<std::uint64_t, std::unique_ptr<Part>> early_;
  std::uint64_t next_ = 0;
};

/// Runs one pass. Lives as long as run().
template <SurveyPart Part>
class Survey {
 public:
  /// `source` must have begun.
  Survey(const SurveyPlan& plan, ByteSource& source, const Part& empty)
      : plan_(plan), source_(source), empty_(empty), sum_(empty), group_(source.loop()) {}

  /// Blocks until all tasks have ended; the Error of the first task that failed, else the sum.
  Result<Part> run(command::Progress& progress) {
    progress.advance(0);  // a survey of nothing is done now
    for (std::uint64_t i = 0; i < plan_.tasks; ++i)
      group_.spawn(read_share(i, progress));
    if (const Status ran = group_.run(plan_.threads); !ran) {
      return failure(ran.error());
    }
    return sum_.total();
  }

  const ComputeMeter& meter() const { return meter_; }

 private:
  /// Particles in flight between decoding and computing; they stay in the fastest cache.
  static constexpr std::size_t kBatchParticles = 128;

  runner::Task read_share(std::uint64_t index, command::Progress& progress) {
    const ParticleRange share = share_of(plan_.layout.counts.total(), index, plan_.tasks);
    std::unique_ptr<Part> part;
    RecordCutter cutter(plan_.layout, share);
    const std::unique_ptr<TaskReader> reader = source_.reader(plan_.layout.bytes_of(share));
    while (!reader->done() && !group_.failed()) {
      const Result<Piece> piece = co_await reader->next();
      if (!piece) co_return failure(piece.error());
      if (!part) part = std::make_unique<Part>(empty_);
      compute(piece->bytes(), cutter, *part, progress);
    }
    sum_.hand_in(index, std::move(part));
    co_return Status{};
  }

  void compute(std::span<const std::byte> bytes,
               RecordCutter& cutter,
               Part& part,
               command::Progress& progress) {
    const std::uint64_t before = cutter.rest().count();
    {
      const ComputeMeter::Spell spell(meter_);
      cutter.feed(bytes, [&](const RecordRun& run, std::span<const std::byte> records) {
        add_records(run, records, part);
      });
    }
    progress.advance(before - cutter.rest().count());
  }

  void add_records(const RecordRun& run, std::span<const std::byte> records, Part& part) const {
    const RecordShape shape{run.family, plan_.layout.precision, plan_.layout.order};
    std::array<Particle, kBatchParticles> buffer;
    for (std::uint64_t done = 0; done < run.count; done += kBatchParticles) {
      const auto particles =
          std::span(buffer).first(std::min<std::uint64_t>(kBatchParticles, run.count - done));
      const std::uint64_t skip_bytes = done * shape.size_bytes();
      decode_records(shape, records.subspan(skip_bytes), particles);
      part.add({run.family, run.bytes.offset + skip_bytes, shape.size_bytes(), particles,
                plan_.has_ids});
    }
  }

  const SurveyPlan plan_;
  ByteSource& source_;
  const Part& empty_;
  OrderedSum<Part> sum_;
  ComputeMeter meter_;
  runner::TaskGroup group_;
};

}  // namespace forebay::tipsy
