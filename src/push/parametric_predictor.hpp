// SPDX-License-Identifier: Apache-2.0
// ParametricPredictor: predicts the accesses of a signature whose numbers have names. It binds the
// names by the accesses of the stream (docs/formats/hints.md#parameters).
//
// Cost: as a SignaturePredictor while it holds. An access that binds a name takes some microseconds
// for each number of the signature.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "push/linear_system.hpp"
#include "push/parametric_signature.hpp"
#include "push/predictor.hpp"
#include "push/recent_share.hpp"

namespace forebay::push {

/// observe() allocates while it binds names.
class ParametricPredictor final : public Predictor {
 public:
  explicit ParametricPredictor(std::shared_ptr<const ParametricSignature> signature);

  std::string_view name() const noexcept override { return "parametric"; }
  void observe(const trace::Access& access) override;
  std::size_t predict(std::span<Prediction> into) const override;
  /// Without the signature, which is shared. About 0.5 KiB for each of its accesses and loops, and
  /// 10 KiB: more than other predictors have, but only streams with such hints have it.
  std::size_t state_bytes() const noexcept override;

  /// Whether the signature can begin with this access. Only before the first observe().
  bool can_begin_with(const trace::Access& access) const;
  /// The accesses do not fit: it predicts nothing any more.
  bool is_dropped() const noexcept { return failures_ == kFailuresMax; }

 private:
  /// Beginnings in a row of less than kPredictedMin predicted accesses, before it is dropped.
  static constexpr std::uint32_t kFailuresMax = 4;
  static constexpr std::uint32_t kPredictedMin = 4;

  /// A number as far as it is known.
  struct BoundNumber {
    std::optional<std::int64_t> constant = 0;
    std::array<std::optional<std::int64_t>, trace::kLoopDepthMax> factors;

    std::optional<std::int64_t> at(const trace::LoopIndexes& indexes) const noexcept;
  };
  struct BoundNode {
    BoundNumber offset, size, count;
  };
  struct Cursor {
    std::size_t node = 0;
    std::size_t depth = 0;
    trace::LoopIndexes indexes = {};  ///< 0 beyond the depth
  };
  struct Equation {
    const ParametricNumber* number;
    trace::LoopIndexes indexes;
    std::int64_t value;
  };
  /// From one access to the next.
  struct Walk {
    Cursor cursor;
    std::size_t closes = 0;             ///< loops with unknown count that are yet to end
    std::vector<Equation> counts = {};  ///< of those that have ended
  };

  bool find_access(Walk& walk) const;
  void end_repetition(Walk& walk) const;
  bool follow(const trace::Access& access);
  bool fits(const Walk& walk, const trace::Access& access);
  bool add(LinearSystem& system, const Equation& equation) const;
  void begin(const trace::Access& access);
  void bind();
  BoundNumber bound(const ParametricNumber& number) const;

  std::shared_ptr<const ParametricSignature> signature_;
  std::vector<BoundNode> bound_;  ///< for each node
  LinearSystem system_;
  Cursor cursor_;  ///< of the newest access
  bool has_begun_ = false;
  std::uint32_t predicted_ = 0;  ///< accesses since the begin, at most kPredictedMin
  std::uint32_t failures_ = 0;
  RecentShare recent_{1};
};

}  // namespace forebay::push
