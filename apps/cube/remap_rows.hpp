// SPDX-License-Identifier: Apache-2.0
// Computes rows of a remapped profile, whatever they come from. What threads share is made once;
// each thread has a RowMaker.
#pragma once

#include <forebay/error.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "cube/cubepl/evaluator.hpp"
#include "cube/profile_facts.hpp"
#include "cube/profile_writer.hpp"
#include "cube/remap_metrics.hpp"

namespace forebay::cube {

/// A profile and what is computed of it. Nothing of it changes once it is made.
class RemapSource {
 public:
  /// Runs all cubeplinit. `profile` outlives it; rows are cached in `cache_bytes`. Fails as
  /// Derivation::create() does.
  static Result<std::unique_ptr<RemapSource>> create(const Profile& profile,
                                                     RemapProgram program,
                                                     std::uint64_t cache_bytes);

  const Profile& profile() const noexcept { return profile_; }
  const cubepl::Derivation& derivation() const noexcept { return *derivation_; }
  RemapInput input() const noexcept { return {profile_, *derivation_, specified_}; }
  const RowCache& cache() const noexcept { return cache_; }
  const MetricRows& rows() const noexcept { return rows_; }
  /// Metrics of the profile that have rows and that expressions may ask for.
  std::vector<std::size_t> inputs() const;

 private:
  friend class RowMaker;
  RemapSource(const Profile& profile, std::uint64_t cache_bytes);

  const Profile& profile_;
  const MetricRows rows_;
  const cubepl::Facts facts_;
  const ScriptNumbers numbers_;
  mutable RowCache cache_;  // thread-safe
  CachedView view_;
  std::size_t specified_ = 0;
  std::unique_ptr<const cubepl::Derivation> derivation_;
};

/// One for each thread.
class RowMaker {
 public:
  explicit RowMaker(const RemapSource& source);

  /// Fills `into`, which is as long as they are, with rows of `metric` from `first` in its index.
  Status fill(const RemapMetric& metric, std::uint64_t first, std::span<std::byte> into);

 private:
  Status fill_row(const RemapMetric& metric, std::uint32_t row, std::span<std::byte> into);
  Status compute(const RemapMetric& metric, std::uint32_t place, std::span<std::byte> into);

  const RemapSource& source_;
  const std::vector<std::uint32_t> exclusive_places_;  // by row
  const std::vector<std::uint32_t> inclusive_places_;
  CachedView view_;
  cubepl::Evaluator evaluator_;
  FlavourScratch scratch_;
  std::vector<double> values_;
};

class InputForecast;

/// The rows of a new profile, made by as many threads.
class RemapRows final : public RowSource {
 public:
  /// `metrics` are those of NewProfile; they and `source` outlive it.
  RemapRows(const RemapSource& source, std::vector<const RemapMetric*> metrics, unsigned threads);

  ~RemapRows() override;

  Status fill(const RowChunk& chunk, std::span<std::byte> into, unsigned thread) override {
    return makers_[thread]->fill(*metrics_[chunk.metric], chunk.first, into);
  }
  void expect(const RowChunk& chunk) override;

 private:
  const std::vector<const RemapMetric*> metrics_;
  const std::unique_ptr<InputForecast> forecast_;
  std::vector<std::unique_ptr<RowMaker>> makers_;
};

}  // namespace forebay::cube
