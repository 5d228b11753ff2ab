// SPDX-License-Identifier: Apache-2.0
// MarkovPredictor: predicts the next step, a difference of offsets and a size, from the last two
// steps, or from the last one if those two are new. It catches periodic steps, pairs, and steps
// that follow each other in several loops.
//
// Cost: two look-ups in a hash table for each access, observed or predicted, and 12 KiB. Source:
// Joseph and Grunwald (Prefetching using Markov Predictors, ISCA'97), on differences instead of
// addresses.
#pragma once

#include <array>

#include "push/predictor.hpp"
#include "push/recent_share.hpp"

namespace forebay::push {

class MarkovPredictor final : public Predictor {
 public:
  std::string_view name() const noexcept override { return "markov"; }
  void observe(const trace::Access& access) override;
  std::size_t predict(std::span<Prediction> into) const override;
  std::size_t state_bytes() const noexcept override { return sizeof(*this); }

 private:
  static constexpr std::size_t kWays = 4;
  static constexpr std::size_t kSets = 128;

  struct Step {
    std::uint64_t distance = 0;  ///< of offsets, modulo 2^64
    std::uint64_t size = 0;
    friend bool operator==(const Step&, const Step&) = default;
  };
  /// The step that followed a context.
  struct Entry {
    Step step;
    std::uint32_t tag = 0;       ///< part of the hash of the context
    std::uint32_t strength = 0;  ///< 0: unused; grows if the step is confirmed
  };
  using Set = std::array<Entry, kWays>;
  /// Hashes of the contexts of one and of two steps; 0 if the stream is too short.
  struct Contexts {
    std::uint64_t one = 0;
    std::uint64_t two = 0;
  };

  static std::uint64_t hash_of(std::uint64_t seed, const Step& step) noexcept;
  static Contexts next_contexts(const Contexts& contexts, const Step& step) noexcept;
  const Entry* find(std::uint64_t context) const noexcept;
  const Entry* find(const Contexts& contexts) const noexcept;
  void learn(std::uint64_t context, const Step& step) noexcept;

  std::array<Set, kSets> sets_ = {};
  Contexts contexts_;
  std::uint64_t offset_ = 0;  ///< of the newest access
  bool is_empty_ = true;
  RecentShare recent_{1};
};

}  // namespace forebay::push
