// SPDX-License-Identifier: Apache-2.0
// Computes rows of a remapped profile, of any origin. Threads share a RemapContext; each has its
// own RowBuilder.
#pragma once

#include <forebay/error.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "cube/cubepl/evaluator.hpp"
#include "cube/profile_writer.hpp"
#include "cube/remap_metrics.hpp"
#include "cube/script_profile.hpp"

namespace forebay::cube {

/// A profile and the program that is computed from it. Immutable after create(), except for the
/// thread-safe cache.
class RemapContext {
 public:
  /// Runs all cubeplinit. `profile` must outlive the result; rows are cached in `cache_bytes`.
  /// Fails as BoundProgram::create() does.
  static Result<std::unique_ptr<RemapContext>> create(const Profile& profile,
                                                      RemapProgram program,
                                                      std::uint64_t cache_bytes);

  const Profile& profile() const noexcept { return profile_; }
  const cubepl::BoundProgram& bound_program() const noexcept { return *bound_program_; }
  RemapInput input() const noexcept { return {profile_, *bound_program_, specified_count_}; }
  const RowCache& cache() const noexcept { return cache_; }
  const MetricRows& rows() const noexcept { return rows_; }
  /// Indices of the profile's metrics that have rows and that expressions may read.
  std::vector<std::size_t> inputs() const;

 private:
  friend class RowBuilder;
  RemapContext(const Profile& profile, std::uint64_t cache_bytes);

  const Profile& profile_;
  const MetricRows rows_;
  const cubepl::ProfileInfo info_;
  const CallPathNumbering numbers_;
  mutable RowCache cache_;  // thread-safe
  CachedProfileView view_;
  std::size_t specified_count_ = 0;
  std::unique_ptr<const cubepl::BoundProgram> bound_program_;
};

/// For one thread.
class RowBuilder {
 public:
  explicit RowBuilder(const RemapContext& source);

  /// Fills `into`, which has their size, with rows of `metric` from position `first` of its index.
  Status fill(const RemapMetric& metric, std::uint64_t first, std::span<std::byte> into);

 private:
  Status fill_row(const RemapMetric& metric, std::uint32_t row, std::span<std::byte> into);
  Status compute(const RemapMetric& metric, std::uint32_t index, std::span<std::byte> into);

  const RemapContext& source_;
  const std::vector<std::uint32_t> exclusive_call_paths_;  // by row
  const std::vector<std::uint32_t> inclusive_call_paths_;
  CachedProfileView view_;
  cubepl::Evaluator evaluator_;
  FlavorScratch scratch_;
  std::vector<double> values_;
};

class InputPrefetcher;

/// The rows of a new profile, with one RowBuilder for each thread.
class RemapRowSource final : public RowSource {
 public:
  /// `metrics` are those of NewProfile; they and `source` must outlive the object.
  RemapRowSource(const RemapContext& source,
                 std::vector<const RemapMetric*> metrics,
                 unsigned threads);

  ~RemapRowSource() override;

  Status fill(const RowChunk& chunk, std::span<std::byte> into, unsigned thread) override {
    return builders_[thread]->fill(*metrics_[chunk.metric], chunk.first, into);
  }
  void prefetch(const RowChunk& chunk) override;

 private:
  const std::vector<const RemapMetric*> metrics_;
  const std::unique_ptr<InputPrefetcher> prefetcher_;
  std::vector<std::unique_ptr<RowBuilder>> builders_;
};

}  // namespace forebay::cube
